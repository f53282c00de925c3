//! Confining commands, as the rest of the program sees it: one trait, and what it prepares for one command.

use std::any::Any;
use std::ffi::OsString;
use std::io;
use std::path::Path;

/// Confines commands.
pub trait Confine: Send + Sync {
    /// Prepares one command, shortly before it is started. May block for some milliseconds, the first time for some
    /// more, because what the machine offers is looked at then.
    fn prepare(&self, start: &Start<'_>) -> Result<Confined, ConfineError>;

    /// Returns what would confine a command, in a few words. An approval holds for it (DEC-4). May block as
    /// [`prepare`](Confine::prepare) does.
    fn profile(&self, start: &Start<'_>) -> String;

    /// Returns what there is to say if a command may have failed because it was confined (SB-6).
    fn suspects(&self, start: &Start<'_>, exit_code: i32, stderr: &str) -> Option<Denial>;
}

/// A command about to be started.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// The text given to the shell.
    pub command: &'a str,
    /// Where it will run.
    pub cwd: &'a Path,
    /// Who let it run.
    pub consent: Consent,
}

/// Who let a command run. One that a person approved gets the network (DECISIONS 38).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// A rule, or the mode.
    Rule,
    /// Somebody was asked about this very command, and agreed.
    Person,
}

/// Something that confinement did not let happen, as far as that can be known from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// What confined the command.
    pub profile: String,
    /// What it was about, in a word for records: `files`, `network`, `calls`, `unavailable`.
    pub about: &'static str,
    /// A sentence for the model.
    pub message: String,
}

/// What the starter of a command has to do so that it is confined.
pub struct Confined {
    /// A program and its arguments, to be put before the command's own. Empty: the command is started itself.
    pub wrapper: Vec<OsString>,
    /// Variables the command gets on top.
    pub env: Vec<(OsString, OsString)>,
    /// To be called in the child between fork and exec, after everything else, descriptors included.
    pub in_child: Option<InChild>,
    /// Whether the wrapper's end is the end of everything it has started, at once. A request to end must then spare the
    /// wrapper, or nobody has time to comply.
    pub wrapper_ends_all: bool,
    /// To be dropped when nothing of the command is left. Dropping it tidies up, which may block for a moment.
    pub hold: Box<dyn Any + Send>,
}

/// What runs between fork and exec: only async-signal-safe calls, and no allocation.
pub type InChild = Box<dyn FnMut() -> io::Result<()> + Send + Sync>;

/// Why a command is not started. The message is for people and models, and names the way out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfineError(pub String);
