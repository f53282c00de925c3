//! What a decision depends on beside the call: a value, gathered before, never looked up while deciding.

use std::path::PathBuf;

/// The rules in force.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The permission mode.
    pub mode: Mode,
    /// The workspace roots, canonical.
    pub roots: Vec<PathBuf>,
    /// Whether a person or client can answer a question in this run.
    pub asker: Asker,
}

/// The permission mode (`security.md` 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// No questions.
    Yolo,
    /// Reads run, changes ask.
    Default,
}

/// Whether somebody can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// A person or client answers.
    Present,
    /// Nobody: what would ask is denied.
    Absent,
}
