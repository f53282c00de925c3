//! The session's log: which events become records, and when they have to be on the disk.
//!
//! How records get into the file is in `writer/appender.rs`, the file itself in `writer/medium.rs`.

mod appender;
mod medium;

use std::borrow::Cow;
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zori_core::event::{Event, EventKind, Notice, NoticeLevel, StateEvent, ToolEvent, TurnEvent};
use zori_core::ids::{AgentId, CallId, SessionId};
use zori_core::log::{Log, LogError};
use zori_core::secret::Secrets;
use zori_core::tool::Effect;

use crate::branch::branch;
use crate::dir::SessionDir;
use crate::lock::SessionLock;
use crate::record::encode;
use appender::{AppendError, Appender};
use medium::{Medium, SessionFile};

/// Appends a session's records. Each is in the file when `append` returns, so that it outlives the process.
///
/// After a failure every further record is tried again; the first that can be saved is preceded by a notice that
/// says how many are missing (FS-1).
pub struct SessionWriter {
    appender: Appender,
    path: PathBuf,
    new: NewSession,
    durability: Durability,
    /// Whether a turn runs. Notices outside of a turn do not create a file (SES-5).
    in_turn: bool,
    /// Calls of this turn that may change something.
    effective: HashSet<CallId>,
    /// What must not get into the file.
    secrets: Secrets,
    /// The permission mode, where it is known.
    mode: Option<Cow<'static, str>>,
}

/// What the first line of a new session says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    /// The working directory of the tools, canonical.
    pub root: Arc<Path>,
    /// For a fork, the session it comes from.
    pub parent: Option<SessionId>,
}

/// What a record survives (DECISIONS 29).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The end of the process; one sync per turn.
    Process,
    /// Loss of power, wherever something was announced (LOG-5).
    Full,
}

impl SessionWriter {
    pub(crate) fn in_dir(
        dir: &SessionDir,
        id: &SessionId,
        new: NewSession,
        durability: Durability,
        lock: Option<SessionLock>,
    ) -> Self {
        let file = SessionFile::new(dir.clone(), id.clone(), lock, durability == Durability::Full);
        Self::on(Box::new(file), dir.file(id), new, durability)
    }

    fn on(medium: Box<dyn Medium>, path: PathBuf, new: NewSession, durability: Durability) -> Self {
        let appender = Appender::new(medium);
        let (in_turn, effective, secrets) = (false, HashSet::new(), Secrets::default());
        Self { appender, path, new, durability, in_turn, effective, secrets, mode: None }
    }

    /// Keeps secrets out of the file, wherever they come from (CFG-4, DECISIONS 31).
    #[must_use]
    pub fn without_secrets(mut self, secrets: Secrets) -> Self {
        self.secrets = secrets;
        self
    }

    /// Says in which permission mode the session begins.
    #[must_use]
    pub fn in_mode(mut self, mode: &str) -> Self {
        self.mode = Some(mode.to_owned().into());
        self
    }

    fn redacted(&self, line: Vec<u8>) -> Vec<u8> {
        match str::from_utf8(&line).map(|text| self.secrets.redact(text)) {
            Ok(Cow::Owned(clean)) => clean.into_bytes(),
            Ok(Cow::Borrowed(_)) | Err(_) => line,
        }
    }

    fn is_kept(&self, event: &Event) -> bool {
        match &event.kind {
            EventKind::Notice(Notice { level: NoticeLevel::Info, .. }) => false,
            // What could not be saved is told by the gap, once saving works again.
            EventKind::Notice(Notice { code, .. }) => self.in_turn && *code != "session_not_saved",
            _ => true,
        }
    }

    fn is_synced(&self, event: &Event) -> bool {
        let full = self.durability == Durability::Full;
        match &event.kind {
            EventKind::Turn(TurnEvent::TurnFinished(_)) => true,
            EventKind::State(StateEvent::ContextCompacted(_) | StateEvent::FilesRewound(_)) => !self.in_turn,
            EventKind::Turn(
                TurnEvent::TurnStarted { .. } | TurnEvent::Steered { .. } | TurnEvent::HookContext { .. },
            ) => full,
            EventKind::Tool(ToolEvent::ToolStarted { call, .. }) => full && self.effective.contains(call),
            EventKind::Tool(ToolEvent::ToolFinished(done)) => full && self.effective.contains(&done.call),
            _ => false,
        }
    }

    fn note(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Turn(TurnEvent::TurnStarted { .. }) => self.in_turn = true,
            EventKind::State(StateEvent::ModeChanged { to, .. }) => self.mode = Some((*to).into()),
            EventKind::Turn(TurnEvent::TurnFinished(_)) => {
                self.in_turn = false;
                self.effective.clear();
            }
            EventKind::Tool(ToolEvent::ToolRequested(request))
                if request.effects.iter().any(Effect::mutates) =>
            {
                self.effective.insert(request.call.id.clone());
            }
            EventKind::Tool(ToolEvent::ToolChanged { call, effects, .. })
                if effects.iter().any(Effect::mutates) =>
            {
                self.effective.insert(call.clone());
            }
            _ => {}
        }
    }

    /// Syncs the files that a call has changed, before the record that says so.
    fn sync_changes(&self, event: &Event) -> Result<(), AppendError> {
        let EventKind::Tool(ToolEvent::ToolFinished(done)) = &event.kind else { return Ok(()) };
        if self.durability != Durability::Full {
            return Ok(());
        }
        for change in &done.output.changes {
            let synced = match sync_file(&change.path) {
                // What is gone meanwhile was deleted, and its folder knows.
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                synced => synced,
            };
            let folder = change.path.parent().map_or(Ok(()), sync_file);
            synced
                .and(folder)
                .map_err(|error| AppendError::FileNotSynced { path: change.path.clone(), error })?;
        }
        Ok(())
    }

    fn save(&mut self, event: &Event) -> Result<(), AppendError> {
        let mut outcome = self.sync_changes(event);
        if self.is_kept(event) {
            for line in encode::lines(event, self.mode.as_deref()) {
                let line = self.redacted(line);
                let meta = || {
                    let branch = branch(&self.new.root);
                    encode::meta(event.at, &self.new.root, self.new.parent.as_ref(), branch.as_deref())
                };
                let gap = |lost| encode::gap(event.at, lost);
                outcome = outcome.and(self.appender.append(&line, meta, gap));
            }
        }
        if self.is_synced(event) {
            outcome = outcome.and(self.appender.sync());
        }
        outcome
    }
}

/// Syncs a file or a folder. Where the file system cannot, there is nothing to do.
fn sync_file(path: &Path) -> io::Result<()> {
    match File::open(path)?.sync_all() {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            Ok(())
        }
        synced => synced,
    }
}

impl Log for SessionWriter {
    fn append(&mut self, event: &Event) -> Result<(), LogError> {
        // A sub-agent's conversation is not this one; its result arrives as the result of a call. What somebody let it do,
        // or kept it from doing, is part of this session all the same.
        if event.agent != AgentId::MAIN
            && !matches!(
                event.kind,
                EventKind::Tool(ToolEvent::ApprovalResolved { .. })
                    | EventKind::State(StateEvent::FilesChanged(_))
            )
        {
            return Ok(());
        }
        let outcome = self.save(event);
        self.note(event);
        outcome.map_err(|error| match error {
            AppendError::Open(error) => LogError(error.to_string()),
            error => LogError(format!("{}: {error}", self.path.display())),
        })
    }
}

#[cfg(test)]
mod tests;
