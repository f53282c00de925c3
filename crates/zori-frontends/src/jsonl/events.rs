//! The one way to stdout: one writer, one lock, one write for each line, nothing kept back.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use super::turn::Open;
use super::wire::{Code, Line};

/// Where events go. Clones share it, so that lines never mix.
#[derive(Clone)]
pub struct Events(Arc<Mutex<Out>>);

struct Out {
    stream: Box<dyn Write + Send>,
    line: Vec<u8>,
    closed: bool,
}

impl Events {
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
