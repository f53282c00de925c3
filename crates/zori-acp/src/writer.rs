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
        // What came before may have ended in the middle of a line.
        if *closed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk that takes the beginning of a line, is full, and has room again.
    #[derive(Clone, Default)]
    struct FullOnce(Arc<Mutex<(Vec<u8>, usize)>>);

    impl Write for FullOnce {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let (taken, calls) = &mut *self.0.lock().unwrap();
            *calls += 1;
            match *calls {
                2 => Err(io::ErrorKind::StorageFull.into()),
                calls => {
                    let room = if calls == 1 { 3 } else { bytes.len() };
                    taken.extend_from_slice(&bytes[..room]);
                    Ok(room)
                }
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn nothing_follows_half_a_line() {
        let disk = FullOnce::default();
        let writer = MessageWriter::new(Box::new(disk.clone()));
        let written = ["first", "second"].map(|text| writer.write(&text).map_err(|error| error.kind()));
        assert_eq!(written, [Err(io::ErrorKind::StorageFull), Err(io::ErrorKind::BrokenPipe)]);
        assert_eq!(disk.0.lock().unwrap().0, b"\"fi");
        let failures =
            [writer.take_failure(), writer.take_failure()].map(|failure| failure.map(|error| error.kind()));
        assert_eq!((writer.is_closed(), failures), (true, [Some(io::ErrorKind::StorageFull), None]));
    }
}
