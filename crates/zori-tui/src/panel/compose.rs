//! Rows beside and over one another: the panel is put together from pieces that know nothing of their place.

use unicode_segmentation::UnicodeSegmentation;

use crate::row::{Ground, Role, Row, Span};
use crate::wrap;

/// Returns the row with exactly so many columns: cut, or filled with blanks.
pub fn pad(row: &Row, width: usize) -> Row {
    let mut row = wrap::truncate(row, width);
    let free = width.saturating_sub(row.width());
    if free > 0 {
        row.push(" ".repeat(free));
    }
    row
}

/// Returns the columns of a row from one to another; half of a wide character is a blank.
pub fn slice(row: &Row, from: usize, to: usize) -> Row {
    let mut out = Row::empty();
    let mut column = 0;
    for span in &row.spans {
        let mut kept: Option<(usize, usize)> = None;
        let (mut before, mut behind) = (0, 0);
        for (at, cluster) in span.text.as_str().grapheme_indices(true) {
            let (start, end) = (column, column + wrap::width(cluster));
            column = end;
            if start >= from && end <= to {
                kept = Some((kept.map_or(at, |(first, _)| first), at + cluster.len()));
            } else if start < from && end > from {
                before = end.min(to) - from;
            } else if start < to && end > to {
                behind = to - start.max(from);
            }
        }
        let blank = |count: usize| Span::new(" ".repeat(count)).style(span.style);
        out.push(blank(before));
        if let Some((first, last)) = kept {
            out.push(Span { text: span.text.slice(first..last), ..span.clone() });
        }
        out.push(blank(behind));
    }
    out
}

/// Returns a row with another over it from a column on.
pub fn over(base: &Row, at: usize, top: Row) -> Row {
    let behind = at + top.width();
    let width = base.width();
    let mut row = pad(&slice(base, 0, at), at);
    row.spans.extend(top.spans);
    if width > behind {
        row.spans.extend(slice(base, behind, width).spans);
    }
    row
}

/// Lays rows over a screen.
pub fn lay_over(screen: &mut [Row], top: usize, left: usize, rows: Vec<Row>) {
    for (row, above) in screen.iter_mut().skip(top).zip(rows) {
        *row = over(row, left, above);
    }
}

/// Returns a box around rows, `width` columns wide with its edges, on a ground of its own.
pub fn boxed(title: &str, foot: &str, rows: Vec<Row>, width: usize) -> Vec<Row> {
    let inner = width.saturating_sub(4);
    let edge = |left: &str, words: &str, right: &str| {
        let words = match words {
            "" => Row::empty(),
            words => wrap::truncate(
                &Row::empty().with(" ").with(Span::new(words).bold()).with(" "),
                width.saturating_sub(2),
            ),
        };
        let line = "─".repeat(width.saturating_sub(2 + words.width()));
        let mut row = Row::empty().with(Span::new(left).role(Role::Primary));
        row.spans.extend(words.spans);
        row.push(Span::new(format!("{line}{right}")).role(Role::Primary));
        row
    };
    let mut out = vec![edge("┌", title, "┐")];
    for row in rows {
        let mut line = Row::empty().with(Span::new("│ ").role(Role::Primary));
        line.spans.extend(pad(&row, inner).spans);
        line.push(Span::new(" │").role(Role::Primary));
        out.push(line);
    }
    out.push(edge("└", foot, "┘"));
    for row in &mut out {
        for span in &mut row.spans {
            if span.style.ground == Ground::None {
                span.style.ground = Ground::Raised;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(row: &Row) -> String {
        row.text()
    }

    #[test]
    fn one_row_over_another() {
        let base = Row::from(Span::new("0123456789"));
        assert_eq!(text(&over(&base, 3, Row::from(Span::new("abc")))), "012abc6789");
        assert_eq!(text(&over(&base, 8, Row::from(Span::new("abc")))), "01234567abc");
        assert_eq!(text(&over(&base, 12, Row::from(Span::new("x")))), "0123456789  x");
    }

    #[test]
    fn half_of_a_wide_character_is_a_blank() {
        let base = Row::from(Span::new("日本語"));
        assert_eq!(text(&slice(&base, 1, 5)), " 本 ");
        assert_eq!(text(&over(&base, 1, Row::from(Span::new("ab")))), " ab 語");
        assert_eq!(pad(&base, 8).width(), 8);
        assert_eq!(pad(&base, 3).width(), 3);
    }
}
