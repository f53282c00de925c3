//! What a program printed, where that is too long to be laid out as a whole: the rows of a line are counted, and made when they are looked at.

use std::ops::Range;

use crate::cells::printed_row;
use crate::row::Row;
use crate::wrap::{self, Break};

#[derive(Debug)]
pub struct LongText {
    text: String,
    lines: Vec<Range<usize>>,
    /// How many rows stand above each line, at this width.
    above: Vec<usize>,
    rows: usize,
    width: u16,
}

impl LongText {
    /// Takes the text; line ends at its end are left out.
    pub fn new(text: &str) -> Self {
        let text = text.trim_end().to_owned();
        let start = text.as_ptr() as usize;
        let range = |line: &str| line.as_ptr() as usize - start..line.as_ptr() as usize - start + line.len();
        let lines = text.lines().map(range).collect();
        Self { text, lines, above: Vec::new(), rows: 0, width: 0 }
    }

    /// Counts the rows for a width, once.
    pub(super) fn lay_out(&mut self, width: u16) {
        if self.width == width {
            return;
        }
        self.width = width;
        self.rows = 0;
        self.above.clear();
        for line in &self.lines {
            self.above.push(self.rows);
            self.rows += count(&self.text[line.clone()], usize::from(width));
        }
    }

    /// Returns how many rows there are.
    pub(super) fn len(&self) -> usize {
        self.rows
    }

    pub(super) fn row(&self, at: usize) -> Row {
        let line = self.above.partition_point(|above| *above <= at).saturating_sub(1);
        let Some(range) = self.lines.get(line) else { return Row::empty() };
        let row = printed_row(&self.text[range.clone()]);
        let mut rows = wrap::wrap_spans(&row.spans, usize::from(self.width), Break::Anywhere);
        let within = at - self.above[line];
        if within < rows.len() { rows.swap_remove(within) } else { Row::empty() }
    }
}

/// Returns how many rows a line has.
fn count(line: &str, width: usize) -> usize {
    // Most lines fit, and there may be a hundred thousand of them.
    if line.len() <= width && line.bytes().all(|byte| (b' '..0x7f).contains(&byte)) {
        return 1;
    }
    wrap::wrap_spans(&printed_row(line).spans, width, Break::Anywhere).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Row by row it is what it is as a whole, at each width.
    #[test]
    fn rows_are_those_of_the_whole() {
        let text = format!("one\n\n{}\n\x1b[1mbold\x1b[0m\ta\n日本語日本語\nlast \n\n", "x".repeat(25));
        let mut long = LongText::new(&text);
        for width in [10, 4, 80] {
            long.lay_out(width);
            let whole: Vec<String> = crate::cells::printed_rows(&text)
                .iter()
                .flat_map(|row| wrap::wrap_spans(&row.spans, usize::from(width), Break::Anywhere))
                .map(|row| row.text())
                .collect();
            let rows: Vec<String> = (0..long.len()).map(|at| long.row(at).text()).collect();
            assert_eq!(rows, whole, "{width}");
        }
        assert_eq!(LongText::new("").lines.len(), 0);
    }
}
