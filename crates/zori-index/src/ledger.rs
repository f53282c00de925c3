//! The cost ledger: a row for each request that was paid for, over all processes and projects.

use rusqlite::params;

use crate::error::IndexError;
use crate::project_store::ProjectStore;

/// A request that was paid for.
#[derive(Clone, Copy, Debug)]
pub struct Payment<'a> {
    /// The session, unless it is not saved.
    pub session: Option<&'a str>,
    pub provider: &'a str,
    pub model: &'a str,
    /// Tokens.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// In millionths of a dollar; `None` where the price of the model is not known.
    pub cost: Option<u64>,
}

impl ProjectStore {
    /// Adds what a request used.
    pub fn add_payment(&mut self, paid: &Payment<'_>, now: i64) -> Result<(), IndexError> {
        let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
        let session = paid.session.map(str::to_owned);
        let (provider, model) = (paid.provider.to_owned(), paid.model.to_owned());
        let tokens = [paid.input, paid.output, paid.cache_read, paid.cache_write].map(count);
        let cost = paid.cost.map(count);
        self.write(now, move |change, project| {
            let [input, output, cache_read, cache_write] = tokens;
            change.execute(
                "INSERT INTO usage
                    (project_id, session, used_at, provider, model, input, output, cache_read, cache_write, cost)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                params![
                    project,
                    session,
                    now,
                    provider,
                    model,
                    input,
                    output,
                    cache_read,
                    cache_write,
                    cost
                ],
            )?;
            Ok(())
        })
    }

    /// Returns what all projects have cost from a moment on, in millionths of a dollar. Requests without a known price count as nothing.
    pub fn spent_since(&self, since: i64) -> Result<u64, IndexError> {
        let query = "SELECT coalesce(sum(cost), 0) FROM usage WHERE used_at >= ?1";
        let sum: i64 =
            self.database.connection.query_row(query, [since], |row| row.get(0)).map_err(self.failed())?;
        Ok(u64::try_from(sum).unwrap_or(0))
    }
}
