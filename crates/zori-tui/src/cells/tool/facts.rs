//! The header of a call: a line per kind of tool, and what the result adds to it.

use serde_json::Value;
use zori_core::tool::{ProcessEnd, ToolKind, ToolOutput};

use crate::cells::arguments::Arguments;
use crate::cells::diff::Diff;
use crate::cells::words::{bytes, counted};
use crate::row::{Role, Row, Span};
use crate::wrap::{TAB, expand_tabs, truncate_middle};

/// Columns that a path may take.
const PATH: usize = 60;

/// What a result adds to the header.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Behind what the call asks for: lines, hits, status.
    pub result: String,
    /// At the right: `exit 0`, `timed out`.
    pub end: Option<String>,
    /// Whether a command that ran failed.
    pub failed: bool,
    /// The file with all of what it printed, where that is more than anybody was sent.
    pub file: Option<String>,
}

impl Facts {
    /// Reads them from a result.
    pub fn of(kind: Option<ToolKind>, output: &ToolOutput) -> Self {
        let mut facts = Self::default();
        if let Some(end) = output.process {
            facts.end = Some(process_end(end));
            facts.failed = end.exit_code != 0 || end.timed_out;
        }
        if output.process.is_some() || output.failure.is_none() {
            let data = data(output);
            let named = |name: &str| data.get(name).and_then(Value::as_str).map(str::to_owned);
            facts.file = named("stdout_file").or_else(|| named("stderr_file"));
            if output.failure.is_some() {
                return facts;
            }
            facts.result = kind.and_then(|kind| result(kind, &data)).unwrap_or_default();
        }
        facts
    }

    /// Returns a result that only the pager shows, as lines.
    pub fn listing(&self, kind: Option<ToolKind>, output: &ToolOutput) -> String {
        let data = data(output);
        let strings = |name: &str| {
            data.get(name)
                .and_then(Value::as_array)
                .map(|items| items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n"))
        };
        let found = match kind {
            Some(ToolKind::Glob) => strings("files"),
            Some(ToolKind::Ls) => names(&data),
            Some(ToolKind::Grep) => matches(&data).or_else(|| strings("files")),
            _ => None,
        };
        found.unwrap_or_else(|| output.readable(kind).into_owned())
    }
}

/// Returns what a sub-agent answered.
pub fn answer(output: &ToolOutput) -> String {
    let envelope: Value = serde_json::from_str(output.envelope.get()).unwrap_or_default();
    match envelope["data"]["text"].as_str() {
        Some(text) => text.to_owned(),
        None => output.readable(Some(ToolKind::Task)).into_owned(),
    }
}

/// Returns what a call is about.
pub fn title(
    kind: Option<ToolKind>,
    name: &str,
    remote: Option<&(String, String)>,
    arguments: &Arguments,
    facts: Option<&Facts>,
    diffs: &[Diff],
) -> Row {
    let path = || short_path(arguments.path().unwrap_or("."));
    let mut row = Row::empty();
    match kind {
        Some(ToolKind::Bash) => {
            let command = arguments.command().unwrap_or_default().trim();
            let first = command.lines().next().unwrap_or_default();
            row.push(Span::new("$ ").role(Role::Primary));
            row.push(Span::new(expand_tabs(first, TAB).into_owned()));
            let more = command.lines().count().saturating_sub(1);
            if more > 0 {
                row.push(Span::new(format!("  +{}", counted(more, "line", "lines"))).muted());
            }
            return row;
        }
        Some(
            ToolKind::Write | ToolKind::Edit | ToolKind::MultiEdit | ToolKind::NotebookEdit | ToolKind::Patch,
        ) => changes(&mut row, kind, arguments, diffs),
        Some(ToolKind::Read) => verb(&mut row, "Read", &path()),
        Some(ToolKind::Ls) => verb(&mut row, "List", &path()),
        Some(ToolKind::Grep) => {
            verb(&mut row, "Search", &format!("{:?}", arguments.pattern().unwrap_or_default()));
            place(&mut row, arguments);
        }
        Some(ToolKind::Glob) => {
            verb(&mut row, "Find", &format!("{:?}", arguments.pattern().unwrap_or_default()));
            place(&mut row, arguments);
        }
        Some(ToolKind::Fetch) => {
            let url = arguments.url().unwrap_or_default();
            let bare = url.split_once("://").map_or(url, |(_, rest)| rest);
            verb(&mut row, "Fetch", &truncate_middle(bare, PATH));
        }
        Some(ToolKind::WebSearch) => {
            let query = arguments.text(&["query", "q"]).unwrap_or_default();
            verb(&mut row, "Search the web", &format!("{:?}", truncate_middle(query, PATH)));
        }
        Some(ToolKind::JobOutput) => verb(
            &mut row,
            "Output of",
            arguments.text(&["job_id", "task_id", "bash_id", "id"]).unwrap_or("a job"),
        ),
        Some(ToolKind::JobKill) => {
            verb(&mut row, "End", arguments.text(&["job_id", "shell_id", "id"]).unwrap_or("a job"))
        }
        Some(ToolKind::AskUser) => row.push(Span::new("Question").bold()),
        Some(ToolKind::Todo) => row.push(Span::new("Tasks").bold()),
        Some(ToolKind::Task) => {
            let kind = arguments.text(&["subagent_type", "kind", "agent"]).unwrap_or_default();
            let description = arguments.text(&["description"]).unwrap_or("a task");
            row.push(Span::new("Task").bold());
            let kind = if kind.is_empty() { String::new() } else { format!(" {kind}") };
            row.push(Span::new(format!("{kind}: {}", expand_tabs(description, TAB))));
        }
        None => {
            let name = match remote {
                Some((server, tool)) => format!("{server}.{tool}"),
                None => name.to_owned(),
            };
            row.push(Span::new(name).bold());
            row.push(Span::new(format!(" {}", arguments.pairs()).trim_end().to_owned()));
        }
    }
    if let Some(result) = facts.map(|facts| &facts.result).filter(|result| !result.is_empty()) {
        row.push(Span::new(format!("  {result}")).muted());
    }
    row
}

fn verb(row: &mut Row, verb: &str, what: &str) {
    row.push(Span::new(verb).bold());
    // A patch that names no file is an edit of nothing.
    if !what.is_empty() {
        row.push(Span::new(format!(" {what}")));
    }
}

fn place(row: &mut Row, arguments: &Arguments) {
    if let Some(path) = arguments.path() {
        row.push(Span::new(format!(" in {}", short_path(path))));
    }
}

fn changes(row: &mut Row, kind: Option<ToolKind>, arguments: &Arguments, diffs: &[Diff]) {
    let (added, removed) = diffs.iter().fold((0, 0), |(a, r), diff| (a + diff.added, r + diff.removed));
    match diffs {
        [] => {
            let word = if kind == Some(ToolKind::Write) { "Write" } else { "Edit" };
            let path = match arguments.path() {
                Some(path) => short_path(path),
                None => patched_files(arguments),
            };
            return verb(row, word, &path);
        }
        [diff] => {
            // The model's own spelling of a path is shorter than ours.
            let own = arguments.path().filter(|path| diff.path.ends_with(path.trim_start_matches("./")));
            verb(row, diff.verb, &short_path(own.unwrap_or(&diff.path)));
        }
        several => verb(row, "Edit", &counted(several.len(), "file", "files")),
    }
    if !diffs.iter().any(Diff::is_counted) {
        return;
    }
    row.push(Span::new("  "));
    if added > 0 || removed == 0 {
        row.push(Span::new(format!("+{added}")).role(Role::Success));
    }
    if removed > 0 {
        row.push(Span::new(format!("{}-{removed}", if added > 0 { " " } else { "" })).role(Role::Error));
    }
}

/// Returns the files that a patch names, before it is applied.
fn patched_files(arguments: &Arguments) -> String {
    let patch = arguments.text(&["patch", "input"]).unwrap_or_default();
    let files: Vec<&str> = patch
        .lines()
        .filter_map(|line| line.strip_prefix("*** ")?.split_once(" File: ").map(|(_, path)| path.trim()))
        .collect();
    match files[..] {
        [] => String::new(),
        [file] => short_path(file),
        _ => counted(files.len(), "file", "files"),
    }
}

fn short_path(path: &str) -> String {
    truncate_middle(&expand_tabs(path, TAB), PATH)
}

fn process_end(end: ProcessEnd) -> String {
    match (end.timed_out, end.signal) {
        (true, _) => "timed out".to_owned(),
        (false, Some(signal)) => format!("signal {signal}"),
        (false, None) => format!("exit {}", end.exit_code),
    }
}

fn data(output: &ToolOutput) -> Value {
    let mut envelope: Value = serde_json::from_str(output.envelope.get()).unwrap_or_default();
    envelope.get_mut("data").map(Value::take).unwrap_or_default()
}

fn result(kind: ToolKind, data: &Value) -> Option<String> {
    let number = |name: &str| data.get(name).and_then(Value::as_u64);
    let len = |name: &str| data.get(name).and_then(Value::as_array).map(Vec::len);
    let more = if data.get("truncated") == Some(&Value::Bool(true)) { "+" } else { "" };
    match kind {
        ToolKind::Read => {
            let here = || Some(data.get("content")?.as_str()?.lines().count());
            let of = number("total_lines").map_or_else(String::new, |total| format!(" of {total}"));
            match (number("start_line"), number("end_line")) {
                (Some(start), Some(end)) => Some(format!("{start}-{end}{of}")),
                // The beginning of a file that is too long to be read at once.
                _ if !more.is_empty() => Some(format!("1-{}{of}", here()?)),
                _ => Some(counted(here()?, "line", "lines")),
            }
        }
        ToolKind::Ls => Some(format!("{}{more}", counted(len("entries")?, "entry", "entries"))),
        ToolKind::Glob => Some(format!("{}{more}", counted(len("files")?, "file", "files"))),
        ToolKind::Grep => {
            if let Some(found) = data.get("matches").and_then(Value::as_array) {
                let hits = found.iter().filter(|hit| hit.get("context") != Some(&Value::Bool(true))).count();
                return Some(counted(hits, "hit", "hits") + more);
            }
            if let Some(counts) = data.get("counts").and_then(Value::as_array) {
                let hits: u64 = counts.iter().filter_map(|count| count.get("count")?.as_u64()).sum();
                return Some(counted(usize::try_from(hits).unwrap_or(usize::MAX), "hit", "hits") + more);
            }
            Some(counted(len("files")?, "file", "files") + more)
        }
        ToolKind::Fetch => {
            let size = data.get("content")?.as_str()?.len() as u64;
            Some(format!("{} {}", number("status")?, bytes(size)))
        }
        ToolKind::WebSearch => Some(counted(len("sources")?, "page", "pages")),
        ToolKind::Todo => Some(format!("{} of {} done", number("completed")?, number("total")?)),
        _ => None,
    }
}

fn names(data: &Value) -> Option<String> {
    let entries = data.get("entries")?.as_array()?;
    Some(entries.iter().filter_map(|entry| entry.get("name")?.as_str()).collect::<Vec<_>>().join("\n"))
}

fn matches(data: &Value) -> Option<String> {
    let found = data.get("matches")?.as_array()?;
    let line = |hit: &Value| {
        Some(format!(
            "{}:{}: {}",
            hit.get("path")?.as_str()?,
            hit.get("line")?.as_u64()?,
            hit.get("text")?.as_str()?
        ))
    };
    Some(found.iter().filter_map(line).collect::<Vec<_>>().join("\n"))
}
