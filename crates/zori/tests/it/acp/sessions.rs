//! Opening, finding and leaving sessions, and what can be chosen in one.

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::gate::Gate;

use super::{Editor, stopped, text, updates};
use crate::world::{with_model, world};

/// The first words of both sides, whole.
#[test]
fn hello() {
    let (world, _model) = with_model([anthropic::text("-")]);
    let mut editor = Editor::silent(&world, &[]);
    let (_, answer) = editor.call("initialize", json!({"protocolVersion": 99, "clientCapabilities": {}}));
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        answer,
        json!({"jsonrpc": "2.0", "id": 1, "result": {
            "protocolVersion": 1,
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": {"image": true, "audio": false, "embeddedContext": true},
                "mcpCapabilities": {"http": true, "sse": true},
                "sessionCapabilities":
                    {"list": {}, "resume": {}, "close": {}, "delete": {}, "additionalDirectories": {}},
                "auth": {},
            },
            "authMethods": [{"id": "key", "name": "Key or login", "description":
                "Set the key's environment variable, or run `zori auth login` in a terminal, then try again"}],
            "agentInfo": {"name": "zori", "version": version},
        }})
    );
    let opened = editor.open();
    let mode = |id: &str, about: &str| json!({"id": id, "name": id, "description": about});
    let modes = &opened["result"]["modes"];
    assert_eq!(modes["currentModeId"], "default");
    assert_eq!(modes["availableModes"][2], mode("default", "reads run, changes ask"), "{modes}");
    let ids: Vec<_> =
        modes["availableModes"].as_array().unwrap().iter().map(|mode| mode["id"].clone()).collect();
    assert_eq!(ids, ["yolo", "acceptEdits", "default", "paranoid", "plan", "dontAsk", "deny"]);
    let options = &opened["result"]["configOptions"];
    assert_eq!((&options[0]["category"], &options[1]["category"]), (&json!("mode"), &json!("model")));
    assert_eq!(options[1]["currentValue"], "claude-sonnet-5-5");
    let (rest, output) = editor.hang_up();
    assert_eq!((rest, output.stderr().as_str(), output.code()), (Vec::new(), "", Some(0)));
}

/// With nothing configured servers on this machine are looked for, from within the runtime that serves the editor.
#[test]
fn nothing_is_configured() {
    let world = world();
    let mut editor = Editor::new(&world, &[]);
    let (_, answer) = editor.call("session/new", json!({"cwd": world.work(), "mcpServers": []}));
    assert_eq!(answer["error"]["code"], -32000, "{answer}");
    let (_, output) = editor.hang_up();
    assert_eq!(output.code(), Some(0), "{output}");
}

/// A saved session is found by its folder, and told again when it is loaded. Then it goes on.
#[test]
fn listing_and_loading() {
    let (world, model) = with_model([
        anthropic::text("Look.").tool_use("t1", "read", json!({"path": "a.txt"})),
        anthropic::text("One."),
        anthropic::text("Two."),
        anthropic::text("Three."),
    ]);
    world.write("a.txt", "x");
    let mut editor = Editor::with_session(&world, &[]);
    let id = editor.session().to_owned();
    editor.turn("What is\nin a.txt?");
    editor.hang_up();

    let work = world.work().canonicalize().unwrap();
    let mut editor = Editor::new(&world, &[]);
    editor.session.clone_from(&id);
    let (_, listed) = editor.call("session/list", json!({"cwd": work}));
    let sessions = listed["result"]["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 1);
    let wanted = json!({"sessionId": "$SESSION", "cwd": "$WORK", "title": "What is in a.txt?",
        "updatedAt": sessions[0]["updatedAt"]});
    assert_eq!(sessions[0], wanted);
    let (_, elsewhere) = editor.call("session/list", json!({"cwd": "/"}));
    assert_eq!(elsewhere["result"], json!({"sessions": []}));

    let (told, answer) = editor.call("session/load", json!({"sessionId": id, "cwd": work, "mcpServers": []}));
    assert_eq!(answer["result"]["modes"]["currentModeId"], "default");
    assert_eq!(
        updates(&told),
        [
            text("user_message_chunk", "What is\nin a.txt?"),
            text("agent_message_chunk", "Look."),
            json!({"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "Read a.txt", "name": "read",
                "kind": "read", "locations": [{"path": "$WORK/a.txt"}], "rawInput": {"path": "a.txt"}}),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "completed",
                "content": [{"type": "content", "content": {"type": "text", "text": "x"}}],
                "rawOutput": {"ok": true, "data": {"path": "$WORK/a.txt", "content": "x", "truncated": false, "bytes": 1}}}),
            text("agent_message_chunk", "One."),
        ]
    );
    editor.next("available_commands_update");
    assert_eq!(editor.turn("and").1["result"], json!({"stopReason": "end_turn"}));
    // Whoever knows what was said goes on without hearing it again, also where it is open already.
    let (told, _) = editor.call("session/resume", json!({"sessionId": id, "cwd": work, "mcpServers": []}));
    assert_eq!(updates(&told), Vec::<Value>::new());
    editor.next("available_commands_update");
    editor.turn("more");
    assert_eq!(
        model.request(3).conversation().lines().last(),
        Some("user: more"),
        "{}",
        model.request(3).conversation()
    );
}

#[test]
fn sessions_that_are_not_there() {
    let (world, _model) = with_model([anthropic::text("-")]);
    let mut editor = Editor::new(&world, &[]);
    let hint = "`session/list` has those that were saved, `session/new` starts one";
    let error = json!({"code": -32002, "message": "there is no session `nope`", "data": {"hint": hint}});
    for (method, params) in [
        ("session/load", json!({"sessionId": "nope", "cwd": "/", "mcpServers": []})),
        ("session/resume", json!({"sessionId": "nope", "cwd": "/", "mcpServers": []})),
        ("session/prompt", json!({"sessionId": "nope", "prompt": [{"type": "text", "text": "x"}]})),
        ("session/set_mode", json!({"sessionId": "nope", "modeId": "plan"})),
        ("session/close", json!({"sessionId": "nope"})),
    ] {
        let (_, answer) = editor.call(method, params);
        assert_eq!(answer["error"], error, "{method}");
    }
    let (_, bad) = editor.call("session/load", json!({"sessionId": "../x", "cwd": "/", "mcpServers": []}));
    assert_eq!(bad["error"]["code"], -32602, "{bad}");
}

#[test]
fn closing() {
    let (world, _model) = with_model([anthropic::text("-")]);
    let mut editor = Editor::with_session(&world, &[]);
    let session = editor.session().to_owned();
    let (_, answer) = editor.call("session/close", json!({"sessionId": session}));
    assert_eq!(answer["result"], json!({}));
    let (_, gone) = editor.call("session/close", json!({"sessionId": session}));
    assert_eq!(gone["error"]["code"], -32002);
}

/// Without a key a session is refused as the protocol wants it, and `authenticate` looks again.
#[test]
fn no_key() {
    let world = world();
    let mut editor = Editor::new(&world, &["--provider", "anthropic"]);
    let work = world.work().canonicalize().unwrap();
    let (_, answer) = editor.call("session/new", json!({"cwd": work, "mcpServers": []}));
    let error = &answer["error"];
    assert_eq!(
        (&error["code"], &error["data"]["code"]),
        (&json!(-32000), &json!("AUTH_REQUIRED")),
        "{answer}"
    );
    assert!(error["data"]["hints"][0].as_str().unwrap().contains("ANTHROPIC_API_KEY"), "{answer}");
    let (_, answer) = editor.call("authenticate", json!({"methodId": "key"}));
    assert_eq!(answer["error"]["code"], -32000);
    let (_, answer) = editor.call("authenticate", json!({"methodId": "magic"}));
    let message = "there is no authentication method `magic`, only `key`";
    assert_eq!(answer["error"], json!({"code": -32602, "message": message}));
}

/// MCP servers come with their own issue; a session does without, and says so.
#[test]
fn mcp_servers() {
    let (world, _model) = with_model([anthropic::text("-")]);
    let notices = json!({"session": {"notices": {}}});
    let mut editor = Editor::offering(&world, &[], notices);
    let work = world.work().canonicalize().unwrap();
    let server = json!({"name": "files", "type": "http", "url": "http://mcp.example/", "headers": []});
    let (_, answer) = editor.call("session/new", json!({"cwd": work, "mcpServers": [server]}));
    let why = "`http://mcp.example/` is neither HTTPS nor on this machine";
    let missing = json!({"mcpServers": [{"name": "files", "status": "failed", "error": why}]});
    assert_eq!(answer["result"]["_meta"], missing, "{answer}");
    let told = editor.next("notice").pop().unwrap();
    let words = format!("The session goes on without `files`: {why}");
    let notice = json!({"sessionUpdate": "notice", "severity": "warning", "title": words});
    assert_eq!(told["params"]["update"], notice);
    let (_, output) = editor.hang_up();
    let warning = format!("Warning: {why}; the session goes on without `files`\n");
    assert_eq!(output.stderr(), warning);
}

/// A session that is removed is on no list and cannot be loaded, also when it is open, and twice is once.
#[test]
fn deleting() {
    let gate = Gate::new();
    let (world, _model) = with_model([
        anthropic::text("One.").reply(),
        anthropic::text("Some words").reply().wait_after(4, &gate),
    ]);
    let mut editor = Editor::with_session(&world, &[]);
    editor.turn("hi");
    let session = editor.session().to_owned();
    let prompt = editor.prompt("go");
    editor.next("words");
    let gone = editor.ask("session/delete", json!({"sessionId": session}));
    assert_eq!(editor.until(prompt).1, stopped(prompt, "cancelled"));
    assert_eq!(editor.until(gone).1["result"], json!({}));
    assert_eq!(world.session_files(), Vec::<std::path::PathBuf>::new());
    assert_eq!(editor.call("session/delete", json!({"sessionId": session})).1["result"], json!({}));
    assert_eq!(editor.call("session/list", json!({})).1["result"], json!({"sessions": []}));
    let (_, bad) = editor.call("session/delete", json!({"sessionId": "../x"}));
    assert_eq!(bad["error"]["code"], -32602, "{bad}");
}

/// A session belongs to one process at a time.
#[test]
fn sessions_in_use() {
    let (world, _model) = with_model([anthropic::text("One.")]);
    let mut editor = Editor::with_session(&world, &[]);
    editor.turn("hi");
    let session = editor.session().to_owned();
    let work = world.work().canonicalize().unwrap();
    let mut other = Editor::new(&world, &[]);
    let (_, answer) =
        other.call("session/load", json!({"sessionId": session, "cwd": work, "mcpServers": []}));
    let error = &answer["error"];
    let hint = "end that process, or start another session with `session/new`";
    assert_eq!(
        (&error["code"], &error["data"]),
        (&json!(-32600), &json!({"code": "LOCK_HELD", "hints": [hint]})),
        "{answer}"
    );
    let (_, answer) = other.call("session/delete", json!({"sessionId": session}));
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    editor.hang_up();
    let (_, answer) =
        other.call("session/load", json!({"sessionId": session, "cwd": work, "mcpServers": []}));
    assert!(answer["result"].is_object(), "{answer}");
}

/// What can be read of a damaged session is told; a session of another folder goes on in the folder that is named.
#[test]
fn sessions_that_are_not_as_they_should_be() {
    let (world, model) = with_model([anthropic::text("One."), anthropic::text("Two.")]);
    world.run(&["exec", "--session", "s", "-p", "hi"]).success();
    let file = world.base().join("sessions/s.jsonl");
    let whole = std::fs::read_to_string(&file).unwrap();
    world.write(&file, format!("{whole}{{\"type\":\"mess\nnonsense\n"));
    world.write("elsewhere/a.txt", "x");
    let elsewhere = world.work().canonicalize().unwrap().join("elsewhere");
    let mut editor = Editor::new(&world, &[]);
    let (told, answer) =
        editor.call("session/load", json!({"sessionId": "s", "cwd": elsewhere, "mcpServers": []}));
    assert_eq!(
        updates(&told),
        [text("user_message_chunk", "hi"), text("agent_message_chunk", "One.")],
        "{answer}"
    );
    editor.next("available_commands_update");
    editor.session = "s".to_owned();
    assert_eq!(editor.turn("and").1["result"], json!({"stopReason": "end_turn"}));
    assert_eq!(model.request(1).conversation().lines().next(), Some("user: hi"));
    let said = editor.turn("/status").0[0]["content"]["text"].as_str().unwrap().to_owned();
    assert!(said.contains("Root:     $WORK/elsewhere"), "{said}");
    let (_, output) = editor.hang_up();
    assert!(output.stderr().starts_with("Warning: "), "{}", output.stderr());
    let folder = json!({"sessionId": "s", "cwd": world.work().join("nowhere"), "mcpServers": []});
    let mut editor = Editor::new(&world, &[]);
    let (_, answer) = editor.call("session/load", folder);
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

/// Further folders of a session are as much its own as its first one.
#[test]
fn further_folders() {
    let read = |id: &str, path: &str| anthropic::tool_use(id, "read", json!({"path": path}));
    let lib = tempfile::tempdir().unwrap();
    let lib = lib.path().canonicalize().unwrap();
    std::fs::write(lib.join("a.txt"), "further\n").unwrap();
    let path = lib.join("a.txt").display().to_string();
    let (world, model) =
        with_model([read("t1", &path), anthropic::text("No."), read("t2", &path), anthropic::text("Yes.")]);
    let work = world.work().canonicalize().unwrap();
    let mut editor = Editor::with_session(&world, &["--permission-mode", "dontAsk"]);
    editor.turn("read it");
    assert!(!model.request(1).conversation().contains("further"), "{}", model.request(1).conversation());
    let new = json!({"cwd": work, "additionalDirectories": [lib], "mcpServers": []});
    editor.call("session/new", new);
    editor.opened();
    editor.turn("read it");
    assert!(model.request(3).conversation().contains("further"), "{}", model.request(3).conversation());
    let new = json!({"cwd": work, "additionalDirectories": [lib.join("a.txt")], "mcpServers": []});
    let (_, answer) = editor.call("session/new", new);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(
        message.starts_with("`additionalDirectories`: `") && message.ends_with("a.txt` is no folder"),
        "{message}"
    );
}

#[test]
fn models() {
    let (world, model) = with_model([anthropic::text("One.")]);
    let mut editor = Editor::with_session(&world, &[]);
    let session = editor.session().to_owned();
    let choose = |value: &str| json!({"sessionId": session, "configId": "model", "value": value});
    let (_, answer) = editor.call("session/set_config_option", choose("claude-opus-4-5"));
    assert_eq!(answer["result"]["configOptions"][1]["currentValue"], "claude-opus-4-5", "{answer}");
    editor.turn("hi");
    assert_eq!(model.request(0).json()["model"], "claude-opus-4-5");
    let (_, other) = editor.call("session/set_config_option", choose("openai:gpt-5"));
    let data =
        json!({"code": "VALIDATION_ERROR", "hints": ["start another one with `--model openai:gpt-5`"]});
    let error = json!({"code": -32602, "message": "this session is with `anthropic`", "data": data});
    assert_eq!(other["error"], error);
}

/// Slash commands are prompts; what they say is an answer, and no model hears them.
#[test]
fn slash_commands() {
    let (world, model) = with_model([anthropic::text("One.")]);
    let mut editor = Editor::new(&world, &[]);
    let cwd = world.work().canonicalize().unwrap();
    let (_, answer) = editor.call("session/new", json!({"cwd": cwd, "mcpServers": []}));
    assert_eq!(answer["result"]["sessionId"], "$SESSION");
    editor.opened();
    let shown = editor.next("available_commands_update").pop().unwrap();
    let command = |name: &str, about: &str| json!({"name": name, "description": about});
    let mut compact = command("compact", "Summarise older messages; undo: take that back");
    compact["input"] = json!({"hint": "[FOCUS]"});
    let mut undo = command("undo", "Take the last turns back: files and conversation");
    undo["input"] = json!({"hint": "[N]"});
    assert_eq!(
        shown["params"]["update"]["availableCommands"],
        json!([
            compact,
            undo,
            command("redo", "Take the last undo back"),
            command("status", "Show model, session, root and usage"),
            command("cost", "Show tokens, cache hits and money of this session"),
            command("permissions", "Show the mode and the rules, and where they come from"),
        ])
    );
    let (updates, answer) = editor.turn("/status");
    assert!(
        updates[0]["content"]["text"].as_str().unwrap().starts_with("Model:    claude-sonnet-5-5"),
        "{updates:?}"
    );
    assert_eq!(answer, stopped(3, "end_turn"));
    let (_, unknown) = editor.turn("/teleport");
    assert_eq!(unknown["error"]["message"], "unknown command `/teleport`");
    assert_eq!(model.count(), 0);
    assert_eq!(editor.turn("/etc/hosts is a file").1["result"], json!({"stopReason": "end_turn"}));
}
