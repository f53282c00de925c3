//! The composer as rows: words wrapped, atoms shown by their labels, and where the caret is.

use unicode_segmentation::UnicodeSegmentation;

use super::buffer::Buffer;
use crate::clean::CleanText;
use crate::row::{Role, Row, Span};

/// A cluster of the text as it is drawn.
struct Item {
    /// Where it begins in the raw text.
    at: usize,
    shown: CleanText,
    width: usize,
    is_atom: bool,
    ends_line: bool,
    is_blank: bool,
}

/// The text at a width.
pub struct Layout {
    lines: Vec<Vec<Item>>,
    /// Where each line begins in the raw text; for the end of the last.
    starts: Vec<usize>,
    end: usize,
}

impl Layout {
    /// Lays the text out in rows of at most `width` columns.
    pub fn new(buffer: &Buffer, width: usize) -> Self {
        let width = width.max(1);
        let mut lines: Vec<Vec<Item>> = vec![Vec::new()];
        let mut used = 0;
        for item in items(buffer) {
            let last = lines.last_mut().expect("there is a line always");
            if item.ends_line {
                last.push(item);
                lines.push(Vec::new());
                used = 0;
                continue;
            }
            if used + item.width > width && !last.is_empty() && !item.is_blank {
                // The word goes along, unless it fills the row.
                let word = last.iter().rposition(|item| item.is_blank).map_or(0, |blank| blank + 1);
                let moved = if word > 0 { last.split_off(word) } else { Vec::new() };
                used = moved.iter().map(|item| item.width).sum();
                lines.push(moved);
            }
            used += item.width;
            lines.last_mut().expect("there is a line always").push(item);
        }
        let end = buffer.raw().len();
        let mut starts = Vec::with_capacity(lines.len());
        let mut next = 0;
        for line in &lines {
            starts.push(line.first().map_or(next, |item| item.at));
            next = line.last().map_or(end, |_| end);
        }
        Self { lines, starts, end }
    }

    /// Returns how many rows there are.
    pub fn height(&self) -> usize {
        self.lines.len()
    }

    /// Returns the row and column of a place in the raw text.
    pub fn position(&self, at: usize) -> (usize, usize) {
        let row = self.starts.iter().rposition(|start| *start <= at).unwrap_or(0);
        // A line that ends in a line end owns the place before it, not the one behind.
        let column = self.lines[row].iter().take_while(|item| item.at < at).map(|item| item.width).sum();
        (row, column)
    }

    /// Returns the place in the raw text that is nearest to a row and column.
    pub fn place(&self, row: usize, column: usize) -> usize {
        let Some(line) = self.lines.get(row) else { return self.end };
        let mut used = 0;
        for item in line {
            if item.ends_line || used + item.width > column {
                return item.at;
            }
            used += item.width;
        }
        match self.lines.get(row + 1) {
            Some(_) => line.last().map_or(self.end, |item| item.at),
            None => self.end,
        }
    }

    /// Returns some of the rows.
    pub fn rows(&self, from: usize, count: usize) -> Vec<Row> {
        self.lines.iter().skip(from).take(count).map(|line| draw(line)).collect()
    }
}

fn draw(line: &[Item]) -> Row {
    let mut row = Row::empty();
    let mut plain = String::new();
    for item in line.iter().filter(|item| !item.ends_line) {
        if item.is_atom {
            row.push(std::mem::take(&mut plain));
            row.push(Span::new(item.shown.clone()).role(Role::Accent));
        } else {
            plain.push_str(item.shown.as_str());
        }
    }
    // Blanks at the end are not drawn (UI-34): terminals disagree about them when they reflow.
    row.push(plain.trim_end_matches(' '));
    row
}

fn items(buffer: &Buffer) -> impl Iterator<Item = Item> {
    buffer.raw().grapheme_indices(true).map(|(at, cluster)| {
        let first = cluster.chars().next().unwrap_or_default();
        let atom = buffer.atom(first);
        let ends_line = cluster.ends_with('\n');
        let shown = match (atom, cluster) {
            (Some(atom), _) => CleanText::new(&atom.label),
            (None, "\t") => CleanText::new("    "),
            (None, cluster) => CleanText::new(cluster),
        };
        let width = if ends_line { 0 } else { shown.width() };
        Item { at, width, is_atom: atom.is_some(), ends_line, is_blank: cluster == " ", shown }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::composer::buffer::Atom;

    fn laid_out(text: &str, width: usize) -> (Buffer, Layout) {
        let mut buffer = Buffer::default();
        buffer.insert(text);
        let layout = Layout::new(&buffer, width);
        (buffer, layout)
    }

    fn rows(layout: &Layout) -> Vec<String> {
        layout.rows(0, 99).iter().map(Row::text).collect()
    }

    #[test]
    fn words_wrap() {
        let (_, layout) = laid_out("fix the test\nnow 日本語", 8);
        assert_eq!(rows(&layout), ["fix the", "test", "now", "日本語"]);
        let (_, layout) = laid_out("abcdefghij", 4);
        assert_eq!(rows(&layout), ["abcd", "efgh", "ij"]);
        let (_, layout) = laid_out("", 4);
        assert_eq!((rows(&layout), layout.position(0)), (vec![String::new()], (0, 0)));
    }

    #[test]
    fn places() {
        let (_, layout) = laid_out("fix the test\nnow\n", 8);
        for (at, wanted) in
            [(0, (0, 0)), (7, (0, 7)), (8, (1, 0)), (12, (1, 4)), (13, (2, 0)), (16, (2, 3)), (17, (3, 0))]
        {
            assert_eq!(layout.position(at), wanted, "{at}");
        }
        assert_eq!(
            (layout.place(0, 3), layout.place(1, 99), layout.place(2, 1), layout.place(3, 0)),
            (3, 12, 14, 17)
        );
    }

    #[test]
    fn atoms_are_words() {
        let mut buffer = Buffer::default();
        buffer.insert("see ");
        buffer.insert_atom(Atom { label: "[9 lines pasted]".into(), text: "x".into(), image: None });
        let layout = Layout::new(&buffer, 30);
        assert_eq!(rows(&layout), ["see [9 lines pasted]"]);
        assert_eq!(layout.position(buffer.cursor()), (0, 20));
    }
}
