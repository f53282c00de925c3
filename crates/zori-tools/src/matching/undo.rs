//! What models do to text on its way into a call, undone on both sides of a change.

use super::change::{Change, Part};
use super::fold::{entity, escape};

/// The model did nothing; only the comparison is tolerant.
pub fn nothing(change: &Change) -> Option<Change> {
    Some(change.clone())
}

/// Literal `\n`, `\t` and `\"` for what they stand for.
pub fn escapes(change: &Change) -> Option<Change> {
    change.rewritten(&|text| decoded(text, escape))
}

/// HTML entities for what they stand for.
pub fn entities(change: &Change) -> Option<Change> {
    change.rewritten(&|text| decoded(text, entity))
}

/// Blank lines before and behind the text.
pub fn blank_lines(change: &Change) -> Option<Change> {
    match change {
        Change::Text { old, new } => {
            let (start, end) = (leading(old), trailing(old));
            if start == 0 && end == 0 || old.trim().is_empty() {
                return None;
            }
            // What stands around the new text as well is not part of the change.
            let new = new.trim_start_matches(['\n', '\r']).trim_end_matches(['\n', '\r', ' ', '\t']);
            let old = &old[start..old.len() - end];
            Some(Change::Text { old: old.to_owned(), new: new.to_owned() })
        }
        Change::Lines(parts) => {
            let blank = |part: &Part| matches!(part, Part::Keep(text) if text.trim().is_empty());
            let start = parts.iter().take_while(|part| blank(part)).count();
            let end = parts[start..].iter().rev().take_while(|part| blank(part)).count();
            (start + end > 0 && start + end < parts.len())
                .then(|| Change::Lines(parts[start..parts.len() - end].to_vec()))
        }
    }
}

/// Returns how many bytes of blank lines a text begins with.
fn leading(text: &str) -> usize {
    let lines = text.split_inclusive('\n').take_while(|line| line.trim().is_empty() && line.ends_with('\n'));
    lines.map(str::len).sum()
}

/// Returns how many bytes of newlines and blank lines a text ends with.
fn trailing(text: &str) -> usize {
    let kept = text.trim_end_matches(['\n', '\r', ' ', '\t']);
    // One newline ends the last line; that alone is not a blank line.
    let rest = &text[kept.len()..];
    rest.find('\n').map_or(0, |_| rest.len())
}

/// Line numbers as a read or a search shows them; every line that has text must have one.
pub fn line_numbers(change: &Change) -> Option<Change> {
    let old = change.old();
    let mut last = None;
    for line in old.lines().filter(|line| !line.trim().is_empty()) {
        let (number, _) = numbered(line)?;
        if last.is_some_and(|last| number != last + 1) {
            return None;
        }
        last = Some(number);
    }
    last?;
    let bare = |text: &str| -> String {
        let lines = text.split_inclusive('\n').map(|line| numbered(line).map_or(line, |(_, rest)| rest));
        lines.collect()
    };
    change.rewritten(&bare)
}

/// Takes a line's number off: digits, then a tab, an arrow, a bar or a colon.
fn numbered(line: &str) -> Option<(u64, &str)> {
    let start = line.trim_start_matches(' ');
    let digits = start.bytes().take_while(u8::is_ascii_digit).count();
    let number = start[..digits].parse().ok()?;
    let rest = &start[digits..];
    let rest = ["\t", "→", "|", ":"].iter().find_map(|mark| rest.strip_prefix(mark))?;
    Some((number, rest))
}

fn decoded(text: &str, decode: fn(&str) -> Option<(&'static str, usize)>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let len = match decode(rest) {
            Some((decoded, len)) => {
                out.push_str(decoded);
                len
            }
            None => {
                out.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[len..];
    }
    out
}
