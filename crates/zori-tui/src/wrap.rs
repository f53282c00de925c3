//! Fitting text into columns (UI-34, MD-5): by grapheme cluster, at words where prose allows it.
//!
//! A row is a range of the text; between two rows nothing but blanks is left out, so the rows and what is between them are the text again.

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::row::{Row, Span};

/// Where a line may be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// Between words, and between wide characters; a word that is longer than a row is cut.
    Words,
    /// Anywhere, as code is.
    Anywhere,
}

/// How many columns a tab reaches in prose and output.
pub const TAB: usize = 8;
/// How many columns a tab reaches in code.
pub const CODE_TAB: usize = 4;

/// The narrowest row that is laid out: a wide character needs two columns.
const NARROWEST: usize = 2;

thread_local! {
    /// Whether characters that may have one column or two have two.
    static AMBIGUOUS_IS_WIDE: Cell<bool> = const { Cell::new(false) };
}

/// Says how many columns the terminal of this thread gives characters of which Unicode leaves that open (`ui.ambiguous_width`): East
/// Asian fonts draw `→` and `×` over two.
pub fn set_ambiguous_wide(wide: bool) {
    AMBIGUOUS_IS_WIDE.set(wide);
}

/// Returns how many columns a terminal uses for the text: the sum over its clusters.
pub fn width(text: &str) -> usize {
    match text.is_ascii() {
        true => text.len(),
        false => text.graphemes(true).map(cluster_width).sum(),
    }
}

/// Takes a text apart into its clusters, each with its place. Most text is ASCII, of which each character is one: nothing has to be looked
/// up for it (PERF-3).
pub(crate) fn clusters(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let plain = text.is_ascii() && !text.contains('\r');
    let letters = plain.then(|| (0..text.len()).map(|at| (at, &text[at..=at])));
    let others = (!plain).then(|| text.grapheme_indices(true));
    letters.into_iter().flatten().chain(others.into_iter().flatten())
}

fn cluster_width(cluster: &str) -> usize {
    if let [b' '..=b'~'] = cluster.as_bytes() {
        return 1;
    }
    match AMBIGUOUS_IS_WIDE.get() {
        true => cluster.width_cjk(),
        false => cluster.width(),
    }
}

/// Returns a line with its tabs as blanks.
pub fn expand_tabs(line: &str, tab: usize) -> Cow<'_, str> {
    if !line.contains('\t') {
        return Cow::Borrowed(line);
    }
    let mut out = String::with_capacity(line.len() + tab);
    let mut column = 0;
    for (i, piece) in line.split('\t').enumerate() {
        if i > 0 {
            let blanks = tab - column % tab;
            out.extend(std::iter::repeat_n(' ', blanks));
            column += blanks;
        }
        out.push_str(piece);
        column += width(piece);
    }
    Cow::Owned(out)
}

/// Returns the rows of one line of text, as ranges of its bytes; an empty line is one empty row. A cluster is cut only where it alone is wider
/// than a row.
pub fn breaks(line: &str, columns: usize, at: Break) -> Vec<Range<usize>> {
    break_pieces(&[line], columns, at)
}

/// Lays spans out as rows of at most `columns`.
pub fn wrap_spans(spans: &[Span], columns: usize, at: Break) -> Vec<Row> {
    let pieces: Vec<&str> = spans.iter().map(|span| span.text.as_str()).collect();
    break_pieces(&pieces, columns, at).into_iter().map(|range| cut(spans, range)).collect()
}

/// Lays spans out with `first` before the first row and `rest` before every other; both count as columns.
pub fn wrap_hanging(spans: &[Span], columns: usize, first: &Row, rest: &Row) -> Vec<Row> {
    let inner = columns.saturating_sub(first.width().max(rest.width()));
    let mut rows = Vec::new();
    for (i, row) in wrap_spans(spans, inner, Break::Words).into_iter().enumerate() {
        let mut whole = if i == 0 { first.clone() } else { rest.clone() };
        whole.spans.extend(row.spans);
        rows.push(whole);
    }
    rows
}

/// Cuts a row down to `columns`; what does not fit is replaced by `…`.
pub fn truncate(row: &Row, columns: usize) -> Row {
    if row.width() <= columns {
        return row.clone();
    }
    let mut out = Row::empty();
    let mut free = columns.saturating_sub(1);
    'spans: for span in &row.spans {
        let mut end = 0;
        for (at, cluster) in clusters(span.text.as_str()) {
            let columns = cluster_width(cluster);
            if columns > free {
                out.push(piece(span, 0..end));
                break 'spans;
            }
            free -= columns;
            end = at + cluster.len();
        }
        out.push(span.clone());
    }
    if columns > 0 {
        let style = out.spans.last().map(|span| span.style).unwrap_or_default();
        out.push(Span::new("…").style(style));
    }
    out
}

/// Cuts a text down to `columns` by leaving out its middle, as paths are.
pub fn truncate_middle(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let clusters: Vec<&str> = text.graphemes(true).collect();
    let tail_columns = columns.saturating_sub(1) * 2 / 3;
    let (mut tail, mut used) = (clusters.len(), 0);
    while tail > 0 && used + cluster_width(clusters[tail - 1]) <= tail_columns {
        tail -= 1;
        used += cluster_width(clusters[tail]);
    }
    let mut head = 0;
    while head < tail && used + cluster_width(clusters[head]) < columns {
        used += cluster_width(clusters[head]);
        head += 1;
    }
    format!("{}…{}", clusters[..head].concat(), clusters[tail..].concat())
}

/// Returns the rows of the pieces taken as one line. Clusters end with their piece: what is drawn in two styles is written in two steps.
fn break_pieces(pieces: &[&str], columns: usize, at: Break) -> Vec<Range<usize>> {
    let columns = columns.max(NARROWEST);
    let mut breaker = Breaker { columns, at, rows: Vec::new(), start: 0, used: 0, ended: 0, chance: None };
    let mut offset = 0;
    for piece in pieces {
        for (i, cluster) in clusters(piece) {
            breaker.cluster(offset + i, cluster);
        }
        offset += piece.len();
    }
    breaker.finish()
}

struct Breaker {
    columns: usize,
    at: Break,
    rows: Vec<Range<usize>>,
    /// Where the open row starts, and how many columns it has.
    start: usize,
    used: usize,
    /// Where the last character that is no blank ended.
    ended: usize,
    chance: Option<Chance>,
}

/// A place where the open row may end.
#[derive(Clone, Copy)]
struct Chance {
    end: usize,
    next: usize,
    /// How many columns the row has up to `next`.
    used: usize,
}

impl Breaker {
    fn cluster(&mut self, at: usize, cluster: &str) {
        let columns = cluster_width(cluster);
        if cluster == " " {
            return self.blank(at);
        }
        if columns > self.columns {
            // Only a cluster of several letters is that wide; its letters are not.
            let mut next = at;
            for c in cluster.chars() {
                self.glyph(next, c.len_utf8(), cluster_width(c.encode_utf8(&mut [0; 4])));
                next += c.len_utf8();
            }
            return;
        }
        self.glyph(at, cluster.len(), columns);
    }

    fn blank(&mut self, at: usize) {
        if self.used + 1 > self.columns {
            // The blank that would be the first of the next row is left out, and so are those after it.
            self.row(self.ended.max(self.start), at + 1);
            return;
        }
        let emptied = self.used == 0 && !self.rows.is_empty() && self.at == Break::Words;
        if emptied {
            self.start = at + 1;
            return;
        }
        self.used += 1;
        if self.at == Break::Words && self.ended > self.start {
            self.chance = Some(Chance { end: self.ended, next: at + 1, used: self.used });
        }
    }

    fn glyph(&mut self, at: usize, len: usize, columns: usize) {
        if columns == 2 && self.at == Break::Words && at > self.start && self.ended == at {
            self.chance = Some(Chance { end: at, next: at, used: self.used });
        }
        while self.used + columns > self.columns {
            match self.chance.take() {
                Some(chance) => {
                    let used = self.used - chance.used;
                    self.row(chance.end, chance.next);
                    self.used = used;
                }
                None => self.row(self.ended.clamp(self.start, at), at),
            }
        }
        self.used += columns;
        self.ended = at + len;
        if columns == 2 && self.at == Break::Words {
            self.chance = Some(Chance { end: self.ended, next: self.ended, used: self.used });
        }
    }

    fn row(&mut self, end: usize, next: usize) {
        self.rows.push(self.start..end);
        self.start = next;
        self.used = 0;
        self.chance = None;
    }

    fn finish(mut self) -> Vec<Range<usize>> {
        if self.rows.is_empty() || self.ended > self.start {
            self.rows.push(self.start..self.ended.max(self.start));
        }
        self.rows
    }
}

/// Returns the part of the spans in this range of their bytes.
fn cut(spans: &[Span], range: Range<usize>) -> Row {
    let mut row = Row::empty();
    let mut offset = 0;
    for span in spans {
        let len = span.text.as_str().len();
        let start = range.start.max(offset) - offset;
        let end = range.end.min(offset + len).saturating_sub(offset);
        if start < end {
            row.push(piece(span, start..end));
        }
        offset += len;
    }
    row
}

fn piece(span: &Span, range: Range<usize>) -> Span {
    Span { text: span.text.slice(range), style: span.style, link: span.link.clone() }
}

#[cfg(test)]
mod tests;
