//! Terminals of the editor: commands that nothing confines run there.

use serde_json::json;
use zori_testkit::{anthropic, needs};

use super::{Editor, stopped, updates};
use crate::world::with_model;

fn bash(command: &str) -> anthropic::Message {
    anthropic::tool_use("t1", "bash", json!({"command": command}))
}

fn editor(world: &zori_testkit::env::TestEnv, args: &[&str]) -> Editor {
    let mut editor = Editor::offering(world, args, json!({"terminal": true}));
    editor.open();
    editor
}

/// Created, shown, waited for, read and released; the model gets what it printed.
#[test]
fn a_command() {
    let (world, model) = with_model([bash("make all"), anthropic::text("Done.")]);
    let mut editor = editor(&world, &["--permission-mode", "yolo"]);
    let id = editor.prompt("go");
    let asked = editor.next("terminal/create").pop().unwrap();
    let wanted = json!({"sessionId": "$SESSION", "command": "sh", "args": ["-c", "make all"], "cwd": "$WORK",
        "outputByteLimit": 65536});
    assert_eq!(asked["params"], wanted);
    editor.answer(&asked["id"], json!({"terminalId": "term-1"}));
    let terminal = json!({"sessionId": "$SESSION", "terminalId": "term-1"});
    let mut before = editor.next("terminal/wait_for_exit");
    let asked = before.pop().unwrap();
    assert_eq!(asked["params"], terminal);
    let shown = json!([{"type": "terminal", "terminalId": "term-1"}]);
    assert_eq!(updates(&before).pop().unwrap()["content"], shown);
    editor.answer(&asked["id"], json!({"exitCode": 2}));
    let asked = editor.next("terminal/output").pop().unwrap();
    editor.answer(&asked["id"], json!({"output": "all is made\n", "truncated": false}));
    let released = editor.next("terminal/release").pop().unwrap();
    assert_eq!(released["params"], terminal);
    let (before, end) = editor.until(id);
    assert_eq!(end, stopped(id, "end_turn"));
    let done = updates(&before).into_iter().find(|update| update["toolCallId"] == "t1").unwrap();
    assert_eq!((&done["status"], &done["content"]), (&json!("failed"), &shown));
    let told = model.request(1).conversation();
    assert!(told.contains("exit 2\\nall is made") || told.contains("exit 2\nall is made"), "{told}");
}

#[test]
fn a_cancel_kills_it() {
    let (world, _model) = with_model([bash("sleep 60"), anthropic::text("Done.")]);
    let mut editor = editor(&world, &["--permission-mode", "yolo"]);
    let id = editor.prompt("go");
    let asked = editor.next("terminal/create").pop().unwrap();
    editor.answer(&asked["id"], json!({"terminalId": "term-1"}));
    editor.next("terminal/wait_for_exit");
    let session = editor.session().to_owned();
    editor.tell("session/cancel", json!({"sessionId": session}));
    let (before, end) = editor.until(id);
    assert_eq!(end, stopped(id, "cancelled"));
    let asked: Vec<_> = before.iter().filter_map(|message| message["method"].as_str()).collect();
    let asked: Vec<_> = asked.into_iter().filter(|method| method.starts_with("terminal/")).collect();
    assert_eq!(asked, ["terminal/kill", "terminal/release"]);
}

/// A command that is to be confined runs here, because an editor's terminal would not confine it.
#[test]
fn a_sandbox_comes_first() {
    if !needs::bubblewrap() {
        return;
    }
    let (world, _model) = with_model([bash("echo hi"), anthropic::text("Done.")]);
    let mut editor = editor(&world, &["--permission-mode", "yolo", "--sandbox", "workspace"]);
    let id = editor.prompt("go");
    let (before, end) = editor.until(id);
    assert_eq!(end, stopped(id, "end_turn"));
    assert!(before.iter().all(|message| message["method"] == "session/update"), "{before:?}");
}
