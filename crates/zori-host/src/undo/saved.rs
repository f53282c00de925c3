//! A session that no process writes to, for commands about it.

use std::path::Path;
use std::sync::Arc;

use zori_core::compaction::{CompactCause, Compacted, Compaction};
use zori_core::event::{Event, EventKind, StateEvent};
use zori_core::ids::{AgentId, SessionId};
use zori_core::log::Log;
use zori_core::message::Message;
use zori_core::time::Timestamp;
use zori_policy::paths::Workspace;
use zori_store::{Durability, NewSession, SessionDir, SessionTurn};
use zori_undo::store::Store;

use super::perform::{Context, Performed};
use super::recover::recover_undos;
use super::{UndoFailure, UndoGoal, UndoRequest, UndoSettings, Undone, parents};

/// A session that no process writes to, for commands about it.
pub struct SavedSession {
    store: Store,
    sessions: SessionDir,
    id: SessionId,
    workspace: Workspace,
    settings: UndoSettings,
}

impl SavedSession {
    /// Names a saved session of a project.
    pub fn new(
        settings: UndoSettings,
        sessions: SessionDir,
        id: SessionId,
        workspace: Workspace,
    ) -> Result<Self, UndoFailure> {
        let dir = settings.dir.clone().ok_or(UndoFailure::Off("the config file says so"))?;
        let parents = parents(&sessions, &id);
        let store = Store::open(dir, settings.root.clone(), id.clone(), parents, true)?;
        Ok(Self { store, sessions, id, workspace, settings })
    }

    fn context(&self) -> Context<'_> {
        Context {
            store: &self.store,
            sessions: &self.sessions,
            id: &self.id,
            workspace: &self.workspace,
            settings: &self.settings,
            client: None,
        }
    }

    /// Returns the project's root, to which paths are relative.
    pub fn root(&self) -> &Path {
        &self.settings.root
    }

    /// Returns the turns of the session, oldest first.
    pub fn turns(&self) -> Result<Vec<SessionTurn>, UndoFailure> {
        self.context().turns()
    }

    /// Returns where the prompt is that a client knows by this name.
    pub fn prompt(&self, uuid: &str) -> Result<UndoGoal, UndoFailure> {
        super::rewinder::prompt(&self.turns()?, uuid)
    }

    /// Returns what a turn changed, or the whole session, as a unified diff.
    pub fn diff(&self, turn: Option<u32>) -> Result<String, UndoFailure> {
        self.context().diff(turn)
    }

    /// Finishes what a crash left behind in the project, and says so.
    pub fn recover(&self) -> Result<Vec<String>, UndoFailure> {
        let finished = recover_undos(&self.settings, &self.sessions, &self.workspace)?;
        Ok(finished.iter().map(|undo| undo.words(&self.settings.root)).collect())
    }

    /// Goes back. The session is locked meanwhile; `at`: now.
    pub fn undo(&self, request: UndoRequest, at: Timestamp) -> Result<Undone, UndoFailure> {
        if request.dry_run {
            return Ok(self.context().perform(request)?.undone);
        }
        let lock = self.sessions.lock(&self.id)?;
        let Performed { undone, rewound, view, views } = self.context().perform(request)?;
        let new = NewSession { root: self.settings.root.as_path().into(), parent: None };
        let mut writer = self.sessions.writer(&self.id, new, Durability::Full, Some(lock));
        let mut append = |kind: StateEvent| {
            let (agent, session) = (AgentId::MAIN, self.id.clone());
            writer.append(&Event { seq: 0, at, session, agent, parent: None, kind: EventKind::State(kind) })
        };
        let changed = |how, view: Vec<Arc<Message>>| {
            let (cause, window, summary) = (CompactCause::Asked, None, None);
            let (before, after, view) = (0, 0, view.into());
            StateEvent::ContextCompacted(Compaction { how, cause, before, after, window, view, summary })
        };
        for _ in 0..views {
            append(changed(Compacted::Undone, Vec::new()))?;
        }
        if let Some(view) = view {
            append(changed(Compacted::Rewound { messages: 0 }, view))?;
        }
        append(StateEvent::FilesRewound(Box::new(rewound)))?;
        Ok(undone)
    }
}
