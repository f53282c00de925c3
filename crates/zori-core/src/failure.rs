//! What goes wrong with a model: one value, made at the provider's edge and carried through to the exit code.

use std::fmt;
use std::time::Duration;

/// A failed request or a broken stream. The provider fills in what it knows; it does not judge or retry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderFailure {
    /// The coarse kind, shown to the user in `Error [kind]: ...`.
    pub kind: FailureKind,
    /// The HTTP status, or the status an in-stream error type stands for (529 for `overloaded_error`).
    pub status: Option<u16>,
    /// One sentence for people.
    pub message: String,
    /// The raw body or cause, bounded; never a header, a key or a request body (PROV-12).
    pub details: Option<String>,
    /// How long the provider asks us to wait.
    pub retry_after: Option<Duration>,
}

impl ProviderFailure {
    /// A failure of which only kind and message are known.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, status: None, message: message.into(), details: None, retry_after: None }
    }
}

impl fmt::Display for ProviderFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.as_str(), self.message)
    }
}

/// Kinds of provider failure (PERR-1, L-9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// An answer that is not 2xx.
    HttpStatus,
    /// No connection, or none in time (PERR-3 calls refused connections this too).
    Timeout,
    /// An answer that cannot be understood.
    Parse,
    /// The provider reported an error inside a stream.
    ApiError,
    /// The connection broke after the answer had begun.
    Transport,
    /// No usable credential.
    Auth,
    /// The run has left the recording it is replayed from.
    Replay,
    /// The conversation is longer than the model takes.
    ContextLength,
    /// A defect of ours.
    Internal,
}

impl FailureKind {
    /// Returns the stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::HttpStatus => "http_status",
            Self::Timeout => "timeout",
            Self::Parse => "parse",
            Self::ApiError => "api_error",
            Self::Transport => "transport",
            Self::Auth => "auth",
            Self::Replay => "replay",
            Self::ContextLength => "context_length",
            Self::Internal => "internal",
        }
    }
}
