//! Writes event lines to stdout: one writer, one lock, one write per line, no buffering.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use zori_core::cost::Spent;

use super::elicitation::Elicitation;
use super::turn::Open;
use super::wire::{Code, Cost, Line};

/// Where events go. Clones share it, so that lines never mix.
#[derive(Clone)]
pub struct EventWriter(Arc<Mutex<Out>>);

struct Out {
    stream: Box<dyn Write + Send>,
    line: Vec<u8>,
    closed: bool,
}

impl EventWriter {
    /// Writes to the stream, which must not collect bytes itself.
    pub fn new(stream: Box<dyn Write + Send>) -> Self {
        Self(Arc::new(Mutex::new(Out { stream, line: Vec::new(), closed: false })))
    }

    /// Writes an `error` event. The message has no secrets in it.
    pub fn error(&self, code: Code, message: &str) -> io::Result<()> {
        self.write(&Line::error(code, message))
    }

    /// Writes an answer that no model gave, such as what a slash command shows.
    pub fn answer(&self, text: &str) -> io::Result<()> {
        let (said, written) = Open::new().chunk(self, text);
        written?;
        said.end_answer(self)
    }

    /// Writes an answer that is not a turn but was asked of a model, or why there is none, and what that cost.
    pub fn aside(
        &self,
        answer: Result<&str, (Code, &str)>,
        spent: Spent,
        session: Option<&str>,
    ) -> io::Result<()> {
        match answer {
            Ok(text) => self.answer(text)?,
            Err((code, message)) => self.error(code, message)?,
        }
        self.write(&Line::Cost(Cost::of_spent(spent, session)))
    }

    /// Asks whether there is to be another turn (`/loop`, D-13).
    pub fn elicit_continue(&self, question: &str) -> io::Result<()> {
        self.write(&Line::elicitation(&Elicitation::about_continuing(question)))
    }

    /// Returns whether the reader is gone.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    pub(super) fn write(&self, line: &Line<'_>) -> io::Result<()> {
        let mut out = self.lock();
        let Out { stream, line: buffer, closed } = &mut *out;
        line.encode(buffer);
        let written = stream.write_all(buffer);
        *closed |= written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
        written
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Out> {
        // A line is whole or was not begun, whoever panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
