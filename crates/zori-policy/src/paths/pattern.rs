//! Patterns over paths, in the manner of gitignore: `*` and `?` and `[..]` within a name, `**` over any number of them.
//!
//! A pattern that matches a folder matches all that is below it. Matching walks all possibilities at once, so it is
//! linear in the path whatever the pattern; the same walk answers whether anything below a folder could match.

use std::path::{Component, Path};

use super::fold::fold;

/// A compiled pattern over absolute paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern {
    parts: Vec<Part>,
    /// The same with its letters folded.
    folded: Vec<Part>,
}

/// A path split into its names, once for many patterns.
#[derive(Debug)]
pub struct PathNames(Vec<String>, Compare);

impl PathNames {
    /// Splits an absolute path.
    pub fn new(path: &Path, compare: Compare) -> Self {
        let name = |component: Component<'_>| match component {
            Component::Normal(name) => Some(match compare {
                Compare::Exact => name.to_string_lossy().into_owned(),
                Compare::Folded => fold(&name.to_string_lossy()).into_owned(),
            }),
            _ => None,
        };
        Self(path.components().filter_map(name).collect(), compare)
    }
}

/// Why a pattern cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("the path is empty")]
    Empty,
    /// It negates another one.
    #[error("a path that starts with `!` is not supported; write a rule of its own")]
    Negated,
    /// A `[` without its end.
    #[error("a `[` is not closed")]
    Class,
    /// It leads above its start.
    #[error("`..` has no place in a pattern")]
    Parent,
    /// It starts at a home that is not known.
    #[error("the home directory is not known")]
    NoHome,
    /// It has more parts than are looked at.
    #[error("there are more than {MAX_BEHIND} names behind a `**`")]
    TooLong,
}

/// A set of places in a pattern.
type Reach = u128;

/// So many parts may follow the first `**`: their places, and the end, are bits of a [`Reach`].
const MAX_BEHIND: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// Any number of names.
    Any,
    Name(Vec<Token>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Char(char),
    One,
    Many,
    Class { negated: bool, ranges: Vec<(char, char)> },
}

/// How names are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// To the letter: for what is allowed.
    Exact,
    /// Folded, as a case-insensitive disk would (P-7): for what is asked about, denied or protected.
    Folded,
}

/// How much of a pattern a path matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathMatch {
    /// It matches, or a folder above it does.
    Match,
    /// Something below it could match.
    Below,
    /// Neither.
    Nothing,
}

/// Where patterns start that are not absolute.
pub struct Anchors<'a> {
    /// The user's home, for `~/`.
    pub home: Option<&'a Path>,
    /// Where `./x` and `x` start: the workspace.
    pub workspace: &'a Path,
    /// Where `/x` starts: the root of the file the rule stands in.
    pub rule_root: &'a Path,
}

impl PathPattern {
    /// Compiles a pattern as rules write it: `//abs`, `~/home`, `/from the rule's root`, `./` or bare from the workspace.
    /// A bare pattern without a slash matches at any depth, as in gitignore.
    pub fn parse(text: &str, anchors: &Anchors<'_>) -> Result<Self, PatternError> {
        if text.is_empty() {
            return Err(PatternError::Empty);
        }
        if text.starts_with('!') {
            return Err(PatternError::Negated);
        }
        let home = || anchors.home.ok_or(PatternError::NoHome);
        let (start, rest) = if let Some(rest) = text.strip_prefix("//") {
            (Path::new("/"), rest)
        } else if text == "~" {
            (home()?, "")
        } else if let Some(rest) = text.strip_prefix("~/") {
            (home()?, rest)
        } else if let Some(rest) = text.strip_prefix('/') {
            (anchors.rule_root, rest)
        } else {
            (anchors.workspace, text)
        };
        let mut parts = literal(start);
        let body = rest.trim_end_matches('/');
        if std::ptr::eq(rest, text) && !body.contains('/') && body != "." {
            parts.push(Part::Any);
        }
        for name in body.split('/').filter(|name| !name.is_empty() && *name != ".") {
            match name {
                ".." => return Err(PatternError::Parent),
                "**" if parts.last() == Some(&Part::Any) => {}
                "**" => parts.push(Part::Any),
                name => parts.push(Part::Name(tokens(name)?)),
            }
        }
        let behind = parts.iter().skip_while(|part| **part != Part::Any).count();
        if behind > MAX_BEHIND {
            return Err(PatternError::TooLong);
        }
        Ok(Self::of(parts))
    }

    fn of(parts: Vec<Part>) -> Self {
        let fold_part = |part: &Part| match part {
            Part::Any => Part::Any,
            Part::Name(tokens) => Part::Name(fold_tokens(tokens)),
        };
        Self { folded: parts.iter().map(fold_part).collect(), parts }
    }

    /// Compiles a pattern of our own tables: names with slashes below `start`, or at any depth.
    pub(crate) fn table(start: Option<&Path>, text: &str) -> Self {
        let mut parts = start.map_or_else(|| vec![Part::Any], literal);
        for name in text.split('/').filter(|name| !name.is_empty()) {
            parts.push(match name {
                "**" => Part::Any,
                name => Part::Name(tokens(name).expect("our tables have no open classes")),
            });
        }
        Self::of(parts)
    }

    /// Returns how much of the pattern an absolute path matches.
    pub fn reach(&self, path: &Path, compare: Compare) -> PathMatch {
        self.reach_names(&PathNames::new(path, compare))
    }

    /// The same for a path that was split before.
    pub fn reach_names(&self, PathNames(names, compare): &PathNames) -> PathMatch {
        let parts = match compare {
            Compare::Exact => &self.parts,
            Compare::Folded => &self.folded,
        };
        // Up to the first `**` there is one way to go.
        let fixed = parts.iter().position(|part| *part == Part::Any).unwrap_or(parts.len());
        let (fixed, parts) = parts.split_at(fixed);
        for (i, part) in fixed.iter().enumerate() {
            match (part, names.get(i)) {
                (_, None) => return PathMatch::Below,
                (Part::Name(tokens), Some(name)) if fits(tokens, name) => {}
                _ => return PathMatch::Nothing,
            }
        }
        // Behind it, bit `i` says that the names so far fit the first `i` parts.
        let end: Reach = 1 << parts.len();
        let mut at = skip_any(parts, 1);
        for name in &names[fixed.len()..] {
            if at & end != 0 {
                return PathMatch::Match;
            }
            let mut next = 0;
            for (i, part) in parts.iter().enumerate().filter(|(i, _)| at >> i & 1 == 1) {
                match part {
                    Part::Any => next |= 1 << i,
                    Part::Name(tokens) if fits(tokens, name) => next |= 1 << (i + 1),
                    Part::Name(_) => {}
                }
            }
            at = skip_any(parts, next);
            if at == 0 {
                return PathMatch::Nothing;
            }
        }
        // A final `**` takes the folder itself too, unlike gitignore's: who may not touch what is in it may not
        // replace it.
        if at & end != 0 { PathMatch::Match } else { PathMatch::Below }
    }

    /// Returns whether a path, or a folder above it, matches.
    pub fn matches(&self, path: &Path, compare: Compare) -> bool {
        self.reach(path, compare) == PathMatch::Match
    }

    /// The same for a path that was split before.
    pub fn matches_names(&self, names: &PathNames) -> bool {
        self.reach_names(names) == PathMatch::Match
    }

    /// Returns the last name, if it is known to the letter.
    pub(crate) fn last_name(&self) -> Option<String> {
        let Some(Part::Name(tokens)) = self.parts.last() else { return None };
        let letter = |token: &Token| match token {
            Token::Char(c) => Some(*c),
            Token::One | Token::Many | Token::Class { .. } => None,
        };
        tokens.iter().map(letter).collect()
    }

    /// Returns whether it starts at a fixed place, and not anywhere.
    pub(crate) fn is_anchored(&self) -> bool {
        self.parts.first() != Some(&Part::Any)
    }
}

/// A `**` fits no name as well.
fn skip_any(parts: &[Part], mut at: Reach) -> Reach {
    for (i, part) in parts.iter().enumerate() {
        if *part == Part::Any && at >> i & 1 == 1 {
            at |= 1 << (i + 1);
        }
    }
    at
}

/// The names of a folder, to the letter.
fn literal(path: &Path) -> Vec<Part> {
    let name = |component: Component<'_>| match component {
        Component::Normal(name) => {
            Some(Part::Name(name.to_string_lossy().chars().map(Token::Char).collect()))
        }
        _ => None,
    };
    path.components().filter_map(name).collect()
}

fn tokens(name: &str) -> Result<Vec<Token>, PatternError> {
    let mut out = Vec::new();
    let mut chars = name.chars();
    while let Some(c) = chars.next() {
        out.push(match c {
            '*' if out.last() == Some(&Token::Many) => continue,
            '*' => Token::Many,
            '?' => Token::One,
            '\\' => Token::Char(chars.next().unwrap_or('\\')),
            '[' => class(&mut chars)?,
            c => Token::Char(c),
        });
    }
    Ok(out)
}

fn class(chars: &mut std::str::Chars<'_>) -> Result<Token, PatternError> {
    let mut inside = Vec::new();
    loop {
        match chars.next().ok_or(PatternError::Class)? {
            ']' if !inside.is_empty() && inside != ['!'] && inside != ['^'] => break,
            c => inside.push(c),
        }
    }
    let negated = matches!(inside[0], '!' | '^');
    let body = &inside[usize::from(negated)..];
    let mut ranges = Vec::new();
    let mut i = 0;
    while i < body.len() {
        if i + 2 < body.len() && body[i + 1] == '-' {
            ranges.push((body[i], body[i + 2]));
            i += 3;
        } else {
            ranges.push((body[i], body[i]));
            i += 1;
        }
    }
    Ok(Token::Class { negated, ranges })
}

/// Matches one name; all possibilities at once.
fn fits(tokens: &[Token], name: &str) -> bool {
    // Most names of our tables have no wildcard in them.
    if let [Token::Char(first), ..] = tokens
        && !name.starts_with(*first)
    {
        return false;
    }
    let mut at = vec![false; tokens.len() + 1];
    at[0] = true;
    skip_many(tokens, &mut at);
    for c in name.chars() {
        let mut next = vec![false; tokens.len() + 1];
        for (i, token) in tokens.iter().enumerate().filter(|(i, _)| at[*i]) {
            match token {
                Token::Many => next[i] = true,
                Token::One => next[i + 1] = true,
                Token::Char(wanted) => next[i + 1] |= *wanted == c,
                Token::Class { negated, ranges } => {
                    next[i + 1] |= ranges.iter().any(|(from, to)| (*from..=*to).contains(&c)) != *negated;
                }
            }
        }
        at = next;
        skip_many(tokens, &mut at);
    }
    at[tokens.len()]
}

fn skip_many(tokens: &[Token], at: &mut [bool]) {
    for i in 0..tokens.len() {
        if at[i] && tokens[i] == Token::Many {
            at[i + 1] = true;
        }
    }
}

/// Folds a pattern's own letters; its end is trimmed only where it is letters.
fn fold_tokens(tokens: &[Token]) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    for token in tokens {
        match token {
            // Nearly all of them, and there is nothing to fold.
            Token::Char(c) if c.is_ascii() && !c.is_ascii_uppercase() => out.push(Token::Char(*c)),
            Token::Char(c) => out.extend(fold_char(*c).into_iter().map(Token::Char)),
            other => out.push(other.clone()),
        }
    }
    while matches!(out.last(), Some(Token::Char('.' | ' '))) && out.len() > 1 {
        out.pop();
    }
    out
}

fn fold_char(c: char) -> Vec<char> {
    fold(c.encode_utf8(&mut [0; 4])).chars().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(pattern: &str, path: &str) -> String {
        let anchors = Anchors {
            home: Some(Path::new("/home/u")),
            workspace: Path::new("/ws"),
            rule_root: Path::new("/etc/zori"),
        };
        let pattern = match PathPattern::parse(pattern, &anchors) {
            Ok(pattern) => pattern,
            Err(error) => return error.to_string(),
        };
        let [exact, folded] = [Compare::Exact, Compare::Folded].map(|c| pattern.reach(Path::new(path), c));
        if exact == folded { format!("{exact:?}") } else { format!("{exact:?}/{folded:?}") }
    }

    #[test]
    fn anchors() {
        for (pattern, path, expected) in [
            ("./.env", "/ws/.env", "Match"),
            ("./.env", "/ws/a/.env", "Nothing"),
            ("./.env", "/ws", "Below"),
            (".env", "/ws/.env", "Match"),
            (".env", "/ws/a/b/.env", "Match"),
            (".env", "/other/.env", "Nothing"),
            ("a/.env", "/ws/a/.env", "Match"),
            ("a/.env", "/ws/b/a/.env", "Nothing"),
            ("/config.toml", "/etc/zori/config.toml", "Match"),
            ("//etc/passwd", "/etc/passwd", "Match"),
            ("//etc/passwd", "/ws/etc/passwd", "Nothing"),
            ("~/.ssh", "/home/u/.ssh/id_rsa", "Match"),
            ("~", "/home/u/x", "Match"),
            ("//", "/anything", "Match"),
            (".", "/ws/x", "Match"),
            ("./", "/ws/x", "Match"),
            ("", "/ws", "the path is empty"),
            ("!a", "/ws", "a path that starts with `!` is not supported; write a rule of its own"),
            ("[a", "/ws", "a `[` is not closed"),
            ("a/../b", "/ws", "`..` has no place in a pattern"),
        ] {
            assert_eq!(reach(pattern, path), expected, "{pattern} on {path}");
        }
    }

    #[test]
    fn wildcards() {
        for (pattern, path, expected) in [
            ("./secrets/**", "/ws/secrets/key.pem", "Match"),
            ("./secrets/**", "/ws/secrets/a/b", "Match"),
            ("./secrets/**", "/ws/secretsx/a", "Nothing"),
            ("*.pem", "/ws/a/b.pem", "Match"),
            ("*.pem", "/ws/a/b.pemx", "Below"),
            ("src/*.rs", "/ws/src/main.rs", "Match"),
            ("src/*.rs", "/ws/src/a/main.rs", "Nothing"),
            ("src/**/test?.rs", "/ws/src/test1.rs", "Match"),
            ("src/**/test?.rs", "/ws/src/a/b/test2.rs", "Match"),
            ("src/**/test?.rs", "/ws/src/a", "Below"),
            ("src/[a-c]*", "/ws/src/b1", "Match"),
            ("src/[!a-c]*", "/ws/src/b1", "Nothing"),
            ("src/[]x]", "/ws/src/]", "Match"),
            (r"a\*b", "/ws/a*b", "Match"),
            (r"a\*b", "/ws/axb", "Below"),
            (".env", "/ws/.ENV", "Below/Match"),
            (".env", "/ws/.env.", "Below/Match"),
            (".ENV", "/ws/.env", "Below/Match"),
            (".e*v", "/ws/.E\u{200b}NV", "Below/Match"),
        ] {
            assert_eq!(reach(pattern, path), expected, "{pattern} on {path}");
        }
    }

    #[test]
    fn no_pattern_takes_long() {
        let pattern = format!("{}x", "**/*a*/".repeat(49));
        let path = format!("/ws/{}", "aaaa/".repeat(500));
        let begin = zori_testkit::wait::computing_time();
        assert_eq!(reach(&pattern, &path), "Below");
        assert!(zori_testkit::wait::computing_time() - begin < std::time::Duration::from_secs(5));
    }

    #[test]
    fn long_patterns() {
        let deep = "/a".repeat(500);
        let below = format!("/ws{deep}/x");
        assert_eq!(reach(&format!("./{}/x", &deep[1..]), &below), "Match");
        assert_eq!(reach(&format!("./{}/x", &deep[1..]), "/ws/a/a"), "Below");
        assert_eq!(reach(&format!("**{}", "/a".repeat(99)), &format!("/ws{deep}")), "Match");
        assert_eq!(reach(&format!("**{deep}"), &below), "there are more than 100 names behind a `**`");
    }
}
