//! The pager over all cells (Ctrl-O) and over the whole text of a question, on the other screen.

use std::time::Duration;

use crate::cell::{CellCx, Detail};
use crate::keymap::{Action, Bound};
use crate::keys::{Key, KeyCode};
use crate::question::QUIET_FOR;
use crate::row::{Ground, Row, Span};
use crate::state::{Size, State};
use crate::wrap::{self, Break};

/// Something that is leafed through.
#[derive(Debug)]
pub struct Pager {
    subject: Subject,
    /// The first row on the screen; `None` means the end.
    top: Option<usize>,
    /// What is being searched for, and whether it is still being typed.
    words: String,
    typing: bool,
    /// The cell to begin with.
    begin: Option<u32>,
    /// Whether cells are as short as in the transcript.
    folded: bool,
    /// When the last `y` came, of which the first opened the question; none so soon after another approves.
    asked: Duration,
}

#[derive(Debug)]
enum Subject {
    Transcript,
    Question(Vec<Row>),
    Text(Vec<Row>),
}

/// Whether a key ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PagerEnd {
    No,
    Closed,
    /// `y` at the end of a question.
    Approved,
    /// The cell at this row goes to the clipboard.
    Copy(usize),
    /// The command of the cell at this row is run again.
    Rerun(usize),
}

impl Pager {
    /// Opens all cells, or begins at one.
    pub fn transcript(begin: Option<u32>) -> Self {
        Self {
            subject: Subject::Transcript,
            top: None,
            words: String::new(),
            typing: false,
            begin,
            folded: false,
            asked: Duration::ZERO,
        }
    }

    /// Opens the whole text of a question, by a key that came now.
    pub fn question(rows: Vec<Row>, now: Duration) -> Self {
        Self {
            subject: Subject::Question(rows),
            top: Some(0),
            words: String::new(),
            typing: false,
            begin: None,
            folded: false,
            asked: now,
        }
    }

    /// Opens a text that is only read.
    pub fn text(rows: Vec<Row>) -> Self {
        Self { subject: Subject::Text(rows), ..Self::question(Vec::new(), Duration::ZERO) }
    }

    /// Looks for words.
    pub fn search(&mut self, words: &str) {
        self.words = words.to_owned();
    }

    /// Takes a key. `rows`: everything there is at this width.
    pub fn key(&mut self, key: Key, action: Bound, rows: &[Row], size: Size, now: Duration) -> PagerEnd {
        let page = usize::from(size.rows).saturating_sub(1).max(1);
        let last = rows.len().saturating_sub(page);
        let top = self.top(rows, page);
        if self.typing {
            match (key.code, action) {
                (KeyCode::Enter, _) => {
                    self.typing = false;
                    self.jump(rows, top, true, last);
                }
                (KeyCode::Esc, _) | (_, Bound::Action(Action::Interrupt)) => self.typing = false,
                (KeyCode::Backspace, _) => {
                    self.words.pop();
                }
                (KeyCode::Char(c), _) if !key.mods.ctrl && !key.mods.alt => self.words.push(c),
                _ => {}
            }
            return PagerEnd::No;
        }
        let to = |pager: &mut Self, row: usize| {
            pager.begin = None;
            pager.top = Some(row.min(last));
        };
        match (key.code, action) {
            (KeyCode::Char('q') | KeyCode::Esc, _)
            | (_, Bound::Action(Action::Interrupt | Action::Transcript)) => {
                return PagerEnd::Closed;
            }
            (KeyCode::Char('y'), _) if matches!(self.subject, Subject::Question(_)) => {
                // A key that is held comes again and again, and nobody has read anything meanwhile (SAF-1).
                let meant = now.saturating_sub(std::mem::replace(&mut self.asked, now)) >= QUIET_FOR;
                if top >= last && meant {
                    return PagerEnd::Approved;
                }
                to(self, last);
            }
            (KeyCode::Char('j') | KeyCode::Down, _) => to(self, top + 1),
            (KeyCode::Char('k') | KeyCode::Up, _) => to(self, top.saturating_sub(1)),
            (KeyCode::Char(' ') | KeyCode::PageDown, _) => to(self, top + page),
            (KeyCode::Char('b') | KeyCode::PageUp, _) => to(self, top.saturating_sub(page)),
            (KeyCode::Char('g') | KeyCode::Home, _) => to(self, 0),
            (KeyCode::Char('G') | KeyCode::End, _) => to(self, last),
            (KeyCode::Char('/'), _) => {
                self.words.clear();
                self.typing = true;
            }
            (KeyCode::Char('e'), _) if matches!(self.subject, Subject::Transcript) => {
                self.folded = !self.folded;
                self.top = None;
            }
            (KeyCode::Char('c'), Bound::Nothing) if matches!(self.subject, Subject::Transcript) => {
                return PagerEnd::Copy(top);
            }
            (KeyCode::Char('r'), Bound::Nothing) if matches!(self.subject, Subject::Transcript) => {
                return PagerEnd::Rerun(top);
            }
            (KeyCode::Char('n'), _) => self.jump(rows, top + 1, true, last),
            (KeyCode::Char('N'), _) => self.jump(rows, top.saturating_sub(1), false, last),
            _ => {}
        }
        PagerEnd::No
    }

    /// Goes to the next row with the words.
    fn jump(&mut self, rows: &[Row], from: usize, down: bool, last: usize) {
        let words = self.words.to_lowercase();
        let has = |at: &usize| rows[*at].text().to_lowercase().contains(&words);
        let found = match down {
            true => (from.min(rows.len())..rows.len()).find(has).or_else(|| (0..rows.len()).find(has)),
            false => (0..=from.min(rows.len().saturating_sub(1)))
                .rev()
                .find(has)
                .or_else(|| (0..rows.len()).rev().find(has)),
        };
        if let Some(row) = found.filter(|_| !words.is_empty()) {
            self.begin = None;
            self.top = Some(row.min(last));
        }
    }

    fn top(&self, rows: &[Row], page: usize) -> usize {
        let last = rows.len().saturating_sub(page);
        match (self.top, self.begin) {
            (Some(top), _) => top.min(last),
            (None, Some(number)) => {
                let mark = format!("#{number}");
                let at = rows.iter().position(|row| row.text().ends_with(&mark));
                at.unwrap_or(last)
            }
            (None, None) => last,
        }
    }
}

/// Returns everything the open pager shows, at the present width.
pub fn content(state: &State) -> Vec<Row> {
    let Some(pager) = &state.pager else { return Vec::new() };
    let width = state.size.width();
    match &pager.subject {
        Subject::Question(rows) | Subject::Text(rows) => rows
            .iter()
            .flat_map(|row| wrap::wrap_spans(&row.spans, usize::from(width), Break::Anywhere))
            .collect(),
        Subject::Transcript => cells(state, pager.folded).0,
    }
}

/// Returns the rows of all cells, and where each numbered one begins.
fn cells(state: &State, folded: bool) -> (Vec<Row>, Vec<(usize, u32)>) {
    let (mut rows, mut begins) = (Vec::new(), Vec::new());
    let detail = if folded { Detail::Short } else { Detail::Whole };
    for entry in state.transcript.entries() {
        if !rows.is_empty() {
            rows.push(Row::empty());
        }
        begins.extend(entry.number.map(|number| (rows.len(), number)));
        let cx = CellCx { number: entry.number, detail, running: None, signs: state.options.signs };
        rows.extend(entry.cell.rows(state.size.width(), &cx));
    }
    (rows, begins)
}

/// Returns the number of the first numbered cell that begins at a row of the pager or below it, else the one before.
pub fn cell_at(state: &State, row: usize) -> Option<u32> {
    let folded = state.pager.as_ref().is_some_and(|pager| pager.folded);
    let (_, begins) = cells(state, folded);
    let page = usize::from(state.size.rows);
    let here = begins.iter().find(|(begin, _)| (row..row + page).contains(begin));
    here.or_else(|| begins.iter().rev().find(|(begin, _)| *begin < row)).map(|(_, number)| *number)
}

/// Returns the screen: the rows that fit, and a last row of keys.
pub fn screen(state: &State) -> Vec<Row> {
    let Some(pager) = &state.pager else { return Vec::new() };
    let rows = content(state);
    let page = usize::from(state.size.rows).saturating_sub(1).max(1);
    let top = pager.top(&rows, page);
    let words = pager.words.to_lowercase();
    let shown = rows.iter().skip(top).take(page).map(|row| {
        let mut row = row.clone();
        if !words.is_empty() && row.text().to_lowercase().contains(&words) {
            row.spans.iter_mut().for_each(|span| span.style.ground = Ground::Chosen);
        }
        row
    });
    let mut screen: Vec<Row> = shown.collect();
    screen.resize(page, Row::empty());
    let at = format!("{}-{} of {}", (top + 1).min(rows.len()), (top + page).min(rows.len()), rows.len());
    let keys = match (&pager.subject, pager.typing) {
        (_, true) => format!("/{}", pager.words),
        (Subject::Question(_), _) if top + page >= rows.len() => "y run it once · q back".to_owned(),
        (Subject::Question(_), _) => "space next page · y to the end · q back".to_owned(),
        (Subject::Text(_), _) => "q back · space, b page · / n N search · g G ends".to_owned(),
        (Subject::Transcript, _) => {
            "q back · / n N search · e folds · c copies · r reruns · space b page · g G ends".to_owned()
        }
    };
    let width = state.size.width();
    // Where one is stands there before the last of the keys does.
    let room = usize::from(width).saturating_sub(wrap::width(&at) + 2).max(1);
    let keys = wrap::truncate(&Row::from(Span::new(keys).reverse()), room);
    let line = keys.with_right(Row::from(Span::new(at).muted()), width);
    screen.push(wrap::truncate(&line, usize::from(width)));
    screen
}
