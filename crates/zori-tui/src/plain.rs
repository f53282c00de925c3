//! The chat as rows that are only appended (ACC-1), for dumb terminals and screen readers: the state, the cells and the commands are those of the
//! screen, and nothing is drawn twice. What a turn does is told in words when that changes.

use std::time::Duration;

use zori_core::event::NoticeLevel;

use crate::cell::{Cell as _, CellCx, Detail};
use crate::cells::NoticeCell;
use crate::commands::ScreenCommand;
use crate::row::{Role, Row, Span};
use crate::state::{Phase, State};
use crate::status;
use crate::terminal::inline::{Commit, Voice};
use crate::transcript::Entry;
use crate::update::{self, Effect, Msg, screen_command};

/// How long an answer or a thought comes before that is said.
const BRIEF: Duration = Duration::from_secs(1);
/// How wide the column of numbers is that `/find` puts before its rows.
const NUMBER: usize = 5;

/// The chat, line by line.
#[derive(Debug)]
pub struct PlainChat {
    pub state: State,
    /// What the keys of the line editor do, for `/keys`.
    pub line_keys: &'static str,
    /// What the turn was last said to do.
    told: Option<Phase>,
    /// The newest call that was said to run.
    running: u32,
    /// Rows that are in no cell.
    rows: Vec<Commit>,
}

impl PlainChat {
    /// Returns the chat with this state.
    pub fn new(state: State, line_keys: &'static str) -> Self {
        Self { state, line_keys, told: None, running: 0, rows: Vec::new() }
    }

    /// Takes something that happened; returns what has to be done.
    pub fn take(&mut self, now: Duration, msg: Msg<'_>) -> Vec<Effect> {
        update::update(&mut self.state, now, msg)
    }

    /// Takes out the rows that have come, in the order they are to be written.
    pub fn drain(&mut self) -> Vec<Commit> {
        let mut rows = std::mem::take(&mut self.rows);
        rows.extend(self.state.transcript.drain(self.state.size.width()));
        rows.retain(|commit| commit.voice != Voice::Gap);
        rows.extend(self.status());
        rows
    }

    /// Says what the turn does, where that has changed.
    fn status(&mut self) -> Vec<Commit> {
        let state = &self.state;
        let Some(turn) = &state.turn else {
            self.told = None;
            return Vec::new();
        };
        let mut said: Vec<Row> = Vec::new();
        for open in state.transcript.open_cells(state.now).filter(|open| open.running.is_some()) {
            let Some(number) = open.number.filter(|number| *number > self.running) else { continue };
            self.running = number;
            let title = open.cell().summary().spans.into_iter().skip(1);
            let mut row = Row::empty().with("Running ");
            row.spans.extend(title);
            row.push(Span::new(format!("  #{number}")).muted());
            said.push(row);
        }
        // What is said or thought at once needs no words before it.
        let brief = matches!(turn.phase, Phase::Answering | Phase::Thinking)
            && state.now.saturating_sub(turn.since) < BRIEF;
        if self.told.as_ref() != Some(&turn.phase) && !brief {
            // A call is told by its own words, a question asks by itself.
            if !matches!(turn.phase, Phase::Running(_) | Phase::Asking) {
                let mut row =
                    Row::from(Span::new(status::doing(&turn.phase, turn.since, &state.facts.model)));
                if let Phase::Retrying { why, .. } = &turn.phase {
                    row.push(Span::new(format!(" · {why}")).muted());
                }
                said.push(row);
            }
            if let (None, Some(first)) = (&self.told, said.first_mut()) {
                first.push(Span::new(" · Ctrl-C stops").muted());
            }
            self.told = Some(turn.phase.clone());
        }
        let sign = Span::new(format!("{} ", status::still(state.options.signs))).role(Role::Accent);
        let whole = |row: Row| Row { spans: std::iter::once(sign.clone()).chain(row.spans).collect() };
        said.into_iter().map(|row| Commit::from(whole(row))).collect()
    }

    /// Runs a line if it is a command of the chat itself, whose rows come with the others; returns what else has to be done. `None`: it is no such
    /// command.
    pub fn command(&mut self, now: Duration, line: &str) -> Option<Vec<Effect>> {
        self.state.now = now;
        let (_, command, rest) = screen_command::find(&self.state, line)?;
        let mut effects = Vec::new();
        match command {
            // The lines come one by one anyway.
            ScreenCommand::Lines => return None,
            ScreenCommand::Keys if rest.is_empty() => self.tell(self.line_keys),
            ScreenCommand::Keys => {
                let words = format!("`/keys {rest}` is for the chat on a screen. Here: {}", self.line_keys);
                self.tell(&words);
            }
            ScreenCommand::Find => self.find(rest),
            ScreenCommand::History => self.history(),
            ScreenCommand::Show => match screen_command::shown(&self.state, rest) {
                Ok((number, None)) => self.show(number),
                Ok((number, Some(file))) => effects.push(Effect::ShowFile { number, file }),
                Err(why) => self.tell(&why),
            },
            _ => drop(screen_command::run(&mut self.state, line, &mut effects)),
        }
        Some(effects)
    }

    /// Writes all of a cell.
    pub fn show(&mut self, number: u32) {
        if let Some(entry) = self.state.transcript.numbered(number) {
            let rows = self.laid_out(entry, Detail::Whole, 0);
            self.write(rows);
        }
    }

    /// Says something that is no part of the conversation.
    fn tell(&mut self, text: &str) {
        let cx =
            CellCx { number: None, detail: Detail::Short, running: None, signs: self.state.options.signs };
        let rows = NoticeCell::new(NoticeLevel::Info, text).rows(self.state.size.width(), &cx);
        self.write(rows);
    }

    /// Writes rows that are in no cell.
    pub fn write(&mut self, rows: Vec<Row>) {
        self.rows.extend(rows.into_iter().map(Commit::from));
    }

    /// Writes every row that has these words, with the number of its cell.
    fn find(&mut self, words: &str) {
        if words.is_empty() {
            return self.tell("`/find WORDS` shows the rows of this chat that have them.");
        }
        let wanted = words.to_lowercase();
        let mut found = Vec::new();
        for entry in self.state.transcript.entries() {
            let number = entry.number.map_or_else(String::new, |number| format!("#{number}"));
            let rows = self.laid_out(entry, Detail::Whole, NUMBER);
            let rows = rows.into_iter().filter(|row| row.text().to_lowercase().contains(&wanted));
            found.extend(rows.map(|row| {
                let head = Span::new(format!("{number:<NUMBER$}")).muted();
                Row { spans: std::iter::once(head).chain(row.spans).collect() }
            }));
        }
        match found.is_empty() {
            true => self.tell(&format!("`{words}` is nowhere here.")),
            false => self.write(found),
        }
    }

    /// Writes the whole conversation.
    fn history(&mut self) {
        let entries = self.state.transcript.entries();
        let rows: Vec<Row> =
            entries.iter().flat_map(|entry| self.laid_out(entry, Detail::Short, 0)).collect();
        match rows.is_empty() {
            true => self.tell("Nothing has been said yet."),
            false => self.write(rows),
        }
    }

    /// Lays a cell out, with so many columns left free before it.
    fn laid_out(&self, entry: &Entry, detail: Detail, free: usize) -> Vec<Row> {
        let cx = CellCx { number: entry.number, detail, running: None, signs: self.state.options.signs };
        let width = usize::from(self.state.size.width()).saturating_sub(free).max(1);
        entry.cell.rows(u16::try_from(width).unwrap_or(u16::MAX), &cx)
    }
}
