//! Which hooks an event concerns: a hook's `matcher` against the event's names.

use std::fmt;

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use zori_core::hook::HookInput;

use crate::dialect::{CLAUDE, ZORI};

/// A matcher. Letters, digits, `_` and `|` are whole names; anything else is a regular expression that may match
/// anywhere in a name; nothing, or `*`, is everything.
#[derive(Clone)]
pub struct Matcher(Kind);

#[derive(Clone)]
enum Kind {
    All,
    Names(Vec<String>),
    Expression(Box<RegexMatcher>),
}

/// Why a matcher cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the matcher `{text}` is no regular expression: {why}")]
pub struct MatcherError {
    pub text: String,
    /// What is wrong with it.
    pub why: String,
}

impl Matcher {
    /// Parses a matcher.
    pub fn parse(text: Option<&str>) -> Result<Self, MatcherError> {
        let text = text.unwrap_or_default();
        if matches!(text, "" | "*") {
            return Ok(Self(Kind::All));
        }
        if text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '|')) {
            return Ok(Self(Kind::Names(text.split('|').map(str::to_owned).collect())));
        }
        let expression = RegexMatcher::new(text).map_err(|error| {
            let why = error.to_string();
            let last = why.lines().next_back().unwrap_or_default();
            MatcherError { text: text.to_owned(), why: last.trim_start_matches("error: ").to_owned() }
        })?;
        Ok(Self(Kind::Expression(Box::new(expression))))
    }

    /// Returns whether one of the names matches. An event without names matches always.
    pub fn matches(&self, names: &[&str]) -> bool {
        let fits = |name: &&str| match &self.0 {
            Kind::All => true,
            Kind::Names(wanted) => wanted.iter().any(|wanted| wanted == name),
            // A search in memory does not fail; if it did, the hook runs.
            Kind::Expression(expression) => expression.is_match(name.as_bytes()).unwrap_or(true),
        };
        names.is_empty() || names.iter().any(fits)
    }
}

impl fmt::Debug for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::All => f.write_str("*"),
            Kind::Names(names) => f.write_str(&names.join("|")),
            Kind::Expression(_) => f.write_str("/../"),
        }
    }
}

/// Returns the names that matchers compare with: for a tool, its name in the Claude protocol, our own, and the one it
/// was called by.
pub(crate) fn moment_names<'a>(moment: &HookInput<'a>) -> Vec<&'a str> {
    match moment {
        HookInput::PreToolUse(call) | HookInput::PostToolUse { call, .. } => {
            let tables = [&CLAUDE, &ZORI].into_iter();
            let known = tables.filter_map(|table| Some(table.shows(call.kind?)?.name));
            known.chain([call.name]).collect()
        }
        HookInput::SessionStart { resumed, .. } => vec![source(*resumed)],
        HookInput::PreCompact { asked, .. } => vec![trigger(*asked)],
        HookInput::SubagentStop { kind, .. } => vec![*kind],
        HookInput::SessionEnd => vec!["other"],
        HookInput::UserPromptSubmit { .. } | HookInput::Stop { .. } => Vec::new(),
    }
}

pub(crate) fn source(resumed: bool) -> &'static str {
    if resumed { "resume" } else { "startup" }
}

pub(crate) fn trigger(asked: bool) -> &'static str {
    if asked { "manual" } else { "auto" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lists_expressions_and_everything() {
        let hits = |text: Option<&str>| {
            let matcher = Matcher::parse(text).unwrap();
            let names = ["Bash", "Edit", "MultiEdit", "mcp__x__y"];
            names.into_iter().filter(|name| matcher.matches(&[name])).collect::<Vec<_>>().join(" ")
        };
        let all = "Bash Edit MultiEdit mcp__x__y";
        assert_eq!([hits(None), hits(Some("")), hits(Some("*"))], [all; 3]);
        assert_eq!(hits(Some("Edit")), "Edit");
        assert_eq!(hits(Some("Edit|Bash")), "Bash Edit");
        assert_eq!(hits(Some(".*Edit")), "Edit MultiEdit");
        assert_eq!(hits(Some("^mcp__.*")), "mcp__x__y");
        assert_eq!(hits(Some("bash")), "");
        let bad = Matcher::parse(Some("(")).unwrap_err();
        assert_eq!(bad.to_string(), "the matcher `(` is no regular expression: unclosed group");
    }

    #[test]
    fn what_has_no_names_concerns_everybody() {
        assert!(Matcher::parse(Some("Bash")).unwrap().matches(&[]));
    }
}
