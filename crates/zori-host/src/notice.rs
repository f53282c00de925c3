//! What a session has to say to people beside its events.

/// A line for people. Whoever drives the session decides where it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Something is not as it should be.
    Warning(String),
    /// What could be done about it.
    Hint(String),
    /// Something failed; `code` names its kind.
    Error {
        /// The kind, in one word.
        code: &'static str,
        /// What failed.
        text: String,
    },
}
