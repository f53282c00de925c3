//! What one project has in the database. It holds the project's id and adds it to every query, so that nothing of another project can be
//! read or changed through it.

use std::path::Path;

use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};

use crate::database::Database;
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
        Ok(Self { database, id, root: root.to_string_lossy().into_owned(), key })
    }

    /// Returns the name under which things of the project are kept.
    pub fn key(&self) -> &str {
        &self.key
    }

    pub(crate) fn failed(&self) -> impl Fn(rusqlite::Error) -> IndexError {
        self.database.failed()
    }

    /// Runs one transaction that writes, with the project's id. It begins `IMMEDIATE`: one that reads first and writes later fails at once
    /// when somebody else wrote meanwhile.
    pub(crate) fn write<T>(
        &mut self,
        now: i64,
        work: impl FnOnce(&Transaction<'_>, i64) -> rusqlite::Result<T>,
    ) -> Result<T, IndexError> {
        let failed = IndexError::at(&self.database.path);
        let change = self
            .database
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(&failed)?;
        // A purge may have taken the row away since it was looked up.
        let known = change
            .query_row("SELECT id FROM projects WHERE key = ?1", [&self.key], |row| row.get(0))
            .optional()
            .map_err(&failed)?;
        let id = match known {
            Some(id) => id,
            None => {
                let name = Path::new(&self.root).file_name().map(|name| name.to_string_lossy().into_owned());
                change
                    .execute(
                        "INSERT INTO projects (root, name, key, created_at) VALUES (?1, ?2, ?3, ?4)",
                        params![self.root, name.unwrap_or_default(), self.key, now],
                    )
                    .map_err(&failed)?;
                change.last_insert_rowid()
            }
        };
        let done = work(&change, id).map_err(&failed)?;
        change.commit().map_err(&failed)?;
        self.id = Some(id);
        Ok(done)
    }
}
