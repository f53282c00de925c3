//! Content that others wrote, and bytes that are no text: how both look in `data`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::{Value, json};

/// Content of a file, a model, a web page: marked, so that a reader does not take it for ours.
///
/// It becomes the object of the content with `_source` and `_trusted` beside its own fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External<T>(pub T);

impl<T: Serialize> Serialize for External<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut value = serde_json::to_value(&self.0).map_err(serde::ser::Error::custom)?;
        if !value.is_object() {
            value = json!({"content": value});
        }
        value["_source"] = json!("external");
        value["_trusted"] = json!(false);
        value.serialize(serializer)
    }
}

/// Takes the marks away, for `--no-injection-protection`. Returns whether there were any.
pub fn unmark(value: &mut Value) -> bool {
    match value {
        Value::Array(items) => items.iter_mut().map(unmark).fold(false, |any, found| any | found),
        Value::Object(map) => {
            let marked = map.remove("_source").is_some() | map.remove("_trusted").is_some();
            map.values_mut().map(unmark).fold(marked, |any, found| any | found)
        }
        _ => false,
    }
}

/// Returns whether something in the value carries the marks.
pub fn is_marked(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(is_marked),
        Value::Object(map) => map.get("_trusted") == Some(&Value::Bool(false)) || map.values().any(is_marked),
        _ => false,
    }
}

/// Bytes as they are.
pub fn binary(bytes: &[u8], content_type: Option<&str>) -> Value {
    let mut value = json!({
        "type": "binary",
        "encoding": "base64",
        "value": STANDARD.encode(bytes),
        "size_bytes": bytes.len(),
    });
    if let Some(content_type) = content_type {
        value["content_type"] = json!(content_type);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_come_and_go() {
        let mut value = json!([External(json!({"text": "hi"})), {"inner": External("bare")}]);
        assert_eq!(
            value,
            json!([
                {"text": "hi", "_source": "external", "_trusted": false},
                {"inner": {"content": "bare", "_source": "external", "_trusted": false}},
            ])
        );
        assert!(is_marked(&value) && unmark(&mut value));
        assert_eq!(value, json!([{"text": "hi"}, {"inner": {"content": "bare"}}]));
        assert!(!is_marked(&value) && !unmark(&mut value));
    }

    #[test]
    fn bytes_are_wrapped() {
        let wanted = json!({"type": "binary", "encoding": "base64", "value": "AP8=", "size_bytes": 2,
                            "content_type": "image/png"});
        assert_eq!(binary(&[0, 255], Some("image/png")), wanted);
    }
}
