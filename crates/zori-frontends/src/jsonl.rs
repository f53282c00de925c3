//! Events for programs: JSON lines on stdout (`docs/contracts/json-events.md`), and what they say on stdin.
//!
//! [`JsonlRenderer`] is the one place that sees tools, cost and errors; `jsonl/turn.rs` keeps the order of a turn and
//! `jsonl/events.rs` the bytes. The other direction is `jsonl/command.rs` (lines) and `jsonl/elicitation.rs` (questions
//! and their answers). Reading standard input is the binary's business. `docs/protocols/jsonl.md` is for the reader.

pub(crate) mod call;
pub mod command;
pub mod elicitation;
mod notices;
mod turn;
mod wire;
mod writer;

use std::io;
use std::sync::Arc;

use serde_json::value::RawValue;
use zori_core::event::{
    Event, EventKind, MessageEvent, Notice, NoticeLevel, SessionEvent, ToolEvent, ToolFinished,
    ToolRequested, TurnEvent, TurnSummary,
};
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::ids::{AgentId, SessionId};
use zori_core::outcome::{CancelCause, LimitKind, Outcome};
use zori_core::render::Renderer;
use zori_redact::Redactor;

pub use notices::NoticeRenderer;
pub use wire::{Code, failure_line};
pub use writer::EventWriter;

use elicitation::Elicitation;
use turn::Open;
use wire::{Cost, Line};

/// Who answers the questions of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Questions {
    /// The reader of the events; each question is one.
    ToClient,
    /// Somebody else has answered already, so the reader is not asked.
    Settled,
}

/// Writes a run as events of schema 1. Each is one line and one write.
pub struct JsonlRenderer {
    events: EventWriter,
    redactor: Redactor,
    questions: Questions,
    turn: Option<Open>,
    /// What the engine said about the end of this turn.
    why: Option<String>,
    /// The scheduled job that sent the prompt of this turn.
    scheduled: Option<Arc<str>>,
    /// The session, where it is saved.
    saved: Option<SessionId>,
    /// Whether the session began with this run.
    is_new: bool,
    value: Option<TurnValue>,
}

/// Finds the value that a turn was asked for.
pub type TurnValue = Arc<dyn Fn(&TurnSummary) -> Option<Box<RawValue>> + Send + Sync>;

impl JsonlRenderer {
    /// Returns a renderer. What the redactor finds is in no event; the assistant's own words are (D-14).
    pub fn new(events: EventWriter, redactor: Redactor, questions: Questions) -> Self {
        Self {
            events,
            redactor,
            questions,
            turn: None,
            why: None,
            scheduled: None,
            saved: None,
            is_new: false,
            value: None,
        }
    }

    /// Tells the value of each turn with what it cost.
    pub fn with_value(mut self, value: TurnValue) -> Self {
        self.value = Some(value);
        self
    }

    /// Text behind a turn has no place in the stream (D-7). The engine sends none, so there is nobody to tell.
    fn chunk(&mut self, text: &str) -> io::Result<()> {
        let Some(turn) = self.turn.take() else { return Ok(()) };
        let (turn, written) = turn.chunk(&self.events, text);
        self.turn = Some(turn);
        written
    }

    fn requested(&self, request: &ToolRequested) -> io::Result<()> {
        let tool = self.redactor.redact(&request.call.name);
        let input = call::input(&request.call.input, &self.redactor);
        self.events.write(&Line::tool_call(&tool, &input, request.call.id.as_str()))
    }

    fn finished(&self, done: &ToolFinished) -> io::Result<()> {
        let output = done.output.readable(done.kind);
        let output = self.redactor.redact(&output);
        self.events.write(&Line::tool_result(done.call.as_str(), &output, call::exit_code(done)))
    }

    fn turn_over(&mut self, summary: &TurnSummary) -> io::Result<()> {
        let why = self.why.take();
        let error = ending(&summary.outcome, why).map(|(code, message)| {
            let message = self.redactor.redact(&message).into_owned();
            (code, message)
        });
        let Some(turn) = self.turn.take() else { return Ok(()) };
        let value = self.value.as_ref().and_then(|value| value(summary));
        let cost = Cost::of(summary, self.saved.as_ref().map(SessionId::as_str))
            .sent_by(self.scheduled.as_deref())
            .with_value(value.as_deref());
        turn.end(&self.events, error, cost)
    }
}

/// Returns what is said about a turn that did not end well (D-12).
fn ending(outcome: &Outcome, why: Option<String>) -> Option<(Code, String)> {
    let said = |usual: &str| why.unwrap_or_else(|| usual.to_owned());
    Some(match outcome {
        // Nobody is left to tell.
        Outcome::Completed(_) | Outcome::OutputClosed => return None,
        Outcome::Cancelled(CancelCause::Deadline) => {
            (Code::Timeout, said("The time for this command is over"))
        }
        Outcome::Cancelled(CancelCause::User) => (Code::Interrupted, "Interrupted".to_owned()),
        Outcome::Cancelled(CancelCause::Terminate | CancelCause::Hangup) => {
            (Code::Interrupted, "Terminated".to_owned())
        }
        Outcome::Limit(LimitKind::Denials) => (Code::AgentError, said("A call was denied again and again")),
        Outcome::Limit(LimitKind::Repeats) => (Code::AgentError, said("A call failed again and again")),
        Outcome::Limit(LimitKind::Hook | LimitKind::Prompt) => (Code::AgentError, said("A hook stopped it")),
        Outcome::Limit(LimitKind::Turns | LimitKind::Budget | LimitKind::Tokens) => {
            (Code::BudgetExceeded, said("A limit of this run was reached"))
        }
        Outcome::Failed(failure) => (of_failure(failure), failure.message.clone()),
        Outcome::NotSaved(why) => (Code::AgentError, why.clone()),
    })
}

fn of_failure(failure: &ProviderFailure) -> Code {
    match (failure.status, failure.kind) {
        (_, FailureKind::Internal) => Code::Internal,
        (_, FailureKind::ContextLength | FailureKind::Refused | FailureKind::Blocked) => Code::ProviderError,
        (Some(429), _) => Code::RateLimited,
        (Some(401 | 403), _) | (None, FailureKind::Auth) => Code::AuthError,
        (Some(408), _) | (None, FailureKind::Timeout) => Code::Timeout,
        _ => Code::ProviderError,
    }
}

impl Renderer for JsonlRenderer {
    fn on_event(&mut self, event: &Event) -> io::Result<()> {
        // A sub-agent speaks to the agent that started it, which reports in its own result; only its questions are for
        // whoever answers them.
        if event.agent != AgentId::MAIN
            && !matches!(event.kind, EventKind::Tool(ToolEvent::ApprovalRequested { .. }))
        {
            return Ok(());
        }
        match &event.kind {
            EventKind::Session(SessionEvent::SessionStarted(facts)) => {
                self.saved = facts.saved.then(|| event.session.clone());
                self.is_new = facts.resumed_messages == 0;
                Ok(())
            }
            EventKind::Turn(TurnEvent::TurnStarted { scheduled, .. }) => {
                self.why = None;
                self.scheduled = scheduled.clone();
                // Every turn is ended by an event, but an answer is closed even if one were not.
                match self.turn.replace(Open::new()) {
                    Some(turn) => turn.end_answer(&self.events),
                    None => Ok(()),
                }
            }
            EventKind::Message(MessageEvent::AssistantDelta { text }) => self.chunk(text),
            EventKind::Tool(ToolEvent::ToolRequested(request)) => self.requested(request),
            EventKind::Tool(ToolEvent::ApprovalRequested { decision, question, .. })
                if self.questions == Questions::ToClient =>
            {
                let asked = Elicitation::about(question, decision, &self.redactor);
                self.events.write(&Line::elicitation(&asked))
            }
            EventKind::Tool(ToolEvent::ToolFinished(done)) => self.finished(done),
            // Nobody can go on with a session of which nothing was saved.
            EventKind::Notice(Notice { code: "session_not_saved", .. }) if self.is_new => {
                self.saved = None;
                Ok(())
            }
            EventKind::Notice(Notice { level: NoticeLevel::Error, text, .. }) => {
                self.why = Some(text.clone());
                Ok(())
            }
            EventKind::Turn(TurnEvent::TurnFinished(summary)) => self.turn_over(summary),
            // The schema has no event for these; what people should know of them is a remark on stderr (D-8).
            EventKind::Session(_)
            | EventKind::Turn(_)
            | EventKind::Message(_)
            | EventKind::Tool(_)
            | EventKind::State(_)
            | EventKind::Notice(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
