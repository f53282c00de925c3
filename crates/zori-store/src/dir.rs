//! The directory the sessions are in. Reading never creates it; the first record, or a lock, does (PATH-3).

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use zori_core::ids::SessionId;

use crate::error::StoreError;
use crate::list::{self, Entry};
use crate::load::{Loaded, Records};
use crate::lock::SessionLock;
use crate::writer::{Durability, NewSession, SessionWriter};

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

    /// Returns the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the file of a session, whether or not it exists.
    pub fn file(&self, id: &SessionId) -> PathBuf {
        self.path.join(format!("{id}.jsonl"))
    }

    /// Returns the sessions, newest first. A missing directory has none.
    pub fn list(&self) -> Result<Vec<Entry>, StoreError> {
        list::list(&self.path)
    }

    /// Returns the session that was changed last.
    pub fn latest(&self) -> Result<Option<Entry>, StoreError> {
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

    /// Reads a session as the history to go on with; `None` if there is no such file. Whoever means to append
    /// takes the lock first.
    pub fn load(&self, id: &SessionId) -> Result<Option<Loaded>, StoreError> {
        self.records(id)?.map(Loaded::read).transpose()
    }

    /// Reads the first so many records of a session, as if the others had never been written.
    pub fn load_first(&self, id: &SessionId, records: u64) -> Result<Option<Loaded>, StoreError> {
        self.records(id)?.map(|all| Loaded::read_first(all, records)).transpose()
    }

    /// Takes the session for this process, creating the directory if need be. It is free again when the lock is
    /// dropped or the process is gone.
    pub fn lock(&self, id: &SessionId) -> Result<SessionLock, StoreError> {
        SessionLock::take(&self.path, id)
    }

    /// Removes a session that nobody uses; returns whether there was one.
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

    /// Returns a log that appends to a session. Without a lock it takes one with the first record, which is
    /// right for an id nobody else can know; nothing is created before that.
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

/// Devices and pipes have no end to read up to, so they count as empty.
fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    let kind = fs::metadata(path)?.file_type();
    if kind.is_file() || kind.is_dir() { Ok(Box::new(File::open(path)?)) } else { Ok(Box::new(io::empty())) }
}

/// Creates a directory and its parents, for the owner only (SES-12).
pub(crate) fn create_private(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}
