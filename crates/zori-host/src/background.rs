//! What goes on beside the turns of sessions, as a trait: the program around decides what that is, and starts it.
//!
//! The host says when turns and sessions begin and end, for every front end alike. Without anything in the background it says nothing.

use std::sync::Arc;

/// What goes on beside the turns of a folder's sessions.
pub trait Background: Send + Sync {
    /// A session began.
    fn session_began(&self);
    /// A turn begins: whatever can wait does so until it has ended.
    fn turn_began(&self);
    /// A turn ended, or was dropped.
    fn turn_ended(&self);
    /// A session ended. After the last one nothing goes on any more: the call comes back within a quarter of a second, and what
    /// has not ended by then is left to the end of the process.
    fn session_ended(&self);
}

/// A session, as the background sees it: it ends when this is dropped.
pub(crate) struct OpenSession(Arc<dyn Background>);

impl OpenSession {
    pub(crate) fn new(background: Arc<dyn Background>) -> Self {
        background.session_began();
        Self(background)
    }

    /// Returns a turn, which ends when it is dropped.
    pub(crate) fn turn(&self) -> RunningTurn {
        self.0.turn_began();
        RunningTurn(self.0.clone())
    }
}

impl Drop for OpenSession {
    fn drop(&mut self) {
        self.0.session_ended();
    }
}

/// A turn, as the background sees it.
pub(crate) struct RunningTurn(Arc<dyn Background>);

impl Drop for RunningTurn {
    fn drop(&mut self) {
        self.0.turn_ended();
    }
}
