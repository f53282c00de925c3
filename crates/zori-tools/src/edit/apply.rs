//! Replaces text in text: exactly, or else tolerant of blanks where only one place can be meant.
//!
//! Pure; used by `edit` and `multi_edit`.

use std::collections::BTreeMap;
use std::ops::Range;

/// How many places are to be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
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
    /// Set when `old` was not matched exactly: what was overlooked.
    pub tolerated: Option<&'static str>,
}

/// Why nothing was replaced.
#[derive(Debug, PartialEq, Eq)]
pub enum Miss {
    /// `old` does not occur.
    NotFound,
    /// `old` occurs another number of times.
    Count {
        /// As often as this.
        found: usize,
    },
}

/// Replaces `old`, which is not empty, by `new`.
pub fn apply(text: &str, old: &str, new: &str, wanted: Wanted) -> Result<Applied, Miss> {
    let found = text.matches(old).count();
    let take = match wanted {
        Wanted::Exactly(n) if found == n => n,
        Wanted::Exactly(1) if found == 0 => return tolerant(text, old, new),
        Wanted::All | Wanted::First(_) if found == 0 => return tolerant(text, old, new),
        Wanted::All => found,
        Wanted::First(n) => found.min(n),
        Wanted::Exactly(_) if found == 0 => return Err(Miss::NotFound),
        Wanted::Exactly(_) => return Err(Miss::Count { found }),
    };
    Ok(Applied { text: text.replacen(old, new, take), replacements: take, tolerated: None })
}

/// Whole lines of `text` that equal those of `old` but for blanks at their ends, or but for their indentation.
/// Only a single such place counts: a guess between two would be worse than an error.
fn tolerant(text: &str, old: &str, new: &str) -> Result<Applied, Miss> {
    let wanted: Vec<&str> = old.lines().collect();
    if wanted.iter().all(|line| line.trim().is_empty()) {
        return Err(Miss::NotFound);
    }
    let lines = line_ranges(text);
    if let Some(place) = only_place(text, &lines, &wanted, |a, b| a.trim_end() == b.trim_end()) {
        return Ok(replace_lines(text, &lines[place], old, new, "blanks or carriage returns at line ends"));
    }
    let place = only_place(text, &lines, &wanted, |a, b| a.trim() == b.trim()).ok_or(Miss::NotFound)?;
    let theirs = lines[place.clone()].iter().map(|range| &text[range.clone()]);
    let new = reindent(new, &wanted, theirs).ok_or(Miss::NotFound)?;
    Ok(replace_lines(text, &lines[place], old, &new, "indentation"))
}

/// Returns the lines of a text without their newline.
fn line_ranges(text: &str) -> Vec<Range<usize>> {
    let mut start = 0;
    text.split_inclusive('\n')
        .map(|line| {
            let range = start..start + line.strip_suffix('\n').unwrap_or(line).len();
            start += line.len();
            range
        })
        .collect()
}

/// Returns the lines that match, if they do in one place only.
fn only_place(
    text: &str,
    lines: &[Range<usize>],
    wanted: &[&str],
    same: impl Fn(&str, &str) -> bool,
) -> Option<Range<usize>> {
    let mut places = (0..(lines.len() + 1).checked_sub(wanted.len())?).filter(|&at| {
        wanted.iter().zip(&lines[at..]).all(|(wanted, range)| same(wanted, &text[range.clone()]))
    });
    let at = places.next()?;
    places.next().is_none().then_some(at..at + wanted.len())
}

fn replace_lines(
    text: &str,
    place: &[Range<usize>],
    old: &str,
    new: &str,
    tolerated: &'static str,
) -> Applied {
    let (Some(first), Some(last)) = (place.first(), place.last()) else {
        unreachable!("a place has as many lines as `old`, which is not empty")
    };
    let crlf = text[first.clone()].ends_with('\r');
    let mut end = last.end;
    let mut new = new.to_owned();
    if crlf && !new.contains('\r') {
        new = new.replace('\n', "\r\n");
        // The carriage return before a newline that stays is not part of what was asked to be replaced.
        if !old.ends_with('\n') && text[last.clone()].ends_with('\r') {
            end -= 1;
        }
    }
    if old.ends_with('\n') {
        end = (end + 1).min(text.len());
    }
    let text = [&text[..first.start], &new, &text[end..]].concat();
    Applied { text, replacements: 1, tolerated: Some(tolerated) }
}

/// Gives `new` the indentation of the file, learnt from how the lines of `old` differ from the file's. `None` where
/// they do not differ in one consistent way.
fn reindent<'a>(new: &str, old: &[&str], theirs: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut map: BTreeMap<&str, &str> = BTreeMap::new();
    for (old, theirs) in old.iter().zip(theirs) {
        if old.trim().is_empty() {
            continue;
        }
        let (from, to) = (indent(old), indent(theirs));
        if *map.entry(from).or_insert(to) != to {
            return None;
        }
    }
    // Most often one prefix is missing from every line, or one too many is there.
    let added = common(map.iter().map(|(from, to)| to.strip_suffix(from)));
    let mut out = String::with_capacity(new.len() + 64);
    for line in new.split_inclusive('\n') {
        let from = indent(line);
        let known = map.iter().filter(|(key, _)| from.starts_with(**key)).max_by_key(|(key, _)| key.len());
        match (known, added) {
            _ if line.trim().is_empty() => out.push_str(line),
            (Some((key, to)), _) => {
                out.push_str(to);
                out.push_str(&line[key.len()..]);
            }
            (None, Some(prefix)) => {
                out.push_str(prefix);
                out.push_str(line);
            }
            (None, None) => return None,
        }
    }
    Some(out)
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Returns the value if all are the same one.
fn common<'a>(mut values: impl Iterator<Item = Option<&'a str>>) -> Option<&'a str> {
    let first = values.next()??;
    values.all(|value| value == Some(first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The one place that knows the API: what came of it, in one line.
    fn check(text: &str, old: &str, new: &str, wanted: Wanted) -> String {
        match apply(text, old, new, wanted) {
            Ok(Applied { text, replacements, tolerated }) => {
                format!("{replacements} {:?} {text:?}", tolerated.unwrap_or("exact"))
            }
            Err(miss) => format!("{miss:?}"),
        }
    }

    #[test]
    fn exact() {
        assert_eq!(check("aXbX", "X", "y", Wanted::Exactly(2)), r#"2 "exact" "ayby""#);
        assert_eq!(check("aXbX", "X", "y", Wanted::Exactly(1)), "Count { found: 2 }");
        assert_eq!(check("aXbX", "X", "y", Wanted::All), r#"2 "exact" "ayby""#);
        assert_eq!(check("aXbX", "X", "y", Wanted::First(1)), r#"1 "exact" "aybX""#);
        assert_eq!(check("aaa", "aa", "b", Wanted::Exactly(1)), r#"1 "exact" "ba""#);
        assert_eq!(check("abc", "X", "y", Wanted::Exactly(2)), "NotFound");
        assert_eq!(check("abc", "X", "y", Wanted::First(2)), "NotFound");
        // No newline is ever touched.
        assert_eq!(check("a\r\nb\r\n", "b", "c", Wanted::Exactly(1)), r#"1 "exact" "a\r\nc\r\n""#);
    }

    #[test]
    fn blanks_at_line_ends() {
        let ends = "blanks or carriage returns at line ends";
        assert_eq!(
            check("one  \ntwo\nthree\n", "one\ntwo", "1\n2", Wanted::Exactly(1)),
            format!("1 {ends:?} {:?}", "1\n2\nthree\n")
        );
        assert_eq!(
            check("one\ntwo\n", "one \ntwo \n", "1\n", Wanted::Exactly(1)),
            format!("1 {ends:?} {:?}", "1\n")
        );
        assert_eq!(
            check("one\r\ntwo\r\nthree\r\n", "one\ntwo", "1\n2", Wanted::Exactly(1)),
            format!("1 {ends:?} {:?}", "1\r\n2\r\nthree\r\n")
        );
        assert_eq!(
            check("one\r\ntwo\r\nthree\r\n", "one\ntwo\n", "1\n2\n", Wanted::Exactly(1)),
            format!("1 {ends:?} {:?}", "1\r\n2\r\nthree\r\n")
        );
    }

    #[test]
    fn indentation() {
        let file = "fn a() {\n        if x {\n            y();\n        }\n}\n";
        assert_eq!(
            check(file, "if x {\n    y();\n}", "if x {\n    z();\n\n    w();\n}", Wanted::Exactly(1)),
            format!(
                "1 \"indentation\" {:?}",
                "fn a() {\n        if x {\n            z();\n\n            w();\n        }\n}\n"
            )
        );
        // Tabs where the model wrote blanks.
        assert_eq!(
            check("\tif x:\n\t\ty\n", "    if x:\n        y", "    if x:\n        z\n        w", Wanted::All),
            format!("1 \"indentation\" {:?}", "\tif x:\n\t\tz\n\t\tw\n")
        );
        // A level the file does not show cannot be guessed.
        assert_eq!(check("\tx\n", "        x", "    y", Wanted::Exactly(1)), "NotFound");
    }

    #[test]
    fn no_guessing() {
        // Two places match tolerantly.
        assert_eq!(check("  x\n    x\n", "\tx", "y", Wanted::Exactly(1)), "NotFound");
        assert_eq!(check("a \nb\n", "  \n", "y", Wanted::Exactly(1)), "NotFound");
        assert_eq!(check("a\n", "a\nb\nc", "y", Wanted::Exactly(1)), "NotFound");
        assert_eq!(check("", "a", "y", Wanted::Exactly(1)), "NotFound");
    }
}
