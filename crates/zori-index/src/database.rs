//! The file `zori.db`: opened for writing with its schema brought up to date, or for reading without a trace.

use std::fs;
use std::io::Read as _;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::IndexError;
use crate::writer::Writer;

/// What marks a database as ours: `zori` in ASCII.
const APPLICATION_ID: i64 = 0x7a6f_7269;
/// The statements of each version, in order: the database's `user_version` says how many it has.
pub(crate) const MIGRATIONS: &[&str] = &[
    include_str!("schema.sql"),
    include_str!("memory.sql"),
    include_str!("plans_and_usage.sql"),
    include_str!("code_schema.sql"),
    include_str!("code_vectors.sql"),
    include_str!("one_table_of_vectors.sql"),
    include_str!("recallable.sql"),
];
/// The version of the schema that this program knows.
pub(crate) const KNOWN: i64 = MIGRATIONS.len() as i64;
/// How long a process waits for another one that writes.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often one that was too late asks again; each time somebody else was done meanwhile.
const ASKED_AGAIN: usize = 32;
/// How often a database is copied again whose log was begun anew meanwhile.
const COPIED_AGAIN: usize = 16;
/// How long the header of a log is, with the numbers that change when it is begun anew.
const WAL_HEADER: usize = 32;

/// Returns the file of a base directory.
pub fn database_path(base: &Path) -> PathBuf {
    base.join("zori.db")
}

/// The database, open: a connection to read with, and the thread that writes, which all that this process has open of the file share.
#[derive(Debug)]
pub struct Database {
    pub(crate) connection: Reader,
    pub(crate) path: PathBuf,
}

impl Database {
    /// Opens it for writing, and makes it where there is none.
    pub fn open(path: &Path) -> Result<Self, IndexError> {
        match Self::open_locked(path) {
            // A file system without locks looks to SQLite like somebody who never lets go (DB-5).
            Err(IndexError::Locked(path)) if !can_lock(&path) => Err(IndexError::NoLocks(path)),
            opened => opened,
        }
    }

    fn open_locked(path: &Path) -> Result<Self, IndexError> {
        let resolved = resolved(path)?;
        let writer = Writer::of(&resolved, || open_for_writing(path, &resolved))?;
        let connection = writer.reader(PATIENCE, || open_for_reading(path, &resolved))?;
        let connection = Reader { connection: Some(connection), writer: Some(writer) };
        // Another process may have brought the file to a later version since it was opened.
        check(&connection, path)?;
        Ok(Self { connection, path: path.to_owned() })
    }

    /// Has every commit wait until the disk has it, so that it outlives a loss of power, too (DB-1).
    pub fn synced(self) -> Result<Self, IndexError> {
        let failed = self.failed();
        self.change(move |connection| connection.execute_batch("PRAGMA synchronous = FULL").map_err(failed))?;
        Ok(self)
    }

    /// Has the thread that writes do something, and waits for it. What was opened for reading cannot be changed.
    pub(crate) fn change<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, IndexError> + Send + 'static,
    ) -> Result<T, IndexError> {
        match &self.connection.writer {
            Some(writer) => writer.run(work),
            None => Err(IndexError::ReadOnly(self.path.clone())),
        }
    }

    /// Opens it for reading; nothing is created or changed, not even for a moment (D-33). A database that somebody has open is
    /// copied into `scratch` first.
    pub fn read(path: &Path, scratch: &Path) -> Result<Self, IndexError> {
        let facts = fs::metadata(path).map_err(IndexError::io(path))?;
        if facts.len() == 0 {
            return Err(IndexError::Missing(path.to_owned()));
        }
        let wal = beside(path, "-wal");
        let copy = match fs::metadata(&wal) {
            Ok(facts) if facts.len() > 0 => Some(Copy::make(path, &wal, scratch)?),
            _ => None,
        };
        Self::read_at(path, copy, scratch)
    }

    fn read_at(path: &Path, copy: Option<Copy>, scratch: &Path) -> Result<Self, IndexError> {
        let (at, immutable) = match &copy {
            Some(copy) => (copy.database(), ""),
            None => (path.canonicalize().map_err(IndexError::io(path))?, "&immutable=1"),
        };
        let mode = if copy.is_some() { "rw" } else { "ro" };
        let address = format!("file:{}?mode={mode}{immutable}", escaped(&at));
        let access =
            if copy.is_some() { OpenFlags::SQLITE_OPEN_READ_WRITE } else { OpenFlags::SQLITE_OPEN_READ_ONLY };
        let flags = access | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let failed = IndexError::at(path);
        let mut connection = Connection::open_with_flags(address, flags).map_err(&failed)?;
        check(&connection, path)?;
        let version = version(&connection).map_err(&failed)?;
        if version == 0 {
            return Err(IndexError::Missing(path.to_owned()));
        }
        if version < KNOWN && copy.is_none() {
            drop(connection);
            let copy = Copy::make(path, &beside(path, "-wal"), scratch)?;
            return Self::read_at(path, Some(copy), scratch);
        }
        // An older one is brought up to date in its copy; the file itself by the next write.
        migrate(&mut connection, path)?;
        // The connection has all files of the copy open, which go now: a process that is killed leaves no word of them.
        drop(copy);
        let connection = Reader { connection: Some(connection), writer: None };
        Ok(Self { connection, path: path.to_owned() })
    }

    /// Puts a damaged database aside, so that the next one to write makes a new one; returns where it is. `None` where it is whole after all:
    /// another process may have been quicker (DB-4). `now`: seconds since 1970, which become part of the name.
    pub fn set_aside(path: &Path, now: i64) -> Result<Option<PathBuf>, IndexError> {
        let failed = IndexError::io(path);
        let folder = path.parent().unwrap_or(Path::new("."));
        // Without the lock, two that saw the damage could put aside what one of them has begun anew.
        let lock = fs::File::open(folder).map_err(&failed)?;
        lock.lock().map_err(&failed)?;
        match whole(path) {
            Err(IndexError::Damaged { .. }) => {}
            Ok(()) | Err(IndexError::Missing(_)) => return Ok(None),
            Err(error) => return Err(error),
        }
        let mut aside = beside(path, &format!(".damaged-{now}"));
        for number in 2.. {
            match fs::symlink_metadata(&aside) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => break,
                _ => aside = beside(path, &format!(".damaged-{now}-{number}")),
            }
        }
        fs::rename(path, &aside).map_err(&failed)?;
        for suffix in ["-wal", "-shm"] {
            match fs::rename(beside(path, suffix), beside(&aside, suffix)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
                _ => {}
            }
        }
        Ok(Some(aside))
    }

    /// Returns the damaged databases that were put aside.
    pub fn damaged(path: &Path) -> Vec<PathBuf> {
        let Some((folder, name)) = path.parent().zip(path.file_name()) else { return Vec::new() };
        let prefix = format!("{}.damaged-", name.to_string_lossy());
        let is_one =
            |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix));
        let mut found: Vec<_> = fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(is_one)
            .collect();
        found.sort();
        found
    }

    /// Returns the database, or `None` where there is none yet.
    pub fn read_existing(path: &Path, scratch: &Path) -> Result<Option<Self>, IndexError> {
        match Self::read(path, scratch) {
            Err(IndexError::Missing(_)) => Ok(None),
            read => read.map(Some),
        }
    }

    pub(crate) fn failed(&self) -> impl Fn(rusqlite::Error) -> IndexError + use<> {
        IndexError::at(&self.path)
    }
}

/// A connection that reads. It goes back to those that the writer keeps for the next one.
#[derive(Debug)]
pub(crate) struct Reader {
    connection: Option<Connection>,
    /// `None`: the database was opened for reading.
    writer: Option<Arc<Writer>>,
}

impl Deref for Reader {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let (Some(connection), Some(writer)) = (self.connection.take(), &self.writer) {
            writer.give_back(connection);
        }
    }
}

/// Returns the path of the file without links on the way to its folder, which is made where it is missing.
fn resolved(path: &Path) -> Result<PathBuf, IndexError> {
    let Some((folder, name)) = path.parent().zip(path.file_name()) else { return Ok(path.to_owned()) };
    if !path.exists() {
        make_private(folder).map_err(IndexError::io(folder))?;
    }
    Ok(folder.canonicalize().map_or_else(|_| path.to_owned(), |folder| folder.join(name)))
}

/// Opens the connection that writes, with the schema brought up to date. `path` is how errors call the file.
fn open_for_writing(path: &Path, resolved: &Path) -> Result<Connection, IndexError> {
    let failed = IndexError::at(path);
    if !path.exists() {
        create_private(resolved).map_err(IndexError::io(path))?;
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection = Connection::open_with_flags(resolved, flags).map_err(&failed)?;
    connection.busy_timeout(PATIENCE).map_err(&failed)?;
    check(&connection, path)?;
    let set = "PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON; PRAGMA synchronous = NORMAL;";
    connection.execute_batch(set).map_err(&failed)?;
    if connection.is_readonly("main").map_err(&failed)? {
        return Err(IndexError::ReadOnly(path.to_owned()));
    }
    keep_log_beside(&connection).map_err(&failed)?;
    migrate(&mut connection, path)?;
    Ok(connection)
}

/// Opens a connection that reads beside the one that writes.
fn open_for_reading(path: &Path, resolved: &Path) -> Result<Connection, IndexError> {
    let failed = IndexError::at(path);
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(resolved, flags).map_err(&failed)?;
    connection.busy_timeout(PATIENCE).map_err(&failed)?;
    connection.pragma_update(None, "query_only", true).map_err(&failed)?;
    Ok(connection)
}

/// Brings the schema up to date, in one transaction.
fn migrate(connection: &mut Connection, path: &Path) -> Result<(), IndexError> {
    let failed = IndexError::at(path);
    if version(connection).map_err(&failed)? == KNOWN {
        return Ok(());
    }
    let change =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).map_err(&failed)?;
    // Another process may have been quicker, and a later version than this.
    let done = version(&change).map_err(&failed)?;
    if done > KNOWN {
        return Err(IndexError::Newer { path: path.to_owned(), found: done, known: KNOWN });
    }
    for statements in &MIGRATIONS[usize::try_from(done).unwrap_or(0)..] {
        change.execute_batch(statements).map_err(&failed)?;
    }
    change.pragma_update(None, "application_id", APPLICATION_ID).map_err(&failed)?;
    change.pragma_update(None, "user_version", KNOWN).map_err(&failed)?;
    change.commit().map_err(&failed)
}

/// Returns the version of the schema.
pub(crate) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Returns whether files can be locked where a database is, by locking one of our own.
fn can_lock(path: &Path) -> bool {
    let probe = beside(path, "-lock");
    let locked = match fs::File::options().create(true).append(true).open(&probe) {
        Ok(file) => file.try_lock_shared(),
        // Whoever cannot make a file has another trouble.
        Err(_) => return true,
    };
    let _ = fs::remove_file(&probe);
    !matches!(locked, Err(fs::TryLockError::Error(_)))
}

/// Fails if the file is damaged, looking at all of it.
fn whole(path: &Path) -> Result<(), IndexError> {
    let facts = fs::metadata(path).map_err(IndexError::io(path))?;
    if !facts.is_file() {
        return Err(IndexError::Failed { path: path.to_owned(), why: "it is not a file".into() });
    }
    let failed = IndexError::at(path);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(&failed)?;
    connection.busy_timeout(PATIENCE).map_err(&failed)?;
    check(&connection, path)?;
    let said: String =
        connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0)).map_err(&failed)?;
    match said.as_str() {
        "ok" => Ok(()),
        why => Err(IndexError::Damaged { path: path.to_owned(), why: why.to_owned() }),
    }
}

/// Has the database keep its log beside it (WAL). SQLite does not wait where two ask for that at once, and says that it is busy: whoever was too
/// late waits as a writer does, and asks again.
fn keep_log_beside(connection: &Connection) -> rusqlite::Result<()> {
    let ask = || connection.pragma_update(None, "journal_mode", "WAL");
    for _ in 0..ASKED_AGAIN {
        match ask() {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                connection.execute_batch("BEGIN IMMEDIATE; COMMIT")?;
            }
            settled => return settled,
        }
    }
    ask()
}

/// Fails unless it is a database of ours, or empty, of a version that is known.
fn check(connection: &Connection, path: &Path) -> Result<(), IndexError> {
    let (id, version, tables) = marks(connection, || ()).map_err(IndexError::at(path))?;
    if id != APPLICATION_ID && (tables > 0 || version != 0 || id != 0) {
        return Err(IndexError::Foreign(path.to_owned()));
    }
    if version > KNOWN {
        return Err(IndexError::Newer { path: path.to_owned(), found: version, known: KNOWN });
    }
    Ok(())
}

/// Returns whose a database is, its version, and how many things are in it, all of one moment: another process may be making it. `meanwhile` is what others
/// do between two looks.
pub(crate) fn marks(connection: &Connection, meanwhile: impl FnOnce()) -> rusqlite::Result<(i64, i64, i64)> {
    let moment = connection.unchecked_transaction()?;
    let number = |name| moment.pragma_query_value(None, name, |row| row.get(0));
    let (id, version) = (number("application_id")?, number("user_version")?);
    meanwhile();
    let tables = moment.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok((id, version, tables))
}

/// Returns the file that SQLite keeps beside a database.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Returns a path as it stands in a `file:` address.
fn escaped(path: &Path) -> String {
    let escape = |byte: &u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b'~' => {
            (*byte as char).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    path.as_os_str().as_encoded_bytes().iter().map(escape).collect()
}

fn make_private(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn create_private(path: &Path) -> std::io::Result<()> {
    private().truncate(false).open(path).map(drop)
}

/// Returns how a file is opened that is for its owner only, and made where it is missing.
fn private() -> fs::OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).mode(0o600);
    options
}

/// Returns the beginning of a log, which is another one each time the log is worked off and begun anew. `None`: it has nothing.
fn round_of(wal: &Path) -> Option<[u8; WAL_HEADER]> {
    let mut header = [0; WAL_HEADER];
    fs::File::open(wal).and_then(|mut file| file.read_exact(&mut header)).ok().map(|()| header)
}

/// A copy that is read in place of a database that is in use. Its files go when it is dropped; who has them open reads on.
#[derive(Debug)]
struct Copy(PathBuf);

impl Copy {
    fn make(path: &Path, wal: &Path, scratch: &Path) -> Result<Self, IndexError> {
        Self::make_while(path, wal, scratch, || ())
    }

    /// Does the same; `meanwhile` is what others do after the database was copied and before its log is.
    fn make_while(
        path: &Path,
        wal: &Path,
        scratch: &Path,
        mut meanwhile: impl FnMut(),
    ) -> Result<Self, IndexError> {
        use std::os::unix::fs::DirBuilderExt;
        let mut number = 0_u32;
        let copy = loop {
            let folder = scratch.join(format!("zori-db-{}-{number}", std::process::id()));
            match fs::DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => break Self(folder),
                // This process may have another one, and an ended one of the same number may have left its own.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(IndexError::no_copy(path, scratch)(error)),
            }
        };
        for _ in 0..COPIED_AGAIN {
            let before = round_of(wal);
            copy.take(path, wal, &mut meanwhile)?;
            if round_of(&beside(&copy.database(), "-wal")) == before {
                return Ok(copy);
            }
        }
        Err(IndexError::Locked(path.to_owned()))
    }

    /// Copies the database, then its log: what was written meanwhile is in the log, unless that was begun anew.
    fn take(&self, path: &Path, wal: &Path, meanwhile: &mut impl FnMut()) -> Result<(), IndexError> {
        let (database, log) = (self.database(), beside(&self.database(), "-wal"));
        self.add(path, path, &database)?;
        meanwhile();
        let _ = fs::remove_file(&log);
        match self.add(path, wal, &log) {
            Err(IndexError::Missing(_)) => Ok(()),
            added => added,
        }
    }

    /// Copies a file of a database. What keeps it from being read is one thing, and what keeps the copy from being made another: a folder that is missing
    /// does not mean that there is no database.
    fn add(&self, database: &Path, from: &Path, to: &Path) -> Result<(), IndexError> {
        let mut from = fs::File::open(from).map_err(IndexError::io(from))?;
        let mut to = private().truncate(true).open(to).map_err(IndexError::no_copy(database, &self.0))?;
        std::io::copy(&mut from, &mut to).map(drop).map_err(IndexError::no_copy(database, &self.0))
    }

    fn database(&self) -> PathBuf {
        self.0.join("zori.db")
    }
}

/// Reads a copy that is made while others do something.
#[cfg(test)]
pub(crate) fn read_while(
    path: &Path,
    scratch: &Path,
    meanwhile: impl FnMut(),
) -> Result<Database, IndexError> {
    let copy = Copy::make_while(path, &beside(path, "-wal"), scratch, meanwhile)?;
    Database::read_at(path, Some(copy), scratch)
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
