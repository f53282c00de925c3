//! What the analysis has to know about the world, as a value.

use std::path::{Path, PathBuf};

/// Where a text would run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scene {
    /// The directory it starts in; absolute.
    pub cwd: PathBuf,
    /// The home directory of the user; absolute.
    pub home: PathBuf,
    /// The workspace roots; absolute.
    pub roots: Vec<PathBuf>,
    /// The top level of the workspace's git repository, if it is one.
    pub repo: Option<PathBuf>,
}

impl Scene {
    /// Whether `path` (absolute, normalised) is a workspace root or below one.
    pub fn inside(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root))
    }
}
