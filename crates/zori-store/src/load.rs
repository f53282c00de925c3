//! Reads a session whatever has happened to its file: what cannot be read is skipped and reported, the rest is kept
//! (SES-9, LOG-2, LOG-3). The history that providers accept is made in `repair.rs`.

mod senders;

use std::collections::VecDeque;
use std::fmt;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use zori_core::compaction::ReplacedView;
use zori_core::message::{Message, Role};
use zori_core::usage::Usage;

use crate::error::StoreError;
use crate::lines::{Line, Lines, MAX_LINE};
use crate::record::decode::decode;
use crate::record::{Meta, Record, RecordKind};
use crate::views::{Views, views};
use senders::Senders;

/// The records of a session, in order, in memory bounded by the longest line.
pub struct Records {
    lines: Lines,
    path: PathBuf,
    line: u64,
    /// The rest of a line that held several records.
    waiting: VecDeque<Record>,
    /// About how many bytes of the file the last record took.
    last_size: usize,
    damage: Damage,
}

impl Records {
    pub(crate) fn new(source: Box<dyn Read + Send>, path: PathBuf) -> Self {
        Self {
            lines: Lines::new(source, MAX_LINE),
            path,
            line: 0,
            waiting: VecDeque::new(),
            last_size: 0,
            damage: Damage::default(),
        }
    }

    /// Returns what could not be read so far; complete when the iterator is done.
    pub fn damage(&self) -> &Damage {
        &self.damage
    }

    fn advance(&mut self) -> Result<Option<Record>, StoreError> {
        loop {
            if let Some(record) = self.waiting.pop_front() {
                return Ok(Some(record));
            }
            let Some(line) = self.lines.next().map_err(StoreError::at(&self.path))? else { return Ok(None) };
            self.line += 1;
            let (bytes, cut) = match line {
                Line::Whole(bytes) => (bytes, false),
                Line::Unterminated(bytes) => (bytes, true),
                Line::TooLong => {
                    self.damage.add(self.line, "longer than 64 MiB");
                    continue;
                }
            };
            if bytes.trim_ascii().is_empty() {
                continue;
            }
            self.last_size = bytes.len();
            let decoded = decode(bytes);
            if let Some(why) = decoded.damage {
                // Only the last line can be without an end; then it is a write that was not finished.
                self.damage.add(self.line, if cut { "cut off" } else { why });
            }
            self.waiting.extend(decoded.records);
        }
    }
}

impl Iterator for Records {
    type Item = Result<Record, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}

/// A session, loaded to be continued.
#[derive(Debug)]
pub struct LoadedSession {
    /// Its facts; `None` where that line is damaged or missing.
    pub meta: Option<Meta>,
    /// The conversation: starts with the user, alternates, and pairs each call with a result.
    pub history: Vec<Arc<Message>>,
    /// The views of it that compactions replaced, the oldest first.
    pub replaced: Vec<ReplacedView>,
    /// What all its replies used.
    pub usage: Usage,
    /// How many replies there are, without the summaries of compactions.
    pub replies: u64,
    /// How many prompts there are; the next turn is numbered on from it.
    pub prompts: u32,
    /// The messages of the conversation that scheduled jobs sent, each with the name of its job.
    pub scheduled: Vec<(Arc<Message>, String)>,
    /// What could not be read.
    pub damage: Damage,
    /// How many records of the conversation were left out because no provider accepts that much.
    pub left_out: u64,
}

/// How much of a session is kept: well over what any provider accepts as one request, and low enough for
/// LOG-12. Measured in bytes of the file.
const HISTORY_BYTES: usize = 96 << 20;

/// What a record costs beyond its text.
const RECORD_BYTES: usize = 256;

impl LoadedSession {
    pub(crate) fn read(records: Records) -> Result<Self, StoreError> {
        Self::read_up_to(records, HISTORY_BYTES, u64::MAX)
    }

    /// The same for the first `most` records, as if the others had never been written.
    pub(crate) fn read_first(records: Records, most: u64) -> Result<Self, StoreError> {
        Self::read_up_to(records, HISTORY_BYTES, most)
    }

    fn read_up_to(mut records: Records, limit: usize, most: u64) -> Result<Self, StoreError> {
        let (mut meta, mut usage, mut left_out) = (None, Usage::default(), 0);
        let (mut replies, mut read, mut prompts) = (0, 0, 0);
        let mut senders = Senders::default();
        let mut kept: VecDeque<(usize, Record)> = VecDeque::new();
        let (mut size, mut floor) = (0, 0_usize);
        while read < most
            && let Some(record) = records.advance()?
        {
            read += 1;
            if let Some(end) = &record.reply_end {
                usage += end.usage;
                // A summary was said to nobody.
                replies += u64::from(!matches!(record.kind, RecordKind::Compacted { .. }));
            }
            prompts += u32::from(record.begins_turn());
            senders.note(&record);
            if let RecordKind::Meta(found) = record.kind {
                meta.get_or_insert(found);
                continue;
            }
            if matches!(record.kind, RecordKind::Compacted { view: Some(_), .. }) {
                // What was left out before is not in the view in force anyway.
                left_out = 0;
            }
            let cost = records.last_size + RECORD_BYTES;
            size += cost;
            kept.push_back((cost, record));
            // The largest session is read once, so what cannot be dropped is not looked through again with each record.
            if size > limit.max(floor.saturating_mul(2)) {
                left_out += drop_oldest(&mut kept, &mut size, limit / 4 * 3);
                floor = if size > limit { size } else { 0 };
            }
        }
        let Views { history, replaced } = views(kept.into_iter().map(|(_, record)| record));
        Ok(Self {
            meta,
            scheduled: senders.messages_of_jobs(&history),
            history,
            replaced,
            usage,
            replies,
            prompts,
            damage: records.damage,
            left_out,
        })
    }
}

/// Drops records from the front until no more than `goal` is left, or nothing more can go. Returns how many of the view in
/// force were dropped.
///
/// What compactions replaced goes first: it is only there to be taken back. Then whole rounds of the view in force go, a
/// reply with its calls and their results, however long a turn is. The summary that the view begins with, the first prompt
/// and the last one before the cut stay.
fn drop_oldest(kept: &mut VecDeque<(usize, Record)>, size: &mut usize, goal: usize) -> u64 {
    let is_view = |record: &Record| matches!(record.kind, RecordKind::Compacted { view: Some(_), .. });
    let is_prompt = |record: &Record| matches!(record.kind, RecordKind::Message { role: Role::User, .. });
    while *size > goal
        && let Some(next) = kept.iter().skip(1).position(|(_, record)| is_view(record))
    {
        *size -= kept.drain(..=next).map(|(cost, _)| cost).sum::<usize>();
    }
    let mut summary = None;
    if kept.front().is_some_and(|(_, record)| is_view(record)) {
        summary = kept.pop_front();
    }
    let (mut first, mut last, mut dropped) = (None, None, 0);
    let mut after_result = false;
    while let Some((_, next)) = kept.front() {
        let begins_reply = matches!(
            next.kind,
            RecordKind::Message { role: Role::Assistant, .. }
                | RecordKind::Reasoning(_)
                | RecordKind::ToolUse(_)
        );
        if *size <= goal && (is_prompt(next) || after_result && begins_reply) {
            break;
        }
        let (cost, record) = kept.pop_front().expect("there is a front");
        after_result = match record.kind {
            RecordKind::ToolResult { .. } => true,
            RecordKind::Approval { .. } | RecordKind::Notice { .. } | RecordKind::Interrupted => after_result,
            _ => false,
        };
        if is_prompt(&record) {
            let slot = if first.is_none() { &mut first } else { &mut last };
            if let Some((cost, _)) = slot.replace((cost, record)) {
                *size -= cost;
                dropped += 1;
            }
            continue;
        }
        *size -= cost;
        dropped += 1;
    }
    for record in [last, first, summary].into_iter().flatten() {
        kept.push_front(record);
    }
    dropped
}

/// What could not be read of a session. Empty for a sound one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// How many lines.
    pub total: u64,
    /// The first of them.
    pub lines: Vec<DamagedLine>,
}

/// A line that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedLine {
    /// Its number, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub why: &'static str,
}

/// How many lines are listed one by one.
const MAX_REPORTED: usize = 20;

impl Damage {
    /// Returns whether everything could be read.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    fn add(&mut self, line: u64, why: &'static str) {
        self.total += 1;
        if self.lines.len() < MAX_REPORTED {
            self.lines.push(DamagedLine { line, why });
        }
    }
}

impl fmt::Display for Damage {
    /// `line 3 (cut off), line 7 (invalid UTF-8) and 12 more`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, DamagedLine { line, why }) in self.lines.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}line {line} ({why})")?;
        }
        match self.total.saturating_sub(self.lines.len() as u64) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests;
