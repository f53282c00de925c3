//! Answers that are cut off: by somebody, or by the token limit. What becomes of them is the front end's choice.

use std::sync::Arc;

use zori_core::event::{EventKind, NoticeLevel};
use zori_core::message::{Block, Message, Role};
use zori_core::render::Sink;

use crate::engine::CutAnswer;
use crate::turn::{Cut, Turn};

/// So often in a row a reply is gone on with that the token limit cut off.
const GONE_ON: u32 = 3;

/// What the model is told then.
const GO_ON: &str = "Your reply was cut off at the token limit. Go on exactly where it ends, without a word about it and \
                     without repeating anything.";

impl<S: Sink + 'static> Turn<'_, '_, S> {
    /// Asks for the rest of a reply that the token limit cut off, where that is wanted.
    pub(crate) fn goes_on(&mut self) -> bool {
        // Thinking that is cut off cannot be gone on with.
        let wanted = self.engine.shared.settings.cut == CutAnswer::GoneOnWith && !self.text.is_empty();
        if !wanted || self.gone_on == GONE_ON {
            return false;
        }
        self.gone_on += 1;
        let text = format!(
            "The reply was cut off at the token limit (`max_tokens`); the model goes on ({} of {GONE_ON})",
            self.gone_on
        );
        self.emit(EventKind::Notice { level: NoticeLevel::Info, code: "max_tokens", text });
        self.emit(EventKind::Steered { text: GO_ON.into() });
        self.engine.history.push_user(vec![Block::Text(GO_ON.to_owned())]);
        true
    }

    /// Takes the text of an answer that was cancelled into the conversation, where that is wanted.
    pub(crate) fn keep_cut(&mut self, cut: &Cut) {
        let wanted =
            self.engine.shared.settings.cut != CutAnswer::Forgotten && matches!(cut, Cut::Cancelled(_));
        if wanted && !self.text.is_empty() {
            // What else there was cannot be sent back: calls without results, thinking without its signature.
            let blocks = vec![Block::Text(self.text.to_string())];
            self.engine.history.push(Arc::new(Message { role: Role::Assistant, blocks }));
            self.kept_cut = true;
        }
    }
}
