//! The code index of a project: what is known of its files, and how that is replaced file by file. Who walks and reads the files is the
//! caller; searching is in `code_search.rs`.

use std::collections::HashMap;

use rusqlite::{Row, Transaction, params};

use crate::error::IndexError;
use crate::project_store::ProjectStore;

/// What is known of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownFile {
    pub size: u64,
    pub mtime_ns: i64,
    /// Of its contents; empty where they were never read.
    pub hash: Vec<u8>,
}

/// A file, as it is to be known.
#[derive(Clone, Debug)]
pub struct CodeFile {
    /// Below the project's root.
    pub path: String,
    pub size: u64,
    pub mtime_ns: i64,
    pub hash: Vec<u8>,
    pub lang: &'static str,
    /// What is in it, or why that is not indexed.
    pub content: Result<CodeContent, &'static str>,
}

/// What is in a file.
#[derive(Clone, Debug, Default)]
pub struct CodeContent {
    pub symbols: Vec<CodeSymbol>,
    pub chunks: Vec<CodeChunk>,
}

/// A symbol of a file. Lines are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeSymbol {
    pub name: String,
    /// The words of the name that capitals join.
    pub parts: String,
    pub kind: String,
    pub signature: String,
    pub start: u32,
    pub end: u32,
    /// The symbol it is in, by its place in the list.
    pub parent: Option<usize>,
}

/// A piece of a file. Lines are counted from 1.
#[derive(Clone, Debug)]
pub struct CodeChunk {
    pub start: u32,
    pub end: u32,
    pub text: String,
    pub parts: String,
}

/// A change of what is known.
#[derive(Clone, Debug)]
pub enum CodeChange {
    /// The file is new or another one.
    Put(Box<CodeFile>),
    /// Only size and time are others; the contents are the same.
    Touched { path: String, size: u64, mtime_ns: i64 },
    /// The file is gone.
    Gone(String),
}

/// How much is indexed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeStatus {
    /// Files with something in the index.
    pub files: u64,
    pub symbols: u64,
    pub chunks: u64,
    /// Bytes of the files with something in the index.
    pub bytes: u64,
    /// Files by language.
    pub languages: Vec<(String, u64)>,
    /// Files of which nothing is indexed, by reason.
    pub skipped: Vec<(String, u64)>,
    /// How many files the last pass found.
    pub found: u64,
    /// When a pass last came to its end, in seconds since 1970.
    pub finished_at: Option<i64>,
}

/// How far the files of a project are indexed. It is known without a look at what is in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodeProgress {
    /// How many files were looked at, whatever came of it.
    pub looked_at: u64,
    /// How many files the last pass found.
    pub found: u64,
    /// Whether the first pass has come to its end.
    pub is_whole: bool,
}

impl CodeStatus {
    /// Counts the files of a reason and a language, and their bytes: those of a reason stand behind each other.
    fn add(&mut self, row: &Row<'_>) -> rusqlite::Result<()> {
        let (reason, language, count, bytes): (Option<String>, String, u64, u64) =
            (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        match reason {
            None => {
                self.files += count;
                self.bytes += bytes;
                self.languages.push((language, count));
            }
            Some(reason) => match self.skipped.last_mut().filter(|(last, _)| *last == reason) {
                Some((_, all)) => *all += count,
                None => self.skipped.push((reason, count)),
            },
        }
        Ok(())
    }

    /// Returns how far it is.
    pub fn progress(&self) -> CodeProgress {
        CodeProgress { looked_at: self.looked_at(), found: self.found, is_whole: self.is_whole() }
    }

    /// Returns how many files were looked at, whatever came of it.
    pub fn looked_at(&self) -> u64 {
        self.files + self.skipped.iter().map(|(_, count)| count).sum::<u64>()
    }

    /// Returns whether the first pass has come to its end.
    pub fn is_whole(&self) -> bool {
        self.finished_at.is_some()
    }
}

impl ProjectStore {
    /// Returns what is known of the project's files, by path.
    pub fn code_files(&self) -> Result<HashMap<String, KnownFile>, IndexError> {
        let failed = self.failed();
        let connection = &self.database.connection;
        let mut rows = connection
            .prepare("SELECT path, size, mtime_ns, hash FROM code_files WHERE project_id = ?1")
            .map_err(&failed)?;
        let row = |row: &Row<'_>| {
            Ok((row.get(0)?, KnownFile { size: row.get(1)?, mtime_ns: row.get(2)?, hash: row.get(3)? }))
        };
        rows.query_map([self.id], row).map_err(&failed)?.collect::<Result<_, _>>().map_err(&failed)
    }

    /// Carries changes out, in one transaction.
    pub fn change_code(&mut self, changes: Vec<CodeChange>, now: i64) -> Result<(), IndexError> {
        if changes.is_empty() {
            return Ok(());
        }
        self.write(now, move |change, project| {
            changes.iter().try_for_each(|one| carry_out(change, project, one, now))
        })
    }

    /// Notes how many files a pass has found, before it reads them.
    pub fn begin_code_pass(&mut self, found: u64, now: i64) -> Result<(), IndexError> {
        self.write(now, move |change, project| {
            change.execute(
                "INSERT INTO code_passes (project_id, found) VALUES (?1, ?2)
                 ON CONFLICT (project_id) DO UPDATE SET found = excluded.found WHERE found <> excluded.found",
                params![project, found],
            )
        })
        .map(drop)
    }

    /// Notes that a pass came to its end.
    pub fn end_code_pass(&mut self, now: i64) -> Result<(), IndexError> {
        self.write(now, move |change, project| {
            change.execute(
                "UPDATE code_passes SET finished_at = ?2 WHERE project_id = ?1",
                params![project, now],
            )
        })
        .map(drop)
    }

    /// Returns how far the files are indexed.
    pub fn code_progress(&self) -> Result<CodeProgress, IndexError> {
        let query = "SELECT (SELECT count(*) FROM code_files WHERE project_id = ?1), p.found, p.finished_at IS NOT NULL
             FROM (SELECT 1) LEFT JOIN code_passes p ON p.project_id = ?1";
        let progress = |row: &Row<'_>| {
            let found = row.get::<_, Option<u64>>(1)?.unwrap_or_default();
            Ok(CodeProgress { looked_at: row.get(0)?, found, is_whole: row.get(2)? })
        };
        self.database.connection.query_row(query, [self.id], progress).map_err(self.failed())
    }

    /// Returns how much is indexed.
    pub fn code_status(&self) -> Result<CodeStatus, IndexError> {
        let failed = self.failed();
        let connection = &self.database.connection;
        let number =
            |query: &str| connection.query_row(query, [self.id], |row| row.get::<_, u64>(0)).map_err(&failed);
        let pass = connection.query_row(
            "SELECT found, finished_at FROM code_passes WHERE project_id = ?1",
            [self.id],
            |row| Ok((row.get(0)?, row.get(1)?)),
        );
        let (found, finished_at) = match pass {
            Ok(pass) => pass,
            Err(rusqlite::Error::QueryReturnedNoRows) => (0, None),
            Err(error) => return Err(failed(error)),
        };
        let mut status = CodeStatus {
            symbols: number("SELECT count(*) FROM code_symbols WHERE project_id = ?1")?,
            // By the index of a file's chunks: their texts are not looked at.
            chunks: number(
                "SELECT count(*) FROM code_files f JOIN code_chunks c ON c.file_id = f.id WHERE f.project_id = ?1",
            )?,
            found,
            finished_at,
            ..CodeStatus::default()
        };
        // Once through the files, which are many.
        let query = "SELECT skipped, lang, count(*), sum(size) FROM code_files WHERE project_id = ?1
                     GROUP BY skipped, lang ORDER BY skipped, lang";
        let mut groups = connection.prepare_cached(query).map_err(&failed)?;
        let mut rows = groups.query([self.id]).map_err(&failed)?;
        while let Some(row) = rows.next().map_err(&failed)? {
            status.add(row).map_err(&failed)?;
        }
        // Those of one size stay in the order of their names.
        status.languages.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        Ok(status)
    }

    /// Deletes the index of the project; returns how many files it had.
    pub fn clear_code(&mut self, now: i64) -> Result<u64, IndexError> {
        if self.id.is_none() {
            return Ok(0);
        }
        self.write(now, |change, project| {
            change.execute("DELETE FROM code_passes WHERE project_id = ?1", params![project])?;
            // What is in a file goes with it, the words of the full-text index included.
            change.execute("DELETE FROM code_files WHERE project_id = ?1", params![project])
        })
        .map(|count| count as u64)
    }
}

fn carry_out(change: &Transaction<'_>, project: i64, one: &CodeChange, now: i64) -> rusqlite::Result<()> {
    let remove = |path: &str| {
        change
            .prepare_cached("DELETE FROM code_files WHERE project_id = ?1 AND path = ?2")?
            .execute(params![project, path])
    };
    match one {
        CodeChange::Gone(path) => remove(path).map(drop),
        CodeChange::Touched { path, size, mtime_ns } => change
            .prepare_cached(
                "UPDATE code_files SET size = ?3, mtime_ns = ?4 WHERE project_id = ?1 AND path = ?2",
            )?
            .execute(params![project, path, size, mtime_ns])
            .map(drop),
        CodeChange::Put(file) => {
            remove(&file.path)?;
            put(change, project, file, now)
        }
    }
}

fn put(change: &Transaction<'_>, project: i64, file: &CodeFile, now: i64) -> rusqlite::Result<()> {
    let CodeFile { path, size, mtime_ns, hash, lang, content } = file;
    change
        .prepare_cached(
            "INSERT INTO code_files (project_id, path, size, mtime_ns, hash, lang, skipped, indexed_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![project, path, size, mtime_ns, hash, lang, content.as_ref().err(), now])?;
    let Ok(content) = content else { return Ok(()) };
    let id = change.last_insert_rowid();
    let mut symbols = change.prepare_cached(
        "INSERT INTO code_symbols (project_id, file_id, name, parts, kind, signature, start_line, end_line, parent)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    for symbol in &content.symbols {
        let CodeSymbol { name, parts, kind, signature, start, end, parent } = symbol;
        let parent = parent.map(|parent| parent as i64);
        symbols.execute(params![project, id, name, parts, kind, signature, start, end, parent])?;
    }
    let mut chunks = change.prepare_cached(
        "INSERT INTO code_chunks (project_id, file_id, start_line, end_line, text, parts) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for CodeChunk { start, end, text, parts } in &content.chunks {
        chunks.execute(params![project, id, start, end, text, parts])?;
    }
    Ok(())
}
