//! Numbers and stamps events, and remembers when the outlet wants no more.
//!
//! The agents of a session share one outlet, each through an emitter of its own, so that an event is logged and shown
//! before what it announces happens, whoever it belongs to.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use zori_core::event::{Event, EventKind};
use zori_core::ids::{AgentId, CallId, SessionId};
use zori_core::render::{Sink, Stop};
use zori_core::time::Clock;

/// The way out of the engine. Emitting never fails, so that the loop reads as a straight line; whoever waits asks
/// [`Emitter::stop`] before going on.
pub(crate) struct Emitter<S> {
    outlet: Arc<Mutex<Outlet<S>>>,
    clock: Arc<dyn Clock>,
    session: SessionId,
    agent: AgentId,
    parent: Option<CallId>,
}

struct Outlet<S> {
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
        let outlet = Arc::new(Mutex::new(Outlet { sink, seq: 0, stop: None }));
        Self { outlet, clock, session, agent: AgentId::MAIN, parent: None }
    }

    /// Returns the emitter of a sub-agent that `parent` started.
    pub(crate) fn of_agent(&self, agent: AgentId, parent: Option<CallId>) -> Self {
        let (outlet, clock, session) = (self.outlet.clone(), self.clock.clone(), self.session.clone());
        Self { outlet, clock, session, agent, parent }
    }

    /// Returns whose events these are.
    pub(crate) fn agent(&self) -> AgentId {
        self.agent
    }

    /// Returns why the turn has to end, if it has to.
    pub(crate) fn stop(&self) -> Option<Stop> {
        self.lock().stop.clone()
    }

    pub(crate) fn into_sink(self) -> S {
        let outlet = Arc::into_inner(self.outlet).expect("sub-agents end before the turn that started them");
        outlet.into_inner().unwrap_or_else(PoisonError::into_inner).sink
    }

    fn lock(&self) -> MutexGuard<'_, Outlet<S>> {
        self.outlet.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Sink> Emitter<S> {
    pub(crate) fn emit(&mut self, kind: EventKind) {
        let mut outlet = self.lock();
        let event = Event {
            seq: outlet.seq,
            at: self.clock.now(),
            session: self.session.clone(),
            agent: self.agent,
            parent: self.parent.clone(),
            kind,
        };
        outlet.seq += 1;
        if let Err(stop) = outlet.sink.emit(&event) {
            outlet.stop.get_or_insert(stop);
        }
    }

    /// Tells the outlet that the engine is about to wait.
    pub(crate) fn idle(&mut self) {
        let mut outlet = self.lock();
        if let Err(stop) = outlet.sink.idle() {
            outlet.stop.get_or_insert(stop);
        }
    }
}
