//! The script's format: what a line may hold, and how a request is checked against it.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::message::{Block, Message, Role, ToolResult};
use zori_core::provider::{Request, StopReason};
use zori_core::text;
use zori_core::usage::Usage;

/// Why a script cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("script line {line}: {reason}")]
pub struct ScriptError {
    /// Which line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

/// One request and its answer.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) line: usize,
    pub(super) expect: Expect,
    pub(super) reply: Vec<Piece>,
    pub(super) usage: Option<Usage>,
    pub(super) stop: StopReason,
    pub(super) model: Option<String>,
}

/// What a request must look like; absent fields are not checked.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expect {
    model: Option<String>,
    system_contains: Option<String>,
    last_user: Option<String>,
    last_user_contains: Option<String>,
    tools: Option<Vec<String>>,
    tool_results: Option<Vec<ExpectedResult>>,
    messages: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedResult {
    id: Option<String>,
    name: Option<String>,
    ok: Option<bool>,
    contains: Option<String>,
}

/// A part of a reply.
#[derive(Debug)]
pub(super) enum Piece {
    Text { text: String, pace_ms: Option<u64> },
    Thinking { text: String, signature: Option<String> },
    Call { id: Option<String>, name: String, json: String, complete: bool },
    Pause(u64),
    Error(ErrorPiece),
    Cut,
    Hang,
}

/// A failure that the script asks for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ErrorPiece {
    kind: String,
    message: String,
    status: Option<u16>,
    details: Option<String>,
    retry_after_ms: Option<u64>,
}

/// A line as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// For the reader of the file.
    #[serde(rename = "about")]
    _about: Option<String>,
    #[serde(default)]
    expect: Expect,
    reply: Vec<PieceLine>,
    usage: Option<UsageLine>,
    stop: Option<String>,
    model: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PieceLine {
    text: Option<String>,
    pace_ms: Option<u64>,
    thinking: Option<String>,
    signature: Option<String>,
    tool: Option<String>,
    id: Option<String>,
    input: Option<Box<RawValue>>,
    raw_input: Option<String>,
    #[serde(default)]
    unfinished: bool,
    pause_ms: Option<u64>,
    error: Option<ErrorPiece>,
    #[serde(default)]
    cut: bool,
    #[serde(default)]
    hang: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
struct UsageLine {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

/// Reads a whole script; blank lines are skipped.
pub(super) fn parse(script: &str) -> Result<Vec<Step>, ScriptError> {
    let lines = script.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let steps = lines
        .map(|(at, line)| parse_step(at + 1, line).map_err(|reason| ScriptError { line: at + 1, reason }));
    steps.collect()
}

fn parse_step(number: usize, text: &str) -> Result<Step, String> {
    let line: Line = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let reply = line.reply.into_iter().map(PieceLine::piece).collect::<Result<Vec<_>, _>>()?;
    let asks = reply.iter().any(|p| matches!(p, Piece::Call { .. }));
    let default = if asks { "tool_use" } else { "end_turn" };
    let stop = stop_reason(line.stop.as_deref().unwrap_or(default));
    let usage = line.usage.map(|u| Usage {
        input: u.input,
        output: u.output,
        cache_read: u.cache_read,
        cache_write: u.cache_write,
        cache_unknown: 0,
    });
    for piece in &reply {
        if let Piece::Error(error) = piece {
            error.known_kind()?;
        }
    }
    Ok(Step { line: number, expect: line.expect, reply, usage, stop, model: line.model })
}

impl PieceLine {
    fn piece(self) -> Result<Piece, String> {
        let input = self.input.map(|raw| raw.get().to_owned());
        let choices = [
            self.text.map(|text| Piece::Text { text, pace_ms: self.pace_ms }),
            self.thinking.map(|text| Piece::Thinking { text, signature: self.signature }),
            self.tool.map(|name| Piece::Call {
                id: self.id,
                name,
                json: self.raw_input.or(input).unwrap_or_default(),
                complete: !self.unfinished,
            }),
            self.pause_ms.map(Piece::Pause),
            self.error.map(Piece::Error),
            self.cut.then_some(Piece::Cut),
            self.hang.then_some(Piece::Hang),
        ];
        let mut named = choices.into_iter().flatten();
        match (named.next(), named.next()) {
            (Some(piece), None) => Ok(piece),
            _ => Err("a piece needs exactly one of text, thinking, tool, pause_ms, error, cut, hang".into()),
        }
    }
}

impl ErrorPiece {
    pub(super) fn failure(&self) -> ProviderFailure {
        ProviderFailure {
            kind: self.known_kind().unwrap_or(FailureKind::Internal),
            status: self.status,
            message: self.message.clone(),
            details: self.details.clone(),
            retry_after: self.retry_after_ms.map(Duration::from_millis),
            reply_limit: None,
        }
    }

    fn known_kind(&self) -> Result<FailureKind, String> {
        const KINDS: [FailureKind; 7] = [
            FailureKind::HttpStatus,
            FailureKind::Timeout,
            FailureKind::Parse,
            FailureKind::ApiError,
            FailureKind::Transport,
            FailureKind::Auth,
            FailureKind::Internal,
        ];
        let known = KINDS.into_iter().find(|k| k.as_str() == self.kind);
        known.ok_or_else(|| format!("unknown error kind `{}`", self.kind))
    }
}

fn stop_reason(name: &str) -> StopReason {
    match name {
        "end_turn" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "stop_sequence" => StopReason::StopSequence,
        "refusal" => StopReason::Refusal(None),
        "content_filter" => StopReason::ContentFilter(None),
        "blocked" => StopReason::Blocked(None),
        "malformed" => StopReason::Malformed("malformed".to_owned()),
        "pause" => StopReason::Pause,
        "context_window" => StopReason::ContextWindow,
        other => StopReason::Other(other.to_owned()),
    }
}

impl Expect {
    /// Checks a request; the error says what was expected and what came.
    pub(super) fn check(&self, request: &Request<'_>) -> Result<(), String> {
        if let Some(model) = &self.model {
            same("model", model, request.model)?;
        }
        if let Some(part) = &self.system_contains {
            contains("the system prompt", part, request.system.map_or("", |s| s))?;
        }
        let last_user = request.messages.iter().rev().find(|m| m.role == Role::User);
        let said = last_user.map(|m| m.text()).unwrap_or_default();
        if let Some(text) = &self.last_user {
            same("last user text", text, &said)?;
        }
        if let Some(part) = &self.last_user_contains {
            contains("the last user text", part, &said)?;
        }
        if let Some(tools) = &self.tools {
            let offered: Vec<_> = request.tools.iter().map(|t| t.name.as_str()).collect();
            same("tools", &tools.join(" "), &offered.join(" "))?;
        }
        if let Some(count) = self.messages {
            same("number of messages", &count.to_string(), &request.messages.len().to_string())?;
        }
        match &self.tool_results {
            Some(expected) => check_results(expected, &results(request.messages)),
            None => Ok(()),
        }
    }
}

fn check_results(expected: &[ExpectedResult], came: &[&ToolResult]) -> Result<(), String> {
    same("number of tool results", &expected.len().to_string(), &came.len().to_string())?;
    for (at, (expected, came)) in expected.iter().zip(came).enumerate() {
        let what = |field: &str| format!("{field} of tool result {}", at + 1);
        if let Some(id) = &expected.id {
            same(&what("id"), id, came.call.as_str())?;
        }
        if let Some(name) = &expected.name {
            same(&what("name"), name, &came.name)?;
        }
        if let Some(ok) = expected.ok
            && ok != came.ok
        {
            let content = text::prefix(came.content(), 500);
            return Err(format!("expected {} {ok}, got {}: {content}", what("ok"), came.ok));
        }
        if let Some(part) = &expected.contains {
            contains(&what("content"), part, came.content())?;
        }
    }
    Ok(())
}

/// Returns the results behind the last reply of the model.
fn results(messages: &[Arc<Message>]) -> Vec<&ToolResult> {
    let since = messages.iter().rposition(|m| m.role == Role::Assistant).map_or(0, |at| at + 1);
    let blocks = messages[since..].iter().flat_map(|m| &m.blocks);
    blocks.filter_map(|b| if let Block::ToolResult(r) = b { Some(r) } else { None }).collect()
}

fn same(what: &str, expected: &str, came: &str) -> Result<(), String> {
    if expected == came {
        return Ok(());
    }
    Err(format!("expected {what} {expected:?}, got {:?}", text::prefix(came, 500)))
}

fn contains(what: &str, part: &str, came: &str) -> Result<(), String> {
    if came.contains(part) {
        return Ok(());
    }
    Err(format!("expected {what} to contain {part:?}, got {:?}", text::prefix(came, 500)))
}
