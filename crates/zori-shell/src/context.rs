//! What the analysis has to know about the world, as a value.

use std::path::PathBuf;

/// The shell that runs a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shell {
    /// `sh`, which is dash on some systems and bash on others: a text is read both ways, and the stricter counts.
    #[default]
    Sh,
    /// bash under its own name.
    Bash,
}

/// Where a text would run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellContext {
    /// The directory it starts in; absolute.
    pub cwd: PathBuf,
    /// The home directory of the user; absolute.
    pub home: PathBuf,
    /// The shell that reads it.
    pub shell: Shell,
}
