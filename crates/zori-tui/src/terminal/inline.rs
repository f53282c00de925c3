//! The viewport at the end of the scrollback (UI-30 to UI-33): what is committed is printed and never touched again, and the few rows below it are
//! redrawn where they changed. All moves are relative to where the caret was left, so no terminal has to be asked where that is.

use std::fmt::Write as _;

use crate::row::Row;
use crate::terminal::paint::{self, Links};
use crate::theme::Paint;

/// The rows below the scrollback, and where the caret is in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    pub rows: Vec<Row>,
    pub caret: Caret,
}

/// A place in a view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caret {
    pub row: usize,
    pub column: usize,
}

/// A row on its way into the scrollback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    pub row: Row,
    pub voice: Voice,
}

/// Whose words a row has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voice {
    /// Nobody's: it keeps two cells apart.
    Gap,
    /// A prompt of the user begins here, for the terminal's own keys that walk the prompts (OSC 133).
    Prompt,
    /// The user's, below that.
    User,
    Answer,
    /// The program's.
    Words,
}

impl From<Row> for Commit {
    fn from(row: Row) -> Self {
        Self { row, voice: Voice::Words }
    }
}

/// What stands on the screen.
#[derive(Debug, Default)]
pub struct Inline {
    view: View,
    drawn: bool,
    /// After a resize: how many rows above the caret the viewport begins.
    top: Option<usize>,
}

/// What a frame is painted with.
#[derive(Clone, Copy, Debug)]
pub struct Brush<'a> {
    pub paint: &'a Paint,
    pub links: Links,
}

/// How a terminal treats rows that are too wide for a new size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reflow {
    /// They become several rows.
    Yes,
    /// They are cut, or nobody knows.
    No,
}

const SYNC: &str = "\x1b[?2026h";
const SYNC_END: &str = "\x1b[?2026l";

impl Inline {
    /// Returns the bytes that commit these rows and show this view; none if everything is as it was.
    pub fn frame(&mut self, commits: &[Commit], view: View, brush: Brush<'_>) -> String {
        let mut out = String::new();
        if commits.is_empty() && self.drawn && self.top.is_none() {
            if self.view == view {
                return out;
            }
            out.push_str(SYNC);
            self.redraw(&view, brush, &mut out);
        } else {
            out.push_str(SYNC);
            self.erase(&mut out);
            for commit in commits {
                if commit.voice == Voice::Prompt {
                    out.push_str("\x1b]133;A\x1b\\");
                }
                paint::row(&commit.row, brush.paint, brush.links, &mut out);
                out.push_str("\r\n");
            }
            for (i, row) in view.rows.iter().enumerate() {
                if i > 0 {
                    out.push_str("\r\n");
                }
                paint::row(row, brush.paint, brush.links, &mut out);
            }
            let last = view.rows.len().saturating_sub(1);
            vertical(last, view.caret.row, &mut out);
        }
        paint::column(view.caret.column, &mut out);
        out.push_str(SYNC_END);
        self.view = view;
        self.drawn = true;
        self.top = None;
        out
    }

    /// Takes note of a new width; the next frame draws everything.
    pub fn resized(&mut self, columns: u16, reflow: Reflow) {
        let columns = usize::from(columns).max(1);
        let above = &self.view.rows[..self.view.caret.row.min(self.view.rows.len())];
        self.top = Some(match reflow {
            Reflow::No => above.len(),
            Reflow::Yes => {
                let rows: usize = above.iter().map(|row| row.width().div_ceil(columns).max(1)).sum();
                // A caret right behind a full row, or behind blanks that are not drawn, may stand in it or in the next: rather a row that is
                // left behind than one that is lost.
                let drawn = self.view.rows.get(self.view.caret.row).map_or(0, Row::width);
                rows + self.view.caret.column.min(drawn).saturating_sub(1) / columns
            }
        });
    }

    /// Has the next frame draw everything anew where it stands.
    pub fn invalidate(&mut self) {
        if self.drawn {
            self.top.get_or_insert(self.view.caret.row);
        }
    }

    /// Says that nothing of the viewport is left on the screen: another program had the terminal.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Returns the bytes that take the viewport off the screen; what was committed stays.
    pub fn close(&mut self) -> String {
        let mut out = String::new();
        self.erase(&mut out);
        self.forget();
        out
    }

    fn erase(&self, out: &mut String) {
        out.push('\r');
        if self.drawn {
            vertical(self.top.unwrap_or(self.view.caret.row), 0, out);
        }
        out.push_str("\x1b[J");
    }

    /// Writes the rows that changed.
    fn redraw(&self, view: &View, brush: Brush<'_>, out: &mut String) {
        let (old, new) = (&self.view.rows, &view.rows);
        let mut at = self.view.caret.row;
        let both = old.len().min(new.len());
        for i in (0..both).filter(|i| old[*i] != new[*i]) {
            vertical(at, i, out);
            paint::difference(&old[i], &new[i], brush.paint, brush.links, out);
            at = i;
        }
        if new.len() > old.len() {
            // At the bottom of the screen a line feed makes room, and moves what is above along.
            vertical(at, old.len().saturating_sub(1), out);
            for (i, row) in new.iter().enumerate().skip(old.len()) {
                if i > 0 {
                    out.push_str("\r\n");
                }
                paint::row(row, brush.paint, brush.links, out);
            }
            at = new.len() - 1;
        } else if old.len() > new.len() {
            vertical(at, new.len(), out);
            out.push_str("\r\x1b[J");
            at = new.len();
        }
        vertical(at, view.caret.row, out);
    }
}

/// Moves between two rows of the viewport.
fn vertical(from: usize, to: usize, out: &mut String) {
    let (rows, way) = if from > to { (from - to, 'A') } else { (to - from, 'B') };
    match rows {
        0 => {}
        1 => write!(out, "\x1b[{way}").expect("a string takes all"),
        rows => write!(out, "\x1b[{rows}{way}").expect("a string takes all"),
    }
}

#[cfg(test)]
mod tests;
