//! What a project uses of that which costs something to offer: its memory, its code index, its schedule (DECISIONS 64). Each is noted by a file in
//! one folder, `<base>/uses/<key>`, so that a start in a project that uses none of them pays one look for all.
//!
//! It is not the project's own folder: a purge keeps jobs, and the note that there are some (D-31).

use std::path::{Path, PathBuf};

use zori_index::project_key;

use crate::data_dir::DataDir;

/// The notes.
pub const MEMORY: &str = "memory";
pub const INDEX: &str = "index";
pub const SCHEDULE: &str = "schedule";

/// What a project uses, as it was looked at.
pub struct Uses {
    folder: PathBuf,
    any: bool,
}

impl Uses {
    /// Looks whether it uses anything.
    pub fn look(data_dir: &DataDir, project: &Path) -> Self {
        let folder = folder(data_dir.dir(), project);
        let any = folder.exists();
        Self { folder, any }
    }

    /// Returns whether it uses this.
    pub fn has(&self, what: &str) -> bool {
        self.any && self.folder.join(what).exists()
    }
}

/// Returns the folder of a project's notes.
pub fn folder(base: &Path, project: &Path) -> PathBuf {
    base.join("uses").join(project_key(project))
}
