//! What one project has in the database. It holds the project's id and adds it to every query, so that nothing of another project can be
//! read or changed through it.

use std::path::Path;

use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};

use crate::database::{Database, KNOWN, version};
use crate::error::IndexError;

/// A project's part of the database.
#[derive(Debug)]
pub struct ProjectStore {
    pub(crate) database: Database,
    /// `None` as long as nothing was written for the project (D-30).
    pub(crate) id: Option<i64>,
    pub(crate) root: String,
    pub(crate) key: String,
}

/// A project that the database knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectRow {
    pub root: String,
    pub key: String,
    /// How many messages can be recalled.
    pub messages: u64,
    /// How many jobs it has.
    pub jobs: u64,
}

/// Returns the name under which things of a project are kept: the first 16 hex digits of BLAKE3 of its root.
pub fn project_key(root: &Path) -> String {
    blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex()[..16].to_owned()
}

/// Returns the projects that the database knows, by their roots.
pub fn projects(database: &Database) -> Result<Vec<ProjectRow>, IndexError> {
    let failed = database.failed();
    let mut rows = database
        .connection
        .prepare(
            "SELECT root, key, (SELECT count(*) FROM messages WHERE project_id = projects.id),
                (SELECT count(*) FROM jobs WHERE project_id = projects.id) FROM projects ORDER BY root",
        )
        .map_err(&failed)?;
    let row = |row: &rusqlite::Row<'_>| {
        Ok(ProjectRow { root: row.get(0)?, key: row.get(1)?, messages: row.get(2)?, jobs: row.get(3)? })
    };
    rows.query_map([], row).map_err(&failed)?.collect::<Result<_, _>>().map_err(&failed)
}

impl ProjectStore {
    /// Looks the project up; nothing is written.
    pub fn new(database: Database, root: &Path) -> Result<Self, IndexError> {
        let key = project_key(root);
        let id = database
            .connection
            .query_row("SELECT id FROM projects WHERE key = ?1", [&key], |row| row.get(0))
            .optional()
            .map_err(database.failed())?;
        // Roots that are no text may look alike; what is kept of them is known by the key.
        let root = root.to_str().map_or_else(|| format!("{} ({key})", root.display()), str::to_owned);
        Ok(Self { database, id, root, key })
    }

    /// Returns the name under which things of the project are kept.
    pub fn key(&self) -> &str {
        &self.key
    }

    pub(crate) fn failed(&self) -> impl Fn(rusqlite::Error) -> IndexError + use<> {
        self.database.failed()
    }

    /// Runs one transaction on the thread that writes, with the project's id. It begins `IMMEDIATE`: one that reads first and writes later fails at
    /// once when somebody else wrote meanwhile.
    pub(crate) fn write<T: Send + 'static>(
        &mut self,
        now: i64,
        work: impl FnOnce(&Transaction<'_>, i64) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, IndexError> {
        let (path, key, root) = (self.database.path.clone(), self.key.clone(), self.root.clone());
        let (id, done) = self.database.change(move |connection| {
            let failed = IndexError::at(&path);
            let change =
                connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
            // A later version may have changed what the tables mean since the file was opened.
            let found = version(&change).map_err(&failed)?;
            if found != KNOWN {
                return Err(IndexError::Newer { path, found, known: KNOWN });
            }
            let id = project(&change, &key, &root, now).map_err(&failed)?;
            let done = work(&change, id).map_err(&failed)?;
            change.commit().map_err(&failed)?;
            Ok((id, done))
        })?;
        self.id = Some(id);
        Ok(done)
    }
}

/// Returns the id of a project, whose row is made where there is none: a purge may have taken it away since it was looked up.
fn project(change: &Transaction<'_>, key: &str, root: &str, now: i64) -> rusqlite::Result<i64> {
    let known =
        change.query_row("SELECT id FROM projects WHERE key = ?1", [key], |row| row.get(0)).optional()?;
    if let Some(id) = known {
        return Ok(id);
    }
    let name = Path::new(root).file_name().map(|name| name.to_string_lossy().into_owned());
    change.execute(
        "INSERT INTO projects (root, name, key, created_at) VALUES (?1, ?2, ?3, ?4)",
        params![root, name.unwrap_or_default(), key, now],
    )?;
    Ok(change.last_insert_rowid())
}
