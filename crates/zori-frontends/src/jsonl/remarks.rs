//! What a reader of events is not told, for whoever looks at stderr: warnings, retries, errors (D-8).

use std::io::{self, Write};

use zori_core::event::{Event, EventKind};
use zori_core::render::Renderer;
use zori_redact::Redactor;

use crate::text::{TextRenderer, TextStyle};

/// Writes the lines the text renderer has for such events, and nothing else.
pub struct Remarks(TextRenderer);

impl Remarks {
    /// Writes to stderr.
    pub fn new(err: Box<dyn Write + Send>, style: TextStyle, redactor: Redactor) -> Self {
        // The two streams may end on one screen, but no line of one is left open for the other.
        let style = TextStyle { stdout_terminal: false, ..style };
        Self(TextRenderer::new(Box::new(io::sink()), err, style, redactor))
    }
}

impl Renderer for Remarks {
    fn on_event(&mut self, event: &Event) -> io::Result<()> {
        match &event.kind {
            EventKind::Notice { .. }
            | EventKind::Retrying { .. }
            | EventKind::ContextCompacted(_)
            | EventKind::Error { .. }
            | EventKind::Interrupted => self.0.on_event(event),
            _ => Ok(()),
        }
    }
}
