//! Headers of the newer protocol over HTTP (MCP-23): the method and the name that a message has, and arguments that a tool wants to see
//! there (`x-mcp-header`).

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use zori_core::transport::Headers;

/// No name is longer.
const MAX_NAME: usize = 128;
/// So deep arguments are looked into.
const MAX_DEPTH: usize = 8;

/// Says what is wrong with the headers that a tool asks for; `None` where nothing is.
pub fn misuse(schema: &Value) -> Option<String> {
    let mut seen = BTreeSet::new();
    for (field, schema) in annotated(schema, 0) {
        let name = match &schema["x-mcp-header"] {
            Value::String(name) if is_token(name) => name.to_ascii_lowercase(),
            other => return Some(format!("its field `{field}` wants the header {other}, which is none")),
        };
        if !matches!(schema["type"].as_str(), Some("string" | "integer" | "boolean")) {
            return Some(format!("its field `{field}` cannot stand in a header"));
        }
        if !seen.insert(name) {
            return Some(format!("its field `{field}` wants a header that another one has"));
        }
    }
    None
}

/// Returns the headers that a tool wants of its arguments.
pub fn of_arguments(schema: &Value, arguments: &Value) -> Headers {
    let mut headers = Vec::new();
    collect(schema, arguments, 0, &mut headers);
    headers
}

fn collect(schema: &Value, arguments: &Value, depth: usize, headers: &mut Headers) {
    if depth == MAX_DEPTH {
        return;
    }
    for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
        let Some(value) = arguments.get(field) else { continue };
        if value.is_object() {
            collect(schema, value, depth + 1, headers);
        }
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            _ => continue,
        };
        let name = schema["x-mcp-header"].as_str().filter(|name| is_token(name));
        if let Some(name) = name {
            headers.push((format!("mcp-param-{}", name.to_ascii_lowercase()).into(), encoded(&text)));
        }
    }
}

fn annotated(schema: &Value, depth: usize) -> Vec<(&String, &Value)> {
    let mut found = Vec::new();
    if depth == MAX_DEPTH {
        return found;
    }
    for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
        if schema.get("x-mcp-header").is_some() {
            found.push((field, schema));
        }
        found.extend(annotated(schema, depth + 1));
    }
    found
}

/// Returns a value as a header can carry it.
pub fn encoded(text: &str) -> String {
    let plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    let framed = text.starts_with("=?base64?") && text.ends_with("?=");
    if plain && !framed && text.trim() == text {
        return text.to_owned();
    }
    format!("=?base64?{}?=", STANDARD.encode(text))
}

/// Returns whether a text can be the name of a header.
pub fn is_token(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.len() <= MAX_NAME && name.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use zori_core::transport::named_headers;

    use super::*;

    #[test]
    fn arguments_become_headers() {
        let schema = json!({"properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "n": {"type": "integer",
            "x-mcp-header": "N"}, "off": {"type": "boolean", "x-mcp-header": "Off"}, "q": {"type": "string"},
            "in": {"type": "object", "properties": {"deep": {"type": "string", "x-mcp-header": "Deep"}}}}});
        let arguments = json!({"region": " a", "n": 42, "off": null, "q": "secret", "in": {"deep": "x"}});
        let wanted =
            [("mcp-param-deep", "x"), ("mcp-param-n", "42"), ("mcp-param-region", "=?base64?IGE=?=")];
        let mut got = of_arguments(&schema, &arguments);
        got.sort();
        assert_eq!(got, named_headers(wanted.map(|(name, value)| (name, value.to_owned()))));
        assert_eq!(misuse(&schema), None);
    }

    #[test]
    fn values() {
        for plain in ["", "a b", "us-west1"] {
            assert_eq!(encoded(plain), plain);
        }
        for framed in [" a", "a ", "\ta", "a\r\nb", "世", "=?base64?x?="] {
            assert!(encoded(framed).starts_with("=?base64?"), "{framed}");
        }
    }

    #[test]
    fn tools_that_want_what_is_no_header() {
        let of = |one: Value| {
            misuse(&json!({"properties": {"a": one, "b": {"type": "string", "x-mcp-header": "Taken"}}}))
        };
        for kind in ["object", "array", "null", "number"] {
            assert!(of(json!({"type": kind, "x-mcp-header": "A"})).is_some(), "{kind}");
        }
        for name in ["", "My Region", "Region:Primary", "Région", "Region\t1", "taken", "TAKEN"] {
            assert!(of(json!({"type": "string", "x-mcp-header": name})).is_some(), "{name}");
        }
        assert_eq!(of(json!({"type": "string", "x-mcp-header": "Region"})), None);
    }
}
