//! Strings that cannot do harm where they are shown: no escape sequences, no carriage returns, no control bytes.
//!
//! What a terminal would act on is taken out whole; what is left of the control characters becomes U+FFFD, and that is
//! said. Bytes that are no UTF-8 are replaced on the way in, by [`text`].

use std::borrow::Cow;

use serde_json::{Map, Value};

/// What was found on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Characters that had to be replaced.
    pub replaced: usize,
}

/// Returns bytes as clean text, and how much had to be replaced.
pub fn text(bytes: &[u8]) -> (String, Found) {
    let mut found = Found::default();
    let decoded = String::from_utf8_lossy(bytes);
    if let Cow::Owned(changed) = &decoded {
        found.replaced = changed.matches('\u{fffd}').count();
    }
    let cleaned = string(&decoded, &mut found).into_owned();
    (cleaned, found)
}

/// Cleans every string in the value, keys included.
pub fn value(value: &mut Value, found: &mut Found) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(cleaned) = string(text, found) {
                *text = cleaned;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| self::value(item, found)),
        Value::Object(map) => object(map, found),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Cleans every string in the object, keys included.
pub fn object(map: &mut Map<String, Value>, found: &mut Found) {
    if map.keys().any(|key| key.contains(doubtful)) {
        let old = std::mem::take(map);
        map.extend(old.into_iter().map(|(key, inner)| (string(&key, found).into_owned(), inner)));
    }
    map.values_mut().for_each(|inner| value(inner, found));
}

/// Cleans one string.
pub fn string<'a>(text: &'a str, found: &mut Found) -> Cow<'a, str> {
    if !text.contains(doubtful) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' => {
                // CRLF and CR alone are line ends.
                chars.next_if_eq(&'\n');
                out.push('\n');
            }
            '\x1b' => skip_sequence(&mut chars),
            '\u{9b}' => skip_parameters(&mut chars),
            c if doubtful(c) => {
                found.replaced += 1;
                out.push('\u{fffd}');
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Whether a character has no business in output. Marks that turn the direction of text around hide what it says.
fn doubtful(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Skips what follows an escape character: a control sequence, a string for the terminal, or two characters.
fn skip_sequence(chars: &mut Chars<'_>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_parameters(chars);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            // Up to BEL or ESC \; without an end, nothing behind it can be trusted.
            while let Some(c) = chars.next() {
                if c == '\x07' || (c == '\x1b' && chars.next_if_eq(&'\\').is_some()) {
                    break;
                }
            }
        }
        Some(' '..='~') => {
            chars.next();
        }
        _ => {}
    }
}

fn skip_parameters(chars: &mut Chars<'_>) {
    while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    chars.next_if(|c| matches!(c, '@'..='~'));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cleaned(input: &str) -> (String, usize) {
        let mut found = Found::default();
        (string(input, &mut found).into_owned(), found.replaced)
    }

    #[test]
    fn nothing_a_terminal_would_act_on() {
        assert_eq!(cleaned("plain\n\ttext é"), ("plain\n\ttext é".into(), 0));
        assert_eq!(cleaned("\x1b[1;31mred\x1b[0m\r\nnext\rlast"), ("red\nnext\nlast".into(), 0));
        assert_eq!(cleaned("a\x1b]8;;http://x\x07link\x1b]8;;\x1b\\b"), ("alinkb".into(), 0));
        assert_eq!(cleaned("a\u{9b}31mb\x1bcc\x1b"), ("abc".into(), 0));
        assert_eq!(cleaned("a\0b\x08c\u{202e}d\u{7f}"), ("a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}".into(), 4));
    }

    #[test]
    fn bytes_become_text() {
        assert_eq!(text(b"caf\xe9 \0"), ("caf\u{fffd} \u{fffd}".into(), Found { replaced: 2 }));
    }

    #[test]
    fn every_string_of_a_value() {
        let mut found = Found::default();
        let mut dirty = json!({"k\u{1b}[1m": ["\u{1b}[31mx", {"a": "\0"}, 7, null]});
        value(&mut dirty, &mut found);
        assert_eq!(dirty, json!({"k": ["x", {"a": "\u{fffd}"}, 7, null]}));
        assert_eq!(found, Found { replaced: 1 });
    }
}
