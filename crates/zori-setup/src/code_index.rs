//! Where the code index of a project is for this run, and whether it is used.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use zori_contract::failure::Failure;
use zori_host::{CodeIndexPlace, IsSensitive, MemoryPlace, VectorSettings};
use zori_index::database_path;
use zori_policy::paths::{Workspace, WorkspaceParts};

use crate::background::Switch;
use crate::config::Config;
use crate::data_dir::DataDir;
use crate::environment::Environment;
use crate::memory;
use crate::permissions;
use crate::uses::{self, Uses};

/// The setting.
pub const KEY: &str = "index.enabled";

/// The setting by which code is found by likeness, too.
const VECTORS: &str = "index.vectors";

/// Returns whether code has vectors.
pub fn wants_vectors(config: &Config) -> bool {
    config.flag(VECTORS).unwrap_or(false)
}

/// Returns what makes vectors of code: the model that `memory.embedder` names, else the built-in embedder. They are kept in the database.
pub fn vectors(config: &Config, env: &Environment, memory: &MemoryPlace) -> Result<VectorSettings, Failure> {
    Ok(VectorSettings { qdrant: None, ..memory::vectors(config, env, memory)? })
}

/// Returns where the code index of a project is. `project` is its root, canonical.
pub fn place(data_dir: &DataDir, project: PathBuf, scratch: &Path, sensitive: IsSensitive) -> CodeIndexPlace {
    CodeIndexPlace {
        database: database_path(data_dir.dir()),
        marker: uses::folder(data_dir.dir(), &project).join(uses::INDEX),
        scratch: scratch.to_owned(),
        durable: data_dir.is_durable(),
        project,
        sensitive,
        vectors: None,
    }
}

/// Returns where the code index of a project is whose memory is here.
pub fn beside(memory: &MemoryPlace, sensitive: IsSensitive) -> CodeIndexPlace {
    CodeIndexPlace {
        database: memory.database.clone(),
        marker: memory.marker.with_file_name(uses::INDEX),
        scratch: memory.scratch.clone(),
        durable: memory.durable,
        project: memory.project.clone(),
        sensitive,
        vectors: None,
    }
}

/// Returns the index that the tools of a session use: where the project has used it, or the settings say so.
pub fn of_session(
    switch: Switch,
    uses: Option<&Uses>,
    place: impl FnOnce() -> CodeIndexPlace,
) -> Option<CodeIndexPlace> {
    let wanted = match switch {
        Switch::Off => false,
        Switch::On => true,
        Switch::Auto => uses.is_some_and(|uses| uses.has(uses::INDEX)),
    };
    wanted.then(place)
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
