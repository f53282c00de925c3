//! `tool_use_result`: a result in a form that user interfaces draw, one shape for each tool that has one. Shapes that
//! the contract does not give are those of the TypeScript SDK's own types.

use std::borrow::Cow;

use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};
use zori_core::event::ToolFinished;
use zori_core::tool::{FileChange, Todo, ToolKind};
use zori_redact::Redactor;

use super::tasks::Report;
use crate::claude::tally::Call;
use crate::claude::wire::CallUsage;

/// Texts longer than this are not compared: nobody looks at such a patch, and everybody would wait for it.
const MOST_COMPARED: usize = 256 << 10;
/// How many unchanged lines surround each change.
const CONTEXT: usize = 3;

/// What is known of a call beside its result.
pub(super) struct Known<'a> {
    /// The call, with the input that ran.
    pub(super) call: Option<&'a Call>,
    pub(super) todos: &'a [Todo],
    /// What the sub-agent did that it started.
    pub(super) report: Option<&'a Report>,
}

/// Returns the structured form of a successful result, if its tool has one. `text` is what the model reads.
pub(super) fn structured(
    done: &ToolFinished,
    text: &str,
    known: &Known<'_>,
    redactor: &Redactor,
) -> Option<Value> {
    let envelope: Value = serde_json::from_str(done.output.envelope.get()).unwrap_or_default();
    let data = &envelope["data"];
    let input: Value =
        known.call.and_then(|call| serde_json::from_str(call.input.get()).ok()).unwrap_or_default();
    let took = done.duration.map_or(0, |took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
    if let (Some(ToolKind::Read), [image]) = (done.kind, &done.output.images[..]) {
        if image.format().is_document() {
            let file = json!({
                "filePath": data["path"], "base64": image.base64(), "originalSize": image.bytes().len(),
            });
            return Some(json!({"type": "pdf", "file": file}));
        }
        let size = json!({"originalWidth": image.width(), "originalHeight": image.height()});
        let file = json!({
            "base64": image.base64(),
            "type": image.format().media_type(),
            "originalSize": image.bytes().len(),
            "dimensions": size,
        });
        return Some(json!({"type": "image", "file": file}));
    }
    let mut value = match done.kind? {
        ToolKind::Bash => {
            let mut ran = json!({
                "stdout": data["stdout"].as_str().unwrap_or_default(),
                "stderr": data["stderr"].as_str().unwrap_or_default(),
                "interrupted": done.output.process.is_some_and(|end| end.timed_out),
                "isImage": false,
            });
            if let Some(job) = data["job_id"].as_str() {
                ran["backgroundTaskId"] = job.into();
            }
            ran
        }
        ToolKind::Read => page(data),
        ToolKind::Write => written(done.output.changes.first(), data, &input),
        ToolKind::Edit => {
            let mut edited = changed(done.output.changes.first(), data, known);
            edited["oldString"] = input["old_string"].clone();
            edited["newString"] = input["new_string"].clone();
            edited["replaceAll"] = (input["replace_all"] == true).into();
            edited
        }
        ToolKind::MultiEdit => {
            let mut edited = changed(done.output.changes.first(), data, known);
            edited["edits"] = input["edits"].clone();
            edited
        }
        ToolKind::NotebookEdit => {
            let change = done.output.changes.first();
            json!({
                "notebook_path": data["path"],
                "cell_id": data["cell_id"],
                "cell_type": data["cell_type"],
                "language": data["language"].as_str().unwrap_or("python"),
                "edit_mode": data["mode"],
                "new_source": input["new_source"].as_str().unwrap_or_default(),
                "original_file": change.and_then(|change| change.before.as_deref()).unwrap_or_default(),
                "updated_file": change.and_then(|change| change.after.as_deref()).unwrap_or_default(),
            })
        }
        ToolKind::Glob => json!({
            "filenames": data["files"],
            "numFiles": data["files"].as_array().map_or(0, Vec::len),
            "truncated": data["truncated"],
            "totalMatches": data["total"],
            "durationMs": took,
        }),
        ToolKind::Grep => found(data, text),
        ToolKind::Fetch => json!({
            "url": data["url"],
            "code": data["status"],
            "codeText": if data["status"] == 200 { "OK" } else { "" },
            "bytes": data["content"].as_str().map_or(0, str::len),
            "result": data["content"],
            "durationMs": took,
        }),
        ToolKind::WebSearch => json!({
            "query": data["query"],
            "results": [{ "content": data["sources"] }, data["text"]],
            "durationSeconds": took / 1000,
        }),
        ToolKind::Todo => json!({
            "oldTodos": listed(known.todos, &Value::Null),
            "newTodos": listed(done.output.todos.as_deref().unwrap_or_default(), &input["todos"]),
        }),
        ToolKind::AskUser => {
            let said = data["answers"].as_array().map_or(&[][..], Vec::as_slice);
            let pair = |said: &Value| Some((said["question"].as_str()?.to_owned(), said["answer"].clone()));
            let answers: serde_json::Map<String, Value> = said.iter().filter_map(pair).collect();
            json!({ "questions": input["questions"], "answers": answers })
        }
        ToolKind::Task => handed_on(known.report?, data, &input, took),
        ToolKind::Ls | ToolKind::Patch | ToolKind::JobOutput | ToolKind::JobKill => return None,
    };
    redact(&mut value, redactor);
    Some(value)
}

/// Removes secrets from every string.
fn redact(value: &mut Value, redactor: &Redactor) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(clean) = redactor.redact(text) {
                *text = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redact(item, redactor)),
        Value::Object(map) => map.values_mut().for_each(|item| redact(item, redactor)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A page of a file. How many lines there are behind it is not known; then one more is counted.
fn page(data: &Value) -> Value {
    let content = data["content"].as_str().unwrap_or_default();
    let first = data["start_line"].as_u64().unwrap_or(1);
    let lines = content.lines().count() as u64;
    let more = u64::from(data["truncated"] == true);
    json!({"type": "text", "file": {
        "filePath": data["path"],
        "content": content,
        "numLines": lines,
        "startLine": first,
        "totalLines": first - 1 + lines + more,
    }})
}

fn written(change: Option<&FileChange>, data: &Value, input: &Value) -> Value {
    json!({
        "type": if data["created"] == true { "create" } else { "update" },
        "filePath": data["path"],
        "content": input["content"],
        "structuredPatch": change.map(patch).unwrap_or_default(),
        "originalFile": change.and_then(|change| change.before.as_deref()),
    })
}

/// What all edits of a file have.
fn changed(change: Option<&FileChange>, data: &Value, known: &Known<'_>) -> Value {
    json!({
        "filePath": data["path"],
        "originalFile": change.and_then(|change| change.before.as_deref()),
        "structuredPatch": change.map(patch).unwrap_or_default(),
        "userModified": known.call.is_some_and(|call| call.changed),
    })
}

/// The changed lines of a file, in hunks. A file that is new has none.
fn patch(change: &FileChange) -> Vec<Value> {
    let (Some(before), Some(after)) = (change.before.as_deref(), change.after.as_deref()) else {
        return Vec::new();
    };
    if before.len().max(after.len()) > MOST_COMPARED {
        return Vec::new();
    }
    let diff = TextDiff::from_lines(before, after);
    let hunks = diff.unified_diff().context_radius(CONTEXT).iter_hunks().map(|hunk| {
        let ops = hunk.ops();
        let old = ops.iter().map(|op| op.old_range().len()).sum::<usize>();
        let new = ops.iter().map(|op| op.new_range().len()).sum::<usize>();
        let lines: Vec<String> = hunk
            .iter_changes()
            .map(|line| {
                let sign = match line.tag() {
                    ChangeTag::Equal => ' ',
                    ChangeTag::Delete => '-',
                    ChangeTag::Insert => '+',
                };
                format!("{sign}{}", line.value().trim_end_matches(['\n', '\r']))
            })
            .collect();
        // Lines count from 1; a side without lines names the line before.
        let start = |first: Option<usize>, len: usize| first.unwrap_or(0) + usize::from(len > 0);
        json!({
            "oldStart": start(ops.first().map(|op| op.old_range().start), old),
            "oldLines": old,
            "newStart": start(ops.first().map(|op| op.new_range().start), new),
            "newLines": new,
            "lines": lines,
        })
    });
    hunks.collect()
}

/// The result of a search, by its output mode.
fn found(data: &Value, text: &str) -> Value {
    let names = |list: &Value| -> Vec<Value> {
        let mut names: Vec<Value> =
            list.as_array().into_iter().flatten().map(|item| item["path"].clone()).collect();
        names.dedup();
        names
    };
    if let Some(files) = data["files"].as_array() {
        return json!({"mode": "files_with_matches", "filenames": files, "numFiles": files.len()});
    }
    if let Some(counts) = data["counts"].as_array() {
        let filenames = names(&data["counts"]);
        let all: u64 = counts.iter().filter_map(|item| item["count"].as_u64()).sum();
        return json!({
            "mode": "count",
            "numFiles": filenames.len(),
            "filenames": filenames,
            "content": text,
            "numMatches": all,
        });
    }
    let filenames = names(&data["matches"]);
    json!({
        "mode": "content",
        "numFiles": filenames.len(),
        "filenames": filenames,
        "content": text,
        "numLines": data["matches"].as_array().map_or(0, Vec::len),
    })
}

/// A task list. What an item is called while it is done is in the call's input only.
fn listed(todos: &[Todo], input: &Value) -> Vec<Value> {
    let items = todos.iter().enumerate().map(|(at, todo)| {
        let doing = input[at]["activeForm"].as_str().unwrap_or(&todo.content);
        json!({"content": todo.content, "status": todo.status.as_str(), "activeForm": doing})
    });
    items.collect()
}

fn handed_on(report: &Report, data: &Value, input: &Value, took: u64) -> Value {
    json!({
        "status": "completed",
        "agentId": report.id,
        "prompt": input["prompt"],
        "content": [{"type": "text", "text": data["text"]}],
        "totalToolUseCount": report.tools,
        "totalDurationMs": took,
        "totalTokens": report.usage.total(),
        "usage": CallUsage::from(report.usage),
    })
}
