//! A session that goes back: its files, its conversation, or both; and what it tells of the turns behind it.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use zori_store::SessionTurn;

use super::Session;
use crate::undo::{FileRewinder, Performed, UndoFailure, UndoRequest, Undone, files_note};

impl Session {
    /// Goes back between turns: the files, the conversation, or both; or says what that would do.
    pub fn undo(&mut self, request: UndoRequest) -> Result<Undone, UndoFailure> {
        let undo = self.undo.as_ref().ok_or_else(|| self.undo_off())?;
        let performed = undo.perform(request)?;
        let undone = performed.undone.clone();
        if !request.dry_run {
            self.rewound(performed);
        }
        Ok(undone)
    }

    /// Does the same on a thread that may wait, for a client whose editor is asked about its files.
    pub async fn undo_in_client(&mut self, request: UndoRequest) -> Result<Undone, UndoFailure> {
        let undo = self.undo.clone().ok_or_else(|| self.undo_off())?;
        let performed = match tokio::task::spawn_blocking(move || undo.perform(request)).await {
            Ok(performed) => performed?,
            Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
        };
        let undone = performed.undone.clone();
        if !request.dry_run {
            self.rewound(performed);
        }
        Ok(undone)
    }

    /// Returns what puts files back while a turn runs; `None` where nothing is captured.
    pub fn file_rewinder(&self) -> Option<FileRewinder> {
        let (undo, tools) = (self.undo.clone()?, self.tools.clone());
        Some(FileRewinder { undo, tools, unrecorded: self.unrecorded.clone() })
    }

    /// Tells the conversation and the records what a client had put back meanwhile.
    pub(super) fn record_rewinds(&mut self) {
        let done = std::mem::take(&mut *self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner));
        done.into_iter().for_each(|performed| self.rewound(performed));
    }

    /// Tells the tools, the conversation and the records that files, messages or both went back.
    fn rewound(&mut self, performed: Performed) {
        let Performed { undone, rewound, view, views } = performed;
        let paths: Vec<_> =
            undone.files.iter().flat_map(|report| &report.restored).map(|file| &file.path).collect();
        self.tools.forget(paths.iter().copied());
        if !undone.chat && !paths.is_empty() {
            self.engine.add_note(files_note(paths.iter().copied()));
        }
        for _ in 0..views {
            self.engine.undo_compact();
        }
        if let Some(view) = view {
            self.engine.rewind(view);
        }
        self.engine.files_rewound(rewound);
    }

    /// Returns the turns of the session, for whoever chooses one to go back to.
    pub fn turns(&self) -> Result<Vec<SessionTurn>, UndoFailure> {
        self.undo.as_ref().ok_or_else(|| self.undo_off())?.turns()
    }

    /// Returns how many lines these turns added and removed, where that is known.
    pub fn line_counts(&self, turns: &[(u32, u64)]) -> Result<BTreeMap<u32, (u64, u64)>, UndoFailure> {
        self.undo.as_ref().ok_or_else(|| self.undo_off())?.line_counts(turns)
    }

    /// Returns what a turn changed, or the whole session, as a unified diff.
    pub fn diff(&self, turn: Option<u32>) -> Result<String, UndoFailure> {
        self.undo.as_ref().ok_or_else(|| self.undo_off())?.diff(turn)
    }

    /// Returns the project's root, to which the paths of an undo are relative.
    pub fn project_root(&self) -> &std::path::Path {
        self.undo.as_ref().map_or(std::path::Path::new("/"), |undo| undo.capture.store().root())
    }

    /// Returns whether what calls change can be undone.
    pub fn can_undo(&self) -> bool {
        self.undo.is_some()
    }

    /// Returns how much undo covers, in a few words.
    pub fn undo_coverage(&self) -> String {
        match self.undo.as_ref().map(|undo| undo.capture.coverage()) {
            None => format!("off ({})", self.undo_off_words()),
            Some((coverage, None)) => coverage.to_string(),
            Some((coverage, Some(why))) => format!("{coverage} ({why})"),
        }
    }

    fn undo_off_words(&self) -> &'static str {
        if self.saved { "this session takes none" } else { "the session is not saved" }
    }

    fn undo_off(&self) -> UndoFailure {
        UndoFailure::Off(self.undo_off_words())
    }
}
