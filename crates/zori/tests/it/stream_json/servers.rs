//! MCP servers that a client brings while its session runs, and their forms (MCP-72, MCP-93).

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::mcp::{config, scripted_server};
use zori_testkit::running::Running;
use zori_testkit::server::ModelServer;

use super::{answer, asked, lines, request, start, user};
use crate::world::with_model;

/// The names of the tools of a request that belong to MCP servers.
fn listed(model: &ModelServer, at: usize) -> Vec<String> {
    let body = model.request(at).json();
    let tools = body["tools"].as_array().expect("a request lists tools").clone();
    let names = tools.into_iter().map(|tool| tool["name"].as_str().expect("a name").to_owned());
    names.filter(|name| name.starts_with("mcp")).collect()
}

/// The lines that are complete.
fn said(run: &Running) -> Vec<Value> {
    let stdout = run.stdout();
    lines(stdout.rfind('\n').map_or("", |at| &stdout[..at]))
}

/// Sends a request, and returns what it is answered.
fn answered(run: &mut Running, id: &str, body: Value) -> Value {
    run.write_stdin(request(id, body));
    let found = |run: &Running| {
        let is_answer = |line: &Value| {
            line["type"] == "control_response" && line["response"]["request_id"].as_str() == Some(id)
        };
        said(run).into_iter().find(is_answer)
    };
    run.wait_until("the request is answered", |run| found(run).is_some());
    found(run).expect("it was just there")["response"]["response"].clone()
}

/// Says a prompt, and waits for the end of its turn.
fn turn(run: &mut Running, text: &str) {
    let over = |run: &Running| said(run).iter().filter(|line| line["type"] == "result").count();
    let before = over(run);
    run.write_stdin(user(text));
    run.wait_until("the turn is over", |run| over(run) > before);
}

/// A server comes between two prompts, is called, and goes; one that cannot be started is named with why.
#[test]
fn servers_set_while_a_session_runs() {
    let (world, model) = with_model([
        anthropic::text("One."),
        anthropic::tool_use("1", "mcp__s__add", json!({"a": 1, "b": 2})),
        anthropic::text("Two."),
        anthropic::text("Three."),
    ]);
    let script = scripted_server(&world);
    let mut run = start(&world, &["--allowedTools", "mcp__s", "--sandbox", "off"]);
    turn(&mut run, "one");
    assert_eq!(listed(&model, 0), Vec::<String>::new());
    let servers = json!({
        "s": {"command": "sh", "args": [script, "plain"]},
        "none": {"command": "/nowhere/at/all"},
        "bad": {"command": "sh", "url": "https://x.example"},
    });
    let set = answered(&mut run, "set", json!({"subtype": "mcp_set_servers", "servers": servers}));
    assert_eq!((&set["added"], &set["removed"]), (&json!(["s", "none"]), &json!([])), "{set}");
    assert_eq!(set["errors"]["bad"], "the MCP server `bad`: it has both a `command` and a `url`", "{set}");
    let none = set["errors"]["none"].as_str().expect("it cannot be started");
    assert!(none.starts_with("`/nowhere/at/all` cannot be started"), "{none}");
    turn(&mut run, "two");
    assert_eq!(listed(&model, 1).len(), 6, "{:?}", listed(&model, 1));
    let result = model.request(2).messages().pop().expect("messages")["content"][0]["content"].clone();
    assert_eq!(result, "3");
    let status = answered(&mut run, "status", json!({"subtype": "mcp_status"}));
    assert_eq!(status["mcpServers"][1]["status"], "connected", "{status}");
    assert_eq!(status["mcpServers"][1]["scope"], "dynamic", "{status}");
    let set = answered(&mut run, "unset", json!({"subtype": "mcp_set_servers", "servers": {}}));
    assert_eq!(set, json!({"added": [], "removed": ["none", "s"], "errors": {}}));
    turn(&mut run, "three");
    assert_eq!(listed(&model, 3), Vec::<String>::new());
    run.close_stdin();
    assert_eq!(run.finish().code(), Some(0));
}

/// What is set before the first prompt starts with the session, and a server of the command line stays unless it is named.
#[test]
fn servers_set_before_the_first_prompt() {
    let (world, model) = with_model([anthropic::text("One."), anthropic::text("Two.")]);
    let script = scripted_server(&world);
    let flag = config("f", &script, "plain");
    let mut run = start(&world, &["--sandbox", "off", "--mcp-config", &flag]);
    let servers = |name: &str| json!({name: {"type": "stdio", "command": "sh", "args": [script, "plain"]}});
    let set = |name: &str| json!({"subtype": "mcp_set_servers", "servers": servers(name)});
    assert_eq!(answered(&mut run, "a", set("s")), json!({"added": ["s"], "removed": [], "errors": {}}));
    assert_eq!(answered(&mut run, "b", set("t")), json!({"added": ["t"], "removed": ["s"], "errors": {}}));
    turn(&mut run, "one");
    let servers = |at: usize| {
        let mut names: Vec<_> = listed(&model, at)
            .iter()
            .map(|name| name.split("__").nth(1).unwrap_or_default().to_owned())
            .collect();
        names.dedup();
        names
    };
    assert_eq!(servers(0), ["f", "t"]);
    let bad = answered(&mut run, "c", json!({"subtype": "mcp_set_servers", "servers": {}}));
    assert_eq!(bad, json!({"added": [], "removed": ["t"], "errors": {}}));
    turn(&mut run, "two");
    assert_eq!(servers(1), ["f"]);
    run.write_stdin(request("d", json!({"subtype": "mcp_set_servers"})));
    run.wait_for_stdout("mcp_set_servers: `servers` is missing");
    run.close_stdin();
    assert_eq!(run.finish().code(), Some(0));
}

/// A server that lives in the client comes and goes like the others; while it is being asked, a turn may run.
#[test]
fn a_server_of_the_client_set_later() {
    let (world, model) = with_model([
        anthropic::text("One."),
        anthropic::tool_use("1", "mcp__calc__add", json!({"a": 1})),
        anthropic::text("Two."),
        anthropic::text("Three."),
    ]);
    let mut run = start(&world, &["--allowedTools", "mcp__calc"]);
    turn(&mut run, "one");
    let servers = json!({"calc": {"type": "sdk", "name": "calc"}});
    run.write_stdin(request("set", json!({"subtype": "mcp_set_servers", "servers": servers})));
    let tools = json!([{"name": "add", "description": "Adds", "inputSchema": {"type": "object"}}]);
    for (nth, result) in [json!({"protocolVersion": "2025-06-18"}), Value::Null, json!({ "tools": tools })]
        .into_iter()
        .enumerate()
    {
        let (id, question) = asked(&mut run, "mcp_message", nth);
        let response = json!({"jsonrpc": "2.0", "id": question["message"]["id"], "result": result});
        run.write_stdin(answer(&id, json!({ "mcp_response": response })));
    }
    run.wait_for_stdout(r#""added":["calc"]"#);
    run.write_stdin(user("two"));
    let (id, question) = asked(&mut run, "mcp_message", 3);
    assert_eq!(question["message"]["params"]["name"], "add");
    let result = json!({"content": [{"type": "text", "text": "2"}]});
    let response = json!({"jsonrpc": "2.0", "id": question["message"]["id"], "result": result});
    run.write_stdin(answer(&id, json!({ "mcp_response": response })));
    run.wait_for_stdout("Two.");
    assert_eq!(listed(&model, 1), ["mcp__calc__add"]);
    let set = answered(&mut run, "unset", json!({"subtype": "mcp_set_servers", "servers": {}}));
    assert_eq!(set, json!({"added": [], "removed": ["calc"], "errors": {}}));
    turn(&mut run, "three");
    assert_eq!(listed(&model, 3), Vec::<String>::new());
    run.close_stdin();
    run.finish();
}

/// MCP-72: a form is put to the client as its server wrote it; the answer is checked, and an error declines.
#[test]
fn a_form_of_a_server() {
    let told = |respond: &dyn Fn(&str) -> String| {
        let (world, model) =
            with_model([anthropic::tool_use("1", "mcp__s__ask", json!({})), anthropic::text("Done.")]);
        let config = config("s", &scripted_server(&world), "plain");
        let mut run =
            start(&world, &["--allowedTools", "mcp__s", "--sandbox", "off", "--mcp-config", &config]);
        run.write_stdin(user("go"));
        let (id, question) = asked(&mut run, "elicitation", 0);
        run.write_stdin(respond(&id)).wait_for_stdout("Done.").close_stdin();
        run.finish();
        let result = model.request(1).messages().pop().expect("messages")["content"][0]["content"].clone();
        (question, result.as_str().expect("text").to_owned())
    };
    let accept = |content: Value| move |id: &str| answer(id, json!({"action": "accept", "content": content}));
    let (question, result) = told(&accept(json!({"name": "Ada"})));
    assert_eq!(
        question,
        json!({
            "subtype": "elicitation", "mcp_server_name": "s", "message": "Who are you?", "mode": "form",
            "requested_schema": {"type": "object", "properties": {"name": {"type": "string"},
                "colour": {"type": "string", "enum": ["red", "blue"], "default": "blue"}}, "required": ["name"]},
            "property_order": ["name", "colour"],
        })
    );
    assert_eq!(result, r#"{"action":"accept","content":{"name":"Ada","colour":"blue"}}"#);
    assert_eq!(told(&accept(json!({"name": "Ada", "colour": "green"}))).1, r#"{"action":"decline"}"#);
    let error = |id: &str| {
        let response = json!({"subtype": "error", "request_id": id, "error": "no handler"});
        format!("{}\n", json!({"type": "control_response", "response": response}))
    };
    assert_eq!(told(&error).1, r#"{"action":"decline"}"#);
}

/// A form that is open when the turn is interrupted is taken back, and the session goes on.
#[test]
fn a_form_that_is_interrupted() {
    let (world, _model) =
        with_model([anthropic::tool_use("1", "mcp__s__ask", json!({})), anthropic::text("Later.")]);
    let config = config("s", &scripted_server(&world), "plain");
    let mut run = start(&world, &["--allowedTools", "mcp__s", "--sandbox", "off", "--mcp-config", &config]);
    run.write_stdin(user("go"));
    let (id, _) = asked(&mut run, "elicitation", 0);
    run.write_stdin(request("stop", json!({"subtype": "interrupt"})));
    run.wait_for_stdout(&json!({"type": "control_cancel_request", "request_id": id}).to_string());
    run.wait_for_stdout(r#""type":"result""#);
    run.write_stdin(user("again")).wait_for_stdout("Later.").close_stdin();
    assert_eq!(run.finish().code(), Some(0));
}
