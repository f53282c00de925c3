//! Messages that nobody asked for in a long time leave recall when there are too many. They stay in the session files, and in the table until
//! their session is gone.

use rusqlite::params;

use crate::error::IndexError;
use crate::project_store::ProjectStore;

/// How long a memory that was used once lasts: a day, in seconds.
const STRENGTH: f64 = 86_400.0;

/// How firmly a message is remembered, from 0 to 1: `exp(-t / (S · ln(1 + n)))`. `idle`: seconds since the last access. The saving counts as the first
/// access, so the divisor is never 0.
pub fn retention(idle: i64, accesses: u32) -> f64 {
    (-fading(idle, accesses)).exp()
}

/// The exponent of [`retention`], by which messages are ordered: of those that are long forgotten, retention is 0 alike.
fn fading(idle: i64, accesses: u32) -> f64 {
    idle.max(0) as f64 / (STRENGTH * (2.0 + f64::from(accesses)).ln())
}

impl ProjectStore {
    /// Evicts messages until at most `most` can be recalled, the least remembered first; returns how many.
    pub fn evict(&mut self, most: u64, now: i64) -> Result<u64, IndexError> {
        // Who has little enough writes nothing.
        let excess = self.count()?.saturating_sub(most);
        if excess == 0 {
            return Ok(0);
        }
        self.write(now, move |change, project| {
            let mut rows = change.prepare(
                "SELECT id, max(saved_at, last_accessed), access_count FROM messages
                 WHERE project_id = ?1 AND evicted_at IS NULL",
            )?;
            let row = |row: &rusqlite::Row<'_>| {
                Ok((fading(now - row.get::<_, i64>(1)?, row.get(2)?), row.get::<_, i64>(0)?))
            };
            let mut faded = rows.query_map([project], row)?.collect::<Result<Vec<_>, _>>()?;
            // Somebody else may have evicted since.
            let excess = (faded.len() as u64).saturating_sub(most) as usize;
            faded.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            let mut mark =
                change.prepare("UPDATE messages SET evicted_at = ?3 WHERE project_id = ?1 AND id = ?2")?;
            for (_, id) in &faded[..excess] {
                mark.execute(params![project, id, now])?;
            }
            Ok(excess as u64)
        })
    }

    /// Notes that messages were recalled, which keeps them remembered.
    pub fn touch(&mut self, ids: &[i64], now: i64) -> Result<(), IndexError> {
        if ids.is_empty() || self.id.is_none() {
            return Ok(());
        }
        let ids = ids.to_vec();
        self.write(now, move |change, project| {
            let mut note = change.prepare_cached(
                "UPDATE messages SET last_accessed = ?3, access_count = access_count + 1
                 WHERE project_id = ?1 AND id = ?2",
            )?;
            ids.iter().try_for_each(|id| note.execute(params![project, id, now]).map(drop))
        })
    }
}
