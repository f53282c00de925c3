//! What an agent command says to people beside the answer. The answer itself is the renderer's, and what utility
//! commands print is `zori_contract`'s business.

use std::cell::{OnceCell, RefCell};
use std::io::{self, Write};
use std::rc::Rc;

use zori_contract::error::CANCELLED;
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_core::text;
use zori_redact::Redactor;

use crate::secrets;

/// What was said to a [`Ui::collecting`].
#[derive(Clone, Default)]
pub struct Collected(Rc<RefCell<Vec<u8>>>);

impl Collected {
    /// Returns the lines.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.borrow()).into_owned()
    }
}

impl Write for Collected {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Standard error, for talk.
pub struct Ui {
    err: Box<dyn Write>,
    /// Made when there is something to say.
    redactor: OnceCell<Redactor>,
}

impl Ui {
    /// Writes to the process's own streams.
    pub fn standard() -> Self {
        Self { err: Box::new(io::stderr()), redactor: OnceCell::new() }
    }

    /// Says nothing: `--quiet`.
    pub fn silent() -> Self {
        Self { err: Box::new(io::sink()), redactor: OnceCell::new() }
    }

    /// Keeps what is said, for somebody who wants it as a text.
    pub fn collecting() -> (Self, Collected) {
        let collected = Collected::default();
        (Self { err: Box::new(collected.clone()), redactor: OnceCell::new() }, collected)
    }

    /// Prints a line of talk.
    pub fn say(&mut self, line: &str) {
        // Nothing can be done when standard error is gone.
        let redactor = self.redactor.get_or_init(secrets::redactor);
        let line = format!("{}\n", text::neutral(&redactor.redact(line)));
        let _ = self.err.write_all(line.as_bytes());
    }

    /// Sends bytes to the terminal as they are, for the few control sequences we use ourselves.
    pub fn raw(&mut self, bytes: &str) {
        let _ = self.err.write_all(bytes.as_bytes()).and_then(|()| self.err.flush());
    }

    /// Prints a warning.
    pub fn warn(&mut self, message: &str) {
        self.say(&format!("Warning: {message}"));
    }

    /// Prints an error with its hints, and returns the exit code it leads to.
    pub fn report(&mut self, error: &Failure) -> Exit {
        if error.kind == &CANCELLED {
            // The same words as in the middle of a turn (OUT-8).
            self.say("\n^C Interrupted.");
            return error.kind.exit;
        }
        self.say(&format!("Error: {}", error.message));
        for hint in &error.facts.hints {
            self.say(&format!("Hint: {hint}"));
        }
        error.kind.exit
    }
}
