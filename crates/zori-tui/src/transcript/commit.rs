//! The cells as rows: those that will not change any more are committed, once and in order; the others are drawn anew.

use std::sync::Arc;
use std::time::Duration;

use super::{Entry, Group, Open, Transcript, file_links};
use crate::cell::{Cell, CellCx, Detail, Signs};
use crate::cells::{AnswerCell, ThinkingCell, ToolCell, joined};
use crate::row::{Row, Span};
use crate::state::Thinking;
use crate::status::shown_seconds;
use crate::terminal::inline::{Commit, Voice};

/// How many running calls are shown.
const RUNNING: usize = 3;

impl Transcript {
    /// Takes out the rows that will not change any more.
    pub fn drain(&mut self, width: u16) -> Vec<Commit> {
        let mut out = Vec::new();
        while let Some(front) = self.open.front_mut() {
            match front {
                Open::Done(at) => {
                    let at = *at;
                    let entry = &self.entries[at];
                    let rows = entry.cell.rows(width, &cx(self.signs, entry.number, None));
                    let group = entry.group;
                    self.commit(rows, group, true, &mut out);
                    self.committed(at);
                }
                Open::Answer { stream, done, begun, text } => {
                    let mut rows = stream.take_stable(width);
                    let finished = *done;
                    if finished {
                        rows.extend(stream.finish(width));
                    }
                    let first = !*begun;
                    *begun |= !rows.is_empty();
                    let text = if finished { Some(std::mem::take(text)) } else { None };
                    if !rows.is_empty() {
                        self.commit(rows, Group::Answer, first, &mut out);
                    }
                    let Some(text) = text else { break };
                    let text: Arc<str> = text.into();
                    self.answer = Some(text.clone());
                    self.entries.push(Entry {
                        number: None,
                        cell: Box::new(AnswerCell::new(text)),
                        group: Group::Answer,
                        hidden: false,
                        committed: false,
                    });
                    self.committed(self.entries.len() - 1);
                }
                Open::Thinking { text, number, started, done } => {
                    let Some(ended) = *done else { break };
                    let (text, took) = (std::mem::take(text), ended.saturating_sub(*started));
                    let number = *number;
                    let cell = ThinkingCell::new(&text, took);
                    let cell = if self.thinking == Thinking::Show { cell.shown() } else { cell };
                    let rows = match self.thinking {
                        Thinking::Hide => Vec::new(),
                        Thinking::Fold | Thinking::Show => {
                            cell.rows(width, &cx(self.signs, Some(number), None))
                        }
                    };
                    self.entries.push(Entry {
                        number: Some(number),
                        cell: Box::new(cell),
                        group: Group::Tools,
                        hidden: self.thinking == Thinking::Hide,
                        committed: false,
                    });
                    self.committed(self.entries.len() - 1);
                    self.commit(rows, Group::Tools, true, &mut out);
                }
                Open::Tool { done: false, .. } => break,
                Open::Tool { number, cell, .. } => {
                    let rows = cell.rows(width, &cx(self.signs, Some(*number), None));
                    let looks = self.looks(0);
                    if looks > 0 && self.may_look_on(looks) {
                        break;
                    }
                    let rows = if looks > 1 { vec![self.joined(0, looks, width)] } else { rows };
                    self.commit(rows, Group::Tools, true, &mut out);
                    for _ in 0..looks.max(1) {
                        self.keep_tool();
                    }
                    continue;
                }
            }
            self.open.pop_front();
        }
        out
    }

    /// Returns how many calls from here on only looked at things, and went well.
    fn looks(&self, from: usize) -> usize {
        let looked = |open: &&Open| match open {
            Open::Tool { cell, done: true, own: false, .. } => joined(&[cell.as_ref()]).is_some(),
            _ => false,
        };
        self.open.iter().skip(from).take_while(looked).count()
    }

    /// Returns whether a call may come that joins the first ones.
    fn may_look_on(&self, looks: usize) -> bool {
        match self.open.get(looks) {
            None => !self.settled,
            Some(Open::Tool { cell, done: false, own: false, .. }) => cell.looks(),
            Some(_) => false,
        }
    }

    /// Returns the row of calls that stand as one.
    fn joined(&self, from: usize, count: usize, width: u16) -> Row {
        let calls = self.open.iter().skip(from).take(count).filter_map(|open| match open {
            Open::Tool { cell, number, .. } => Some((cell.as_ref(), *number)),
            _ => None,
        });
        let (cells, numbers): (Vec<&ToolCell>, Vec<u32>) = calls.unzip();
        crate::cells::joined_row(&cells, &numbers, width, self.signs)
    }

    /// Puts the first call to what is complete.
    fn keep_tool(&mut self) {
        if let Some(Open::Tool { cell, number, .. }) = self.open.pop_front() {
            self.entries.push(Entry {
                number: Some(number),
                cell,
                group: Group::Tools,
                hidden: false,
                committed: false,
            });
            self.committed(self.entries.len() - 1);
        }
    }

    /// Returns the rows that may still change.
    pub fn live(&self, width: u16, now: Duration) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut last = self.last;
        let mut gap = |group: Group, rows: &mut Vec<Row>| {
            if last.is_some_and(|last| last != group) {
                rows.push(Row::empty());
            }
            last = Some(group);
        };
        let mut running = 0;
        let mut waiting = false;
        let mut skip = 0;
        for (at, open) in self.open.iter().enumerate() {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            let looks = self.looks(at);
            if looks > 1 {
                (waiting, skip) = (true, looks - 1);
                gap(Group::Tools, &mut rows);
                rows.push(self.joined(at, looks, width));
                continue;
            }
            match open {
                // Words that came meanwhile are seen at once, and committed behind what is not complete yet.
                Open::Done(at) if waiting => {
                    let entry = &self.entries[*at];
                    gap(entry.group, &mut rows);
                    rows.extend(entry.cell.rows(width, &cx(self.signs, entry.number, None)));
                }
                Open::Done(_) => {}
                Open::Answer { stream, .. } => {
                    waiting = true;
                    let tail = stream.tail(width);
                    if !tail.is_empty() {
                        gap(Group::Answer, &mut rows);
                        rows.extend(tail);
                    }
                }
                Open::Thinking { text, started, done, .. } => {
                    waiting = true;
                    if self.thinking == Thinking::Show && done.is_none() {
                        gap(Group::Tools, &mut rows);
                        let cell = ThinkingCell::new(text, now.saturating_sub(*started)).shown();
                        rows.extend(cell.rows(width, &cx(self.signs, None, None)));
                    }
                }
                Open::Tool { cell, number, started, done, .. } => {
                    waiting = true;
                    running += 1;
                    if running <= RUNNING {
                        gap(Group::Tools, &mut rows);
                        let elapsed = started.filter(|_| !done).map(|started| {
                            let passed = now.saturating_sub(started);
                            Duration::from_secs(shown_seconds(passed, self.motion))
                        });
                        rows.extend(cell.rows(width, &cx(self.signs, Some(*number), elapsed)));
                    }
                }
            }
        }
        if running > RUNNING {
            rows.push(Span::new(format!("  +{} running", running - RUNNING)).muted().into());
        }
        rows
    }

    /// Has the last cells committed once more, as many as fit into so many rows at this width (Ctrl-L).
    pub fn again(&mut self, width: u16, most: usize) {
        let committed = match self.open.iter().find_map(|open| match open {
            Open::Done(at) => Some(*at),
            _ => None,
        }) {
            Some(first) => first,
            None => self.entries.len(),
        };
        let mut used = 0;
        for at in (0..committed).rev() {
            let entry = &self.entries[at];
            used += entry.cell.rows(width, &cx(self.signs, entry.number, None)).len() + 1;
            if used > most && at + 1 < committed {
                break;
            }
            self.open.push_front(Open::Done(at));
        }
    }

    /// Has everything that was committed laid out once more, in the order it was, for a screen that shows all of it.
    pub fn all_again(&mut self) {
        for at in std::mem::take(&mut self.order).into_iter().rev() {
            self.entries[at].committed = false;
            if !self.entries[at].hidden {
                self.open.push_front(Open::Done(at));
            }
        }
        self.last = None;
    }

    /// Takes note of what was committed when: words to the user may be there before the answer that they follow is complete.
    fn committed(&mut self, at: usize) {
        if !std::mem::replace(&mut self.entries[at].committed, true) {
            self.order.push(at);
        }
    }

    fn commit(&mut self, mut rows: Vec<Row>, group: Group, first: bool, out: &mut Vec<Commit>) {
        if rows.is_empty() {
            return;
        }
        if let Some(root) = self.root.as_ref().filter(|_| matches!(group, Group::Answer | Group::Tools)) {
            rows = rows.into_iter().map(|row| file_links::linked(row, root)).collect();
        }
        let apart = match (self.last, group) {
            (None, _) => false,
            (Some(Group::User), _) | (_, Group::User) => true,
            (Some(last), group) => last != group,
        };
        if first && apart {
            out.push(Commit { row: Row::empty(), voice: Voice::Gap });
        }
        for (i, row) in rows.into_iter().enumerate() {
            let voice = match group {
                Group::User if i == 0 => Voice::Prompt,
                Group::User => Voice::User,
                Group::Answer => Voice::Answer,
                Group::Tools | Group::Notice | Group::Beside => Voice::Words,
            };
            out.push(Commit { row, voice });
        }
        self.last = Some(group);
    }
}

fn cx(signs: Signs, number: Option<u32>, running: Option<Duration>) -> CellCx {
    CellCx { number, detail: Detail::Short, running, signs }
}
