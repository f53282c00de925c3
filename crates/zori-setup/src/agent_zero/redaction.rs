//! Secrets in the context block: values of keys, and what looks like a key (RD-1 to RD-4).

use regex::Regex;
use zori_redact::Redactor;

/// What stands for a secret in the block, whose document fixes it (DECISIONS 31).
const MASK: &str = "***REDACTED***";

/// Words that make a key's value secret (RD-2).
pub const KEYS: &[&str] = &[
    "api_key",
    "apikey",
    "token",
    "secret",
    "password",
    "private_key",
    "access_key",
    "auth",
    "authorization",
];

/// Expressions for what is secret wherever it stands.
const PATTERNS: &[&str] = &[r"(?i)bearer\s+[A-Za-z0-9._-]+"];

/// Takes secrets out of a text.
pub struct ContextRedactor {
    pairs: Vec<Regex>,
    patterns: Vec<Regex>,
    shapes: Redactor,
}

impl ContextRedactor {
    /// Reads the words and expressions; returns warnings for those that cannot be used (RD-3).
    pub fn new(
        keys: Option<Vec<String>>,
        patterns: Option<Vec<String>>,
        shapes: Redactor,
    ) -> (Self, Vec<String>) {
        let owned = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        let keys = keys.unwrap_or_else(|| owned(KEYS));
        let words: Vec<String> = keys
            .iter()
            .map(|key| regex::escape(key.trim()))
            .filter(|key| !key.is_empty())
            // `clientSecret` and `OPENAI-API-KEY` are the same words.
            .map(|key| key.replace("_", "[_-]?"))
            .collect();
        let mut pairs = Vec::new();
        if !words.is_empty() {
            let name = format!(r"[A-Za-z0-9_.-]*(?:{})[A-Za-z0-9_.-]*", words.join("|"));
            // A text over several lines, a list of texts, a text with what is written on to it, one that is not closed.
            let texts = r#""""[\s\S]*?"""|'''[\s\S]*?'''"#;
            let list = r#"\[\s*["'][^\]]*\]"#;
            let quoted = r#"(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*')[^\s,;)}\]]*|["'][^\n]*"#;
            // A pair of JSON or of a line: the value goes on to a comma with a blank or a text behind it, a brace or the end of the line.
            let bare = r#"[^\s,}\]\n"'{\[][^,}\n]*(?:,[^\s,}\n"'][^,}\n]*)*"#;
            let value = [texts, list, quoted, bare].join("|");
            pairs.extend(Regex::new(&format!(r#"(?i)(["']?{name}["']?[ \t]*[:=][ \t]*)({value})"#)));
        }
        let (mut compiled, mut warnings) = (Vec::new(), Vec::new());
        for pattern in patterns.unwrap_or_else(|| owned(PATTERNS)) {
            match Regex::new(&pattern) {
                Ok(regex) => compiled.push(regex),
                Err(_) => warnings.push(format!(
                    "`context.redact_patterns`: `{pattern}` is no regular expression; it has no effect"
                )),
            }
        }
        (Self { pairs, patterns: compiled, shapes }, warnings)
    }

    /// Takes the secrets out.
    pub fn redact(&self, text: &str) -> String {
        let mut text = self.shapes.redact(text).into_owned();
        if text.contains("[REDACTED]") {
            text = text.replace("[REDACTED]", MASK);
        }
        // Names of files are most of a long text, and no pairs.
        let has_pairs = text.contains([':', '=']);
        for pair in self.pairs.iter().filter(|_| has_pairs) {
            text = pair
                .replace_all(&text, |found: &regex::Captures<'_>| {
                    let value = &found[2];
                    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\'')).map(String::from);
                    let quote = quote.unwrap_or_default();
                    format!("{}{quote}{MASK}{quote}", &found[1])
                })
                .into_owned();
        }
        for pattern in &self.patterns {
            text = pattern.replace_all(&text, MASK).into_owned();
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(text: &str) -> String {
        ContextRedactor::new(None, None, Redactor::new(Default::default())).0.redact(text)
    }

    #[test]
    fn values_of_keys_in_every_form() {
        for (text, clean) in [
            ("api_key: abc", "api_key: ***REDACTED***"),
            ("  \"token\": \"a, b\",", "  \"token\": \"***REDACTED***\","),
            ("- token: x", "- token: ***REDACTED***"),
            ("OPENAI_API_KEY=abc", "OPENAI_API_KEY=***REDACTED***"),
            ("db_password = 'x'", "db_password = '***REDACTED***'"),
            ("{\"clientSecret\":1, \"n\": 2}", "{\"clientSecret\":***REDACTED***, \"n\": 2}"),
            ("a: 1, password: x, b: 2", "a: 1, password: ***REDACTED***, b: 2"),
            ("Authorization: Bearer abc.def", "Authorization: ***REDACTED***"),
            ("send bearer abc.def on", "send ***REDACTED*** on"),
            ("tokens are counted", "tokens are counted"),
            ("password: \"abc", "password: \"***REDACTED***\""),
            ("password: 'it''s'\nn: 1", "password: '***REDACTED***'\nn: 1"),
            ("connect(password='x', n=1)", "connect(password='***REDACTED***', n=1)"),
            ("login(password='x')", "login(password='***REDACTED***')"),
            ("secret = \"\"\"a b\nc\"\"\"\nn = 1", "secret = \"***REDACTED***\"\nn = 1"),
            ("api_keys = [\n  \"a\",\n  \"b\"\n]\nn = 1", "api_keys = ***REDACTED***\nn = 1"),
            ("DB_PASSWORD=abc,def", "DB_PASSWORD=***REDACTED***"),
            ("{\"token\":1,\"n\":2}", "{\"token\":***REDACTED***,\"n\":2}"),
            ("Auth: [see here](docs/auth.md)", "Auth: [see here](docs/auth.md)"),
            ("name = \"demo\"", "name = \"demo\""),
        ] {
            assert_eq!(redacted(text), clean, "{text}");
        }
    }

    #[test]
    fn an_expression_that_is_none_is_said() {
        let (redactor, warnings) = ContextRedactor::new(
            Some(vec!["pin".into()]),
            Some(vec!["(".into(), "x{3}".into()]),
            Redactor::new(Default::default()),
        );
        assert_eq!(warnings, ["`context.redact_patterns`: `(` is no regular expression; it has no effect"]);
        assert_eq!(redactor.redact("pin: 1\ntoken: 2\nxxx"), "pin: ***REDACTED***\ntoken: 2\n***REDACTED***");
    }
}
