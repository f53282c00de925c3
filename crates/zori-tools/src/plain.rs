//! A result as the model reads it: the content itself under one line of facts, and failures as `error CODE: message`
//! (FOR-2). A function of the envelope alone, so that a resumed session sends the same bytes.
//!
//! Dialects that lay results out for clients of their own are in [`crate::dialect::layout`].

pub mod bounded;
pub mod screen;

use std::fmt::Write;
use std::time::Duration;

use serde_json::Value;
use zori_core::tool::ToolKind;

/// Returns the text for the envelope of a tool's result.
pub fn plain(kind: Option<ToolKind>, envelope: &str) -> String {
    let Ok(envelope) = serde_json::from_str::<Value>(envelope) else { return envelope.to_owned() };
    if envelope["ok"] == false {
        let error = &envelope["error"];
        return format!("error {}: {}", text(error, "code"), text(error, "message"));
    }
    let data = &envelope["data"];
    let mut out = match kind {
        _ if data["left_out"].is_string() => text(data, "left_out").to_owned(),
        _ if data["cut"].is_string() => text(data, "cut").to_owned(),
        Some(ToolKind::Read) if data["entries"].is_array() => entries(data),
        Some(ToolKind::Read) => file(data),
        Some(ToolKind::Write) => written(data),
        Some(ToolKind::Edit | ToolKind::MultiEdit) => edited(data),
        Some(ToolKind::NotebookEdit) => celled(data),
        Some(ToolKind::Patch) => patched(data),
        Some(ToolKind::Bash | ToolKind::JobOutput | ToolKind::JobKill) => command(data),
        Some(ToolKind::Glob) => listed(data, "files", "no files found"),
        Some(ToolKind::Grep) => matches(data),
        Some(ToolKind::Ls) => entries(data),
        Some(ToolKind::Fetch) => page(data),
        Some(ToolKind::WebSearch) => searched(data),
        Some(ToolKind::Todo) => {
            format!("the task list has {} tasks, {} of them completed", data["total"], data["completed"])
        }
        Some(ToolKind::Task) => report(data),
        Some(ToolKind::AskUser) => answers(data),
        None => foreign(data),
    };
    for field in ["note", "mended"] {
        if let Some(note) = data[field].as_str() {
            push_line(&mut out, format_args!("note: {note}"));
        }
    }
    out
}

fn file(data: &Value) -> String {
    let path = text(data, "path");
    if let Some(kind) = data["image"].as_str() {
        return format!("{path}: a {kind} image of {}x{} pixels", data["width"], data["height"]);
    }
    if let Some(kind) = data["document"].as_str() {
        return format!("{path}: a {kind} document of {} bytes", data["bytes"]);
    }
    let content = text(data, "content");
    let mut out = String::with_capacity(content.len() + path.len() + 64);
    let lines = content.lines().count() as u64;
    out.push_str(path);
    match data["start_line"].as_u64() {
        Some(first) if lines > 0 => {
            let last = data["end_line"].as_u64().unwrap_or(first);
            push(&mut out, format_args!(" (lines {first}-{last}"));
        }
        _ => push(&mut out, format_args!(" ({lines} {}", if lines == 1 { "line" } else { "lines" })),
    }
    let encoding = text(data, "encoding");
    if !encoding.is_empty() {
        push(&mut out, format_args!(", {encoding}"));
    }
    if data["truncated"] == true {
        // The last line may have been cut, so a start without a page goes on with it.
        let next = data["next_offset"].as_u64().unwrap_or(lines.max(1));
        push(&mut out, format_args!(" of {} bytes; more from offset {next}", data["bytes"]));
    } else if !content.is_empty() && !content.ends_with('\n') {
        out.push_str(", no newline at the end");
    }
    out.push(')');
    if !content.is_empty() {
        out.push('\n');
        out.push_str(content);
    }
    out
}

fn written(data: &Value) -> String {
    let verb = if data["created"] == true { "created" } else { "wrote" };
    format!("{verb} {} ({} bytes)", text(data, "path"), data["bytes"])
}

fn edited(data: &Value) -> String {
    let count = data["replacements"].as_u64().unwrap_or(0);
    let places = if count == 1 { "place" } else { "places" };
    let mut out = format!("replaced {count} {places} in {}", text(data, "path"));
    echo(&mut out, data);
    out
}

fn answers(data: &Value) -> String {
    let mut out = String::new();
    let said = list(data, "answers");
    for answer in said {
        // One answer needs no question beside it.
        if said.len() > 1 {
            push_line(&mut out, format_args!("{}", text(answer, "question")));
        }
        push_line(&mut out, format_args!("the user: {}", answer["answer"].as_str().unwrap_or("(no answer)")));
    }
    out
}

/// What a search found, and the pages it names.
pub(crate) fn searched(data: &Value) -> String {
    let mut out = text(data, "text").to_owned();
    if data["truncated"] == true {
        push_line(&mut out, format_args!("[cut here]"));
    }
    for (n, source) in (1..).zip(list(data, "sources")) {
        if n == 1 {
            push_line(&mut out, format_args!("Sources:"));
        }
        let (url, title): (&str, &str) = (text(source, "url"), text(source, "title"));
        match title {
            "" => push_line(&mut out, format_args!("{n}. {url}")),
            title => push_line(&mut out, format_args!("{n}. {title}: {url}")),
        }
    }
    out
}

fn celled(data: &Value) -> String {
    let done = match text(data, "mode") {
        "insert" => "inserted",
        "delete" => "deleted",
        _ => "replaced",
    };
    let id = data["cell_id"].as_str().map_or_else(String::new, |id| format!("id {id}, "));
    let (cells, cell) = (&data["cells"], &data["cell"]);
    format!(
        "{done} cell {cell} ({id}{}) in {}, which has {cells} {} now",
        text(data, "cell_type"),
        text(data, "path"),
        if cells == 1 { "cell" } else { "cells" }
    )
}

fn patched(data: &Value) -> String {
    let mut out = String::new();
    for file in list(data, "files") {
        push_line(&mut out, format_args!("{} {}", text(file, "action"), text(file, "path")));
    }
    echo(&mut out, data);
    out
}

/// The changed lines, which a tolerant match shows.
fn echo(out: &mut String, data: &Value) {
    if let Some(lines) = data["now"].as_str() {
        push_line(out, format_args!("{lines}"));
    }
}

fn command(data: &Value) -> String {
    let (stdout, stderr) = (screen::shown(text(data, "stdout")), screen::shown(text(data, "stderr")));
    let (for_stdout, for_stderr) = bounded::shares(stdout.len(), stderr.len());
    let stdout = bounded::cut(stdout, for_stdout, text(data, "stdout_file"));
    let stderr = bounded::cut(stderr, for_stderr, text(data, "stderr_file"));
    let mut out = String::with_capacity(stdout.len() + stderr.len() + 64);
    match data["exit_code"].as_i64() {
        _ if data["job_id"].is_string() => {
            push(&mut out, format_args!("job {} {}", text(data, "job_id"), text(data, "status")));
            if let Some(code) = data["exit_code"].as_i64() {
                push(&mut out, format_args!(", exit {code}"));
            }
            if let Some(file) = data["output_file"].as_str() {
                push(&mut out, format_args!(", output in {file}"));
            }
        }
        Some(0) | None => {}
        Some(-1) if data["timed_out"] == true => out.push_str("timed out"),
        Some(-1) => out.push_str("killed by a signal"),
        Some(code) => push(&mut out, format_args!("exit {code}")),
    }
    if let Some(parts) = data["pipeline"].as_str() {
        let gap = if out.is_empty() { "" } else { ", " };
        push(&mut out, format_args!("{gap}exit codes of the pipeline: {parts}"));
    }
    if let Some(millis) = data["duration_ms"].as_u64() {
        let end = if out.is_empty() { "exit 0" } else { "" };
        push(&mut out, format_args!("{end} after {:.1} s", Duration::from_millis(millis).as_secs_f64()));
    }
    let stdout = stdout.trim_end_matches('\n');
    if !stdout.is_empty() {
        push_line(&mut out, format_args!("{stdout}"));
    }
    let stderr = stderr.trim_end_matches('\n');
    if !stderr.is_empty() {
        push_line(&mut out, format_args!("stderr:\n{stderr}"));
    }
    if stdout.is_empty() && stderr.is_empty() {
        push_line(&mut out, format_args!("(no output)"));
    }
    out
}

fn listed(data: &Value, field: &str, nothing: &str) -> String {
    let mut out = String::new();
    for item in list(data, field) {
        push_line(&mut out, format_args!("{}", item.as_str().unwrap_or_default()));
    }
    ended(data, out, nothing)
}

fn entries(data: &Value) -> String {
    let mut out = String::new();
    for entry in list(data, "entries") {
        let name = text(entry, "name");
        match (&entry["size"], entry["target"].as_str()) {
            (_, Some(target)) => push_line(&mut out, format_args!("{name} -> {target}")),
            (Value::Number(size), None) => push_line(&mut out, format_args!("{name}\t{size}")),
            _ => push_line(&mut out, format_args!("{name}")),
        }
    }
    ended(data, out, "the directory is empty")
}

fn matches(data: &Value) -> String {
    let mut out = String::new();
    for found in list(data, "matches") {
        let (path, line, found_text) = (text(found, "path"), &found["line"], text(found, "text"));
        match found["context"] == true {
            true => push_line(&mut out, format_args!("{path}-{line}-{found_text}")),
            false => push_line(&mut out, format_args!("{path}:{line}:{found_text}")),
        }
    }
    for file in list(data, "files") {
        push_line(&mut out, format_args!("{}", file.as_str().unwrap_or_default()));
    }
    for count in list(data, "counts") {
        push_line(&mut out, format_args!("{}:{}", text(count, "path"), count["count"]));
    }
    let mut out = ended(data, out, "no matches");
    if let Some(files) = data["unsearched"].as_u64() {
        push_line(&mut out, format_args!("{files} files could not be searched"));
    }
    if let Some(files) = data["withheld"].as_u64() {
        push_line(&mut out, format_args!("{files} files were left out: permissions keep them back"));
    }
    out
}

fn page(data: &Value) -> String {
    let (url, status, kind) = (text(data, "url"), &data["status"], text(data, "content_type"));
    let mut out = format!("{url} ({status}, {kind})");
    push_line(&mut out, format_args!("{}", text(data, "content")));
    if data["truncated"] == true {
        push_line(&mut out, format_args!("(the page is longer)"));
    }
    out
}

fn report(data: &Value) -> String {
    let mut out = text(data, "text").to_owned();
    if data["truncated"] == true {
        push_line(&mut out, format_args!("(cut; the report has {} bytes)", data["bytes"]));
    }
    out
}

/// A tool that is not ours: its text, or its data as it is.
fn foreign(data: &Value) -> String {
    let only = |field: &str| data.as_object().filter(|data| data.len() == 1).and_then(|data| data.get(field));
    match data {
        Value::String(text) => text.clone(),
        _ => match only("text").or_else(|| only("content")) {
            Some(Value::String(text)) => text.clone(),
            _ => data.to_string(),
        },
    }
}

/// Says that there is nothing, or that there is more.
fn ended(data: &Value, mut out: String, nothing: &str) -> String {
    if out.is_empty() {
        push(&mut out, format_args!("({nothing})"));
    }
    match data["total"].as_u64() {
        _ if data["truncated"] != true => {}
        Some(total) => push_line(&mut out, format_args!("(cut; there are {total}: narrow it down)")),
        None => push_line(&mut out, format_args!("(there is more; narrow it down)")),
    }
    out
}

/// Adds a line; the newline is between lines, not after them.
fn push_line(out: &mut String, line: std::fmt::Arguments) {
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    push(out, line);
}

fn push(out: &mut String, text: std::fmt::Arguments) {
    out.write_fmt(text).expect("writing to a string cannot fail");
}

fn text<'a>(data: &'a Value, field: &str) -> &'a str {
    data[field].as_str().unwrap_or_default()
}

fn list<'a>(data: &'a Value, field: &str) -> &'a [Value] {
    data[field].as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests;
