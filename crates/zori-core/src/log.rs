//! The session log as the rest of the program sees it.

use crate::event::Event;

/// Keeps events. It is called before any renderer; deltas are not kept.
pub trait Log: Send {
    /// Writes what the event says. When this returns, a killed process no longer loses it.
    fn append(&mut self, event: &Event) -> Result<(), LogError>;
}

/// Why something could not be kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LogError(pub String);
