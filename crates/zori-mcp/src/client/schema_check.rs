//! Whether a value fits a JSON schema (MCP-44, MCP-50), as far as servers' schemas say it with types, fields, lists, values and alternatives. What a
//! schema says otherwise is left to the server. Nothing is fetched: only references within the schema are followed.

use serde_json::Value;
use zori_core::text;

/// So deep a value is looked into.
const MAX_DEPTH: usize = 16;
/// So many values of a list are named.
const MAX_NAMED: usize = 10;

/// Says how a value breaks a schema; `None` if it does not.
pub fn misfit(schema: &Value, value: &Value) -> Option<String> {
    Check { root: schema }.value(schema, value, "", 0)
}

struct Check<'s> {
    root: &'s Value,
}

impl Check<'_> {
    fn value(&self, schema: &Value, value: &Value, at: &str, depth: usize) -> Option<String> {
        if depth > MAX_DEPTH {
            return None;
        }
        if let Some(place) = schema["$ref"].as_str() {
            let meant = place.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
            return meant.and_then(|meant| self.value(meant, value, at, depth + 1));
        }
        let wrong_type = match &schema["type"] {
            Value::String(kind) => (!is_of(value, kind)).then(|| kind.clone()),
            Value::Array(kinds) => {
                let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
                (!kinds.is_empty() && !kinds.iter().any(|kind| is_of(value, kind)))
                    .then(|| kinds.join(" or "))
            }
            _ => None,
        };
        if let Some(kind) = wrong_type {
            return Some(format!("{} must be of the type {kind}", named(at)));
        }
        if let Some(values) = schema["enum"].as_array().filter(|values| !values.contains(value)) {
            let shown: Vec<String> = values.iter().take(MAX_NAMED).map(Value::to_string).collect();
            let more = if values.len() > MAX_NAMED { ", ..." } else { "" };
            return Some(format!("{} must be one of {}{more}", named(at), shown.join(", ")));
        }
        if let Some(only) = schema.get("const").filter(|only| *only != value) {
            return Some(format!("{} must be {only}", named(at)));
        }
        for part in ["anyOf", "oneOf"] {
            if let Some(all) = schema[part].as_array().filter(|all| !all.is_empty()) {
                let mut misfits = all.iter().map(|one| self.value(one, value, at, depth + 1));
                if !misfits.any(|misfit| misfit.is_none()) {
                    return Some(format!("{} fits none of the schemas in `{part}`", named(at)));
                }
            }
        }
        let all = schema["allOf"].as_array().into_iter().flatten();
        let within = all.into_iter().find_map(|one| self.value(one, value, at, depth + 1));
        within
            .or_else(|| self.fields(schema, value, at, depth))
            .or_else(|| self.items(schema, value, at, depth))
    }

    fn fields(&self, schema: &Value, value: &Value, at: &str, depth: usize) -> Option<String> {
        let given = value.as_object()?;
        let below = |field: &str| if at.is_empty() { field.to_owned() } else { format!("{at}.{field}") };
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let missing: Vec<String> = required.filter(|field| !given.contains_key(*field)).map(below).collect();
        if !missing.is_empty() {
            return Some(format!("`{}` is missing", missing.join("`, `")));
        }
        let properties = schema["properties"].as_object();
        for (field, value) in given {
            let at = below(text::prefix(field, 80));
            match properties.and_then(|properties| properties.get(field)) {
                Some(schema) => {
                    if let Some(why) = self.value(schema, value, &at, depth + 1) {
                        return Some(why);
                    }
                }
                None if schema["additionalProperties"] == false
                    && !schema["patternProperties"].is_object() =>
                {
                    let known: Vec<&str> =
                        properties.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
                    return Some(format!("there is no field `{at}`; there are {}", known.join(", ")));
                }
                None => {}
            }
        }
        None
    }

    fn items(&self, schema: &Value, value: &Value, at: &str, depth: usize) -> Option<String> {
        let (items, values) = (schema["items"].as_object()?, value.as_array()?);
        let items = Value::Object(items.clone());
        let mut values = values.iter().enumerate();
        values.find_map(|(n, value)| self.value(&items, value, &format!("{at}[{n}]"), depth + 1))
    }
}

fn named(at: &str) -> String {
    if at.is_empty() { "it".to_owned() } else { format!("`{at}`") }
}

fn is_of(value: &Value, kind: &str) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_fits_and_what_does_not() {
        let schema = json!({"type": "object", "required": ["a"], "additionalProperties": false, "$defs": {"point": {
            "type": "object", "required": ["x"], "properties": {"x": {"type": "number"}}, "additionalProperties": false}},
            "properties": {"a": {"type": "integer"}, "b": {"type": ["string", "null"]}, "c": {"enum": ["red", "blue"]},
                "d": {"type": "array", "items": {"$ref": "#/$defs/point"}}, "e": {"anyOf": [{"type": "boolean"}, {"const": "auto"}]},
                "f": {"$ref": "https://evil.example/schema"}, "g": {"allOf": [{"type": "string"}]}}});
        let told = |value: Value| misfit(&schema, &value).unwrap_or_default();
        for fits in [
            json!({"a": 1}),
            json!({"a": 1.0, "b": null, "c": "red", "d": [{"x": 1}, {"x": 0.5}], "e": "auto", "f": 7, "g": "x"}),
        ] {
            assert_eq!(told(fits), "");
        }
        assert_eq!(told(json!([])), "it must be of the type object");
        assert_eq!(told(json!({})), "`a` is missing");
        assert_eq!(told(json!({"a": "x"})), "`a` must be of the type integer");
        assert_eq!(told(json!({"a": 1, "b": 2})), "`b` must be of the type string or null");
        assert_eq!(told(json!({"a": 1, "c": "green"})), r#"`c` must be one of "red", "blue""#);
        assert_eq!(told(json!({"a": 1, "d": [{"x": 1}, {}]})), "`d[1].x` is missing");
        assert_eq!(told(json!({"a": 1, "d": [{"x": "1"}]})), "`d[0].x` must be of the type number");
        assert_eq!(told(json!({"a": 1, "d": [{"x": 1, "y": 2}]})), "there is no field `d[0].y`; there are x");
        assert_eq!(told(json!({"a": 1, "e": "on"})), "`e` fits none of the schemas in `anyOf`");
        assert_eq!(told(json!({"a": 1, "g": 1})), "`g` must be of the type string");
        assert_eq!(told(json!({"a": 1, "h": 1})), "there is no field `h`; there are a, b, c, d, e, f, g");
    }

    /// A schema that refers to itself has an end.
    #[test]
    fn schemas_that_lead_in_circles() {
        let schema = json!({"$ref": "#"});
        assert_eq!(misfit(&schema, &json!({})), None);
        let tree = json!({"type": "object", "properties": {"next": {"$ref": "#"}}});
        assert_eq!(
            misfit(&tree, &json!({"next": {"next": 1}})).as_deref(),
            Some("`next.next` must be of the type object")
        );
    }
}
