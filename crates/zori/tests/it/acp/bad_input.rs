//! Lines that are none, ends at every point, readers that leave.

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::gate::Gate;
use zori_testkit::running::{Stdin, Stdout};

use super::{Editor, messages, stopped};
use crate::world::with_model;

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;

/// Every kind of bad line costs that line and no more (IO-4, IO-5).
#[test]
fn bad_lines() {
    let (world, _model) = with_model([anthropic::text("-")]);
    let mut lines = format!("{{\"half\":\n[]\n17\n{HELLO}\n").into_bytes();
    lines.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}\n");
    lines.extend_from_slice(&vec![b'x'; 50 << 20]);
    lines.extend_from_slice(b"\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"session/teleport\"}\n");
    lines.extend_from_slice(
        b"{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}\n\n{\"jsonrpc\":\"2.0\",\"id\":3,\"me",
    );
    let output = world.run_with_stdin(&["acp"], lines);
    let outline = |message: &Value| {
        let error = &message["error"];
        format!("{} {} {}", message["id"], error["code"], error["data"].as_str().unwrap_or("-"))
    };
    let told: Vec<_> = messages(&output.stdout()).iter().map(outline).collect();
    assert_eq!(told[3], "1 null -", "{told:?}");
    assert_eq!(
        [&told[4..]].concat(),
        [
            "null -32700 a line is not UTF-8 text (byte 27)",
            "null -32700 a line has more than 16777216 bytes",
            "2 -32601 there is no method `session/teleport`",
            &told[7],
        ]
    );
    assert!(told[7].starts_with("null -32700"), "{told:?}");
    assert_eq!((output.stderr().as_str(), output.code()), ("", Some(0)));
}

/// A dialogue cut into single bytes is the same dialogue.
#[test]
fn lines_in_pieces() {
    let (world, _model) = with_model([anthropic::text("-")]);
    let mut editor = Editor::silent(&world, &[]);
    for byte in format!("{HELLO}\n").chars() {
        editor.run().write_stdin(byte.to_string());
    }
    assert_eq!(editor.until(1).1["result"]["protocolVersion"], 1);
}

/// A standard input that ends, after each message of a dialogue (IO-3).
#[test]
fn the_end_at_each_point() {
    let (world, _model) = with_model([anthropic::text("-")]);
    let cwd = world.work().canonicalize().unwrap();
    let lines = [
        HELLO.to_owned(),
        json!({"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": {"cwd": cwd, "mcpServers": []}})
            .to_string(),
        json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "x"}}).to_string(),
    ];
    for count in 0..=lines.len() {
        let output = world.run_with_stdin(&["acp"], format!("{}\n", lines[..count].join("\n")));
        let answers =
            messages(&output.stdout()).iter().filter(|message| !message["result"].is_null()).count();
        assert_eq!(answers, count.min(2), "{}", output.stdout());
        assert_eq!((output.stderr().as_str(), output.code()), ("", Some(0)));
    }
}

/// A turn that runs when standard input ends goes on to its end.
#[test]
fn the_end_in_a_turn() {
    let gate = Gate::new();
    let (world, _model) = with_model([anthropic::text("Some words").reply().wait_after(4, &gate)]);
    let mut editor = Editor::with_session(&world, &[]);
    let id = editor.prompt("go");
    editor.next("words");
    editor.run().close_stdin();
    gate.open();
    assert_eq!(editor.until(id).1, stopped(id, "end_turn"));
    assert_eq!(editor.hang_up().1.code(), Some(0));
}

/// IO-2: a reader that is gone ends the turn it is missed in, and the program.
#[test]
fn a_reader_that_leaves() {
    let many = || anthropic::text(&"many words ".repeat(200));
    let (world, _model) = with_model([anthropic::text("One."), many(), many()]);
    world.run(&["exec", "--session", "known", "-p", "hi"]);
    let cwd = world.work().canonicalize().unwrap();
    let request = |id: i64, method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    };
    let load = request(2, "session/load", json!({"sessionId": "known", "cwd": cwd, "mcpServers": []}));
    let words = json!([{"type": "text", "text": "go"}]);
    let prompt = request(3, "session/prompt", json!({"sessionId": "known", "prompt": words}));
    let lines = format!("{HELLO}\n{load}\n{prompt}\n").into_bytes();
    for taken in [0, 9000] {
        let run = world.start(world.cmd(&["acp"]), Stdin::Bytes(lines.clone()), Stdout::ClosedAfter(taken));
        assert_eq!((run.finish().code(), taken), (Some(1), taken));
    }
}

/// Signals end it, with a turn or without.
#[test]
fn signals() {
    let (world, _model) = with_model([anthropic::text("-")]);
    let mut editor = Editor::with_session(&world, &[]);
    editor.run().terminate();
    assert_eq!(editor.hang_up().1.code(), Some(143));
    let gate = Gate::new();
    let (world, _model) = with_model([anthropic::text("Some words").reply().wait_after(4, &gate)]);
    let mut editor = Editor::with_session(&world, &[]);
    let id = editor.prompt("go");
    editor.next("words");
    editor.run().interrupt();
    assert_eq!(editor.until(id).1, stopped(id, "cancelled"));
    assert_eq!(editor.hang_up().1.code(), Some(130));
}
