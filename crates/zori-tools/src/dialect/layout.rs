//! How results are laid out as plain text, for dialects whose clients do not read the envelope.
//!
//! A layout fills in the text and leaves the rest of the result alone; the one exception says so.

use std::fmt::Write;

use serde::Deserialize;
use serde_json::{Map, Value};
use zori_core::tool::{ToolCode, ToolOutput};

use crate::context::is_sensitive;

/// Lays a result out. The arguments are those the model wrote.
pub type Layout = fn(&Map<String, Value>, ToolOutput) -> ToolOutput;

/// Lines with their numbers.
pub fn numbered(_: &Map<String, Value>, output: ToolOutput) -> ToolOutput {
    filled(output, |data| {
        if let Some(image) = picture(data) {
            return image;
        }
        let content = text_of(data, "content");
        let first = data["start_line"].as_u64().unwrap_or(1);
        let mut out = String::with_capacity(content.len() + content.len() / 8);
        let mut number = first;
        for line in content.lines() {
            push_line(&mut out, format_args!("{number}\t{line}"));
            number += 1;
        }
        if content.is_empty() {
            out.push_str("(the file is empty)");
        }
        if data["truncated"] == true {
            // The last line may have been cut, so a start without a page goes on with it.
            let next = data["next_offset"].as_u64().unwrap_or((number - 1).max(first));
            let bytes = &data["bytes"];
            push_line(
                &mut out,
                format_args!("[cut here: the file has {bytes} bytes; go on with offset {next}]"),
            );
        }
        out
    })
}

/// The file's text as it is.
pub fn text(asked: &Map<String, Value>, output: ToolOutput) -> ToolOutput {
    filled(output, |data| {
        if let Some(image) = picture(data) {
            return image;
        }
        // Lines after those that were asked for are not missing.
        let wanted = asked.get("end_line").and_then(crate::args::int);
        let complete = wanted.is_some_and(|wanted| data["end_line"].as_i64() >= Some(wanted));
        let mark = if data["truncated"] == true && !complete { "... [truncated]" } else { "" };
        format!("{}{mark}", text_of(data, "content"))
    })
}

/// A sentence about an image that was read; the image itself is beside it.
fn picture(data: &Value) -> Option<String> {
    if let Some(kind) = data["document"].as_str() {
        return Some(format!("The {kind} document {}, {} bytes", text_of(data, "path"), data["bytes"]));
    }
    let kind = data["image"].as_str()?;
    Some(format!("The {kind} image {}, {}x{} pixels", text_of(data, "path"), data["width"], data["height"]))
}

/// A sentence about a written file.
pub fn written(_: &Map<String, Value>, output: ToolOutput) -> ToolOutput {
    filled(output, |data| {
        let verb = if data["created"] == true { "Created" } else { "Wrote" };
        format!("{verb} {} ({} bytes)", text_of(data, "path"), data["bytes"])
    })
}

/// A sentence about replaced text.
pub fn replaced(_: &Map<String, Value>, output: ToolOutput) -> ToolOutput {
    filled(output, |data| {
        let count = data["replacements"].as_u64().unwrap_or(0);
        let noun = if count == 1 { "occurrence" } else { "occurrences" };
        with_note(data, format!("Replaced {count} {noun} in {}", text_of(data, "path")))
    })
}

/// A sentence about a cell of a notebook.
pub fn celled(_: &Map<String, Value>, output: ToolOutput) -> ToolOutput {
    filled(output, |data| {
        let done = match text_of(data, "mode") {
            "insert" => "Inserted",
            "delete" => "Deleted",
            _ => "Updated",
        };
        let cell = data["cell_id"].as_str().map_or_else(|| format!("cell-{}", data["cell"]), str::to_owned);
        with_note(data, format!("{done} cell {cell} in {}", text_of(data, "path")))
    })
}

/// What the user answered.
pub fn answers(_: &Map<String, Value>, output: ToolOutput) -> ToolOutput {
    filled(output, |data| {
        let mut out = "The user answered:".to_owned();
        for said in list(data, "answers") {
            let answer = said["answer"].as_str().unwrap_or("(no answer)");
            push_line(&mut out, format_args!("\"{}\" = \"{answer}\"", text_of(said, "question")));
        }
        out
    })
}

/// As [`replaced`]; but text that does not occur is a success here, with nothing replaced.
pub fn replaced_or_not(asked: &Map<String, Value>, output: ToolOutput) -> ToolOutput {
    match &output.failure {
        Some(failure) if failure.code == ToolCode::OldNotFound => {
            let path = asked.get("path").cloned().unwrap_or_default();
            let data = serde_json::json!({ "changed": false, "path": path, "replacements": 0 });
            let mut nothing = ToolOutput::success(&data.to_string());
            nothing.text = Some(format!("Nothing was replaced: {}", failure.message).into());
            nothing
        }
        _ => replaced(asked, output),
    }
}

/// One line for each file of a patch.
pub fn patched(_: &Map<String, Value>, output: ToolOutput) -> ToolOutput {
    filled(output, |data| {
        let mut out = String::new();
        for file in list(data, "files") {
            push_line(&mut out, format_args!("{} {}", text_of(file, "action"), text_of(file, "path")));
        }
        with_note(data, out)
    })
}

/// What a command printed, both streams, and its exit code where it is not 0.
pub fn output(_: &Map<String, Value>, output: ToolOutput) -> ToolOutput {
    filled(output, |data| {
        let mut out = streams(data);
        if let Some(job) = data["job_id"].as_str() {
            push_line(
                &mut out,
                format_args!(
                    "Command running in background with ID: {job}. Read its output with TaskOutput, end it with KillShell."
                ),
            );
            return out;
        }
        match data["exit_code"].as_i64() {
            Some(0) => {}
            Some(-1) if data["timed_out"] == true => {}
            Some(-1) => push_line(&mut out, format_args!("(killed by a signal)")),
            Some(code) => push_line(&mut out, format_args!("Exit code {code}")),
            None => {}
        }
        if out.is_empty() {
            out.push_str("(Bash completed with no output)");
        }
        with_note(data, out)
    })
}

/// What a background job printed since the last call, and its state.
pub fn job(_: &Map<String, Value>, output: ToolOutput) -> ToolOutput {
    filled(output, |data| {
        let mut out = streams(data);
        let (id, status) = (text_of(data, "job_id"), text_of(data, "status"));
        match (data["exit_code"].as_i64(), data["signal"].as_i64()) {
            (_, Some(signal)) => push_line(&mut out, format_args!("({id}: {status} by signal {signal})")),
            (Some(code), None) => push_line(&mut out, format_args!("({id}: {status} with code {code})")),
            (None, None) => push_line(&mut out, format_args!("({id}: {status})")),
        }
        out
    })
}

/// Both streams of a command, one after the other.
fn streams(data: &Value) -> String {
    let mut out = String::new();
    for stream in ["stdout", "stderr"] {
        let text = text_of(data, stream).trim_end_matches('\n');
        if !text.is_empty() {
            push_line(&mut out, format_args!("{text}"));
        }
    }
    out
}

/// One file name a line.
pub fn files(_: &Map<String, Value>, output: ToolOutput) -> ToolOutput {
    filled(output, |data| {
        let mut out = String::new();
        for file in list(data, "files") {
            push_line(&mut out, format_args!("{}", file.as_str().unwrap_or_default()));
        }
        ended(data, out, "No files found")
    })
}

/// One entry of a directory a line.
pub fn entries(_: &Map<String, Value>, output: ToolOutput) -> ToolOutput {
    filled(output, |data| {
        let mut out = String::new();
        for entry in list(data, "entries") {
            push_line(&mut out, format_args!("{}", text_of(entry, "name")));
        }
        ended(data, out, "(the directory is empty)")
    })
}

/// The files below a directory, with their sizes unless the call said no to them.
pub fn sizes(asked: &Map<String, Value>, output: ToolOutput) -> ToolOutput {
    let with_sizes = asked.get("include_sizes").and_then(crate::args::flag).unwrap_or(true);
    filled(output, |data| {
        let folder = match text_of(data, "path") {
            "" | "." => String::new(),
            folder => format!("{}/", folder.trim_end_matches('/')),
        };
        let mut out = String::new();
        for entry in list(data, "entries") {
            let name = text_of(entry, "name");
            match &entry["size"] {
                _ if name.ends_with('/') => {}
                // Of what may hold secrets only the name is told (RD-8).
                Value::Number(size) if with_sizes && !is_sensitive(name, &[]) => {
                    push_line(&mut out, format_args!("{folder}{name} ({size}B)"));
                }
                _ => push_line(&mut out, format_args!("{folder}{name}")),
            }
        }
        ended(data, out, "(no files)")
    })
}

/// What a search found, as `path:line:text`, or names, or counts.
pub fn matches(_: &Map<String, Value>, output: ToolOutput) -> ToolOutput {
    filled(output, |data| ended(data, found(data, ":"), "No matches found"))
}

/// What a search found, as `path:line: text`.
pub fn found_lines(_: &Map<String, Value>, output: ToolOutput) -> ToolOutput {
    filled(output, |data| {
        let mut out = ended(data, found(data, ": "), "(no matches)");
        if data["more_files"] == true {
            let searched = &data["files_searched"];
            push_line(
                &mut out,
                format_args!(
                    "(only the first {searched} files were searched; narrow `path` or raise `max_files`)"
                ),
            );
        }
        if let Some(count) = data["withheld"].as_u64() {
            push_line(
                &mut out,
                format_args!(
                    "({count} files were not searched: they may hold secrets, or a rule keeps them back)"
                ),
            );
        }
        if let Some(count) = data["too_long"].as_u64() {
            push_line(
                &mut out,
                format_args!(
                    "({count} longer files were not searched; `max_file_bytes` says how long they may be)"
                ),
            );
        }
        out
    })
}

/// The text of a web page.
pub fn page(_: &Map<String, Value>, output: ToolOutput) -> ToolOutput {
    filled(output, |data| ended(data, text_of(data, "content").to_owned(), "(the page is empty)"))
}

/// What the pages say, and which they are.
pub fn found_pages(_: &Map<String, Value>, output: ToolOutput) -> ToolOutput {
    filled(output, |data| with_note(data, crate::plain::searched(data)))
}

/// A sentence about the task list.
pub fn todos(_: &Map<String, Value>, output: ToolOutput) -> ToolOutput {
    filled(output, |data| {
        format!("The task list has {} tasks, {} of them completed", data["total"], data["completed"])
    })
}

/// What a sub-agent reports.
pub fn report(_: &Map<String, Value>, output: ToolOutput) -> ToolOutput {
    filled(output, |data| {
        let mut out = text_of(data, "text").to_owned();
        if data["truncated"] == true {
            push_line(&mut out, format_args!("[cut here: the report has {} bytes]", data["bytes"]));
        }
        with_note(data, out)
    })
}

fn found(data: &Value, before_text: &str) -> String {
    let mut out = String::new();
    for found in list(data, "matches") {
        let (path, line, text) = (text_of(found, "path"), &found["line"], text_of(found, "text"));
        match found["context"] == true {
            true => push_line(&mut out, format_args!("{path}-{line}-{text}")),
            false => push_line(&mut out, format_args!("{path}:{line}{before_text}{text}")),
        }
    }
    for file in list(data, "files") {
        push_line(&mut out, format_args!("{}", file.as_str().unwrap_or_default()));
    }
    for count in list(data, "counts") {
        push_line(&mut out, format_args!("{}:{}", text_of(count, "path"), count["count"]));
    }
    out
}

/// Fills in the text: of a failure its message, of a success what `lay_out` makes of the data.
fn filled(mut output: ToolOutput, lay_out: impl FnOnce(&Value) -> String) -> ToolOutput {
    #[derive(Deserialize)]
    struct Envelope {
        data: Option<Value>,
    }

    let text = match &output.failure {
        Some(failure) => failure.message.clone(),
        None => {
            let envelope: Envelope =
                serde_json::from_str(output.envelope.get()).expect("an envelope is JSON");
            let data = envelope.data.unwrap_or_default();
            let mut text = lay_out(&data);
            if let Some(mended) = data["mended"].as_str() {
                push_line(&mut text, format_args!("Note: {mended}"));
            }
            text
        }
    };
    output.text = Some(text.into());
    output
}

/// Says that there is nothing, or that there is more.
fn ended(data: &Value, mut out: String, nothing: &str) -> String {
    if out.is_empty() {
        out.push_str(nothing);
    }
    if data["truncated"] == true {
        push_line(&mut out, format_args!("(there is more; narrow it down)"));
    }
    out
}

fn with_note(data: &Value, mut out: String) -> String {
    if let Some(note) = data["note"].as_str() {
        push_line(&mut out, format_args!("Note: {note}"));
    }
    out
}

/// Adds a line; the newline is between lines, not after them.
fn push_line(out: &mut String, line: std::fmt::Arguments) {
    if !out.is_empty() {
        out.push('\n');
    }
    out.write_fmt(line).expect("writing to a string cannot fail");
}

fn text_of<'a>(data: &'a Value, field: &str) -> &'a str {
    data[field].as_str().unwrap_or_default()
}

fn list<'a>(data: &'a Value, field: &str) -> &'a [Value] {
    data[field].as_array().map_or(&[], Vec::as_slice)
}
