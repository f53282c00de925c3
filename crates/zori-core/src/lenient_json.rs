//! Complete JSON with the slips of models, repaired: a trailing comma, raw control characters in strings, single or no quotes,
//! Python's words, a fence around it (FOR-10).
//!
//! Nothing is ever closed: a text that ends inside a string or a bracket was cut off, and what was cut off is not run.

/// Returns the text as JSON if it is an object but for such slips; `None` where it is anything else.
pub fn repaired(text: &str) -> Option<String> {
    let text = without_fence(text.trim());
    let mut reader = Reader { rest: text, out: String::with_capacity(text.len() + 16) };
    reader.value(0)?;
    let out = reader.rest.trim().is_empty().then_some(reader.out)?;
    // What was read is JSON, or it is not repaired.
    serde_json::from_str::<serde_json::Value>(&out).ok().filter(serde_json::Value::is_object)?;
    Some(out)
}

/// Takes a fence of three backticks off, with the language behind it.
fn without_fence(text: &str) -> &str {
    let inner = text.strip_prefix("```").and_then(|text| text.strip_suffix("```"));
    inner.and_then(|inner| inner.split_once('\n')).map_or(text, |(_, inner)| inner.trim())
}

/// How deep arguments may be nested.
const MAX_DEPTH: usize = 64;

/// Reads a value and writes it as JSON.
struct Reader<'a> {
    rest: &'a str,
    out: String,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Option<()> {
        self.skip_blanks();
        match self.rest.chars().next()? {
            _ if depth > MAX_DEPTH => None,
            '{' => self.list('}', depth, true),
            '[' => self.list(']', depth, false),
            quote @ ('"' | '\'') => self.string(quote),
            _ => self.word(),
        }
    }

    /// An object or an array; a comma before its end is left out.
    fn list(&mut self, close: char, depth: usize, keys: bool) -> Option<()> {
        self.take_into_out();
        let mut first = true;
        loop {
            self.skip_blanks();
            if self.rest.starts_with(close) {
                self.take_into_out();
                return Some(());
            }
            if !first {
                self.rest = self.rest.strip_prefix(',')?;
                self.skip_blanks();
                if self.rest.starts_with(close) {
                    continue;
                }
                self.out.push(',');
            }
            first = false;
            if keys {
                match self.rest.chars().next()? {
                    quote @ ('"' | '\'') => self.string(quote)?,
                    _ => self.bare_key()?,
                }
                self.skip_blanks();
                self.rest = self.rest.strip_prefix(':')?;
                self.out.push(':');
            }
            self.value(depth + 1)?;
        }
    }

    /// A key without quotes: a word as programs name things.
    fn bare_key(&mut self) -> Option<()> {
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
        let (key, rest) = self.rest.split_at(end);
        if key.is_empty() || key.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        self.out.push('"');
        self.out.push_str(key);
        self.out.push('"');
        self.rest = rest;
        Some(())
    }

    /// A string in either quotes. It must end, and what follows a single quote must be what can follow a string: an
    /// apostrophe inside would be taken for the end.
    fn string(&mut self, quote: char) -> Option<()> {
        let mut chars = self.rest.char_indices().skip(1);
        self.out.push('"');
        while let Some((at, c)) = chars.next() {
            match c {
                c if c == quote => {
                    self.rest = &self.rest[at + 1..];
                    self.out.push('"');
                    let next = self.rest.trim_start().chars().next();
                    return matches!(next, None | Some(',' | ':' | '}' | ']')).then_some(());
                }
                '\\' => {
                    let (_, escaped) = chars.next()?;
                    match escaped {
                        '\'' => self.out.push('\''),
                        c => self.out.extend(['\\', c]),
                    }
                }
                '"' => self.out.push_str("\\\""),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                c if (c as u32) < 0x20 => self.out.push_str(&format!("\\u{:04x}", c as u32)),
                c => self.out.push(c),
            }
        }
        None
    }

    /// A number, or one of JSON's words or Python's.
    fn word(&mut self) -> Option<()> {
        let len =
            self.rest.find([',', ':', '}', ']', ' ', '\n', '\r', '\t', '"', '\'']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(len);
        let word = match word {
            "" => return None,
            "True" => "true",
            "False" => "false",
            "None" => "null",
            word => word,
        };
        self.out.push_str(word);
        self.rest = rest;
        Some(())
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Moves one ASCII character over.
    fn take_into_out(&mut self) {
        let (one, rest) = self.rest.split_at(1);
        self.out.push_str(one);
        self.rest = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_repaired() {
        for (text, json) in [
            (r#"{"a":1,}"#, r#"{"a":1}"#),
            (r#"{"a":[1,2,],"b":{"c":"d",},}"#, r#"{"a":[1,2],"b":{"c":"d"}}"#),
            ("{\"a\":\"x\ny\tz\"}", r#"{"a":"x\ny\tz"}"#),
            ("{'a': 'say \"hi\"', 'b': 'it\\'s'}", r#"{"a":"say \"hi\"","b":"it's"}"#),
            ("```json\n{\"a\":1}\n```", r#"{"a":1}"#),
            ("{\"a\": True, \"b\": None}", r#"{"a":true,"b":null}"#),
            (r#"{path: "a", n_1 : 2}"#, r#"{"path":"a","n_1":2}"#),
            ("{}", "{}"),
        ] {
            assert_eq!(repaired(text).as_deref(), Some(json), "{text}");
        }
    }

    /// What is cut off is not closed, and what could mean two things is not guessed.
    #[test]
    fn nothing_is_closed_or_guessed() {
        for text in [
            r#"{"a":"half"#,
            r#"{"a":"half""#,
            r#"{"a":[1"#,
            r#"{"a":1"#,
            r#"{"a":1}{"b":2}"#,
            r#"{"a":1} and more"#,
            "{'a': 'it's'}",
            "{'a': 'x', 'b': 'don't, do'}",
            r#"{1a:1}"#,
            r#"{a b:1}"#,
            r#"{"a":tru}"#,
            r#"{"a" 1}"#,
            "[1,]",
            "",
            r#"{"a":"\"#,
            r#"{"a":"\q",}"#,
        ] {
            assert_eq!(repaired(text), None, "{text}");
        }
        assert_eq!(repaired(&"[".repeat(100)), None);
    }
}
