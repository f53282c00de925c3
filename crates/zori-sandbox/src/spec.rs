//! What a confined command may do, as a value. The caller has expanded patterns and `~`; nothing is added here.

use std::path::{Path, PathBuf};

/// What a command may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// What it may write.
    pub level: Level,
    /// The workspace's roots, canonical.
    pub roots: Vec<PathBuf>,
    /// Further places it may write at [`Level::Workspace`], such as caches. Those that do not exist are left out.
    pub caches: Vec<PathBuf>,
    /// A private directory (0700) that is writable at every level, and stands in for `/tmp` where that can be done.
    pub temp: PathBuf,
    /// Paths it cannot read; missing ones are ignored.
    pub hidden: Vec<PathBuf>,
    /// Directories inside hidden ones that it can read all the same.
    pub visible: Vec<PathBuf>,
    /// Paths inside writable ones that it cannot write, whether they exist or not.
    pub protected: Vec<ProtectedPath>,
    /// Whether it may use the network.
    pub network: Network,
    /// Its resource limits.
    pub limits: Limits,
}

/// What may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The private directory.
    ReadOnly,
    /// Roots and caches, too.
    Workspace,
}

/// Whether the network may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// No network.
    Off,
    /// Unrestricted.
    On,
}

/// A path that cannot be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtectedPath {
    pub path: PathBuf,
    /// What covers it while it is missing. Without a stub nothing is seen of it inside, and what a command makes there is
    /// set aside when the command ends.
    pub stub: Option<PathKind>,
}

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// Anything but a directory.
    File,
    Dir,
}

/// Resource limits of a command. No core is ever dumped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many processes the user may have while it starts one. The kernel exempts root.
    pub processes: Option<u64>,
    /// How large a file may become, in bytes.
    pub file_size: Option<u64>,
    /// How much memory each process may map, in bytes.
    pub memory: Option<u64>,
}

impl Level {
    /// Its name in flags and settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Workspace => "workspace",
        }
    }
}

impl Spec {
    /// Returns the places that may be written, in which protected ones may lie.
    pub fn writable(&self) -> impl Iterator<Item = &Path> {
        let wider = match self.level {
            Level::ReadOnly => None,
            Level::Workspace => Some(self.roots.iter().chain(&self.caches)),
        };
        wider.into_iter().flatten().chain([&self.temp]).map(PathBuf::as_path)
    }
}
