//! Text on its way to a screen or into a bound: cutting at characters, and making control bytes harmless.

use std::borrow::Cow;
use std::fmt::Display;

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

/// Returns a number with its noun, which takes an `s` behind any number but one.
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    let end = if count == N::from(1) { "" } else { "s" };
    format!("{count} {noun}{end}")
}

/// Makes text from models, tools and files harmless for a terminal (TERM-1): control bytes, bidirectional marks and
/// what cannot be seen become visible escapes; newline and tab stay, and a CR that belongs to a newline goes.
/// Joiners, which many scripts and emoji need, are left out: a terminal cannot be fooled by what is not there.
pub fn neutral(text: &str) -> Cow<'_, str> {
    escape_where(text, |c| hostile(c) && c != '\n' && c != '\t', true)
}

/// Like [`neutral`], but for a single line that has to show all there is: newline, tab and joiners become escapes.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escape_where(text, hostile, false)
}

fn hostile(c: char) -> bool {
    c.is_control() || invisible(c)
}

/// Returns whether a character changes how others look or cannot be seen at all: bidirectional controls, zero
/// width, fillers, tags and the variation selectors that are not about emoji.
pub fn invisible(c: char) -> bool {
    INVISIBLE.iter().any(|range| range.contains(&c))
}

#[rustfmt::skip]
const INVISIBLE: &[std::ops::RangeInclusive<char>] = &[
    '\u{ad}'..='\u{ad}', '\u{34f}'..='\u{34f}', '\u{61c}'..='\u{61c}', '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}', '\u{180b}'..='\u{180f}', '\u{200b}'..='\u{200f}', '\u{2028}'..='\u{202e}',
    '\u{2060}'..='\u{206f}', '\u{3164}'..='\u{3164}', '\u{fe00}'..='\u{fe0d}', '\u{feff}'..='\u{feff}',
    '\u{ffa0}'..='\u{ffa0}', '\u{fff9}'..='\u{fffb}', '\u{1d173}'..='\u{1d17a}', '\u{e0000}'..='\u{e0fff}',
];

fn escape_where(text: &str, bad: impl Fn(char) -> bool, flowing: bool) -> Cow<'_, str> {
    if !text.contains(&bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            c if !bad(c) => out.push(c),
            '\r' if flowing && chars.peek() == Some(&'\n') => {}
            '\u{200c}' | '\u{200d}' if flowing => {}
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
        assert_eq!(neutral("a\x1b[31mb\r\n\tc\rd"), "a\\x1b[31mb\n\tc\\rd");
        assert_eq!(one_line("a\nb\u{202e}c\u{9b}"), "a\\nb\\u{202e}c\\x9b");
        assert!(matches!(neutral("plain\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn what_cannot_be_seen_is_shown() {
        assert_eq!(neutral("a\u{200b}b\u{e0041}c\u{feff}"), "a\\u{200b}b\\u{e0041}c\\u{feff}");
        assert_eq!(neutral("👩\u{200d}🔬 ❤\u{fe0f}"), "👩🔬 ❤\u{fe0f}");
        assert_eq!(one_line("a\u{200d}b"), "a\\u{200d}b");
    }
}
