//! What somebody who runs a turn has to hear of it meanwhile: what it asks, and why it ended. Everything else a front end
//! sees as it happens.

use std::io;
use std::sync::Arc;

use tokio::sync::mpsc;
use zori_core::event::{Event, EventKind, NoticeLevel};
use zori_core::ids::CallId;
use zori_core::permission::Decision;
use zori_core::question::Question;
use zori_core::render::Renderer;

/// Something that was heard; `M` is what else is listened for.
pub enum Heard<M> {
    /// A question, which waits for its answer.
    Question {
        /// The call it is about.
        call: CallId,
        /// Why it is asked.
        decision: Decision,
        /// What is asked.
        question: Arc<Question>,
    },
    /// Why the turn ended.
    Why(String),
    /// What else was listened for.
    More(M),
}

/// Takes that off the stream of events.
pub struct Ears<M> {
    heard: mpsc::UnboundedSender<Heard<M>>,
    more: fn(&EventKind) -> Option<M>,
}

impl<M> Ears<M> {
    /// Returns ears, and where what they hear comes out. `more`: what else they listen for.
    pub fn new(more: fn(&EventKind) -> Option<M>) -> (Self, mpsc::UnboundedReceiver<Heard<M>>) {
        let (heard, hears) = mpsc::unbounded_channel();
        (Self { heard, more }, hears)
    }
}

impl<M> Renderer for Ears<M> {
    fn on_event(&mut self, event: &Event) -> io::Result<()> {
        let heard = match &event.kind {
            EventKind::ApprovalRequested { call, decision, question } => {
                Heard::Question { call: call.clone(), decision: decision.clone(), question: question.clone() }
            }
            EventKind::Notice { level: NoticeLevel::Error, text, .. } => Heard::Why(text.clone()),
            kind => match (self.more)(kind) {
                Some(more) => Heard::More(more),
                None => return Ok(()),
            },
        };
        // When nobody listens any more, the session is over.
        let _ = self.heard.send(heard);
        Ok(())
    }
}
