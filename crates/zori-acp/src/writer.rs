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
    /// Whether nothing can be written any more.
    closed: bool,
    /// Why not, where it is not that the reader is gone.
    failed: Option<io::Error>,
}

impl MessageWriter {
    /// Writes to the stream, which must not collect bytes itself.
    pub fn new(stream: Box<dyn Write + Send>) -> Self {
        Self(Arc::new(Mutex::new(WriterState { stream, line: Vec::new(), closed: false, failed: None })))
    }

    /// Returns whether nothing can be written any more: the reader is gone, or the stream has failed.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Takes why the stream has failed, where it is not that the reader is gone.
    pub fn take_failure(&self) -> Option<io::Error> {
        self.lock().failed.take()
    }

    /// Writes one message as one line.
    pub(crate) fn write(&self, message: &impl Serialize) -> io::Result<()> {
        let mut out = self.lock();
        let WriterState { stream, line, closed, failed } = &mut *out;
        line.clear();
        serde_json::to_writer(&mut *line, message)?;
        line.push(b'\n');
        stream.write_all(line).inspect_err(|error| {
            *closed = true;
            if error.kind() != io::ErrorKind::BrokenPipe {
                let same =
                    || error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error);
                failed.get_or_insert_with(same);
            }
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, WriterState> {
        // A line is whole or was not begun, whoever panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
