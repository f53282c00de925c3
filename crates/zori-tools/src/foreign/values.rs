//! Values as other agents write them: commands as words, times in milliseconds, ranges of lines, contents in a fence.

use serde_json::{Map, Value};
use zori_core::tool::ToolKind;

use super::folded;
use crate::args;
use crate::def::{ToolDef, Ty};

/// Takes a shell's prompt off a command of one line: no program is called `$`.
pub(super) fn without_prompt(command: &mut Value) -> Option<String> {
    let text = command.as_str()?.trim();
    let bare = text.strip_prefix("$ ").filter(|bare| !bare.contains('\n'))?.to_owned();
    *command = Value::String(bare);
    Some("the `$` before the command was left out".to_owned())
}

/// Takes one text for a list of one, and 0 and 1 for false and true.
pub(super) fn reshaped(def: &ToolDef, map: &mut Map<String, Value>) {
    for param in def.params {
        for name in std::iter::once(&param.name).chain(param.aliases) {
            let Some(value) = map.get_mut(*name) else { continue };
            let meant = match (&param.ty, &*value) {
                (Ty::Text, Value::Array(list)) => match &list[..] {
                    [text @ Value::String(_)] => Some(text.clone()),
                    _ => None,
                },
                (Ty::Flag, Value::Number(number)) => match number.as_u64() {
                    Some(0) => Some(Value::Bool(false)),
                    Some(1) => Some(Value::Bool(true)),
                    _ => None,
                },
                _ => None,
            };
            if let Some(meant) = meant {
                *value = meant;
            }
        }
    }
}

/// Takes the fence off a content that is nothing but a fenced block, where the file is no text that has fences.
pub(super) fn without_fence(map: &mut Map<String, Value>) -> Option<String> {
    const PROSE: &[&str] = &["md", "markdown", "mdx", "rst", "txt", "adoc", "org", "qmd", "rmd"];
    let path = map.get("path").or_else(|| map.get("file_path"))?.as_str()?;
    let extension = std::path::Path::new(path).extension()?.to_str()?.to_lowercase();
    let content = map.get("content")?.as_str()?;
    let (language, body) = content.trim().strip_prefix("```")?.strip_suffix("\n```")?.split_once('\n')?;
    let is_word = |c: char| c.is_alphanumeric() || "+-_#.".contains(c);
    let fenced = language.trim().chars().all(is_word) && !body.contains("```");
    if !fenced || PROSE.contains(&extension.as_str()) {
        return None;
    }
    let body = format!("{body}\n");
    map.insert("content".to_owned(), Value::String(body));
    Some("`content` was a fenced block; the fence was left out".to_owned())
}

/// Searches for a text as it is where it is no regular expression.
pub(super) fn literal(map: &mut Map<String, Value>) -> Option<String> {
    let pattern = ["pattern", "query", "regex"].iter().find_map(|name| map.get(*name)?.as_str())?;
    if map.contains_key("literal") || grep_regex::RegexMatcher::new(pattern).is_ok() {
        return None;
    }
    map.insert("literal".to_owned(), Value::Bool(true));
    Some("the pattern is no regular expression; it was searched for as plain text".to_owned())
}

/// A first and a last line become a first line and a number of lines.
pub(super) fn range(kind: ToolKind, map: &mut Map<String, Value>) {
    if kind != ToolKind::Read {
        return;
    }
    if let Some(Value::Array(range)) = map.remove("view_range")
        && let [first, last] = &range[..]
        && let (Some(first), Some(last)) = (args::int(first), args::int(last))
    {
        map.insert("offset".to_owned(), first.into());
        if last >= first {
            map.insert("limit".to_owned(), (last - first + 1).into());
        }
    }
    let key = map.keys().find(|key| {
        matches!(folded(key).as_str(), "endline" | "lineend" | "toline" | "endlineoneindexedinclusive")
    });
    if let Some(key) = key.cloned()
        && !map.contains_key("limit")
        && let Some(last) = map.remove(&key).as_ref().and_then(args::int)
    {
        let start = map.iter().find(|(key, _)| {
            matches!(folded(key).as_str(), "startline" | "offset" | "linestart" | "fromline")
        });
        let first = start.and_then(|(_, value)| args::int(value)).unwrap_or(1).max(1);
        if last >= first {
            map.insert("limit".to_owned(), (last - first + 1).into());
        }
    }
}

/// A time limit that cannot be seconds is milliseconds.
pub(super) fn times(kind: ToolKind, known: &[&str], map: &mut Map<String, Value>) {
    // A dialect's own field says what it means.
    if kind != ToolKind::Bash || map.contains_key("timeout_secs") || known.contains(&"timeout") {
        return;
    }
    let key = map
        .keys()
        .find(|key| matches!(folded(key).as_str(), "timeout" | "timeoutms" | "timeoutmilliseconds"));
    if let Some(key) = key.cloned()
        && let Some(number) = map.get(&key).and_then(|value| args::int(value).or_else(|| seconds(value)))
    {
        let milliseconds = folded(&key) != "timeout" || number > 600;
        let seconds = if milliseconds { number.div_euclid(1000).max(1) } else { number };
        map.remove(&key);
        map.insert("timeout_secs".to_owned(), seconds.into());
    }
}

/// Reads `30s`, `500ms` and `2m`, as seconds.
fn seconds(value: &Value) -> Option<i64> {
    let text = value.as_str()?.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let number: i64 = text[..digits].parse().ok()?;
    match text[digits..].trim() {
        "s" | "sec" | "secs" | "seconds" => Some(number),
        "ms" => Some(number.div_euclid(1000).max(1)),
        "m" | "min" | "minutes" => number.checked_mul(60),
        _ => None,
    }
}

/// Turns a command that is a list of words into its text: that of a shell's `-c`, or the words, quoted where they need it.
pub(super) fn words(command: &mut Value) {
    let Value::Array(list) = command else { return };
    let words: Option<Vec<&str>> = list.iter().map(Value::as_str).collect();
    let text = match words.as_deref() {
        Some([shell, flag, text]) if is_shell(shell, flag) => (*text).to_owned(),
        Some(words) if !words.is_empty() => {
            words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
        }
        _ => return,
    };
    *command = Value::String(text);
}

pub(super) fn is_shell(program: &str, flag: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    matches!(name, "bash" | "sh" | "zsh" | "dash") && matches!(flag, "-c" | "-lc" | "-cl" | "-ic" | "-lic")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn command(value: Value) -> Value {
        let mut value = value;
        words(&mut value);
        value
    }

    #[test]
    fn commands_as_words() {
        assert_eq!(command(json!(["bash", "-lc", "ls | wc"])), json!("ls | wc"));
        assert_eq!(command(json!(["/bin/sh", "-c", "x"])), json!("x"));
        assert_eq!(command(json!(["cat", "it's", "a.txt"])), json!("cat 'it'\\''s' a.txt"));
        assert_eq!(command(json!(["bash", "x.sh"])), json!("bash x.sh"));
        assert_eq!(command(json!([])), json!([]));
        assert_eq!(command(json!(["a", 1])), json!(["a", 1]));
    }

    #[test]
    fn fences_and_prompts() {
        let written = |path: &str, content: &str| {
            let mut map =
                Map::from_iter([("path".to_owned(), json!(path)), ("content".to_owned(), json!(content))]);
            without_fence(&mut map);
            map["content"].as_str().unwrap().to_owned()
        };
        assert_eq!(written("a.py", "```python\nx = 1\n```\n"), "x = 1\n");
        for (path, content) in [
            ("a.md", "```python\nx = 1\n```\n"),
            ("Makefile", "```\nx\n```"),
            ("a.py", "```python\nx\n```\ny\n```\nz\n```"),
            ("a.py", "x = '```'\n"),
        ] {
            assert_eq!(written(path, content), content, "{path}");
        }
        let bare = |text: &str| {
            let mut value = json!(text);
            without_prompt(&mut value);
            value
        };
        assert_eq!(bare("$ ls -l"), json!("ls -l"));
        assert_eq!(bare("$ ls\na.txt"), json!("$ ls\na.txt"));
        assert_eq!(bare("$x"), json!("$x"));
    }
}
