//! Tables (MD-3): columns share the width by need and wrap; where a cell would be too narrow to read, each row is a list.

use pulldown_cmark::Alignment;

use super::blocks::{line, strong};
use crate::row::{Row, Span};
use crate::wrap::{Break, wrap_spans};

/// The blanks between two columns.
const GAP: usize = 2;
/// The columns a cell needs to be read (MD-3).
const READABLE: usize = 12;

pub type TableCell = Vec<Span>;

pub struct Table {
    pub alignments: Vec<Alignment>,
    pub head: Vec<TableCell>,
    pub body: Vec<Vec<TableCell>>,
    /// Whether its header was drawn before.
    pub goes_on: bool,
}

impl Table {
    /// Returns its rows, at most `columns` wide.
    pub fn rows(&self, columns: usize) -> Vec<Row> {
        match self.widths(columns) {
            Some(widths) => self.grid(&widths),
            None => self.lists(columns),
        }
    }

    /// Returns the width of each column; `None` where they would be too narrow.
    fn widths(&self, columns: usize) -> Option<Vec<usize>> {
        let count = self.head.len();
        let mut wanted: Vec<usize> = (0..count).map(|i| self.wanted(i)).collect();
        let free = columns.checked_sub(GAP * count.saturating_sub(1))?;
        if wanted.iter().sum::<usize>() <= free {
            return Some(wanted);
        }
        // Columns that need less than an equal share keep what they need; the others share the rest.
        let mut settled = vec![false; count];
        loop {
            let taken: usize = (0..count).filter(|i| settled[*i]).map(|i| wanted[i]).sum();
            let open = settled.iter().filter(|settled| !**settled).count();
            let share = (free.checked_sub(taken)?).checked_div(open)?;
            let small: Vec<usize> = (0..count).filter(|i| !settled[*i] && wanted[*i] <= share).collect();
            if small.is_empty() {
                if share < READABLE {
                    return None;
                }
                for i in 0..count {
                    if !settled[i] {
                        wanted[i] = share;
                    }
                }
                return Some(wanted);
            }
            for i in small {
                settled[i] = true;
            }
        }
    }

    fn wanted(&self, column: usize) -> usize {
        let cells = std::iter::once(&self.head).chain(&self.body).filter_map(|row| row.get(column));
        cells.map(|cell| cell_width(cell)).max().unwrap_or(0).max(1)
    }

    fn grid(&self, widths: &[usize]) -> Vec<Row> {
        let mut rows = Vec::new();
        if !self.goes_on {
            let head: Vec<TableCell> =
                self.head.iter().map(|cell| cell.iter().map(strong).collect()).collect();
            self.grid_row(&head, widths, &mut rows);
            let rule =
                widths.iter().map(|width| "─".repeat(*width)).collect::<Vec<_>>().join(&" ".repeat(GAP));
            rows.push(line(rule).into());
        }
        for cells in &self.body {
            self.grid_row(cells, widths, &mut rows);
        }
        rows
    }

    fn grid_row(&self, cells: &[TableCell], widths: &[usize], rows: &mut Vec<Row>) {
        let wrapped: Vec<Vec<Row>> =
            cells.iter().zip(widths).map(|(cell, width)| wrap_spans(cell, *width, Break::Words)).collect();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
        for i in 0..height {
            let mut row = Row::empty();
            // Where the next column starts, and where the row has come to.
            let mut start = 0;
            for (column, (part, width)) in wrapped.iter().zip(widths).enumerate() {
                if let Some(part) = part.get(i).filter(|part| !part.spans.is_empty()) {
                    let free = width.saturating_sub(part.width());
                    let left = match self.alignments.get(column) {
                        Some(Alignment::Right) => free,
                        Some(Alignment::Center) => free / 2,
                        _ => 0,
                    };
                    let at = start + left;
                    row.push(" ".repeat(at.saturating_sub(row.width())));
                    row.spans.extend(part.spans.iter().cloned());
                }
                start += width + GAP;
            }
            rows.push(row);
        }
    }

    fn lists(&self, columns: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        for (i, cells) in self.body.iter().enumerate() {
            if i > 0 {
                rows.push(Row::empty());
            }
            for (name, cell) in self.head.iter().zip(cells) {
                let mut spans: Vec<Span> = name.iter().map(strong).collect();
                spans.push(Span::new(": "));
                spans.extend(cell.iter().cloned());
                rows.extend(wrap_spans(&spans, columns, Break::Words));
            }
        }
        if self.body.is_empty() {
            for name in &self.head {
                rows.extend(wrap_spans(&name.iter().map(strong).collect::<Vec<_>>(), columns, Break::Words));
            }
        }
        rows
    }
}

fn cell_width(cell: &[Span]) -> usize {
    cell.iter().map(|span| span.text.width()).sum()
}
