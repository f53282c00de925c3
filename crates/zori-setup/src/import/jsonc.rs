//! JSON as editors write it: with comments, and commas behind the last entry.

/// Returns the text as plain JSON. What is left out leaves a blank and its line ends, so that lines stay what they are.
pub fn plain(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    without_last_commas(&without_comments(text))
}

fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '"' => {
                let taken = string_len(rest);
                plain.push_str(&rest[..taken]);
                taken
            }
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => {
                // Its own star does not end it.
                let taken = rest[2..].find("*/").map_or(rest.len(), |end| end + 4);
                plain.push(' ');
                plain.extend(rest[..taken].chars().filter(|c| *c == '\n'));
                taken
            }
            c => {
                plain.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    plain
}

fn without_last_commas(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let taken = if c == '"' { string_len(rest) } else { c.len_utf8() };
        let last = c == ',' && rest[1..].trim_start().starts_with(['}', ']']);
        plain.push_str(if last { " " } else { &rest[..taken] });
        rest = &rest[taken..];
    }
    plain
}

/// Returns how long the string is that a text begins with, quotes and all.
fn string_len(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_last_commas_go_and_strings_stay() {
        let text = "{ // one\n  \"a\": \"http://x, // no comment\", /* two\n */ \"b\": [1, 2, ],\n  \"c\": \"\\\",}\", }";
        let value: serde_json::Value = serde_json::from_str(&plain(text)).unwrap();
        assert_eq!(value, serde_json::json!({"a": "http://x, // no comment", "b": [1, 2], "c": "\",}"}));
        assert_eq!(plain(text).lines().count(), text.lines().count());
        assert_eq!((plain("[/*/ 1, */ 2]"), plain("[1/**/2]")), ("[  2]".to_owned(), "[1 2]".to_owned()));
        for open in ["\"", "/*", "//", "{\"a", ""] {
            plain(open);
        }
    }
}
