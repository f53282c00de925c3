//! The plan of a restore on disk, so that a crash at any point is finished by the next command (UNDO-18, UNDO-19).

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::RestoreFacts;
use crate::error::UndoError;
use crate::op::{ChangeWire, OpKind};
use crate::plan::Step;
use crate::state::Change;
use crate::store::Store;

/// The plan of a restore.
pub(super) struct Journal {
    pub(super) facts: RestoreFacts,
    pub(super) undoes: Vec<u64>,
    pub(super) steps: Vec<Step>,
}

#[derive(Serialize, Deserialize)]
struct JournalWire {
    session: String,
    op: u64,
    turn: u32,
    redo: bool,
    now: i64,
    undoes: Vec<u64>,
    steps: Vec<ChangeWire>,
}

/// Returns the plans that were not finished.
pub fn pending(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir.join("restore")).into_iter().flatten().flatten();
    let mut found = BTreeSet::new();
    found.extend(
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "json")),
    );
    found.into_iter().collect()
}

/// Takes the one restore of the project.
pub(super) fn lock(store: &Store) -> Result<File, UndoError> {
    let path = store.folder("restore")?.join("lock");
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(UndoError::at(&path))?;
    for _ in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(fs::TryLockError::WouldBlock) => thread::sleep(WAIT),
            Err(fs::TryLockError::Error(error)) => return Err(UndoError::at(path)(error)),
        }
    }
    Err(UndoError::Busy)
}

/// How long the lock is awaited: what another thread has just forked holds its descriptors until it runs something else, which
/// takes a moment on a busy machine.
const TRIES: u32 = 30;
const WAIT: Duration = Duration::from_millis(10);

impl Journal {
    /// Returns the temporary name of a step, the same in every process.
    pub(super) fn temp(&self, step: usize) -> String {
        format!(".zori-undo-{:x}-{}-{step}", self.facts.now & 0xff_ffff, self.facts.op)
    }

    /// Writes the plan, synced.
    pub(super) fn write(&self, store: &Store) -> Result<PathBuf, UndoError> {
        let root = store.root();
        let change = |step: &Step| Change {
            path: step.path.clone(),
            before: step.expect.clone(),
            after: step.target.clone(),
        };
        let wire = JournalWire {
            session: store.session().to_string(),
            op: self.facts.op,
            turn: self.facts.turn,
            redo: self.facts.kind == OpKind::Redo,
            now: self.facts.now,
            undoes: self.undoes.clone(),
            steps: self.steps.iter().map(|step| ChangeWire::new(root, &change(step))).collect(),
        };
        let folder = store.folder("restore")?;
        let name = format!("{}-{}", store.session(), self.facts.op);
        let (path, temp) = (folder.join(format!("{name}.json")), folder.join(format!("{name}.tmp")));
        let write = || {
            let mut options = OpenOptions::new();
            let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&temp)?;
            file.write_all(&serde_json::to_vec(&wire)?)?;
            file.sync_all()?;
            fs::rename(&temp, &path)?;
            File::open(&folder)?.sync_all()
        };
        write().map_err(UndoError::at(&path))?;
        Ok(path)
    }

    /// Reads a plan of this store's session; one of another session stays for that one.
    pub(super) fn read(path: &Path, store: &Store) -> Result<Option<Self>, UndoError> {
        let bytes = fs::read(path).map_err(UndoError::at(path))?;
        let Ok(wire) = serde_json::from_slice::<JournalWire>(&bytes) else { return Ok(None) };
        if wire.session != store.session().as_str() {
            return Ok(None);
        }
        let step = |change: ChangeWire| {
            let Change { path, before, after } = change.change(store.root())?;
            Some(Step { path, expect: before, target: after })
        };
        let Some(steps) = wire.steps.into_iter().map(step).collect() else { return Ok(None) };
        let kind = if wire.redo { OpKind::Redo } else { OpKind::Undo };
        let facts = RestoreFacts { op: wire.op, turn: wire.turn, kind, now: wire.now };
        Ok(Some(Self { facts, undoes: wire.undoes, steps }))
    }
}

/// Returns the session a plan that was not finished belongs to.
pub fn session_of_pending(path: &Path) -> Option<String> {
    let wire: JournalWire = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    Some(wire.session)
}
