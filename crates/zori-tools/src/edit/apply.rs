//! Replaces text in text: exactly, or else by a tolerant tier where only one place can be meant.
//!
//! Pure; used by `edit` and `multi_edit`. What is tolerated is in [`crate::matching`].

use std::ops::Range;

use crate::matching::change::Change;
use crate::matching::{self, Bounds, Found, Miss};
use zori_core::tool::Leniency;

/// How many places are to be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplaceCount {
    /// All, and there must be this many.
    Exactly(usize),
    /// All, however many, but at least one.
    All,
    /// The first so many, but at least one.
    First(usize),
}

/// A replacement that was made.
#[derive(Debug, PartialEq, Eq)]
pub struct Applied {
    /// The whole new text.
    pub text: String,
    /// How many places were replaced.
    pub replacements: usize,
    /// Set when `old` was not matched exactly.
    pub tolerated: Option<Tolerated>,
    /// Whether newlines of `new` became CRLF, as the file has them.
    pub line_ends: bool,
}

/// How a tolerant match was made.
#[derive(Debug, PartialEq, Eq)]
pub struct Tolerated {
    /// What was overlooked.
    pub what: &'static str,
    /// Where the new text stands.
    pub place: Range<usize>,
}

/// Why nothing was replaced.
#[derive(Debug, PartialEq, Eq)]
pub enum ReplaceError {
    /// `old` does not occur.
    NotFound,
    /// `old` occurs another number of times, beginning at these bytes.
    Count { starts: Vec<usize> },
    /// It occurs in several places but for something that a tier overlooks.
    Several { what: &'static str, starts: Vec<usize> },
}

/// Replaces `old`, which is not empty, by `new`.
pub fn apply(
    text: &str,
    old: &str,
    new: &str,
    wanted: ReplaceCount,
    leniency: Leniency,
) -> Result<Applied, ReplaceError> {
    let found = text.matches(old).count();
    let take = match wanted {
        ReplaceCount::Exactly(n) if found == n => n,
        ReplaceCount::Exactly(n) if found > 0 || n > 1 => {
            if found == 0 {
                return Err(ReplaceError::NotFound);
            }
            return Err(ReplaceError::Count { starts: text.match_indices(old).map(|(at, _)| at).collect() });
        }
        _ if found == 0 => return tolerant(text, old, new, leniency),
        ReplaceCount::All | ReplaceCount::Exactly(_) => found,
        ReplaceCount::First(n) => found.min(n),
    };
    let follows = leniency == Leniency::Forgiving && new.contains('\n') && !new.contains('\r');
    if !follows || !text.contains('\r') {
        let text = text.replacen(old, new, take);
        return Ok(Applied { text, replacements: take, tolerated: None, line_ends: false });
    }
    let mut out = String::with_capacity(text.len() + new.len());
    let (mut done, mut line_ends) = (0, false);
    for (at, _) in text.match_indices(old).take(take) {
        out.push_str(&text[done..at]);
        let crlf = is_crlf_line(text, at);
        line_ends |= crlf;
        out.push_str(&if crlf { new.replace('\n', "\r\n") } else { new.to_owned() });
        done = at + old.len();
    }
    out.push_str(&text[done..]);
    Ok(Applied { text: out, replacements: take, tolerated: None, line_ends })
}

/// Returns whether the line at this byte ends with CRLF; of a last line without an end, the one before it says so.
fn is_crlf_line(text: &str, at: usize) -> bool {
    match text[at..].find('\n') {
        Some(newline) => text[..at + newline].ends_with('\r'),
        None => text[..at].rfind('\n').is_some_and(|newline| text[..newline].ends_with('\r')),
    }
}

fn tolerant(text: &str, old: &str, new: &str, leniency: Leniency) -> Result<Applied, ReplaceError> {
    if leniency == Leniency::Exact {
        return Err(ReplaceError::NotFound);
    }
    let change = Change::Text { old: old.to_owned(), new: new.to_owned() };
    match matching::tolerant(text, &change, Bounds::Anywhere, leniency) {
        Err(Miss::Nowhere) => Err(ReplaceError::NotFound),
        Err(Miss::Several { tolerated, starts }) => Err(ReplaceError::Several { what: tolerated, starts }),
        Ok(Found { range, new, tolerated }) => {
            let place = range.start..range.start + new.len();
            let text = [&text[..range.start], &new, &text[range.end..]].concat();
            let tolerated = Some(Tolerated { what: tolerated, place });
            Ok(Applied { text, replacements: 1, tolerated, line_ends: false })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The one place that knows the API: what came of it, in one line.
    fn check(text: &str, old: &str, new: &str, wanted: ReplaceCount) -> String {
        match apply(text, old, new, wanted, Leniency::Forgiving) {
            Ok(Applied { text, replacements, tolerated, line_ends }) => {
                let how =
                    tolerated.map_or(if line_ends { "crlf" } else { "exact" }, |tolerated| tolerated.what);
                format!("{replacements} {how:?} {text:?}")
            }
            Err(miss) => format!("{miss:?}"),
        }
    }

    #[test]
    fn exact() {
        assert_eq!(check("aXbX", "X", "y", ReplaceCount::Exactly(2)), r#"2 "exact" "ayby""#);
        assert_eq!(check("aXbX", "X", "y", ReplaceCount::Exactly(1)), "Count { starts: [1, 3] }");
        assert_eq!(check("aXbX", "X", "y", ReplaceCount::All), r#"2 "exact" "ayby""#);
        assert_eq!(check("aXbX", "X", "y", ReplaceCount::First(1)), r#"1 "exact" "aybX""#);
        assert_eq!(check("aaa", "aa", "b", ReplaceCount::Exactly(1)), r#"1 "exact" "ba""#);
        assert_eq!(check("abc", "X", "y", ReplaceCount::Exactly(2)), "NotFound");
        assert_eq!(check("abc", "X", "y", ReplaceCount::First(2)), "NotFound");
        // No newline is ever touched that is not part of the change.
        assert_eq!(check("a\r\nb\r\n", "b", "c", ReplaceCount::Exactly(1)), r#"1 "exact" "a\r\nc\r\n""#);
        assert_eq!(
            check("a\r\nb\r\n", "b", "c\nd", ReplaceCount::Exactly(1)),
            r#"1 "crlf" "a\r\nc\r\nd\r\n""#
        );
        assert_eq!(check("a\nb\r\n", "a", "c\nd", ReplaceCount::Exactly(1)), r#"1 "exact" "c\nd\nb\r\n""#);
    }

    /// The profile `zdx` has its document's exact matching, and writes what it was told.
    #[test]
    fn exact_means_exact() {
        let strict = |text, old, new| apply(text, old, new, ReplaceCount::Exactly(1), Leniency::Exact);
        assert_eq!(strict("abc  \nd\n", "abc\nd", "x"), Err(ReplaceError::NotFound));
        assert_eq!(strict("a\r\nb\r\n", "b", "c\nd").unwrap().text, "a\r\nc\nd\r\n");
    }

    #[test]
    fn tolerant_tiers_are_named() {
        let one = ReplaceCount::Exactly(1);
        assert_eq!(
            check("one  \ntwo\nthree\n", "one\ntwo", "1\n2", one),
            r#"1 "blanks at line ends" "1\n2\nthree\n""#
        );
        assert_eq!(check("one\ntwo\n", "one \ntwo \n", "1\n", one), r#"1 "blanks at line ends" "1\n""#);
        assert_eq!(
            check("one\r\ntwo\r\nthree\r\n", "one\ntwo\n", "1\n2\n", one),
            r#"1 "line ends (CRLF)" "1\r\n2\r\nthree\r\n""#
        );
        assert_eq!(
            check("\tif x:\n\t\ty\n", "    if x:\n        y", "    if x:\n        z\n        w", one),
            r#"1 "indentation" "\tif x:\n\t\tz\n\t\tw\n""#
        );
    }

    #[test]
    fn no_guessing() {
        let one = ReplaceCount::Exactly(1);
        assert_eq!(check("  x\n    x\n", "\tx", "y", one), "NotFound");
        assert_eq!(check("a \nb\n", "  \n", "y", one), "NotFound");
        assert_eq!(check("a\n", "a\nb\nc", "y", one), "NotFound");
        assert_eq!(check("", "a", "y", one), "NotFound");
        assert_eq!(
            check("abc “x”\nabc “x”\n", "abc \"x\"", "y", ReplaceCount::All),
            "Several { what: \"quotes, dashes, blanks or composed letters\", starts: [0, 12] }"
        );
    }
}
