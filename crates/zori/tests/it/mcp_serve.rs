//! `zori mcp serve`, as another agent sees it: its tools, whole turns, questions, and ends.

use std::os::fd::OwnedFd;

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::gate::Gate;
use zori_testkit::output::CommandOutput;
use zori_testkit::running::{Running, Stdin, Stdout};
use zori_testkit::wait;

use crate::processes::{pids, wait_until_gone};
use crate::world::{with_model, world};

/// The first words of a client with these capabilities.
fn hello(capabilities: Value) -> Vec<Value> {
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": capabilities,
        "clientInfo": {"name": "test", "version": "1"}});
    vec![
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ]
}

fn call(id: i64, name: &str, arguments: Value) -> Value {
    let params = json!({"name": name, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

fn lines(messages: &[Value]) -> String {
    messages.iter().map(|message| format!("{message}\n")).collect()
}

/// A dialogue that ends with standard input: every answer, by its id.
fn dialogue(world: &TestEnv, args: &[&str], requests: &[Value]) -> (Vec<Value>, CommandOutput) {
    let all: Vec<_> = hello(json!({})).into_iter().chain(requests.iter().cloned()).collect();
    let output = world.run_with_stdin(&[&["mcp", "serve"], args].concat(), lines(&all));
    (messages(&output.stdout()), output)
}

fn messages(stdout: &str) -> Vec<Value> {
    let whole = stdout.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

fn answer(messages: &[Value], id: i64) -> &Value {
    let found = messages.iter().find(|message| message["id"] == json!(id) && message.get("method").is_none());
    found.unwrap_or_else(|| panic!("no answer to {id} in {messages:?}"))
}

/// What a call's answer says: its text, and whether it failed.
fn said(answer: &Value) -> (String, bool) {
    let result = &answer["result"];
    (result["content"][0]["text"].as_str().unwrap_or_default().to_owned(), result["isError"] == json!(true))
}

#[test]
fn what_is_offered() {
    let world = world();
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let (told, output) = dialogue(&world, &["--provider", "anthropic"], &[list]);
    let hello = &answer(&told, 1)["result"];
    assert_eq!(hello["protocolVersion"], "2025-06-18");
    assert_eq!(hello["capabilities"], json!({"tools": {}}));
    assert_eq!(
        (&hello["serverInfo"]["name"], &hello["serverInfo"]["version"]),
        (&json!("zori"), &json!(env!("CARGO_PKG_VERSION")))
    );
    let tools = answer(&told, 2)["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "read",
            "write",
            "edit",
            "bash",
            "multi_edit",
            "glob",
            "grep",
            "ls",
            "apply_patch",
            "web_fetch",
            "todo_write",
            "prompt"
        ]
    );
    assert_eq!(tools[0]["inputSchema"]["required"], json!(["path"]));
    assert_eq!(tools[11]["inputSchema"]["required"], json!(["prompt"]));
    assert_eq!((output.stderr().as_str(), output.code()), ("", Some(0)));
}

/// A version nobody knows is answered with one that the server speaks.
#[test]
fn other_versions() {
    let world = world();
    let mut words = hello(json!({}));
    words[0]["params"]["protocolVersion"] = json!("1999-01-01");
    let output = world.run_with_stdin(&["mcp", "serve", "--provider", "anthropic"], lines(&words));
    let version = messages(&output.stdout())[0]["result"]["protocolVersion"].as_str().unwrap().to_owned();
    assert!(version.as_str() >= "2025-03-26", "{version}");
}

/// Reads run without a question and without a key; a change nobody can be asked about does not, and says why.
#[test]
fn tools_and_the_policy() {
    let world = world();
    world.write("a.txt", "one\n");
    let (told, output) = dialogue(
        &world,
        &["--provider", "anthropic"],
        &[
            call(2, "read", json!({"path": "a.txt"})),
            call(3, "write", json!({"path": "a.txt", "content": "two\n"})),
            call(4, "read", json!({})),
            call(5, "teleport", json!({})),
        ],
    );
    let envelope =
        r#"{"ok":true,"data":{"path":"$WORK/a.txt","content":"one\n","truncated":false,"bytes":4}}"#;
    assert_eq!(said(answer(&told, 2)), (envelope.to_owned(), false));
    let (denied, failed) = said(answer(&told, 3));
    assert!(failed && denied.contains("approval_unavailable"), "{denied}");
    let (bad, failed) = said(answer(&told, 4));
    assert!(failed && bad.contains("invalid_input") && bad.contains("path"), "{bad}");
    let (unknown, failed) = said(answer(&told, 5));
    assert!(failed && unknown.contains("unknown_tool"), "{unknown}");
    assert_eq!(world.read("a.txt"), "one\n");
    assert_eq!(output.code(), Some(0));
}

#[test]
fn a_mode_that_lets_more_run() {
    let world = world();
    let write = call(2, "write", json!({"path": "a.txt", "content": "two\n"}));
    let (told, _) =
        dialogue(&world, &["--provider", "anthropic", "--permission-mode", "acceptEdits"], &[write]);
    assert!(!said(answer(&told, 2)).1, "{told:?}");
    assert_eq!(world.read("a.txt"), "two\n");
}

fn served(world: &TestEnv, args: &[&str], capabilities: Value) -> Running {
    let mut run = world.start(world.cmd(&[&["mcp", "serve"], args].concat()), Stdin::Open, Stdout::Captured);
    run.write_stdin(lines(&hello(capabilities)));
    run
}

/// Where the client can ask its user, it does; "always" holds for as long as the server runs.
#[test]
fn questions() {
    let world = world();
    let mut run =
        served(&world, &["--provider", "anthropic", "--sandbox", "off"], json!({"elicitation": {}}));
    run.write_stdin(lines(&[call(2, "bash", json!({"command": "touch made"}))]));
    run.wait_for_stdout("elicitation/create").wait_for_stdout("}\n");
    let asked = messages(&run.stdout()).pop().unwrap();
    let message = asked["params"]["message"].as_str().unwrap();
    assert!(message.contains("touch made"), "{message}");
    assert_eq!(asked["params"]["requestedSchema"]["required"], json!(["approve"]));
    let content = json!({"approve": true, "always": true});
    let yes =
        json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": content}});
    run.write_stdin(lines(&[yes, call(3, "bash", json!({"command": "touch made"}))]));
    run.wait_until("the second answer", |run| run.stdout().contains("\"id\":3"));
    run.close_stdin();
    let output = run.finish();
    let told = messages(&output.stdout());
    assert!(!said(answer(&told, 2)).1 && !said(answer(&told, 3)).1, "{told:?}");
    assert!(world.work().join("made").exists());
}

/// A whole turn: the model's own tools run, and each step is told to whoever wants to know.
#[test]
fn a_prompt() {
    let (world, model) = with_model([
        anthropic::text("Look.").tool_use("t1", "read", json!({"path": "a.txt"})),
        anthropic::text("It says one."),
        anthropic::text("Again."),
    ]);
    world.write("a.txt", "one\n");
    let mut ask = call(2, "prompt", json!({"prompt": "What is in a.txt?"}));
    ask["params"]["_meta"] = json!({"progressToken": "p"});
    let (told, _) = dialogue(&world, &[], &[ask]);
    let steps: Vec<_> = told.iter().filter(|message| message["method"] == "notifications/progress").collect();
    let step = |n: f64, text: &str| json!({"progressToken": "p", "progress": n, "message": text});
    let wanted = [step(1.0, "Look."), step(2.0, r#"read {"path":"a.txt"}"#), step(3.0, "It says one.")];
    assert_eq!(steps.iter().map(|message| message["params"].clone()).collect::<Vec<_>>(), wanted);
    let done = answer(&told, 2);
    assert_eq!(said(done), ("It says one.".to_owned(), false));
    assert_eq!(done["result"]["structuredContent"]["session_id"], "$SESSION");
    let id = world.session_files()[0].file_stem().unwrap().to_str().unwrap().to_owned();
    let (told, _) = dialogue(&world, &[], &[call(2, "prompt", json!({"prompt": "more", "session_id": id}))]);
    assert_eq!(said(answer(&told, 2)), ("Again.".to_owned(), false));
    assert!(model.request(2).conversation().starts_with("user: What is in a.txt?"));
    let (told, _) = dialogue(&world, &[], &[call(2, "prompt", json!({"prompt": "x", "session_id": "nope"}))]);
    assert_eq!(said(answer(&told, 2)), ("there is no session `nope`".to_owned(), true));
}

#[test]
fn a_prompt_without_a_key() {
    let world = world();
    let (told, _) =
        dialogue(&world, &["--provider", "anthropic"], &[call(2, "prompt", json!({"prompt": "x"}))]);
    let (text, failed) = said(answer(&told, 2));
    assert!(failed && text.contains("ANTHROPIC_API_KEY"), "{text}");
}

/// A cancelled call ends, with what it runs; the server goes on.
#[test]
fn cancelling() {
    let world = world();
    let mut run = served(&world, &["--provider", "anthropic", "--permission-mode", "yolo"], json!({}));
    run.write_stdin(lines(&[call(2, "bash", json!({"command": "echo $$ > pid; exec sleep 600"}))]));
    let pid = wait::poll(wait::BOUND, || {
        std::fs::read_to_string(world.work().join("pid")).ok().filter(|pid| pid.ends_with('\n'))
    });
    let process = format!("/proc/{}", pid.expect("the command starts").trim());
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}});
    run.write_stdin(lines(&[cancel, call(3, "ls", json!({}))]));
    run.wait_until("the next answer", |run| run.stdout().contains("\"id\":3"));
    wait::until("the command is gone", || !std::path::Path::new(&process).exists());
    run.close_stdin();
    assert_eq!(run.finish().code(), Some(0));
}

/// A signal ends a turn that runs, and the server.
#[test]
fn signals() {
    let gate = Gate::new();
    let (world, model) = with_model([anthropic::text("Some words").reply().wait_after(4, &gate)]);
    let mut run = served(&world, &[], json!({}));
    run.write_stdin(lines(&[call(2, "prompt", json!({"prompt": "x"}))]));
    model.wait_for_requests(1);
    run.terminate();
    assert_eq!(run.finish().code(), Some(143));
}

/// Bad lines cost themselves; the end before the first word is an end.
#[test]
fn bad_input() {
    let world = world();
    let mut input = b"{\"half\":\n17\n\xff\n".to_vec();
    input.extend_from_slice(&vec![b'x'; 50 << 20]);
    input.extend_from_slice(format!("\n{}", lines(&hello(json!({})))).as_bytes());
    input.extend_from_slice(
        b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n{\"jsonrpc\":\"2.0\",\"id\":3,\"me",
    );
    let output = world.run_with_stdin(&["mcp", "serve", "--provider", "anthropic"], input);
    let told = messages(&output.stdout());
    let codes: Vec<_> = told.iter().map(|message| message["error"]["code"].as_i64().unwrap_or(0)).collect();
    assert_eq!(codes[..5], [-32700, -32600, -32700, -32700, 0], "{told:?}");
    // The answer and the complaint about the line behind it come in either order.
    let mut last = codes[5..].to_vec();
    last.sort();
    assert_eq!(last, [-32700, 0], "{told:?}");
    assert_eq!((output.stderr().as_str(), output.code()), ("", Some(0)));
    for words in ["", "\n", "{"] {
        let output = world.run_with_stdin(&["mcp", "serve", "--provider", "anthropic"], words);
        assert_eq!((output.stderr().as_str(), output.code()), ("", Some(0)), "{words:?}");
    }
}

/// What comes before `initialize` is answered in words that name it, or ignored; the dialogue begins all the same.
#[test]
fn before_the_first_words() {
    let world = world();
    let list = |id: i64| json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"});
    let early = [
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 7, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 8, "method": "ping"}),
        list(9),
        call(10, "read", json!({"path": "a.txt"})),
        json!({"jsonrpc": "2.0", "id": 11, "method": "no/such/method"}),
        json!({"jsonrpc": "2.0", "id": 12, "method": "initialize", "params": {"protocolVersion": 3}}),
    ];
    let all: Vec<_> = early.into_iter().chain(hello(json!({}))).chain([list(2)]).collect();
    let output = world.run_with_stdin(&["mcp", "serve", "--provider", "anthropic"], lines(&all));
    let told = messages(&output.stdout());
    let error = |id: i64| &answer(&told, id)["error"];
    assert_eq!(answer(&told, 8)["result"], json!({}));
    let words = "`tools/list` came too early: `initialize` comes first";
    assert_eq!(error(9), &json!({"code": -32600, "message": words}));
    assert_eq!(error(10)["code"], -32600);
    assert_eq!(error(11)["message"], "`no/such/method` came too early: `initialize` comes first");
    let words = "`initialize` takes `protocolVersion`, `capabilities` and `clientInfo`";
    assert_eq!(error(12), &json!({"code": -32602, "message": words}));
    assert_eq!(answer(&told, 1)["result"]["serverInfo"]["name"], "zori");
    assert!(answer(&told, 2)["result"]["tools"].is_array(), "{told:?}");
    assert_eq!((told.len(), output.stderr().as_str(), output.code()), (7, "", Some(0)));
}

/// A client of the protocol without a handshake says with each request what `initialize` would say.
#[test]
fn without_a_handshake() {
    let world = world();
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"_meta": meta}});
    let output = world.run_with_stdin(&["mcp", "serve", "--provider", "anthropic"], lines(&[list]));
    let told = messages(&output.stdout());
    assert!(answer(&told, 2)["result"]["tools"].is_array(), "{told:?}");
    assert_eq!(output.code(), Some(0));
}

/// Methods nobody knows, and parameters that do not fit.
#[test]
fn requests_that_cannot_be() {
    let world = world();
    let ask = |id: i64, method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let (told, output) = dialogue(
        &world,
        &["--provider", "anthropic"],
        &[
            ask(2, "tools/teleport", json!({})),
            ask(3, "tools/call", json!({"arguments": {}})),
            ask(4, "tools/call", json!({"name": "read", "arguments": 17})),
            ask(5, "prompts/list", json!({})),
            ask(6, "resources/list", json!({})),
            ask(7, "resources/templates/list", json!({})),
        ],
    );
    let error = |id: i64| {
        let error = &answer(&told, id)["error"];
        (error["code"].as_i64().unwrap_or(0), error["message"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(error(2), (-32601, "there is no method `tools/teleport`".to_owned()));
    let takes = "`tools/call` takes `name`, which is a text, and `arguments`, which are an object";
    assert_eq!(error(3), (-32602, takes.to_owned()));
    assert_eq!(error(4), (-32602, takes.to_owned()));
    // What is not offered has no list, and not an empty one.
    for (id, method) in [(5, "prompts/list"), (6, "resources/list"), (7, "resources/templates/list")] {
        assert_eq!(error(id), (-32601, format!("there is no method `{method}`")));
    }
    assert_eq!((output.stderr().as_str(), output.code()), ("", Some(0)));
}

/// A client that dies in the middle of a call, with nothing to be read from it and nobody to read: the command is gone,
/// and so is the server.
#[test]
fn a_client_that_dies() {
    let world = world();
    let sleep = call(2, "bash", json!({"command": "echo $$ > pids; exec sleep 600"}));
    let words: Vec<_> = hello(json!({})).into_iter().chain([sleep]).collect();
    let args = ["mcp", "serve", "--provider", "anthropic", "--permission-mode", "yolo"];
    let (reader, writer) = std::io::pipe().unwrap();
    let answers = Stdout::File(OwnedFd::from(writer).into());
    let mut run = world.start(world.cmd(&args), Stdin::Bytes(lines(&words).into_bytes()), answers);
    run.wait_until("the command starts", |_| pids(&world).is_some_and(|pids| !pids.is_empty()));
    drop(reader);
    assert_eq!(run.finish().code(), Some(1));
    wait_until_gone(&pids(&world).unwrap());
}

/// O-035: what another agent would see, check by check, and what differs from the table of tools.
#[test]
fn a_server_that_is_as_it_should_be() {
    let world = world();
    let output = world.run(&["mcp", "validate", "--provider", "anthropic"]).success();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        output.to_string().replace(version, "$VERSION"),
        "\
ok      initialize     zori $VERSION, protocol 2025-06-18
ok      tools/list     12 tools
ok      schemas        each tool has a name, a description and the schema of an object
ok      drift          what it offers is what there is
ok      tools/call     an unknown tool is answered
ok      unknown method an unknown method is refused
ok      end            it ends when standard input does
[exit status: 0]"
    );
    let output = world.run(&["mcp", "validate", "--provider", "anthropic", "--output", "json"]).success();
    let data: Value = serde_json::from_str(&output.stdout()).unwrap();
    let none = json!({"added": [], "removed": [], "changed": [], "missing_from_mcp": []});
    assert_eq!(data["data"]["drift"], none);
    // Under another name the tools have other names, and so has the table.
    world.run(&["mcp", "validate", "--as", "yume-cli", "--provider", "anthropic"]).success();
}

/// O-035: one that does not come up says why, and the checks behind it are not made up.
#[test]
fn a_server_that_does_not_start() {
    let world = world();
    let output = world.run(&["mcp", "validate", "--provider", "nobody", "--output", "json"]);
    let answer: Value = serde_json::from_str(&output.stdout()).unwrap();
    assert_eq!((output.code(), &answer["error"]["code"]), (Some(1), &json!("CHECKS_FAILED")), "{answer}");
    let checks = answer["data"]["checks"].as_array().unwrap();
    let names: Vec<_> = checks.iter().map(|check| (&check["name"], &check["ok"])).collect();
    assert_eq!(names, [(&json!("initialize"), &json!(false)), (&json!("end"), &json!(false))]);
    let said = checks[1]["error"].as_str().unwrap();
    assert!(said.contains("exit status: 2") && said.contains("`nobody`"), "{said}");
}
