//! Commands that a client runs: an editor, in a terminal that its user sees.

use std::path::Path;
use std::time::Duration;

use crate::BoxFuture;
use crate::ids::CallId;

/// The terminals of a client. Commands in them are not confined, and have the client's environment.
pub trait ClientTerminals: Send + Sync {
    /// Runs a command to its end. Dropping the future kills it. `Err` says why the client could not run it.
    fn run<'a>(&'a self, job: TerminalCommand<'a>) -> BoxFuture<'a, Result<TerminalExit, String>>;
}

/// A command for a terminal.
#[derive(Clone, Copy, Debug)]
pub struct TerminalCommand<'a> {
    /// The call it belongs to.
    pub call: &'a CallId,
    /// The text given to `sh -c`.
    pub command: &'a str,
    /// Where it runs.
    pub cwd: &'a Path,
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// The most bytes of output to return; 0 means all.
    pub max_output: usize,
}

/// The end of a command in a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalExit {
    /// What it printed, on both streams.
    pub output: String,
    /// Whether the output was truncated.
    pub truncated: bool,
    /// The exit code; `None` if a signal or the time limit ended it.
    pub exit_code: Option<i32>,
    /// Whether the time limit ended it.
    pub timed_out: bool,
}
