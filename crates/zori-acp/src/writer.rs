//! Writes messages to the client: one writer, one lock, one write per line. A writer that blocks makes the run wait,
//! which is how a slow reader slows the model's stream down (IO-1).

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

/// Where messages go. Clones share it, so that lines never mix.
#[derive(Clone)]
pub struct MessageWriter(Arc<Mutex<WriterState>>);

struct WriterState {
    stream: Box<dyn Write + Send>,
    line: Vec<u8>,
    closed: bool,
}

impl MessageWriter {
    /// Writes to the stream, which must not collect bytes itself.
    pub fn new(stream: Box<dyn Write + Send>) -> Self {
        Self(Arc::new(Mutex::new(WriterState { stream, line: Vec::new(), closed: false })))
    }

    /// Returns whether the reader is gone.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Writes one message as one line.
    pub(crate) fn write(&self, message: &impl Serialize) -> io::Result<()> {
        let mut out = self.lock();
        let WriterState { stream, line, closed } = &mut *out;
        line.clear();
        serde_json::to_writer(&mut *line, message)?;
        line.push(b'\n');
        let written = stream.write_all(line);
        *closed |= written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
        written
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, WriterState> {
        // A line is whole or was not begun, whoever panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
