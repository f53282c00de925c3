//! A whole screen (UI-50): rows that changed are written where they stand, on the theme's own ground.

use std::fmt::Write as _;

use crate::row::{Row, Style};
use crate::terminal::inline::{Brush, Caret};
use crate::terminal::paint::Links;

/// What stands on the screen.
#[derive(Debug, Default)]
pub struct Screen {
    rows: Vec<Row>,
    caret: Option<Caret>,
    drawn: bool,
}

impl Screen {
    /// Returns the bytes that show these rows, one for each row of the terminal; none if everything is as it was.
    pub fn frame(&mut self, rows: Vec<Row>, caret: Option<Caret>, brush: Brush<'_>) -> String {
        let mut out = String::new();
        if self.drawn && self.rows == rows && self.caret == caret {
            return out;
        }
        out.push_str("\x1b[?2026h\x1b[?25l");
        for (at, row) in rows.iter().enumerate() {
            if !self.drawn || self.rows.get(at) != Some(row) {
                write!(out, "\x1b[{};1H", at + 1).expect("a string takes all");
                line(row, brush, &mut out);
            }
        }
        if let Some(caret) = caret {
            write!(out, "\x1b[{};{}H\x1b[?25h", caret.row + 1, caret.column + 1).expect("a string takes all");
        }
        out.push_str("\x1b[?2026l");
        (self.rows, self.caret, self.drawn) = (rows, caret, true);
        out
    }

    /// Has the next frame draw everything: the colours changed, or somebody else had the terminal.
    pub fn forget(&mut self) {
        self.drawn = false;
    }
}

/// Writes a row and the ground behind its end.
fn line(row: &Row, brush: Brush<'_>, out: &mut String) {
    let mut style = Style::default();
    brush.paint.sgr_filled(style, out);
    for span in &row.spans {
        if span.style != style {
            style = span.style;
            brush.paint.sgr_filled(style, out);
        }
        match (&span.link, brush.links) {
            (Some(target), Links::Shown) => {
                write!(out, "\x1b]8;;{}\x1b\\{}\x1b]8;;\x1b\\", target.as_str(), span.text.as_str())
                    .expect("a string takes all");
            }
            _ => out.push_str(span.text.as_str()),
        }
    }
    if style != Style::default() {
        brush.paint.sgr_filled(Style::default(), out);
    }
    out.push_str("\x1b[K\x1b[0m");
}
