//! How a turn ends.

use crate::failure::ProviderFailure;
use crate::provider::StopReason;

/// How a turn ended. The exit code follows from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The model ended it.
    Completed(StopReason),
    /// It was cancelled.
    Cancelled(CancelCause),
    /// The provider failed.
    Failed(ProviderFailure),
    /// It reached a limit before the model ended it.
    Limit(LimitKind),
    /// The reader of the output is gone.
    OutputClosed,
    /// The session could not be saved or the audit log not written, and that was required.
    NotSaved(String),
}

/// The cause of a cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelCause {
    /// Ctrl-C, or a protocol's cancel request.
    User,
    /// SIGTERM.
    Terminate,
    /// SIGHUP.
    Hangup,
    /// The time limit of the whole command.
    Deadline,
}

/// The limit that ended a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// The requests of one prompt.
    Turns,
    /// The money of the run.
    Budget,
    /// The tokens of the run.
    Tokens,
    /// The same call was denied too many times in a row (DEC-3).
    Denials,
    /// The same call failed too many times in a row (FOR-13).
    Repeats,
    /// A hook ended the turn.
    Hook,
    /// A hook blocked the prompt.
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
            Self::Repeats => "repeated_calls",
            Self::Hook => "hook_stopped",
            Self::Prompt => "hook_blocked_prompt",
        }
    }
}
