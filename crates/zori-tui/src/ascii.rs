//! Our own signs where only ASCII can be shown (ACC-3). What others wrote stays as it is.

use crate::clean::CleanText;
use crate::row::Row;

/// A sign, and what stands for it: one column for one column.
const SIGNS: &[(char, char)] = &[
    ('›', '>'),
    ('·', '|'),
    ('…', '~'),
    ('●', '*'),
    ('•', '*'),
    ('✗', 'x'),
    ('✓', '+'),
    ('■', '#'),
    ('⊘', '-'),
    ('∴', ':'),
    ('☐', '-'),
    ('☑', 'x'),
    ('▸', '>'),
    ('⏎', '<'),
    ('↑', '^'),
    ('↓', 'v'),
    ('→', '>'),
    ('↻', '@'),
    ('✶', '*'),
    ('✷', '+'),
    ('✸', 'x'),
    ('─', '-'),
    ('–', '-'),
    ('⋮', ':'),
    ('│', '|'),
    ('┌', '+'),
    ('┐', '+'),
    ('└', '+'),
    ('┘', '+'),
    ('▓', '#'),
    ('░', '.'),
    ('█', '#'),
    ('▟', '/'),
    ('▙', '\\'),
    ('▲', 'M'),
    ('▼', 'v'),
    ('╻', '!'),
    ('♥', '*'),
];

/// Returns the row with our signs in ASCII.
pub fn row(mut row: Row) -> Row {
    for span in &mut row.spans {
        if !span.text.as_str().is_ascii() {
            let shown = |c| SIGNS.iter().find(|(sign, _)| *sign == c).map_or(c, |(_, ascii)| *ascii);
            let text: String = span.text.as_str().chars().map(shown).collect();
            span.text = CleanText::from(text);
        }
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Span;

    #[test]
    fn signs_keep_their_columns() {
        let shown = row(Row::from(Span::new("● $ echo ü · … 日本")));
        assert_eq!(shown.text(), "* $ echo ü | ~ 日本");
        for (sign, ascii) in SIGNS {
            assert!(crate::wrap::width(&sign.to_string()) == 1 && ascii.is_ascii_graphic(), "{sign}");
        }
    }
}
