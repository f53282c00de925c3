//! Messages of an agent command to people. The renderer prints the answer, and `zori_contract` prints what utility commands
//! return.

use std::cell::{OnceCell, RefCell};
use std::io::{self, Write};
use std::rc::Rc;

use zori_contract::error::CANCELLED;
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_core::text;
use zori_host::Notice;
use zori_redact::Redactor;

use crate::environment::Environment;
use crate::secrets;

/// The messages of a [`Ui::collecting`].
#[derive(Clone, Default)]
pub struct Collected(Rc<RefCell<Vec<u8>>>);

impl Collected {
    /// Returns the messages so far, and forgets them.
    pub fn take(&self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut *self.0.borrow_mut())).into_owned()
    }

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

/// Writes messages to standard error.
pub struct Ui {
    err: Box<dyn Write>,
    /// Removes keys from every message.
    env: Environment,
    /// Opened with the first message.
    redactor: OnceCell<Redactor>,
    /// The warnings so far, without keys, also those that `--quiet` swallows.
    warned: Vec<String>,
}

impl Ui {
    /// Writes to standard error, without the keys of this environment.
    pub fn standard(env: &Environment) -> Self {
        Self { err: Box::new(io::stderr()), env: env.clone(), redactor: OnceCell::new(), warned: Vec::new() }
    }

    /// Writes to standard error what this redactor leaves, for a session that knows more secrets than the environment.
    pub fn redacted(redactor: &Redactor) -> Self {
        let redactor = OnceCell::from(redactor.clone());
        Self { err: Box::new(io::stderr()), env: Environment::default(), redactor, warned: Vec::new() }
    }

    /// Writes fixed messages to standard error, which cannot hold a secret.
    pub fn fixed_words() -> Self {
        Self {
            err: Box::new(io::stderr()),
            env: Environment::default(),
            redactor: OnceCell::new(),
            warned: Vec::new(),
        }
    }

    /// Drops every message: `--quiet`.
    pub fn silent() -> Self {
        Self {
            err: Box::new(io::sink()),
            env: Environment::default(),
            redactor: OnceCell::new(),
            warned: Vec::new(),
        }
    }

    /// Writes redacted messages to standard error, or none with `--quiet`.
    pub fn new(quiet: bool, redactor: &Redactor) -> Self {
        if quiet { Self::silent() } else { Self::redacted(redactor) }
    }

    /// Collects messages in memory.
    pub fn collecting(env: &Environment) -> (Self, Collected) {
        let collected = Collected::default();
        (
            Self {
                err: Box::new(collected.clone()),
                env: env.clone(),
                redactor: OnceCell::new(),
                warned: Vec::new(),
            },
            collected,
        )
    }

    pub fn say(&mut self, line: &str) {
        // Nothing can be done when standard error is gone.
        let redactor = self.redactor.get_or_init(|| secrets::redactor(&self.env));
        let line = format!("{}\n", text::neutral(&redactor.redact(line)));
        let _ = self.err.write_all(line.as_bytes());
    }

    /// Writes a line that has no secrets any more.
    pub fn say_redacted(&mut self, line: &str) {
        self.raw(&format!("{}\n", text::neutral(line)));
    }

    /// Sends bytes to the terminal as they are, for the few control sequences we use ourselves.
    pub fn raw(&mut self, bytes: &str) {
        let _ = self.err.write_all(bytes.as_bytes()).and_then(|()| self.err.flush());
    }

    /// Returns the warnings so far.
    pub fn warned(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warned)
    }

    pub fn warn(&mut self, message: &str) {
        let redactor = self.redactor.get_or_init(|| secrets::redactor(&self.env));
        self.warned.push(text::neutral(&redactor.redact(message)).into_owned());
        self.say(&format!("Warning: {message}"));
    }

    /// Prints a session's notices.
    pub fn notices(&mut self, notices: &[Notice]) {
        for notice in notices {
            match notice {
                Notice::Warning(text) => self.warn(text),
                Notice::Hint(text) => self.say(&format!("Hint: {text}")),
                Notice::Error { code, text } => self.say(&format!("Error [{code}]: {text}")),
            }
        }
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
