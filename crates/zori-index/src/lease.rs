//! A lease: one process does something for a project as long as it says so. Whoever stops saying so loses it.

use rusqlite::{OptionalExtension, params};

use crate::error::IndexError;
use crate::project_store::ProjectStore;

impl ProjectStore {
    /// Takes a lease or renews it until a moment; returns whether `holder` has it now. One of another holder that ran out is taken over, as is
    /// one that ends later than any lease can: the clock went back since.
    pub fn lease(&mut self, name: &str, holder: &str, now: i64, seconds: i64) -> Result<bool, IndexError> {
        let (name, holder) = (name.to_owned(), holder.to_owned());
        self.write(now, move |change, project| {
            let held = change
                .query_row(
                    "SELECT holder, until FROM leases WHERE project_id = ?1 AND name = ?2",
                    params![project, name],
                    |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)),
                )
                .optional()?;
            if held.is_some_and(|(other, until)| other != holder && (now..=now + seconds).contains(&until)) {
                return Ok(false);
            }
            change.execute(
                "INSERT INTO leases (project_id, name, holder, until) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (project_id, name) DO UPDATE SET holder = excluded.holder, until = excluded.until",
                params![project, name, holder, now + seconds],
            )?;
            Ok(true)
        })
    }

    /// Gives a lease back, if `holder` has it.
    pub fn give_back(&mut self, name: &str, holder: &str, now: i64) -> Result<(), IndexError> {
        let (name, holder) = (name.to_owned(), holder.to_owned());
        self.write(now, move |change, project| {
            change.execute(
                "DELETE FROM leases WHERE project_id = ?1 AND name = ?2 AND holder = ?3",
                params![project, name, holder],
            )?;
            Ok(())
        })
    }
}
