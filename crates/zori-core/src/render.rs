//! Renderers, which show events, and the sink that they go to.

use std::io;

use crate::event::Event;

/// Shows events: to a person, or to a program in some protocol. A pure projection; it holds no engine.
pub trait Renderer {
    /// Takes one event. Events come once each and in order. A broken pipe ends the run; any other error is
    /// reported once, when the run is over.
    fn on_event(&mut self, event: &Event) -> io::Result<()>;

    /// Called when no further event is due right now, so that a renderer that collects bytes writes them out.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Called once, after the last event.
    fn finish(&mut self) -> io::Result<()> {
        self.flush()
    }
}

/// Receives all events of an engine. It passes each to the log first, then to the renderers.
pub trait Sink: Send {
    /// Takes one event. `Err` asks the engine to end the turn; the event itself has been logged all the same,
    /// and so are those that follow.
    fn emit(&mut self, event: &Event) -> Result<(), Stop>;

    /// Called when the engine is about to wait.
    fn idle(&mut self) -> Result<(), Stop> {
        Ok(())
    }
}

/// Why a sink asks the engine to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The reader is gone.
    OutputClosed,
    /// The session or the audit log cannot be written, and the user asked never to continue without
    /// (`session_required`, `audit`).
    NotSaved(String),
}
