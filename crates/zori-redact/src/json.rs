//! Takes secrets out of JSON. A secret may stand in a string, or show only in the text as a whole: as a key, or beside
//! a telling key.

use std::borrow::Cow;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::Redactor;

impl Redactor {
    /// Returns an object without secrets, on one line; `None` for JSON that is not an object.
    pub fn redact_object<'a>(&self, raw: &'a RawValue) -> Option<Cow<'a, RawValue>> {
        let mut value: Value = serde_json::from_str(raw.get()).ok()?;
        if !value.is_object() {
            return None;
        }
        let changed = self.redact_strings(&mut value);
        let text = match changed || raw.get().contains(['\n', '\r']) {
            true => Cow::Owned(value.to_string()),
            false => Cow::Borrowed(raw.get()),
        };
        match (self.redact(&text), &text) {
            (Cow::Borrowed(_), Cow::Borrowed(_)) => Some(Cow::Borrowed(raw)),
            (clean, _) => RawValue::from_string(clean.into_owned()).ok().map(Cow::Owned),
        }
    }

    /// Returns any JSON without secrets. Where the result is no longer JSON, it is returned as text.
    pub fn redact_value(&self, json: &str) -> Value {
        let mut value: Value = serde_json::from_str(json).unwrap_or_default();
        self.redact_strings(&mut value);
        let text = value.to_string();
        match self.redact(&text) {
            Cow::Borrowed(_) => value,
            Cow::Owned(clean) => serde_json::from_str(&clean).unwrap_or(Value::String(clean)),
        }
    }

    /// Takes secrets out of every string; returns whether there were any.
    fn redact_strings(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => match self.redact(text) {
                Cow::Borrowed(_) => false,
                Cow::Owned(clean) => {
                    *text = clean;
                    true
                }
            },
            Value::Array(items) => {
                items.iter_mut().fold(false, |changed, item| self.redact_strings(item) | changed)
            }
            Value::Object(map) => {
                map.values_mut().fold(false, |changed, item| self.redact_strings(item) | changed)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key() -> String {
        format!("sk-ant-{}", "a1".repeat(15))
    }

    #[test]
    fn strings_names_and_neighbours() {
        let redactor = Redactor::default();
        let clean = |json: Value| redactor.redact_value(&json.to_string());
        assert_eq!(clean(json!({"a": [key(), 1]})), json!({"a": ["[REDACTED]", 1]}));
        assert_eq!(clean(json!({"a": "plain"})), json!({"a": "plain"}));
        // As JSON text the name gives the value away.
        let beside = clean(json!({"api_key": "0123456789abcdef"})).to_string();
        assert!(beside.contains("[REDACTED]") && !beside.contains("0123456789"), "{beside}");
    }

    #[test]
    fn objects_stay_as_they_were_written() {
        let redactor = Redactor::default();
        let raw = |text: String| RawValue::from_string(text).unwrap();
        let clean = |text: String| redactor.redact_object(&raw(text)).map(|clean| clean.get().to_owned());
        assert_eq!(clean(r#"{ "b":1, "a":2 }"#.to_owned()).as_deref(), Some(r#"{ "b":1, "a":2 }"#));
        assert_eq!(clean("{\n\"b\":1}".to_owned()).as_deref(), Some(r#"{"b":1}"#));
        assert_eq!(clean(json!({"b": key()}).to_string()).as_deref(), Some(r#"{"b":"[REDACTED]"}"#));
        assert_eq!(clean("[1]".to_owned()), None);
    }
}
