//! What made-up ids are named after. Which ids there were is the crew's to know.

use zori_core::ids::AgentId;
use zori_core::render::Sink;

use crate::engine::Engine;

impl<S: Sink + 'static> Engine<S> {
    /// Returns what made-up call ids are named after. Those of a sub-agent are unlike all others of the session.
    pub(crate) fn call_maker(&self) -> String {
        match self.shared.emitter.agent() {
            AgentId::MAIN => self.shared.provider.name().to_owned(),
            AgentId(number) => format!("{}_{number}", self.shared.provider.name()),
        }
    }
}
