//! Hooks and tools that live in the client.

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::running::Running;

use super::{answer, asked, outline, request, start, user};
use crate::world::with_model;

fn hooks(groups: Value) -> String {
    request("r", json!({"subtype": "initialize", "hooks": groups}))
}

fn group(id: &str, matcher: Option<&str>) -> Value {
    json!([{"matcher": matcher, "hookCallbackIds": [id]}])
}

/// Answers the next call of a hook, and returns what it was told.
fn called(run: &mut Running, nth: usize, response: Value) -> Value {
    let (id, question) = asked(run, "hook_callback", nth);
    run.write_stdin(answer(&id, response));
    question
}

fn end(mut run: Running) -> String {
    run.wait_for_stdout("{\"type\":\"result\"").close_stdin();
    let output = run.finish();
    assert_eq!(output.code(), Some(0), "{output}");
    let said = outline(&output.stdout());
    let said = said.lines().filter(|line| !line.starts_with("answers") && !line.starts_with("asks"));
    said.collect::<Vec<_>>().join("\n")
}

/// In order: the prompt, before a call, after it, the end; the matcher is a regular expression on the tool's name.
#[test]
fn hooks_of_every_moment() {
    let (world, model) = with_model([
        anthropic::tool_use("1", "Write", json!({"file_path": "a", "content": "x"})),
        anthropic::tool_use("2", "LS", json!({"path": "."})),
        anthropic::text("ok"),
    ]);
    let mut run = start(&world, &[]);
    let groups = json!({
        "UserPromptSubmit": group("prompt", None),
        "PreToolUse": group("pre", Some("Wri.*")),
        "PostToolUse": group("post", None),
        "Stop": group("stop", None),
        "Notification": group("never", None),
    });
    run.write_stdin(hooks(groups)).write_stdin(user("go"));
    let context = json!({"hookEventName": "UserPromptSubmit", "additionalContext": "be brief"});
    let told = called(&mut run, 0, json!({ "hookSpecificOutput": context }));
    assert_eq!((&told["callback_id"], &told["input"]["prompt"]), (&json!("prompt"), &json!("go")));
    let changed = json!({"file_path": "b", "content": "y"});
    let allow =
        json!({"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": changed});
    let told = called(&mut run, 1, json!({ "hookSpecificOutput": allow }));
    assert_eq!(
        (&told["tool_use_id"], &told["input"]["hook_event_name"]),
        (&json!("1"), &json!("PreToolUse"))
    );
    let told = called(&mut run, 2, json!({}));
    assert_eq!((&told["callback_id"], &told["input"]["tool_name"]), (&json!("post"), &json!("Write")));
    let told = called(&mut run, 3, json!({"continue": true}));
    assert_eq!(told["input"]["tool_name"], "LS");
    let told = called(&mut run, 4, json!({}));
    assert_eq!((&told["callback_id"], &told["input"]["stop_hook_active"]), (&json!("stop"), &json!(false)));
    insta::assert_snapshot!(end(run), @r#"
    init
    calls Write {"file_path":"a","content":"x"}
    result "Created $WORK/b (1 bytes)"
    calls LS {"path":"."}
    result "b"
    says "ok"
    over success "ok" completed turns=3
    "#);
    assert!(model.request(0).conversation().contains("be brief"), "{}", model.request(0).conversation());
}

/// A hook that denies is heard in every mode; one that fails blocks only where the client wants it to.
#[test]
fn hooks_that_object_or_fail() {
    for (on_failure, wanted) in [(Value::Null, "result \"Created"), (json!("block"), "result failed")] {
        let (world, _model) = with_model([
            anthropic::tool_use("1", "Write", json!({"file_path": "a", "content": "x"})),
            anthropic::text("ok"),
        ]);
        let mut run = start(&world, &["--dangerously-skip-permissions"]);
        let groups =
            json!({"PreToolUse": [{"hookCallbackIds": ["h"], "timeout": 0.05, "onFailure": on_failure}]});
        run.write_stdin(hooks(groups)).write_stdin(user("go"));
        run.wait_for_stderr(
            "the client's hook `h` for PreToolUse failed: it did not answer within 0.05 seconds",
        );
        assert!(end(run).contains(wanted), "{on_failure}");
    }
    let (world, _model) =
        with_model([anthropic::tool_use("1", "Bash", json!({"command": "true"})), anthropic::text("ok")]);
    let mut run = start(&world, &["--dangerously-skip-permissions"]);
    run.write_stdin(hooks(json!({"PreToolUse": group("h", Some("Bash"))}))).write_stdin(user("go"));
    let deny = json!({"permissionDecision": "deny", "permissionDecisionReason": "not now"});
    called(&mut run, 0, json!({ "hookSpecificOutput": deny }));
    assert!(end(run).contains("result failed \"a hook denies: not now"));
}

/// Answers the messages of the handshake, and returns the next one after it.
fn connect(run: &mut Running, tools: Value) {
    for nth in 0..3 {
        let (id, question) = asked(run, "mcp_message", nth);
        assert_eq!(question["server_name"], "calc");
        let rpc = &question["message"];
        let result = match rpc["method"].as_str().expect("a message has a method") {
            "initialize" => json!({"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {}}),
            "tools/list" => json!({ "tools": tools }),
            _ => json!({}),
        };
        let response = json!({"jsonrpc": "2.0", "id": rpc["id"], "result": result});
        run.write_stdin(answer(&id, json!({ "mcp_response": response })));
    }
}

/// Both ways to name a server: in `initialize` (TypeScript) and in `--mcp-config` (Python).
#[test]
fn tools_in_the_client() {
    let config = json!({"mcpServers": {"calc": {"type": "sdk", "name": "calc"}}}).to_string();
    let add = json!([{"name": "add", "description": "Adds", "inputSchema": {"type": "object"}}]);
    for by_flag in [true, false] {
        let (world, model) = with_model([
            anthropic::tool_use("1", "mcp__calc__add", json!({"a": 1})),
            anthropic::text("Two."),
        ]);
        let mut more = vec!["--allowedTools", "mcp__calc__add"];
        if by_flag {
            more.extend(["--mcp-config", &config]);
        }
        let mut run = start(&world, &more);
        let servers = if by_flag { Value::Null } else { json!(["calc"]) };
        run.write_stdin(request("r", json!({"subtype": "initialize", "sdkMcpServers": servers})))
            .write_stdin(user("add"));
        connect(&mut run, add.clone());
        let (id, question) = asked(&mut run, "mcp_message", 3);
        assert_eq!(question["message"]["params"], json!({"name": "add", "arguments": {"a": 1}}));
        let content = json!([{"type": "text", "text": "2"}]);
        let response = json!({"jsonrpc": "2.0", "id": 1, "result": {"content": content}});
        run.write_stdin(answer(&id, json!({ "mcp_response": response })));
        run.wait_for_stdout("{\"type\":\"result\"");
        if by_flag {
            assert!(run.stdout().contains(r#"[{"name":"calc","status":"connected"}]"#));
        }
        let told = end(run);
        assert!(told.contains("result [{\"type\":\"text\",\"text\":\"2\"}]"), "{told}");
        assert!(model.request(0).json()["tools"].to_string().contains("mcp__calc__add"));
    }
}

/// A server that says it cannot is `failed`, and the session goes on without it.
#[test]
fn a_server_that_fails() {
    let (world, _model) = with_model([anthropic::text("ok")]);
    let mut run = start(&world, &[]);
    run.write_stdin(request("r", json!({"subtype": "initialize", "sdkMcpServers": ["calc"]})))
        .write_stdin(user("hi"));
    let (id, _) = asked(&mut run, "mcp_message", 0);
    let failed = json!({"subtype": "error", "request_id": id, "error": "it is gone"});
    run.write_stdin(format!("{}\n", json!({"type": "control_response", "response": failed})));
    run.wait_for_stderr("the MCP server `calc` failed: it is gone")
        .wait_for_stdout(r#"{"name":"calc","status":"failed"}"#);
    assert_eq!(end(run), "init\nsays \"ok\"\nover success \"ok\" completed turns=1");
}

/// `updatedMCPToolOutput`: what the model reads of a tool of a server is what the hook makes of it.
#[test]
fn an_output_that_a_hook_edits() {
    let add = json!([{"name": "add", "description": "Adds", "inputSchema": {"type": "object"}}]);
    let (world, model) =
        with_model([anthropic::tool_use("1", "mcp__calc__add", json!({"a": 1})), anthropic::text("ok")]);
    let mut run = start(&world, &["--allowedTools", "mcp__calc__add"]);
    let hooks = json!({"PostToolUse": group("post", None)});
    run.write_stdin(request(
        "r",
        json!({"subtype": "initialize", "sdkMcpServers": ["calc"], "hooks": hooks}),
    ))
    .write_stdin(user("add"));
    connect(&mut run, add);
    let (id, _) = asked(&mut run, "mcp_message", 3);
    let content = json!([{"type": "text", "text": "the secret is 2"}]);
    let response = json!({"jsonrpc": "2.0", "id": 1, "result": {"content": content}});
    run.write_stdin(answer(&id, json!({ "mcp_response": response })));
    let edited = json!([{"type": "text", "text": "edited"}]);
    let output = json!({"hookEventName": "PostToolUse", "updatedMCPToolOutput": edited});
    called(&mut run, 0, json!({ "hookSpecificOutput": output }));
    end(run);
    let read = model.request(1).json()["messages"].to_string();
    assert!(read.contains("edited") && !read.contains("the secret"), "{read}");
}
