//! `sessions search`: where something was said, over all sessions. There is no index: the files are read as bytes, and only
//! lines that have the words are looked at closer.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use regex::bytes::{Regex, RegexBuilder};
use serde_json::{Value, json};
use zori_contract::args::Args;
use zori_contract::command::Command;
use zori_contract::error::FIELD_TOO_LARGE;
use zori_contract::external::External;
use zori_contract::failure::{Failure, Issue, IssueCode};
use zori_contract::flag::Positional;
use zori_contract::kind::Kind;
use zori_contract::path::AbsPath;
use zori_contract::reply::Reply;
use zori_contract::warning::Warning;
use zori_core::text;

use crate::commands::{Context, example};
use zori_setup::app::App;
use zori_setup::find_session::{directory, unreadable};

const TEXT_ARG: Positional =
    Positional::required("TEXT", Kind::Text, "What was said, in any case of letters");

/// How much of what is around a hit is shown, in characters on each side.
const CONTEXT_CHARS: usize = 60;

/// How many places are found at most.
const MAX_HITS: usize = 20_000;

/// How much of a file is read at once.
const CHUNK: u64 = 8 << 20;

/// The longest line that is looked at.
const MAX_LINE: usize = 64 << 20;

/// How long what is looked for may be.
const MAX_QUERY: usize = 4096;

pub const COMMAND: Command<App> = Command {
    args: const { &[TEXT_ARG] },
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
    validate: validate_query,
    ..Command::new(&["sessions", "search"], "Find where something was said, in the newest session first", run)
};

/// Nothing is said everywhere, and nobody looks for a whole page.
fn validate_query(args: &Args, _: &AbsPath) -> Vec<Issue> {
    let text = args.text(&TEXT_ARG).unwrap_or_default();
    let issue = match text.len() {
        _ if text.trim().is_empty() => Some(Issue::new(
            "TEXT",
            IssueCode::InvalidValue,
            "`TEXT` is empty: say what to look for".to_owned(),
        )),
        bytes if bytes > MAX_QUERY => {
            let message = format!("`TEXT` takes at most {MAX_QUERY} bytes, and this has {bytes}");
            Some(
                Issue::new("TEXT", IssueCode::Kind(&FIELD_TOO_LARGE), message)
                    .value(format!("{bytes} bytes")),
            )
        }
        _ => None,
    };
    issue.into_iter().collect()
}

fn run(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let query = args.text(&TEXT_ARG).unwrap_or_default();
    let sessions = directory(cx.app)?;
    let looked_for = QueryPatterns::new(query);
    let (mut rows, mut text) = (Vec::new(), String::new());
    let mut cut = false;
    'sessions: for entry in sessions.list().map_err(unreadable)? {
        // One that is gone meanwhile has nothing to say.
        let Ok(mut chunks) = Chunks::open(&sessions.file(&entry.id)) else { continue };
        while let Ok(Some(chunk)) = chunks.next() {
            cx.cancel.check()?;
            for hit in hits(chunk.bytes, &looked_for) {
                let (session, line) = (entry.id.as_str(), chunk.lines_before + hit.line);
                if rows.len() == MAX_HITS {
                    cut = true;
                    break 'sessions;
                }
                text.push_str(&format!("{session}:{line}  {}\n", text::one_line(&hit.around)));
                rows.push(External(json!({
                    "id": format!("{session}:{line}"), "session": session, "line": line,
                    "type": hit.record["type"], "role": hit.record["role"], "ts": hit.record["ts"], "text": hit.around,
                })));
            }
        }
    }
    if text.is_empty() {
        text = format!("Nobody said `{query}`.");
    }
    let reply = Reply::rows(rows).text(text);
    Ok(match cut {
        true => {
            reply.warn(Warning::new("SEARCH_CUT", format!("only the first {MAX_HITS} places are listed")))
        }
        false => reply,
    })
}

/// A file in pieces of whole lines, so that its size does not matter.
struct Chunks {
    source: File,
    buffer: Vec<u8>,
    /// How much of the buffer was looked at.
    used: usize,
    lines: usize,
}

struct Chunk<'a> {
    bytes: &'a [u8],
    /// How many lines stand before it.
    lines_before: usize,
}

impl Chunks {
    fn open(path: &Path) -> io::Result<Self> {
        let source = File::open(path)?;
        if !source.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        Ok(Self { source, buffer: Vec::new(), used: 0, lines: 0 })
    }

    fn next(&mut self) -> io::Result<Option<Chunk<'_>>> {
        self.lines += line_ends(&self.buffer[..self.used]);
        self.buffer.drain(..self.used);
        self.used = 0;
        loop {
            let before = self.buffer.len();
            let read = (&mut self.source).take(CHUNK).read_to_end(&mut self.buffer)?;
            if read == 0 {
                self.used = before;
                break;
            }
            if let Some(at) = memchr::memrchr(b'\n', &self.buffer[before..]) {
                self.used = before + at + 1;
                break;
            }
            // A line that is too long to be a record is passed over.
            if self.buffer.len() > MAX_LINE {
                self.buffer.clear();
            }
        }
        let lines_before = self.lines;
        let bytes = &self.buffer[..self.used];
        Ok((!bytes.is_empty()).then_some(Chunk { bytes, lines_before }))
    }
}

fn line_ends(bytes: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', bytes).count()
}

/// What to look for, in any case of letters: as JSON has it, to find lines in the bytes of a file, and as it is, in what was
/// said. Both go by the same folding of letters.
struct QueryPatterns {
    in_bytes: Regex,
    in_text: Regex,
}

impl QueryPatterns {
    fn new(query: &str) -> Self {
        let quoted = Value::from(query).to_string();
        Self { in_bytes: literal(&quoted[1..quoted.len() - 1]), in_text: literal(query) }
    }
}

fn literal(text: &str) -> Regex {
    RegexBuilder::new(&regex::escape(text))
        .case_insensitive(true)
        .size_limit(1 << 30)
        .build()
        .expect("a literal of bounded length is never too large")
}

/// A line that has the words.
struct SearchHit {
    line: usize,
    around: String,
    record: Value,
}

fn hits<'a>(bytes: &'a [u8], words: &'a QueryPatterns) -> impl Iterator<Item = SearchHit> + 'a {
    let (mut from, mut line, mut counted) = (0, 1, 0);
    std::iter::from_fn(move || {
        loop {
            let found = words.in_bytes.find_at(bytes, from)?;
            let start = memchr::memrchr(b'\n', &bytes[..found.start()]).map_or(0, |at| at + 1);
            let end = memchr::memchr(b'\n', &bytes[found.end()..]);
            let end = end.map_or(bytes.len(), |at| found.end() + at);
            line += line_ends(&bytes[counted..start]);
            counted = start;
            from = end;
            let Ok(record) = serde_json::from_slice::<Value>(&bytes[start..end]) else { continue };
            // Names of fields and ids are not what anybody said.
            let Some(around) = texts(&record).iter().find_map(|text| around(text, &words.in_text)) else {
                continue;
            };
            return Some(SearchHit { line, around, record });
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

/// Returns the words with what stands around them.
fn around(text: &str, words: &Regex) -> Option<String> {
    let found = words.find(text.as_bytes())?.range();
    let start =
        text[..found.start].char_indices().rev().take(CONTEXT_CHARS).last().map_or(found.start, |(at, _)| at);
    let end =
        text[found.end..].char_indices().nth(CONTEXT_CHARS).map_or(text.len(), |(at, _)| found.end + at);
    let dots = |cut: bool| if cut { "..." } else { "" };
    Some(format!("{}{}{}", dots(start > 0), &text[start..end], dots(end < text.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: &str, query: &str) -> Vec<(usize, String)> {
        let words = QueryPatterns::new(query);
        hits(file.as_bytes(), &words).map(|hit| (hit.line, hit.around)).collect()
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

    /// Lines keep their numbers wherever the pieces end.
    #[test]
    fn a_file_in_pieces() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let line = format!("{}\n", json!({"type": "message", "text": "x".repeat(1 << 20)}));
        let needle = format!("{}\n", json!({"type": "message", "text": "a needle"}));
        std::fs::write(&path, format!("{}{needle}{}{}", line.repeat(9), line.repeat(10), needle.trim_end()))
            .unwrap();
        let (mut chunks, patterns) = (Chunks::open(&path).unwrap(), QueryPatterns::new("needle"));
        let (mut found, mut pieces) = (Vec::new(), 0);
        while let Some(chunk) = chunks.next().unwrap() {
            pieces += 1;
            found.extend(hits(chunk.bytes, &patterns).map(|hit| chunk.lines_before + hit.line));
        }
        assert_eq!(found, [10, 21]);
        assert!(pieces > 1);
    }

    #[test]
    fn a_long_text_is_cut_around_the_words() {
        let text = format!("{}needle{}", "a".repeat(100), "é".repeat(100));
        let shown = around(&text, &literal("NEEDLE"));
        assert_eq!(shown, Some(format!("...{}needle{}...", "a".repeat(60), "é".repeat(60))));
    }

    /// Letters whose other case has another length, and what means something in an expression.
    #[test]
    fn letters_and_signs_of_all_kinds() {
        let said = |text: &str| format!("{}\n", json!({"type": "message", "text": text}));
        for (text, query, wanted) in [
            ("İstanbul und STRASSE", "strasse", Some("İstanbul und STRASSE")),
            ("ẞ groß, ÉCOLE", "école", Some("ẞ groß, ÉCOLE")),
            ("a.*b [x] (y) \\d", ".*b [x] (y) \\D", Some("a.*b [x] (y) \\d")),
            ("axxb", "a.*b", None),
            ("C:\\temp\t\"x\"", "\\temp\t\"", Some("C:\\temp\t\"x\"")),
            ("日本語のテスト", "語の", Some("日本語のテスト")),
            ("\u{1b}[31mred", "31MRED", Some("\u{1b}[31mred")),
        ] {
            let wanted: Vec<_> = wanted.map(|text| (1, text.to_owned())).into_iter().collect();
            assert_eq!(found(&said(text), query), wanted, "{query}");
        }
    }
}
