//! How a turn ends.

use crate::failure::ProviderFailure;
use crate::provider::StopReason;

/// The one way a turn ended. The exit code is a function of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The model ended it.
    Completed(StopReason),
    /// Somebody cancelled it.
    Cancelled(CancelCause),
    /// The provider failed.
    Failed(ProviderFailure),
    /// It would have gone on, but had used up what it was given.
    Limit(LimitKind),
    /// The reader of the output is gone.
    OutputClosed,
    /// The session could not be saved or the audit log not written, and that was required.
    NotSaved(String),
}

/// Who cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelCause {
    /// Ctrl-C, or a protocol's cancel request.
    User,
    /// SIGTERM.
    Terminate,
    /// SIGHUP.
    Hangup,
    /// The time of the whole command is over.
    Deadline,
}

/// What was used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// The requests of one prompt.
    Turns,
    /// The money of the run.
    Budget,
    /// The tokens of the run.
    Tokens,
    /// The patience with one call that was denied again and again (DEC-3).
    Denials,
    /// The patience of a hook, which wants no more.
    Hook,
    /// Nothing was used at all: a hook did not let the prompt pass.
    Prompt,
}

impl LimitKind {
    /// Returns the stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Turns => "max_turns",
            Self::Budget => "max_budget_usd",
            Self::Tokens => "max_tokens_total",
            Self::Denials => "denied_calls",
            Self::Hook => "hook_stopped",
            Self::Prompt => "hook_blocked_prompt",
        }
    }
}
