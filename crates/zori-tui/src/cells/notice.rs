//! Words to the user: notices (TRN-4) and errors with the ways out of them (TRN-5).

use zori_core::compaction::{Compacted, Compaction};
use zori_core::event::NoticeLevel;
use zori_core::text::prefix;

use super::Sign;
use super::words::{counted, thousands};
use crate::cell::{Cell, CellCx, Detail};
use crate::row::{Role, Row, Span};
use crate::wrap::{Break, TAB, expand_tabs, wrap_hanging, wrap_spans};

#[derive(Clone, Debug)]
pub struct NoticeCell {
    level: NoticeLevel,
    text: String,
}

impl NoticeCell {
    /// Returns the cell of a notice. A text that starts with a sign of its own gets no other.
    pub fn new(level: NoticeLevel, text: &str) -> Self {
        Self { level, text: text.trim_end().to_owned() }
    }
}

impl Cell for NoticeCell {
    fn rows(&self, width: u16, _: &CellCx) -> Vec<Row> {
        let columns = usize::from(width);
        let (sign, role) = match self.level {
            NoticeLevel::Info => ("· ", Role::Muted),
            NoticeLevel::Warning => ("! ", Role::Warning),
            NoticeLevel::Error => ("✗ ", Role::Error),
        };
        let (own, text) = own_sign(&self.text);
        let role = match own.trim() {
            "✓" => Role::Success,
            _ => role,
        };
        let first = Row::from(Span::new(if own.is_empty() { sign } else { own }).role(role));
        let rest = Row::empty().with(" ".repeat(first.width()));
        let mut rows = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let text_role = if self.level == NoticeLevel::Info { Role::Muted } else { Role::Text };
            let spans = [Span::new(expand_tabs(line, TAB).into_owned()).role(text_role)];
            rows.extend(wrap_hanging(&spans, columns, if i == 0 { &first } else { &rest }, &rest));
        }
        rows
    }

    fn summary(&self) -> Row {
        Span::new(self.text.lines().next().unwrap_or_default()).muted().into()
    }
}

/// Says what a compaction did, and how to take it back (TRN-4).
pub fn compacted(compaction: &Compaction) -> String {
    let figures = format!("{} → {}", thousands(compaction.before), thousands(compaction.after));
    let what = match compaction.how {
        Compacted::Summarised { messages } => {
            format!("{} summarised", counted(messages, "message", "messages"))
        }
        Compacted::Dropped { messages } => {
            format!("{} left out without a summary", counted(messages, "message", "messages"))
        }
        Compacted::Masked { results } => {
            format!("{} left out", counted(results, "older tool output", "older tool outputs"))
        }
        Compacted::Cut { results } => {
            format!("{} cut", counted(results, "long tool output", "long tool outputs"))
        }
        // Of a turn that was stopped others keep more messages than were sent.
        Compacted::Rewound { messages: 0 } => return format!("── went back, {figures}"),
        Compacted::Rewound { messages } => {
            return format!("── went back by {}, {figures}", counted(messages, "message", "messages"));
        }
        Compacted::Undone => return format!("── put the conversation back as it was before, {figures}"),
    };
    format!("── {what}, {figures} · /compact undo")
}

/// Splits off a sign that a text brings along, such as `✓ ` or `── `.
fn own_sign(text: &str) -> (&str, &str) {
    match text.split_once(' ') {
        Some((sign, _)) if !sign.is_empty() && !sign.chars().any(|c| c.is_ascii() || c.is_alphanumeric()) => {
            text.split_at(sign.len() + 1)
        }
        _ => ("", text),
    }
}

/// An error: a sentence, what can be done, and the details on demand.
#[derive(Clone, Debug)]
pub struct ErrorCell {
    text: String,
    ways_out: Vec<String>,
    details: Option<String>,
}

impl ErrorCell {
    /// Returns the cell of an error.
    pub fn new(text: &str, ways_out: &[String]) -> Self {
        Self { text: text.trim_end().to_owned(), ways_out: ways_out.to_vec(), details: None }
    }

    /// Returns the cell of an error of which a sentence is shown; what there is beyond it is in the details (TRN-5).
    pub fn brief(text: &str, ways_out: &[String], details: Option<&str>) -> Self {
        let text = text.trim_end();
        let sentence = sentence(text);
        let cut = sentence.len() < text.len();
        let shown = if cut { format!("{} …", sentence.trim_end()) } else { text.to_owned() };
        let behind: Vec<&str> = cut.then_some(text).into_iter().chain(details).collect();
        let cell = Self::new(&shown, ways_out);
        if behind.is_empty() { cell } else { cell.with_details(behind.join("\n")) }
    }

    /// Returns the cell with details, which only the pager shows.
    pub fn with_details(mut self, details: String) -> Self {
        self.details = Some(details);
        self
    }
}

/// How long an error is told in the conversation.
const BRIEF: usize = 400;

/// Returns the beginning of an error that says what happened: its first line, and not more than a few rows of that.
fn sentence(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    match line.len() > BRIEF {
        true => {
            let cut = prefix(line, BRIEF);
            cut.rsplit_once(' ').map_or(cut, |(whole, _)| whole)
        }
        false => line,
    }
}

impl Cell for ErrorCell {
    fn rows(&self, width: u16, cx: &CellCx) -> Vec<Row> {
        let columns = usize::from(width);
        let sign = Row::from(Span::new(format!("{} ", Sign::CROSS.of(cx.signs))).role(Role::Error));
        let blank = Row::empty().with("  ");
        let mut rows: Vec<Row> = Vec::new();
        for line in self.text.lines() {
            let spans = [Span::new(expand_tabs(line, TAB).into_owned())];
            rows.extend(wrap_hanging(&spans, columns, if rows.is_empty() { &sign } else { &blank }, &blank));
        }
        let mut ways = self.ways_out.clone();
        if let (Some(_), Some(number), Detail::Short) = (&self.details, cx.number, cx.detail) {
            ways.push(format!("details: /show {number}"));
        }
        if !ways.is_empty() {
            rows.extend(wrap_hanging(&[Span::new(ways.join(" · ")).muted()], columns, &blank, &blank));
        }
        if let (Some(details), Detail::Whole) = (&self.details, cx.detail) {
            for line in details.lines() {
                let spans = [Span::new(expand_tabs(line, TAB).into_owned()).muted()];
                rows.extend(wrap_spans(&spans, columns, Break::Anywhere));
            }
        }
        rows
    }

    fn summary(&self) -> Row {
        let first = self.text.lines().next().unwrap_or_default();
        Row::empty().with(Span::new("✗ ").role(Role::Error)).with(Span::new(first))
    }
}
