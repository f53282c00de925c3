//! The dream pass: what sessions left is put in order when nobody waits. Notes and facts that say the same become one, facts that a later one
//! contradicts end, and sessions get a summary. No model is asked. When it ran last is in the database, with what it did, in one transaction:
//! several processes run it once, and a killed one leaves all or nothing.

use rusqlite::{OptionalExtension, Transaction, params};

use crate::embed;
use crate::error::IndexError;
use crate::memory::tokens;
use crate::project_store::ProjectStore;

/// The name of its row in `passes`.
const PASS: &str = "dream";
/// How alike two texts are that say the same, unless one has a word that the other has nothing like.
const SAME: f64 = 0.85;
/// Words are alike that differ in so many letters at their ends, and begin with so many that are the same.
const ENDING: usize = 3;
const STEM: usize = 4;
/// How many notes, facts and sessions one pass looks at, the newest of them.
const MOST_NOTES: i64 = 1_000;
const MOST_FACTS: i64 = 2_000;
const MOST_SESSIONS: i64 = 200;
/// How long a summary's part is, in characters.
const PART: usize = 300;
/// Relations that hold to one thing at a time: a later one ends the earlier.
const ONE_AT_A_TIME: &[&str] = &[
    "assigned_to",
    "configured_as",
    "decided",
    "decided_on",
    "default",
    "deployed_on",
    "deployed_to",
    "has_status",
    "has_value",
    "has_version",
    "is",
    "located_at",
    "located_in",
    "maintained_by",
    "named",
    "owned_by",
    "pinned_to",
    "replaced_by",
    "runs_on",
    "status",
    "version",
    "written_in",
];

/// When the pass runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DreamGates {
    /// How many sessions there must have been since the last one.
    pub min_sessions: u64,
    /// How many hours must have passed since.
    pub min_hours: u64,
}

/// What a pass did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dreamt {
    /// Notes and facts that were merged into another.
    pub merged: u64,
    /// Facts that ended because a later one contradicts them.
    pub closed: u64,
    /// Sessions that were summarised.
    pub summarised: u64,
}

impl ProjectStore {
    /// Returns whether enough has happened for a pass.
    pub fn dream_due(&self, gates: DreamGates, now: i64) -> Result<bool, IndexError> {
        let Some(project) = self.id else { return Ok(false) };
        due(&self.database.connection, project, gates, now).map_err(self.failed())
    }

    /// Runs the pass if it is due; `None` where it is not, or another process was quicker.
    pub fn dream(&mut self, gates: DreamGates, now: i64) -> Result<Option<Dreamt>, IndexError> {
        if !self.dream_due(gates, now)? {
            return Ok(None);
        }
        self.write(now, move |change, project| {
            if !due(change, project, gates, now)? {
                return Ok(None);
            }
            let merged = merge_notes(change, project, now)? + merge_facts(change, project, now)?;
            let dreamt = Dreamt {
                merged,
                closed: close_contradicted(change, project, now)?,
                summarised: summarise(change, project, now)?,
            };
            change.execute(
                "INSERT INTO passes (project_id, name, at) VALUES (?1, ?2, ?3)
                 ON CONFLICT (project_id, name) DO UPDATE SET at = excluded.at",
                params![project, PASS, now],
            )?;
            Ok(Some(dreamt))
        })
    }
}

fn due(
    connection: &rusqlite::Connection,
    project: i64,
    gates: DreamGates,
    now: i64,
) -> rusqlite::Result<bool> {
    let last: Option<i64> = connection
        .query_row(
            "SELECT at FROM passes WHERE project_id = ?1 AND name = ?2",
            params![project, PASS],
            |row| row.get(0),
        )
        .optional()?;
    // A clock that was put back does not hold it off for years.
    let last = last.filter(|last| *last <= now);
    let hours = last.map(|last| ((now - last) / 3_600) as u64);
    let sessions: u64 = connection.query_row(
        "SELECT count(*) FROM sessions WHERE project_id = ?1 AND file_time / 1000000000 > ?2",
        params![project, last.unwrap_or(-1)],
        |row| row.get(0),
    )?;
    Ok(sessions >= gates.min_sessions && hours.is_none_or(|hours| hours >= gates.min_hours))
}

/// Of notes that say the same the newest stays in recall, with the accesses of all.
fn merge_notes(change: &Transaction<'_>, project: i64, now: i64) -> rusqlite::Result<u64> {
    let mut rows = change.prepare(
        "SELECT id, content, access_count FROM messages WHERE project_id = ?1 AND session_id IS NULL AND evicted_at IS NULL
         ORDER BY id DESC LIMIT ?2",
    )?;
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get::<_, String>(1)?, row.get(2)?));
    let rows = rows.query_map(params![project, MOST_NOTES], row)?.collect::<Result<Vec<_>, _>>()?;
    let mut merged = 0;
    let mut kept: Vec<(i64, Said)> = Vec::new();
    for (id, text, accesses) in rows {
        let (id, accesses): (i64, u32) = (id, accesses);
        let Some(said) = Said::of(&text) else { continue };
        match kept.iter().find(|(_, other)| other.is_same(&said)) {
            Some((newer, _)) => {
                change.execute(
                    "UPDATE messages SET evicted_at = ?3 WHERE project_id = ?1 AND id = ?2",
                    params![project, id, now],
                )?;
                change.execute(
                    "UPDATE messages SET access_count = access_count + ?3 WHERE project_id = ?1 AND id = ?2",
                    params![project, newer, accesses],
                )?;
                merged += 1;
            }
            None => kept.push((id, said)),
        }
    }
    Ok(merged)
}

/// Deletes notes that left recall and say the same as one that is forgotten: it took their place, and they would come back without it.
pub(crate) fn forget_older_notes(
    change: &Transaction<'_>,
    project: i64,
    forgotten: &str,
) -> rusqlite::Result<()> {
    let Some(forgotten) = Said::of(forgotten) else { return Ok(()) };
    let mut rows = change.prepare(
        "SELECT id, content FROM messages WHERE project_id = ?1 AND session_id IS NULL AND evicted_at IS NOT NULL",
    )?;
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let rows: Vec<(i64, String)> = rows.query_map([project], row)?.collect::<Result<_, _>>()?;
    let is_same = |text: &str| Said::of(text).is_some_and(|said| said.is_same(&forgotten));
    for (id, _) in rows.iter().filter(|(_, text)| is_same(text)) {
        change.execute("DELETE FROM messages WHERE project_id = ?1 AND id = ?2", params![project, id])?;
    }
    Ok(())
}

/// A text, as it is compared with others.
struct Said {
    vector: embed::Vector,
    words: Vec<String>,
}

impl Said {
    /// Returns it; `None` where the text has no words.
    fn of(text: &str) -> Option<Self> {
        Some(Self { vector: embed::embed(text)?, words: embed::words(text).collect() })
    }

    /// Returns whether both say the same. Long texts that differ in a single word are as alike as two can be, and may say different things of different
    /// things.
    fn is_same(&self, other: &Self) -> bool {
        let within = |words: &[String], others: &[String]| {
            words.iter().all(|word| others.iter().any(|other| is_like(word, other)))
        };
        embed::cosine(&self.vector, &other.vector) >= SAME
            && within(&self.words, &other.words)
            && within(&other.words, &self.words)
    }
}

/// Returns whether two words differ in their endings at most. What has a digit is a number or a name, and has none.
fn is_like(a: &str, b: &str) -> bool {
    let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let longest = a.chars().count().max(b.chars().count());
    let ends =
        || same >= STEM && longest - same <= ENDING && !a.chars().chain(b.chars()).any(char::is_numeric);
    a == b || ends()
}

struct Edge {
    id: i64,
    source: i64,
    target: i64,
    relation: String,
    fact: String,
}

/// Returns the facts that hold, the newest first.
fn facts(change: &Transaction<'_>, project: i64) -> rusqlite::Result<Vec<Edge>> {
    let mut rows = change.prepare(
        "SELECT id, source, target, relation, fact FROM edges WHERE project_id = ?1 AND valid_to IS NULL
         ORDER BY id DESC LIMIT ?2",
    )?;
    let edge = |row: &rusqlite::Row<'_>| {
        Ok(Edge {
            id: row.get(0)?,
            source: row.get(1)?,
            target: row.get(2)?,
            relation: row.get(3)?,
            fact: row.get(4)?,
        })
    };
    rows.query_map(params![project, MOST_FACTS], edge)?.collect()
}

/// Of facts that join the same two and say the same the newest stays.
fn merge_facts(change: &Transaction<'_>, project: i64, now: i64) -> rusqlite::Result<u64> {
    let mut merged = 0;
    let mut kept: Vec<(Edge, Option<Said>)> = Vec::new();
    for edge in facts(change, project)? {
        let said = Said::of(&edge.fact);
        let same = kept.iter().find(|(other, its)| {
            (other.source, other.target) == (edge.source, edge.target)
                && (other.relation == edge.relation
                    || its.as_ref().zip(said.as_ref()).is_some_and(|(a, b)| a.is_same(b)))
        });
        match same {
            Some((newer, _)) => {
                end(change, project, edge.id, newer.id, now)?;
                merged += 1;
            }
            None => kept.push((edge, said)),
        }
    }
    Ok(merged)
}

/// Where a relation holds to one thing at a time, the newest fact of it holds.
fn close_contradicted(change: &Transaction<'_>, project: i64, now: i64) -> rusqlite::Result<u64> {
    let mut closed = 0;
    let mut newest: Vec<Edge> = Vec::new();
    for edge in facts(change, project)? {
        if !ONE_AT_A_TIME.contains(&edge.relation.as_str()) {
            continue;
        }
        let same = newest.iter().find(|other| other.source == edge.source && other.relation == edge.relation);
        match same {
            Some(newer) => {
                end(change, project, edge.id, newer.id, now)?;
                closed += 1;
            }
            None => newest.push(edge),
        }
    }
    Ok(closed)
}

fn end(change: &Transaction<'_>, project: i64, edge: i64, newer: i64, now: i64) -> rusqlite::Result<()> {
    change
        .execute(
            "UPDATE edges SET valid_to = ?3, superseded_by = ?4 WHERE project_id = ?1 AND id = ?2",
            params![project, edge, now, newer],
        )
        .map(drop)
}

/// Writes how sessions began and what was said last in them, where that is not written or no longer true.
fn summarise(change: &Transaction<'_>, project: i64, now: i64) -> rusqlite::Result<u64> {
    let mut rows = change.prepare(
        "SELECT s.id, min(m.id), max(m.id) FROM sessions s JOIN messages m ON m.session_id = s.id
         LEFT JOIN summaries u ON u.session_id = s.id AND u.kind = 'session'
         WHERE s.project_id = ?1 GROUP BY s.id HAVING u.id IS NULL OR u.last_message <> max(m.id)
         ORDER BY max(m.id) DESC LIMIT ?2",
    )?;
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let rows: Vec<(i64, i64, i64)> =
        rows.query_map(params![project, MOST_SESSIONS], row)?.collect::<Result<_, _>>()?;
    let content = |id: i64| {
        change.query_row(
            "SELECT content FROM messages WHERE project_id = ?1 AND id = ?2",
            params![project, id],
            |row| row.get::<_, String>(0),
        )
    };
    for (session, first, last) in &rows {
        let begin = part(&content(*first)?);
        let text = match first == last {
            true => begin,
            false => format!("{begin} ... {}", part(&content(*last)?)),
        };
        change.execute(
            "INSERT OR REPLACE INTO summaries (project_id, session_id, kind, first_message, last_message, text, tokens, created_at)
             VALUES (?1, ?2, 'session', ?3, ?4, ?5, ?6, ?7)",
            params![project, session, first, last, text, tokens(&text) as i64, now],
        )?;
    }
    Ok(rows.len() as u64)
}

/// Returns the beginning of a text, on one line.
fn part(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(PART) {
        Some((at, _)) => format!("{} [...]", &line[..at]),
        None => line,
    }
}
