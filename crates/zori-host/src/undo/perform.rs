//! Going back itself: which turn is meant, what becomes of the files, and which conversation follows.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use zori_core::checkpoint::Rewound;
use zori_core::files::ClientFiles;
use zori_core::ids::SessionId;
use zori_core::log::LogError;
use zori_core::message::Message;
use zori_policy::paths::Workspace;
use zori_store::{
    AuditFile, FilesBack, LastUndo, Record, SessionDir, SessionTurn, last_undo, turns, views_since_undo,
};
use zori_undo::disk::Disk;
use zori_undo::op::shown;
use zori_undo::rewind::{Goal, Request, RewindContext};
use zori_undo::store::Store;

use crate::audit::{AuditKeeping, AuditSettings};

use super::{UndoFailure, UndoGoal, UndoRequest, UndoScope, UndoSettings, Undone};

/// What an undo did, for whoever changes the conversation.
pub(crate) struct Performed {
    pub(crate) undone: Undone,
    pub(crate) rewound: Rewound,
    /// The conversation before the turn; `None` where it stays, or where a redo brings the former one back.
    pub(crate) view: Option<Vec<Arc<Message>>>,
    /// How many views a redo takes back: that of the undo, and those of compactions since.
    pub(crate) views: usize,
}

/// What both kinds of sessions have in common.
pub(super) struct Context<'a> {
    pub(super) store: &'a Store,
    pub(super) sessions: &'a SessionDir,
    pub(super) id: &'a SessionId,
    pub(super) workspace: &'a Workspace,
    pub(super) settings: &'a UndoSettings,
    /// The client that may hold files of the session.
    pub(super) client: Option<&'a dyn ClientFiles>,
}

impl Context<'_> {
    pub(super) fn turns(&self) -> Result<Vec<SessionTurn>, UndoFailure> {
        self.read(|records| turns(records))
    }

    /// Reads the session's file, one record at a time: a session may be longer than memory (LOG-12).
    fn read<T: Default>(
        &self,
        read: impl FnOnce(&mut dyn Iterator<Item = Record>) -> T,
    ) -> Result<T, UndoFailure> {
        let Some(records) = self.sessions.records(self.id)? else { return Ok(T::default()) };
        let mut failed = None;
        let made = read(&mut records.map_while(|record| record.map_err(|error| failed = Some(error)).ok()));
        failed.map_or(Ok(made), |error| Err(error.into()))
    }

    pub(super) fn diff(&self, turn: Option<u32>) -> Result<String, UndoFailure> {
        Ok(zori_undo::diff::unified(self.store, turn, &|path| self.workspace.is_sensitive(path))?)
    }

    pub(super) fn line_counts(
        &self,
        turns: &[u32],
    ) -> Result<BTreeMap<u32, Option<(u64, u64)>>, UndoFailure> {
        Ok(zori_undo::diff::turn_line_counts(self.store, turns)?)
    }

    /// Writes down that files go back, or went (UNDO-33).
    fn audit(
        &self,
        phase: &str,
        op: Option<u64>,
        undo: String,
        by: &str,
        (restored, kept): (usize, usize),
    ) -> Result<(), String> {
        let AuditSettings { keeping, project, now, .. } = &self.settings.audit;
        let Some(project) = project.as_ref().filter(|_| *keeping != AuditKeeping::Off) else { return Ok(()) };
        let back = FilesBack {
            at: now(),
            session: self.id.as_str(),
            phase,
            op,
            undo: &undo,
            restored: restored as u64,
            kept: kept as u64,
            by,
        };
        match AuditFile::new(project.clone()).undo(&back) {
            Err(LogError(why)) if *keeping == AuditKeeping::Required => Err(why),
            _ => Ok(()),
        }
    }

    pub(super) fn perform(&self, request: UndoRequest) -> Result<Performed, UndoFailure> {
        let turns = self.turns()?;
        let active = || turns.iter().filter(|turn| turn.active);
        let nanos = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        let sensitive = |path: &Path| self.workspace.is_sensitive(path);
        let disk = Disk::default();
        let goal = match request.goal {
            UndoGoal::Last(count) => {
                let at = active().count().checked_sub(count.max(1) as usize);
                let turn = at.and_then(|at| active().nth(at)).ok_or(UndoFailure::Nothing)?;
                Goal::Turn(turn.number)
            }
            UndoGoal::Turn(turn) => {
                let known = turns.iter().any(|known| known.number == turn);
                Goal::Turn(known.then_some(turn).ok_or(UndoFailure::NoTurn(turn))?)
            }
            UndoGoal::LastChange => Goal::LastChange,
            UndoGoal::Redo => Goal::Redo,
        };
        let context = RewindContext {
            disk: &disk,
            sensitive: &sensitive,
            client: self.client,
            announce: &|op, plan| {
                let counts = (plan.steps.len(), plan.kept.len());
                self.audit("begin", Some(op), goal_words(goal), request.by, counts)
            },
            max_file: self.settings.limits.max_file,
            now: nanos((self.settings.now)()),
        };
        // An undo of turns that changed no file is no operation; only the records know of it.
        let chat_only = match (goal, request.what) {
            (Goal::Redo, UndoScope::Chat | UndoScope::Both) => {
                self.read(|records| last_undo(records))?.filter(|undo| !undo.files)
            }
            _ => None,
        };
        let files = match request.what {
            UndoScope::Chat => None,
            UndoScope::Both if chat_only.is_some() => None,
            UndoScope::Files | UndoScope::Both => {
                let request = Request { goal, force: request.force, dry_run: request.dry_run };
                zori_undo::rewind::rewind(self.store, &context, request)?
            }
        };
        if let (Some(report), false) = (&files, request.dry_run) {
            let counts = (report.restored.len(), report.kept.len());
            // What is done is done; a log that is required was there when it began.
            let _ = self.audit("end", report.op, goal_words(goal), request.by, counts);
        }
        let to_turn = match (goal, &files) {
            (Goal::Turn(turn), _) => turn,
            (_, Some(report)) => report.to_turn,
            (Goal::Redo, None) if let Some(LastUndo { to_turn, .. }) = chat_only => to_turn,
            (Goal::Redo, None) => return Err(UndoFailure::NothingToRedo),
            (Goal::LastChange, None) => return Err(UndoFailure::Nothing),
        };
        let found = turns.iter().find(|turn| turn.number == to_turn);
        let redo = goal == Goal::Redo;
        let chat = request.what != UndoScope::Files && found.is_some_and(|turn| turn.active != redo);
        let view = match found.filter(|_| chat && !redo) {
            Some(turn) => {
                let loaded = self.sessions.load_first(self.id, turn.records_before)?;
                Some(loaded.map_or_else(Vec::new, |loaded| loaded.history))
            }
            None => None,
        };
        let views = if chat && redo { self.read(|records| views_since_undo(records))? } else { 0 };
        let root = self.store.root();
        let rewound = Rewound {
            to_turn,
            what: match (chat, &files) {
                (true, Some(_)) => "both",
                (true, None) => "chat",
                (false, _) => "files",
            },
            op: files.as_ref().and_then(|report| report.op),
            undoes: files.as_ref().map_or_else(Vec::new, |report| report.undoes.clone()),
            restored: files.as_ref().map_or(0, |report| report.restored.len() as u64),
            kept: files
                .iter()
                .flat_map(|report| &report.kept)
                .map(|kept| (shown(root, &kept.path), kept.reason.as_str()))
                .collect(),
            by: request.by,
            redo,
        };
        let prompt = found.filter(|_| chat && !redo).map(|turn| turn.prompt.clone());
        Ok(Performed { undone: Undone { to_turn, files, chat, redo, prompt }, rewound, view, views })
    }
}

fn goal_words(goal: Goal) -> String {
    match goal {
        Goal::LastChange => "the last change".to_owned(),
        Goal::Turn(turn) => format!("turn {turn}"),
        Goal::Redo => "the last undo".to_owned(),
    }
}
