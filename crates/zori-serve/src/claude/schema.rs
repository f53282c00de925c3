//! JSON Schema, as far as answers are described with it: enough to say of a value what does not fit.
//!
//! What is not known here is not checked, and [`unknown`] names it, so that nobody believes it was.

use std::collections::BTreeSet;

use serde_json::Value;

/// What is checked, and what says nothing that could be.
const KNOWN: &[&str] = &[
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "anyOf",
    "oneOf",
    "allOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "$ref",
    "$defs",
    "definitions",
    "title",
    "description",
    "default",
    "examples",
    "$schema",
    "$id",
    "$comment",
];

/// So deep a value is looked at.
const DEPTH: usize = 64;

/// Returns what of a value does not fit, a sentence each; nothing where it fits.
pub fn misfits(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, schema, value, "$", DEPTH, &mut found);
    found
}

/// Returns the keywords of a schema that are not checked.
pub fn unknown(schema: &Value) -> Vec<String> {
    let mut found = BTreeSet::new();
    look(schema, &mut found);
    found.into_iter().collect()
}

fn look(schema: &Value, found: &mut BTreeSet<String>) {
    let Value::Object(map) = schema else { return };
    for (name, inner) in map {
        match name.as_str() {
            "properties" | "$defs" | "definitions" => {
                inner.as_object().into_iter().flat_map(|map| map.values()).for_each(|one| look(one, found));
            }
            "items" | "additionalProperties" => look(inner, found),
            "anyOf" | "oneOf" | "allOf" => {
                inner.as_array().into_iter().flatten().for_each(|one| look(one, found))
            }
            known if KNOWN.contains(&known) => {}
            other => {
                found.insert(other.to_owned());
            }
        }
    }
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str, depth: usize, found: &mut Vec<String>) {
    let Value::Object(rules) = schema else {
        if schema == &Value::Bool(false) {
            found.push(format!("{at} must not be there"));
        }
        return;
    };
    if depth == 0 {
        return;
    }
    let mut say = |what: String| found.push(format!("{at} {what}"));
    if let Some(types) = rules.get("type") {
        let names: Vec<&str> = match types {
            Value::String(name) => vec![name.as_str()],
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        if !names.is_empty() && !names.iter().any(|name| is_a(value, name)) {
            say(format!("must be {}, not {}", names.join(" or "), kind(value)));
            return;
        }
    }
    if let Some(allowed) = rules.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        say(format!("must be one of {}", Value::Array(allowed.clone())));
    }
    if let Some(only) = rules.get("const")
        && only != value
    {
        say(format!("must be {only}"));
    }
    let number = |name: &str| rules.get(name).and_then(Value::as_f64);
    if let Some(n) = value.as_f64() {
        if let Some(least) = number("minimum").filter(|least| n < *least) {
            say(format!("must be at least {least}"));
        }
        if let Some(most) = number("maximum").filter(|most| n > *most) {
            say(format!("must be at most {most}"));
        }
        if let Some(least) = number("exclusiveMinimum").filter(|least| n <= *least) {
            say(format!("must be more than {least}"));
        }
        if let Some(most) = number("exclusiveMaximum").filter(|most| n >= *most) {
            say(format!("must be less than {most}"));
        }
    }
    let length = match value {
        Value::String(text) => Some((text.chars().count() as f64, "minLength", "maxLength", "characters")),
        Value::Array(items) => Some((items.len() as f64, "minItems", "maxItems", "items")),
        _ => None,
    };
    if let Some((length, least, most, what)) = length {
        if let Some(least) = number(least).filter(|least| length < *least) {
            say(format!("must have at least {least} {what}"));
        }
        if let Some(most) = number(most).filter(|most| length > *most) {
            say(format!("must have at most {most} {what}"));
        }
    }
    if let Some(target) = rules.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix('#'))
        && let Some(target) = root.pointer(target)
    {
        check(root, target, value, at, depth - 1, found);
    }
    for part in rules.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        check(root, part, value, at, depth - 1, found);
    }
    for (name, one) in [("anyOf", false), ("oneOf", true)] {
        let Some(parts) = rules.get(name).and_then(Value::as_array) else { continue };
        let fits = |part: &&Value| {
            let mut misfits = Vec::new();
            check(root, part, value, at, depth - 1, &mut misfits);
            misfits.is_empty()
        };
        let count = parts.iter().filter(fits).count();
        if count == 0 || one && count > 1 {
            let wanted = if one { "exactly one" } else { "one" };
            found.push(format!("{at} must fit {wanted} of the {} shapes of `{name}`", parts.len()));
        }
    }
    match value {
        Value::Object(map) => {
            for name in rules
                .get("required")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
            {
                if !map.contains_key(name) {
                    found.push(format!("{at} has no `{name}`"));
                }
            }
            let known = rules.get("properties").and_then(Value::as_object);
            for (name, inner) in map {
                let below = format!("{at}.{name}");
                match (known.and_then(|known| known.get(name)), rules.get("additionalProperties")) {
                    (Some(schema), _) => check(root, schema, inner, &below, depth - 1, found),
                    (None, Some(Value::Bool(false))) => found.push(format!("{at} must not have `{name}`")),
                    (None, Some(schema)) => check(root, schema, inner, &below, depth - 1, found),
                    (None, None) => {}
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = rules.get("items") {
                for (index, item) in items.iter().enumerate() {
                    check(root, schema, item, &format!("{at}[{index}]"), depth - 1, found);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_a(value: &Value, name: &str) -> bool {
    match name {
        "integer" => value.as_f64().is_some_and(|n| n.fract() == 0.0),
        "number" => value.is_number(),
        other => kind(value) == other,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Held against the crate that knows all of JSON Schema.
    #[test]
    fn says_what_the_reference_says() {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 2, "maxLength": 4},
                "age": {"type": "integer", "minimum": 0, "exclusiveMaximum": 150},
                "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1},
                "kind": {"anyOf": [{"const": 1}, {"type": "null"}]},
                "pet": {"$ref": "#/$defs/pet"},
            },
            "required": ["name"],
            "additionalProperties": false,
            "$defs": {"pet": {"type": "object", "required": ["legs"], "properties": {"legs": {"type": ["integer", "null"]}}}},
        });
        let validator = jsonschema::validator_for(&schema).unwrap();
        for value in [
            json!({"name": "ab"}),
            json!({"name": "a"}),
            json!({"name": "abcde"}),
            json!({"name": "ab", "age": 3}),
            json!({"name": "ab", "age": 3.5}),
            json!({"name": "ab", "age": -1}),
            json!({"name": "ab", "age": 150}),
            json!({"name": "ab", "tags": ["a", "b"]}),
            json!({"name": "ab", "tags": ["c"]}),
            json!({"name": "ab", "tags": []}),
            json!({"name": "ab", "kind": 1}),
            json!({"name": "ab", "kind": null}),
            json!({"name": "ab", "kind": 2}),
            json!({"name": "ab", "pet": {"legs": 4}}),
            json!({"name": "ab", "pet": {"legs": null}}),
            json!({"name": "ab", "pet": {}}),
            json!({"name": "ab", "other": 1}),
            json!({}),
            json!([]),
            json!("x"),
        ] {
            assert_eq!(misfits(&schema, &value).is_empty(), validator.is_valid(&value), "{value}");
        }
        assert_eq!(
            misfits(&schema, &json!({"name": 1, "x": 2})),
            ["$.name must be string, not number", "$ must not have `x`"]
        );
    }

    #[test]
    fn what_is_not_checked_is_named() {
        let schema =
            json!({"type": "object", "properties": {"a": {"pattern": "x", "format": "date"}}, "if": {}});
        assert_eq!(unknown(&schema), ["format", "if", "pattern"]);
        assert_eq!(unknown(&json!({"type": "string", "title": "t"})), [""; 0]);
    }

    /// A schema that refers to itself ends.
    #[test]
    fn circles() {
        let schema = json!({"$ref": "#"});
        assert_eq!(misfits(&schema, &json!(1)), [""; 0]);
    }
}
