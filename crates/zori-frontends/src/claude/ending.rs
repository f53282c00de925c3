//! How a turn ended, in the words of `result` (4.6, chapter 9).

use serde::Serialize;
use zori_core::event::TurnSummary;
use zori_core::failure::ProviderFailure;
use zori_core::outcome::{CancelCause, LimitKind, Outcome};
use zori_core::provider::StopReason;

/// The part of a `result` that says how it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ending {
    /// `success`, also for provider failures, or one of the `error_*`.
    pub subtype: &'static str,
    /// Whether it ended badly.
    pub is_error: bool,
    /// The HTTP status of a provider failure.
    pub api_error_status: Option<u16>,
    /// The text of the last message; only with `success`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// Why the model stopped.
    pub stop_reason: Option<&'static str>,
    /// Why the turn did.
    pub terminal_reason: &'static str,
}

/// What was going on when a turn was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aborted {
    /// The model spoke, or was asked.
    Streaming,
    /// Tools ran, or somebody was asked about one.
    Tools,
}

/// What a turn that went wrong is told with.
pub struct Told<'a> {
    /// What the engine said about its end.
    pub why: Option<&'a str>,
    /// Why the model stopped last.
    pub stop: Option<&'static str>,
    /// What was cut.
    pub aborted: Aborted,
    /// How the dialect tells a provider failure.
    pub failure: fn(&ProviderFailure) -> String,
}

impl Ending {
    /// Ends a turn.
    pub fn of(summary: &TurnSummary, told: &Told<'_>) -> Self {
        let said = |usual: &str| told.why.unwrap_or(usual).to_owned();
        match &summary.outcome {
            Outcome::Completed(StopReason::MaxTokens) => Self {
                terminal_reason: "max_output_tokens",
                ..Self::failed("The reply was cut off at the token limit".to_owned(), None)
            },
            Outcome::Completed(stop) => Self {
                stop_reason: Some(stop_reason(stop)),
                ..Self::success(summary.text.to_string(), "completed")
            },
            Outcome::Failed(failure) => Self::failed((told.failure)(failure), failure.status),
            Outcome::Cancelled(CancelCause::Deadline) => {
                told.error("error_during_execution", said("The time for this command is over"), "timeout")
            }
            Outcome::Cancelled(_) => {
                let terminal = match told.aborted {
                    Aborted::Streaming => "aborted_streaming",
                    Aborted::Tools => "aborted_tools",
                };
                told.error("error_during_execution", "Request was aborted".to_owned(), terminal)
            }
            Outcome::Limit(LimitKind::Turns) => {
                told.error("error_max_turns", said("Reached maximum number of turns"), "max_turns")
            }
            Outcome::Limit(LimitKind::Budget) => {
                told.error("error_max_budget_usd", said("Reached maximum budget"), "budget_exhausted")
            }
            Outcome::Limit(LimitKind::Tokens) => {
                told.error("error_during_execution", said("Reached maximum tokens"), "budget_exhausted")
            }
            Outcome::Limit(LimitKind::Denials) => told.error(
                "error_during_execution",
                said("A call was denied again and again"),
                "denied_calls",
            ),
            // The client wanted it so, which is no error.
            Outcome::Limit(LimitKind::Hook) => {
                Self { stop_reason: told.stop, ..Self::success(summary.text.to_string(), "hook_stopped") }
            }
            Outcome::Limit(LimitKind::Prompt) => {
                Self::success(said("A hook did not let the prompt pass"), "hook_stopped")
            }
            Outcome::NotSaved(why) => told.error("error_during_execution", why.clone(), "not_saved"),
            Outcome::OutputClosed => {
                told.error("error_during_execution", "The reader is gone".to_owned(), "aborted_streaming")
            }
        }
    }

    /// A turn that never began.
    pub fn refused(why: String) -> Self {
        let told = Told { why: None, stop: None, aborted: Aborted::Streaming, failure: ToString::to_string };
        told.error("error_during_execution", why, "not_started")
    }

    /// A turn whose answer never fitted its schema.
    pub fn unstructured(why: String) -> Self {
        let told = Told { why: None, stop: None, aborted: Aborted::Streaming, failure: ToString::to_string };
        told.error("error_max_structured_output_retries", why, "structured_output_retries")
    }

    fn success(result: String, terminal_reason: &'static str) -> Self {
        Self {
            subtype: "success",
            is_error: false,
            api_error_status: None,
            result: Some(result),
            errors: Vec::new(),
            stop_reason: None,
            terminal_reason,
        }
    }

    fn failed(text: String, status: Option<u16>) -> Self {
        Self {
            is_error: true,
            api_error_status: status,
            errors: vec![text.clone()],
            stop_reason: Some("stop_sequence"),
            ..Self::success(text, "api_error")
        }
    }
}

impl Told<'_> {
    fn error(&self, subtype: &'static str, why: String, terminal_reason: &'static str) -> Ending {
        Ending {
            subtype,
            is_error: true,
            api_error_status: None,
            result: None,
            errors: vec![why],
            stop_reason: self.stop,
            terminal_reason,
        }
    }
}

/// Returns the word for why a model stopped.
pub fn stop_reason(stop: &StopReason) -> &'static str {
    match stop {
        StopReason::ToolUse => "tool_use",
        StopReason::MaxTokens | StopReason::ContextWindow => "max_tokens",
        StopReason::StopSequence => "stop_sequence",
        StopReason::Refusal | StopReason::ContentFilter => "refusal",
        StopReason::EndTurn | StopReason::Pause | StopReason::Other(_) => "end_turn",
    }
}
