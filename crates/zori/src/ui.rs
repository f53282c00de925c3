//! The only place that writes to the standard streams on the program's own behalf. The renderers get their own
//! handles from here.

use std::cell::OnceCell;
use std::io::{self, Write};

use zori_core::text;
use zori_redact::Redactor;

use crate::command_error::{CommandError, ErrorCode};
use crate::exit::Exit;
use crate::secrets;

/// Standard output for data, standard error for talk.
pub struct Ui {
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    /// Made when there is something to say.
    redactor: OnceCell<Redactor>,
}

impl Ui {
    /// Writes to the process's own streams.
    pub fn standard() -> Self {
        Self { out: Box::new(io::stdout()), err: Box::new(io::stderr()), redactor: OnceCell::new() }
    }

    /// Prints a result. A reader that is gone is no failure of a utility command (DECISIONS 24).
    pub fn document(&mut self, document: &str) -> Exit {
        match self.out.write_all(document.as_bytes()).and_then(|()| self.out.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                self.warn(&format!("Failed to write to standard output: {error}"));
                Exit::General
            }
            _ => Exit::Success,
        }
    }

    /// Prints a line of talk.
    pub fn say(&mut self, line: &str) {
        // Nothing can be done when standard error is gone.
        let redactor = self.redactor.get_or_init(secrets::redactor);
        let _ = writeln!(self.err, "{}", text::neutral(&redactor.redact(line)));
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
    pub fn report(&mut self, error: &CommandError) -> Exit {
        if error.code == ErrorCode::Interrupted {
            // The same words as in the middle of a turn (OUT-8).
            self.say("\n^C Interrupted.");
            return error.code.exit();
        }
        self.say(&format!("Error: {}", error.message));
        for hint in &error.hints {
            self.say(&format!("Hint: {hint}"));
        }
        error.code.exit()
    }
}
