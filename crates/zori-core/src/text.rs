//! Text on its way to a screen or into a bound: cutting at characters, and making control bytes harmless.

use std::borrow::Cow;

use unicode_width::UnicodeWidthStr;

/// Returns the longest prefix of at most `max` bytes that ends between two characters.
pub fn prefix(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// Returns the longest suffix of at most `max` bytes that starts between two characters.
pub fn suffix(text: &str, max: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(max))..]
}

/// Returns how many columns a terminal uses for the text.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Makes text from models, tools and files harmless for a terminal: control bytes and bidirectional marks
/// become visible escapes; newline and tab stay.
pub fn neutral(text: &str) -> Cow<'_, str> {
    escape_where(text, |c| hostile(c) && c != '\n' && c != '\t')
}

/// Like [`neutral`], but for a single line: newline and tab become `\n` and `\t`.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escape_where(text, hostile)
}

fn hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escape_where(text: &str, bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            c if !bad(c) => out.push(c),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x100 => out.push_str(&format!("\\x{:02x}", c as u32)),
            c => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_between_characters() {
        assert_eq!(prefix("aé", 2), "a");
        assert_eq!(prefix("aé", 9), "aé");
        assert_eq!(suffix("éa", 2), "a");
        assert_eq!(suffix("éa", 3), "éa");
    }

    #[test]
    fn control_bytes_become_visible() {
        assert_eq!(neutral("a\x1b[31mb\r\n\tc"), "a\\x1b[31mb\\r\n\tc");
        assert_eq!(one_line("a\nb\u{202e}c\u{9b}"), "a\\nb\\u{202e}c\\x9b");
        assert!(matches!(neutral("plain\n"), Cow::Borrowed(_)));
    }
}
