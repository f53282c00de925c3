//! Failures of a provider: one value, made by the provider and carried through to the exit code.

use std::fmt;
use std::time::Duration;

/// A failed request, a broken stream, or a reply that is none. The provider fills in what it knows; it does not judge or
/// retry.
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
    /// The reply limit that the provider named when it refused a larger one.
    pub reply_limit: Option<u32>,
}

impl ProviderFailure {
    /// A failure with only a kind and a message.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        let (status, details, retry_after, reply_limit) = (None, None, None, None);
        Self { kind, status, message: message.into(), details, retry_after, reply_limit }
    }

    /// Returns whether the provider did not take the key, or a login has ended before it could be asked.
    pub fn is_key_refused(&self) -> bool {
        self.status == Some(401) || (self.status.is_none() && self.kind == FailureKind::Auth)
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
    /// A response with a status other than 2xx.
    HttpStatus,
    /// No connection, or none in time (PERR-3 calls refused connections this too).
    Timeout,
    /// A response that cannot be parsed.
    Parse,
    /// The provider reported an error inside a stream.
    ApiError,
    /// The connection broke after the response had begun.
    Transport,
    /// No usable credential.
    Auth,
    /// The run differs from the recording that it replays.
    Replay,
    /// The conversation is longer than the model takes.
    ContextLength,
    /// The provider does not take its own reasoning back: it belongs to another model, or its signature does not fit.
    Reasoning,
    /// The model, or a filter behind it, refused to answer (DECISIONS 45).
    Refused,
    /// The provider blocked the prompt.
    Blocked,
    /// The reply cannot be used, and neither can the one after it.
    Malformed,
    /// The token limit cut the reply off.
    MaxTokens,
    /// A bug in zori.
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
            Self::Reasoning => "reasoning",
            Self::Refused => "refused",
            Self::Blocked => "blocked",
            Self::Malformed => "malformed",
            Self::MaxTokens => "cut",
            Self::Internal => "internal",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_the_key_is_refused() {
        for (status, kind, refused) in [
            (Some(401), FailureKind::HttpStatus, true),
            (Some(401), FailureKind::ApiError, true),
            (None, FailureKind::Auth, true),
            (Some(403), FailureKind::Auth, false),
            (Some(400), FailureKind::HttpStatus, false),
            (None, FailureKind::Timeout, false),
        ] {
            let failure = ProviderFailure { status, ..ProviderFailure::new(kind, "x") };
            assert_eq!(failure.is_key_refused(), refused, "{status:?} {kind:?}");
        }
    }
}
