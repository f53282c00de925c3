//! Exit codes: one closed table, and what each promises to somebody who wonders whether to call again.
//!
//! There are no integers at call sites. Which codes a command can end with is in its table entry
//! ([`crate::command::Command::exits`]); what every command can end with is added by the framework.

use serde::Serialize;

/// How far a command has changed the world when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SideEffects {
    /// Nothing was written.
    None,
    /// Something was, or may have been.
    Partial,
    /// Everything that was asked for.
    Complete,
}

/// What a command does to the world when it works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Danger {
    /// Reads.
    Safe,
    /// Creates or changes.
    Mutating,
    /// Deletes, or changes what cannot be changed back.
    Destructive,
}

impl Danger {
    /// Returns the name in the manifest.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Mutating => "mutating",
            Self::Destructive => "destructive",
        }
    }
}

macro_rules! exits {
    ($($name:ident $code:literal $constant:literal $retryable:literal $effects:ident $about:literal),* $(,)?) => {
        /// How the program ends.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Exit { $(#[doc = $about] $name),* }

        impl Exit {
            /// Every code, in order.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the number.
            pub fn code(self) -> u8 {
                match self { $(Self::$name => $code),* }
            }

            /// Returns the name of the constant, as the manifest gives it.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $constant),* }
            }

            /// Returns one line that says what it means.
            pub fn about(self) -> &'static str {
                match self { $(Self::$name => $about),* }
            }

            /// Returns whether the same call may work later, unless a command or an error knows better.
            pub fn retryable(self) -> bool {
                match self { $(Self::$name => $retryable),* }
            }

            /// Returns how far the world may have changed, unless the command is one that only reads.
            pub fn side_effects(self) -> SideEffects {
                match self { $(Self::$name => SideEffects::$effects),* }
            }
        }
    };
}

exits! {
    Success 0 "SUCCESS" false Complete "It is done as intended.",
    General 1 "GENERAL_ERROR" false Partial "It failed, and nothing more precise can be said.",
    Usage 2 "ARG_ERROR" false None "The call is rejected before anything is done; `error.errors` says why.",
    Partial 3 "PARTIAL_FAILURE" false Partial "It failed after something was changed; look before calling again.",
    Precondition 4 "PRECONDITION" false None "Something must be there first: a terminal, a free lock, some input.",
    NotFound 5 "NOT_FOUND" false None "What was named does not exist.",
    Conflict 6 "CONFLICT" false None "It exists already, or somebody else changed it meanwhile.",
    PermissionDenied 7 "PERMISSION_DENIED" false None "The credential is valid and does not allow this.",
    AuthRequired 8 "AUTH_REQUIRED" false None "The credential is missing, wrong or expired.",
    PaymentRequired 9 "PAYMENT_REQUIRED" false None "The credit of the service is used up.",
    Timeout 10 "TIMEOUT" false Partial "The time of `--timeout` is over.",
    RateLimited 11 "RATE_LIMITED" true None "The service asks to wait; nothing was changed.",
    Unavailable 12 "UNAVAILABLE" true None "The service cannot be reached; nothing was changed.",
    Redirected 13 "REDIRECTED" false None "The command has another name; `error.redirect` gives it.",
    Interrupted 130 "INTERRUPTED" false Partial "SIGINT ended it.",
    Terminated 143 "TERMINATED" false Partial "SIGTERM ended it.",
}

impl Exit {
    /// Returns what the code promises of a command of this danger.
    pub fn entry(self, danger: Danger) -> ExitEntry {
        let reads = danger == Danger::Safe;
        let side_effects = if reads { SideEffects::None } else { self.side_effects() };
        // Out of time without having changed anything: the same call may be luckier.
        let retryable = self.retryable() || (self == Self::Timeout && reads);
        ExitEntry { name: self.name(), description: self.about(), retryable, side_effects }
    }
}

/// One code in a command's exit map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ExitEntry {
    /// The name of the constant.
    pub name: &'static str,
    /// When it happens: up to 120 characters.
    pub description: &'static str,
    /// Whether the same call may work later.
    pub retryable: bool,
    /// How far the world may have changed.
    pub side_effects: SideEffects,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The invariants of the contract that hold for the codes by themselves.
    #[test]
    fn the_table_keeps_its_promises() {
        let numbers: Vec<_> = Exit::ALL.iter().map(|exit| exit.code()).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 130, 143]);
        for danger in [Danger::Safe, Danger::Mutating, Danger::Destructive] {
            for exit in Exit::ALL {
                let entry = exit.entry(danger);
                assert!(!entry.retryable || entry.side_effects == SideEffects::None, "{entry:?}");
                assert!((1..=120).contains(&entry.description.chars().count()), "{entry:?}");
            }
            assert_eq!(Exit::Usage.entry(danger).side_effects, SideEffects::None);
            assert!(!Exit::Partial.entry(danger).retryable);
        }
    }

    #[test]
    fn time_that_was_lost_reading_can_be_spent_again() {
        let facts = |danger| {
            let entry = Exit::Timeout.entry(danger);
            (entry.retryable, entry.side_effects)
        };
        assert_eq!(facts(Danger::Safe), (true, SideEffects::None));
        assert_eq!(facts(Danger::Mutating), (false, SideEffects::Partial));
    }
}
