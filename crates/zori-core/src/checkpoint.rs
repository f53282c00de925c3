//! Checkpoints: what calls change on disk is captured around them, so that it can be put back (UNDO-1).
//!
//! Dispatch brackets every group of calls that may change something; `zori-undo` implements the trait.

use std::fmt;

use crate::cancel::Cancel;
use crate::ids::CallId;
use crate::tool::{Effect, FileChange};

/// Captures what calls change. Calls of `begin` and `end` come in pairs on threads that may block; pairs of several agents
/// may overlap, and what changes meanwhile is one operation (UNDO-6).
pub trait Checkpoints: Send + Sync {
    /// A prompt begins a turn of the main agent. Must not block.
    fn start_turn(&self);

    /// Tools are about to be used. The first time, preparations may start in the background. Must not block.
    fn warm_up(&self);

    /// Looks at the files before the calls run. An error means that the calls must not run; the pair is closed then, and
    /// `end` is not called. `cancel` ends a wait for preparations early.
    fn begin(&self, calls: &[PendingCall], cancel: &Cancel) -> Result<(), CheckpointError>;

    /// Looks at the files after the calls and their hooks. `handed`: texts before and after, as file tools know them.
    fn end(&self, calls: &[PendingCall], handed: &[FileChange]) -> Captured;
}

/// A call that may change something.
#[derive(Clone, Debug)]
pub struct PendingCall {
    /// The id that its operation is filed under.
    pub call: CallId,
    /// What it would do.
    pub effects: Vec<Effect>,
}

/// Why calls that cannot be captured must not run (UNDO-11).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CheckpointError(pub String);

/// What a group of calls came to.
#[derive(Clone, Debug, Default)]
pub struct Captured {
    /// What changed; `None` if nothing did.
    pub changed: Option<ChangedFiles>,
    /// What the user should know, said once per session.
    pub notices: Vec<String>,
}

/// The files that calls changed, as the session log keeps them (UNDO-22).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFiles {
    /// The number of the operation.
    pub op: u64,
    /// The first of the calls.
    pub call: CallId,
    /// How many files were created.
    pub created: u64,
    /// How many were modified.
    pub modified: u64,
    /// How many were deleted.
    pub deleted: u64,
    /// The first of their paths, relative to the project where they are in it.
    pub paths: Vec<String>,
    /// How much was looked at.
    pub coverage: Coverage,
}

/// How much of what calls change is captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Everything in the project that is in scope.
    Full,
    /// Only what the file tools change.
    Tools,
}

impl Coverage {
    /// Returns the stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Tools => "tools",
        }
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Files that went back to an earlier state, as the session log keeps it (UNDO-23).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewound {
    /// The turn whose beginning is the goal.
    pub to_turn: u32,
    /// What went back: `files`, `chat` or `both`.
    pub what: &'static str,
    /// The operation that the restore itself is; `None` if no file was changed.
    pub op: Option<u64>,
    /// The operations it undoes.
    pub undoes: Vec<u64>,
    /// How many paths went back.
    pub restored: u64,
    /// The paths that stay as they are, and why.
    pub kept: Vec<(String, &'static str)>,
    /// Who asked for it.
    pub by: &'static str,
    /// Whether it takes the last undo back.
    pub redo: bool,
}
