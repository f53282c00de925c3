//! `sessions search`: where something was said, over all sessions. There is no index: the files are read as bytes, and only
//! lines that have the words are looked at closer.

use std::fs;

use regex::bytes::{Regex, RegexBuilder};
use serde_json::{Value, json};
use zori_contract::args::Args;
use zori_contract::command::Command;
use zori_contract::external::External;
use zori_contract::failure::Failure;
use zori_contract::flag::Positional;
use zori_contract::kind::Kind;
use zori_contract::reply::Reply;
use zori_core::text;

use super::{directory, unreadable};
use crate::commands::{Context, example};
use crate::program::App;

/// How much of what is around a hit is shown, in characters on each side.
const AROUND: usize = 60;

/// The entry.
pub const COMMAND: Command<App> = Command {
    args: const { &[Positional::required("TEXT", Kind::Text, "What was said, in any case of letters")] },
    examples: &[
        example("where it was said", "zori sessions search \"borrow checker\""),
        example("the sessions it was said in", "zori sessions search parser --limit 0 --output tsv"),
    ],
    list: true,
    id_field: Some("id"),
    columns: &["session", "line", "type", "text"],
    output_schema: r#"{"type":"array","x-ordered":true,"items":{"type":"object",
        "required":["id","session","line","type","role","ts","text","_source","_trusted"]}}"#,
    timeout_ms: Some(60_000),
    ..Command::new(&["sessions", "search"], "Find where something was said, in the newest session first", run)
};

fn run(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let query = args.text("TEXT").unwrap_or_default();
    let sessions = directory(cx.app.profile)?;
    let pattern = pattern(query);
    let (mut rows, mut text) = (Vec::new(), String::new());
    for entry in sessions.list().map_err(unreadable)? {
        cx.cancel.check()?;
        // One that is gone meanwhile has nothing to say.
        let Ok(bytes) = fs::read(sessions.file(&entry.id)) else { continue };
        for hit in hits(&bytes, &pattern, query) {
            let session = entry.id.as_str();
            text.push_str(&format!("{session}:{}  {}\n", hit.line, text::one_line(&hit.around)));
            rows.push(External(json!({
                "id": format!("{session}:{}", hit.line), "session": session, "line": hit.line,
                "type": hit.record["type"], "role": hit.record["role"], "ts": hit.record["ts"], "text": hit.around,
            })));
        }
    }
    if text.is_empty() {
        text = format!("Nobody said `{query}`.");
    }
    Ok(Reply::rows(rows).text(text))
}

/// Returns what to look for in the bytes of a file: the words as JSON has them.
fn pattern(query: &str) -> Regex {
    let quoted = Value::from(query).to_string();
    RegexBuilder::new(&regex::escape(&quoted[1..quoted.len() - 1]))
        .case_insensitive(true)
        .size_limit(64 << 20)
        .build()
        .unwrap_or_else(|_| Regex::new("$^").expect("an expression that never matches"))
}

/// A line that has the words.
struct Hit {
    line: usize,
    around: String,
    record: Value,
}

fn hits<'a>(bytes: &'a [u8], pattern: &'a Regex, query: &'a str) -> impl Iterator<Item = Hit> + 'a {
    let (mut from, mut line, mut counted) = (0, 1, 0);
    std::iter::from_fn(move || {
        loop {
            let found = pattern.find_at(bytes, from)?;
            let start = bytes[..found.start()].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let end = bytes[found.end()..].iter().position(|byte| *byte == b'\n');
            let end = end.map_or(bytes.len(), |at| found.end() + at);
            line += bytes[counted..start].iter().filter(|byte| **byte == b'\n').count();
            counted = start;
            from = end;
            let Ok(record) = serde_json::from_slice::<Value>(&bytes[start..end]) else { continue };
            // Names of fields and ids are not what anybody said.
            let Some(said) = texts(&record).into_iter().find(|text| position(text, query).is_some()) else {
                continue;
            };
            return Some(Hit { line, around: around(&said, query), record });
        }
    })
}

/// Returns what a record says in words.
fn texts(record: &Value) -> Vec<String> {
    let field = |name: &str| match &record[name] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    ["text", "input", "output", "reason"].iter().filter_map(|name| field(name)).collect()
}

fn position(text: &str, query: &str) -> Option<usize> {
    text.to_lowercase().find(&query.to_lowercase())
}

/// Returns the words with what stands around them.
fn around(text: &str, query: &str) -> String {
    let at = position(text, query).unwrap_or(0).min(text.len());
    let at = text.floor_char_boundary(at);
    let before: String =
        text[..at].chars().rev().take(AROUND).collect::<Vec<_>>().into_iter().rev().collect();
    let after: String = text[at..].chars().take(query.chars().count() + AROUND).collect();
    let dots = |cut: bool| if cut { "..." } else { "" };
    format!("{}{before}{after}{}", dots(before.len() < at), dots(at + after.len() < text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: &str, query: &str) -> Vec<(usize, String)> {
        let pattern = pattern(query);
        hits(file.as_bytes(), &pattern, query).map(|hit| (hit.line, hit.around)).collect()
    }

    #[test]
    fn what_was_said_and_where() {
        let file = "{\"type\":\"message\",\"text\":\"Hello \\\"World\\\"\"}\nbroken world\n\
                    {\"type\":\"message\",\"text\":\"other\"}\n{\"type\":\"tool_use\",\"input\":{\"command\":\"echo wOrld\"}}\n";
        let lines: Vec<_> = found(file, "WORLD").into_iter().map(|(line, _)| line).collect();
        assert_eq!(lines, [1, 4]);
        assert_eq!(found(file, "\"world\""), [(1, "Hello \"World\"".to_owned())]);
        assert_eq!(found(file, "message"), []);
    }

    #[test]
    fn a_long_text_is_cut_around_the_words() {
        let text = format!("{}needle{}", "a".repeat(100), "é".repeat(100));
        let shown = around(&text, "NEEDLE");
        assert_eq!(shown, format!("...{}needle{}...", "a".repeat(60), "é".repeat(60)));
    }
}
