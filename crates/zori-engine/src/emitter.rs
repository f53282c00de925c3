//! Numbers and stamps events, and remembers when the outlet wants no more.

use std::sync::Arc;

use zori_core::event::{Event, EventKind};
use zori_core::ids::{AgentId, CallId, SessionId};
use zori_core::render::{Sink, Stop};
use zori_core::time::Clock;

/// The way out of the engine. Emitting never fails, so that the loop reads as a straight line; whoever waits asks
/// [`Emitter::stop`] before going on.
pub(crate) struct Emitter<S> {
    sink: S,
    clock: Arc<dyn Clock>,
    session: SessionId,
    agent: AgentId,
    parent: Option<CallId>,
    seq: u64,
    stop: Option<Stop>,
}

impl<S: Sink> Emitter<S> {
    pub(crate) fn new(sink: S, clock: Arc<dyn Clock>, session: SessionId) -> Self {
        Self { sink, clock, session, agent: AgentId::MAIN, parent: None, seq: 0, stop: None }
    }

    pub(crate) fn emit(&mut self, kind: EventKind) {
        let event = Event {
            seq: self.seq,
            at: self.clock.now(),
            session: self.session.clone(),
            agent: self.agent,
            parent: self.parent.clone(),
            kind,
        };
        self.seq += 1;
        if let Err(stop) = self.sink.emit(&event) {
            self.stop.get_or_insert(stop);
        }
    }

    /// Tells the outlet that the engine is about to wait.
    pub(crate) fn idle(&mut self) {
        if let Err(stop) = self.sink.idle() {
            self.stop.get_or_insert(stop);
        }
    }

    /// Returns why the turn has to end, if it has to.
    pub(crate) fn stop(&self) -> Option<&Stop> {
        self.stop.as_ref()
    }

    pub(crate) fn into_sink(self) -> S {
        self.sink
    }
}
