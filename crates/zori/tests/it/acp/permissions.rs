//! Questions about calls, which the editor answers.

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;

use super::{Editor, stopped, updates};
use crate::world::with_model;

fn touch(id: &str) -> anthropic::Message {
    anthropic::tool_use(id, "bash", json!({"command": "touch made"}))
}

fn made(world: &TestEnv) -> bool {
    world.work().join("made").exists()
}

/// Nobody chose a mode, so a change is asked about, with all that is known of it (DECISIONS 11).
#[test]
fn a_question_and_a_yes() {
    let (world, _model) = with_model([touch("t1"), anthropic::text("Done.")]);
    let mut editor = Editor::with_session(&world, &["--sandbox", "off"]);
    let id = editor.prompt("go");
    let mut before = editor.next("session/request_permission");
    let asked = before.pop().unwrap();
    let content = |text: &str| json!({"type": "content", "content": {"type": "text", "text": text}});
    assert_eq!(
        asked,
        json!({"jsonrpc": "2.0", "id": 1, "method": "session/request_permission", "params": {
            "sessionId": "$SESSION",
            "toolCall": {"toolCallId": "t1", "content": [
                content("```sh\ntouch made\n```\n\nin $WORK"),
                content("mode default asks about XF: A plain file operation by the shell, inside the workspace"),
            ]},
            "options": [
                {"optionId": "allow", "name": "Allow once", "kind": "allow_once"},
                {"optionId": "always", "name": "Always in this session: Bash(touch made)", "kind": "allow_always"},
                {"optionId": "always-2", "name": "Always in this session: Bash(touch:*), Edit(/$WORK/**)", "kind": "allow_always"},
                {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
            ],
        }})
    );
    assert_eq!(updates(&before).pop().unwrap()["title"], "`touch made`");
    assert!(!made(&world));
    editor.answer(&asked["id"], json!({"outcome": {"outcome": "selected", "optionId": "allow"}}));
    assert_eq!(editor.until(id).1, stopped(id, "end_turn"));
    assert!(made(&world));
}

/// Runs a turn and answers its question; returns what became of the call.
fn answered(args: &[&str], answer: impl FnOnce(&mut Editor, &Value)) -> (Value, Value, bool) {
    let (world, _model) = with_model([touch("t1"), anthropic::text("Done.")]);
    let mut editor = Editor::with_session(&world, args);
    let id = editor.prompt("go");
    let asked = editor.next("session/request_permission").pop().expect("it was waited for");
    answer(&mut editor, &asked["id"]);
    let (before, end) = editor.until(id);
    let is_result = |update: &&Value| update["status"] == "failed" || update["status"] == "completed";
    let result = updates(&before).iter().find(is_result).cloned().unwrap_or_default();
    (result["rawOutput"]["error"]["message"].clone(), end["result"]["stopReason"].clone(), made(&world))
}

#[test]
fn other_answers() {
    let (said, end, made) = answered(&[], |editor, id| {
        editor.answer(id, json!({"outcome": {"outcome": "selected", "optionId": "reject"}}));
    });
    assert_eq!((said, end, made), (json!("The user rejected this call"), json!("end_turn"), false));
    let (said, _, made) = answered(&[], |editor, id| {
        editor.answer(id, json!({"outcome": {"outcome": "selected", "optionId": "sure"}}));
    });
    let why = "approval_unavailable: the client chose `sure`, which was not offered";
    assert_eq!((said, made), (json!(why), false));
    let (said, _, made) = answered(&[], |editor, id| {
        let line = json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": "no window"}});
        editor.line(&line.to_string());
    });
    let why = "approval_unavailable: the client did not answer: no window";
    assert_eq!((said, made), (json!(why), false));
    let (_, end, made) =
        answered(&[], |editor, id| editor.answer(id, json!({"outcome": {"outcome": "cancelled"}})));
    assert_eq!((end, made), (json!("cancelled"), false));
    // It is gone, so nobody can answer (IO-3).
    let (said, end, made) = answered(&[], |editor, _| {
        editor.run().close_stdin();
    });
    let why = "approval_unavailable: the client is gone, so nobody can answer";
    assert_eq!((said, end, made), (json!(why), json!("end_turn"), false));
}

/// A cancel while the question is open takes it back; what is answered then has no effect (IO-7).
#[test]
fn a_cancel_with_an_open_question() {
    let (world, _model) = with_model([touch("t1"), anthropic::text("Done.")]);
    let mut editor = Editor::with_session(&world, &[]);
    let id = editor.prompt("go");
    let asked = editor.next("session/request_permission").pop().expect("it was waited for");
    let session = editor.session().to_owned();
    editor.tell("session/cancel", json!({"sessionId": session}));
    let (before, end) = editor.until(id);
    assert_eq!(end, stopped(id, "cancelled"));
    let taken_back = json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 1}});
    assert!(before.contains(&taken_back), "{before:?}");
    editor.answer(&asked["id"], json!({"outcome": {"outcome": "selected", "optionId": "allow"}}));
    editor.answer(&asked["id"], json!({"outcome": {"outcome": "selected", "optionId": "allow"}}));
    assert_eq!(editor.turn("and?").1["result"], json!({"stopReason": "end_turn"}));
    assert!(!made(&world));
}

/// "Always" holds for the session: the same call is not asked about again.
#[test]
fn always() {
    let (world, _model) = with_model([touch("t1"), touch("t2"), anthropic::text("Done.")]);
    let mut editor = Editor::with_session(&world, &[]);
    let id = editor.prompt("go");
    let asked = editor.next("session/request_permission").pop().expect("it was waited for");
    editor.answer(&asked["id"], json!({"outcome": {"outcome": "selected", "optionId": "always"}}));
    let (before, end) = editor.until(id);
    assert_eq!(end, stopped(id, "end_turn"));
    assert!(before.iter().all(|message| message["method"] == "session/update"), "{before:?}");
}

/// A file that would change is shown as the change it would be.
#[test]
fn a_diff() {
    let write = anthropic::tool_use("t1", "write", json!({"path": "a.txt", "content": "two\n"}));
    let (world, _model) = with_model([write, anthropic::text("Done.")]);
    world.write("a.txt", "one\n");
    let mut editor = Editor::with_session(&world, &[]);
    let id = editor.prompt("go");
    let asked = editor.next("session/request_permission").pop().expect("it was waited for");
    let diff = json!({"type": "diff", "path": "$WORK/a.txt", "oldText": "one\n", "newText": "two\n"});
    assert_eq!(asked["params"]["toolCall"]["content"][0], diff);
    editor.answer(&asked["id"], json!({"outcome": {"outcome": "selected", "optionId": "allow"}}));
    let (before, _) = editor.until(id);
    let shown = updates(&before);
    let done = shown.iter().find(|update| update["status"] == "completed").unwrap();
    assert_eq!(done["content"], json!([diff]));
}

/// The mode can be changed between turns and within one, by either of the protocol's two ways.
#[test]
fn modes() {
    let (world, _model) =
        with_model([touch("t1"), anthropic::text("Done."), touch("t2"), anthropic::text("Done.")]);
    let mut editor = Editor::with_session(&world, &["--sandbox", "off"]);
    let session = editor.session().to_owned();
    let (told, answer) = editor.call("session/set_mode", json!({"sessionId": session, "modeId": "plan"}));
    assert_eq!(answer["result"], json!({}));
    assert_eq!(updates(&told)[0], json!({"sessionUpdate": "current_mode_update", "currentModeId": "plan"}));
    let options = &updates(&told)[1]["configOptions"];
    assert_eq!((&options[0]["id"], &options[0]["currentValue"]), (&json!("mode"), &json!("plan")));
    let (updates_of, _) = editor.turn("go");
    assert!(updates_of.iter().any(|update| update["status"] == "failed"), "{updates_of:?}");
    let choice = json!({"sessionId": session, "configId": "mode", "value": "yolo"});
    let (_, answer) = editor.call("session/set_config_option", choice);
    assert_eq!(answer["result"]["configOptions"][0]["currentValue"], "yolo");
    let (updates_of, _) = editor.turn("go");
    assert!(updates_of.iter().any(|update| update["status"] == "completed"), "{updates_of:?}");
    assert!(made(&world));
    let (_, wrong) = editor.call("session/set_mode", json!({"sessionId": session, "modeId": "wild"}));
    assert_eq!(wrong["error"]["code"], -32602);
    assert!(wrong["error"]["message"].as_str().unwrap().starts_with("`mode` cannot be `wild`"), "{wrong}");
}

/// ASK-2: a question of the model's is a choice in the editor.
#[test]
fn a_question_of_the_model() {
    let question = json!({"question": "Which parser?", "options": ["by hand", "generated"]});
    let (world, model) =
        with_model([anthropic::tool_use("t1", "ask_user", question), anthropic::text("Done.")]);
    let mut editor = Editor::with_session(&world, &["--sandbox", "off"]);
    let id = editor.prompt("go");
    let asked = editor.next("session/request_permission").pop().expect("it was waited for");
    assert_eq!(
        asked["params"]["options"],
        json!([
            {"optionId": "1", "name": "by hand", "kind": "allow_once"},
            {"optionId": "2", "name": "generated", "kind": "allow_once"},
            {"optionId": "reject", "name": "No answer", "kind": "reject_once"},
        ])
    );
    let text = json!([{"type": "content", "content": {"type": "text", "text": "Which parser?"}}]);
    assert_eq!(asked["params"]["toolCall"]["content"], text);
    editor.answer(&asked["id"], json!({"outcome": {"outcome": "selected", "optionId": "2"}}));
    assert_eq!(editor.until(id).1, stopped(id, "end_turn"));
    assert_eq!(model.request(1).messages().pop().unwrap()["content"][0]["content"], "the user: generated");
}
