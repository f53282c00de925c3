//! Prompts and what comes of them.

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::gate::Gate;
use zori_testkit::wait;

use super::{Editor, stopped, text, updates};
use crate::world::with_model;

/// Everything an editor hears of a turn in which the model thinks, reads a file and answers.
#[test]
fn a_turn() {
    let (world, model) = with_model([
        anthropic::thinking("Hm.", "sig").text("Let me look.").tool_use(
            "t1",
            "read",
            json!({"path": "a.txt"}),
        ),
        anthropic::text("It says one."),
    ]);
    world.write("a.txt", "one\n");
    let mut editor = Editor::with_session(&world, &[]);
    let (updates, answer) = editor.turn("What is in a.txt?");
    assert_eq!(
        updates,
        [
            text("agent_thought_chunk", "Hm."),
            text("agent_message_chunk", "Let "),
            text("agent_message_chunk", "me "),
            text("agent_message_chunk", "look."),
            json!({"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "Read a.txt", "name": "read",
                "kind": "read", "locations": [{"path": "$WORK/a.txt"}], "rawInput": {"path": "a.txt"}}),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "in_progress"}),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "completed",
                "content": [{"type": "content", "content": {"type": "text", "text": "one\n"}}],
                "rawOutput": {"ok": true, "data": {"path": "$WORK/a.txt", "content": "one\n", "truncated": false, "bytes": 4}}}),
            text("agent_message_chunk", "It "),
            text("agent_message_chunk", "says "),
            text("agent_message_chunk", "one."),
        ]
    );
    assert_eq!(answer, stopped(3, "end_turn"));
    assert_eq!(model.count(), 2);
    let (rest, output) = editor.hang_up();
    assert_eq!((rest, output.stderr().as_str(), output.code()), (Vec::new(), "", Some(0)));
}

/// What the model gets of a prompt with files and an image in it.
#[test]
fn prompts_of_many_parts() {
    const PIXEL: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let (world, model) = with_model([anthropic::text("Nice.")]);
    let mut editor = Editor::with_session(&world, &[]);
    let session = editor.session().to_owned();
    let (_, answer) = editor.call(
        "session/prompt",
        json!({"sessionId": session, "prompt": [
            {"type": "text", "text": "Compare "},
            {"type": "resource_link", "name": "a", "uri": "file:///x/a.rs"},
            {"type": "resource", "resource": {"uri": "file:///x/b.rs", "text": "unsaved"}},
            {"type": "image", "mimeType": "image/png", "data": PIXEL},
        ]}),
    );
    assert_eq!(answer, stopped(3, "end_turn"));
    assert_eq!(
        model.request(0).messages(),
        [json!({"role": "user", "content": [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
            {"type": "text", "text": "Compare @/x/a.rs\n<file path=\"/x/b.rs\">\nunsaved\n</file>\n",
                "cache_control": {"type": "ephemeral"}},
        ]})]
    );
}

#[test]
fn the_task_list_is_a_plan() {
    let todos = json!({"todos": [{"content": "look", "status": "in_progress"}, {"content": "fix", "status": "pending"}]});
    let (world, _model) =
        with_model([anthropic::tool_use("t1", "todo_write", todos), anthropic::text("Done.")]);
    let mut editor = Editor::with_session(&world, &[]);
    let (updates, _) = editor.turn("go");
    let plan: Vec<_> = updates.iter().filter(|update| update["sessionUpdate"] == "plan").collect();
    assert_eq!(
        plan,
        [&json!({"sessionUpdate": "plan", "entries": [
            {"content": "look", "priority": "medium", "status": "in_progress"},
            {"content": "fix", "priority": "medium", "status": "pending"},
        ]})]
    );
}

/// A cancel ends the turn with its own reason, and what runs with it. The session goes on.
#[test]
fn cancelling() {
    let (world, _model) = with_model([
        anthropic::tool_use("t1", "bash", json!({"command": "echo $$ > pid; exec sleep 600"})),
        anthropic::text("Again."),
    ]);
    let mut editor = Editor::with_session(&world, &["--permission-mode", "yolo"]);
    let id = editor.prompt("sleep");
    let pid = wait::poll(wait::BOUND, || {
        std::fs::read_to_string(world.work().join("pid")).ok().filter(|pid| pid.ends_with('\n'))
    });
    let process = format!("/proc/{}", pid.expect("the command starts").trim());
    let session = editor.session().to_owned();
    editor.tell("session/cancel", json!({"sessionId": session}));
    let (before, answer) = editor.until(id);
    assert_eq!(answer, stopped(id, "cancelled"));
    let last = updates(&before).pop().unwrap();
    assert_eq!((&last["toolCallId"], &last["status"]), (&json!("t1"), &json!("failed")));
    wait::until("the command is gone", || !std::path::Path::new(&process).exists());
    let (updates, answer) = editor.turn("and now?");
    assert_eq!((updates, answer), (vec![text("agent_message_chunk", "Again.")], stopped(id + 1, "end_turn")));
}

/// The request itself can be given up, too, while the model speaks.
#[test]
fn giving_a_request_up() {
    let gate = Gate::new();
    let (world, _model) = with_model([anthropic::text("Some words").reply().wait_after(4, &gate)]);
    let mut editor = Editor::with_session(&world, &[]);
    let id = editor.prompt("go");
    editor.next("words");
    editor.tell("$/cancel_request", json!({"requestId": id}));
    assert_eq!(editor.until(id).1, stopped(id, "cancelled"));
}

/// How turns end that do not end well.
#[test]
fn ends() {
    let cut = || anthropic::text("Cut").stop("max_tokens").reply();
    let (world, _model) = with_model([
        // The model is asked twice to go on (FOR-13).
        cut(),
        cut(),
        cut(),
        anthropic::text("No").stop("refusal").reply(),
        anthropic::http_error(400, "invalid_request_error", "bad thing"),
        anthropic::http_error(401, "authentication_error", "invalid x-api-key"),
    ]);
    let mut editor = Editor::with_session(&world, &[]);
    assert_eq!(editor.turn("1").1["result"], json!({"stopReason": "max_tokens"}));
    assert_eq!(editor.turn("2").1["result"], json!({"stopReason": "refusal"}));
    let (_, bad) = editor.turn("3");
    assert_eq!(
        (&bad["error"]["code"], &bad["error"]["data"]["status"]),
        (&json!(-32603), &json!(400)),
        "{bad}"
    );
    let (_, unpaid) = editor.turn("4");
    let hint = "set ANTHROPIC_API_KEY to a key of Anthropic that is valid";
    assert_eq!((&unpaid["error"]["code"], &unpaid["error"]["data"]["hint"]), (&json!(-32000), &json!(hint)));
}

#[test]
fn the_limit_of_requests() {
    let look = || anthropic::tool_use("t1", "ls", json!({}));
    let (world, _model) = with_model([look(), look()]);
    let mut editor = Editor::with_session(&world, &["--max-turns", "2"]);
    assert_eq!(editor.turn("go").1, stopped(3, "max_turn_requests"));
}

/// Two sessions at once; neither waits for the other.
#[test]
fn sessions_side_by_side() {
    let gate = Gate::new();
    let (world, _model) = with_model([
        anthropic::text("Slow words").reply().wait_after(4, &gate),
        anthropic::text("Quick.").reply(),
    ]);
    let mut editor = Editor::with_session(&world, &[]);
    let slow = editor.prompt("slow");
    editor.next("words");
    editor.open();
    let (updates, answer) = editor.turn("quick");
    assert_eq!(updates, [text("agent_message_chunk", "Quick.")]);
    assert_eq!(answer["result"], json!({"stopReason": "end_turn"}));
    gate.open();
    assert_eq!(editor.until(slow).1, stopped(slow, "end_turn"));
}

/// One prompt at a time: a second one is refused and the first goes on.
#[test]
fn a_prompt_in_a_turn() {
    let gate = Gate::new();
    let (world, _model) = with_model([anthropic::text("Some words").reply().wait_after(4, &gate)]);
    let mut editor = Editor::with_session(&world, &[]);
    let first = editor.prompt("one");
    editor.next("words");
    let second = editor.prompt("two");
    let hint = "wait for its end, or send `session/cancel`";
    let error =
        json!({"code": -32600, "message": "a turn is running in this session", "data": {"hint": hint}});
    assert_eq!(editor.until(second).1, json!({"jsonrpc": "2.0", "id": second, "error": error}));
    gate.open();
    assert_eq!(editor.until(first).1, stopped(first, "end_turn"));
}

/// What looks like a secret is in no argument, title or result.
#[test]
fn secrets_in_results() {
    let key = format!("sk-ant-{}", "a1".repeat(15));
    let (world, _model) = with_model([
        anthropic::tool_use("t1", "bash", json!({"command": format!("echo {key}")})),
        anthropic::text("ok"),
    ]);
    let mut editor = Editor::with_session(&world, &["--permission-mode", "yolo"]);
    let (updates, _) = editor.turn("go");
    let all = Value::from(updates).to_string();
    assert!(all.contains("[REDACTED]") && !all.contains(&key), "{all}");
}
