//! The words for provider failures (`docs/contracts/claude-protocol.md`), in `assistant.error` and `api_retry.error`.

use zori_core::failure::{FailureKind, ProviderFailure};

/// Returns the word for a failure. Clients treat the list as open.
pub fn error_kind(failure: &ProviderFailure) -> &'static str {
    match (failure.status, failure.kind) {
        (_, FailureKind::MaxTokens) => "max_output_tokens",
        (_, FailureKind::Refused | FailureKind::Blocked) => "invalid_request",
        (Some(401 | 403), _) | (None, FailureKind::Auth) => "authentication_failed",
        (Some(402), _) => "billing_error",
        (Some(429), _) => "rate_limit",
        (Some(404), _) => "model_not_found",
        (Some(529 | 503), _) => "overloaded",
        (Some(500..), _) => "server_error",
        (Some(_), _) | (None, FailureKind::ContextLength) => "invalid_request",
        (None, _) => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_a_word() {
        let word = |status, kind| error_kind(&ProviderFailure { status, ..ProviderFailure::new(kind, "") });
        let http = |status| word(Some(status), FailureKind::HttpStatus);
        let words = [401, 403, 402, 429, 404, 400, 413, 503, 529, 500, 502].map(http);
        assert_eq!(
            words,
            [
                "authentication_failed",
                "authentication_failed",
                "billing_error",
                "rate_limit",
                "model_not_found",
                "invalid_request",
                "invalid_request",
                "overloaded",
                "overloaded",
                "server_error",
                "server_error",
            ]
        );
        assert_eq!(word(None, FailureKind::Auth), "authentication_failed");
        assert_eq!(word(None, FailureKind::Transport), "unknown");
    }
}
