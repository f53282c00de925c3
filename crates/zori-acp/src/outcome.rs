//! How a turn ended, in the protocol's words: one of five reasons to stop, or an error.

use agent_client_protocol::v1::schema::{PromptResponse, StopReason as Stopped};
use serde_json::Value;
use zori_core::event::TurnSummary;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::outcome::{LimitKind, Outcome};

use crate::error::RequestError;

/// How a prompt ended, other than by an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptEnd {
    /// The model had said what it wanted to say.
    EndTurn,
    /// The reply, or the run, had used its tokens.
    MaxTokens,
    /// It had made as many requests as it may.
    MaxTurnRequests,
    /// The model, or a hook, wanted nothing to do with it.
    Refusal,
    Cancelled,
}

impl PromptEnd {
    /// Returns how a turn ended. `why`: what the engine said about its end.
    pub fn of(summary: &TurnSummary, why: Option<&str>) -> Result<Self, RequestError> {
        let failed = |usual: &str| RequestError::failed(why.unwrap_or(usual));
        match &summary.outcome {
            Outcome::Completed(_) => Ok(Self::EndTurn),
            Outcome::Cancelled(_) | Outcome::OutputClosed => Ok(Self::Cancelled),
            Outcome::Limit(LimitKind::Turns) => Ok(Self::MaxTurnRequests),
            Outcome::Limit(LimitKind::Tokens) => Ok(Self::MaxTokens),
            Outcome::Limit(LimitKind::Prompt) => Ok(Self::Refusal),
            Outcome::Limit(
                kind @ (LimitKind::Budget | LimitKind::Denials | LimitKind::Repeats | LimitKind::Hook),
            ) => Err(failed("a limit of this run was reached").with("reason", kind.as_str())),
            Outcome::Failed(failure) => match failure.kind {
                FailureKind::MaxTokens => Ok(Self::MaxTokens),
                FailureKind::Refused | FailureKind::Blocked => Ok(Self::Refusal),
                _ => Err(refused(failure)),
            },
            Outcome::NotSaved(why) => Err(RequestError::failed(why.clone()).with("reason", "not_saved")),
        }
    }
}

fn refused(failure: &ProviderFailure) -> RequestError {
    let mut refusal = match failure.is_key_refused() {
        true => RequestError::auth_required(&failure.message),
        false => RequestError::failed(&failure.message),
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
pub(crate) fn json(ended: PromptEnd) -> Value {
    let stopped = match ended {
        PromptEnd::EndTurn => Stopped::EndTurn,
        PromptEnd::MaxTokens => Stopped::MaxTokens,
        PromptEnd::MaxTurnRequests => Stopped::MaxTurnRequests,
        PromptEnd::Refusal => Stopped::Refusal,
        PromptEnd::Cancelled => Stopped::Cancelled,
    };
    serde_json::to_value(PromptResponse::new(stopped)).expect("an answer is JSON")
}
