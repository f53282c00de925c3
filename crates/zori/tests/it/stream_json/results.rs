//! `tool_use_result`: what user interfaces draw, for each tool that has a form of it.

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::reply::Reply;
use zori_testkit::server::ModelServer;

use super::{args, lines, user};
use crate::world::with_model;

/// What came of one call that may run.
fn drawn(tool: &str, input: Value) -> Value {
    let (world, _model) = with_model([anthropic::tool_use("1", tool, input), anthropic::text("ok")]);
    world.write("a.txt", "one\ntwo\nthree\n");
    world.write("b/c.txt", "two\n");
    let output = world.run_with_stdin(&args(&["--dangerously-skip-permissions"]), user("go"));
    let found = lines(&output.stdout()).into_iter().find(|line| line["type"] == "user");
    let mut drawn = found.unwrap_or_else(|| panic!("{output}"))["tool_use_result"].clone();
    if drawn["durationMs"].is_u64() {
        drawn["durationMs"] = json!(0);
    }
    drawn
}

#[test]
fn files() {
    assert_eq!(
        drawn("Read", json!({"file_path": "a.txt"})),
        json!({"type": "text", "file": {
            "filePath": "$WORK/a.txt", "content": "one\ntwo\nthree\n", "numLines": 3, "startLine": 1, "totalLines": 3,
        }})
    );
    assert_eq!(
        drawn("Read", json!({"file_path": "a.txt", "offset": 2, "limit": 1})),
        json!({"type": "text", "file": {
            "filePath": "$WORK/a.txt", "content": "two\n", "numLines": 1, "startLine": 2, "totalLines": 3,
        }})
    );
    assert_eq!(
        drawn("Write", json!({"file_path": "new.txt", "content": "x\n"})),
        json!({
            "type": "create", "filePath": "$WORK/new.txt", "content": "x\n", "structuredPatch": [], "originalFile": null,
        })
    );
    let patch = |lines: &[&str], new: u64| json!([{"oldStart": 1, "oldLines": 3, "newStart": 1, "newLines": new, "lines": lines}]);
    assert_eq!(
        drawn("Write", json!({"file_path": "a.txt", "content": "one\n"})),
        json!({
            "type": "update", "filePath": "$WORK/a.txt", "content": "one\n", "originalFile": "one\ntwo\nthree\n",
            "structuredPatch": patch(&[" one", "-two", "-three"], 1),
        })
    );
    assert_eq!(
        drawn("Edit", json!({"file_path": "a.txt", "old_string": "two", "new_string": "2"})),
        json!({
            "filePath": "$WORK/a.txt", "oldString": "two", "newString": "2", "originalFile": "one\ntwo\nthree\n",
            "structuredPatch": patch(&[" one", "-two", "+2", " three"], 3), "replaceAll": false, "userModified": false,
        })
    );
    let edits = json!([{"old_string": "one", "new_string": "1"}, {"old_string": "1\n", "new_string": ""}]);
    assert_eq!(
        drawn("MultiEdit", json!({"file_path": "a.txt", "edits": edits})),
        json!({
            "filePath": "$WORK/a.txt", "edits": edits, "originalFile": "one\ntwo\nthree\n",
            "structuredPatch": patch(&["-one", " two", " three"], 2), "userModified": false,
        })
    );
}

#[test]
fn searches_and_commands() {
    assert_eq!(
        drawn("Glob", json!({"pattern": "b/*"})),
        json!({"filenames": ["b/c.txt"], "numFiles": 1, "truncated": false, "totalMatches": 1, "durationMs": 0})
    );
    assert_eq!(
        drawn("Grep", json!({"pattern": "two"})),
        json!({"mode": "files_with_matches", "filenames": ["a.txt", "b/c.txt"], "numFiles": 2})
    );
    assert_eq!(
        drawn("Grep", json!({"pattern": "two", "output_mode": "content"})),
        json!({
            "mode": "content", "filenames": ["a.txt", "b/c.txt"], "numFiles": 2, "numLines": 2,
            "content": "a.txt:2:two\nb/c.txt:1:two",
        })
    );
    assert_eq!(
        drawn("Grep", json!({"pattern": "o", "output_mode": "count", "path": "a.txt"})),
        json!({"mode": "count", "filenames": ["a.txt"], "numFiles": 1, "numMatches": 2, "content": "a.txt:2"})
    );
    assert_eq!(
        drawn("Bash", json!({"command": "echo out; echo err >&2"})),
        json!({"stdout": "out\n", "stderr": "err\n", "interrupted": false, "isImage": false})
    );
    let item = |content: &str| json!({"content": content, "status": "pending", "activeForm": "Doing"});
    assert_eq!(
        drawn("TodoWrite", json!({"todos": [item("Do")]})),
        json!({"oldTodos": [], "newTodos": [item("Do")]})
    );
    let page = ModelServer::start([Reply::bytes(200, "text/plain", "hello")]);
    let url = format!("{}/page", page.url());
    assert_eq!(
        drawn("WebFetch", json!({"url": url, "prompt": "read"})),
        json!({"url": "http://127.0.0.1:$PORT/page", "code": 200, "codeText": "OK", "bytes": 5, "result": "hello", "durationMs": 0})
    );
}

/// A sub-agent: what it came to, in its call's result and in its notification.
#[test]
fn a_sub_agent() {
    let task = json!({"description": "count", "prompt": "Count.", "subagent_type": "general-purpose"});
    let (world, _model) = with_model([
        anthropic::tool_use("1", "Task", task),
        anthropic::tool_use("2", "LS", json!({"path": "."})),
        anthropic::text("None."),
        anthropic::text("ok"),
    ]);
    let output = world.run_with_stdin(&args(&["--dangerously-skip-permissions"]), user("go"));
    let mut all = lines(&output.stdout());
    let usage = json!({"total_tokens": 30, "tool_uses": 1, "duration_ms": 0});
    let told = all.iter_mut().find(|line| line["subtype"] == "task_notification").unwrap();
    told["usage"]["duration_ms"] = json!(0);
    assert_eq!((&told["status"], &told["usage"]), (&json!("completed"), &usage), "{output}");
    let mut drawn = all
        .iter()
        .find(|line| line["type"] == "user" && line["message"]["content"][0]["tool_use_id"] == "1")
        .unwrap()["tool_use_result"]
        .clone();
    drawn["totalDurationMs"] = json!(0);
    assert_eq!(
        drawn,
        json!({
            "status": "completed",
            "agentId": "agent-1",
            "prompt": "Count.",
            "content": [{"type": "text", "text": "None."}],
            "totalToolUseCount": 1,
            "totalDurationMs": 0,
            "totalTokens": 30,
            "usage": {
                "input_tokens": 20, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 10,
            },
        })
    );
}
