use serde_json::json;
use zori_core::tool::{ToolCode, ToolOutput};

use super::*;

fn shown(kind: ToolKind, data: Value) -> String {
    plain(Some(kind), ToolOutput::success(&data.to_string()).envelope.get())
}

#[test]
fn files() {
    let read = |data| shown(ToolKind::Read, data);
    assert_eq!(
        read(json!({"path": "/a", "content": "x \"y\"\n\tz\n", "truncated": false, "bytes": 9})),
        "/a (2 lines)\nx \"y\"\n\tz\n"
    );
    assert_eq!(
        read(json!({"path": "/a", "content": "x", "truncated": false, "bytes": 1})),
        "/a (1 line, no newline at the end)\nx"
    );
    assert_eq!(read(json!({"path": "/a", "content": "", "truncated": false, "bytes": 0})), "/a (0 lines)");
    assert_eq!(
        read(
            json!({"path": "/a", "content": "x\ny\n", "truncated": true, "bytes": 99, "start_line": 3, "end_line": 4, "next_offset": 5})
        ),
        "/a (lines 3-4 of 99 bytes; more from offset 5)\nx\ny\n"
    );
    assert_eq!(
        read(json!({"path": "/a.png", "image": "PNG", "width": 2, "height": 3, "bytes": 70})),
        "/a.png: a PNG image of 2x3 pixels"
    );
}

#[test]
fn commands() {
    let run = |data| shown(ToolKind::Bash, data);
    assert_eq!(run(json!({"stdout": "a\n", "stderr": "", "exit_code": 0, "timed_out": false})), "a");
    assert_eq!(run(json!({"stdout": "", "stderr": "", "exit_code": 0, "timed_out": false})), "(no output)");
    assert_eq!(
        run(
            json!({"stdout": "a\n", "stderr": "\u{1b}[31mb\n", "exit_code": 2, "timed_out": false, "note": "n"})
        ),
        "exit 2\na\nstderr:\nb\nnote: n"
    );
    assert_eq!(
        run(json!({"stdout": "", "stderr": "late\n", "exit_code": -1, "timed_out": true})),
        "timed out\nstderr:\nlate"
    );
}

#[test]
fn failures_and_the_rest() {
    let failed = ToolOutput::failure_with(ToolCode::OldNotFound, "no `x`", r#"{"nearest":[]}"#);
    assert_eq!(plain(Some(ToolKind::Edit), failed.envelope.get()), "error old_not_found: no `x`");
    assert_eq!(
        shown(
            ToolKind::Ls,
            json!({"path": ".", "entries": [{"name": "d/"}, {"name": "f", "size": 3}, {"name": "l", "target": "f"}], "total": 9, "truncated": true})
        ),
        "d/\nf\t3\nl -> f\n(cut; there are 9: narrow it down)"
    );
    assert_eq!(
        shown(
            ToolKind::Grep,
            json!({"matches": [{"path": "a", "line": 2, "text": "x"}, {"path": "a", "line": 3, "text": "y", "context": true}], "truncated": false, "unsearched": 1})
        ),
        "a:2:x\na-3-y\n1 files could not be searched"
    );
    assert_eq!(
        shown(ToolKind::Glob, json!({"files": [], "total": 0, "truncated": false})),
        "(no files found)"
    );
    assert_eq!(plain(None, r#"{"ok":true,"data":{"content":"hello"}}"#), "hello");
    assert_eq!(plain(None, r#"{"ok":true,"data":{"a":1}}"#), r#"{"a":1}"#);
}
