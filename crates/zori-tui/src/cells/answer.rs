//! What the model said.

use std::sync::Arc;

use crate::cell::{Cell, CellCx};
use crate::markdown;
use crate::row::{Row, Span};
use crate::wrap::{TAB, expand_tabs};

/// An answer, as Markdown.
#[derive(Clone, Debug)]
pub struct AnswerCell {
    text: Arc<str>,
}

impl AnswerCell {
    /// Returns the cell of an answer.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into() }
    }

    /// Returns its source.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Cell for AnswerCell {
    fn rows(&self, width: u16, _: &CellCx) -> Vec<Row> {
        markdown::rows(&self.text, width)
    }

    fn summary(&self) -> Row {
        let first = self.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        Span::new(expand_tabs(first.trim(), TAB).into_owned()).into()
    }
}
