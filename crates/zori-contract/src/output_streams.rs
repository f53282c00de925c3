//! Standard output and standard error: only what holds these streams writes to them.
//!
//! A result is written once, by whoever finishes first: the command, or the clock that ends it. A reader that is gone is
//! noted and is no error; what that means for the exit code is decided in `run.rs`.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::clean::{self, Found};
use crate::mask::Mask;
use crate::mode::Verbosity;

/// Standard output and standard error. Clones write to the same.
///
/// The two have a lock each: whoever cannot get rid of its result because nobody reads can still be complained about.
#[derive(Clone)]
pub struct OutputStreams(Arc<Inner>);

struct Inner {
    out: Mutex<Box<dyn Write + Send>>,
    errors: Mutex<ErrorStream>,
    finished: AtomicBool,
    closed: AtomicBool,
    /// Why a piece of a stream could not be written; the end tells.
    failed: Mutex<Option<io::Error>>,
}

struct ErrorStream {
    err: Box<dyn Write + Send>,
    verbosity: Verbosity,
    mask: Mask,
}

/// How writing went.
#[derive(Debug)]
pub enum Written {
    /// It is out.
    Done,
    /// Nobody reads any more.
    Closed,
    /// Somebody else has finished before.
    TooLate,
    /// It cannot be written.
    Failed(io::Error),
}

impl OutputStreams {
    /// Takes the streams over.
    pub fn new(out: Box<dyn Write + Send>, err: Box<dyn Write + Send>, verbosity: Verbosity) -> Self {
        Self(Arc::new(Inner {
            out: Mutex::new(out),
            errors: Mutex::new(ErrorStream { err, verbosity, mask: Mask::default() }),
            finished: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            failed: Mutex::new(None),
        }))
    }

    /// Says how much is said.
    pub(crate) fn set_verbosity(&self, verbosity: Verbosity) {
        self.error_stream().verbosity = verbosity;
    }

    /// Says what is hidden in what is said.
    pub(crate) fn set_mask(&self, mask: Mask) {
        self.error_stream().mask = mask;
    }

    /// Writes the result, once. What is said about it on standard error comes after it. Where a piece before it could not be
    /// written, it is none.
    pub fn finish(&self, result: &str, said: &[String]) -> Written {
        if self.0.finished.swap(true, Ordering::AcqRel) {
            return Written::TooLate;
        }
        let before = self.0.failed.lock().unwrap_or_else(PoisonError::into_inner).take();
        let written = before.map_or_else(|| self.write(result), Written::Failed);
        if !matches!(written, Written::Closed) {
            let mut error_stream = self.error_stream();
            said.iter().for_each(|line| error_stream.say(line));
        }
        written
    }

    /// Writes a piece of a stream, at once, made harmless.
    pub fn stream(&self, text: &str) -> Written {
        if self.is_finished() {
            return Written::TooLate;
        }
        let written = self.write(&clean::string(text, &mut Found::default()));
        if let Written::Failed(error) = &written {
            let same = error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error);
            *self.0.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(same);
        }
        written
    }

    /// Says a line to people if they want to hear that much.
    pub fn say(&self, level: Verbosity, line: &str) {
        let mut error_stream = self.error_stream();
        if error_stream.verbosity >= level && !self.is_finished() {
            error_stream.say(line);
        }
    }

    /// Says that the result could not be written; nothing else can be said after the end.
    pub(crate) fn complain(&self, line: &str) {
        self.error_stream().say(line);
    }

    /// Asks without ending the line.
    pub(crate) fn ask(&self, question: &str) {
        let err = &mut self.error_stream().err;
        // Whoever cannot be asked gives no answer, and that is a no.
        let _ = err.write_all(question.as_bytes()).and_then(|()| err.flush());
    }

    /// Returns whether nobody reads standard output any more.
    pub fn is_closed(&self) -> bool {
        self.0.closed.load(Ordering::Acquire)
    }

    fn is_finished(&self) -> bool {
        self.0.finished.load(Ordering::Acquire)
    }

    fn write(&self, text: &str) -> Written {
        let mut out = self.0.out.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_closed() {
            return Written::Closed;
        }
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => Written::Done,
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.0.closed.store(true, Ordering::Release);
                Written::Closed
            }
            Err(error) => Written::Failed(error),
        }
    }

    fn error_stream(&self) -> MutexGuard<'_, ErrorStream> {
        self.0.errors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ErrorStream {
    fn say(&mut self, line: &str) {
        if self.verbosity == Verbosity::Silent {
            return;
        }
        let hidden = self.mask.line(line);
        let line = clean::string(hidden.as_deref().unwrap_or(line), &mut Found::default()).into_owned();
        // Nothing can be done when standard error is gone.
        let _ = writeln!(self.err, "{line}");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::mask::REDACTED;

    /// A stream that hands on what is written, or fails with this error.
    struct Pipe(mpsc::Sender<String>, Option<io::ErrorKind>);

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if let Some(kind) = self.1 {
                return Err(kind.into());
            }
            self.0.send(String::from_utf8_lossy(bytes).into_owned()).unwrap();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn streams(
        fails: Option<io::ErrorKind>,
        verbosity: Verbosity,
    ) -> (OutputStreams, mpsc::Receiver<String>, mpsc::Receiver<String>) {
        let ((out, written), (err, said)) = (mpsc::channel(), mpsc::channel());
        (OutputStreams::new(Box::new(Pipe(out, fails)), Box::new(Pipe(err, None)), verbosity), written, said)
    }

    #[test]
    fn a_result_is_written_once() {
        let (streams, written, said) = streams(None, Verbosity::Normal);
        assert!(matches!(streams.stream("\x1b[31mpiece\n"), Written::Done));
        assert!(matches!(streams.finish("one\n", &["after".into()]), Written::Done));
        assert!(matches!(streams.finish("two\n", &[]), Written::TooLate));
        assert!(matches!(streams.stream("late"), Written::TooLate));
        streams.say(Verbosity::Errors, "late");
        drop(streams);
        assert_eq!(written.iter().collect::<String>(), "piece\none\n");
        assert_eq!(said.iter().collect::<String>(), "after\n");
    }

    #[test]
    fn a_reader_that_is_gone_is_noted_and_nothing_is_said() {
        let (streams, _written, said) = streams(Some(io::ErrorKind::BrokenPipe), Verbosity::Normal);
        assert!(matches!(streams.finish("x", &["said".into()]), Written::Closed));
        assert!(streams.is_closed());
        drop(streams);
        assert_eq!(said.iter().count(), 0);
    }

    #[test]
    fn a_full_disk_is_an_error() {
        let (streams, ..) = streams(Some(io::ErrorKind::StorageFull), Verbosity::Normal);
        assert!(matches!(streams.finish("x", &[]), Written::Failed(_)));
        assert!(!streams.is_closed());
    }

    #[test]
    fn a_piece_that_could_not_be_written_counts_at_the_end() {
        let (streams, ..) = streams(Some(io::ErrorKind::StorageFull), Verbosity::Normal);
        assert!(matches!(streams.stream("piece"), Written::Failed(_)));
        // Nothing is left to be written, and nothing came before.
        assert!(matches!(streams.finish("", &[]), Written::Failed(_)));
    }

    #[test]
    fn silence_is_silence_and_secrets_stay_so() {
        let (quiet, _out, said) = streams(None, Verbosity::Silent);
        quiet.say(Verbosity::Errors, "x");
        quiet.finish("", &["y".into()]);
        drop(quiet);
        assert_eq!(said.iter().count(), 0);
        let (open, _out, said) = streams(None, Verbosity::Normal);
        let redactor = |text: &str| Some(text.replace("hunter2-hunter2", REDACTED));
        open.set_mask(Mask { redactor: Some(Arc::new(redactor)), entropy: false });
        open.say(Verbosity::Verbose, "too much");
        open.say(Verbosity::Normal, "key hunter2-hunter2\x1b[0m");
        drop(open);
        assert_eq!(said.iter().collect::<String>(), "key [REDACTED]\n");
    }
}
