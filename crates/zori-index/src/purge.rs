//! What a purge deletes of a project, counted or done. Jobs are kept.

use rusqlite::params;

use crate::error::IndexError;
use crate::project_store::ProjectStore;

/// How many rows a purge deletes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub sessions: u64,
    pub messages: u64,
    /// Vectors.
    pub embeddings: u64,
}

/// What a purge leaves, and says so (D-31).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    pub jobs: u64,
}

impl ProjectStore {
    /// Counts what [`ProjectStore::purge`] would delete, and what it would keep.
    pub fn count_purge(&self) -> Result<(Counts, Kept), IndexError> {
        let failed = self.failed();
        let count = |table: &str| {
            let query = format!("SELECT count(*) FROM {table} WHERE project_id = ?1");
            self.database.connection.query_row(&query, [self.id], |row| row.get::<_, u64>(0)).map_err(&failed)
        };
        let counts = Counts {
            sessions: count("sessions")?,
            messages: count("messages")?,
            embeddings: count("vectors")?,
        };
        Ok((counts, Kept { jobs: count("jobs")? }))
    }

    /// Deletes what is recallable of the project, in one transaction. The project's row stays where jobs need it.
    pub fn purge(&mut self, now: i64) -> Result<Counts, IndexError> {
        if self.id.is_none() {
            return Ok(Counts::default());
        }
        let (counts, kept) = self.count_purge()?;
        self.write(now, |change, project| {
            for table in ["vectors", "messages", "sessions", "forgotten"] {
                change.execute(&format!("DELETE FROM {table} WHERE project_id = ?1"), params![project])?;
            }
            if kept.jobs == 0 {
                change.execute("DELETE FROM projects WHERE id = ?1", params![project])?;
            }
            Ok(())
        })?;
        if kept.jobs == 0 {
            self.id = None;
        }
        Ok(counts)
    }

    /// Writes the file anew, so that no byte of what was deleted is left in it (D-35).
    pub fn reclaim(&mut self) -> Result<(), IndexError> {
        let failed = self.failed();
        let connection = &self.database.connection;
        connection
            .execute_batch("INSERT INTO messages_fts (messages_fts) VALUES ('rebuild'); VACUUM;")
            .map_err(&failed)?;
        let busy: i64 =
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).map_err(&failed)?;
        match busy {
            0 => Ok(()),
            _ => Err(IndexError::Locked(self.database.path.clone())),
        }
    }
}
