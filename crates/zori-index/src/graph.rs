//! What messages are about: entities, and facts that join two of them. A background pass of the caller takes them from messages; here they are
//! kept, shown, and lead from one message to another.

use std::collections::HashSet;

use rusqlite::{OptionalExtension, Row, Transaction, params};

use crate::embed;
use crate::error::IndexError;
use crate::memory::Message;
use crate::project_store::ProjectStore;
use crate::recall::beside;

/// How many messages the graph leads a question to.
const LED_TO: usize = 50;
/// The longest name, and the longest fact, in characters.
const LONGEST_NAME: usize = 120;
const LONGEST_FACT: usize = 400;

/// A fact that was taken from a message.
#[derive(Clone, Debug, PartialEq)]
pub struct NewFact {
    /// The message it was taken from.
    pub message: i64,
    pub source: NewEntity,
    pub target: NewEntity,
    /// In a word or two, such as `runs_on`.
    pub relation: String,
    /// The fact as a sentence.
    pub fact: String,
    /// From 0 to 1.
    pub confidence: f64,
}

/// Something that a fact is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEntity {
    pub name: String,
    /// Such as `file`, `person`, `tool`.
    pub kind: String,
}

/// A fact, as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    pub id: i64,
    pub source: String,
    pub relation: String,
    pub target: String,
    pub fact: String,
    pub confidence: f64,
    /// Seconds since 1970; the end is `None` as long as it holds.
    pub valid_from: i64,
    pub valid_to: Option<i64>,
    /// The message it was taken from.
    pub message: i64,
}

/// Something that facts are about, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entity {
    pub name: String,
    pub kind: String,
    /// How many facts about it hold.
    pub facts: u64,
    /// Seconds since 1970.
    pub last_seen: i64,
}

/// What a session was about, in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSummary {
    pub session: String,
    pub text: String,
}

impl ProjectStore {
    /// Returns messages that nothing was taken from yet, oldest first.
    pub fn unextracted(&self, most: usize) -> Result<Vec<Message>, IndexError> {
        let failed = self.failed();
        let query = format!(
            "SELECT {} FROM messages m LEFT JOIN sessions s ON s.id = m.session_id
             WHERE m.project_id = ?1 AND m.extracted_at IS NULL AND m.evicted_at IS NULL ORDER BY m.id LIMIT ?2",
            crate::memory::FIELDS
        );
        let mut rows = self.database.connection.prepare(&query).map_err(&failed)?;
        let rows = rows.query_map(params![self.id, most as i64], Message::of).map_err(&failed)?;
        rows.collect::<Result<_, _>>().map_err(&failed)
    }

    /// Keeps facts, and notes that these messages were looked at. A fact of another message, or without words, is left out; returns how many
    /// were kept.
    pub fn add_facts(&mut self, looked_at: &[i64], facts: &[NewFact], now: i64) -> Result<u64, IndexError> {
        let (looked_at, facts) = (looked_at.to_vec(), facts.to_vec());
        self.write(now, move |change, project| {
            for id in &looked_at {
                change.execute(
                    "UPDATE messages SET extracted_at = ?3 WHERE project_id = ?1 AND id = ?2",
                    params![project, id, now],
                )?;
            }
            let mut kept = 0;
            for fact in facts.iter().filter(|fact| looked_at.contains(&fact.message)) {
                let there: bool = change.query_row(
                    "SELECT EXISTS (SELECT 1 FROM messages WHERE project_id = ?1 AND id = ?2)",
                    params![project, fact.message],
                    |row| row.get(0),
                )?;
                kept += u64::from(there && add_fact(change, project, fact, now)?);
            }
            Ok(kept)
        })
    }

    /// Returns facts, the newest first; with a text those about something whose name has it.
    pub fn facts(&self, about: Option<&str>, most: usize) -> Result<Vec<Fact>, IndexError> {
        let failed = self.failed();
        let about = about.map(canonical).unwrap_or_default();
        let mut rows = self
            .database
            .connection
            .prepare(
                "SELECT e.id, s.name, e.relation, t.name, e.fact, e.confidence, e.valid_from, e.valid_to, e.message_id
                 FROM edges e JOIN entities s ON s.id = e.source JOIN entities t ON t.id = e.target
                 WHERE e.project_id = ?1 AND (instr(s.canonical, ?2) > 0 OR instr(t.canonical, ?2) > 0)
                 ORDER BY e.valid_to IS NOT NULL, e.id DESC LIMIT ?3",
            )
            .map_err(&failed)?;
        let fact = |row: &Row<'_>| {
            Ok(Fact {
                id: row.get(0)?,
                source: row.get(1)?,
                relation: row.get(2)?,
                target: row.get(3)?,
                fact: row.get(4)?,
                confidence: row.get(5)?,
                valid_from: row.get(6)?,
                valid_to: row.get(7)?,
                message: row.get(8)?,
            })
        };
        let rows = rows.query_map(params![self.id, about, most as i64], fact).map_err(&failed)?;
        rows.collect::<Result<_, _>>().map_err(&failed)
    }

    /// Returns what facts are about, that with the most facts first.
    pub fn entities(&self, most: usize) -> Result<Vec<Entity>, IndexError> {
        let failed = self.failed();
        let mut rows = self
            .database
            .connection
            .prepare(
                "SELECT n.name, n.type, n.last_seen, (SELECT count(*) FROM edges e WHERE e.project_id = n.project_id
                     AND e.valid_to IS NULL AND (e.source = n.id OR e.target = n.id)) AS facts
                 FROM entities n WHERE n.project_id = ?1 ORDER BY facts DESC, n.canonical LIMIT ?2",
            )
            .map_err(&failed)?;
        let entity = |row: &Row<'_>| {
            Ok(Entity { name: row.get(0)?, kind: row.get(1)?, last_seen: row.get(2)?, facts: row.get(3)? })
        };
        let rows = rows.query_map(params![self.id, most as i64], entity).map_err(&failed)?;
        rows.collect::<Result<_, _>>().map_err(&failed)
    }

    /// Returns what sessions were about, the newest first.
    pub fn summaries(&self, most: usize) -> Result<Vec<SessionSummary>, IndexError> {
        let failed = self.failed();
        let mut rows = self
            .database
            .connection
            .prepare(
                "SELECT s.name, u.text FROM summaries u JOIN sessions s ON s.id = u.session_id
                 WHERE u.project_id = ?1 AND u.kind = 'session' ORDER BY u.last_message DESC LIMIT ?2",
            )
            .map_err(&failed)?;
        let summary = |row: &Row<'_>| Ok(SessionSummary { session: row.get(0)?, text: row.get(1)? });
        let rows = rows.query_map(params![self.id, most as i64], summary).map_err(&failed)?;
        rows.collect::<Result<_, _>>().map_err(&failed)
    }

    /// Returns the messages that the graph leads to: from the entities that a question names over at most two facts that hold, the nearest first.
    pub(crate) fn by_graph(&self, question: &str, own: &HashSet<i64>) -> Result<Vec<i64>, IndexError> {
        let failed = self.failed();
        let connection = &self.database.connection;
        let any: bool = connection
            .query_row("SELECT EXISTS (SELECT 1 FROM entities WHERE project_id = ?1)", [self.id], |row| {
                row.get(0)
            })
            .map_err(&failed)?;
        if !any {
            return Ok(Vec::new());
        }
        let asked = format!(" {} ", canonical(question));
        let mut rows = connection
            .prepare(
                "WITH RECURSIVE near (id, hops) AS (
                     SELECT id, 0 FROM entities WHERE project_id = ?1 AND instr(?2, ' ' || canonical || ' ') > 0
                     UNION
                     SELECT CASE e.source WHEN near.id THEN e.target ELSE e.source END, near.hops + 1
                     FROM near JOIN edges e ON e.project_id = ?1 AND e.valid_to IS NULL AND near.id IN (e.source, e.target)
                     WHERE near.hops < 1
                 )
                 SELECT e.message_id, min(near.hops) AS hops FROM near
                 JOIN edges e ON e.project_id = ?1 AND e.valid_to IS NULL AND near.id IN (e.source, e.target)
                 GROUP BY e.message_id ORDER BY hops, e.message_id DESC LIMIT ?3",
            )
            .map_err(&failed)?;
        let most = (LED_TO + own.len()) as i64;
        let rows = rows.query_map(params![self.id, asked, most], |row| row.get(0)).map_err(&failed)?;
        Ok(beside(rows.collect::<Result<_, _>>().map_err(&failed)?, own, LED_TO))
    }
}

fn add_fact(change: &Transaction<'_>, project: i64, new: &NewFact, now: i64) -> rusqlite::Result<bool> {
    let relation = canonical(&new.relation).replace(' ', "_");
    let fact = cut(new.fact.trim(), LONGEST_FACT);
    if [&relation, &fact, &canonical(&new.source.name), &canonical(&new.target.name)]
        .iter()
        .any(|text| text.is_empty())
    {
        return Ok(false);
    }
    let (Some(source), Some(target)) =
        (entity(change, project, &new.source, now)?, entity(change, project, &new.target, now)?)
    else {
        return Ok(false);
    };
    let confidence = if new.confidence.is_finite() { new.confidence.clamp(0.0, 1.0) } else { 0.0 };
    change.execute(
        "INSERT INTO edges (project_id, source, target, relation, fact, confidence, valid_from, message_id)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![project, source, target, relation, fact, confidence, now, new.message],
    )?;
    Ok(true)
}

/// Returns the entity of this name and type, made where there is none; `None` where the name has no words.
fn entity(
    change: &Transaction<'_>,
    project: i64,
    new: &NewEntity,
    now: i64,
) -> rusqlite::Result<Option<i64>> {
    let name = cut(new.name.trim(), LONGEST_NAME);
    let (canonical, kind) = (canonical(&name), canonical(&new.kind));
    if canonical.is_empty() {
        return Ok(None);
    }
    let kind = if kind.is_empty() { "thing".to_owned() } else { kind };
    change
        .query_row(
            "INSERT INTO entities (project_id, name, canonical, type, summary, first_seen, last_seen)
             VALUES (?1, ?2, ?3, ?4, '', ?5, ?5)
             ON CONFLICT (project_id, canonical, type) DO UPDATE SET last_seen = max(last_seen, excluded.last_seen)
             RETURNING id",
            params![project, name, canonical, kind, now],
            |row| row.get(0),
        )
        .optional()
}

/// Returns a name as it is compared: its words in small letters.
fn canonical(name: &str) -> String {
    embed::words(name).collect::<Vec<_>>().join(" ")
}

fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}
