//! Finding code: by the names of symbols and by the words of chunks (FTS5, BM25), both rankings fused by reciprocal rank. A ranking of vectors
//! can be handed in as a third one.

use std::collections::HashMap;

use rusqlite::{OptionalExtension, ToSql, params};

use crate::code::CodeSymbol;
use crate::error::IndexError;
use crate::frequency::{COMMON, Counted, rarest};
use crate::project_store::ProjectStore;

/// The constant of reciprocal rank fusion, as its authors have it.
const RANK_CONSTANT: f64 = 60.0;
/// How many of each ranking count.
const RANKED: usize = 60;
/// How many of the best rows of all projects are looked through for this one's before all are.
const FIRST_LOOK: usize = 400;
/// How many words of a question are looked for.
const MOST_WORDS: usize = 16;

/// A question about code.
#[derive(Clone, Debug, Default)]
pub struct CodeQuestion<'a> {
    /// Its words, in small letters.
    pub words: &'a [String],
    /// Names as they were written, any of which may be a symbol's.
    pub names: &'a [&'a str],
    /// Only symbols of this kind.
    pub kind: Option<&'a str>,
    /// Only files in this folder, or this file, below the root.
    pub path: Option<&'a str>,
    /// Chunks that are alike by another measure, best first.
    pub alike: &'a [i64],
    /// How many places are wanted.
    pub limit: usize,
}

/// A place in the code that fits a question.
#[derive(Clone, Debug, PartialEq)]
pub struct CodeHit {
    /// The chunk, by its number.
    pub chunk: i64,
    pub path: String,
    pub lang: String,
    /// Lines of the place, from 1: those of the symbol where one fits, else of the chunk.
    pub start: u32,
    pub end: u32,
    /// The symbol that fits.
    pub symbol: Option<CodeSymbol>,
    /// The chunk's first line and text.
    pub chunk_start: u32,
    pub text: String,
    /// How well it fits; only comparable within one search.
    pub score: f64,
}

/// A file of the map, with its symbols in the order of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappedFile {
    pub path: String,
    pub symbols: Vec<CodeSymbol>,
}

/// A symbol that fits, and where.
struct SymbolHit {
    file: i64,
    symbol: CodeSymbol,
}

impl ProjectStore {
    /// Returns the places that fit best, best first.
    pub fn search_code(&self, question: &CodeQuestion<'_>) -> Result<Vec<CodeHit>, IndexError> {
        let mut scores: HashMap<i64, f64> = HashMap::new();
        let mut found: HashMap<i64, SymbolHit> = HashMap::new();
        let score = |rank: usize| 1.0 / (RANK_CONSTANT + rank as f64 + 1.0);
        for (rank, hit) in self.symbols_that_fit(question)?.into_iter().enumerate() {
            let Some(chunk) = self.chunk_at(hit.file, hit.symbol.start)? else { continue };
            // The name of a thing says more than the words around it, and more still where nothing else was asked for.
            let exact = matches!(question.names, [name] if name.eq_ignore_ascii_case(&hit.symbol.name));
            let entry = scores.entry(chunk).or_default();
            *entry = entry.max(score(rank) * if exact { 4.0 } else { 2.0 });
            found.entry(chunk).or_insert(hit);
        }
        if question.kind.is_none() {
            for ranking in [&self.chunks_that_fit(question)?[..], question.alike] {
                for (rank, chunk) in ranking.iter().enumerate() {
                    *scores.entry(*chunk).or_default() += score(rank);
                }
            }
        }
        let mut ranked: Vec<(i64, f64)> = scores.into_iter().collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let mut hits = Vec::new();
        for (chunk, score) in ranked {
            if hits.len() == question.limit {
                break;
            }
            let symbol = found.remove(&chunk).map(|hit| hit.symbol);
            hits.extend(self.hit(chunk, symbol, score, question.path)?);
        }
        Ok(hits)
    }

    /// Returns the kinds of symbols that the project has, by name.
    pub fn code_kinds(&self) -> Result<Vec<String>, IndexError> {
        let failed = self.failed();
        let query = "SELECT DISTINCT kind FROM code_symbols WHERE project_id = ?1 ORDER BY kind";
        let mut rows = self.database.connection.prepare(query).map_err(&failed)?;
        rows.query_map([self.id], |row| row.get(0))
            .map_err(&failed)?
            .collect::<Result<_, _>>()
            .map_err(&failed)
    }

    /// Returns the files of the project, or of a folder of it, with their symbols.
    pub fn code_map(&self, path: Option<&str>) -> Result<Vec<MappedFile>, IndexError> {
        let failed = self.failed();
        let connection = &self.database.connection;
        let mut files = connection
            .prepare_cached(
                "SELECT id, path FROM code_files WHERE project_id = ?1 AND skipped IS NULL
                 AND (?2 IS NULL OR path = ?2 OR substr(path, 1, length(?2) + 1) = ?2 || '/') ORDER BY path",
            )
            .map_err(&failed)?;
        let mut symbols = connection
            .prepare_cached(
                "SELECT name, parts, kind, signature, start_line, end_line, parent FROM code_symbols
                 WHERE file_id = ?1 AND project_id = ?2 ORDER BY id",
            )
            .map_err(&failed)?;
        let rows = files
            .query_map(params![self.id, path], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)))
            .map_err(&failed)?;
        let mut map = Vec::new();
        for row in rows {
            let (file, path) = row.map_err(&failed)?;
            let listed = symbols.query_map(params![file, self.id], |row| symbol(row, 0)).map_err(&failed)?;
            map.push(MappedFile { path, symbols: listed.collect::<Result<_, _>>().map_err(&failed)? });
        }
        Ok(map)
    }

    fn symbols_that_fit(&self, question: &CodeQuestion<'_>) -> Result<Vec<SymbolHit>, IndexError> {
        const COLUMNS: &str =
            "s.file_id, s.name, s.parts, s.kind, s.signature, s.start_line, s.end_line, s.parent";
        let failed = self.failed();
        let connection = &self.database.connection;
        let mut hits: Vec<SymbolHit> = Vec::new();
        let mut take = |query: &str, params: &[&dyn ToSql]| -> Result<(), IndexError> {
            let mut rows = connection.prepare_cached(query).map_err(&failed)?;
            let row = |row: &rusqlite::Row<'_>| Ok(SymbolHit { file: row.get(0)?, symbol: symbol(row, 1)? });
            for hit in rows.query_map(params, row).map_err(&failed)? {
                let hit = hit.map_err(&failed)?;
                let known = |known: &SymbolHit| known.file == hit.file && known.symbol == hit.symbol;
                if hits.len() < RANKED && !hits.iter().any(known) {
                    hits.push(hit);
                }
            }
            Ok(())
        };
        let exact = format!(
            "SELECT {COLUMNS} FROM code_symbols s JOIN code_files f ON f.id = s.file_id
             WHERE s.project_id = ?1 AND s.name = ?2 COLLATE NOCASE AND {IN_PATH} AND (?4 IS NULL OR s.kind = ?4)
             ORDER BY s.name <> ?2, f.path, s.start_line LIMIT {RANKED}"
        );
        for name in question.names.iter().take(MOST_WORDS) {
            take(&exact, &[&self.id, name, &question.path, &question.kind])?;
        }
        let words = format!(
            "SELECT {COLUMNS} FROM code_symbols_fts t JOIN code_symbols s ON s.id = t.rowid
             JOIN code_files f ON f.id = s.file_id
             WHERE code_symbols_fts MATCH ?2 AND s.project_id = ?1 AND {IN_PATH} AND (?4 IS NULL OR s.kind = ?4)
             ORDER BY bm25(code_symbols_fts), length(s.name), f.path, s.start_line LIMIT {RANKED}"
        );
        let (telling, common) = self.telling("code_symbols_fts", question)?;
        match (all_of(&telling), all_of(&common)) {
            (Some(query), _) => take(&words, &[&self.id, &query, &question.path, &question.kind])?,
            // Where nothing tells symbols apart, those that come first are as good as any.
            (None, Some(query)) => {
                let first = words
                    .replace("ORDER BY bm25(code_symbols_fts), length(s.name), f.path, s.start_line ", "");
                take(&first, &[&self.id, &query, &question.path, &question.kind])?;
            }
            (None, None) => {}
        }
        Ok(hits)
    }

    /// Returns chunks with all the words, then those with any.
    fn chunks_that_fit(&self, question: &CodeQuestion<'_>) -> Result<Vec<i64>, IndexError> {
        let (mut telling, common) = self.telling("code_chunks_fts", question)?;
        telling.retain(|(count, _)| *count > 0);
        let words: Vec<String> =
            [&telling, &common].into_iter().flatten().map(|(_, word)| word.clone()).collect();
        let mut chunks = Vec::new();
        let mut take = |found: Vec<i64>| {
            for chunk in found {
                if chunks.len() < RANKED && !chunks.contains(&chunk) {
                    chunks.push(chunk);
                }
            }
            chunks.len() < question.limit.min(RANKED)
        };
        let left_out = match all_of(&telling) {
            Some(all) => {
                let (rare, others) = rarest(telling);
                let any = any_of(&rare).filter(|any| *any != all);
                let wants_more = take(self.chunks_matching(&all, question)?);
                if let Some(any) = any.filter(|_| wants_more) {
                    take(self.chunks_matching(&any, question)?);
                }
                !others.is_empty() || !common.is_empty()
            }
            // Where nothing tells chunks apart, those that come first are as good as any.
            None => {
                if let Some(all) = all_of(&common) {
                    take(self.first_chunks(&all, question)?);
                }
                common.len() > 1
            }
        };
        // What was left out may be all that this project has: words are counted over all of them.
        if chunks.is_empty() && left_out {
            chunks = self.chunks_matching(&words.join(" OR "), question)?;
        }
        Ok(chunks)
    }

    /// Returns the words of a question that tell rows of a full-text index apart, the rarest first, and those that very many rows have.
    fn telling(
        &self,
        table: &str,
        question: &CodeQuestion<'_>,
    ) -> Result<(Vec<Counted>, Vec<Counted>), IndexError> {
        let letters = |word: &&String| word.chars().all(char::is_alphanumeric) && !word.is_empty();
        let words = question.words.iter().filter(letters).take(MOST_WORDS).cloned();
        Ok(self.counted(table, words)?.into_iter().partition(|(count, _)| *count < COMMON))
    }

    /// Returns chunks that a query finds, unweighed.
    fn first_chunks(&self, query: &str, question: &CodeQuestion<'_>) -> Result<Vec<i64>, IndexError> {
        let failed = self.failed();
        let mut rows = self
            .database
            .connection
            .prepare_cached(&format!(
                "SELECT c.id FROM code_chunks_fts t CROSS JOIN code_chunks c ON c.id = t.rowid
                 JOIN code_files f ON f.id = c.file_id
                 WHERE code_chunks_fts MATCH ?2 AND c.project_id = ?1 AND {IN_PATH} LIMIT {RANKED}"
            ))
            .map_err(&failed)?;
        let rows =
            rows.query_map(params![self.id, query, question.path], |row| row.get(0)).map_err(&failed)?;
        rows.collect::<Result<_, _>>().map_err(&failed)
    }

    fn chunks_matching(&self, query: &str, question: &CodeQuestion<'_>) -> Result<Vec<i64>, IndexError> {
        let failed = self.failed();
        let connection = &self.database.connection;
        let rows = |query_text: &str, params: &[&dyn ToSql]| -> Result<Vec<i64>, IndexError> {
            let mut rows = connection.prepare_cached(query_text).map_err(&failed)?;
            let rows = rows.query_map(params, |row| row.get(0)).map_err(&failed)?;
            rows.collect::<Result<_, _>>().map_err(&failed)
        };
        if question.path.is_none() {
            let best = rows(
                &format!(
                    "SELECT rowid FROM code_chunks_fts WHERE code_chunks_fts MATCH ?1 ORDER BY rank LIMIT {FIRST_LOOK}"
                ),
                &[&query],
            )?;
            let all = best.len();
            let mut own = Vec::new();
            for chunk in best {
                if own.len() < RANKED && self.is_own(chunk)? {
                    own.push(chunk);
                }
            }
            if all < FIRST_LOOK || own.len() >= question.limit.min(RANKED) {
                return Ok(own);
            }
        }
        rows(
            &format!(
                "SELECT c.id FROM code_chunks_fts t JOIN code_chunks c ON c.id = t.rowid JOIN code_files f ON f.id = c.file_id
                 WHERE code_chunks_fts MATCH ?2 AND c.project_id = ?1 AND {IN_PATH}
                 ORDER BY bm25(code_chunks_fts), c.id LIMIT {RANKED}"
            ),
            &[&self.id, &query, &question.path],
        )
    }

    fn is_own(&self, chunk: i64) -> Result<bool, IndexError> {
        let mut row = self
            .database
            .connection
            .prepare_cached("SELECT 1 FROM code_chunks WHERE id = ?1 AND project_id = ?2")
            .map_err(self.failed())?;
        row.exists(params![chunk, self.id]).map_err(self.failed())
    }

    /// Returns the chunk of a file that a line is in.
    fn chunk_at(&self, file: i64, line: u32) -> Result<Option<i64>, IndexError> {
        let mut row = self
            .database
            .connection
            .prepare_cached(
                "SELECT id FROM code_chunks WHERE file_id = ?1 AND project_id = ?2 AND start_line <= ?3
                 ORDER BY start_line DESC LIMIT 1",
            )
            .map_err(self.failed())?;
        row.query_row(params![file, self.id, line], |row| row.get(0)).optional().map_err(self.failed())
    }

    fn hit(
        &self,
        chunk: i64,
        symbol: Option<CodeSymbol>,
        score: f64,
        path: Option<&str>,
    ) -> Result<Option<CodeHit>, IndexError> {
        let mut row = self
            .database
            .connection
            .prepare_cached(&format!(
                "SELECT f.path, f.lang, c.start_line, c.end_line, c.text FROM code_chunks c
                 JOIN code_files f ON f.id = c.file_id
                 WHERE c.id = ?2 AND c.project_id = ?1 AND {IN_PATH}"
            ))
            .map_err(self.failed())?;
        let hit = row
            .query_row(params![self.id, chunk, path], |row| {
                Ok(CodeHit {
                    chunk,
                    path: row.get(0)?,
                    lang: row.get(1)?,
                    start: row.get(2)?,
                    end: row.get(3)?,
                    chunk_start: row.get(2)?,
                    text: row.get(4)?,
                    symbol: None,
                    score,
                })
            })
            .optional()
            .map_err(self.failed())?;
        Ok(hit.map(|hit| match symbol {
            Some(symbol) => CodeHit { start: symbol.start, end: symbol.end, symbol: Some(symbol), ..hit },
            None => hit,
        }))
    }
}

/// That a file is in the folder of a question, or it.
const IN_PATH: &str = "(?3 IS NULL OR f.path = ?3 OR substr(f.path, 1, length(?3) + 1) = ?3 || '/')";

fn symbol(row: &rusqlite::Row<'_>, first: usize) -> rusqlite::Result<CodeSymbol> {
    Ok(CodeSymbol {
        name: row.get(first)?,
        parts: row.get(first + 1)?,
        kind: row.get(first + 2)?,
        signature: row.get(first + 3)?,
        start: row.get(first + 4)?,
        end: row.get(first + 5)?,
        parent: row.get::<_, Option<i64>>(first + 6)?.and_then(|parent| usize::try_from(parent).ok()),
    })
}

/// Returns words as a query; each is in quotes, so that none is taken for an operator.
fn joined(words: &[Counted], with: &str) -> Option<String> {
    let words: Vec<&str> = words.iter().map(|(_, word)| word.as_str()).collect();
    (!words.is_empty()).then(|| words.join(with))
}

fn all_of(words: &[Counted]) -> Option<String> {
    joined(words, " AND ")
}

fn any_of(words: &[Counted]) -> Option<String> {
    joined(words, " OR ")
}
