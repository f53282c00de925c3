//! Events for programs: JSON lines on stdout (`agent-modes.md` section 4), and what they say on stdin (section 5).
//!
//! [`JsonlRenderer`] is the one place that sees tools, cost and errors; `jsonl/turn.rs` keeps the order of a turn and
//! `jsonl/events.rs` the bytes. The other direction is `jsonl/command.rs` (lines) and `jsonl/elicitation.rs` (questions
//! and their answers). Reading standard input is the binary's business. `docs/protocols/jsonl.md` is for the reader.

pub(crate) mod call;
pub mod command;
pub mod elicitation;
mod events;
mod remarks;
mod turn;
mod wire;

use std::io;

use zori_core::event::{Event, EventKind, NoticeLevel, ToolFinished, ToolRequested, TurnSummary};
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::ids::{AgentId, SessionId};
use zori_core::outcome::{CancelCause, LimitKind, Outcome};
use zori_core::render::Renderer;
use zori_redact::Redactor;

pub use events::Events;
pub use remarks::Remarks;
pub use wire::{Code, failure_line};

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
    events: Events,
    redactor: Redactor,
    questions: Questions,
    /// The turn under way.
    turn: Option<Open>,
    /// What the engine said about the end of this turn.
    why: Option<String>,
    /// The session, where it is saved.
    saved: Option<SessionId>,
}

impl JsonlRenderer {
    /// Returns a renderer. What the redactor finds is in no event; the assistant's own words are (D-14).
    pub fn new(events: Events, redactor: Redactor, questions: Questions) -> Self {
        Self { events, redactor, questions, turn: None, why: None, saved: None }
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
        let cost = Cost::of(summary, self.saved.as_ref().map(SessionId::as_str));
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
        (_, FailureKind::ContextLength) => Code::ProviderError,
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
        if event.agent != AgentId::MAIN && !matches!(event.kind, EventKind::ApprovalRequested { .. }) {
            return Ok(());
        }
        match &event.kind {
            EventKind::SessionStarted(facts) => {
                self.saved = facts.saved.then(|| event.session.clone());
                Ok(())
            }
            EventKind::TurnStarted { .. } => {
                self.why = None;
                // Every turn is ended by an event, but an answer is closed even if one were not.
                match self.turn.replace(Open::new()) {
                    Some(turn) => turn.end_answer(&self.events),
                    None => Ok(()),
                }
            }
            EventKind::AssistantDelta { text } => self.chunk(text),
            EventKind::ToolRequested(request) => self.requested(request),
            EventKind::ApprovalRequested { decision, question, .. }
                if self.questions == Questions::ToClient =>
            {
                let asked = Elicitation::about(question, decision, &self.redactor);
                self.events.write(&Line::elicitation(&asked))
            }
            EventKind::ToolFinished(done) => self.finished(done),
            EventKind::Notice { level: NoticeLevel::Error, text, .. } => {
                self.why = Some(text.clone());
                Ok(())
            }
            EventKind::TurnFinished(summary) => self.turn_over(summary),
            // The schema has no event for these; what people should know of them is a remark on stderr (D-8).
            EventKind::ModelChanged { .. }
            | EventKind::ModeChanged { .. }
            | EventKind::HookContext { .. }
            | EventKind::SessionEnded { .. }
            | EventKind::AgentStarted(_)
            | EventKind::Steered { .. }
            | EventKind::MessageStarted { .. }
            | EventKind::ThinkingDelta { .. }
            | EventKind::RequestStarted
            | EventKind::ThinkingSigned { .. }
            | EventKind::BlockFinished
            | EventKind::ToolInputDelta { .. }
            | EventKind::MessageFinished(_)
            | EventKind::AssistantFinal { .. }
            | EventKind::ApprovalRequested { .. }
            | EventKind::ApprovalResolved { .. }
            | EventKind::ToolChanged { .. }
            | EventKind::ToolStarted { .. }
            | EventKind::ToolOutputDelta { .. }
            | EventKind::TodosChanged { .. }
            | EventKind::ContextCompacted(_)
            | EventKind::Retrying { .. }
            | EventKind::Notice { .. }
            | EventKind::Error { .. }
            | EventKind::Interrupted => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
