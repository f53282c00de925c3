//! Numbers and time-stamps events, and remembers when the sink asks to stop.
//!
//! The agents of a session share one sink, each through an emitter of its own, so that an event is logged and shown before
//! what it announces happens.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use zori_core::event::{Event, EventKind};
use zori_core::ids::{AgentId, CallId, SessionId};
use zori_core::render::{Sink, Stop};
use zori_core::time::Clock;

/// Sends events to the sink. Emitting never fails, so that the loop reads as a straight line; callers check
/// [`Emitter::stop`] before they wait.
pub(crate) struct Emitter<S> {
    out: Arc<Mutex<SharedSink<S>>>,
    clock: Arc<dyn Clock>,
    session: SessionId,
    agent: AgentId,
    parent: Option<CallId>,
}

struct SharedSink<S> {
    sink: S,
    seq: u64,
    stop: Option<Stop>,
}

impl<S> Clone for Emitter<S> {
    fn clone(&self) -> Self {
        self.of_agent(self.agent, self.parent.clone())
    }
}

impl<S> Emitter<S> {
    pub(crate) fn new(sink: S, clock: Arc<dyn Clock>, session: SessionId) -> Self {
        let out = Arc::new(Mutex::new(SharedSink { sink, seq: 0, stop: None }));
        Self { out, clock, session, agent: AgentId::MAIN, parent: None }
    }

    /// Returns an emitter for a sub-agent that the call `parent` started.
    pub(crate) fn of_agent(&self, agent: AgentId, parent: Option<CallId>) -> Self {
        let (out, clock, session) = (self.out.clone(), self.clock.clone(), self.session.clone());
        Self { out, clock, session, agent, parent }
    }

    /// Returns the agent whose events these are.
    pub(crate) fn agent(&self) -> AgentId {
        self.agent
    }

    /// Returns why the turn has to end, if it has to.
    pub(crate) fn stop(&self) -> Option<Stop> {
        self.lock().stop.clone()
    }

    pub(crate) fn into_sink(self) -> S {
        let out = Arc::into_inner(self.out).expect("sub-agents end before the turn that started them");
        out.into_inner().unwrap_or_else(PoisonError::into_inner).sink
    }

    fn lock(&self) -> MutexGuard<'_, SharedSink<S>> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Sink> Emitter<S> {
    pub(crate) fn emit(&mut self, kind: impl Into<EventKind>) {
        self.send(kind.into());
    }

    fn send(&self, kind: EventKind) {
        let mut out = self.lock();
        let event = Event {
            seq: out.seq,
            at: self.clock.now(),
            session: self.session.clone(),
            agent: self.agent,
            parent: self.parent.clone(),
            kind,
        };
        out.seq += 1;
        if let Err(stop) = out.sink.emit(&event) {
            out.stop.get_or_insert(stop);
        }
    }

    /// Tells the sink that the engine is about to wait.
    pub(crate) fn idle(&mut self) {
        let mut out = self.lock();
        if let Err(stop) = out.sink.idle() {
            out.stop.get_or_insert(stop);
        }
    }
}
