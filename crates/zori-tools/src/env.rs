//! What tools need of the world, gathered once by the binary.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use zori_core::confine::Confine;
use zori_core::files::HeldFiles;
use zori_core::terminal::Terminals;
use zori_core::transport::Transport;

/// Names variables that a child does not inherit.
pub type ChildEnvRemoved = Box<dyn Fn() -> Vec<OsString> + Send + Sync>;

/// The world as the tools see it. Tools share one through an `Arc`.
pub struct ToolEnv {
    /// The canonical working directory: relative paths start here, and `bash` runs here.
    pub root: PathBuf,
    /// The user's home directory, for `~` and `$HOME` in paths.
    pub home: Option<PathBuf>,
    /// The time limit of one call; `None` is without limit (`tool_timeout_secs = 0`).
    pub timeout: Option<Duration>,
    /// How many bytes of each stream of `bash` the model sees; 0 means up to the 8 MiB ceiling (DECISIONS 14).
    pub bash_max_output: usize,
    /// Where a private folder for spilled output may be made (mode 0700, on first use), and removed with the run.
    pub temp_parent: PathBuf,
    /// Returns the variables a child does not inherit (SCR-1); asked for each child, because the mode may change.
    pub child_env_removed: ChildEnvRemoved,
    /// Variables a child gets on top.
    pub child_env_set: Vec<(OsString, OsString)>,
    /// What confines commands, if anything does.
    pub confine: Option<Arc<dyn Confine>>,
    /// Who holds files that the disk may not have yet, if anybody does.
    pub files: Option<Arc<dyn HeldFiles>>,
    /// Who runs commands in place of us, where nothing is to confine them.
    pub terminals: Option<Arc<dyn Terminals>>,
    /// HTTP, for `web_fetch`.
    pub transport: Arc<dyn Transport>,
}
