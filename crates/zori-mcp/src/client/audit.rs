//! What is written down of servers (EXT-63): that they start and end, what is approved of them, that they ask, who logs out. No values.

use std::sync::Arc;

/// Something that became of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerRecord<'a> {
    /// Its name.
    pub server: &'a str,
    /// What happened: `start`, `end`, `form`, `pin`, `login` or `logout`.
    pub action: &'static str,
    /// How, in a few words.
    pub summary: &'a str,
}

/// Writes records down. An error is a reason not to begin.
pub type ServerAudit = Arc<dyn Fn(&ServerRecord<'_>) -> Result<(), String> + Send + Sync>;
