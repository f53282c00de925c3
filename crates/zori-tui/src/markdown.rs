//! Markdown as rows (MD-1 to MD-4), whole or while it arrives.
//!
//! `stable` cuts the text into pieces by its lines alone: what a line means for the pieces before it never changes with what follows. So the rows
//! of a piece are final when the next piece has begun, and the rows of a stream are those of the whole text (MD-2). `blocks` lays one piece out,
//! with pulldown-cmark, `inline` and `table` what is in it.

mod blocks;
mod inline;
mod stable;
mod table;

use blocks::Layout;
use stable::{Piece, Splitter};

use crate::row::Row;

/// Returns the rows of a whole text.
pub fn rows(text: &str, width: u16) -> Vec<Row> {
    let mut stream = Stream::default();
    stream.push(text);
    let mut rows = stream.take_stable(width);
    rows.extend(stream.finish(width));
    rows
}

/// Markdown while it arrives.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    splitter: Splitter,
    /// The line that has no end yet.
    partial: String,
    /// What is stable and was not taken yet.
    ready: Vec<Piece>,
    layout: Layout,
}

impl Stream {
    /// Adds text.
    pub fn push(&mut self, text: &str) {
        let mut rest = text;
        while let Some(end) = rest.find('\n') {
            self.partial.push_str(&rest[..end]);
            let line = std::mem::take(&mut self.partial);
            self.splitter.line(line.strip_suffix('\r').unwrap_or(&line), &mut self.ready);
            rest = &rest[end + 1..];
        }
        self.partial.push_str(rest);
    }

    /// Returns the rows that have become stable since the last call. They do not change any more.
    pub fn take_stable(&mut self, width: u16) -> Vec<Row> {
        let mut rows = Vec::new();
        for piece in self.ready.drain(..) {
            self.layout.piece(&piece, width, &mut rows);
        }
        rows
    }

    /// Returns the rows of what is not stable yet, as far as they can be told; stable rows must have been taken.
    pub fn tail(&self, width: u16) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut layout = self.layout.clone();
        for piece in self.ready.iter().chain(&self.splitter.tail(&self.partial)) {
            layout.piece(piece, width, &mut rows);
        }
        rows
    }

    /// Ends the text and returns the rows that are left.
    pub fn finish(&mut self, width: u16) -> Vec<Row> {
        if !self.partial.is_empty() {
            let line = std::mem::take(&mut self.partial);
            self.splitter.line(line.strip_suffix('\r').unwrap_or(&line), &mut self.ready);
        }
        self.splitter.close(&mut self.ready);
        self.take_stable(width)
    }
}

#[cfg(test)]
mod tests;
