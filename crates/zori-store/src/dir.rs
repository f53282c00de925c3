//! The directory the sessions are in. Reading never creates it; the first record, or a lock, does (PATH-3).

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt};
use std::path::{Path, PathBuf};

use zori_core::ids::SessionId;

use crate::error::StoreError;
use crate::list::{self, SessionEntry};
use crate::load::{LoadedSession, Records};
use crate::lock::SessionLock;
use crate::writer::{Durability, NewSession, SessionWriter};

/// How the name of a session's file ends, after the id.
const FILE: &str = ".jsonl";

/// Returns the id in the name of a session's file.
pub(crate) fn id_of(name: &str) -> Option<SessionId> {
    SessionId::parse(name.strip_suffix(FILE)?).ok()
}

/// The sessions of one base directory.
#[derive(Clone, Debug)]
pub struct SessionDir {
    path: PathBuf,
}

impl SessionDir {
    /// Names the directory; it need not exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the file of a session, whether or not it exists.
    pub fn file(&self, id: &SessionId) -> PathBuf {
        self.path.join(format!("{id}{FILE}"))
    }

    /// Returns the file that is locked while a process writes to a session.
    pub fn lock_file(&self, id: &SessionId) -> PathBuf {
        self.path.join(format!("{id}.lock"))
    }

    /// Returns where a session's file is written anew before it takes the place of the old one.
    pub(crate) fn copy_file(&self, id: &SessionId) -> PathBuf {
        self.path.join(format!("{id}{FILE}.copy"))
    }

    /// Returns the sessions, newest first. A missing directory has none.
    pub fn list(&self) -> Result<Vec<SessionEntry>, StoreError> {
        list::list(&self.path)
    }

    /// Returns the session that was changed last.
    pub fn latest(&self) -> Result<Option<SessionEntry>, StoreError> {
        Ok(self.list()?.into_iter().next())
    }

    /// Reads a session record by record; `None` if there is no such file.
    pub fn records(&self, id: &SessionId) -> Result<Option<Records>, StoreError> {
        let path = self.file(id);
        match open(&path) {
            Ok(source) => Ok(Some(Records::new(source, path))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::at(&path)(error)),
        }
    }

    /// Loads a session's history to continue it; `None` if there is no such file. Take the lock first if you mean to
    /// append.
    pub fn load(&self, id: &SessionId) -> Result<Option<LoadedSession>, StoreError> {
        self.records(id)?.map(LoadedSession::read).transpose()
    }

    /// Reads the first so many records of a session, as if the others had never been written.
    pub fn load_first(&self, id: &SessionId, records: u64) -> Result<Option<LoadedSession>, StoreError> {
        self.records(id)?.map(|all| LoadedSession::read_first(all, records)).transpose()
    }

    /// Locks the session for this process, and creates the directory if needed. The lock ends when it is dropped or the
    /// process ends.
    pub fn lock(&self, id: &SessionId) -> Result<SessionLock, StoreError> {
        SessionLock::take(self, id)
    }

    /// Removes a session that is not in use; returns whether there was one.
    pub fn remove(&self, id: &SessionId) -> Result<bool, StoreError> {
        let path = self.file(id);
        if !path.exists() {
            return Ok(false);
        }
        let _lock = self.lock(id)?;
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(StoreError::Io { path, source }),
        }
    }

    /// Puts a session that is not in use into the folder `trash` beside the others; returns where it is now, `None` if there is no such session.
    pub fn trash(&self, id: &SessionId) -> Result<Option<PathBuf>, StoreError> {
        let path = self.file(id);
        if !path.exists() {
            return Ok(None);
        }
        let _lock = self.lock(id)?;
        let folder = self.path.join("trash");
        create_private(&folder).map_err(StoreError::at(&folder))?;
        // One of the same name may lie there already.
        let names =
            std::iter::once(format!("{id}{FILE}")).chain((1..).map(|n: u32| format!("{id}.{n}{FILE}")));
        let to = names.map(|name| folder.join(name)).find(|to| !to.exists());
        let to = to.expect("there are names without end");
        fs::rename(&path, &to).map_err(StoreError::at(&path))?;
        Ok(Some(to))
    }

    /// Returns a log that appends to a session. Without a lock it takes one with the first record, which is right for a
    /// new id; nothing is created before that.
    pub fn writer(
        &self,
        id: &SessionId,
        new: NewSession,
        durability: Durability,
        lock: Option<SessionLock>,
    ) -> SessionWriter {
        SessionWriter::in_dir(self, id, new, durability, lock)
    }
}

/// Opens a session file. A pipe may keep whoever opens it waiting for ever; a device has no end, so it counts as empty and is
/// not opened.
fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    let kind = fs::metadata(path)?.file_type();
    if kind.is_file() || kind.is_dir() {
        Ok(Box::new(File::open(path)?))
    } else if kind.is_char_device() {
        Ok(Box::new(io::empty()))
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a pipe or a device, not a file"))
    }
}

/// Creates a directory and its parents, for the owner only (SES-12).
pub(crate) fn create_private(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// The same, and returns the directories that got a new entry by it, which a loss of power could take away again.
pub(crate) fn create_private_listed(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let missing = dir.ancestors().take_while(|dir| !dir.exists());
    let grown: Vec<PathBuf> = missing.filter_map(|dir| Some(dir.parent()?.to_owned())).collect();
    create_private(dir)?;
    Ok(grown)
}
