//! What the library does not look up by itself: the binary reads it once and hands it in.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use crate::args::Args;
use crate::cancel::{Cancel, Cause};
use crate::command::Command;
use crate::mask::Redactor;
use crate::mode::{Inputs, Verbosity};
use crate::parse::Word;
use crate::path::AbsPath;

/// The outside of one run.
pub struct World {
    /// The arguments, without the program's name.
    pub argv: Vec<OsString>,
    /// The terminals and the environment.
    pub inputs: Inputs,
    /// The working directory.
    pub cwd: AbsPath,
    /// Standard input.
    pub stdin: Box<dyn Read + Send>,
    /// Standard output.
    pub stdout: Box<dyn Write + Send>,
    /// Standard error.
    pub stderr: Box<dyn Write + Send>,
    /// The time of day, and the time since the start.
    pub clock: Arc<dyn Clock>,
    /// Random bytes for the run's id.
    pub random: [u8; 10],
    /// Where temporary folders go.
    pub temp: AbsPath,
    /// Looks up the configured output format, if the program has such a setting. It is called at most once, and only
    /// where a command is to run and nothing nearer says it.
    pub output: Box<ConfiguredOutput>,
    /// Takes the secrets that the program knows out of whatever is said, problems of the call included.
    pub redactor: Option<Redactor>,
    /// Signals arrive here: the binary's handler calls [`Cancel::cancel`].
    pub cancel: Cancel,
    /// Ends the process with a code, for a command that does not end by itself.
    pub end: Arc<dyn Fn(u8) + Send + Sync>,
}

/// Looks up the configured output format; it gets the arguments, which may say where the config is.
pub type ConfiguredOutput = dyn FnOnce(&Args) -> Option<String>;

/// The clocks of a run.
pub trait Clock: Send + Sync {
    /// Returns the wall-clock time in milliseconds since 1970.
    fn unix_ms(&self) -> u64;
    /// Returns the time since the run began, in milliseconds. It never goes back.
    fn elapsed_ms(&self) -> u64;
}

/// What is known before the program's state is made.
pub struct RunFacts<'a, A: 'static> {
    /// What is to run.
    pub command: &'static Command<A>,
    /// Its arguments, checked.
    pub args: &'a Args,
    /// The words they were read from.
    pub words: &'a [Word],
    /// The word that the run should end, for those who hear signals.
    pub cancel: &'a Cancel,
    /// The folder the command works in.
    pub cwd: AbsPath,
    /// The terminals and the environment.
    pub inputs: &'a Inputs,
    /// The name of this run, as `meta` of its answer has it.
    pub request_id: &'a str,
    /// How much is said.
    pub verbosity: Verbosity,
}

/// The program's state, and what the framework has to know of it. It is made after the arguments were checked, so that
/// help and bad calls touch nothing.
pub struct Started<A> {
    /// The state.
    pub app: A,
    /// The project around the working directory.
    pub project_root: Option<AbsPath>,
    /// Which files configured it, the strongest first.
    pub config_sources: Vec<AbsPath>,
    /// What came out of them, as text; only its hash is shown.
    pub effective_config: String,
    /// Where this run is written down.
    pub audit_log: Option<AbsPath>,
    /// Where the program keeps its state, for `--idempotency-key`.
    pub state: Option<AbsPath>,
    /// Waits for signals. A program that has a thread of its own for them tells [`Cancel`] and needs none.
    pub signals: Option<Signals>,
}

/// Waits for a signal that ends the run, for this long or for ever. `None`: none came.
pub type Signals = Box<dyn FnMut(Option<Duration>) -> Option<Cause> + Send>;

impl<A> Started<A> {
    /// A state without config and folders.
    pub fn plain(app: A) -> Self {
        Self {
            app,
            project_root: None,
            config_sources: Vec::new(),
            effective_config: String::new(),
            audit_log: None,
            state: None,
            signals: None,
        }
    }
}
