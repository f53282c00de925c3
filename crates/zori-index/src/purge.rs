//! What a purge deletes of a project, counted or done: the rows of every table that has a `project_id`, so that a table somebody adds is not
//! forgotten. Jobs and the cost ledger are kept (D-31).

use rusqlite::{Connection, params};

use crate::error::IndexError;
use crate::project_store::ProjectStore;

/// Tables whose rows stay. What in them leads to a session is cleared.
const KEPT: &[&str] = &["jobs", "usage"];

/// How many rows a purge deletes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The tables that have rows of the project, by name.
    pub tables: Vec<(String, u64)>,
}

impl Counts {
    /// Returns how many rows of a table are deleted.
    pub fn of(&self, table: &str) -> u64 {
        self.tables.iter().find(|(name, _)| name == table).map_or(0, |(_, count)| *count)
    }
}

/// What a purge leaves, and says so (D-31).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    pub jobs: u64,
    /// Rows of the cost ledger.
    pub usage: u64,
}

impl ProjectStore {
    /// Counts what [`ProjectStore::purge`] would delete, and what it would keep.
    pub fn count_purge(&self) -> Result<(Counts, Kept), IndexError> {
        let connection = &self.database.connection;
        count(connection, self.id).map_err(self.failed())
    }

    /// Deletes what is kept of the project, in one transaction. The project's row stays where rows that are kept need it.
    pub fn purge(&mut self, now: i64) -> Result<Counts, IndexError> {
        if self.id.is_none() {
            return Ok(Counts::default());
        }
        let (counts, kept) = self.write(now, |change, project| {
            // Tables refer to each other: what holds is asked when all are done.
            change.pragma_update(None, "defer_foreign_keys", true)?;
            let (counts, kept) = count(change, Some(project))?;
            for table in project_tables(change)? {
                if KEPT.contains(&table.as_str()) {
                    for column in ["session_id", "session"] {
                        if has_column(change, &table, column)? {
                            let clear = format!("UPDATE {table} SET {column} = NULL WHERE project_id = ?1");
                            change.execute(&clear, params![project])?;
                        }
                    }
                    continue;
                }
                change.execute(&format!("DELETE FROM {table} WHERE project_id = ?1"), params![project])?;
            }
            // What was spent stays without the project (ON DELETE SET NULL).
            if kept.jobs == 0 {
                change.execute("DELETE FROM projects WHERE id = ?1", params![project])?;
            }
            Ok((counts, kept))
        })?;
        if kept.jobs == 0 {
            self.id = None;
        }
        Ok(counts)
    }

    /// Writes the file anew, so that no byte of what was deleted is left in it (D-35).
    pub fn reclaim(&mut self) -> Result<(), IndexError> {
        let failed = self.failed();
        let busy = self.database.change(move |connection| anew(connection).map_err(failed))?;
        match busy {
            0 => Ok(()),
            _ => Err(IndexError::Locked(self.database.path.clone())),
        }
    }
}

/// Writes the full-text indexes and the file anew, and empties the log. Returns whether somebody kept the log from being emptied, as a number.
fn anew(connection: &Connection) -> rusqlite::Result<i64> {
    for table in full_text_tables(connection)? {
        connection.execute_batch(&format!("INSERT INTO {table} ({table}) VALUES ('rebuild')"))?;
    }
    connection.execute_batch("VACUUM")?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
}

fn count(connection: &Connection, project: Option<i64>) -> rusqlite::Result<(Counts, Kept)> {
    let (mut counts, mut kept) = (Counts::default(), Kept::default());
    for table in project_tables(connection)? {
        let query = format!("SELECT count(*) FROM {table} WHERE project_id = ?1");
        let count: u64 = connection.query_row(&query, [project], |row| row.get(0))?;
        match table.as_str() {
            "jobs" => kept.jobs = count,
            "usage" => kept.usage = count,
            _ if count > 0 => counts.tables.push((table, count)),
            _ => {}
        }
    }
    Ok((counts, kept))
}

/// Returns the tables that say whose their rows are.
pub(crate) fn project_tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    names(
        connection,
        "SELECT t.name FROM pragma_table_list t WHERE t.schema = 'main' AND t.type = 'table' AND EXISTS
             (SELECT 1 FROM pragma_table_info(t.name) c WHERE c.name = 'project_id') ORDER BY t.name",
    )
}

fn has_column(connection: &Connection, table: &str, column: &str) -> rusqlite::Result<bool> {
    let query = "SELECT EXISTS (SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2)";
    connection.query_row(query, [table, column], |row| row.get(0))
}

/// Returns the full-text indexes that can be made anew: all but those that keep no text.
fn full_text_tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    names(
        connection,
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%USING fts5%'
             AND replace(sql, ' ', '') NOT LIKE '%content=''''%' ORDER BY name",
    )
}

fn names(connection: &Connection, query: &str) -> rusqlite::Result<Vec<String>> {
    connection.prepare(query)?.query_map([], |row| row.get(0))?.collect()
}

/// Returns the tables of which a purge cannot know whose rows they have: neither a `project_id`, nor rows that go with one that has.
#[cfg(test)]
pub(crate) fn nobodys_tables(connection: &Connection) -> Vec<String> {
    let owned = project_tables(connection).unwrap();
    let all = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'
        AND name <> 'projects' ORDER BY name";
    let goes_with_one = |table: &str| {
        let query =
            format!("SELECT \"table\" FROM pragma_foreign_key_list('{table}') WHERE on_delete = 'CASCADE'");
        names(connection, &query).unwrap().iter().any(|parent| owned.contains(parent))
    };
    let mut tables = names(connection, all).unwrap();
    tables.retain(|table| !owned.contains(table) && !goes_with_one(table));
    tables
}
