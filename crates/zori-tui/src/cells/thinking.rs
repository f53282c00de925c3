//! What the model thought: one row, and the text on demand (TRN-1).

use std::time::Duration;

use super::Sign;
use super::words::{duration, thousands};
use crate::cell::{Cell, CellCx, Detail};
use crate::row::{Row, Span};
use crate::wrap::{Break, TAB, expand_tabs, truncate, wrap_spans};

/// Bytes of text per token, roughly.
const BYTES_PER_TOKEN: u64 = 4;

/// A stretch of thinking.
#[derive(Clone, Debug)]
pub struct ThinkingCell {
    text: String,
    took: Duration,
    /// Whether the transcript shows all of it.
    shown: bool,
}

impl ThinkingCell {
    /// Returns the cell of what was thought.
    pub fn new(text: &str, took: Duration) -> Self {
        Self { text: text.trim().to_owned(), took, shown: false }
    }

    /// Has the transcript show all of it.
    pub fn shown(mut self) -> Self {
        self.shown = true;
        self
    }

    fn head(&self, cx: &CellCx) -> Row {
        let tokens = (self.text.len() as u64).div_ceil(BYTES_PER_TOKEN);
        let mut text = format!("{} Thought {}", Sign::THOUGHT.of(cx.signs), duration(self.took));
        if tokens > 0 {
            text.push_str(&format!(" · {} tokens", thousands(tokens)));
        }
        if let (Some(number), Detail::Short) = (cx.number, cx.detail)
            && tokens > 0
            && !self.shown
        {
            text.push_str(&format!(" · /show {number}"));
        }
        Span::new(text).muted().into()
    }
}

impl Cell for ThinkingCell {
    fn rows(&self, width: u16, cx: &CellCx) -> Vec<Row> {
        let columns = usize::from(width);
        let mut rows = vec![truncate(&self.head(cx), columns)];
        if cx.detail == Detail::Whole || self.shown {
            for line in self.text.lines() {
                let spans = [Span::new(expand_tabs(line, TAB).into_owned()).muted()];
                rows.extend(wrap_spans(&spans, columns, Break::Words));
            }
        }
        rows
    }

    fn summary(&self) -> Row {
        let first = self.text.lines().next().unwrap_or_default();
        Span::new(format!("∴ {}", expand_tabs(first, TAB))).muted().into()
    }
}
