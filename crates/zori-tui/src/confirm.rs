//! A question of the chat itself, answered by one key: whether the loop goes on, whether a line goes into AGENTS.md, whether files go
//! back, whether steps are carried out. The same guard holds as for
//! questions about calls (SAF-1 to SAF-3): no key that was meant for the draft answers it.

use std::time::Duration;

use crate::question::{QUIET_FOR, SHOWN_FOR};
use crate::row::{Ground, Role, Row, Span};
use crate::wrap::{self, Break};

/// How many rows may stand above it.
const MOST: usize = 6;

/// A question of the chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confirm {
    pub what: What,
    text: String,
    /// What is said above it.
    lines: Vec<String>,
    /// When its first frame was written.
    pub drawn: Option<Duration>,
    /// Whether the user went to it with Tab.
    pub entered: bool,
}

/// What it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Whether `/loop` goes on.
    Loop,
    /// Whether this goes into AGENTS.md.
    Guideline(String),
    /// Whether files go back to what they were (TRN-8).
    Undo,
    /// Whether the steps of a plan are carried out.
    Plan,
}

impl Confirm {
    /// Returns a question that has not been drawn.
    pub fn new(what: What, text: String) -> Self {
        Self { what, text, lines: Vec::new(), drawn: None, entered: false }
    }

    /// The same with sentences above it, which say what it is about.
    pub fn below(self, lines: Vec<String>) -> Self {
        Self { lines, ..self }
    }

    /// Returns when keys begin to answer it by themselves.
    pub fn ready_at(&self, last_key: Option<Duration>) -> Option<Duration> {
        let quiet = last_key.map_or(Duration::ZERO, |last| last + QUIET_FOR);
        self.drawn.map(|drawn| (drawn + SHOWN_FOR).max(quiet))
    }

    /// Returns whether a key that comes now is for it.
    pub fn takes_keys(&self, now: Duration, last_key: Option<Duration>, composer_empty: bool) -> bool {
        self.drawn.is_some()
            && (self.entered || (composer_empty && self.ready_at(last_key).is_some_and(|ready| now >= ready)))
    }

    pub fn rows(&self, width: u16) -> Vec<Row> {
        let wide = usize::from(width);
        let mut rows: Vec<Row> = Vec::new();
        for line in &self.lines {
            let span = Span::new(wrap::expand_tabs(line, 4).into_owned());
            let wrapped = wrap::wrap_spans(&[span], wide.saturating_sub(2).max(1), Break::Words);
            rows.extend(wrapped.into_iter().map(|row| {
                let mut indented = Row::empty().with("  ");
                indented.spans.extend(row.spans);
                indented
            }));
        }
        if rows.len() > MOST {
            let hidden = rows.len() - MOST + 1;
            rows.truncate(MOST - 1);
            let more = Row::from(Span::new(format!("  … {hidden} more rows")).muted());
            rows.push(wrap::truncate(&more, wide));
        }
        let sign = match &self.what {
            What::Loop => "↻ ",
            What::Guideline(line) => {
                rows.push(Row::from(Span::new("  AGENTS.md  +1").muted()));
                let added = Span::new(format!("+ - {}", wrap::expand_tabs(line, 4))).ground(Ground::Added);
                rows.push(wrap::truncate(&Row::empty().with("    ").with(added), wide));
                "? "
            }
            What::Undo | What::Plan => "? ",
        };
        let row = Row::empty().with(Span::new(sign).role(Role::Warning)).with(self.text.as_str());
        rows.push(wrap::truncate(&row, wide));
        rows
    }
}
