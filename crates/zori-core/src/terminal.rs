//! Commands that somebody else runs: an editor, in a terminal that its user sees.

use std::path::Path;
use std::time::Duration;

use crate::BoxFuture;
use crate::ids::CallId;

/// An editor's terminals. What runs there is not confined, and has the editor's environment.
pub trait Terminals: Send + Sync {
    /// Runs a command to its end. Dropping the future kills it. `Err` says why it could not be run there.
    fn run<'a>(&'a self, job: TerminalJob<'a>) -> BoxFuture<'a, Result<TerminalEnd, String>>;
}

/// A command for a terminal.
#[derive(Clone, Copy, Debug)]
pub struct TerminalJob<'a> {
    /// The call it belongs to.
    pub call: &'a CallId,
    /// The text given to `sh -c`.
    pub command: &'a str,
    /// Where it runs.
    pub cwd: &'a Path,
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// How many bytes of its output are wanted; 0 is all.
    pub max_output: usize,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalEnd {
    /// What it printed, on both streams.
    pub output: String,
    /// Whether that is not all.
    pub truncated: bool,
    /// The exit code; `None` when a signal or the time limit ended it.
    pub exit_code: Option<i32>,
    /// Whether the time limit ended it.
    pub timed_out: bool,
}
