//! The prefix of call ids that the engine generates. `agent_registry.rs` keeps all ids of a session unique.

use zori_core::ids::AgentId;
use zori_core::render::Sink;

use crate::engine::Engine;

impl<S: Sink + 'static> Engine<S> {
    /// Returns the prefix of generated call ids. Each sub-agent has its own.
    pub(crate) fn call_id_prefix(&self) -> String {
        match self.shared.emitter.agent() {
            AgentId::MAIN => self.shared.provider.name().to_owned(),
            AgentId(number) => format!("{}_{number}", self.shared.provider.name()),
        }
    }
}
