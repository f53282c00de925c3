//! How a turn ended, in the protocol's words: one of five reasons to stop, or an error.

use agent_client_protocol::v1::schema::{PromptResponse, StopReason as Stopped};
use serde_json::Value;
use zori_core::event::TurnSummary;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::outcome::{LimitKind, Outcome};
use zori_core::provider::StopReason;

use crate::refusal::Refusal;

/// How a prompt ended that came to something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The model had said what it wanted to say.
    EndTurn,
    /// The reply, or the run, had used its tokens.
    MaxTokens,
    /// It had made as many requests as it may.
    MaxTurnRequests,
    /// The model, or a hook, wanted nothing to do with it.
    Refusal,
    /// Somebody ended it.
    Cancelled,
}

impl Ended {
    /// Returns how a turn ended. `why`: what the engine said about its end.
    pub fn of(summary: &TurnSummary, why: Option<&str>) -> Result<Self, Refusal> {
        let failed = |usual: &str| Refusal::failed(why.unwrap_or(usual));
        match &summary.outcome {
            Outcome::Completed(stop) => Ok(match stop {
                StopReason::MaxTokens | StopReason::ContextWindow => Self::MaxTokens,
                StopReason::Refusal | StopReason::ContentFilter => Self::Refusal,
                StopReason::EndTurn
                | StopReason::ToolUse
                | StopReason::StopSequence
                | StopReason::Pause
                | StopReason::Other(_) => Self::EndTurn,
            }),
            Outcome::Cancelled(_) | Outcome::OutputClosed => Ok(Self::Cancelled),
            Outcome::Limit(LimitKind::Turns) => Ok(Self::MaxTurnRequests),
            Outcome::Limit(LimitKind::Tokens) => Ok(Self::MaxTokens),
            Outcome::Limit(LimitKind::Prompt) => Ok(Self::Refusal),
            Outcome::Limit(kind @ (LimitKind::Budget | LimitKind::Denials | LimitKind::Hook)) => {
                Err(failed("a limit of this run was reached").with("reason", kind.as_str()))
            }
            Outcome::Failed(failure) => Err(refused(failure)),
            Outcome::NotSaved(why) => Err(Refusal::failed(why.clone()).with("reason", "not_saved")),
        }
    }
}

fn refused(failure: &ProviderFailure) -> Refusal {
    let unpaid =
        failure.status == Some(401) || (failure.status.is_none() && failure.kind == FailureKind::Auth);
    let mut refusal = match unpaid {
        true => Refusal::auth_required(&failure.message),
        false => Refusal::failed(&failure.message),
    };
    refusal = refusal.with("reason", failure.kind.as_str());
    if let Some(status) = failure.status {
        refusal = refusal.with("status", status);
    }
    if let Some(details) = &failure.details {
        refusal = refusal.with("details", details.as_str());
    }
    if let Some(wait) = failure.retry_after {
        refusal = refusal.with("retryAfterMs", u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
    }
    refusal
}

/// The answer to `session/prompt`.
pub(crate) fn json(ended: Ended) -> Value {
    let stopped = match ended {
        Ended::EndTurn => Stopped::EndTurn,
        Ended::MaxTokens => Stopped::MaxTokens,
        Ended::MaxTurnRequests => Stopped::MaxTurnRequests,
        Ended::Refusal => Stopped::Refusal,
        Ended::Cancelled => Stopped::Cancelled,
    };
    serde_json::to_value(PromptResponse::new(stopped)).expect("an answer is JSON")
}
