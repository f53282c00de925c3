//! For tests: terse events, and a session that has one of everything.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use zori_core::event::{
    DecidedBy, Event, EventKind, MessageEvent, Notice, NoticeLevel, Reply, ToolEvent, ToolFinished,
    ToolRequested, TurnEvent, TurnSummary,
};
use zori_core::ids::{AgentId, CallId, SessionId};
use zori_core::message::{Block, IdOrigin, Message, Opaque, Role, Thinking, ToolCall, ToolInput};
use zori_core::outcome::Outcome;
use zori_core::permission::{Class, Decision, Verdict};
use zori_core::provider::StopReason;
use zori_core::text::prefix;
use zori_core::time::Timestamp;
use zori_core::tool::{Effect, ToolCode, ToolKind, ToolOutput};
use zori_core::usage::Usage;

/// 2026-11-15T21:15:00Z.
pub(crate) const AT: Timestamp = Timestamp(1_794_777_300);

pub(crate) fn event(kind: impl Into<EventKind>) -> Event {
    let session = SessionId::parse("s").unwrap();
    Event { seq: 0, at: AT, session, agent: AgentId::MAIN, parent: None, kind: kind.into() }
}

pub(crate) fn prompt(text: &str) -> Event {
    event(TurnEvent::TurnStarted { prompt: text.into(), images: Vec::new(), uuid: None, scheduled: None })
}

pub(crate) fn reply(blocks: Vec<Block>, stop: Option<StopReason>) -> Event {
    let message = Arc::new(Message { role: Role::Assistant, blocks });
    let usage = Usage { input: 10, output: 5, cache_read: 2, cache_write: 1, cache_unknown: 0 };
    event(MessageEvent::MessageFinished(Reply {
        message,
        model: "m-1".into(),
        usage,
        stop,
        discarded: false,
    }))
}

pub(crate) fn say(text: &str) -> Event {
    reply(vec![Block::Text(text.to_owned())], Some(StopReason::EndTurn))
}

pub(crate) fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

pub(crate) fn call(id: &str, name: &str, input: &str) -> ToolCall {
    ToolCall {
        id: CallId::new(id),
        name: name.to_owned(),
        input: ToolInput::parse(input.to_owned()),
        id_origin: IdOrigin::Provider,
        replay: None,
    }
}

pub(crate) fn requested(call: ToolCall, effects: Vec<Effect>) -> Event {
    event(ToolEvent::ToolRequested(ToolRequested { call, kind: Some(ToolKind::Bash), effects, of: 1 }))
}

pub(crate) fn started(id: &str) -> Event {
    event(ToolEvent::ToolStarted {
        call: CallId::new(id),
        name: "bash".into(),
        decision: Decision::new(Verdict::Allow, Class::Shell, "because"),
    })
}

pub(crate) fn finished(id: &str, output: ToolOutput) -> Event {
    event(ToolEvent::ToolFinished(ToolFinished {
        call: CallId::new(id),
        name: "read".into(),
        kind: Some(ToolKind::Read),
        output,
        duration: Some(Duration::from_millis(3)),
    }))
}

pub(crate) fn resolved(id: &str, verdict: Verdict, by: DecidedBy) -> Event {
    let decision = Decision::new(verdict, Class::Shell, "because");
    event(ToolEvent::ApprovalResolved { call: CallId::new(id), decision, by })
}

pub(crate) fn warning(code: &'static str) -> Event {
    event(Notice { level: NoticeLevel::Warning, code, text: "The model refused.".to_owned() })
}

pub(crate) fn turn_over() -> Event {
    event(TurnEvent::TurnFinished(TurnSummary {
        outcome: Outcome::Completed(StopReason::EndTurn),
        usage: Usage::default(),
        cost: None,
        requests: 1,
        retries: 0,
        duration: Duration::ZERO,
        text: "".into(),
        effects: false,
    }))
}

/// Two turns with one of everything that is saved.
pub(crate) fn everything() -> Vec<Event> {
    let signature = Opaque::new("anthropic", raw(r#"{"b":"x==", "a":1}"#));
    let thinking = Thinking { text: "Let me see.".to_owned(), replay: Some(signature.clone()) };
    let hidden = Thinking { text: String::new(), replay: Some(signature.clone()) };
    let mut made = call("call-2", "bash", "{\n  \"command\": \"ls\"\n}");
    (made.id_origin, made.replay) = (IdOrigin::Made, Some(signature));
    let mut laid_out = ToolOutput::success(r#"{"content":"hé"}"#);
    laid_out.text = Some("     1\thé".into());
    vec![
        prompt("What is in \"a\"?\nTell me."),
        reply(
            vec![
                Block::Thinking(thinking),
                Block::Text("I look.".to_owned()),
                Block::ToolCall(call("call-1", "read", r#"{"path": "a",  "b":1}"#)),
                Block::Thinking(hidden),
                Block::ToolCall(made),
                Block::ToolCall(call("call-3", "edit", r#"{"path":"#)),
            ],
            Some(StopReason::ToolUse),
        ),
        resolved("call-1", Verdict::Allow, DecidedBy::Policy),
        resolved("call-2", Verdict::Allow, DecidedBy::User),
        resolved("call-3", Verdict::Deny, DecidedBy::Policy),
        finished("call-1", laid_out),
        finished("call-2", ToolOutput::failure(ToolCode::Canceled, "Stopped.")),
        finished("call-3", ToolOutput::failure(ToolCode::InvalidInput, "Not JSON.")),
        event(TurnEvent::Steered { text: "Be quick.".into() }),
        say("It says hé."),
        warning("refusal"),
        turn_over(),
        prompt("Again."),
        reply(vec![Block::Text("It sa".to_owned())], None),
        event(TurnEvent::Interrupted),
        turn_over(),
    ]
}

/// One line per message, so that a history can be compared as a whole.
pub(crate) fn show(history: &[impl Borrow<Message>]) -> String {
    let block = |block: &Block| match block {
        Block::Image(image) => image.to_string(),
        Block::Text(text) => format!("{text:?}"),
        Block::Thinking(thinking) => {
            format!("think({:?}, {})", thinking.text, thinking.replay.as_ref().map_or("-", |r| r.raw.get()))
        }
        Block::ToolCall(call) => format!("{}({} {})", call.id, call.name, call.input.json()),
        Block::ToolResult(result) => {
            let ok = if result.ok { "ok" } else { "failed" };
            format!("{} {ok}: {} {}", result.call, result.name, prefix(result.content(), 40))
        }
    };
    let line = |message: &Message| {
        let blocks: Vec<String> = message.blocks.iter().map(block).collect();
        format!("{:?}: {}\n", message.role, blocks.join(" | "))
    };
    history.iter().map(|message| line(message.borrow())).collect()
}

/// Panics unless providers would accept the history (LOG-11).
#[track_caller]
pub(crate) fn check_history(history: &[impl Borrow<Message>]) {
    let problem = problem(history);
    assert_eq!(problem, None, "{}", show(history));
}

fn problem(history: &[impl Borrow<Message>]) -> Option<&'static str> {
    let mut ids = HashSet::new();
    let mut asked: Vec<(&CallId, &str)> = Vec::new();
    for (i, message) in history.iter().map(Borrow::borrow).enumerate() {
        let message: &Message = message;
        let role = if i % 2 == 0 { Role::User } else { Role::Assistant };
        let results: Vec<_> = message.blocks.iter().map_while(answered).collect();
        if message.role != role {
            return Some("roles do not alternate, or it does not start with the user");
        } else if message.blocks.is_empty() {
            return Some("a message is empty");
        } else if results != asked || results.len() != message.blocks.iter().filter_map(answered).count() {
            return Some("calls and results do not pair");
        } else if !message.calls().all(|call| ids.insert(&call.id)) {
            return Some("an id repeats");
        } else if matches!(message.blocks.last(), Some(Block::Thinking(_))) {
            return Some("a message ends in thinking");
        }
        asked = message.calls().map(|call| (&call.id, call.name.as_str())).collect();
    }
    (!asked.is_empty()).then_some("the last calls have no results")
}

fn answered(block: &Block) -> Option<(&CallId, &str)> {
    if let Block::ToolResult(result) = block { Some((&result.call, &result.name)) } else { None }
}

/// A small generator of numbers that only depend on the seed (xorshift).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}
