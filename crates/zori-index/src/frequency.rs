//! How many rows have a word, and which words of a question are worth weighing rows by. Finding a row by a word is quick; weighing it (BM25) takes a hundred
//! times as long, and a question has words that nearly every row has.

use rusqlite::params;

use crate::error::IndexError;
use crate::project_store::ProjectStore;

/// A word that so many rows have tells nothing of any of them.
pub(crate) const COMMON: usize = 4_000;
/// How many rows are weighed, about: more take longer than somebody should wait.
pub(crate) const WEIGHED: usize = 1_200;

/// A word, as a query of the full-text index has it, and how many rows have it; no more than [`COMMON`] are counted.
pub(crate) type Counted = (usize, String);

impl ProjectStore {
    /// Counts the rows of a full-text index that have each of these words, of all projects; the rarest word comes first.
    pub(crate) fn counted(
        &self,
        table: &str,
        words: impl IntoIterator<Item = String>,
    ) -> Result<Vec<Counted>, IndexError> {
        let query =
            format!("SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH ?1 LIMIT {COMMON})");
        let failed = self.failed();
        let mut row = self.database.connection.prepare_cached(&query).map_err(&failed)?;
        let count = |word: String| {
            let word = format!("\"{word}\"");
            let count = row.query_row(params![word], |row| row.get(0));
            count.map(|count| (count, word)).map_err(&failed)
        };
        let mut counted: Vec<Counted> = words.into_iter().map(count).collect::<Result<_, _>>()?;
        counted.sort();
        counted.dedup();
        Ok(counted)
    }
}

/// Divides words into those whose rows are weighed, and the others; the first word is among them however many rows have it.
pub(crate) fn rarest(counted: Vec<Counted>) -> (Vec<Counted>, Vec<Counted>) {
    let mut weighed = 0;
    let mut first = true;
    counted.into_iter().partition(|(count, _)| {
        let taken = std::mem::take(&mut first) || weighed + count <= WEIGHED;
        weighed += if taken { *count } else { 0 };
        taken
    })
}
