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
        let told = items.iter().flat_map(|item| self.item(item)).collect();
        // Items that the server no longer lists are not told again.
        if let Some(first) = items.iter().map(number).min() {
            self.told = self.told.split_off(&first);
        }
        told
    }

    fn item(&mut self, item: &Value) -> Vec<Chunk> {
        let now = text(item);
        let before = self.told.insert(number(item), now.clone());
        if now.is_empty() || before.as_ref() == Some(&now) {
            return Vec::new();
        }
        let heading = heading(item);
        let kind = item["type"].as_str().unwrap_or_default();
        let short = |what: &str| {
            let content = item["content"].as_str().unwrap_or_default();
            let told = before.as_deref().is_some_and(|before| before.starts_with(heading));
            // What is answered says more than the heading over it; under one that was told, the newest line is news.
            let newest = content.lines().rev().find(|line| !line.trim().is_empty()).filter(|_| told);
            let text = match newest {
                _ if kind == "response" && !content.is_empty() => content,
                _ if heading.is_empty() => content,
                Some(newest) => newest,
                None => heading,
            };
            Chunk::Status(format!("{what}{}", line(text)))
        };
        match kind {
            "agent" => {
                let (thought, step) = (thoughts(item), step(item));
                let (thought_before, step_before) =
                    before.as_deref().and_then(|before| before.split_once(STEP)).unwrap_or_default();
                // An item that grew is told by what was added.
                let added = thought.strip_prefix(thought_before).unwrap_or(&thought);
                let thinks = (!added.is_empty()).then(|| Chunk::Thinking(format!("{added}\n")));
                let does = (!step.is_empty() && step != step_before)
                    .then(|| Chunk::Status(format!("Server: {}", line(&step))));
                thinks.into_iter().chain(does).collect()
            }
            // The text itself comes with the message.
            "response" => vec![short("Server answers: ")],
            "tool" | "mcp" | "code_exe" | "browser" => vec![short("The server's tool: ")],
            "progress" | "info" | "hint" | "util" | "subagent" => vec![short("Server: ")],
            "warning" => vec![short("Server warning: ")],
            "error" => vec![short("Server error: ")],
            // The user's words came from here.
            _ => Vec::new(),
        }
    }
}

fn number(item: &Value) -> i64 {
    item["no"].as_i64().unwrap_or(-1)
}

/// Stands between what the agent thinks and what it does, as both are kept.
const STEP: char = '\u{0}';

/// Returns what an item says; of the agent, what it thinks and does.
fn text(item: &Value) -> String {
    let field = |name: &str| item[name].as_str().unwrap_or_default();
    match field("type") {
        "agent" => match (thoughts(item), step(item)) {
            (thought, step) if thought.is_empty() && step.is_empty() => String::new(),
            (thought, step) => format!("{thought}{STEP}{step}"),
        },
        _ => format!("{}{}", heading(item), field("content")),
    }
}

/// Returns the heading; the name of an icon of the server's own pages before it says nothing here.
fn heading(item: &Value) -> &str {
    let heading = item["heading"].as_str().unwrap_or_default().trim();
    match heading.strip_prefix("icon://") {
        Some(rest) => rest.split_once(char::is_whitespace).map_or("", |(_, heading)| heading.trim()),
        None => heading,
    }
}

/// Returns what the agent thinks.
fn thoughts(item: &Value) -> String {
    let found = ["reasoning", "thoughts"].iter().find_map(|name| match &item["kvps"][*name] {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Array(lines) if !lines.is_empty() => {
            Some(lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n"))
        }
        _ => None,
    });
    found.unwrap_or_default()
}

/// Returns what the agent does: the heading, or the step it names.
fn step(item: &Value) -> String {
    let named = [heading(item), item["kvps"]["step"].as_str().unwrap_or_default().trim()];
    named.into_iter().find(|text| !text.is_empty()).unwrap_or_default().to_owned()
}

fn line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    zori_core::text::one_line(zori_core::text::prefix(&line, 300)).into_owned()
}
