//! Answers of bounded size: arrays are cut between items, strings between characters, and what is missing is said.

use serde_json::{Map, Value, json};

use crate::warning::Warning;

/// The bound when nobody says otherwise.
pub const DEFAULT_BYTES: usize = 1_048_576;

/// How many characters a text within an answer has when nobody says otherwise.
pub const DEFAULT_FIELD: usize = 10_000;

/// So many fields that were cut are named one by one.
const NAMED: usize = 20;

/// What an object that was cut has, and how many bytes that takes.
const TRUNCATED: &str = "_truncated";
const MARK_BYTES: usize = r#","_truncated":true"#.len();

/// What stands where a string was cut.
const MARK: &str = "… [truncated]";

/// What was cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truncation {
    /// How many bytes `data` had as JSON.
    pub total_bytes: usize,
    /// How many are left.
    pub returned_bytes: usize,
    /// How many items the list had, where items were left out.
    pub total_count: Option<usize>,
    /// How many are left.
    pub returned_count: Option<usize>,
}

impl Truncation {
    /// Adds the facts to `meta`; `hint` is a command that gets the rest.
    pub fn describe(&self, meta: &mut Map<String, Value>, hint: &str) {
        meta.insert("truncated".into(), json!(true));
        meta.insert("total_bytes".into(), json!(self.total_bytes));
        meta.insert("returned_bytes".into(), json!(self.returned_bytes));
        meta.insert("truncation_hint".into(), json!(hint));
        if let (Some(total), Some(returned)) = (self.total_count, self.returned_count) {
            meta.insert("total_count".into(), json!(total));
            meta.insert("returned_count".into(), json!(returned));
        }
    }

    /// Returns the warning that goes with it.
    pub fn warning(&self) -> Warning {
        Warning::new(
            "OUTPUT_TRUNCATED",
            format!("the answer was cut to {} of {} bytes", self.returned_bytes, self.total_bytes),
        )
        .bytes(self.total_bytes, self.returned_bytes)
    }
}

/// Cuts `data` until it has at most `max` bytes as JSON; `None` if it fits as it is.
pub fn fit(data: &mut Value, max: usize) -> Option<Truncation> {
    let total_bytes = size(data);
    if total_bytes <= max {
        return None;
    }
    let mut cut = Truncation { total_bytes, returned_bytes: 0, total_count: None, returned_count: None };
    if let Value::Array(items) = data {
        cut.total_count = Some(items.len());
        shorten_array(items, max);
        cut.returned_count = Some(items.len());
    } else {
        // Each round halves the largest part at least, so few are needed whatever the shape.
        for _ in 0..64 {
            let over = (size(data) + MARK_BYTES).saturating_sub(max);
            if over == 0 || !shorten_largest(data, over) {
                break;
            }
        }
        if let Value::Object(map) = data {
            map.insert(TRUNCATED.into(), json!(true));
        }
        if size(data) > max {
            *data = Value::Null;
        }
    }
    cut.returned_bytes = size(data);
    Some(cut)
}

/// Cuts every string that has more than `max` characters; the object around it says so with `_truncated`. Returns what was cut,
/// and a warning for each; `None` if there was nothing to cut.
pub fn fields(data: &mut Value, max: usize) -> Option<(Truncation, Vec<Warning>)> {
    if !has_longer(data, max) {
        return None;
    }
    let total_bytes = size(data);
    let mut warnings = Vec::new();
    shorten_fields(data, max, String::new(), &mut warnings);
    if warnings.len() > NAMED {
        let more = warnings.len() - NAMED;
        warnings.truncate(NAMED);
        warnings.push(Warning::new("FIELD_TRUNCATED", format!("{more} more fields were cut")));
    }
    let cut = Truncation { total_bytes, returned_bytes: size(data), total_count: None, returned_count: None };
    Some((cut, warnings))
}

fn has_longer(value: &Value, max: usize) -> bool {
    match value {
        // No text has more characters than bytes, so that most need not be counted.
        Value::String(text) => text.len() > max && text.chars().count() > max,
        Value::Array(items) => items.iter().any(|item| has_longer(item, max)),
        Value::Object(map) => map.values().any(|inner| has_longer(inner, max)),
        _ => false,
    }
}

/// Returns whether a string was cut that no object within this value is around.
fn shorten_fields(value: &mut Value, max: usize, at: String, warnings: &mut Vec<Warning>) -> bool {
    match value {
        Value::String(text) => {
            let Some((end, _)) = text.char_indices().nth(max) else { return false };
            let (bytes, length) = (text.len(), text.chars().count());
            text.truncate(end);
            let message = format!("`{at}` was cut to {max} of {length} characters");
            let warning = Warning::new("FIELD_TRUNCATED", message).field(at).length(length, max);
            warnings.push(warning.bytes(bytes, end));
            text.push_str(MARK);
            true
        }
        Value::Array(items) => {
            let mut cut = false;
            for (n, item) in items.iter_mut().enumerate() {
                cut |= shorten_fields(item, max, format!("{at}[{n}]"), warnings);
            }
            cut
        }
        Value::Object(map) => {
            let dot = if at.is_empty() { "" } else { "." };
            let mut cut = false;
            for (name, inner) in map.iter_mut() {
                cut |= shorten_fields(inner, max, format!("{at}{dot}{name}"), warnings);
            }
            if cut {
                map.insert(TRUNCATED.into(), json!(true));
            }
            false
        }
        _ => false,
    }
}

fn size(value: &Value) -> usize {
    // Counting alone would be cheaper; answers above the bound are rare.
    value.to_string().len()
}

fn shorten_array(items: &mut Vec<Value>, max: usize) {
    let mut used = 2;
    let fitting = items.iter().take_while(|item| {
        used += size(item) + 1;
        used <= max + 1
    });
    let n = fitting.count();
    items.truncate(n);
}

/// Shortens the largest string or array below the value by at least `over` bytes, as far as it goes. Returns whether
/// anything could be shortened.
fn shorten_largest(value: &mut Value, over: usize) -> bool {
    match value {
        Value::String(text) => {
            let room = text.len().saturating_sub(over + MARK.len());
            if text.len() <= MARK.len() {
                return false;
            }
            let kept = text.strip_suffix(MARK).unwrap_or(text);
            let kept = &kept[..kept.floor_char_boundary(room)];
            *text = format!("{kept}{MARK}");
            true
        }
        Value::Array(items) if !items.is_empty() => {
            let room = size(&Value::Array(items.clone())).saturating_sub(over);
            let before = items.len();
            shorten_array(items, room);
            items.len() < before
        }
        Value::Object(map) => {
            let mut inner: Vec<_> = map.values_mut().collect();
            inner.sort_by_key(|value| std::cmp::Reverse(size(value)));
            inner.into_iter().any(|value| shorten_largest(value, over))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_stays() {
        let mut data = json!({"a": "b"});
        assert_eq!(fit(&mut data, 9), None);
        assert_eq!(data, json!({"a": "b"}));
    }

    #[test]
    fn a_list_is_cut_between_items() {
        let mut data = json!(["aaaa", "bbbb", "cccc"]);
        let cut = fit(&mut data, 15).unwrap();
        assert_eq!(data, json!(["aaaa", "bbbb"]));
        let wanted =
            Truncation { total_bytes: 22, returned_bytes: 15, total_count: Some(3), returned_count: Some(2) };
        assert_eq!(cut, wanted);
        let mut meta = Map::new();
        cut.describe(&mut meta, "notes list --limit 2");
        assert_eq!(
            Value::Object(meta),
            json!({"truncated": true, "total_bytes": 22, "returned_bytes": 15, "total_count": 3,
                   "returned_count": 2, "truncation_hint": "notes list --limit 2"})
        );
    }

    #[test]
    fn a_long_string_is_cut_between_characters() {
        let mut data = json!({"id": "x", "body": "é".repeat(1_000)});
        let cut = fit(&mut data, 200).unwrap();
        assert!(size(&data) <= 200 && cut.returned_bytes == size(&data), "{data}");
        assert_eq!(data["id"], "x");
        assert!(data["body"].as_str().unwrap().ends_with("é… [truncated]"), "{data}");
    }

    #[test]
    fn long_fields_are_cut_and_named() {
        let mut data =
            json!({"id": "x", "events": [{"text": "é".repeat(12)}, {"lines": ["short", "0123456789ab"]}]});
        let before = size(&data);
        let (cut, warnings) = fields(&mut data, 10).unwrap();
        assert_eq!(
            data,
            json!({"id": "x", "events": [
                {"text": format!("{}… [truncated]", "é".repeat(10)), "_truncated": true},
                {"lines": ["short", "0123456789… [truncated]"], "_truncated": true},
            ]})
        );
        assert_eq!((cut.total_bytes, cut.returned_bytes), (before, size(&data)));
        assert_eq!(
            json!(warnings),
            json!([
                {"code": "FIELD_TRUNCATED", "message": "`events[0].text` was cut to 10 of 12 characters",
                 "field": "events[0].text", "original_length": 12, "truncated_to": 10, "original_bytes": 24,
                 "returned_bytes": 20},
                {"code": "FIELD_TRUNCATED", "message": "`events[1].lines[1]` was cut to 10 of 12 characters",
                 "field": "events[1].lines[1]", "original_length": 12, "truncated_to": 10, "original_bytes": 12,
                 "returned_bytes": 10},
            ])
        );
        assert_eq!(fields(&mut json!({"a": "0123456789"}), 10), None);
        let mut many = json!((0..30).map(|_| "0123456789ab").collect::<Vec<_>>());
        let (_, warnings) = fields(&mut many, 10).unwrap();
        assert_eq!((warnings.len(), warnings[20].message.as_str()), (21, "10 more fields were cut"));
    }

    #[test]
    fn whatever_the_shape_it_fits() {
        for (shape, max) in [
            (json!({"a": {"b": ["x".repeat(500), "y".repeat(500)]}, "c": "z".repeat(300)}), 400),
            (json!({"a": (0..500).collect::<Vec<_>>()}), 100),
            (json!({"k".repeat(300): 1}), 100),
            (json!({"a": "\u{1}".repeat(100)}), 50),
        ] {
            let mut data = shape;
            let cut = fit(&mut data, max).unwrap();
            assert!(size(&data) <= max && cut.total_bytes > max, "{data}");
        }
    }
}
