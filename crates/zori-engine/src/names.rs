//! What calls are called: by their provider's id, unless it has none or the session has had it.

use std::sync::Arc;

use zori_core::event::Reply;
use zori_core::ids::AgentId;
use zori_core::message::{Block, IdOrigin};
use zori_core::render::Sink;

use crate::engine::Engine;

impl<S: Sink + 'static> Engine<S> {
    /// Gives calls ids that no other call of the session has.
    pub(crate) fn named(&self, mut reply: Reply) -> Reply {
        let message = Arc::get_mut(&mut reply.message).expect("nobody has seen it yet");
        for block in &mut message.blocks {
            let Block::ToolCall(call) = block else { continue };
            let name = self.crew.name(&call.id);
            if name != call.id {
                (call.id, call.id_origin) = (name, IdOrigin::Made);
            }
        }
        reply
    }

    /// Returns what made-up call ids are named after. Those of a sub-agent are unlike all others of the session.
    pub(crate) fn call_maker(&self) -> String {
        match self.emitter.agent() {
            AgentId::MAIN => self.provider.name().to_owned(),
            AgentId(number) => format!("{}_{number}", self.provider.name()),
        }
    }
}
