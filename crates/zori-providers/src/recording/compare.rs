//! Finds where two JSON documents first differ. The order of fields does not count, and a redacted secret equals
//! anything.

use serde_json::Value;
use zori_core::secret::REDACTED;
use zori_core::text;

/// How much of a text is shown before the difference, and in all.
const BEFORE: usize = 20;
const SHOWN: usize = 80;

/// The first difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// Where, as a JSON pointer.
    pub(super) pointer: String,
    /// What was recorded there, shortened.
    pub(super) recorded: String,
    /// What is there now, shortened.
    pub(super) present: String,
}

/// Finds it.
pub(super) fn first_difference(recorded: &Value, present: &Value) -> Option<Difference> {
    find(&mut String::new(), Some(recorded), Some(present))
}

fn find(pointer: &mut String, recorded: Option<&Value>, present: Option<&Value>) -> Option<Difference> {
    match (recorded, present) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let mut keys: Vec<&String> = a.keys().chain(b.keys()).collect();
            keys.sort();
            keys.dedup();
            let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
            keys.into_iter().find_map(|key| below(pointer, &escaped(key), a.get(key), b.get(key)))
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => (0..a.len().max(b.len()))
            .find_map(|index| below(pointer, &index.to_string(), a.get(index), b.get(index))),
        (Some(Value::String(a)), Some(Value::String(b))) if a == b || fits(a, b) => None,
        (Some(Value::String(a)), Some(_)) if a == REDACTED => None,
        (a, b) if a == b => None,
        (a, b) => {
            let (a, b) = (shown(a), shown(b));
            let at = a.chars().zip(b.chars()).take_while(|(x, y)| x == y).count();
            let (recorded, present) = (excerpt(&a, at), excerpt(&b, at));
            Some(Difference { pointer: pointer.clone(), recorded, present })
        }
    }
}

fn below(pointer: &mut String, step: &str, a: Option<&Value>, b: Option<&Value>) -> Option<Difference> {
    let len = pointer.len();
    pointer.push('/');
    pointer.push_str(step);
    let found = find(pointer, a, b);
    pointer.truncate(len);
    found
}

/// Whether a text can be the one that secrets were taken out of.
fn fits(recorded: &str, present: &str) -> bool {
    let mut parts = recorded.split(REDACTED);
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = present.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

fn shown(value: Option<&Value>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}

/// Returns what is around a place, as one line.
fn excerpt(whole: &str, at: usize) -> String {
    let from = at.saturating_sub(BEFORE);
    let part: String = whole.chars().skip(from).take(SHOWN).collect();
    let head = if from > 0 { "..." } else { "" };
    let tail = if whole.chars().nth(from + SHOWN).is_some() { "..." } else { "" };
    format!("{head}{}{tail}", text::one_line(&part))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(recorded: Value, present: Value, expected: Option<[&str; 3]>) {
        let found = first_difference(&recorded, &present);
        let found = found.as_ref().map(|d| [d.pointer.as_str(), d.recorded.as_str(), d.present.as_str()]);
        assert_eq!(found, expected, "{recorded} {present}");
    }

    #[test]
    fn where_documents_differ() {
        check(json!({"a": 1, "b": [1, "x"]}), json!({"b": [1, "x"], "a": 1}), None);
        check(json!({"a": [1, 2]}), json!({"a": [1, 3]}), Some(["/a/1", "2", "3"]));
        check(json!({"a": [1]}), json!({"a": [1, {"b": 2}]}), Some(["/a/1", "nothing", r#"{"b":2}"#]));
        check(json!({"a/b~": null}), json!({}), Some(["/a~1b~0", "null", "nothing"]));
        check(json!("same"), json!(7), Some(["", "same", "7"]));
    }

    #[test]
    fn long_texts_are_shown_around_the_place() {
        let long = |middle: &str| json!(format!("{}{middle}{}", "é".repeat(100), "z".repeat(100)));
        let shown = |middle: &str| format!("...{}{middle}{}...", "é".repeat(20), "z".repeat(59));
        check(long("\n"), long("\t"), Some(["", &shown("\\n"), &shown("\\t")]));
    }

    #[test]
    fn what_was_taken_out_is_equal_to_anything() {
        for present in ["key: abc, again abc.", "key: [REDACTED], again [REDACTED]."] {
            check(json!("key: [REDACTED], again [REDACTED]."), json!(present), None);
        }
        check(json!({"pin": "[REDACTED]"}), json!({"pin": 1234}), None);
        check(json!({"pin": "[REDACTED]"}), json!({}), Some(["/pin", "[REDACTED]", "nothing"]));
        let differs = Some(["", "key: [REDACTED].", "key: abc!"]);
        check(json!("key: [REDACTED]."), json!("key: abc!"), differs);
    }
}
