//! Finishes what a crash left of an undo, for whoever comes next in the project (UNDO-18).

use std::path::{Path, PathBuf};

use zori_core::ids::SessionId;
use zori_policy::paths::Workspace;
use zori_store::SessionDir;
use zori_undo::disk::Disk;
use zori_undo::error::UndoError;
use zori_undo::op::shown;
use zori_undo::plan::Kept;
use zori_undo::restore::{pending, session_of_pending};
use zori_undo::rewind::{self, RewindContext};
use zori_undo::store::Store;

use super::words::listed;
use super::{UndoSettings, parents};

/// An undo that was cut off and is finished now.
#[derive(Clone, Debug)]
pub struct RecoveredUndo {
    /// The session it belongs to.
    pub session: SessionId,
    /// What went back, then or now.
    pub restored: Vec<PathBuf>,
    /// What stays, and why.
    pub kept: Vec<Kept>,
}

impl RecoveredUndo {
    /// Says it in a sentence. `root`: the project.
    pub fn words(&self, root: &Path) -> String {
        let names: Vec<_> = self.restored.iter().map(|path| shown(root, path)).collect();
        let count = names.len();
        let files = if count == 1 { "file" } else { "files" };
        let kept = self.kept.iter().map(|kept| {
            let beside =
                kept.saved_as.as_ref().map_or_else(String::new, |path| format!(" as {}", shown(root, path)));
            format!("; kept {}{beside}: {}", shown(root, &kept.path), kept.reason.words())
        });
        let kept: String = kept.collect();
        format!(
            "An undo of session {} that was cut off is finished, {count} {files}: {}{kept}",
            self.session,
            listed(&names)
        )
    }
}

/// Finishes the undos that were cut off in a project. One that another process is at stays with it.
pub fn recover_undos(
    settings: &UndoSettings,
    sessions: &SessionDir,
    workspace: &Workspace,
) -> Result<Vec<RecoveredUndo>, UndoError> {
    let Some(dir) = &settings.dir else { return Ok(Vec::new()) };
    let mut waiting: Vec<_> = pending(dir).iter().filter_map(|file| session_of_pending(file)).collect();
    waiting.dedup();
    let mut finished = Vec::new();
    let disk = Disk::default();
    let context = RewindContext {
        disk: &disk,
        sensitive: &|path| workspace.is_sensitive(path),
        client: None,
        announce: &|_, _| Ok(()),
        max_file: settings.limits.max_file,
        now: 0,
    };
    for session in waiting.iter().filter_map(|session| SessionId::parse(session).ok()) {
        let parents = parents(sessions, &session);
        let store = Store::open(dir.clone(), settings.root.clone(), session.clone(), parents, true)?;
        let done = match rewind::recover(&store, &context) {
            Err(UndoError::Busy) => continue,
            done => done?,
        };
        finished.extend(done.into_iter().map(|done| RecoveredUndo {
            session: session.clone(),
            restored: done.steps.into_iter().map(|step| step.path).collect(),
            kept: done.kept,
        }));
    }
    Ok(finished)
}
