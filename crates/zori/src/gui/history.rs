//! A conversation as the GUI keeps it: what `--history-file` brings, and the file beside our own log that its list of sessions
//! reads, `sessions/<provider>/<id>.json`.
//!
//! Our log is what a session goes on from; this file is written for the GUI after each turn and never read back, but for when it
//! was made and what was used before.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use zori_contract::atomic::atomic_write;
use zori_contract::error::VALIDATION_ERROR;
use zori_contract::failure::Failure;
use zori_contract::path::AbsPath;
use zori_core::ids::{CallId, SessionId};
use zori_core::message::{Block, IdOrigin, Message, Role, ToolCall, ToolInput, ToolResult};
use zori_core::time::Clock;
use zori_core::usage::Usage;
use zori_host::{Session, SessionSettings, SystemClock};
use zori_redact::Redactor;

/// A message as the GUI has it.
#[derive(Serialize, Deserialize)]
struct Entry {
    role: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    #[serde(default, rename = "toolCalls", alias = "tool_calls", skip_serializing_if = "Vec::is_empty")]
    calls: Vec<Call>,
    #[serde(default, rename = "toolCallId", alias = "tool_call_id", skip_serializing_if = "Option::is_none")]
    answers: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Call {
    id: String,
    name: String,
    #[serde(default)]
    input: Value,
}

/// Reads the conversation that `--history-file` brings.
pub fn read(file: &str) -> Result<Vec<Arc<Message>>, Failure> {
    let bad = |why: String| Failure::new(&VALIDATION_ERROR, format!("`--history-file {file}`: {why}"));
    let text = fs::read_to_string(file).map_err(|error| bad(error.to_string()))?;
    let entries: Vec<Entry> = serde_json::from_str(&text).map_err(|error| {
        bad(format!("it is no JSON array of messages with `role` and `content`: {error}"))
    })?;
    Ok(messages(entries).into_iter().map(Arc::new).collect())
}

/// Puts messages together. A call without a result, and a result without a call, is left out: no provider takes one.
fn messages(entries: Vec<Entry>) -> Vec<Message> {
    let answered: Vec<String> = entries.iter().filter_map(|entry| entry.answers.clone()).collect();
    let mut messages: Vec<Message> = Vec::new();
    let mut open: Vec<(String, String)> = Vec::new();
    for entry in entries {
        let text = entry.content.filter(|text| !text.trim().is_empty());
        let (role, blocks) = match (entry.role.as_str(), entry.answers) {
            ("tool", Some(id)) => {
                let Some(at) = open.iter().position(|(known, _)| *known == id) else { continue };
                (Role::User, vec![Block::ToolResult(result(open.remove(at), text.unwrap_or_default()))])
            }
            ("tool", None) => continue,
            ("assistant", _) => {
                let mut blocks: Vec<Block> = text.into_iter().map(Block::Text).collect();
                for call in entry.calls.into_iter().filter(|call| answered.contains(&call.id)) {
                    open.push((call.id.clone(), call.name.clone()));
                    blocks.push(Block::ToolCall(ToolCall {
                        id: CallId::new(call.id),
                        name: call.name,
                        input: ToolInput::parse(call.input.to_string()),
                        id_origin: IdOrigin::Provider,
                        replay: None,
                    }));
                }
                (Role::Assistant, blocks)
            }
            _ => (Role::User, text.into_iter().map(Block::Text).collect()),
        };
        match messages.last_mut() {
            _ if blocks.is_empty() => {}
            // Results of one reply are one message.
            Some(last) if last.role == role && matches!(blocks[0], Block::ToolResult(_)) => {
                last.blocks.extend(blocks)
            }
            _ => messages.push(Message { role, blocks }),
        }
    }
    messages
}

fn result((id, name): (String, String), text: String) -> ToolResult {
    let envelope: Arc<RawValue> =
        to_raw_value(&json!({"ok": true, "data": {"output": text}})).expect("a value is JSON").into();
    ToolResult {
        call: CallId::new(id),
        name,
        ok: true,
        envelope,
        text: Some(text.into()),
        images: Vec::new(),
    }
}

/// The file for the GUI.
pub struct Mirror {
    folder: PathBuf,
    provider: &'static str,
    cwd: PathBuf,
    redactor: Redactor,
    /// When it was made, and what was used before this process; known once it was looked for.
    before: Option<EarlierUsage>,
}

#[derive(Clone)]
struct EarlierUsage {
    created: String,
    usage: TokenCounts,
}

#[derive(Clone, Copy, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct TokenCounts {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_tokens: u64,
    cache_creation_tokens: u64,
}

impl TokenCounts {
    fn plus(self, usage: Usage) -> Self {
        Self {
            input_tokens: self.input_tokens + usage.input,
            output_tokens: self.output_tokens + usage.output,
            cache_read_tokens: self.cache_read_tokens + usage.cache_read,
            cache_creation_tokens: self.cache_creation_tokens + usage.cache_write,
        }
    }
}

impl Mirror {
    /// Returns the file of a session that is kept.
    pub fn of(settings: &SessionSettings) -> Option<Self> {
        let folder = settings.storage.sessions.clone().filter(|_| settings.storage.save)?;
        Some(Self {
            folder: folder.join(settings.model.facts.name),
            provider: settings.model.facts.name,
            cwd: settings.workspace.root.clone(),
            redactor: Redactor::new(settings.model.secrets.clone()),
            before: None,
        })
    }

    /// Writes all of it, as one step.
    pub fn write(&mut self, session: &Session) -> io::Result<()> {
        let file = self.folder.join(format!("{}.json", session.id().as_str()));
        let now = SystemClock::new().now().to_string();
        let before = self.before.get_or_insert_with(|| known(&file, &now)).clone();
        let history: Vec<Entry> =
            session.messages().iter().flat_map(|message| self.entries(message)).collect();
        let document = json!({
            "id": session.id().as_str(),
            "provider": self.provider,
            "model": session.model(),
            "cwd": self.cwd,
            "created": before.created,
            "updated": now,
            "history": history,
            "usage": before.usage.plus(session.spent().usage),
            "metadata": {"compactionCount": 0},
        });
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let path = AbsPath::new(&file).ok_or(io::ErrorKind::InvalidInput)?;
        atomic_write(&path, &serde_json::to_vec_pretty(&document)?)
    }

    /// Returns a message as the GUI has it: each result is one of its own.
    fn entries(&self, message: &Message) -> Vec<Entry> {
        let mut entries = Vec::new();
        let mut text = String::new();
        let mut calls = Vec::new();
        for block in &message.blocks {
            match block {
                Block::Text(more) => text.push_str(more),
                Block::ToolCall(call) => calls.push(Call {
                    id: call.id.as_str().to_owned(),
                    name: call.name.clone(),
                    input: serde_json::from_str(&self.redactor.redact(call.input.json())).unwrap_or_default(),
                }),
                Block::ToolResult(result) => entries.push(Entry {
                    role: "tool".to_owned(),
                    content: Some(self.redactor.redact(result.content()).into_owned()),
                    calls: Vec::new(),
                    answers: Some(result.call.as_str().to_owned()),
                }),
                Block::Image(_) | Block::Thinking(_) => {}
            }
        }
        if !text.is_empty() || !calls.is_empty() {
            let role = if message.role == Role::User { "user" } else { "assistant" };
            let content = (!text.is_empty()).then(|| self.redactor.redact(&text).into_owned());
            entries.push(Entry { role: role.to_owned(), content, calls, answers: None });
        }
        entries
    }
}

/// Returns what an earlier process wrote, or that there was none.
fn known(file: &Path, now: &str) -> EarlierUsage {
    #[derive(Deserialize)]
    struct Old {
        created: String,
        #[serde(default)]
        usage: TokenCounts,
    }
    let old: Option<Old> = fs::read(file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    match old {
        Some(old) => EarlierUsage { created: old.created, usage: old.usage },
        None => EarlierUsage { created: now.to_owned(), usage: TokenCounts::default() },
    }
}

/// Removes what the GUI reads of a session that is removed.
pub fn forget(sessions: &Path, id: &SessionId) {
    for entry in fs::read_dir(sessions).into_iter().flatten().flatten() {
        // Where there is none there is nothing to remove.
        let _ = fs::remove_file(entry.path().join(format!("{}.json", id.as_str())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_calls_that_were_answered() {
        let entries = serde_json::from_value(json!([
            {"role": "user", "content": "look"},
            {"role": "assistant", "content": "I do.", "toolCalls": [
                {"id": "1", "name": "Read", "input": {"file_path": "a"}}, {"id": "2", "name": "Read", "input": {}},
                {"id": "3", "name": "LS", "input": {}}]},
            {"role": "tool", "toolCallId": "1", "content": "one"},
            {"role": "tool", "toolCallId": "3", "content": "three"},
            {"role": "tool", "toolCallId": "9", "content": "nobody asked"},
            {"role": "assistant", "content": " "},
            {"role": "system", "content": "be brief"},
        ]))
        .unwrap();
        let told: Vec<String> = messages(entries)
            .iter()
            .map(|message| {
                let block = |block: &Block| match block {
                    Block::Text(text) => text.clone(),
                    Block::ToolCall(call) => {
                        format!("call {} {} {}", call.id.as_str(), call.name, call.input.json())
                    }
                    Block::ToolResult(result) => {
                        format!("result {} {}", result.call.as_str(), result.content())
                    }
                    _ => "?".to_owned(),
                };
                let blocks: Vec<_> = message.blocks.iter().map(block).collect();
                format!("{:?}: {}", message.role, blocks.join(" | "))
            })
            .collect();
        assert_eq!(
            told,
            [
                "User: look",
                r#"Assistant: I do. | call 1 Read {"file_path":"a"} | call 3 LS {}"#,
                "User: result 1 one | result 3 three",
                "User: be brief",
            ]
        );
    }
}
