//! Where the code index of a project is for this run, and whether it is used.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use zori_contract::failure::Failure;
use zori_host::{CodeIndexPlace, IsSensitive, MemoryPlace};
use zori_index::database_path;
use zori_policy::paths::{Workspace, WorkspaceParts};

use crate::background::Switch;
use crate::config::Config;
use crate::data_dir::DataDir;
use crate::permissions;

/// The file in a project's folder that says that it uses its index.
const MARKER: &str = "index";
/// The setting.
pub const KEY: &str = "index.enabled";

/// Returns where the code index of a project is. `project` is its root, canonical.
pub fn place(data_dir: &DataDir, project: PathBuf, scratch: &Path, sensitive: IsSensitive) -> CodeIndexPlace {
    CodeIndexPlace {
        database: database_path(data_dir.dir()),
        marker: zori_store::project_dir(data_dir.dir(), &project).join(MARKER),
        scratch: scratch.to_owned(),
        project,
        sensitive,
    }
}

/// Returns where the code index of a project is whose memory is here.
pub fn beside(memory: &MemoryPlace, sensitive: IsSensitive) -> CodeIndexPlace {
    CodeIndexPlace {
        database: memory.database.clone(),
        marker: memory.marker.with_file_name(MARKER),
        scratch: memory.scratch.clone(),
        project: memory.project.clone(),
        sensitive,
    }
}

/// Returns the index that the tools of a session use: where the project has used it, or the settings say so.
pub fn of_session(switch: Switch, place: impl FnOnce() -> CodeIndexPlace) -> Option<CodeIndexPlace> {
    match switch {
        Switch::Off => None,
        Switch::On => Some(place()),
        Switch::Auto => Some(place()).filter(CodeIndexPlace::is_used),
    }
}

/// Returns what says of a file of this folder whether it may hold secrets, by the built-in tables and the user's own.
pub fn sensitive(
    data_dir: &DataDir,
    config: &Config,
    root: &Path,
    home: Option<PathBuf>,
) -> Result<IsSensitive, Failure> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let workspace = Workspace::new(WorkspaceParts {
        roots: vec![root.to_owned()],
        cwd: root.to_owned(),
        sensitive: permissions::sensitive_paths(&data_dir.config(), config, root, home.as_deref())?,
        home: home.map(|home| real(&home)),
        data_dir: Some(real(data_dir.dir())),
        path_dirs: Vec::new(),
    });
    Ok(Arc::new(move |path: &Path| workspace.is_sensitive(path)))
}
