//! How a turn ended, in the words of `result`.

use serde::Serialize;
use zori_core::event::TurnSummary;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::outcome::{CancelCause, LimitKind, Outcome};
use zori_core::provider::StopReason;

/// The part of a `result` that says how it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TurnResult {
    /// `success`, also for provider failures, or one of the `error_*`.
    pub subtype: &'static str,
    pub is_error: bool,
    /// The HTTP status of a provider failure.
    pub api_error_status: Option<u16>,
    /// The text of the last message; only with `success`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    pub stop_reason: Option<&'static str>,
    pub terminal_reason: &'static str,
}

/// What was going on when a turn was aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbortPhase {
    /// The model spoke, or was asked.
    Streaming,
    /// Tools ran, or a question about one was open.
    Tools,
}

/// What the result of a failed turn needs besides the summary.
pub struct ResultContext<'a> {
    /// What the engine said about its end.
    pub why: Option<&'a str>,
    /// Why the model stopped last.
    pub stop: Option<&'static str>,
    pub aborted: AbortPhase,
    /// How the dialect tells a provider failure.
    pub failure: fn(&ProviderFailure) -> String,
}

impl TurnResult {
    pub fn of(summary: &TurnSummary, context: &ResultContext<'_>) -> Self {
        let said = |usual: &str| context.why.unwrap_or(usual).to_owned();
        match &summary.outcome {
            Outcome::Completed(stop) => Self {
                stop_reason: Some(stop_reason(stop)),
                ..Self::success(summary.text.to_string(), "completed")
            },
            Outcome::Failed(failure) => {
                let failed = Self::failed((context.failure)(failure), failure.status);
                match failure.kind {
                    FailureKind::MaxTokens => Self { terminal_reason: "max_output_tokens", ..failed },
                    FailureKind::Refused | FailureKind::Blocked => {
                        Self { stop_reason: Some("refusal"), ..failed }
                    }
                    _ => failed,
                }
            }
            Outcome::Cancelled(CancelCause::Deadline) => {
                context.error("error_during_execution", said("The time for this command is over"), "timeout")
            }
            Outcome::Cancelled(_) => {
                let terminal = match context.aborted {
                    AbortPhase::Streaming => "aborted_streaming",
                    AbortPhase::Tools => "aborted_tools",
                };
                context.error("error_during_execution", "Request was aborted".to_owned(), terminal)
            }
            Outcome::Limit(LimitKind::Turns) => {
                context.error("error_max_turns", said("Reached maximum number of turns"), "max_turns")
            }
            Outcome::Limit(LimitKind::Budget) => {
                context.error("error_max_budget_usd", said("Reached maximum budget"), "budget_exhausted")
            }
            Outcome::Limit(LimitKind::Tokens) => {
                context.error("error_during_execution", said("Reached maximum tokens"), "budget_exhausted")
            }
            Outcome::Limit(LimitKind::Denials) => context.error(
                "error_during_execution",
                said("A call was denied again and again"),
                "denied_calls",
            ),
            Outcome::Limit(LimitKind::Repeats) => context.error(
                "error_during_execution",
                said("A call failed again and again"),
                "repeated_calls",
            ),
            // The client wanted it so, which is no error.
            Outcome::Limit(LimitKind::Hook) => {
                Self { stop_reason: context.stop, ..Self::success(summary.text.to_string(), "hook_stopped") }
            }
            Outcome::Limit(LimitKind::Prompt) => {
                Self::success(said("A hook did not let the prompt pass"), "hook_stopped")
            }
            Outcome::NotSaved(why) => context.error("error_during_execution", why.clone(), "not_saved"),
            Outcome::OutputClosed => {
                context.error("error_during_execution", "The reader is gone".to_owned(), "aborted_streaming")
            }
        }
    }

    /// A turn that never began.
    pub fn refused(why: String) -> Self {
        ResultContext::WITHOUT_TURN.error("error_during_execution", why, "not_started")
    }

    /// A turn whose answer never fitted its schema.
    pub fn unstructured(why: String) -> Self {
        ResultContext::WITHOUT_TURN.error(
            "error_max_structured_output_retries",
            why,
            "structured_output_retries",
        )
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

impl ResultContext<'_> {
    /// Where no turn of the engine ended.
    const WITHOUT_TURN: Self =
        Self { why: None, stop: None, aborted: AbortPhase::Streaming, failure: ToString::to_string };

    fn error(&self, subtype: &'static str, why: String, terminal_reason: &'static str) -> TurnResult {
        TurnResult {
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
        StopReason::Refusal(_) | StopReason::ContentFilter(_) | StopReason::Blocked(_) => "refusal",
        StopReason::EndTurn | StopReason::Pause | StopReason::Malformed(_) | StopReason::Other(_) => {
            "end_turn"
        }
    }
}
