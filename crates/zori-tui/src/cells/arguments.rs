//! What a call asks for, in words: its arguments by any dialect's names.

use serde_json::Value;
use zori_core::message::ToolInput;

use crate::wrap::truncate_middle;

/// Columns that one value of an argument may take.
const VALUE: usize = 40;

/// The arguments of a call.
#[derive(Clone, Debug, Default)]
pub struct Arguments(Value);

impl Arguments {
    /// Reads them; what is not JSON has none.
    pub fn of(input: &ToolInput) -> Self {
        Self(serde_json::from_str(input.json()).unwrap_or_default())
    }

    /// Reads them from JSON.
    pub fn parse(json: &str) -> Self {
        Self(serde_json::from_str(json).unwrap_or_default())
    }

    /// Returns the first of these arguments that there is, as text.
    pub fn text(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.0.get(name)?.as_str())
    }

    pub fn path(&self) -> Option<&str> {
        self.text(&["path", "file_path", "notebook_path", "dir"])
    }

    pub fn command(&self) -> Option<&str> {
        self.text(&["command", "cmd"])
    }

    pub fn pattern(&self) -> Option<&str> {
        self.text(&["pattern", "query", "regex"])
    }

    pub fn url(&self) -> Option<&str> {
        self.text(&["url", "uri"])
    }

    /// Returns all of them as `key=value`, each value in one short piece.
    pub fn pairs(&self) -> String {
        let Some(object) = self.0.as_object() else { return String::new() };
        let pairs = object.iter().map(|(key, value)| {
            let text = match value {
                Value::String(text) if text.contains(char::is_whitespace) || text.is_empty() => {
                    format!("{text:?}")
                }
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            format!("{key}={}", truncate_middle(&text, VALUE))
        });
        pairs.collect::<Vec<_>>().join(" ")
    }

    /// Returns them for reading, a line each.
    pub fn lines(&self) -> String {
        let Some(object) = self.0.as_object() else { return self.0.to_string() };
        let lines = object.iter().map(|(key, value)| match value {
            Value::String(text) => format!("{key}: {text}"),
            other => format!("{key}: {other}"),
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}
