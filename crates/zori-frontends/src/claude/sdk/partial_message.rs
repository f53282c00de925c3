//! The message that the renderer is writing in pieces: one of the main agent, from its first piece to its end.

use std::io;

use serde_json::json;
use zori_core::event::Event;

use super::SdkRenderer;
use super::message::Scope;
use super::partial::{Partial, Piece};

impl SdkRenderer {
    pub(super) fn piece(&mut self, event: &Event, piece: &Piece<'_>) -> io::Result<()> {
        self.with_partial(event, |partial, scope, model| partial.piece(scope, model, piece))
    }

    pub(super) fn with_partial(
        &mut self,
        event: &Event,
        tell: impl FnOnce(&mut Partial, &Scope<'_>, &str) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut partial = std::mem::take(&mut self.partial);
        let written = tell(&mut partial, &self.scope(event), self.tally.model());
        self.partial = partial;
        written
    }

    /// Ends a message that was cut off, and writes a result for each call in it.
    pub(super) fn cut_off(&mut self, event: &Event) -> io::Result<()> {
        let partial = std::mem::take(&mut self.partial);
        let cut = partial.give_up(&self.scope(event))?;
        let orphans = std::mem::take(&mut self.orphans);
        for call in orphans.into_iter().chain(cut) {
            self.tally.unanswered();
            let text = "The reply was cut off, so this call did not run";
            let block = json!({
                "tool_use_id": call.as_str(),
                "type": "tool_result",
                "content": text,
                "is_error": true,
            });
            let fields = json!({
                "message": {"role": "user", "content": [block]},
                "parent_tool_use_id": null,
                "timestamp": event.at.to_string(),
                "tool_use_result": format!("Error: {text}"),
            });
            self.say(event, "user", fields)?;
        }
        Ok(())
    }
}
