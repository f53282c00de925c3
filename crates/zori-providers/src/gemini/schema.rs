//! A tool's JSON schema to the part of it that the API accepts.
//!
//! Function declarations take a subset of OpenAPI's schema object, and one keyword outside of it makes the whole
//! request fail. What has an equivalent becomes that, the rest goes: a schema helps the model, and the arguments
//! are checked against the full one anyway. The order of what stays is kept, since models read it.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The keywords whose values stay as they are.
const PLAIN: &[&str] = &[
    "title",
    "description",
    "nullable",
    "required",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
    "default",
    "example",
    "propertyOrdering",
];

/// The formats the API knows.
const FORMATS: &[&str] = &["enum", "date-time", "float", "double", "int32", "int64"];

/// How deep schemas are followed; what lies deeper is left out.
const MAX_DEPTH: usize = 32;

/// What an array holds that does not say it in words the API knows.
const ANY_ITEM: &str = r#"{"type":"string"}"#;

/// Returns the schema as the API takes it; `None` for one without properties, which a declaration leaves out.
pub(super) fn strip(schema: &RawValue) -> Option<String> {
    let object: Object<'_> = serde_json::from_str(schema.get()).ok()?;
    has_properties(&object).then(|| strip_object(&object, 0))
}

fn has_properties(object: &Object<'_>) -> bool {
    object.get::<Object<'_>>("properties").is_some_and(|p| !p.0.is_empty())
}

/// An object's members in their order, the values as they came.
struct Object<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Object<'a> {
    fn get<T: Deserialize<'a>>(&self, key: &str) -> Option<T> {
        let (_, raw) = self.0.iter().find(|(name, _)| name == key)?;
        serde_json::from_str(raw.get()).ok()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((name, value)) = map.next_entry::<Cow<'de, str>, &'de RawValue>()? {
                    members.push((name, value));
                }
                Ok(Object(members))
            }
        }

        deserializer.deserialize_map(Members)
    }
}

/// Strips a schema that may be anything; `None` for one that is no object, such as `true`.
fn strip_any(schema: &RawValue, depth: usize) -> Option<String> {
    if depth > MAX_DEPTH {
        return None;
    }
    let object: Object<'_> = serde_json::from_str(schema.get()).ok()?;
    Some(strip_object(&object, depth))
}

fn strip_object(object: &Object<'_>, depth: usize) -> String {
    let mut out = Members(String::from("{"));
    let kind = Kind::of(object);
    let mut says_items = false;
    for (name, value) in &object.0 {
        let text = value.get();
        match &**name {
            "type" => kind.write(&mut out),
            "enum" if is_strings(value) => out.push(name, text),
            "const" if text.starts_with('"') => out.push("enum", &format!("[{text}]")),
            "format" if is_known_format(value) => out.push(name, text),
            "properties" => {
                let members: Object<'_> = serde_json::from_str(text).unwrap_or(Object(Vec::new()));
                if let Some(stripped) = strip_members(&members, depth + 1) {
                    out.push(name, &stripped);
                }
            }
            "items" => {
                if let Some(stripped) = strip_any(value, depth + 1) {
                    // A schema without a word is not enough here.
                    out.push(name, if stripped == "{}" { ANY_ITEM } else { &stripped });
                    says_items = true;
                }
            }
            // Names that no property has are refused.
            "required" if !has_properties(object) => {}
            "anyOf" | "oneOf" => {
                if let Some(stripped) = strip_choices(value, depth + 1) {
                    out.push("anyOf", &stripped);
                }
            }
            name if PLAIN.contains(&name) => out.push(name, text),
            _ => {}
        }
    }
    // An array must say what it holds.
    if kind.name.as_deref() == Some("array") && !says_items {
        out.push("items", ANY_ITEM);
    }
    out.0.push('}');
    out.0
}

fn strip_members(members: &Object<'_>, depth: usize) -> Option<String> {
    let mut out = Members(String::from("{"));
    for (name, schema) in &members.0 {
        // What accepts anything is said by a schema without a word.
        out.push(name, &strip_any(schema, depth).unwrap_or_else(|| "{}".to_owned()));
    }
    out.0.push('}');
    (!members.0.is_empty()).then_some(out.0)
}

fn strip_choices(choices: &RawValue, depth: usize) -> Option<String> {
    let choices: Vec<&RawValue> = serde_json::from_str(choices.get()).ok()?;
    let stripped: Vec<_> = choices.into_iter().filter_map(|choice| strip_any(choice, depth)).collect();
    (!stripped.is_empty()).then(|| format!("[{}]", stripped.join(",")))
}

fn is_strings(value: &RawValue) -> bool {
    serde_json::from_str::<Vec<Cow<'_, str>>>(value.get()).is_ok_and(|list| !list.is_empty())
}

fn is_known_format(value: &RawValue) -> bool {
    serde_json::from_str::<Cow<'_, str>>(value.get()).is_ok_and(|format| FORMATS.contains(&&*format))
}

/// A schema's type: one name, and whether null is one too.
struct Kind {
    name: Option<String>,
    nullable: bool,
}

impl Kind {
    fn of(object: &Object<'_>) -> Self {
        if let Some(name) = object.get::<String>("type") {
            return Self { name: Some(name), nullable: false };
        }
        let names: Vec<String> = object.get("type").unwrap_or_default();
        let nullable = names.iter().any(|name| name == "null") && object.get::<bool>("nullable").is_none();
        Self { name: names.into_iter().find(|name| name != "null"), nullable }
    }

    fn write(&self, out: &mut Members) {
        if let Some(name) = &self.name {
            out.push("type", &quoted(name));
        }
        if self.nullable {
            out.push("nullable", "true");
        }
    }
}

/// An object that is being written.
struct Members(String);

impl Members {
    fn push(&mut self, name: &str, value: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(&quoted(name));
        self.0.push(':');
        self.0.push_str(value);
    }
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("text is JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(schema: &str) -> Option<String> {
        let raw = RawValue::from_string(schema.to_owned()).unwrap();
        strip(&raw)
    }

    /// Strips one property's schema.
    fn property(schema: &str) -> String {
        let whole = stripped(&format!(r#"{{"type":"object","properties":{{"p":{schema}}}}}"#)).unwrap();
        whole
            .strip_prefix(r#"{"type":"object","properties":{"p":"#)
            .unwrap()
            .strip_suffix("}}")
            .unwrap()
            .to_owned()
    }

    #[test]
    fn what_is_accepted_stays_byte_for_byte_and_in_order() {
        let schema = concat!(
            r#"{"type":"object","properties":{"z":{"type":"string","description":"A \"z\".","minLength":1},"#,
            r#""a":{"type":"array","items":{"type":"integer","format":"int32"},"maxItems":3},"#,
            r#""e":{"type":"string","enum":["x", "y"],"default":"x"}},"required":["z"]}"#,
        );
        assert_eq!(stripped(schema).as_deref(), Some(schema));
    }

    #[test]
    fn what_is_refused_goes_or_becomes_its_equivalent() {
        for (given, sent) in [
            (r#"{"type":"string","$comment":"x","contentEncoding":"base64"}"#, r#"{"type":"string"}"#),
            (r#"{"type":"object","additionalProperties":false}"#, r#"{"type":"object"}"#),
            (r#"{"type":"object","properties":{}}"#, r#"{"type":"object"}"#),
            (r#"{"type":"integer","exclusiveMinimum":0,"multipleOf":2}"#, r#"{"type":"integer"}"#),
            (r#"{"type":"integer","enum":[1,2]}"#, r#"{"type":"integer"}"#),
            (r#"{"type":"string","format":"uri"}"#, r#"{"type":"string"}"#),
            (r#"{"type":"string","const":"on"}"#, r#"{"type":"string","enum":["on"]}"#),
            (r#"{"type":"integer","const":1}"#, r#"{"type":"integer"}"#),
            (r#"{"type":["string","null"]}"#, r#"{"type":"string","nullable":true}"#),
            (r#"{"type":["null","number"],"nullable":false}"#, r#"{"type":"number","nullable":false}"#),
            (
                r#"{"oneOf":[{"type":"string","$id":"a"},true,{"type":"number"}]}"#,
                r#"{"anyOf":[{"type":"string"},{"type":"number"}]}"#,
            ),
            (r#"{"type":"array"}"#, r#"{"type":"array","items":{"type":"string"}}"#),
            (r#"{"type":"array","items":true}"#, r#"{"type":"array","items":{"type":"string"}}"#),
            (r#"{"type":"array","items":{}}"#, r#"{"type":"array","items":{"type":"string"}}"#),
            (
                r##"{"items":{"$ref":"#/$defs/x"},"type":"array"}"##,
                r#"{"items":{"type":"string"},"type":"array"}"#,
            ),
            (r#"{"type":"object","required":["a"]}"#, r#"{"type":"object"}"#),
            (r#"{"type":"object","required":["a"],"properties":{}}"#, r#"{"type":"object"}"#),
            (r##"{"$ref":"#/$defs/x"}"##, "{}"),
            ("true", "{}"),
        ] {
            assert_eq!(property(given), sent, "{given}");
        }
    }

    #[test]
    fn a_property_may_be_named_like_a_keyword() {
        assert_eq!(
            property(r#"{"type":"object","properties":{"$ref":{"type":"string"},"const":{"type":"null"}}}"#),
            r#"{"type":"object","properties":{"$ref":{"type":"string"},"const":{"type":"null"}}}"#
        );
    }

    #[test]
    fn nothing_is_declared_without_properties() {
        for schema in ["{}", r#"{"type":"object"}"#, r#"{"type":"object","properties":{}}"#, "true", "[]"] {
            assert_eq!(stripped(schema), None, "{schema}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let deep = format!("{}{{}}{}", r#"{"type":"array","items":"#.repeat(100), "}".repeat(100));
        assert!(property(&deep).len() < 40 * r#"{"type":"array","items":}"#.len());
    }
}
