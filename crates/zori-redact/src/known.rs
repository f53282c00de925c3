//! Secrets known by value, in the spellings in which they travel (SCR-4): plain, escaped in JSON, percent-encoded,
//! and in base64 at each of the three places where a value can begin there.

use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};

/// Shorter values are words that happen to be passwords; taking them out would ruin the text and betray them.
const MIN_SECRET: usize = 8;

/// The values to find.
#[derive(Clone, Default)]
pub(crate) struct Known {
    search: Option<Arc<AhoCorasick>>,
}

impl Known {
    pub(crate) fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let spellings: Vec<String> =
            secrets.into_iter().filter(|secret| secret.len() >= MIN_SECRET).flat_map(spellings).collect();
        if spellings.is_empty() {
            return Self::default();
        }
        let search = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(spellings)
            .expect("a handful of keys is far below the limits of the automaton");
        Self { search: Some(Arc::new(search)) }
    }

    pub(crate) fn find(&self, text: &str) -> Vec<Range<usize>> {
        let Some(search) = &self.search else { return Vec::new() };
        search.find_iter(text).map(|found| found.range()).collect()
    }
}

fn spellings(secret: &str) -> Vec<String> {
    let mut all = vec![secret.to_owned(), json_escaped(secret)];
    all.push(percent_encoded(secret, true));
    all.push(percent_encoded(secret, false));
    for alphabet in [STANDARD, URL_SAFE] {
        all.extend((0..3).map(|before| base64_core(secret.as_bytes(), before, alphabet)));
    }
    all.sort_unstable();
    all.dedup();
    all
}

fn json_escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out
}

fn percent_encoded(text: &str, upper: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(byte.into()),
            byte if upper => out.push_str(&format!("%{byte:02X}")),
            byte => out.push_str(&format!("%{byte:02x}")),
        }
    }
    out
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Returns the characters that depend on the value alone when it stands `before` bytes after a multiple of three,
/// as the password does in `user:password`.
fn base64_core(bytes: &[u8], before: usize, alphabet: &[u8; 64]) -> String {
    let bits = bytes.len() * 8;
    // The first whole sextet of the value starts where its first bit stands, rounded up to six.
    let start = (6 - (before * 8) % 6) % 6;
    (0..(bits - start) / 6)
        .map(|index| {
            let at = start + index * 6;
            let sextet = (0..6).fold(0u8, |acc, i| {
                let bit = at + i;
                acc << 1 | (bytes[bit / 8] >> (7 - bit % 8)) & 1
            });
            char::from(alphabet[usize::from(sextet)])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_known_wherever_the_value_begins() {
        // "abcdefghi" is YWJjZGVmZ2hp; after one byte (x) eGFiY2RlZmdoaQ==; after two (xy) eHlhYmNkZWZnaGk=.
        assert_eq!(base64_core(b"abcdefghi", 0, STANDARD), "YWJjZGVmZ2hp");
        assert!("eGFiY2RlZmdoaQ==".contains(&base64_core(b"abcdefghi", 1, STANDARD)));
        assert!("eHlhYmNkZWZnaGk=".contains(&base64_core(b"abcdefghi", 2, STANDARD)));
    }

    #[test]
    fn spellings_of_a_value_with_everything_in_it() {
        assert_eq!(json_escaped("a\"b\\c\n\u{1}"), "a\\\"b\\\\c\\n\\u0001");
        assert_eq!(percent_encoded("a/b+é", true), "a%2Fb%2B%C3%A9");
        assert_eq!(percent_encoded("a/b", false), "a%2fb");
    }
}
