//! Input as models make it up: paths that climb, encoded bytes, shell syntax, placeholders, `undefined`.
//!
//! It is refused before anything happens, with the name of the pattern and, where there is one, the value that was
//! probably meant. Which kinds of arguments are judged is in `kind.rs`; free text is not.

/// How strictly a value is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judge {
    /// An id or a name.
    Id,
    /// A path; whether `..` leaves the allowed folder is the caller's question.
    Path,
    /// A path pattern: as a path, with `?`, `*`, `[`, `{`.
    Glob,
    /// An address: as a path, with `?`, `&`, `#` and encoded bytes.
    Url,
}

/// Why a value is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The name of the pattern.
    pub pattern: &'static str,
    /// What was probably meant.
    pub corrected: Option<String>,
}

/// Values that are no values in the language they come from.
const NOTHINGS: &[&str] = &["null", "undefined", "None", "NaN", "nil", "[object Object]"];

/// Judges a value.
pub fn judge(value: &str, judge: Judge) -> Option<Refused> {
    let refused = |pattern, corrected: Option<String>| Some(Refused { pattern, corrected });
    if value.chars().any(char::is_control) {
        let cleaned: String = value.chars().filter(|c| !c.is_control()).collect();
        return refused("control_char", (!cleaned.is_empty()).then_some(cleaned));
    }
    if NOTHINGS.contains(&value) {
        return refused("literal_null", None);
    }
    if is_placeholder(value, judge) {
        return refused("placeholder", None);
    }
    if judge != Judge::Url
        && let Some(decoded) = percent_decoded(value)
    {
        return refused("percent_encoding", Some(decoded));
    }
    if judge == Judge::Id && climbs(value) {
        return refused(
            "path_traversal",
            value.rsplit(['/', '\\']).next().filter(|s| !s.is_empty()).map(str::to_owned),
        );
    }
    if judge == Judge::Id
        && let Some(at) = value.find('?').or_else(|| query_at(value))
    {
        return refused("embedded_query", (at > 0).then(|| value[..at].to_owned()));
    }
    if judge == Judge::Path && value.contains('?') {
        return refused(
            "embedded_query",
            value.split('?').next().filter(|s| !s.is_empty()).map(str::to_owned),
        );
    }
    if judge == Judge::Id && value.contains('#') {
        return refused("fragment", value.split('#').next().filter(|s| !s.is_empty()).map(str::to_owned));
    }
    let shell = if judge == Judge::Url { ";|$()<>`" } else { ";|&$()<>`" };
    if value.contains(|c| shell.contains(c)) {
        return refused("shell_metacharacter", None);
    }
    None
}

/// Returns whether `..` is a part of the path, or an id pretends to be a path.
pub fn climbs(value: &str) -> bool {
    value.split(['/', '\\']).any(|part| part == "..") || value.starts_with("./") || value.starts_with(".\\")
}

fn query_at(value: &str) -> Option<usize> {
    value.find('&').filter(|at| value[at + 1..].contains('='))
}

fn is_placeholder(value: &str, judge: Judge) -> bool {
    let pair =
        |open: &str, close: &str| value.find(open).is_some_and(|at| value[at + open.len()..].contains(close));
    let variable = value.match_indices('$').any(|(at, _)| {
        value[at + 1..].starts_with(|c: char| c == '_' || c == '{' || c.is_ascii_alphabetic())
    });
    pair("<", ">") || (judge != Judge::Glob && pair("{{", "}}")) || variable
}

/// Returns the value with encoded bytes decoded, if there are any.
fn percent_decoded(value: &str) -> Option<String> {
    let bytes = value.as_bytes();
    let hex = |at: usize| bytes.get(at).and_then(|b| char::from(*b).to_digit(16));
    let (mut decoded, mut at, mut found) = (Vec::with_capacity(bytes.len()), 0, false);
    while at < bytes.len() {
        match (bytes[at], hex(at + 1), hex(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high * 16 + low) as u8);
                found = true;
                at += 3;
            }
            (byte, ..) => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    found.then(|| crate::clean::text(&decoded).0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(value: &str, kind: Judge) -> String {
        match judge(value, kind) {
            None => "fine".into(),
            Some(Refused { pattern, corrected: None }) => pattern.into(),
            Some(Refused { pattern, corrected: Some(corrected) }) => format!("{pattern} -> {corrected}"),
        }
    }

    #[test]
    fn ids() {
        for (value, wanted) in [
            ("2026-11-16_notes.v2", "fine"),
            ("../etc/passwd", "path_traversal -> passwd"),
            ("..\\x", "path_traversal -> x"),
            ("./x", "path_traversal -> x"),
            ("..%2fx", "percent_encoding -> ../x"),
            ("%2e%2e", "percent_encoding -> .."),
            ("a%40b", "percent_encoding -> a@b"),
            ("x?fields=name", "embedded_query -> x"),
            ("x&a=b", "embedded_query -> x"),
            ("x#top", "fragment -> x"),
            ("x; rm -rf /", "shell_metacharacter"),
            ("x|y", "shell_metacharacter"),
            ("`id`", "shell_metacharacter"),
            ("x\ny", "control_char -> xy"),
            ("\0", "control_char"),
            ("null", "literal_null"),
            ("undefined", "literal_null"),
            ("None", "literal_null"),
            ("[object Object]", "literal_null"),
            ("<session-id>", "placeholder"),
            ("{{id}}", "placeholder"),
            ("$SESSION", "placeholder"),
            ("${ID}", "placeholder"),
        ] {
            assert_eq!(verdict(value, Judge::Id), wanted, "{value:?}");
        }
    }

    #[test]
    fn paths() {
        for (value, wanted) in [
            ("/a/b c/d#1.txt", "fine"),
            ("../up", "fine"),
            ("./here", "fine"),
            ("a%2fb", "percent_encoding -> a/b"),
            ("a?x=1", "embedded_query -> a"),
            ("a;b", "shell_metacharacter"),
            ("$HOME/x", "placeholder"),
            ("a\rb", "control_char -> ab"),
            ("null", "literal_null"),
        ] {
            assert_eq!(verdict(value, Judge::Path), wanted, "{value:?}");
        }
        assert_eq!(verdict("src/**/*.{rs,md}?", Judge::Glob), "fine");
        assert_eq!(verdict("https://x.org/a?b=c&d=%20#e", Judge::Url), "fine");
        assert_eq!(verdict("https://<host>/", Judge::Url), "placeholder");
    }
}
