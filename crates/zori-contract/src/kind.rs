//! Kinds of arguments: what a value must look like, and how it is described to programs.

use zori_spelling::nearest;

use crate::error;
use crate::failure::{Issue, IssueCode};
use crate::hygiene::{self, Judge};
use crate::path::AbsPath;
use crate::redact;
use crate::time;

/// What a value must look like.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// There is no value: the flag is there or not.
    Switch,
    /// Free text; not judged.
    Text,
    /// The id of a thing, by a pattern. `-` reads one from standard input.
    Id(Pattern),
    /// A name, by a pattern.
    Name(Pattern),
    /// A path. Upwards only within the working directory, unless it is absolute.
    Path,
    /// A path pattern.
    Glob,
    /// An address with `http` or `https`.
    Url,
    /// JSON.
    Json,
    /// `500ms`, `30s`, `5m`, `1h`, seconds; 0 for none.
    Duration,
    /// A whole number within bounds.
    Int {
        /// The smallest.
        min: i64,
        /// The largest.
        max: i64,
    },
    /// One of these.
    Choice(&'static [&'static str]),
    /// Some of these, separated by commas; any names where the list is empty.
    List(&'static [&'static str]),
    /// The name of an environment variable that holds a secret.
    SecretVar,
}

/// A pattern of ids or names: an anchored regular expression for programs, and the function that holds it.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    /// Its name, such as `alphanumeric_id`.
    pub name: &'static str,
    /// The expression, anchored at both ends.
    pub regex: &'static str,
    /// Says whether a value fits.
    pub fits: fn(&str) -> bool,
}

impl Pattern {
    /// Letters, digits, `_` and `-`.
    pub const ALPHANUMERIC: Self = Self {
        name: "alphanumeric_id",
        regex: "^[A-Za-z0-9_-]+$",
        fits: |value| {
            !value.is_empty() && value.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
        },
    };

    /// A UUID in its usual form, with hyphens.
    pub const UUID: Self = Self {
        name: "uuid",
        regex: "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$",
        fits: |value| {
            let groups: Vec<_> = value.split('-').collect();
            groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
                && groups.concat().bytes().all(|b| b.is_ascii_hexdigit())
        },
    };

    /// A version of three numbers, with what may follow them.
    pub const SEMVER: Self = Self {
        name: "semver",
        regex: "^[0-9]+\\.[0-9]+\\.[0-9]+([-+][0-9A-Za-z.+-]+)?$",
        fits: |value| {
            let (numbers, rest) = value.split_at(value.find(['-', '+']).unwrap_or(value.len()));
            let parts: Vec<_> = numbers.split('.').collect();
            let number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
            let tail = |b: u8| b.is_ascii_alphanumeric() || b".+-".contains(&b);
            parts.len() == 3 && parts.iter().all(number) && rest.len() != 1 && rest.bytes().all(tail)
        },
    };
}

impl Kind {
    /// Returns the type the manifest gives.
    pub fn manifest_type(&self) -> &'static str {
        match self {
            Self::Switch => "boolean",
            Self::Int { .. } => "integer",
            Self::Choice(_) => "enum",
            Self::List(_) => "array",
            _ => "string",
        }
    }

    /// Returns the name of the kind.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Switch => "switch",
            Self::Text => "text",
            Self::Id(_) => "resource_id",
            Self::Name(_) => "name",
            Self::Path => "path",
            Self::Glob => "glob",
            Self::Url => "url",
            Self::Json => "json",
            Self::Duration => "duration",
            Self::Int { .. } => "int",
            Self::Choice(_) => "enum",
            Self::List(_) => "list",
            Self::SecretVar => "secret_ref",
        }
    }

    /// Returns the pattern, if there is one.
    pub fn pattern(&self) -> Option<Pattern> {
        match self {
            Self::Id(pattern) | Self::Name(pattern) => Some(*pattern),
            _ => None,
        }
    }

    /// Returns how doubtful input is judged; `None` where anything goes.
    pub fn hardened(&self) -> Option<Judge> {
        match self {
            Self::Switch | Self::Text | Self::Json => None,
            Self::Path => Some(Judge::Path),
            Self::Glob => Some(Judge::Glob),
            Self::Url => Some(Judge::Url),
            _ => Some(Judge::Id),
        }
    }

    /// Checks a value. `param` is how the argument is typed, `cwd` where relative paths begin.
    pub fn check(&self, param: &str, value: &str, cwd: &AbsPath) -> Option<Issue> {
        if let Some(refused) = self.hardened().and_then(|judge| hygiene::judge(value, judge)) {
            return Some(doubtful(param, value, refused.pattern, refused.corrected));
        }
        let wrong = |takes: String| {
            Some(
                Issue::new(
                    param,
                    IssueCode::InvalidValue,
                    format!("`{param}` takes {takes}, not `{}`", redact::address(value)),
                )
                .value(value),
            )
        };
        match self {
            Self::Switch | Self::Text => None,
            Self::Id(pattern) | Self::Name(pattern) if (pattern.fits)(value) => None,
            Self::Id(pattern) | Self::Name(pattern) => wrong(format!("what fits `{}`", pattern.regex)),
            Self::Path | Self::Glob if value.is_empty() => wrong("a path".into()),
            Self::Path | Self::Glob => {
                let leaves =
                    hygiene::climbs(value) && !value.starts_with('/') && !cwd.join(value).is_below(cwd);
                leaves.then(|| doubtful(param, value, "path_traversal", None))
            }
            Self::Url => {
                let host = value.strip_prefix("http://").or_else(|| value.strip_prefix("https://"));
                let good = host.is_some_and(|host| !host.is_empty() && !host.contains(char::is_whitespace));
                if good { None } else { wrong("an address with `http://` or `https://`".into()) }
            }
            Self::Json => serde_json::from_str::<serde_json::Value>(value).err().map(|error| {
                Issue::new(
                    param,
                    IssueCode::Kind(&error::INVALID_JSON),
                    format!("`{param}` is not JSON: {error}"),
                )
                .value(value)
            }),
            Self::Duration if time::parse_duration(value).is_some() => None,
            Self::Duration => wrong("`500ms`, `30s`, `5m`, `1h`, seconds, or 0 for none".into()),
            Self::Int { min, max } => match value.parse::<i64>() {
                Ok(n) if (*min..=*max).contains(&n) => None,
                _ if *max == i64::MAX => wrong(format!("a whole number from {min}")),
                _ => wrong(format!("a whole number from {min} to {max}")),
            },
            Self::Choice(names) => not_one_of(param, value, names),
            Self::List(names) => {
                let known = |part: &str| names.is_empty() || names.contains(&part);
                let bad = value.split(',').find(|part| part.is_empty() || !known(part));
                bad.and_then(|part| match names.is_empty() {
                    true => wrong("names separated by commas".into()),
                    false => not_one_of(param, part, names),
                })
            }
            Self::SecretVar => {
                let good = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
                let fits =
                    !value.is_empty() && value.bytes().all(good) && !value.as_bytes()[0].is_ascii_digit();
                if fits {
                    return None;
                }
                // What is here by mistake may be the secret itself, so it is not repeated.
                let message =
                    format!("`{param}` takes the name of a variable in capitals, not the secret itself");
                Some(Issue::new(param, IssueCode::InvalidValue, message).value("[REDACTED]"))
            }
        }
    }
}

fn not_one_of(param: &str, value: &str, names: &[&str]) -> Option<Issue> {
    if names.contains(&value) {
        return None;
    }
    let listed = match names {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        names => names.join(", "),
    };
    let issue =
        Issue::new(param, IssueCode::InvalidValue, format!("`{param}` takes {listed}, not `{value}`"))
            .value(value);
    Some(match nearest(value, names.iter().copied()) {
        Some(name) => issue.suggest(format!("did you mean `{name}`?")),
        None => issue,
    })
}

fn doubtful(param: &str, value: &str, pattern: &'static str, corrected: Option<String>) -> Issue {
    let shown = redact::address(&crate::clean::text(value.as_bytes()).0.replace('\n', " "));
    let message = format!("`{param}` cannot be `{shown}`: {}", explained(pattern));
    let mut issue = Issue::new(param, IssueCode::InvalidAgentInput, message).value(shown);
    if let Some(corrected) = &corrected {
        issue = issue.suggest(format!("`{corrected}`, if that is what you mean"));
    }
    issue.rejected_pattern = Some(pattern);
    issue.corrected_input = corrected;
    issue
}

fn explained(pattern: &str) -> &'static str {
    match pattern {
        "path_traversal" => "it leads out of the allowed folder",
        "percent_encoding" => "percent-encoded bytes are not decoded here",
        "embedded_query" => "it carries a query, which is for addresses",
        "fragment" => "it carries a fragment, which is for addresses",
        "shell_metacharacter" => "it has characters of the shell",
        "control_char" => "it has control characters",
        "literal_null" => "that stands for a missing value",
        _ => "that is a placeholder",
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn said(kind: Kind, value: &str) -> String {
        let cwd = AbsPath::new(Path::new("/w")).unwrap();
        kind.check("--x", value, &cwd).map_or("fine".into(), |issue| issue.message)
    }

    #[test]
    fn values_that_fit() {
        for (kind, values) in [
            (Kind::Text, &["", "; rm -rf / $HOME\n"][..]),
            (Kind::Id(Pattern::ALPHANUMERIC), &["a-1_B"]),
            (Kind::Name(Pattern::UUID), &["123e4567-e89b-12d3-a456-426614174000"]),
            (Kind::Name(Pattern::SEMVER), &["1.2.3", "1.2.3-rc.1+b"]),
            (Kind::Path, &["/etc/../x", "a/../b", "a b.txt"]),
            (Kind::Glob, &["**/*.rs"]),
            (Kind::Url, &["http://[::1]:8080/x"]),
            (Kind::Json, &["{\"a\":1}"]),
            (Kind::Duration, &["0", "5m"]),
            (Kind::Int { min: 0, max: 9 }, &["0", "9"]),
            (Kind::Choice(&["a", "b"]), &["a"]),
            (Kind::List(&[]), &["a,b"]),
            (Kind::SecretVar, &["MY_TOKEN"]),
        ] {
            for value in values {
                assert_eq!(said(kind, value), "fine", "{kind:?} {value}");
            }
        }
    }

    #[test]
    fn values_that_do_not() {
        for (kind, value, wanted) in [
            (Kind::Id(Pattern::ALPHANUMERIC), "a.b", "`--x` takes what fits `^[A-Za-z0-9_-]+$`, not `a.b`"),
            (Kind::Id(Pattern::ALPHANUMERIC), "a;b", "`--x` cannot be `a;b`: it has characters of the shell"),
            (Kind::Path, "../x", "`--x` cannot be `../x`: it leads out of the allowed folder"),
            (Kind::Path, "", "`--x` takes a path, not ``"),
            (Kind::Url, "ftp://x", "`--x` takes an address with `http://` or `https://`, not `ftp://x`"),
            (
                Kind::Url,
                "ftp://me:hunter2@x",
                "`--x` takes an address with `http://` or `https://`, not `ftp://[REDACTED]@x`",
            ),
            (
                Kind::Url,
                "http://me:hunter2@x;y",
                "`--x` cannot be `http://[REDACTED]@x;y`: it has characters of the shell",
            ),
            (
                Kind::Duration,
                "soon",
                "`--x` takes `500ms`, `30s`, `5m`, `1h`, seconds, or 0 for none, not `soon`",
            ),
            (Kind::Int { min: 1, max: 9 }, "0", "`--x` takes a whole number from 1 to 9, not `0`"),
            (Kind::Int { min: 1, max: i64::MAX }, "x", "`--x` takes a whole number from 1, not `x`"),
            (Kind::Choice(&["json", "tsv", "id"]), "jsn", "`--x` takes json, tsv or id, not `jsn`"),
            (Kind::List(&["a", "b"]), "a,c", "`--x` takes a or b, not `c`"),
            (
                Kind::SecretVar,
                "hunter2",
                "`--x` takes the name of a variable in capitals, not the secret itself",
            ),
        ] {
            assert_eq!(said(kind, value), wanted);
        }
        assert!(said(Kind::Json, "{a}").starts_with("`--x` is not JSON: key must be a string"));
    }

    #[test]
    fn typing_mistakes_are_recognised() {
        assert_eq!(nearest("jsn", ["tsv", "json", "jsonl"]), Some("json"));
        assert_eq!(nearest("banana", ["tsv", "json"]), None);
    }
}
