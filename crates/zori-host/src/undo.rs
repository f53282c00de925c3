//! Going back, for a session that runs and for one that is saved: files by `zori-undo`, the conversation by its records.
//!
//! Front ends get values and draw them.

mod perform;
mod recover;
mod rewinder;
mod saved;
mod words;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use zori_core::files::ClientFiles;
use zori_core::ids::SessionId;
use zori_core::log::LogError;
use zori_policy::paths::Workspace;
use zori_store::{Record, RecordKind, SessionDir, SessionTurn, StoreError};
use zori_undo::capture::{Capture, CaptureSettings, TreeLimits, Watching};
use zori_undo::disk::Disk;
use zori_undo::error::UndoError;
use zori_undo::gc::{self, Retention};
use zori_undo::plan::Force;
use zori_undo::rewind::Report;
use zori_undo::store::Parents;

use self::perform::Context;
pub(crate) use self::perform::Performed;
pub use self::recover::{RecoveredUndo, recover_undos};
pub use self::rewinder::FileRewinder;
pub(crate) use self::rewinder::Unrecorded;
pub use self::saved::SavedSession;
pub use self::words::{undo_answer, undo_lines};
use crate::audit::AuditSettings;

/// What is captured of a folder's sessions, and where that is kept.
#[derive(Clone)]
pub struct UndoSettings {
    /// The store of the folder's project; `None` captures nothing.
    pub dir: Option<PathBuf>,
    /// The project's root.
    pub root: PathBuf,
    /// Whether the first look at the folder happens within the first call that needs it.
    pub inline: bool,
    /// Whether a call that cannot be captured must not run.
    pub required: bool,
    /// How long a call waits for the first look.
    pub max_wait: Duration,
    /// How much may be looked at.
    pub limits: TreeLimits,
    /// How long and how much is kept.
    pub retention: Retention,
    /// What is written down of it.
    pub audit: AuditSettings,
    /// Returns the time since 1970.
    pub now: fn() -> Duration,
}

impl UndoSettings {
    /// What may be looked at where nobody says otherwise.
    pub const LIMITS: TreeLimits =
        TreeLimits { max_file: 16 << 20, max_files: 500_000, max_copied: 512 << 20, max_session: 1 << 30 };
    /// What is kept where nobody says otherwise.
    pub const RETENTION: Retention = Retention {
        keep: Duration::from_secs(14 * 24 * 60 * 60),
        keep_sensitive: Duration::from_secs(24 * 60 * 60),
        max_total: 1 << 30,
    };
    /// How long a call waits for the first look where nobody says otherwise.
    pub const MAX_WAIT: Duration = Duration::from_secs(5);

    /// Nothing is captured.
    pub fn off() -> Self {
        Self {
            dir: None,
            root: PathBuf::new(),
            inline: false,
            required: false,
            max_wait: Self::MAX_WAIT,
            limits: Self::LIMITS,
            retention: Self::RETENTION,
            audit: AuditSettings::OFF,
            now: || Duration::ZERO,
        }
    }
}

/// Where to go back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoGoal {
    /// Before the last so many turns of the conversation.
    Last(u32),
    /// Before the last turn that changed files.
    LastChange,
    /// Before this turn.
    Turn(u32),
    /// Before the last undo.
    Redo,
}

/// What goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoScope {
    /// The files only; the conversation stays.
    Files,
    /// The conversation.
    Chat,
    /// Both.
    Both,
}

impl UndoScope {
    /// Returns the stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Chat => "chat",
            Self::Both => "both",
        }
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndoRequest {
    /// Where to go back to.
    pub goal: UndoGoal,
    /// What goes back.
    pub what: UndoScope,
    /// Whether what somebody else changed goes back, too.
    pub force: Force,
    /// Nothing is changed.
    pub dry_run: bool,
    /// Who asks.
    pub by: &'static str,
}

/// What became of it.
#[derive(Clone, Debug)]
pub struct Undone {
    /// The turn whose beginning was the goal.
    pub to_turn: u32,
    /// What became of the files; `None` where no operation was concerned.
    pub files: Option<Report>,
    /// Whether the conversation went back.
    pub chat: bool,
    /// Whether an undo was taken back.
    pub redo: bool,
    /// The prompt of the turn, to be sent again or changed.
    pub prompt: Option<String>,
}

/// Why it cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum UndoFailure {
    /// Nothing is captured in this session.
    #[error("checkpoints are off: {0}")]
    Off(&'static str),
    /// There is no such turn.
    #[error("there is no turn {0} to go back to")]
    NoTurn(u32),
    /// No prompt has this name.
    #[error("No file checkpoint found for this message.")]
    NoPrompt,
    /// A call runs that may change files.
    #[error("files cannot be put back while a tool runs that may change some")]
    Running,
    /// There is nothing to go back from.
    #[error("there is nothing to undo")]
    Nothing,
    /// No undo came last.
    #[error("there is nothing to redo")]
    NothingToRedo,
    /// The files cannot be put back.
    #[error(transparent)]
    Files(#[from] UndoError),
    /// The session cannot be read.
    #[error(transparent)]
    Session(#[from] StoreError),
    /// The session cannot be written.
    #[error("{0}")]
    Log(#[from] LogError),
}

/// What going back in one session needs.
pub(crate) struct SessionUndo {
    pub(crate) capture: Arc<Capture>,
    pub(crate) sessions: SessionDir,
    pub(crate) id: SessionId,
    pub(crate) workspace: Workspace,
    pub(crate) settings: UndoSettings,
    /// The client that may hold files of the session.
    pub(crate) client: Option<Arc<dyn ClientFiles>>,
    /// How many lines turns added and removed that are over.
    counted: Mutex<BTreeMap<u32, Counted>>,
}

impl SessionUndo {
    /// Opens the capture of a session.
    pub(crate) fn open(
        settings: &UndoSettings,
        dir: PathBuf,
        sessions: SessionDir,
        id: SessionId,
        facts: CaptureFacts<'_>,
    ) -> Result<Self, UndoError> {
        let workspace = facts.workspace.clone();
        let added =
            workspace.roots.iter().filter(|root| !root.starts_with(&settings.root)).cloned().collect();
        let sensitive = {
            let workspace = workspace.clone();
            Arc::new(move |path: &Path| workspace.is_sensitive(path))
        };
        let capture = Capture::open(CaptureSettings {
            dir,
            root: settings.root.clone(),
            added,
            home: facts.home.map(Path::to_owned),
            session: id.clone(),
            parents: facts.parents,
            turns: facts.turns,
            durable: facts.durable,
            inline: settings.inline,
            hooks: facts.hooks,
            required: settings.required,
            max_wait: settings.max_wait,
            limits: settings.limits,
            watch: Watching::On { limit: None },
            disk: Disk::default(),
            sensitive,
            now: settings.now,
        })?;
        let (capture, settings) = (Arc::new(capture), settings.clone());
        Ok(Self {
            capture,
            sessions,
            id,
            workspace,
            settings,
            client: facts.client,
            counted: Mutex::default(),
        })
    }

    fn context(&self) -> Context<'_> {
        Context {
            store: self.capture.store(),
            sessions: &self.sessions,
            id: &self.id,
            workspace: &self.workspace,
            settings: &self.settings,
            client: self.client.as_deref(),
        }
    }

    pub(crate) fn perform(&self, request: UndoRequest) -> Result<Performed, UndoFailure> {
        self.capture.sweep();
        let performed = self.context().perform(request)?;
        if let (Some(report), false) = (&performed.undone.files, request.dry_run) {
            let paths: Vec<_> =
                report.restored.iter().map(|file| (file.path.clone(), file.state.clone())).collect();
            self.capture.restored(&paths);
            self.lock_counted().clear();
        }
        Ok(performed)
    }

    pub(crate) fn turns(&self) -> Result<Vec<SessionTurn>, UndoFailure> {
        self.context().turns()
    }

    /// Returns how many lines these turns added and removed, as far as that is known. Each comes with the number of its changes, and is counted once
    /// for each: a list asks again with every key.
    pub(crate) fn line_counts(&self, turns: &[(u32, u64)]) -> Result<BTreeMap<u32, (u64, u64)>, UndoFailure> {
        let mut counted = self.lock_counted();
        let known =
            |(turn, changes): &(u32, u64)| counted.get(turn).is_some_and(|known| known.changes == *changes);
        let new: BTreeMap<u32, u64> = turns.iter().copied().filter(|turn| !known(turn)).collect();
        if !new.is_empty() {
            let numbers: Vec<u32> = new.keys().copied().collect();
            let lines = self.context().line_counts(&numbers)?;
            counted.extend(
                lines.into_iter().map(|(turn, lines)| (turn, Counted { changes: new[&turn], lines })),
            );
        }
        Ok(turns.iter().filter_map(|(turn, _)| Some((*turn, counted.get(turn)?.lines?))).collect())
    }

    fn lock_counted(&self) -> MutexGuard<'_, BTreeMap<u32, Counted>> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn diff(&self, turn: Option<u32>) -> Result<String, UndoFailure> {
        self.context().diff(turn)
    }
}

/// The lines of a turn, counted when it had made so many changes.
struct Counted {
    changes: u64,
    lines: Option<(u64, u64)>,
}

/// What a capture knows of its session.
pub(crate) struct CaptureFacts<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) home: Option<&'a Path>,
    pub(crate) parents: Parents,
    pub(crate) turns: u32,
    pub(crate) durable: bool,
    pub(crate) hooks: bool,
    pub(crate) client: Option<Arc<dyn ClientFiles>>,
}

/// Says to the model that files went back (UNDO-24).
pub(crate) fn files_note<'p>(paths: impl Iterator<Item = &'p PathBuf>) -> String {
    let names: Vec<_> = paths.take(50).map(|path| path.display().to_string()).collect();
    format!(
        "The user put files back to an earlier state. Read them again before you rely on them: {}",
        names.join(", ")
    )
}

/// Drops what is not kept any longer, once a day.
pub(crate) fn collect(settings: &UndoSettings, sessions: &SessionDir) {
    let Some(dir) = &settings.dir else { return };
    let Some(projects) = dir.parent().and_then(Path::parent) else { return };
    // A session without a lock file has no writer.
    let is_live = |session: &str| {
        let Ok(id) = SessionId::parse(session) else { return true };
        let lock = std::fs::File::open(sessions.lock_file(&id));
        lock.is_ok_and(|lock| lock.try_lock_shared().is_err())
    };
    gc::collect(projects, &dir.join("gc"), settings.retention, (settings.now)(), &is_live, &|| {
        (settings.now)()
    });
}

/// Returns the sessions that one was forked from, and what they had changed by then.
pub(crate) fn parents(sessions: &SessionDir, id: &SessionId) -> Parents {
    let (mut parents, mut next) = (Parents::default(), id.clone());
    // A session cannot be its own ancestor, but a file can say so.
    while parents.sessions.len() < 100 {
        let first = sessions.records(&next).ok().flatten().and_then(|mut records| records.next());
        let Some(Ok(Record { kind: RecordKind::Meta(meta), .. })) = first else { break };
        let Some(parent) = meta.parent.and_then(|parent| SessionId::parse(&parent).ok()) else { break };
        parents.sessions.push(parent.clone());
        next = parent;
    }
    if !parents.sessions.is_empty() {
        // A fork has the records of its parents up to where it began.
        let records = sessions.records(id).ok().flatten().into_iter().flatten().flatten();
        parents.ops = records
            .filter_map(|record| match record.kind {
                RecordKind::Changed { op, .. } => Some(op),
                RecordKind::Rewound { op, .. } => op,
                _ => None,
            })
            .collect();
    }
    parents
}
