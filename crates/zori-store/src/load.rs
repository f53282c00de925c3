//! Reading a session whatever has happened to its file: what cannot be read is passed over and reported, the
//! rest is kept (SES-9, LOG-2, LOG-3). The history that providers accept is made in `repair.rs`.

use std::collections::VecDeque;
use std::fmt;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use zori_core::compaction::Replaced;
use zori_core::message::{Message, Role};
use zori_core::usage::Usage;

use crate::error::StoreError;
use crate::lines::{Line, Lines, MAX_LINE};
use crate::record::decode::decode;
use crate::record::{Meta, Record, RecordKind};
use crate::views::{Views, views};

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

/// A session, ready to go on with.
#[derive(Debug)]
pub struct Loaded {
    /// Its facts; `None` where that line is damaged or missing.
    pub meta: Option<Meta>,
    /// The conversation: starts with the user, alternates, and pairs each call with a result.
    pub history: Vec<Arc<Message>>,
    /// The views of it that compactions replaced, the oldest first.
    pub replaced: Vec<Replaced>,
    /// What all its replies used.
    pub usage: Usage,
    /// How many replies there are, without the summaries of compactions.
    pub replies: u64,
    /// What could not be read.
    pub damage: Damage,
    /// How many old records were left out because no provider takes that much.
    pub left_out: u64,
}

/// How much of a session is kept: well over what any provider accepts as one request, and low enough for
/// LOG-12. Measured in bytes of the file.
const HISTORY_BYTES: usize = 96 << 20;

/// What a record costs beside its text.
const RECORD_BYTES: usize = 256;

impl Loaded {
    pub(crate) fn read(records: Records) -> Result<Self, StoreError> {
        Self::read_up_to(records, HISTORY_BYTES, u64::MAX)
    }

    /// The same of the first so many records, as if the others had never been written.
    pub(crate) fn read_first(records: Records, most: u64) -> Result<Self, StoreError> {
        Self::read_up_to(records, HISTORY_BYTES, most)
    }

    fn read_up_to(mut records: Records, limit: usize, most: u64) -> Result<Self, StoreError> {
        let (mut meta, mut usage, mut left_out) = (None, Usage::default(), 0);
        let (mut replies, mut read) = (0, 0);
        let mut kept: VecDeque<(usize, Record)> = VecDeque::new();
        let mut size = 0;
        while read < most
            && let Some(record) = records.advance()?
        {
            read += 1;
            if let Some(end) = &record.reply_end {
                usage += end.usage;
                // A summary was said to nobody.
                replies += u64::from(!matches!(record.kind, RecordKind::Compacted { .. }));
            }
            if let RecordKind::Meta(found) = record.kind {
                meta.get_or_insert(found);
                continue;
            }
            let cost = records.last_size + RECORD_BYTES;
            size += cost;
            kept.push_back((cost, record));
            if size > limit {
                left_out += drop_oldest(&mut kept, &mut size, limit / 4 * 3);
            }
        }
        let Views { history, replaced } = views(kept.into_iter().map(|(_, record)| record));
        Ok(Self { meta, history, replaced, usage, replies, damage: records.damage, left_out })
    }
}

/// Drops whole turns from the front until no more than `goal` is left.
fn drop_oldest(kept: &mut VecDeque<(usize, Record)>, size: &mut usize, goal: usize) -> u64 {
    let mut dropped = 0;
    while let Some((_, next)) = kept.front() {
        let begins_turn = matches!(next.kind, RecordKind::Message { role: Role::User, .. });
        if *size <= goal && begins_turn {
            break;
        }
        let (cost, _) = kept.pop_front().expect("there is a front");
        *size -= cost;
        dropped += 1;
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

/// So many lines are remembered one by one.
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
