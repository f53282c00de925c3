//! The part of YAML that settings files use: tables by indentation, lists, words, numbers, quotes, comments. What it does not
//! know is an error with its line, never a guess.

use toml::{Table, Value};

/// What stands for a text in the lines below.
const BLOCKS: [&str; 6] = ["|", ">", "|-", ">-", "|+", ">+"];

/// A line with something on it, or of the text of a block.
struct Line<'a> {
    number: usize,
    indent: usize,
    text: &'a str,
}

/// Reads a file; an error is its line and what is wrong there.
pub fn parse(text: &str) -> Result<Table, (usize, String)> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    let (mut block, text) = (None, text.trim_start_matches('\u{feff}'));
    for (number, raw) in (1..).zip(text.lines()) {
        let indent = blanks(raw);
        // The text of a block is as it stands: a `#` in it begins no comment, and a line may be empty.
        if let Some(key) = block
            && (indent > key || raw.trim().is_empty())
        {
            lines.push(Line { number, indent: key + 1, text: raw.trim_end() });
            continue;
        }
        block = None;
        let content = without_comment(raw).trim_end();
        let trimmed = content.trim_start_matches(' ');
        if trimmed.is_empty() || (trimmed == "---" && lines.is_empty()) {
            continue;
        }
        if split(trimmed).is_some_and(|(_, rest)| BLOCKS.contains(&rest)) {
            block = Some(indent);
        }
        if trimmed.starts_with('\t') {
            return Err((number, "a tab cannot indent".to_owned()));
        }
        lines.push(Line { number, indent: content.len() - trimmed.len(), text: trimmed });
    }
    let mut at = 0;
    let Some(first) = lines.first() else { return Ok(Table::new()) };
    let indent = first.indent;
    let table = table(&lines, &mut at, indent)?;
    match lines.get(at) {
        Some(line) => Err((line.number, "its indentation fits no line above".to_owned())),
        None => Ok(table),
    }
}

fn table(lines: &[Line<'_>], at: &mut usize, indent: usize) -> Result<Table, (usize, String)> {
    let mut table = Table::new();
    while let Some(line) = lines.get(*at).filter(|line| line.indent == indent) {
        let wrong = |what: &str| (line.number, what.to_owned());
        let (name, rest) = split(line.text).ok_or_else(|| wrong("it is no `key: value`"))?;
        *at += 1;
        let value = match rest {
            "" => nested(lines, at, indent)?,
            rest if BLOCKS.contains(&rest) => {
                Some(Value::String(folded(lines, at, indent, rest.starts_with('|'))))
            }
            rest => scalar(rest).map_err(|what| wrong(&what))?,
        };
        if let Some(value) = value
            && table.insert(name.to_owned(), value).is_some()
        {
            return Err(wrong(&format!("`{name}` is there twice")));
        }
    }
    Ok(table)
}

/// Reads what stands below a key: a table, a list, or nothing.
fn nested(lines: &[Line<'_>], at: &mut usize, indent: usize) -> Result<Option<Value>, (usize, String)> {
    let Some(next) = lines.get(*at) else { return Ok(None) };
    // A list may stand as far left as its key.
    if next.indent >= indent && (next.text.starts_with("- ") || next.text == "-") {
        let inner = next.indent;
        let mut list = Vec::new();
        while let Some(line) = lines.get(*at).filter(|line| line.indent == inner) {
            let Some(item) = line.text.strip_prefix('-') else { break };
            let value = scalar(item.trim()).map_err(|what| (line.number, what))?;
            list.extend(value);
            *at += 1;
        }
        return Ok(Some(Value::Array(list)));
    }
    match next.indent > indent {
        true => table(lines, at, next.indent).map(|table| Some(Value::Table(table))),
        false => Ok(None),
    }
}

/// Reads the text of a block: without the blanks before its first line, and without empty lines at its end.
fn folded(lines: &[Line<'_>], at: &mut usize, indent: usize, keep: bool) -> String {
    let mut text = Vec::new();
    while let Some(line) = lines.get(*at).filter(|line| line.indent > indent) {
        text.push(line.text);
        *at += 1;
    }
    let before = text.iter().find(|line| !line.is_empty()).map_or(0, |first| blanks(first));
    let text: Vec<&str> = text.iter().map(|line| &line[before.min(blanks(line))..]).collect();
    text.join(if keep { "\n" } else { " " }).trim_end().to_owned()
}

/// Returns how many blanks a line begins with.
fn blanks(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn split(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = match text.strip_suffix(':') {
        Some(name) if !name.contains(": ") => (name, ""),
        _ => text.split_once(": ")?,
    };
    let name = name.trim().trim_matches(['"', '\'']);
    (!name.is_empty() && !name.starts_with(['-', '?', '&', '*', '{', '['])).then(|| (name, rest.trim()))
}

/// Reads a value on one line; nothing is `None`.
fn scalar(text: &str) -> Result<Option<Value>, String> {
    if let Some(inner) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        let json = format!("\"{inner}\"");
        return serde_json::from_str(&json).map(|text| Some(Value::String(text))).map_err(|_| bad(text));
    }
    if let Some(inner) = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        return Ok(Some(Value::String(inner.replace("''", "'"))));
    }
    if let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let items = items(inner).map(str::trim).filter(|item| !item.is_empty());
        let values = items.map(scalar).collect::<Result<Vec<_>, _>>()?;
        return Ok(Some(Value::Array(values.into_iter().flatten().collect())));
    }
    match text {
        "" | "~" | "null" | "{}" => return Ok(None),
        "true" | "True" | "yes" | "on" => return Ok(Some(Value::Boolean(true))),
        "false" | "False" | "no" | "off" => return Ok(Some(Value::Boolean(false))),
        _ if text.starts_with(['{', '&', '*', '!', '[', '"', '\'', '@', '`', '%']) => return Err(bad(text)),
        _ => {}
    }
    if let Ok(number) = text.parse::<i64>() {
        return Ok(Some(Value::Integer(number)));
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && text.contains('.') => Ok(Some(Value::Float(number))),
        _ => Ok(Some(Value::String(text.to_owned()))),
    }
}

/// Takes a list on one line apart: a comma between quotes is part of what they enclose.
fn items(text: &str) -> impl Iterator<Item = &str> {
    let (mut quote, mut escaped, mut before) = (None, false, ',');
    text.split(move |c: char| {
        let ends = match quote {
            _ if escaped => {
                escaped = false;
                false
            }
            Some(open) => {
                escaped = (open, c) == ('"', '\\');
                if c == open {
                    quote = None;
                }
                false
            }
            None => {
                // Within a word a quote is a letter.
                if matches!(c, '"' | '\'') && before == ',' {
                    quote = Some(c);
                }
                c == ','
            }
        };
        if !c.is_whitespace() {
            before = c;
        }
        ends
    })
}

fn bad(text: &str) -> String {
    format!("`{text}` is not understood; write it in a simpler form")
}

/// Takes a comment off: a `#` at the beginning or behind a blank, outside of quotes.
fn without_comment(line: &str) -> &str {
    let (mut quote, mut before) = (None, ' ');
    for (at, c) in line.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '#' && before.is_whitespace() => return &line[..at],
            None if matches!(c, '"' | '\'') && matches!(before, ' ' | '[' | ',') => quote = Some(c),
            None => {}
        }
        before = c;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_settings_files_are_made_of() {
        let text = "---\n# comment\nconnection:\n  api_url: http://localhost:8000/api_message # here\n  timeout_seconds: 0\n  \
                    stream: true\n  api_key: ''\nsecurity:\n  mode: \"balanced\"\n  whitelist:\n  - ls\n  - 'git status'\n\
                    context:\n  ignore_dirs: [.git, \"a#b\", \"x{1,2}\\\\\", 'a, b', it's, c]\n  ratio: 1.5\nempty:\nprompt: |\n  one\n  two\n";
        let table = parse(text).unwrap();
        let json = serde_json::to_value(&table).unwrap();
        assert_eq!(
            json,
            serde_json::json!({
                "connection": {"api_url": "http://localhost:8000/api_message", "timeout_seconds": 0, "stream": true, "api_key": ""},
                "security": {"mode": "balanced", "whitelist": ["ls", "git status"]},
                "context": {"ignore_dirs": [".git", "a#b", "x{1,2}\\", "a, b", "it's", "c"], "ratio": 1.5},
                "prompt": "one\ntwo",
            })
        );
        assert_eq!(parse("").unwrap(), Table::new());
    }

    /// What a prompt for an agent is written as: in the text of a block nothing is a comment, and its own indentation stays.
    #[test]
    fn texts_of_several_lines() {
        let text = "\u{feff}agent_profiles:\n  lint:\n    prompt: |\n      # Role\n      Check issue #12 # now\n\n        - deep\n\n  \
                    terse:\n    prompt: >+ # folded\n      Be\n      brief: yes\n# a comment\nlast: 1\n";
        let json = serde_json::to_value(parse(text).unwrap()).unwrap();
        assert_eq!(
            json,
            serde_json::json!({
                "agent_profiles": {
                    "lint": {"prompt": "# Role\nCheck issue #12 # now\n\n  - deep"},
                    "terse": {"prompt": "Be brief: yes"},
                },
                "last": 1,
            })
        );
    }

    #[test]
    fn what_is_not_understood_has_its_line() {
        for (text, line) in [
            ("a: 1\n  b: 2\n", 2),
            ("a: &x 1\n", 1),
            ("a: {b: 1}\n", 1),
            ("just words\n", 1),
            ("a: 1\n\ta: 2\n", 2),
            ("a: 1\na: 2\n", 2),
        ] {
            assert_eq!(parse(text).unwrap_err().0, line, "{text:?}");
        }
    }
}
