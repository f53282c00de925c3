//! Messages that can be recalled: copied from session files, or saved by hand.

use std::collections::HashMap;

use rusqlite::{OptionalExtension, Row, Transaction, params};

use crate::database::Database;
use crate::dream::forget_older_notes;
use crate::embed;
use crate::error::IndexError;
use crate::project_store::ProjectStore;
use crate::vectors::VectorsOf;

/// How much of a message is kept; what is longer is in the session file.
const MOST_CHARS: usize = 8_000;
/// Fields of a [`Message`], for its queries.
pub(crate) const FIELDS: &str = "m.id, s.name, m.turn, m.role, m.content, m.said_at, m.tokens";

/// A message that can be recalled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its number in the database.
    pub id: i64,
    /// The session it is from; `None` for what was saved by hand.
    pub session: Option<String>,
    /// The turn of that session, from 1.
    pub turn: u32,
    /// `user`, `assistant` or `note`.
    pub role: String,
    pub content: String,
    /// When it was said, as the session file has it.
    pub said_at: String,
    /// About how many tokens it has.
    pub tokens: u64,
}

impl Message {
    pub(crate) fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            session: row.get(1)?,
            turn: row.get(2)?,
            role: row.get(3)?,
            content: row.get(4)?,
            said_at: row.get(5)?,
            tokens: row.get(6)?,
        })
    }
}

/// A session file, as the file system sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFile {
    /// The session's id.
    pub name: String,
    /// How many bytes it has.
    pub len: u64,
    /// When it was changed, in nanoseconds.
    pub time: u64,
}

/// What a session file says, as far as it can be recalled.
#[derive(Clone, Debug, Default)]
pub struct SessionCopy {
    pub title: String,
    /// Turn, role, text and time of each message.
    pub messages: Vec<(u32, &'static str, String, String)>,
}

/// What bringing the copy up to date came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Synced {
    /// How many sessions were read.
    pub read: u64,
    /// How many were as they were.
    pub unchanged: u64,
    /// How many are gone.
    pub gone: u64,
}

impl ProjectStore {
    /// Brings the copy of the project's sessions up to date. `read` is called for those that changed; one that cannot be read stays as it
    /// was. With `anew` all are read.
    pub fn sync(
        &mut self,
        files: &[SessionFile],
        anew: bool,
        now: i64,
        read: impl FnMut(&str) -> Option<SessionCopy>,
    ) -> Result<Synced, IndexError> {
        self.sync_while(files, anew, now, read, || true)
    }

    /// Does the same as long as `go_on` says so, which is asked before each session. What was copied until then stays.
    pub fn sync_while(
        &mut self,
        files: &[SessionFile],
        anew: bool,
        now: i64,
        mut read: impl FnMut(&str) -> Option<SessionCopy>,
        mut go_on: impl FnMut() -> bool,
    ) -> Result<Synced, IndexError> {
        let known = self.known_sessions()?;
        let mut synced = Synced::default();
        for file in files {
            if !go_on() {
                return Ok(synced);
            }
            let facts = (file.len as i64, file.time as i64);
            if !anew && known.get(&file.name) == Some(&facts) {
                synced.unchanged += 1;
                continue;
            }
            let Some(copy) = read(&file.name) else {
                synced.unchanged += 1;
                continue;
            };
            // One transaction a session: whoever else writes waits for one file, not for all.
            let file = file.clone();
            self.write(now, move |change, project| replace(change, project, &file, facts, copy, anew))?;
            synced.read += 1;
        }
        let is_gone = |name: &String| !files.iter().any(|file| file.name == *name);
        for name in known.into_keys().filter(is_gone) {
            self.write(now, move |change, project| {
                change.execute(
                    "DELETE FROM sessions WHERE project_id = ?1 AND name = ?2",
                    params![project, name],
                )
            })?;
            synced.gone += 1;
        }
        if anew {
            self.write(now, |change, project| {
                bring_notes_back(change, project)?;
                // An index whose words are not those of the messages says so nowhere.
                change.execute_batch("INSERT INTO messages_fts (messages_fts) VALUES ('rebuild')")
            })?;
        }
        Ok(synced)
    }

    /// Returns how many of the files the copy does not have as they are now, those that are gone included.
    pub fn behind(&self, files: &[SessionFile]) -> Result<usize, IndexError> {
        let mut known = self.known_sessions()?;
        let mut behind = 0;
        for file in files {
            let is_same = known.remove(&file.name) == Some((file.len as i64, file.time as i64));
            behind += usize::from(!is_same);
        }
        Ok(behind + known.len())
    }

    fn known_sessions(&self) -> Result<HashMap<String, (i64, i64)>, IndexError> {
        let failed = self.failed();
        let connection = &self.database.connection;
        let mut rows = connection
            .prepare("SELECT name, file_len, file_time FROM sessions WHERE project_id = ?1")
            .map_err(&failed)?;
        let row = |row: &Row<'_>| Ok((row.get(0)?, (row.get(1)?, row.get(2)?)));
        rows.query_map([self.id], row).map_err(&failed)?.collect::<Result<_, _>>().map_err(&failed)
    }

    /// Saves a note, and returns its number. The same text again is the same note.
    pub fn save_note(&mut self, text: &str, said_at: &str, now: i64) -> Result<i64, IndexError> {
        let (text, said_at) = (kept(text), said_at.to_owned());
        self.write(now, move |change, project| {
            let same = change
                .query_row(
                    "SELECT id FROM messages WHERE project_id = ?1 AND session_id IS NULL AND content = ?2
                         AND evicted_at IS NULL",
                    params![project, text],
                    |row| row.get(0),
                )
                .optional()?;
            match same {
                Some(id) => Ok(id),
                None => insert(change, project, None, 0, "note", &text, &said_at),
            }
        })
    }

    /// Returns how many messages can be recalled.
    pub fn count(&self) -> Result<u64, IndexError> {
        self.database
            .connection
            .query_row(
                "SELECT count(*) FROM messages WHERE project_id = ?1 AND evicted_at IS NULL",
                [self.id],
                |row| row.get(0),
            )
            .map_err(self.failed())
    }

    /// Returns all messages that can be recalled, newest first.
    pub fn messages(&self) -> Result<Vec<Message>, IndexError> {
        let failed = self.failed();
        let query = format!(
            "SELECT {FIELDS} FROM messages m LEFT JOIN sessions s ON s.id = m.session_id
             WHERE m.project_id = ?1 AND m.evicted_at IS NULL ORDER BY m.said_at DESC, m.id DESC"
        );
        let mut rows = self.database.connection.prepare(&query).map_err(&failed)?;
        rows.query_map([self.id], Message::of).map_err(&failed)?.collect::<Result<_, _>>().map_err(&failed)
    }

    /// Returns a message by its number, also one that was evicted.
    pub fn message(&self, id: i64) -> Result<Option<Message>, IndexError> {
        self.message_that(id, "")
    }

    /// Returns a message by its number, if it can be recalled.
    pub(crate) fn recallable(&self, id: i64) -> Result<Option<Message>, IndexError> {
        self.message_that(id, " AND m.evicted_at IS NULL")
    }

    fn message_that(&self, id: i64, condition: &str) -> Result<Option<Message>, IndexError> {
        let query = format!(
            "SELECT {FIELDS} FROM messages m LEFT JOIN sessions s ON s.id = m.session_id
             WHERE m.project_id = ?1 AND m.id = ?2{condition}"
        );
        let connection = &self.database.connection;
        connection.query_row(&query, params![self.id, id], Message::of).optional().map_err(self.failed())
    }

    /// Forgets messages, so that they do not come back when the copy is made again; returns which there were. The words leave the file, too.
    pub fn forget(&mut self, ids: &[i64], now: i64) -> Result<Vec<i64>, IndexError> {
        if self.id.is_none() {
            return Ok(Vec::new());
        }
        let ids = ids.to_vec();
        let gone = self.write(now, move |change, project| {
            let mut gone = Vec::new();
            for id in ids {
                let found = change
                    .query_row(
                        "SELECT s.name, m.turn, m.role, m.content, s.id FROM messages m
                         LEFT JOIN sessions s ON s.id = m.session_id WHERE m.project_id = ?1 AND m.id = ?2",
                        params![project, id],
                        |row| {
                            let session: Option<String> = row.get(0)?;
                            let content: String = row.get(3)?;
                            let role: String = row.get(2)?;
                            let digest =
                                |session: String| digest(&session, row.get(1).unwrap_or(0), &role, &content);
                            Ok((session.map(digest).zip(row.get::<_, Option<i64>>(4)?), content))
                        },
                    )
                    .optional()?;
                let Some((found, content)) = found else { continue };
                match found {
                    Some((digest, session)) => {
                        change.execute(
                            "INSERT OR IGNORE INTO forgotten (project_id, digest) VALUES (?1, ?2)",
                            params![project, digest],
                        )?;
                        leave_no_words(change, project, session)?;
                    }
                    None => forget_older_notes(change, project, &content)?,
                }
                change.execute(
                    "DELETE FROM messages WHERE project_id = ?1 AND id = ?2",
                    params![project, id],
                )?;
                gone.push(id);
            }
            Ok(gone)
        })?;
        empty_log(&self.database);
        Ok(gone)
    }
}

/// Takes what sessions said out of the copy, of whichever project they are, because their files are gone; returns how many it had. The words leave the
/// file, too.
pub fn remove_sessions(database: &Database, names: &[String]) -> Result<u64, IndexError> {
    let (names, failed) = (names.to_vec(), database.failed());
    let gone = database.change(move |connection| {
        let behavior = rusqlite::TransactionBehavior::Immediate;
        let change = connection.transaction_with_behavior(behavior).map_err(&failed)?;
        let remove = |name: &String| change.execute("DELETE FROM sessions WHERE name = ?1", [name]);
        let gone = names.iter().map(remove).sum::<rusqlite::Result<usize>>().map_err(&failed)?;
        change.commit().map_err(&failed)?;
        Ok(gone as u64)
    })?;
    empty_log(database);
    Ok(gone)
}

/// Works the log of changes off, in which deleted words stay until then; a reader may keep it from being.
pub(crate) fn empty_log(database: &Database) {
    let failed = database.failed();
    let _ = database.change(move |connection| {
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).map_err(failed)
    });
}

/// Deletes what is known of a session beside its messages, and may have words of one that is forgotten. A later dream sums up what is left.
fn leave_no_words(change: &Transaction<'_>, project: i64, session: i64) -> rusqlite::Result<()> {
    let of_session = params![project, session];
    change.execute("DELETE FROM summaries WHERE project_id = ?1 AND session_id = ?2", of_session)?;
    change.execute("UPDATE sessions SET title = '' WHERE project_id = ?1 AND id = ?2", of_session).map(drop)
}

/// Takes the place of what was known of a session. Messages that are as they were stay: their numbers, vectors and what else is known of them
/// hold. With `anew`, evicted ones come back.
fn replace(
    change: &Transaction<'_>,
    project: i64,
    file: &SessionFile,
    (len, time): (i64, i64),
    copy: SessionCopy,
    anew: bool,
) -> rusqlite::Result<()> {
    let turns = copy.messages.iter().map(|(turn, ..)| *turn).max().unwrap_or(0);
    let session: i64 = change.query_row(
        "INSERT INTO sessions (project_id, name, file_len, file_time, title, turns) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (project_id, name) DO UPDATE SET file_len = excluded.file_len, file_time = excluded.file_time,
             title = excluded.title, turns = excluded.turns
         RETURNING id",
        params![project, file.name, len, time, copy.title, turns],
        |row| row.get(0),
    )?;
    if anew {
        change.execute(
            "DELETE FROM messages WHERE project_id = ?1 AND session_id = ?2 AND evicted_at IS NOT NULL",
            params![project, session],
        )?;
    }
    let mut forgotten =
        change.prepare_cached("SELECT 1 FROM forgotten WHERE project_id = ?1 AND digest = ?2")?;
    let (mut wanted, mut is_whole) = (Vec::new(), true);
    for (turn, role, text, said_at) in copy.messages {
        let text = kept(&text);
        if forgotten.exists(params![project, digest(&file.name, turn, role, &text)])? {
            is_whole = false;
        } else if !text.is_empty() {
            wanted.push((turn, role, text, said_at));
        }
    }
    if !is_whole {
        leave_no_words(change, project, session)?;
    }
    let mut known = change.prepare_cached(
        "SELECT id, turn, role, content FROM messages WHERE project_id = ?1 AND session_id = ?2 ORDER BY id",
    )?;
    let row = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
    let known: Vec<(i64, u32, String, String)> =
        known.query_map(params![project, session], row)?.collect::<Result<_, _>>()?;
    let pairs = known.iter().zip(&wanted);
    let same = pairs
        .take_while(|((_, turn, role, text), new)| (*turn, role.as_str(), text) == (new.0, new.1, &new.2))
        .count();
    for (id, ..) in &known[same..] {
        change.execute("DELETE FROM messages WHERE project_id = ?1 AND id = ?2", params![project, id])?;
    }
    for (turn, role, text, said_at) in &wanted[same..] {
        insert(change, project, Some(session), *turn, role, text, said_at)?;
    }
    Ok(())
}

/// Has notes that left recall be recalled again. No session file has them.
fn bring_notes_back(change: &Transaction<'_>, project: i64) -> rusqlite::Result<()> {
    let mut back = change.prepare(
        "UPDATE messages SET evicted_at = NULL WHERE project_id = ?1 AND session_id IS NULL AND evicted_at IS NOT NULL
         RETURNING id, content",
    )?;
    let row = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let notes: Vec<(i64, String)> = back.query_map([project], row)?.collect::<Result<_, _>>()?;
    notes.iter().try_for_each(|(id, text)| add_vector(change, project, *id, text))
}

fn insert(
    change: &Transaction<'_>,
    project: i64,
    session: Option<i64>,
    turn: u32,
    role: &str,
    text: &str,
    said_at: &str,
) -> rusqlite::Result<i64> {
    change
        .prepare_cached(
            "INSERT INTO messages (project_id, session_id, turn, role, content, said_at, tokens, saved_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, coalesce(unixepoch(?6), 0))",
        )?
        .execute(params![project, session, turn, role, text, said_at, tokens(text) as i64])?;
    let id = change.last_insert_rowid();
    add_vector(change, project, id, text)?;
    Ok(id)
}

/// Keeps the built-in embedder's vector of a message, where it has one.
fn add_vector(change: &Transaction<'_>, project: i64, id: i64, text: &str) -> rusqlite::Result<()> {
    let Some(vector) = embed::embed(text) else { return Ok(()) };
    let mut add = change.prepare_cached(
        "INSERT INTO vectors (project_id, owner_kind, owner_id, model, vector) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    add.execute(params![project, VectorsOf::Messages.name(), id, embed::MODEL, embed::bytes(&vector)])
        .map(drop)
}

/// Returns a text as it is kept.
fn kept(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MOST_CHARS) {
        Some((at, _)) => format!("{} [...]", &text[..at]),
        None => text.to_owned(),
    }
}

/// Returns about how many tokens a text has.
pub(crate) fn tokens(text: &str) -> u64 {
    (text.len() as u64).div_ceil(4)
}

/// Returns what a forgotten message is known by; the text cannot be read from it.
fn digest(session: &str, turn: u32, role: &str, content: &str) -> Vec<u8> {
    let mut hash = blake3::Hasher::new();
    for part in [session, &turn.to_string(), role, content] {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().as_bytes().to_vec()
}
