//! Front matter: what stands between two lines of dashes at the start of a Markdown file.
//!
//! It is YAML in name only: descriptions hold colons and quotes as they please. So it is read by lines, and only what such files use of
//! YAML is understood: `key: value`, quotes, lists, and blocks after `|` or `>`. Nothing in it can refer to anything else, so
//! nothing grows by being read.

use std::borrow::Cow;

/// A file in its two parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document<'a> {
    fields: Vec<(&'a str, Value<'a>)>,
    /// What stands behind the front matter.
    pub body: &'a str,
}

/// Why a file cannot be taken apart, as the second half of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The first line is not `---`.
    Missing,
    /// There is no second line of dashes.
    Open,
    /// What stands there has no key.
    NoFields,
}

impl Malformed {
    /// Returns it in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "has no front matter: its first line must be `---`",
            Self::Open => "has front matter without an end: a line `---`",
            Self::NoFields => "has front matter that cannot be read",
        }
    }
}

/// The value of a key: the rest of its line, and the indented lines or list items below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Value<'a> {
    first: &'a str,
    below: Vec<&'a str>,
}

/// Returns a file's text with one kind of line ends and without a byte order mark.
pub fn normalised(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match text.contains('\r') {
        true => text.replace("\r\n", "\n").into(),
        // As almost all are: not even copied.
        false => text.into(),
    }
}

/// Takes a normalised text apart.
pub fn parse(text: &str) -> Result<Document<'_>, Malformed> {
    let rest = text.strip_prefix("---\n").ok_or(Malformed::Missing)?;
    let (matter, body) = match rest.strip_prefix("---\n") {
        Some(body) => ("", body),
        None => match rest.split_once("\n---\n") {
            Some(parts) => parts,
            None => (rest.strip_suffix("\n---").ok_or(Malformed::Open)?, ""),
        },
    };
    let fields = fields(matter);
    if fields.is_empty() && !matter.trim().is_empty() {
        return Err(Malformed::NoFields);
    }
    Ok(Document { fields, body })
}

impl Document<'_> {
    /// Returns a value as one text; `None` if it is not there or is empty.
    pub fn text(&self, key: &str) -> Option<String> {
        self.field(key).map(Value::text).filter(|text| !text.is_empty())
    }

    /// Returns a value as a list: `[a, b]`, `a, b`, or a line for each.
    pub fn list(&self, key: &str) -> Option<Vec<String>> {
        self.field(key).map(Value::names)
    }

    /// Returns whether a value says yes.
    pub fn flag(&self, key: &str) -> bool {
        self.text(key).is_some_and(|text| matches!(text.to_lowercase().as_str(), "true" | "yes" | "on"))
    }

    /// Returns the keys, in their order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|(key, _)| *key)
    }

    fn field(&self, key: &str) -> Option<&Value<'_>> {
        self.fields.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
    }
}

fn fields(matter: &str) -> Vec<(&str, Value<'_>)> {
    let mut fields: Vec<(&str, Value<'_>)> = Vec::new();
    for line in matter.lines().filter(|line| !line.starts_with('#')) {
        let indented = line.starts_with([' ', '\t']) || line.starts_with("- ") || line.trim().is_empty();
        match (line.split_once(':'), fields.last_mut()) {
            (_, Some((_, value))) if indented => value.below.push(line),
            (Some((key, first)), _) if !indented => {
                fields.push((key.trim(), Value { first: first.trim(), below: Vec::new() }));
            }
            _ => {}
        }
    }
    fields
}

impl Value<'_> {
    fn text(&self) -> String {
        let below = || self.below.iter().map(|line| line.trim());
        match self.first.trim_end_matches(['+', '-']) {
            "|" => below().collect::<Vec<_>>().join("\n").trim().to_owned(),
            ">" | "" => below().filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" "),
            _ => {
                let all: Vec<_> =
                    std::iter::once(self.first).chain(below()).filter(|line| !line.is_empty()).collect();
                unquoted(&all.join(" ")).to_owned()
            }
        }
    }

    fn names(&self) -> Vec<String> {
        let below = self.below.iter().map(|line| line.trim().trim_start_matches("- "));
        let first = self.first.trim_start_matches('[').trim_end_matches(']');
        let words = split_outside_brackets(first).into_iter().chain(below.flat_map(split_outside_brackets));
        let words = words.map(|word| unquoted(word.trim()).to_owned());
        words.filter(|word| !word.is_empty()).collect()
    }
}

/// Splits at commas, but not at those between round brackets: `Bash(git add:*, git diff:*)` is one.
fn split_outside_brackets(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_u32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn unquoted(text: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote)) {
            return inner;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_people_write_it() {
        let text = normalised(
            "\u{feff}---\r\nname: pdf\r\ndescription: Use it: after \"changes\".\r\ntriggers:\r\n  - first phrase\r\n  - \"second\"\r\n\
             allowed-tools: Read, Bash(git add:*, git diff:*)\r\n# a remark: of nobody\r\nlong: >\r\n  one\r\n  two\r\nmetadata:\r\n  author: me\r\nyes: True\r\n---\r\nBody\r\n---\r\nmore",
        );
        let document = parse(&text).unwrap();
        assert_eq!(document.text("description").as_deref(), Some("Use it: after \"changes\"."));
        assert_eq!(document.list("triggers").unwrap(), ["first phrase", "second"]);
        assert_eq!(document.list("allowed-tools").unwrap(), ["Read", "Bash(git add:*, git diff:*)"]);
        assert_eq!(document.text("long").as_deref(), Some("one two"));
        assert!(document.flag("yes") && !document.flag("name"));
        assert_eq!(document.text("author"), None, "what is nested is not a key");
        assert_eq!(document.body, "Body\n---\nmore");
    }

    #[test]
    fn what_is_no_front_matter() {
        assert_eq!(parse("Body"), Err(Malformed::Missing));
        assert_eq!(parse("---\nname: a\nBody"), Err(Malformed::Open));
        assert_eq!(parse("---\n{ [ }\n---\nBody"), Err(Malformed::NoFields));
        assert_eq!(parse("---\n---\nBody").map(|document| document.body), Ok("Body"));
        assert_eq!(parse("---\nname: a\n---").map(|document| document.body), Ok(""));
    }
}
