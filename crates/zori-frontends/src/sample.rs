//! For tests: terse events, and streams that remember what was written to them.

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use zori_core::event::{
    Event, EventKind, MessageEvent, Notice, NoticeLevel, Reply, SessionEvent, SessionFacts, ToolEvent,
    ToolFinished, ToolRequested, TurnEvent, TurnSummary,
};
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::ids::{AgentId, CallId, IdSource, SessionId};
use zori_core::message::{IdOrigin, Message, Role, ToolCall, ToolInput};
use zori_core::outcome::Outcome;
use zori_core::permission::{Class, Decision, Verdict};
use zori_core::provider::StopReason;
use zori_core::time::{Clock, Timestamp};
use zori_core::tool::{Effect, ProcessEnd, ToolCode, ToolKind, ToolOutput};
use zori_core::usage::Usage;

pub(crate) fn event(kind: impl Into<EventKind>) -> Event {
    let session = SessionId::parse("s").unwrap();
    Event { seq: 0, at: Timestamp(0), session, agent: AgentId::MAIN, parent: None, kind: kind.into() }
}

/// Whether a session is saved.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Saving {
    File,
    Nowhere,
}

pub(crate) fn session(saving: Saving) -> Event {
    event(SessionEvent::SessionStarted(SessionFacts {
        provider: "p".into(),
        model: "m".into(),
        root: Path::new("/ws").into(),
        tools: vec!["Read".into()],
        agents: Vec::new(),
        resumed_messages: 0,
        resumed_replies: 0,
        saved: saving == Saving::File,
    }))
}

pub(crate) fn prompt() -> Event {
    event(TurnEvent::TurnStarted { prompt: "p".into(), images: Vec::new(), uuid: None, scheduled: None })
}

pub(crate) fn begun() -> Event {
    event(MessageEvent::MessageStarted { model: "m".into() })
}

pub(crate) fn delta(text: &str) -> Event {
    event(MessageEvent::AssistantDelta { text: text.to_owned() })
}

pub(crate) fn thinking(text: &str) -> Event {
    event(MessageEvent::ThinkingDelta { text: text.to_owned() })
}

pub(crate) fn replied() -> Event {
    let message = Arc::new(Message { role: Role::Assistant, blocks: Vec::new() });
    let stop = Some(StopReason::EndTurn);
    let (model, usage) = ("m".into(), Usage::default());
    event(MessageEvent::MessageFinished(Reply { message, model, usage, stop, discarded: false }))
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

fn kind_of(name: &str) -> Option<ToolKind> {
    match name {
        "read" => Some(ToolKind::Read),
        "bash" => Some(ToolKind::Bash),
        _ => None,
    }
}

pub(crate) fn requested(id: &str, name: &str, of: usize) -> Event {
    requested_with(id, name, of, Effect::Internal)
}

pub(crate) fn bash(command: &str) -> Event {
    requested_with("1", "bash", 1, Effect::Exec { command: command.to_owned(), cwd: "/".into() })
}

fn requested_with(id: &str, name: &str, of: usize, effect: Effect) -> Event {
    let (id, input) = (CallId::new(id), ToolInput::empty());
    let call = ToolCall { id, name: name.to_owned(), input, id_origin: IdOrigin::Provider, replay: None };
    event(ToolEvent::ToolRequested(ToolRequested { call, kind: kind_of(name), effects: vec![effect], of }))
}

pub(crate) fn started(id: &str, name: &str) -> Event {
    event(ToolEvent::ToolStarted {
        call: CallId::new(id),
        name: name.into(),
        decision: Decision::new(Verdict::Allow, Class::Internal, "because"),
    })
}

pub(crate) fn finished(id: &str, name: &str, output: ToolOutput, millis: Option<u64>) -> Event {
    event(ToolEvent::ToolFinished(ToolFinished {
        call: CallId::new(id),
        name: name.into(),
        kind: kind_of(name),
        output,
        duration: millis.map(Duration::from_millis),
    }))
}

pub(crate) fn ok() -> ToolOutput {
    ToolOutput::success("{}")
}

pub(crate) fn failed(code: ToolCode, message: &str) -> ToolOutput {
    ToolOutput::failure(code, message)
}

pub(crate) fn exited(exit_code: i32, timed_out: bool) -> ToolOutput {
    let mut output = ok();
    output.process = Some(ProcessEnd { exit_code, signal: None, timed_out });
    output
}

pub(crate) fn warning(text: &str) -> Event {
    event(Notice { level: NoticeLevel::Warning, code: "w", text: text.to_owned() })
}

pub(crate) fn failure(message: &str, details: Option<&str>) -> ProviderFailure {
    let details = details.map(str::to_owned);
    ProviderFailure { details, ..ProviderFailure::new(FailureKind::HttpStatus, message) }
}

/// A stream that remembers. Clones share what was written.
#[derive(Clone, Default)]
pub(crate) struct Paper(Arc<Mutex<Vec<u8>>>);

impl Paper {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A stream whose every write fails.
pub(crate) struct Broken(pub(crate) io::ErrorKind);

impl Write for Broken {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A clock that stands still, and ids that are all the same.
pub(crate) struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp(0)
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

impl IdSource for Still {
    fn session(&self) -> SessionId {
        SessionId::parse("s").unwrap()
    }

    fn random(&self) -> u64 {
        0
    }
}
