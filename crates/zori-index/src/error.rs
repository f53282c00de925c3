//! Why the database cannot be used, each with its own way on.

use std::path::{Path, PathBuf};

use rusqlite::{ErrorCode, ffi};

/// What SQLite says where the index of its log cannot be mapped into memory.
const WITHOUT_SHARED_MEMORY: [i32; 3] =
    [ffi::SQLITE_IOERR_SHMOPEN, ffi::SQLITE_IOERR_SHMSIZE, ffi::SQLITE_IOERR_SHMMAP];

/// Why the database cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// There is none yet.
    #[error("there is no database {} yet", .0.display())]
    Missing(PathBuf),
    /// Another program made it.
    #[error("{} is not a database of this program", .0.display())]
    Foreign(PathBuf),
    /// A later version made it.
    #[error("{} was made by a newer version (schema {found}; this one knows {known})", path.display())]
    Newer { path: PathBuf, found: i64, known: i64 },
    /// It is broken.
    #[error("{} is damaged: {why}", path.display())]
    Damaged { path: PathBuf, why: String },
    /// Another process keeps it locked.
    #[error("{} is in use by another process", .0.display())]
    Locked(PathBuf),
    /// This process reads it so often at once that nobody else gets a turn.
    #[error("{} is read by too many at once", .0.display())]
    Crowded(PathBuf),
    /// Its file system cannot lock files, as some network file systems cannot.
    #[error("{} cannot be locked where it is", .0.display())]
    NoLocks(PathBuf),
    /// Its file system has no memory that processes share, as some network file systems have none.
    #[error("{} cannot be shared between processes where it is", .0.display())]
    NoSharedMemory(PathBuf),
    /// It is in use, or of an earlier version, and cannot be copied to where it is read then.
    #[error("{} cannot be copied into {} to be read: {why}", path.display(), folder.display())]
    NoCopy { path: PathBuf, folder: PathBuf, why: String },
    /// It can be read and not written.
    #[error("{} cannot be written", .0.display())]
    ReadOnly(PathBuf),
    /// Anything else.
    #[error("{}: {why}", path.display())]
    Failed { path: PathBuf, why: String },
}

impl IndexError {
    /// Returns what to do about it, in a sentence.
    pub fn way_on(&self) -> &'static str {
        match self {
            Self::Missing(_) => "`zori memory rebuild` makes it from the session files",
            Self::Foreign(_) => {
                "move that file away; `zori memory rebuild` makes a new one from the session files"
            }
            Self::Newer { .. } => "use the newer version; this one goes on without memory",
            Self::Damaged { .. } => {
                "`zori memory rebuild` puts it aside and makes a new one from the session files; scheduled jobs have to be added again"
            }
            Self::Locked(_) => "try again when the other process is done",
            Self::Crowded(_) => "try again when some of them are done",
            Self::NoLocks(_) => {
                "its file system cannot lock files, as some network file systems cannot: keep the base directory on a local disk"
            }
            Self::NoSharedMemory(_) => {
                "its file system has no memory that processes share, as some network file systems have none: keep the base directory on a local disk"
            }
            Self::NoCopy { .. } => {
                "set `TMPDIR` to a folder that can be written and has room for it, or wait until nobody has it open"
            }
            Self::ReadOnly(_) => "make the file and its folder writable",
            Self::Failed { .. } => "see what the message says of the file",
        }
    }

    /// Returns a function that says what an error of SQLite means for this file.
    pub(crate) fn at(path: &Path) -> impl Fn(rusqlite::Error) -> Self + use<> {
        let path = path.to_owned();
        move |error| {
            let path = path.clone();
            if error.sqlite_error().is_some_and(|error| WITHOUT_SHARED_MEMORY.contains(&error.extended_code))
            {
                return Self::NoSharedMemory(path);
            }
            match error.sqlite_error_code() {
                Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                    Self::Damaged { path, why: error.to_string() }
                }
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked(path),
                Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly(path),
                _ => Self::Failed { path, why: error.to_string() },
            }
        }
    }

    /// Returns a function that says what an error means for the copy of a database in a folder.
    pub(crate) fn no_copy(path: &Path, folder: &Path) -> impl Fn(std::io::Error) -> Self {
        move |error| Self::NoCopy { path: path.to_owned(), folder: folder.to_owned(), why: error.to_string() }
    }

    pub(crate) fn io(path: &Path) -> impl Fn(std::io::Error) -> Self {
        move |error| match error.kind() {
            std::io::ErrorKind::NotFound => Self::Missing(path.to_owned()),
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                Self::ReadOnly(path.to_owned())
            }
            _ => Self::Failed { path: path.to_owned(), why: error.to_string() },
        }
    }
}
