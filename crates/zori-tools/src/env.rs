//! What tools need from the outside, gathered once by the binary.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use zori_core::confine::Confine;
use zori_core::files::ClientFiles;
use zori_core::terminal::ClientTerminals;
use zori_core::tool::Leniency;
use zori_core::transport::Transport;

/// Names variables that a child does not inherit.
pub type RemovedChildEnv = Box<dyn Fn() -> Vec<OsString> + Send + Sync>;

/// The shell that runs commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShellProgram {
    Bash,
    Sh,
}

impl ShellProgram {
    pub fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Sh => "sh",
        }
    }
}

/// The outside world for the tools, which share it through an `Arc`.
pub struct ToolEnv {
    /// The canonical working directory: relative paths start here, and `bash` runs here.
    pub root: PathBuf,
    /// The user's home directory, for `~` and `$HOME` in paths.
    pub home: Option<PathBuf>,
    /// The time limit of one call; `None` is without limit (`tool_timeout_secs = 0`).
    pub timeout: Option<Duration>,
    /// What becomes of a call that is not exact.
    pub leniency: Leniency,
    /// The shell that runs commands (FOR-1).
    pub shell: ShellProgram,
    /// How long a command is waited for before it goes on as a job; `None` waits for its time limit (FOR-12).
    pub job_after: Option<Duration>,
    /// How many bytes of each stream of `bash` the model sees; 0 means up to the 8 MiB ceiling (DECISIONS 14).
    pub bash_max_output: usize,
    /// Where a private folder for spilled output may be made (mode 0700, on first use), and removed with the run.
    pub temp_parent: PathBuf,
    /// Returns the variables a child does not inherit (SCR-1); asked for each child, because the mode may change.
    pub child_env_removed: RemovedChildEnv,
    /// Additional variables for a child.
    pub child_env_set: Vec<(OsString, OsString)>,
    /// The sandbox for commands, if there is one.
    pub confine: Option<Arc<dyn Confine>>,
    /// The editor that holds unsaved files, if there is one.
    pub files: Option<Arc<dyn ClientFiles>>,
    /// The editor's terminals, where commands run if nothing confines them.
    pub terminals: Option<Arc<dyn ClientTerminals>>,
    /// HTTP, for `web_fetch`.
    pub transport: Arc<dyn Transport>,
}
