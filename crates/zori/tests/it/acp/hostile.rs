//! Editors that cancel, hang up or answer at the wrong moment. Whatever they do, each request has one answer, and nothing
//! is left behind.

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::gate::Gate;
use zori_testkit::running::{Stdin, Stdout};

use super::{Editor, messages, stopped};
use crate::processes::{pids, wait_until_gone};
use crate::world::{in_shell, with_model};

fn cancel(editor: &mut Editor) {
    let session = editor.session().to_owned();
    editor.tell("session/cancel", json!({"sessionId": session}));
}

/// A cancel without a turn, right after a prompt, and again after its end: the prompt after it is not concerned.
#[test]
fn cancels_at_odd_moments() {
    let gate = Gate::new();
    let (world, _model) = with_model([
        anthropic::text("Some words").reply().wait_after(0, &gate),
        anthropic::text("Well.").reply(),
    ]);
    let mut editor = Editor::with_session(&world, &[]);
    cancel(&mut editor);
    let id = editor.prompt("go");
    cancel(&mut editor);
    cancel(&mut editor);
    assert_eq!(editor.until(id).1, stopped(id, "cancelled"));
    cancel(&mut editor);
    gate.open();
    let last = editor.turn("and?").1;
    assert_eq!(last["result"], json!({"stopReason": "end_turn"}));
}

/// Cancelled while the editor is asked for a file: what it answers then changes nothing.
#[test]
fn a_cancel_while_the_editor_reads() {
    let edit = anthropic::tool_use("t1", "edit", json!({"path": "a.txt", "old": "one", "new": "two"}));
    let (world, _model) = with_model([edit.reply(), anthropic::text("Well.").reply()]);
    world.write("a.txt", "one\n");
    let fs = json!({"fs": {"readTextFile": true, "writeTextFile": true}});
    let mut editor = Editor::offering(&world, &["--permission-mode", "yolo"], fs);
    editor.open();
    let id = editor.prompt("go");
    let asked = editor.next("fs/read_text_file").pop().unwrap();
    cancel(&mut editor);
    assert_eq!(editor.until(id).1, stopped(id, "cancelled"));
    editor.answer(&asked["id"], json!({"content": "one\n"}));
    let again = editor.prompt("and?");
    let (before, end) = editor.until(again);
    assert_eq!(end, stopped(again, "end_turn"));
    let (rest, output) = editor.hang_up();
    let all: Vec<_> = before.into_iter().chain(rest).collect();
    assert!(all.iter().all(|message| message["method"] != "fs/write_text_file"), "{all:?}");
    assert_eq!((world.read("a.txt").as_str(), output.code()), ("one\n", Some(0)));
}

/// Cancelled while a terminal is made: the one that comes of it is killed and released.
#[test]
fn a_cancel_while_a_terminal_is_made() {
    let bash = anthropic::tool_use("t1", "bash", json!({"command": "make"}));
    let (world, _model) = with_model([bash.reply(), anthropic::text("Well.").reply()]);
    let mut editor = Editor::offering(&world, &["--permission-mode", "yolo"], json!({"terminal": true}));
    editor.open();
    let id = editor.prompt("go");
    let asked = editor.next("terminal/create").pop().unwrap();
    cancel(&mut editor);
    assert_eq!(editor.until(id).1, stopped(id, "cancelled"));
    editor.answer(&asked["id"], json!({"terminalId": "term-1"}));
    let told = editor.next("terminal/release");
    let methods: Vec<_> = told.iter().map(|message| message["method"].clone()).collect();
    assert_eq!(methods, ["terminal/kill", "terminal/release"]);
}

/// An editor that takes the time limit's kill for nothing does not keep the turn.
#[test]
fn a_terminal_that_nobody_answers_for() {
    let bash = anthropic::tool_use("t1", "bash", json!({"command": "make", "timeout_secs": 1}));
    let (world, model) = with_model([bash.reply(), anthropic::text("Well.").reply()]);
    let mut editor = Editor::offering(&world, &["--permission-mode", "yolo"], json!({"terminal": true}));
    editor.open();
    let id = editor.prompt("go");
    let asked = editor.next("terminal/create").pop().unwrap();
    editor.answer(&asked["id"], json!({"terminalId": "term-1"}));
    editor.next("terminal/kill");
    assert_eq!(editor.until(id).1, stopped(id, "end_turn"));
    let told = model.request(1).conversation();
    assert!(told.contains("Command timed out after 1 seconds"), "{told}");
}

/// Two sessions ask at once; answers go by the question, in whatever order they come, and count once.
#[test]
fn questions_of_two_sessions() {
    let touch = |id: &str, name: &str| {
        anthropic::tool_use(id, "bash", json!({"command": format!("touch {name}")})).reply()
    };
    let (world, _model) = with_model([
        touch("t1", "first"),
        touch("t2", "second"),
        anthropic::text("Done.").reply(),
        anthropic::text("Done.").reply(),
    ]);
    let mut editor = Editor::with_session(&world, &["--sandbox", "off"]);
    let first = editor.prompt("first");
    let one = editor.next("session/request_permission").pop().unwrap();
    editor.open();
    let second = editor.prompt("second");
    let two = editor.next("session/request_permission").pop().unwrap();
    assert_ne!(one["id"], two["id"]);
    let chosen = |id: &str| json!({"outcome": {"outcome": "selected", "optionId": id}});
    editor.answer(&two["id"], chosen("reject"));
    editor.answer(&two["id"], chosen("allow"));
    assert_eq!(editor.until(second).1, stopped(second, "end_turn"));
    editor.answer(&json!(99), chosen("allow"));
    editor.answer(&json!("x"), chosen("allow"));
    editor.answer(&one["id"], chosen("allow"));
    assert_eq!(editor.until(first).1, stopped(first, "end_turn"));
    let made = |name: &str| world.work().join(name).exists();
    assert_eq!((made("first"), made("second")), (true, false));
}

/// An editor that dies in the middle of a command that says nothing, or much: the command is gone, and so is the agent.
#[test]
fn an_editor_that_dies() {
    for command in ["echo $$ > pids; exec sleep 600", "echo $$ > pids; exec yes"] {
        let bash = anthropic::tool_use("t1", "bash", json!({"command": command}));
        let (world, _model) = with_model([anthropic::text("Hi.").reply(), bash.reply()]);
        world.run(&["exec", "--session", "s", "-p", "hi"]).success();
        let cwd = world.work().canonicalize().unwrap();
        let load = json!({"sessionId": "s", "cwd": cwd, "mcpServers": []});
        let prompt = json!({"sessionId": "s", "prompt": [{"type": "text", "text": "go"}]});
        let lines = request(1, "initialize", json!({"protocolVersion": 1}))
            + &request(2, "session/load", load)
            + &request(3, "session/prompt", prompt);
        world.write("lines", lines);
        // It reads as far as the call that has begun, and leaves.
        let script = "{ \"$0\" \"$@\" < lines; echo $? > code; } | head -n 7 > /dev/null";
        let shell = in_shell(&world, script, &["acp", "--permission-mode", "yolo"]);
        world.start(shell, Stdin::Null, Stdout::Captured).finish();
        assert_eq!(world.read("code"), "1\n", "{command}");
        wait_until_gone(&pids(&world).unwrap_or_default());
    }
}

/// A turn that goes on after standard input has ended hears signals all the same.
#[test]
fn a_signal_after_the_end() {
    let gate = Gate::new();
    let (world, _model) = with_model([anthropic::text("Some words").reply().wait_after(4, &gate)]);
    let mut editor = Editor::with_session(&world, &[]);
    let id = editor.prompt("go");
    editor.next("words");
    editor.run().close_stdin();
    editor.run().terminate();
    assert_eq!(editor.until(id).1, stopped(id, "cancelled"));
    assert_eq!(editor.hang_up().1.code(), Some(143));
}

fn request(id: i64, method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string() + "\n"
}

/// A pipelined dialogue, all in one write: answers come with their ids, and the prompt that comes too early is refused.
#[test]
fn everything_at_once() {
    let (world, _model) = with_model([anthropic::text("One.")]);
    world.run(&["exec", "--session", "s", "-p", "hi"]).success();
    let cwd = world.work().canonicalize().unwrap();
    let prompt = json!({"sessionId": "s", "prompt": [{"type": "text", "text": "/status"}]});
    let lines = [
        request(1, "session/prompt", prompt.clone()),
        request(2, "initialize", json!({"protocolVersion": 1})),
        request(3, "session/prompt", prompt.clone()),
        request(4, "session/load", json!({"sessionId": "s", "cwd": cwd, "mcpServers": []})),
        request(5, "session/prompt", prompt),
        request(6, "session/close", json!({"sessionId": "s"})),
        request(7, "session/teleport", json!({})),
    ];
    let output = world.run_with_stdin(&["acp"], lines.concat());
    let told = messages(&output.stdout());
    let answers: Vec<_> = told
        .iter()
        .filter(|message| message.get("id").is_some())
        .map(|message| format!("{} {}", message["id"], message["error"]["code"]))
        .collect();
    assert_eq!(answers, ["1 -32600", "2 null", "3 -32002", "4 null", "5 null", "6 null", "7 -32601"]);
    let mut others = told.iter().filter(|message| message.get("id").is_none());
    assert!(others.all(|message| message["method"] == "session/update"), "{told:?}");
    assert_eq!(output.code(), Some(0));
}
