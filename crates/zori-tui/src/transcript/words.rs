//! Cells of words that are laid out already.

use crate::cell::{Cell, CellCx};
use crate::row::Row;
use crate::wrap::{self, Break};

/// Rows as a cell.
pub(super) struct Words(pub(super) Vec<Row>);

impl Cell for Words {
    fn rows(&self, width: u16, _: &CellCx) -> Vec<Row> {
        self.0.iter().flat_map(|row| wrap::wrap_spans(&row.spans, usize::from(width), Break::Words)).collect()
    }

    fn summary(&self) -> Row {
        self.0.first().cloned().unwrap_or_default()
    }
}
