//! What was chosen last in a channel of a project. A chat that starts reads a copy of it in a file, never the database (DECISIONS 57).

use rusqlite::params;

use crate::error::IndexError;
use crate::project_store::ProjectStore;

impl ProjectStore {
    /// Keeps a choice; `None` forgets it.
    pub fn keep_preference(
        &mut self,
        channel: &str,
        key: &str,
        value: Option<&str>,
        now: i64,
    ) -> Result<(), IndexError> {
        let (channel, key, value) = (channel.to_owned(), key.to_owned(), value.map(str::to_owned));
        self.write(now, move |change, project| {
            match value {
                Some(value) => change.execute(
                    "INSERT INTO channel_preferences (project_id, channel, key, value, updated_at)
                     VALUES (?1, ?2, ?3, ?4, ?5)
                     ON CONFLICT (project_id, channel, key)
                     DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at",
                    params![project, channel, key, value, now],
                ),
                None => change.execute(
                    "DELETE FROM channel_preferences WHERE project_id = ?1 AND channel = ?2 AND key = ?3",
                    params![project, channel, key],
                ),
            }
            .map(drop)
        })
    }

    /// Returns the choices: channel, key, value.
    pub fn preferences(&self) -> Result<Vec<(String, String, String)>, IndexError> {
        let failed = self.failed();
        let mut rows = self
            .database
            .connection
            .prepare(
                "SELECT channel, key, value FROM channel_preferences WHERE project_id = ?1 ORDER BY channel, key",
            )
            .map_err(&failed)?;
        let found = rows.query_map([self.id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        found.map_err(&failed)?.collect::<Result<_, _>>().map_err(&failed)
    }
}
