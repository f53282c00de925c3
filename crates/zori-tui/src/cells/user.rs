//! What a person said.

use super::Sign;
use super::words::counted;
use crate::cell::{Cell, CellCx, Detail};
use crate::row::{Role, Row, Span};
use crate::wrap::{TAB, expand_tabs, truncate, wrap_hanging};

/// How many rows of a prompt the transcript shows.
const ROWS: usize = 12;

/// A prompt.
#[derive(Clone, Debug)]
pub struct UserCell {
    text: String,
}

impl UserCell {
    /// Returns the cell of a prompt.
    pub fn new(text: &str) -> Self {
        Self { text: text.trim_end().to_owned() }
    }

    /// Returns what was said.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Cell for UserCell {
    fn rows(&self, width: u16, cx: &CellCx) -> Vec<Row> {
        let sign = Row::from(Span::new(format!("{} ", Sign::USER.of(cx.signs))).role(Role::Primary).bold());
        let blank = Row::empty().with("  ");
        let mut rows: Vec<Row> = Vec::new();
        for line in self.text.split('\n') {
            let spans = [Span::new(expand_tabs(line.trim_end_matches('\r'), TAB).into_owned()).bold()];
            let first = if rows.is_empty() { &sign } else { &blank };
            rows.extend(wrap_hanging(&spans, usize::from(width), first, &blank));
            // A paste of megabytes is not laid out to show a dozen rows.
            if cx.detail == Detail::Short && rows.len() > 4 * ROWS {
                break;
            }
        }
        if cx.detail == Detail::Short && rows.len() > ROWS {
            rows.truncate(ROWS - 1);
            let lines = counted(self.text.lines().count(), "line", "lines");
            let more = Span::new(format!("  … {lines} in all · Ctrl-O opens")).muted();
            rows.push(truncate(&more.into(), usize::from(width)));
        }
        rows
    }

    fn summary(&self) -> Row {
        let first = self.text.lines().next().unwrap_or_default();
        Row::empty()
            .with(Span::new("› ").role(Role::Primary))
            .with(Span::new(expand_tabs(first, TAB).into_owned()))
    }
}
