//! What an editor sees of a turn while it goes on: output of commands, a conversation made shorter, choices that change.

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::gate::Gate;

use super::{Editor, stopped, updates};
use crate::world::with_model;

fn bash(command: &str) -> anthropic::Message {
    anthropic::tool_use("t1", "bash", json!({"command": command}))
}

fn shown(text: &str) -> Value {
    json!({"sessionUpdate": "tool_call_update", "toolCallId": "t1",
        "content": [{"type": "content", "content": {"type": "text", "text": text}}]})
}

/// A command's output is shown as it comes; each update has all of it, because it replaces the one before.
#[test]
fn output_while_a_command_runs() {
    let waiting =
        "echo one; until [ -e go ]; do sleep 0.02; done; echo two; until [ -e on ]; do sleep 0.02; done";
    let (world, _model) = with_model([bash(waiting), anthropic::text("Done.")]);
    let mut editor = Editor::with_session(&world, &["--permission-mode", "yolo"]);
    let id = editor.prompt("go");
    let seen = editor.next("one\\n\"").pop().unwrap();
    assert_eq!(seen["params"]["update"], shown("one\n"));
    world.write("go", "");
    let seen = editor.next("two\\n\"").pop().unwrap();
    assert_eq!(seen["params"]["update"], shown("one\ntwo\n"));
    world.write("on", "");
    let (before, end) = editor.until(id);
    assert_eq!(end, stopped(id, "end_turn"));
    let done = &updates(&before)[0];
    assert_eq!((&done["status"], &done["content"]), (&json!("completed"), &shown("one\ntwo\n")["content"]));
}

/// A flood is not: it is told a few times a second, and its end only.
#[test]
fn a_flood_while_a_command_runs() {
    let (world, _model) = with_model([bash("seq 1 2000000; echo $(seq 1 9)"), anthropic::text("Done.")]);
    let mut editor = Editor::with_session(&world, &["--permission-mode", "yolo"]);
    let (updates, end) = editor.turn("go");
    assert_eq!(end["result"], json!({"stopReason": "end_turn"}));
    let live = |update: &&Value| update["content"].is_array() && update["status"].is_null();
    let sizes: Vec<_> = updates.iter().filter(live).map(|update| update.to_string().len()).collect();
    assert!(!sizes.is_empty() && sizes.iter().all(|size| *size < 32 << 10), "{sizes:?}");
}

/// A conversation that is made shorter in a turn is shown where that happens.
#[test]
fn a_conversation_made_shorter() {
    let big = |n: u64| {
        let command = "head -c 2000 /dev/zero | tr '\\0' x";
        let usage = json!({"input_tokens": 2_000 + 600 * n, "output_tokens": 5});
        anthropic::tool_use(&format!("t{n}"), "bash", json!({ "command": command })).usage(usage).reply()
    };
    let refused = "prompt is too long: 9000 tokens > 8000 maximum";
    let replies = (1..=4).map(big).chain([
        anthropic::http_error(400, "invalid_request_error", refused),
        anthropic::text("Goal: count.").reply(),
        anthropic::text("Done.").reply(),
    ]);
    let (world, _model) = with_model(replies);
    let args = ["--permission-mode", "yolo", "--model", "claude-unknown"];
    let mut editor = Editor::offering(&world, &args, json!({"session": {"compaction": {}}}));
    editor.open();
    let (updates, end) = editor.turn("count");
    assert_eq!(end["result"], json!({"stopReason": "end_turn"}));
    let found = updates.iter().find(|update| update["sessionUpdate"] == "compaction_update");
    let found = found.unwrap_or_else(|| panic!("{updates:?}"));
    assert_eq!(found["status"], "completed");
    let words = found["summary"][0]["text"].as_str().unwrap();
    assert!(words.starts_with("summarised the 7 oldest messages, about "), "{words}");
}

/// Mode and model can be changed while a turn runs, by either of the protocol's ways; it holds from the next decision or
/// request on, and the editor is told.
#[test]
fn choices_in_a_turn() {
    let gate = Gate::new();
    let touch = anthropic::text("Some words").tool_use("t1", "bash", json!({"command": "touch made"}));
    let (world, model) = with_model([touch.reply().wait_after(4, &gate), anthropic::text("Done.").reply()]);
    let mut editor = Editor::with_session(&world, &["--permission-mode", "yolo"]);
    let session = editor.session().to_owned();
    let id = editor.prompt("go");
    editor.next("words");
    let (_, wrong) = editor.call("session/set_mode", json!({"sessionId": session, "modeId": "wild"}));
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
    let (_, set) = editor.call("session/set_mode", json!({"sessionId": session, "modeId": "plan"}));
    assert_eq!(set["result"], json!({}));
    let told = editor.next("config_option_update").pop().unwrap();
    assert_eq!(told["params"]["update"]["configOptions"][0]["currentValue"], "plan");
    let choose = |id: &str, value: &str| json!({"sessionId": session, "configId": id, "value": value});
    let (_, answer) = editor.call("session/set_config_option", choose("model", "claude-opus-4-5"));
    let options = &answer["result"]["configOptions"];
    let current = (&options[0]["currentValue"], &options[1]["currentValue"]);
    assert_eq!(current, (&json!("plan"), &json!("claude-opus-4-5")), "{answer}");
    let (_, answer) = editor.call("session/set_config_option", choose("colour", "red"));
    assert_eq!(answer["error"]["message"], "there is no option `colour`; there are `mode` and `model`");
    gate.open();
    let (before, end) = editor.until(id);
    assert_eq!(end, stopped(id, "end_turn"));
    let mode = json!({"sessionUpdate": "current_mode_update", "currentModeId": "plan"});
    assert!(updates(&before).contains(&mode), "{before:?}");
    assert!(!world.work().join("made").exists(), "the plan mode changes nothing");
    assert_eq!(model.request(1).json()["model"], "claude-opus-4-5");
}
