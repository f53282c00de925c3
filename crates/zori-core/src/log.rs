//! The session log as the rest of the program sees it.

use crate::event::Event;

/// A log of events. It is called before any renderer; it does not keep deltas.
pub trait Log: Send {
    /// Writes an event. Once this returns, killing the process does not lose it.
    fn append(&mut self, event: &Event) -> Result<(), LogError>;
}

/// Why an event could not be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LogError(pub String);
