//! Secrets known by shape: the table of SCR-4. One pass looks for the words a secret comes with, and only the
//! patterns whose words occur are run, so that ordinary text costs one scan and no pattern is compiled for it.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::{Captures, Regex};

/// One kind of secret.
struct Pattern {
    /// Its name in the specification.
    kind: &'static str,
    /// Words of which one stands in every match, in lower case.
    words: &'static [&'static str],
    /// The pattern; group 1 is the secret where only a part of the match is one.
    regex: &'static str,
    /// Decides what the shape alone cannot, from the text before the value and the value itself: whether it is a secret
    /// or program text.
    is_secret: fn(&str, &str) -> bool,
}

const ANY: fn(&str, &str) -> bool = |_, _| true;

#[rustfmt::skip]
const PATTERNS: &[Pattern] = &[
    Pattern { kind: "anthropic", words: &["sk-ant-"], regex: r"sk-ant-[A-Za-z0-9_-]{20,}", is_secret: ANY },
    Pattern { kind: "openrouter", words: &["sk-or-v1-"], regex: r"sk-or-v1-[A-Za-z0-9]{32,}", is_secret: ANY },
    Pattern { kind: "openai", words: &["sk-"], regex: r"sk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}", is_secret: has_digit },
    Pattern { kind: "google", words: &["aiza", "ya29."], regex: r"AIza[0-9A-Za-z_-]{35}|ya29\.[0-9A-Za-z_-]{20,}", is_secret: ANY },
    Pattern { kind: "aws", words: &["akia", "asia"], regex: r"(?-u:\b)(?:AKIA|ASIA)[0-9A-Z]{16}(?-u:\b)", is_secret: ANY },
    Pattern { kind: "aws secret", words: &["aws_secret_access_key"], regex: r#"(?i-u:aws_secret_access_key)["']?[ \t]*[:=][ \t]*["']?([A-Za-z0-9/+=]{20,})"#, is_secret: ANY },
    Pattern { kind: "github", words: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"], regex: r"(?-u:\b)(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{60,})(?-u:\b)", is_secret: ANY },
    Pattern { kind: "gitlab", words: &["glpat-"], regex: r"(?-u:\b)glpat-[A-Za-z0-9_-]{20,}", is_secret: ANY },
    Pattern { kind: "slack", words: &["xox", "xapp-"], regex: r"(?-u:\b)xox[abeprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}", is_secret: ANY },
    Pattern { kind: "registries", words: &["npm_", "pypi-", "hf_", "dckr_pat_"], regex: r"(?-u:\b)(?:npm_[A-Za-z0-9]{36}(?-u:\b)|pypi-[A-Za-z0-9_-]{50,}|hf_[A-Za-z0-9]{30,}(?-u:\b)|dckr_pat_[A-Za-z0-9_-]{20,})", is_secret: ANY },
    Pattern { kind: "payment, mail", words: &["sk_live_", "rk_live_", "sg."], regex: r"(?-u:\b)(?:[sr]k_live_[A-Za-z0-9]{20,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})", is_secret: ANY },
    Pattern { kind: "telegram", words: &["0:", "1:", "2:", "3:", "4:", "5:", "6:", "7:", "8:", "9:"], regex: r"(?-u:\b)[0-9]{8,10}:[A-Za-z0-9_-]{35}(?-u:\b)", is_secret: ANY },
    Pattern { kind: "jwt", words: &["eyj"], regex: r"(?-u:\b)eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}", is_secret: ANY },
    // A block without an end reaches as far as its lines look like one.
    Pattern { kind: "key block", words: &["private key-----"], regex: r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:(?s:.*?)-----END [A-Z ]*PRIVATE KEY-----|[A-Za-z0-9+/=:,. \t\r\n\\-]*)", is_secret: key_block },
    Pattern { kind: "url password", words: &["://"], regex: r"(?-u:\b)[a-z][a-z0-9+.-]*://[^ \t\r\n/:@]+:([^ \t\r\n/@]+)@", is_secret: not_a_placeholder },
    Pattern { kind: "header", words: &["authorization", "x-api-key", "cookie"], regex: r"(?i-u:\b(?:authorization|x-api-key|cookie|proxy-authorization))[ \t]*:[ \t]*([^ \t\r\n][^\r\n]*)", is_secret: header_value },
    Pattern { kind: "assignment", words: &["key", "token", "secret", "passw"], regex: r#"(?i-u:\b[A-Z0-9_]*(?:api[_-]?key|token|secret|passw(?:or)?d))(?-u:\b)["']?[ \t]*[:=][ \t]*(["']?[^ \t\r\n"']{8,}["']?)"#, is_secret: assigned_value },
];

/// Returns where there is a secret.
pub(crate) fn find(text: &str) -> Vec<Range<usize>> {
    let mut wanted = [false; PATTERNS.len()];
    let mut missing = PATTERNS.len();
    for found in WORDS.find_overlapping_iter(text) {
        let index = OWNERS[found.pattern().as_usize()];
        if !std::mem::replace(&mut wanted[index], true) {
            missing -= 1;
            if missing == 0 {
                break;
            }
        }
    }
    let mut secrets = Vec::new();
    for (index, _) in wanted.iter().enumerate().filter(|(_, wanted)| **wanted) {
        let found = regex(index).captures_iter(text);
        secrets.extend(found.filter_map(|found| secret(text, &PATTERNS[index], &found)));
    }
    secrets
}

/// What a shell takes for the end of a word, or for something to be run within one.
const ENDS: &[char] = &[';', '|', '&', '<', '>', '(', ')', '$', '`'];

/// Returns the words of these secrets: the first of each, and those behind it that look like one by themselves. A secret ends where a shell ends a word.
pub(crate) fn words(text: &str, secrets: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for secret in secrets {
        let mut first = true;
        for piece in text[secret].split_whitespace() {
            let word = &piece[..piece.find(ENDS).unwrap_or(piece.len())];
            let bare = word.trim_matches(['"', '\'']);
            if SCHEMES.contains(&bare.to_ascii_lowercase().as_str()) {
                continue;
            }
            let path = bare.contains("://") || bare.starts_with(['/', '.', '~', '-']);
            let alike = bare.len() >= 8 && !path && value_like(bare);
            if std::mem::take(&mut first) || alike {
                let start = bare.as_ptr() as usize - text.as_ptr() as usize;
                found.push(start..start + bare.len());
            }
        }
    }
    found
}

fn secret(text: &str, pattern: &Pattern, found: &Captures<'_>) -> Option<Range<usize>> {
    let whole = found.get(0)?;
    let value = found.get(1).unwrap_or(whole);
    (pattern.is_secret)(&text[whole.start()..value.start()], value.as_str()).then(|| value.range())
}

/// Names such as `sk-learn-contrib-something` begin like a key.
fn has_digit(_: &str, value: &str) -> bool {
    value.bytes().any(|b| b.is_ascii_digit())
}

/// `http://USER:PASSWORD@HOST` explains how it is written.
fn not_a_placeholder(_: &str, value: &str) -> bool {
    !["password", "pass", "pw", "secret"].contains(&value.to_ascii_lowercase().as_str())
}

/// A program that looks for such blocks has the first line alone.
fn key_block(_: &str, value: &str) -> bool {
    value.split_once("KEY-----").is_some_and(|(_, inside)| !inside.trim().is_empty())
}

/// What stands before the value of a header.
const SCHEMES: [&str; 6] = ["bearer", "basic", "token", "digest", "apikey", "negotiate"];

/// A header's value, not the type of a field that is called like one.
fn header_value(name: &str, value: &str) -> bool {
    let value = value.trim_end();
    if name.trim_start().as_bytes()[0].eq_ignore_ascii_case(&b'c') {
        return value.contains('=') && !value.contains([' ', '('])
            || value.contains("; ") && value.contains('=');
    }
    let (scheme, rest) = value.split_once([' ', '\t']).unwrap_or(("", value));
    let token = rest.trim_matches(['"', '\'', ',', ';']);
    (SCHEMES.contains(&scheme.trim_start_matches(['"', '\'']).to_ascii_lowercase().as_str())
        && token.len() >= 8
        && !token.contains(['{', '<', '$', '(']))
        || (token.len() >= 16 && value_like(token))
}

/// What is assigned, in a configuration or a program: a value, not the expression that computes one.
fn assigned_value(name: &str, value: &str) -> bool {
    let quoted = value.starts_with(['"', '\'']);
    let bare = value.trim_matches(['"', '\'']).trim_end_matches([',', ';']);
    let environment = name.ends_with('=') && !name.chars().any(|c| c.is_ascii_lowercase() || c == ' ');
    if bare.len() < 8 || bare.contains(['{', '<', '$', '(', '[', '`', '>', ')', '}', ']', '\\']) {
        return false;
    }
    environment
        || value_like(bare)
        || quoted && bare.contains(|c: char| !c.is_ascii_alphanumeric() && !"_-./: ".contains(c))
}

/// Letters and digits mixed, as names and expressions seldom are.
fn value_like(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let letters = text.bytes().filter(u8::is_ascii_alphabetic).count();
    let constant = text.contains('_') && !text.bytes().any(|b| b.is_ascii_lowercase());
    let expression = text.contains("::") || text.contains("->") || text.contains('|') || dotted_name(text);
    digits > 0 && letters > 0 && !constant && !expression
}

/// `self.next2`, `Token::A1`: a path through a program.
fn dotted_name(text: &str) -> bool {
    text.contains('.')
        && text.split('.').all(|part| {
            part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        })
}

/// The automaton of all words: of the quick ones to scan with, the one that is quick to build, as every run does.
static WORDS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::Standard)
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .build(PATTERNS.iter().flat_map(|pattern| pattern.words))
        .expect("the table is small")
});

/// Which pattern each word belongs to.
static OWNERS: LazyLock<Vec<usize>> = LazyLock::new(|| {
    let words =
        PATTERNS.iter().enumerate().flat_map(|(index, pattern)| pattern.words.iter().map(move |_| index));
    words.collect()
});

static REGEXES: [OnceLock<Regex>; PATTERNS.len()] = [const { OnceLock::new() }; PATTERNS.len()];

fn regex(index: usize) -> &'static Regex {
    REGEXES[index].get_or_init(|| {
        let Pattern { kind, regex, .. } = &PATTERNS[index];
        Regex::new(regex).unwrap_or_else(|error| panic!("the pattern for {kind} is wrong: {error}"))
    })
}
