//! What a confined command may do, as a value. Whoever makes one has expanded patterns and `~`; nothing is added here.

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
    /// Places it cannot read (4.4); those that do not exist are nothing to hide.
    pub hidden: Vec<PathBuf>,
    /// Places inside writable ones that it cannot write, whether they exist or not (4.5).
    pub protected: Vec<Protected>,
    /// Whether it may use the network.
    pub network: Network,
    /// What it may use up.
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
    /// Nothing leaves.
    Off,
    /// As anybody.
    On,
}

/// A place that cannot be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protected {
    /// Where.
    pub path: PathBuf,
    /// What it would be if it existed: something of that kind covers its place meanwhile.
    pub kind: PathKind,
}

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// Something that is no directory.
    File,
    /// A directory.
    Dir,
}

/// What a command may use up. No core is ever written.
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
