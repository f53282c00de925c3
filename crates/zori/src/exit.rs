//! Exit codes: one closed table (`cli-agent-spec.md` section 1, DECISIONS 8 and 24).

use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::outcome::{CancelCause, LimitKind, Outcome};

macro_rules! exits {
    ($($name:ident $code:literal $about:literal),* $(,)?) => {
        /// How the program ends.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Exit { $(#[doc = $about] $name),* }

        impl Exit {
            /// Every code, in order.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the number.
            pub fn code(self) -> u8 {
                match self { $(Self::$name => $code),* }
            }

            /// Returns one line that says what it means.
            pub fn about(self) -> &'static str {
                match self { $(Self::$name => $about),* }
            }
        }
    };
}

exits! {
    Success 0 "Done as intended.",
    General 1 "It failed, and nothing more precise can be said.",
    Usage 2 "Rejected before anything was done: arguments, config, prompt.",
    Partial 3 "It failed after a tool had changed something, or a limit was reached.",
    Precondition 4 "Something must be there first: a terminal, a free session, a usable base directory.",
    NotFound 5 "No such session or model.",
    Conflict 6 "It exists already.",
    PermissionDenied 7 "The provider refused access (HTTP 403).",
    AuthRequired 8 "The provider's key is missing, wrong or expired.",
    PaymentRequired 9 "The provider's credit is used up (HTTP 402).",
    Timeout 10 "The time of `--timeout` was over.",
    RateLimited 11 "The provider asks to wait (HTTP 429).",
    Unavailable 12 "The provider cannot be reached, is overloaded, stalled or broke off.",
    Interrupted 130 "Ctrl-C.",
    Terminated 143 "SIGTERM.",
}

impl Exit {
    /// Returns the code for a turn's end. `effects`: a tool that changes something has run.
    pub fn of(outcome: &Outcome, effects: bool) -> Self {
        match outcome {
            Outcome::Completed(_) => Self::Success,
            Outcome::Cancelled(CancelCause::User) => Self::Interrupted,
            // After a hang-up nobody is left to read the code; the process dies of the signal itself.
            Outcome::Cancelled(CancelCause::Terminate | CancelCause::Hangup) => Self::Terminated,
            Outcome::Cancelled(CancelCause::Deadline) => Self::Timeout,
            // A hook did not let the prompt pass, so that nothing was done.
            Outcome::Limit(LimitKind::Prompt) => Self::Usage,
            Outcome::Limit(_) => Self::Partial,
            // A replay that has left its recording, whatever its tools did.
            Outcome::Failed(failure) if failure.kind == FailureKind::Replay => Self::General,
            Outcome::Failed(_) if effects => Self::Partial,
            Outcome::Failed(failure) => of_failure(failure),
            Outcome::NotSaved(_) if effects => Self::Partial,
            Outcome::OutputClosed | Outcome::NotSaved(_) => Self::General,
        }
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
            let plain = Exit::of(&Outcome::Failed(failure.clone()), false).code();
            (plain, Exit::of(&Outcome::Failed(failure), true).code())
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
                assert_eq!(Exit::of(&Outcome::Limit(kind), effects).code(), 3);
            }
            assert_eq!(Exit::of(&Outcome::Limit(LimitKind::Prompt), effects).code(), 2);
            assert_eq!(Exit::of(&Outcome::Cancelled(CancelCause::Deadline), effects).code(), 10);
        }
    }
}
