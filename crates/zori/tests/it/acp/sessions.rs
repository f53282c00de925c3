//! Opening, finding and leaving sessions, and what can be chosen in one.

use serde_json::{Value, json};
use zori_testkit::anthropic;

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
                "mcpCapabilities": {"http": false, "sse": false},
                "sessionCapabilities": {"list": {}, "resume": {}, "close": {}},
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
    assert_eq!(options[1]["currentValue"], "claude-haiku-4-5");
    let (rest, output) = editor.hang_up();
    assert_eq!((rest, output.stderr().as_str(), output.code()), (Vec::new(), "", Some(0)));
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
    let mut editor = Editor::new(&world, &[]);
    let work = world.work().canonicalize().unwrap();
    let server = json!({"name": "files", "command": "/bin/files", "args": [], "env": []});
    let (_, answer) = editor.call("session/new", json!({"cwd": work, "mcpServers": [server]}));
    assert!(answer["result"]["sessionId"].is_string(), "{answer}");
    let (_, output) = editor.hang_up();
    let warning = "Warning: MCP servers are not available yet; the session goes on without `files`\n";
    assert_eq!(output.stderr(), warning);
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
    assert_eq!(
        shown["params"]["update"]["availableCommands"],
        json!([
            compact,
            command("status", "Show model, session, root and usage"),
            command("cost", "Show tokens, cache hits and money of this session"),
            command("permissions", "Show the mode and the rules, and where they come from"),
        ])
    );
    let (updates, answer) = editor.turn("/status");
    assert!(
        updates[0]["content"]["text"].as_str().unwrap().starts_with("Model:    claude-haiku-4-5"),
        "{updates:?}"
    );
    assert_eq!(answer, stopped(3, "end_turn"));
    let (_, unknown) = editor.turn("/teleport");
    assert_eq!(unknown["error"]["message"], "unknown command `/teleport`");
    assert_eq!(model.count(), 0);
    assert_eq!(editor.turn("/etc/hosts is a file").1["result"], json!({"stopReason": "end_turn"}));
}
