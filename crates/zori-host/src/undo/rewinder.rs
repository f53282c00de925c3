//! Puts files back while a session runs, for a client that names a prompt (UNDO-42). The session hears of it when it can: in
//! a turn that is after the turn.

use std::sync::{Arc, Mutex, PoisonError};

use zori_tools::toolset::ToolSet;
use zori_undo::plan::Force;

use super::perform::Performed;
use super::{SessionUndo, UndoFailure, UndoGoal, UndoRequest, UndoScope, Undone};

/// What was put back and is not in the session's records yet.
pub(crate) type Unrecorded = Arc<Mutex<Vec<Performed>>>;

/// Puts files back to before a prompt, whatever the session does.
#[derive(Clone)]
pub struct FileRewinder {
    pub(crate) undo: Arc<SessionUndo>,
    pub(crate) tools: Arc<ToolSet>,
    pub(crate) unrecorded: Unrecorded,
}

impl FileRewinder {
    /// Puts the files back to before the prompt of this name, or says what that would do.
    pub fn rewind(&self, uuid: &str, dry_run: bool) -> Result<Undone, UndoFailure> {
        let goal = prompt(&self.undo.turns()?, uuid)?;
        let request = UndoRequest { goal, what: UndoScope::Files, force: Force::Keep, dry_run, by: "client" };
        if dry_run {
            return Ok(self.undo.perform(request)?.undone);
        }
        // What a call changes meanwhile could not be told from what it finds.
        let performed = self.undo.capture.while_idle(|| self.undo.perform(request));
        let performed = performed.ok_or(UndoFailure::Running)??;
        let undone = performed.undone.clone();
        self.tools.forget(undone.files.iter().flat_map(|report| &report.restored).map(|file| &file.path));
        self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner).push(performed);
        Ok(undone)
    }
}

/// Returns where the prompt of this name is.
pub(super) fn prompt(turns: &[zori_store::SessionTurn], uuid: &str) -> Result<UndoGoal, UndoFailure> {
    let turn = turns.iter().find(|turn| turn.uuid.as_deref() == Some(uuid));
    turn.map(|turn| UndoGoal::Turn(turn.number)).ok_or(UndoFailure::NoPrompt)
}
