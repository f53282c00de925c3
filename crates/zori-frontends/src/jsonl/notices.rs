//! Notices for stderr that the events on stdout do not carry: warnings, retries, errors (D-8).

use std::io::{self, Write};

use zori_core::event::{Event, EventKind, MessageEvent, StateEvent, TurnEvent};
use zori_core::render::Renderer;
use zori_redact::Redactor;

use crate::text::{TextRenderer, TextStyle};

/// Writes the lines the text renderer has for such events, and nothing else.
pub struct NoticeRenderer(TextRenderer);

impl NoticeRenderer {
    pub fn new(err: Box<dyn Write + Send>, style: TextStyle, redactor: Redactor) -> Self {
        // The two streams may end on one screen, but no line of one is left open for the other.
        let style = TextStyle { stdout_terminal: false, ..style };
        Self(TextRenderer::new(Box::new(io::sink()), err, style, redactor))
    }
}

impl Renderer for NoticeRenderer {
    fn on_event(&mut self, event: &Event) -> io::Result<()> {
        match &event.kind {
            EventKind::Notice(_)
            | EventKind::Message(MessageEvent::Retrying { .. })
            | EventKind::State(StateEvent::ContextCompacted(_))
            | EventKind::Turn(TurnEvent::Error { .. } | TurnEvent::Interrupted) => self.0.on_event(event),
            _ => Ok(()),
        }
    }
}
