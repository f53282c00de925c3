//! From the end of a turn to the exit code (DECISIONS 8 and 24).

use zori_contract::exit::Exit;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::outcome::{CancelCause, LimitKind, Outcome};

/// Returns the code for a turn's end. `effects`: a tool that changes something has run.
pub fn exit(outcome: &Outcome, effects: bool) -> Exit {
    match outcome {
        Outcome::Completed(_) => Exit::Success,
        Outcome::Cancelled(CancelCause::User) => Exit::Interrupted,
        // After a hang-up nobody is left to read the code; the process dies of the signal itself.
        Outcome::Cancelled(CancelCause::Terminate | CancelCause::Hangup) => Exit::Terminated,
        Outcome::Cancelled(CancelCause::Deadline) => Exit::Timeout,
        // A hook did not let the prompt pass, so that nothing was done.
        Outcome::Limit(LimitKind::Prompt) => Exit::Usage,
        Outcome::Limit(_) => Exit::Partial,
        // A replay that has left its recording, whatever its tools did.
        Outcome::Failed(failure) if failure.kind == FailureKind::Replay => Exit::General,
        Outcome::Failed(_) if effects => Exit::Partial,
        Outcome::Failed(failure) => of_failure(failure),
        Outcome::NotSaved(_) if effects => Exit::Partial,
        Outcome::OutputClosed | Outcome::NotSaved(_) => Exit::General,
    }
}

fn of_failure(failure: &ProviderFailure) -> Exit {
    match (failure.status, failure.kind) {
        // Servers have different statuses for it, 500 among them.
        (_, FailureKind::ContextLength) => Exit::General,
        (Some(401), _) | (None, FailureKind::Auth) => Exit::AuthRequired,
        (Some(402), _) => Exit::PaymentRequired,
        (Some(403), _) => Exit::PermissionDenied,
        (Some(429), _) => Exit::RateLimited,
        (Some(408 | 500..=599), _) => Exit::Unavailable,
        (Some(_), _) => Exit::General,
        (None, FailureKind::Timeout | FailureKind::Transport) => Exit::Unavailable,
        (None, _) => Exit::General,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_failures() {
        let code = |status, kind| {
            let failure = ProviderFailure { status, ..ProviderFailure::new(kind, "x") };
            let plain = exit(&Outcome::Failed(failure.clone()), false).code();
            (plain, exit(&Outcome::Failed(failure), true).code())
        };
        let http = |status| code(Some(status), FailureKind::HttpStatus);
        let got = [400, 401, 402, 403, 404, 408, 413, 429, 500, 503, 529].map(|status| http(status).0);
        assert_eq!(got, [1, 8, 9, 7, 1, 12, 1, 11, 12, 12, 12]);
        assert_eq!(http(429).1, 3, "after an effect it is a partial failure");
        use FailureKind::{ApiError, Auth, Internal, Parse, Timeout, Transport};
        let got = [Timeout, Transport, Auth, Parse, ApiError, Internal].map(|kind| code(None, kind).0);
        assert_eq!(got, [12, 12, 8, 1, 1, 1]);
        assert_eq!(code(Some(500), FailureKind::ContextLength), (1, 3));
    }

    /// DECISIONS 24: a limit is always 3 and the end of the time always 10, whatever has happened.
    #[test]
    fn what_was_used_up() {
        for effects in [false, true] {
            use LimitKind::{Budget, Denials, Hook, Tokens, Turns};
            for kind in [Turns, Budget, Tokens, Denials, Hook] {
                assert_eq!(exit(&Outcome::Limit(kind), effects).code(), 3);
            }
            assert_eq!(exit(&Outcome::Limit(LimitKind::Prompt), effects).code(), 2);
            assert_eq!(exit(&Outcome::Cancelled(CancelCause::Deadline), effects).code(), 10);
        }
    }
}
