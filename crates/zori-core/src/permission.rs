//! What is decided about a call. The function that decides is `zori-engine`'s `permission::decide`.

/// A verdict and how it came about (`security.md` chapter 2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What happens.
    pub verdict: Verdict,
    /// The class the call was put in.
    pub class: Class,
    /// Why, for people and for the model.
    pub reason: String,
}

/// What happens to a call. The order is from weak to strict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It runs.
    Allow,
    /// Somebody is asked.
    Ask,
    /// It does not run.
    Deny,
}

/// What kind of thing a call does; a call has the strictest class of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Internal state: task list, questions to the user.
    I,
    /// Reads, lists or searches inside a workspace root.
    R,
    /// Reads outside.
    Rx,
    /// Creates or edits inside a workspace root.
    W,
    /// Creates or edits outside.
    Wx,
    /// Runs a shell command.
    X,
    /// Fetches from the network.
    N,
}

impl Class {
    /// Returns the name `security.md` uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::I => "I",
            Self::R => "R",
            Self::Rx => "RX",
            Self::W => "W",
            Self::Wx => "WX",
            Self::X => "X",
            Self::N => "N",
        }
    }
}
