//! What there is to choose from: each session's title, folder, length and last prompt (RSM-2, RSM-3).
//!
//! A session file is read once; what was found stays in the file `index` beside it until the file changes. The index is a cache: it may be missing,
//! old or damaged, and whoever cannot write it goes without.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use zori_core::ids::SessionId;
use zori_core::text::{one_line, prefix, width};
use zori_core::time::Timestamp;
use zori_core::usage::Usage;

use crate::dir::SessionDir;
use crate::error::StoreError;
use crate::lines::{self, Lines, MAX_LINE};

/// Columns that a title may take (RSM-3), and a last prompt.
const TITLE: usize = 48;
const PROMPT: usize = 60;
pub(crate) const INDEX: &str = "index";

/// A session, as people choose it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionOverview {
    pub id: SessionId,
    /// When its file was last changed.
    pub modified: Timestamp,
    /// The folder it was begun in.
    pub root: Option<PathBuf>,
    /// The first sentence of the first prompt.
    pub title: String,
    pub messages: u64,
    /// What was asked last.
    pub last_prompt: String,
    /// The tokens of its replies, for each model that gave some.
    pub used: Vec<(String, Usage)>,
    /// The branch it was last used on in the chat, else the one it was begun on.
    pub branch: Option<String>,
    /// The process that has it open.
    pub open_in: Option<u32>,
}

/// A line of the index.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
struct Known {
    id: String,
    /// The file's time in nanoseconds and its length, by which a change is noticed.
    time: u64,
    len: u64,
    root: Option<PathBuf>,
    title: String,
    messages: u64,
    last: String,
    /// By model: the tokens that were read, written, read from the cache and written to it.
    used: BTreeMap<String, [u64; 4]>,
    /// The branch it was begun on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
}

/// The parts of a record that count here.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow)]
    role: Option<Cow<'a, str>>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    root: Option<PathBuf>,
    branch: Option<String>,
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    usage: Option<Tokens>,
    #[serde(default)]
    within_turn: bool,
}

/// The tokens of a reply.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Tokens {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_tokens: u64,
    cache_write_tokens: u64,
}

impl SessionDir {
    /// Returns the sessions that something was said in, newest first.
    pub fn overview(&self) -> Result<Vec<SessionOverview>, StoreError> {
        let index = self.path().join(INDEX);
        let mut known = read_index(&index);
        let mut changed = false;
        let mut found = Vec::new();
        for entry in self.list()? {
            let path = self.file(&entry.id);
            let Ok(facts) = fs::metadata(&path) else { continue };
            let time = facts.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            let time = time.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
            let same = |known: &Known| known.time == time && known.len == facts.len();
            let line = match known.remove(entry.id.as_str()).filter(same) {
                Some(line) => line,
                None => {
                    changed = true;
                    let Some(line) = look(&path, entry.id.as_str(), time, facts.len()) else { continue };
                    line
                }
            };
            found.push((entry, line));
        }
        // What is left belongs to sessions that are gone.
        if changed || !known.is_empty() {
            write_index(&index, found.iter().map(|(_, line)| line));
        }
        let (mut titles, mut branches, mut open) = (self.titles(), self.branches(), self.open());
        let overview = |(entry, line): (crate::SessionEntry, Known)| SessionOverview {
            title: titles.remove(entry.id.as_str()).unwrap_or(line.title),
            branch: branches.remove(entry.id.as_str()).or(line.branch),
            open_in: open.remove(entry.id.as_str()),
            used: line.used.into_iter().map(|(model, tokens)| (model, usage(tokens))).collect(),
            id: entry.id,
            modified: entry.modified,
            root: line.root,
            messages: line.messages,
            last_prompt: line.last,
        };
        Ok(found.into_iter().filter(|(_, line)| line.messages > 0).map(overview).collect())
    }
}

fn usage([input, output, cache_read, cache_write]: [u64; 4]) -> Usage {
    Usage { input, output, cache_read, cache_write, ..Usage::NOTHING }
}

fn read_index(path: &Path) -> HashMap<String, Known> {
    let bytes = fs::read(path).unwrap_or_default();
    let lines =
        bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Known>(line).ok());
    lines.map(|known| (known.id.clone(), known)).collect()
}

/// Writes the index whole, or not at all.
fn write_index<'a>(path: &Path, lines: impl Iterator<Item = &'a Known>) {
    let mut text = Vec::new();
    for line in lines {
        if serde_json::to_writer(&mut text, line).is_err() {
            return;
        }
        text.push(b'\n');
    }
    // Whoever cannot write it goes without.
    let _ = zori_atomic::replace_private(path, &text);
}

/// Reads a session file; lines that cannot be read count for nothing.
fn look(path: &Path, id: &str, time: u64, len: u64) -> Option<Known> {
    let mut known = Known {
        id: id.to_owned(),
        time,
        len,
        root: None,
        title: String::new(),
        messages: 0,
        last: String::new(),
        used: BTreeMap::new(),
        branch: None,
    };
    let mut file = Lines::new(Box::new(fs::File::open(path).ok()?), MAX_LINE);
    while let Some(line) = file.next().ok()? {
        let (lines::Line::Whole(bytes) | lines::Line::Unterminated(bytes)) = line else { continue };
        if let Ok(line) = serde_json::from_slice::<Line<'_>>(bytes) {
            if let (Some(model), Some(used)) = (&line.model, &line.usage) {
                let sum = known.used.entry(model.to_string()).or_default();
                let tokens =
                    [used.input_tokens, used.output_tokens, used.cache_read_tokens, used.cache_write_tokens];
                sum.iter_mut().zip(tokens).for_each(|(sum, tokens)| *sum = sum.saturating_add(tokens));
            }
            match (&*line.r#type, line.role.as_deref(), &line.text) {
                ("meta", ..) => (known.root, known.branch) = (line.root, line.branch),
                // Notes that went along with a prompt, and words into a turn.
                ("message", Some("user"), _) if line.within_turn => {}
                ("message", Some("user"), Some(text)) => {
                    known.messages += 1;
                    if known.title.is_empty() {
                        known.title = title(text);
                    }
                    known.last = cut(&one_line(prefix(text.trim(), 400)), PROMPT);
                }
                ("message", ..) => known.messages += 1,
                _ => {}
            }
        }
    }
    Some(known)
}

/// Returns the first sentence of a prompt, without code and without the folders of paths.
pub fn title(prompt: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    let mut in_code = false;
    'lines: for line in prompt.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
            continue;
        }
        if in_code {
            continue;
        }
        for word in line.split_whitespace() {
            // A bare path says enough with its last part.
            let short = match word.starts_with(['/', '~']) && word.matches('/').count() > 1 {
                true => word.trim_end_matches('/').rsplit('/').next().unwrap_or(word),
                false => word,
            };
            words.push(short);
            if words.len() > 1 && word.ends_with(['.', '?', '!']) {
                break 'lines;
            }
        }
        if !words.is_empty() {
            break;
        }
    }
    let text = words.join(" ");
    let text = one_line(text.trim_end_matches('.')).into_owned();
    if text.is_empty() { "(no words)".to_owned() } else { cut(&text, TITLE) }
}

fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    for c in text.chars() {
        if width(&out) + width(c.encode_utf8(&mut [0; 4])) >= columns {
            break;
        }
        out.push(c);
    }
    out.truncate(out.trim_end().len());
    out.push('…');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles() {
        for (prompt, wanted) in [
            ("fix add() in calc.py", "fix add() in calc.py"),
            ("Fix it. Then run the tests.", "Fix it"),
            ("why does it fail?\nhere is the log", "why does it fail?"),
            ("```\ncode\n```\nexplain this", "explain this"),
            ("look at /home/me/proj/src/main.rs please", "look at main.rs please"),
            ("a.b is fine", "a.b is fine"),
            ("", "(no words)"),
            (
                "please rewrite the whole parser so that it can be tested alone",
                "please rewrite the whole parser so that it can…",
            ),
        ] {
            assert_eq!(title(prompt), wanted, "{prompt}");
        }
    }

    fn put(dir: &Path, id: &str, lines: &str) {
        fs::write(dir.join(format!("{id}.jsonl")), lines).unwrap();
    }

    const META: &str = "{\"type\":\"meta\",\"schema_version\":1,\"root\":\"/p\"}\n";

    fn said(role: &str, text: &str) -> String {
        format!(
            "{{\"type\":\"message\",\"role\":\"{role}\",\"text\":\"{text}\",\"ts\":\"2026-01-01T00:00:00Z\"}}\n"
        )
    }

    fn seen(sessions: &SessionDir) -> Vec<String> {
        let overview = sessions.overview().unwrap();
        overview
            .iter()
            .map(|s| format!("{}: {} ({}, {:?})", s.id, s.title, s.messages, s.last_prompt))
            .collect()
    }

    /// What goes along with a prompt, and what is said into a turn, is no prompt.
    #[test]
    fn notes_are_no_prompts() {
        let dir = tempfile::tempdir().unwrap();
        let note = said("user", "The user ran this command").replace("\"ts\"", "\"within_turn\":true,\"ts\"");
        put(dir.path(), "a", &[META, &said("user", "hi"), &note, &said("assistant", "Hello.")].concat());
        assert_eq!(seen(&SessionDir::new(dir.path())), ["a: hi (2, \"hi\")"]);
    }

    #[test]
    fn tokens_branch_and_holder() {
        let dir = tempfile::tempdir().unwrap();
        let sessions = SessionDir::new(dir.path());
        let reply = |model: &str| {
            format!(
                "{{\"type\":\"message\",\"role\":\"assistant\",\"text\":\"x\",\"model\":\"{model}\",\"usage\":{{\"input_tokens\":5,\
                 \"output_tokens\":2,\"cache_read_tokens\":7}}}}\n"
            )
        };
        put(dir.path(), "a", &[META, &said("user", "hi"), &reply("m"), &reply("m"), &reply("n")].concat());
        let a = SessionId::parse("a").unwrap();
        sessions.set_branch(&a, "main").unwrap();
        let used = |input, output, cache_read| Usage { input, output, cache_read, ..Usage::NOTHING };
        let mut expected = SessionOverview {
            id: a.clone(),
            modified: sessions.list().unwrap()[0].modified,
            root: Some("/p".into()),
            title: "hi".into(),
            messages: 4,
            last_prompt: "hi".into(),
            used: vec![("m".into(), used(10, 4, 14)), ("n".into(), used(5, 2, 7))],
            branch: Some("main".into()),
            open_in: None,
        };
        assert_eq!(sessions.overview().unwrap(), [expected.clone()]);
        // Nobody holds what an ended process left behind.
        fs::write(sessions.lock_file(&a), "1").unwrap();
        assert_eq!(sessions.overview().unwrap(), [expected.clone()]);
        let lock = sessions.lock(&a).unwrap();
        expected.open_in = Some(std::process::id());
        assert_eq!(sessions.overview().unwrap(), [expected]);
        assert_eq!(sessions.trash(&a).unwrap_err().to_string(), sessions.lock(&a).unwrap_err().to_string());
        drop(lock);
        assert_eq!(sessions.trash(&a).unwrap(), Some(dir.path().join("trash/a.jsonl")));
        assert_eq!((seen(&sessions), sessions.trash(&a).unwrap()), (Vec::new(), None));
        put(dir.path(), "a", META);
        assert_eq!(sessions.trash(&a).unwrap(), Some(dir.path().join("trash/a.1.jsonl")), "none is replaced");
    }

    #[test]
    fn the_index_follows_the_files() {
        let dir = tempfile::tempdir().unwrap();
        let sessions = SessionDir::new(dir.path());
        put(
            dir.path(),
            "a",
            &[META, &said("user", "first"), &said("assistant", "One."), "half a li"].concat(),
        );
        put(dir.path(), "empty", META);
        assert_eq!(seen(&sessions), ["a: first (2, \"first\")"]);
        let a = SessionId::parse("a").unwrap();
        sessions.rename(&a, " mine ").unwrap();
        assert_eq!(seen(&sessions), ["a: mine (2, \"first\")"]);
        sessions.rename(&a, "").unwrap();
        assert_eq!(seen(&sessions), ["a: first (2, \"first\")"]);
        let index = dir.path().join(INDEX);
        let before = fs::read_to_string(&index).unwrap();
        assert_eq!(before.lines().count(), 2);
        // A title that only the index knows shows that the file was not read again.
        fs::write(&index, before.replace("first", "cached")).unwrap();
        assert_eq!(seen(&sessions), ["a: cached (2, \"cached\")"]);
        put(dir.path(), "a", &[META, &said("user", "first"), &said("user", "second")].concat());
        assert_eq!(seen(&sessions), ["a: first (2, \"second\")"]);
        fs::write(&index, "no index\n{\"id\":7}\n").unwrap();
        assert_eq!(seen(&sessions), ["a: first (2, \"second\")"]);
        fs::remove_file(dir.path().join("a.jsonl")).unwrap();
        assert_eq!(seen(&sessions), [""; 0]);
        assert_eq!(fs::read_to_string(&index).unwrap().lines().count(), 1);
    }
}
