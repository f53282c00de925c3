//! Cells of words that are laid out already.

use crate::cell::{Cell, CellCx};
use crate::row::Row;
use crate::wrap::{self, Break};

/// Wraps a row. Where it is a name and, behind a gap, what is said of it, that goes on below itself.
fn wrapped(row: &Row, columns: usize) -> Vec<Row> {
    let Some((text, name)) = row.spans.split_last().filter(|_| row.width() > columns) else {
        return wrap::wrap_spans(&row.spans, columns, Break::Words);
    };
    let first = Row { spans: name.to_vec() };
    let gap = name.last().is_some_and(|span| span.text.as_str().ends_with("  "));
    if !gap || first.width() > columns / 2 {
        return wrap::wrap_spans(&row.spans, columns, Break::Words);
    }
    let rest = Row::empty().with(" ".repeat(first.width()));
    wrap::wrap_hanging(std::slice::from_ref(text), columns, &first, &rest)
}

/// Rows as a cell.
pub(super) struct Words(pub(super) Vec<Row>);

impl Cell for Words {
    fn rows(&self, width: u16, _: &CellCx) -> Vec<Row> {
        self.0.iter().flat_map(|row| wrapped(row, usize::from(width))).collect()
    }

    fn summary(&self) -> Row {
        self.0.first().cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Span;

    #[test]
    fn what_is_said_of_a_name_goes_on_below_itself() {
        let row = Row::empty()
            .with("  ")
            .with("/login          ")
            .with(Span::new("stores a key of Anthropic").muted());
        let shown = |width| wrapped(&row, width).iter().map(Row::text).collect::<Vec<_>>();
        assert_eq!(shown(43), ["  /login          stores a key of Anthropic"]);
        assert_eq!(shown(39), ["  /login          stores a key of", "                  Anthropic"]);
        assert_eq!(shown(20), ["  /login", "stores a key of", "Anthropic"], "there is no room for that");
    }
}
