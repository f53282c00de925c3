//! Code in colour (MD-4): a lexer of ours over tables, line by line, so that a block can be coloured while it arrives.
//!
//! It knows words, not grammar. A line it cannot make sense of is plain, never wrong text: kinds are ranges beside the line.

mod languages;
mod lexer;

use crate::row::{Role, Span, Style};

pub use lexer::Highlighter;

/// What a piece of code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Keyword,
    Text,
    Number,
    Comment,
    Function,
    Type,
}

impl Kind {
    /// Returns how it looks (THM-2).
    pub fn style(self) -> Style {
        let role = match self {
            Self::Keyword => Role::Primary,
            Self::Text => Role::Success,
            Self::Number => Role::Warning,
            Self::Comment => Role::Muted,
            Self::Function => Role::Accent,
            Self::Type => Role::Secondary,
        };
        Style { role, ..Style::default() }
    }
}

/// Returns one line of code as spans. Tabs must be expanded before.
pub fn spans(highlighter: Option<&mut Highlighter>, line: &str) -> Vec<Span> {
    let Some(highlighter) = highlighter else { return vec![Span::new(line)] };
    let mut spans = Vec::new();
    let mut end = 0;
    for (range, kind) in highlighter.line(line) {
        if range.start > end {
            spans.push(Span::new(&line[end..range.start]));
        }
        end = range.end;
        spans.push(Span::new(&line[range]).style(kind.style()));
    }
    if end < line.len() {
        spans.push(Span::new(&line[end..]));
    }
    spans
}

#[cfg(test)]
mod tests;
