//! What the server's agent does while a message is open: its log, of which only new and changed items are told (SRV-9).

use std::collections::BTreeMap;

use serde_json::Value;
use zori_core::provider::Chunk;

/// What was told so far.
#[derive(Default)]
pub(super) struct LogFeed {
    /// Which run of the server the items belong to.
    guid: Option<String>,
    /// What was told of each item.
    told: BTreeMap<i64, String>,
    begun: bool,
}

impl LogFeed {
    /// Takes an answer of the log; returns what is new in it.
    pub(super) fn take(&mut self, answer: &Value) -> Vec<Chunk> {
        let log = &answer["log"];
        let guid = log["guid"].as_str().map(str::to_owned);
        if guid != self.guid {
            // The server began a new log: what it has is all of this run.
            self.told.clear();
            self.begun |= self.guid.is_some();
            self.guid = guid;
        }
        let items = log["items"].as_array().map_or(&[][..], Vec::as_slice);
        if !std::mem::replace(&mut self.begun, true) {
            // What stands before the message that is open was told when it happened.
            let is_prompt = |item: &Value| matches!(item["type"].as_str(), Some("user" | "input"));
            let before = items.iter().rposition(is_prompt).map_or(0, |at| at + 1);
            for item in &items[..before] {
                self.told.insert(number(item), text(item));
            }
        }
        items.iter().flat_map(|item| self.item(item)).collect()
    }

    fn item(&mut self, item: &Value) -> Vec<Chunk> {
        let now = text(item);
        let before = self.told.insert(number(item), now.clone());
        if now.is_empty() || before.as_ref() == Some(&now) {
            return Vec::new();
        }
        let heading = item["heading"].as_str().unwrap_or_default().trim();
        let kind = item["type"].as_str().unwrap_or_default();
        let short = |what: &str| {
            let line =
                if heading.is_empty() { item["content"].as_str().unwrap_or_default() } else { heading };
            let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
            let line = zori_core::text::prefix(&line, 300);
            Chunk::Status(format!("{what}{}", zori_core::text::one_line(line)))
        };
        match kind {
            "agent" => {
                // An item that grew is told by what was added.
                let added = before.as_deref().and_then(|before| now.strip_prefix(before)).unwrap_or(&now);
                vec![Chunk::Thinking(format!("{added}\n"))]
            }
            "tool" | "mcp" | "code_exe" | "browser" => vec![short("The server's tool: ")],
            "progress" | "info" | "hint" | "util" | "subagent" => vec![short("Server: ")],
            "warning" => vec![short("Server warning: ")],
            "error" => vec![short("Server error: ")],
            // The answer itself comes with the message; the user's words came from here.
            _ => Vec::new(),
        }
    }
}

fn number(item: &Value) -> i64 {
    item["no"].as_i64().unwrap_or(-1)
}

/// Returns what an item says; of the agent, what it thinks.
fn text(item: &Value) -> String {
    let field = |name: &str| item[name].as_str().unwrap_or_default();
    let thoughts = ["reasoning", "thoughts", "step"].iter().find_map(|name| match &item["kvps"][*name] {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Array(lines) if !lines.is_empty() => {
            Some(lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n"))
        }
        _ => None,
    });
    match (field("type"), thoughts) {
        ("agent", Some(thoughts)) => thoughts,
        ("agent", None) => field("heading").to_owned(),
        _ => format!("{}{}", field("heading"), field("content")),
    }
}
