//! Where the memory of a project is for this run, and what the settings say about it.

use std::path::Path;

use zori_contract::failure::Failure;
use zori_host::{MemoryPlace, MemorySettings, Recall};
use zori_index::{IndexError, database_path};

use crate::config::Config;
use crate::data_dir::DataDir;
use crate::error::DATABASE_UNUSABLE;

/// The file in a project's folder that says that it uses its memory.
const MARKER: &str = "memory";

/// Returns where the memory of the project is that a folder belongs to. `folder` is canonical.
pub fn place(data_dir: &DataDir, folder: &Path, scratch: &Path) -> MemoryPlace {
    let project = data_dir.project_root(folder);
    MemoryPlace {
        database: database_path(data_dir.dir()),
        sessions: data_dir.sessions(),
        marker: zori_store::project_dir(data_dir.dir(), &project).join(MARKER),
        home: data_dir.home(),
        scratch: scratch.to_owned(),
        project,
    }
}

/// Returns what a session knows of the memory of its project.
pub fn settings(
    config: &Config,
    data_dir: Option<&DataDir>,
    root: &Path,
    scratch: &Path,
) -> Option<MemorySettings> {
    let recall = match config.text("memory.recall") {
        Some("off") => return None,
        Some("auto") => Recall::Auto,
        _ => Recall::Manual,
    };
    Some(MemorySettings { place: place(data_dir?, root, scratch), recall })
}

/// Says why the database cannot be used, and what to do about it.
pub fn unusable(error: &IndexError) -> Failure {
    Failure::new(&DATABASE_UNUSABLE, error.to_string()).hint(error.way_on())
}
