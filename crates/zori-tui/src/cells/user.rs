//! What a person said.

use super::Sign;
use super::words::counted;
use crate::cell::{Cell, CellCx, Detail};
use crate::row::{Role, Row, Span};
use crate::wrap::{TAB, expand_tabs, truncate, wrap_hanging};

/// How many rows of a prompt the transcript shows, and how many of them are its last: what is said of a paste may stand on either side of it.
const ROWS: usize = 12;
const LAST: usize = 4;

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
        let laid = |line: &str, first: &Row| {
            let spans = [Span::new(expand_tabs(line.trim_end_matches('\r'), TAB).into_owned()).bold()];
            wrap_hanging(&spans, usize::from(width), first, &blank)
        };
        let mut rows: Vec<Row> = Vec::new();
        let mut lines = self.text.split('\n');
        for line in lines.by_ref() {
            rows.extend(laid(line, if rows.is_empty() { &sign } else { &blank }));
            // A paste of megabytes is not laid out to show a dozen rows.
            if cx.detail == Detail::Short && rows.len() > 4 * ROWS {
                break;
            }
        }
        if cx.detail == Detail::Short && rows.len() > ROWS {
            let mut end: Vec<Row> = Vec::new();
            while end.len() < LAST
                && let Some(line) = lines.next_back()
            {
                end.splice(..0, laid(line, &blank));
            }
            // What there is no line for stands at the end of those that were laid out.
            let missing = LAST.saturating_sub(end.len());
            end.splice(..0, rows[rows.len() - missing..].iter().cloned());
            rows.truncate(ROWS - LAST - 1);
            let count = counted(self.text.lines().count(), "line", "lines");
            let more = Span::new(format!("  … {count} in all · Ctrl-O opens")).muted();
            rows.push(truncate(&more.into(), usize::from(width)));
            rows.extend(end.split_off(end.len() - LAST));
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
