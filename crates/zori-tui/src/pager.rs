//! The pager over all cells (Ctrl-O) and over the whole text of a question, on the other screen.

mod long_text;

use std::borrow::Cow;
use std::time::Duration;

pub use long_text::LongText;

use crate::cell::{Cell, CellCx, Detail, Signs};
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
    /// What does not change any more, as rows.
    laid: Laid,
}

#[derive(Debug)]
enum Subject {
    Transcript,
    Question(Vec<Row>),
    Text(Vec<Row>),
    /// What explains a question; only read.
    Explanation(Vec<Row>),
    Long(LongText),
}

/// Rows that are laid out once for a width: a transcript may be long, and a turn goes on behind it (PERF-10).
#[derive(Debug, Default)]
struct Laid {
    width: u16,
    folded: bool,
    /// How many cells they are of.
    cells: usize,
    pages: Pages,
}

/// Rows, and where each numbered cell begins in them.
#[derive(Debug, Default)]
struct Pages {
    rows: Vec<Row>,
    begins: Vec<(usize, u32)>,
}

impl Pages {
    /// Adds a cell. `before`: how many rows stand above these.
    fn add(&mut self, cell: &dyn Cell, cx: &CellCx, width: u16, before: usize) {
        if before + self.rows.len() > 0 {
            self.rows.push(Row::empty());
        }
        self.begins.extend(cx.number.map(|number| (before + self.rows.len(), number)));
        self.rows.extend(cell.rows(width, cx));
    }
}

impl Subject {
    fn long(&self) -> Option<&LongText> {
        match self {
            Self::Long(text) => Some(text),
            Self::Transcript | Self::Question(_) | Self::Text(_) | Self::Explanation(_) => None,
        }
    }
}

/// Whether a key ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PagerEnd {
    No,
    Closed,
    /// `y` at the end of a question.
    Approved,
    /// The cell with this number goes to the clipboard.
    Copy(u32),
    /// The command of the cell with this number is run again.
    Rerun(u32),
}

/// What a pager shows at the moment: what is laid out, and what still changes below it.
struct Shown<'a> {
    laid: &'a Pages,
    long: Option<&'a LongText>,
    live: Pages,
}

impl Shown<'_> {
    fn len(&self) -> usize {
        self.long.map_or(self.laid.rows.len() + self.live.rows.len(), LongText::len)
    }

    fn row(&self, at: usize) -> Cow<'_, Row> {
        if let Some(long) = self.long {
            return Cow::Owned(long.row(at));
        }
        Cow::Borrowed(match at.checked_sub(self.laid.rows.len()) {
            Some(below) => &self.live.rows[below],
            None => &self.laid.rows[at],
        })
    }

    fn begins(&self) -> impl DoubleEndedIterator<Item = (usize, u32)> {
        self.laid.begins.iter().chain(&self.live.begins).copied()
    }

    /// Returns the number of the first numbered cell that begins on the page at `top`, else the one before.
    fn cell(&self, top: usize, page: usize) -> Option<u32> {
        let here = self.begins().find(|(begin, _)| (top..=top + page).contains(begin));
        here.or_else(|| self.begins().rev().find(|(begin, _)| *begin < top)).map(|(_, number)| number)
    }

    fn has(&self, at: usize, words: &str) -> bool {
        self.row(at).text().to_lowercase().contains(words)
    }
}

impl Pager {
    fn new(subject: Subject, top: Option<usize>) -> Self {
        Self {
            subject,
            top,
            words: String::new(),
            typing: false,
            begin: None,
            folded: false,
            asked: Duration::ZERO,
            laid: Laid::default(),
        }
    }

    /// Opens all cells, or begins at one.
    pub fn transcript(begin: Option<u32>) -> Self {
        Self { begin, ..Self::new(Subject::Transcript, None) }
    }

    /// Opens the whole text of a question, by a key that came now.
    pub fn question(rows: Vec<Row>, now: Duration) -> Self {
        Self { asked: now, ..Self::new(Subject::Question(rows), Some(0)) }
    }

    /// Opens a text that is only read.
    pub fn text(rows: Vec<Row>) -> Self {
        Self::new(Subject::Text(rows), Some(0))
    }

    /// Opens what explains a question.
    pub fn explanation(rows: Vec<Row>) -> Self {
        Self::new(Subject::Explanation(rows), Some(0))
    }

    /// Returns whether it shows what explains a question.
    pub fn is_explanation(&self) -> bool {
        matches!(self.subject, Subject::Explanation(_))
    }

    /// Opens what a program printed.
    pub fn long_text(text: LongText) -> Self {
        Self::new(Subject::Long(text), Some(0))
    }

    /// Takes a key.
    fn key(&mut self, key: Key, action: Bound, live: Pages, size: Size, now: Duration) -> PagerEnd {
        let page = page(size);
        let shown = Shown { laid: &self.laid.pages, long: self.subject.long(), live };
        let (count, last) = (shown.len(), shown.len().saturating_sub(page));
        let top = self.top(&shown, page);
        if self.typing {
            match (key.code, action) {
                (KeyCode::Enter, _) => {
                    self.typing = false;
                    let found = found(&shown, &self.words, top, true);
                    self.go_to(found, last);
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
        let transcript = matches!(self.subject, Subject::Transcript);
        let to = match (key.code, action) {
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
                Some(last)
            }
            (KeyCode::Char('j') | KeyCode::Down, _) => Some(top + 1),
            (KeyCode::Char('k') | KeyCode::Up, _) => Some(top.saturating_sub(1)),
            (KeyCode::Char(' ') | KeyCode::PageDown, _) => Some(top + page),
            (KeyCode::Char('b') | KeyCode::PageUp, _) => Some(top.saturating_sub(page)),
            (KeyCode::Char('g') | KeyCode::Home, _) => Some(0),
            (KeyCode::Char('G') | KeyCode::End, _) => {
                // From here on it follows what comes.
                (self.top, self.begin) = (None, None);
                return PagerEnd::No;
            }
            (KeyCode::Char('/'), _) => {
                self.words.clear();
                self.typing = true;
                None
            }
            (KeyCode::Char('e'), _) if transcript => {
                // What stands at the top stays there, long or short.
                self.begin = shown.begins().rev().find(|(begin, _)| *begin <= top).map(|(_, number)| number);
                (self.top, self.folded) = (None, !self.folded);
                None
            }
            (KeyCode::Char('c'), Bound::Nothing) if transcript => {
                return shown.cell(top, page).map_or(PagerEnd::No, PagerEnd::Copy);
            }
            (KeyCode::Char('r'), Bound::Nothing) if transcript => {
                return shown.cell(top, page).map_or(PagerEnd::No, PagerEnd::Rerun);
            }
            (KeyCode::Char('n'), _) => found(&shown, &self.words, top + 1, true),
            (KeyCode::Char('N'), _) => found(&shown, &self.words, top.min(count).wrapping_sub(1), false),
            _ => None,
        };
        self.go_to(to, last);
        PagerEnd::No
    }

    fn go_to(&mut self, row: Option<usize>, last: usize) {
        if let Some(row) = row {
            self.begin = None;
            self.top = Some(row.min(last));
        }
    }

    fn top(&self, shown: &Shown<'_>, page: usize) -> usize {
        let last = shown.len().saturating_sub(page);
        match (self.top, self.begin) {
            (Some(top), _) => top.min(last),
            (None, Some(number)) => {
                shown.begins().find(|(_, known)| *known == number).map_or(last, |(at, _)| at.min(last))
            }
            (None, None) => last,
        }
    }
}

/// How many rows are shown; the last row of the screen has the keys.
fn page(size: Size) -> usize {
    usize::from(size.rows).saturating_sub(1).max(1)
}

/// Returns the next row with the words from a row on, around the end.
fn found(shown: &Shown<'_>, words: &str, from: usize, down: bool) -> Option<usize> {
    let (words, count) = (words.to_lowercase(), shown.len());
    if words.is_empty() || count == 0 {
        return None;
    }
    let from = from.min(if down { count } else { count - 1 });
    let mut order: Box<dyn Iterator<Item = usize>> = match down {
        true => Box::new((from..count).chain(0..from)),
        false => Box::new((0..=from).rev().chain((from + 1..count).rev())),
    };
    order.find(|at| shown.has(*at, &words))
}

/// Lays out what came since it was done last, and all of it for another width.
pub(crate) fn lay_out(state: &mut State) {
    let (width, signs, cells) = (state.size.width(), state.options.signs, state.transcript.entries());
    let Some(pager) = &mut state.pager else { return };
    let laid = &mut pager.laid;
    // A conversation that begins anew (`/clear`) has fewer cells than were laid out.
    let gone = matches!(pager.subject, Subject::Transcript) && laid.cells > cells.len();
    if gone || laid.width != width || laid.folded != pager.folded {
        *laid = Laid { width, folded: pager.folded, ..Laid::default() };
    }
    match &mut pager.subject {
        Subject::Long(text) => text.lay_out(width),
        Subject::Question(rows) | Subject::Text(rows) | Subject::Explanation(rows) if laid.cells == 0 => {
            let wide = usize::from(width);
            let wrap = |row: &Row| match row.width() <= wide {
                // Most rows fit, and there may be a hundred thousand of them.
                true => vec![row.clone()],
                false => wrap::wrap_spans(&row.spans, wide, Break::Anywhere),
            };
            laid.pages.rows = rows.iter().flat_map(wrap).collect();
            laid.cells = 1;
        }
        Subject::Question(_) | Subject::Text(_) | Subject::Explanation(_) => {}
        Subject::Transcript => {
            for entry in &cells[laid.cells..] {
                let cx = cx(entry.number, pager.folded, None, signs);
                laid.pages.add(entry.cell.as_ref(), &cx, width, 0);
                laid.cells += 1;
            }
        }
    }
}

fn cx(number: Option<u32>, folded: bool, running: Option<Duration>, signs: Signs) -> CellCx {
    let detail = if folded { Detail::Short } else { Detail::Whole };
    CellCx { number, detail, running, signs }
}

/// Returns what still changes: the calls that run and the answer that comes, whole.
fn live(state: &State, pager: &Pager) -> Pages {
    let mut pages = Pages::default();
    if matches!(pager.subject, Subject::Transcript) {
        let before = pager.laid.pages.rows.len();
        for open in state.transcript.open_cells(state.now) {
            let cx = cx(open.number, pager.folded, open.running, state.options.signs);
            pages.add(open.cell(), &cx, state.size.width(), before);
        }
    }
    pages
}

/// Takes a key while a pager is open.
pub(crate) fn key(state: &mut State, key: Key) -> PagerEnd {
    lay_out(state);
    let action = state.options.keymap.find(&[key]);
    let (size, now) = (state.size, state.now);
    let live = state.pager.as_ref().map(|pager| live(state, pager)).unwrap_or_default();
    match &mut state.pager {
        Some(pager) => pager.key(key, action, live, size, now),
        None => PagerEnd::No,
    }
}

/// Looks for words, and goes to the newest row that has them.
pub(crate) fn search(state: &mut State, words: &str) {
    lay_out(state);
    let size = state.size;
    let live = state.pager.as_ref().map(|pager| live(state, pager)).unwrap_or_default();
    if let Some(pager) = &mut state.pager {
        let shown = Shown { laid: &pager.laid.pages, long: pager.subject.long(), live };
        let (count, last) = (shown.len(), shown.len().saturating_sub(page(size)));
        let found = found(&shown, words, count, false);
        words.clone_into(&mut pager.words);
        pager.go_to(found, last);
    }
}

/// Returns the screen: the rows that fit, and a last row of keys.
pub fn screen(state: &State) -> Vec<Row> {
    let Some(pager) = &state.pager else { return Vec::new() };
    let shown = Shown { laid: &pager.laid.pages, long: pager.subject.long(), live: live(state, pager) };
    let (page, count) = (page(state.size), shown.len());
    let top = pager.top(&shown, page);
    let words = pager.words.to_lowercase();
    let rows = (top..count.min(top + page)).map(|at| {
        let mut row = shown.row(at).into_owned();
        if !words.is_empty() && shown.has(at, &words) {
            row.spans.iter_mut().for_each(|span| span.style.ground = Ground::Chosen);
        }
        row
    });
    let mut screen: Vec<Row> = rows.collect();
    screen.resize(page, Row::empty());
    let at = format!("{}-{} of {count}", (top + 1).min(count), (top + page).min(count));
    let nothing = !pager.typing && !words.is_empty() && found(&shown, &words, 0, true).is_none();
    let keys = match (&pager.subject, pager.typing) {
        (_, true) => format!("/{}", pager.words),
        _ if nothing => format!("`{}` is nowhere here · / searches anew · q back", pager.words),
        (Subject::Question(_), _) if top + page >= count => "y run it once · q back".to_owned(),
        (Subject::Question(_), _) => "space next page · y to the end · q back".to_owned(),
        (Subject::Text(_) | Subject::Explanation(_) | Subject::Long(_), _) => {
            "q back · space, b page · / n N search · g G ends".to_owned()
        }
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
