//! Forms of MCP servers in every front end: who fills them in, and the warning before a field that looks like a secret (MCP-70, NFR-008).

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::mcp::{asking_server, scripted_server};
use zori_testkit::running::{Running, Stdin, Stdout};
use zori_testkit::server::ModelServer;

use crate::acp::Editor;
use crate::screen_stage::Person;
use crate::stream_json;
use crate::world::with_model;

/// What is said of the field `api_key`.
const WARNING: &str = "WARNING: `api_key` looks like a secret, and goes to the MCP server `s`.";
/// Lets the tool run without a question.
const ALLOWED: &[&str] = &["--allow", "mcp__s", "--permission-mode", "default", "--sandbox", "off"];

fn secret_form() -> Value {
    json!({"type": "object", "properties": {"api_key": {"type": "string"}}, "required": ["api_key"]})
}

/// A world whose model calls the tool that asks.
fn asking(form: &Value, more: &str) -> (TestEnv, ModelServer) {
    let (world, model) =
        with_model([anthropic::tool_use("t1", "mcp__s__ask", json!({})), anthropic::text("Done.")]);
    let server = asking_server(&scripted_server(&world), form);
    world.write(world.base().join("config.toml"), format!("{server}{more}"));
    (world, model)
}

/// What the server was answered.
fn answered(model: &ModelServer) -> String {
    let content = model.request(1).messages().pop().expect("messages")["content"][0]["content"].clone();
    content.as_str().unwrap_or_default().to_owned()
}

fn start(world: &TestEnv, args: &[&str]) -> Running {
    world.start(world.cmd(&[args, ALLOWED].concat()), Stdin::Open, Stdout::Captured)
}

/// With `-y` a configured secret goes out, and a warning is said; what is missing declines, and that is said as well.
#[test]
fn nfr_008_with_yes() {
    let (world, model) = asking(&secret_form(), "[mcp.servers.s.answers]\napi_key = \"abc-123\"\n");
    let output = world.run(&["exec", "-y", "-p", "go", "--no-save"]).success();
    assert_eq!(
        answered(&model),
        r#"{"action":"accept","content":{"api_key":"abc-123"},"_meta":{"zori/warned":true}}"#
    );
    assert_eq!(output.stderr().lines().filter(|line| line.contains(WARNING)).count(), 1, "{output}");
    let (world, model) = asking(&secret_form(), "");
    let output = world.run(&["exec", "-y", "-p", "go", "--no-save"]).success();
    assert_eq!(answered(&model), r#"{"action":"decline"}"#);
    let said = "the form of the MCP server `s` is declined: `api_key` has no default and no answer";
    assert!(output.stderr().contains(said), "{output}");
}

/// An answer may be an entry of the vault, and its value is in no output.
#[test]
fn an_answer_of_the_vault() {
    let (world, model) = asking(&secret_form(), "[mcp.servers.s.answers]\napi_key = \"vault:FORM_KEY\"\n");
    world.run(&["vault", "init"]).success();
    world.run_with_stdin(&["vault", "set", "FORM_KEY"], "value-of-the-vault\n").success();
    let output = world.run(&["exec", "-y", "-p", "go", "--no-save"]).success();
    assert!(answered(&model).contains("value-of-the-vault"), "{}", answered(&model));
    assert!(!output.to_string().contains("value-of-the-vault"), "{output}");
    // Without the entry the server cannot be used, and that is said.
    world.run(&["vault", "rm", "FORM_KEY", "--yes"]).success();
    let output = world.run(&["mcp", "list"]);
    assert!(output.stdout().contains("FORM_KEY"), "{output}");
}

#[test]
fn nfr_008_json_events() {
    let (world, model) = asking(&secret_form(), "");
    let mut run = start(&world, &["--json", "--no-save"]);
    run.write_stdin("go\n");
    let event = elicitation(&mut run, 1);
    assert_eq!(
        event,
        json!({"type": "elicitation", "schema": 1,
            "prompt": format!("A form of an MCP server\n  | The MCP server `s` asks: Who are you?\n  | {WARNING} api_key"),
            "fields": [{"name": "api_key", "type": "string", "required": true,
                "description": format!("The MCP server `s` asks: Who are you?\n{WARNING} api_key"), "sensitive": true}]})
    );
    let answer = json!({"type": "elicitation_response", "action": "accept", "content": {"api_key": "k"}});
    run.write_stdin(format!("{answer}\n")).wait_for_stdout("\"cost\"").close_stdin();
    run.finish();
    assert_eq!(answered(&model), r#"{"action":"accept","content":{"api_key":"k"}}"#);
}

/// Returns the form of this number, from 1.
fn elicitation(run: &mut Running, number: usize) -> Value {
    let forms = |run: &Running| -> Vec<Value> {
        let stdout = run.stdout();
        let whole = stdout.rfind('\n').map_or("", |at| &stdout[..at]);
        let lines = whole.lines().map(|line| serde_json::from_str::<Value>(line).expect("lines of JSON"));
        lines.filter(|event| event["type"] == "elicitation").collect()
    };
    run.wait_until("a form", |run| forms(run).len() >= number);
    forms(run).swap_remove(number - 1)
}

/// D-13, MCP-72: a program gets a form field by field, with names, types, values and defaults as the server has them, and its answer says how it ends.
#[test]
fn a_form_by_json_events() {
    let form = json!({"type": "object", "required": ["age"], "properties": {
        "reason": {"type": "string", "title": "Why"}, "age": {"type": "integer"}, "fast": {"type": "boolean", "default": false},
        "level": {"type": "string", "enum": ["3", "1"], "default": "1"},
        "pets": {"type": "array", "items": {"enum": ["cat", "dog"]}}}});
    let (world, model) = asking(&form, "");
    let mut run = start(&world, &["--json", "--no-save"]);
    run.write_stdin("go\n");
    let fields = elicitation(&mut run, 1)["fields"].clone();
    let without_words = |mut field: Value| {
        field.as_object_mut().expect("a field").remove("description");
        field
    };
    let fields: Vec<Value> = fields.as_array().expect("fields").iter().cloned().map(without_words).collect();
    assert_eq!(
        Value::from(fields),
        json!([
            {"name": "reason", "type": "string", "required": false, "sensitive": false},
            {"name": "age", "type": "integer", "required": true, "sensitive": false},
            {"name": "fast", "type": "boolean", "required": false, "default": false, "sensitive": false},
            {"name": "level", "type": "enum", "required": false, "enum": ["3", "1"], "default": "1", "sensitive": false},
            {"name": "pets", "type": "enum", "required": false, "enum": ["cat", "dog"], "sensitive": false, "multiple": true},
        ])
    );
    let answer = |action: &str, content: Value| {
        format!("{}\n", json!({"type": "elicitation_response", "action": action, "content": content}))
    };
    // What does not fit is asked for again, alone.
    run.write_stdin("seven\n").wait_for_stdout("a form of several fields takes");
    let wrong = json!({"reason": "r", "age": "old", "level": "3", "fast": true, "pets": ["dog", "cat"]});
    run.write_stdin(answer("accept", wrong));
    let again = elicitation(&mut run, 2);
    assert_eq!(again["fields"][0]["name"], "age");
    assert_eq!(
        again["prompt"],
        "A form of an MCP server\n  | The MCP server `s` asks: `age` takes a whole number\n  | age"
    );
    run.write_stdin(answer("accept", json!({"age": 7}))).wait_for_stdout("\"cost\"").close_stdin();
    run.finish();
    let content = r#"{"reason":"r","age":7,"fast":true,"level":"3","pets":["dog","cat"]}"#;
    assert_eq!(answered(&model), format!(r#"{{"action":"accept","content":{content}}}"#));
    for action in ["decline", "cancel"] {
        let (world, model) = asking(&form, "");
        let mut run = start(&world, &["--json", "--no-save"]);
        run.write_stdin("go\n");
        elicitation(&mut run, 1);
        run.write_stdin(answer(action, json!({}))).wait_for_stdout("\"cost\"").close_stdin();
        run.finish();
        assert_eq!(answered(&model), format!(r#"{{"action":"{action}"}}"#));
    }
}

#[test]
fn nfr_008_claude_protocol() {
    let (world, model) = asking(&secret_form(), "");
    let mut run = stream_json::start(&world, &["--allowedTools", "mcp__s", "--sandbox", "off"]);
    run.write_stdin(stream_json::user("go"));
    let (id, question) = stream_json::asked(&mut run, "elicitation", 0);
    assert_eq!(question["message"], format!("{WARNING}\nWho are you?"));
    let answer = json!({"action": "accept", "content": {"api_key": "k"}});
    run.write_stdin(stream_json::answer(&id, answer)).wait_for_stdout("Done.").close_stdin();
    run.finish();
    assert_eq!(answered(&model), r#"{"action":"accept","content":{"api_key":"k"}}"#);
}

/// `mcp serve` passes the form on to its own client.
#[test]
fn nfr_008_mcp_serve() {
    let (world, model) = asking(&secret_form(), "");
    let mut run = start(&world, &["mcp", "serve"]);
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {}}, "clientInfo": {"name": "t", "version": "1"}}});
    let prompt = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "prompt", "arguments": {"prompt": "go"}}});
    run.write_stdin(format!("{hello}\n")).wait_for_stdout("\"id\":1");
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    run.write_stdin(format!("{initialized}\n{prompt}\n"));
    let asked = |run: &Running| -> Option<Value> {
        let stdout = run.stdout();
        let whole = stdout.rfind('\n').map_or("", |at| &stdout[..at]);
        let all = whole.lines().map(|line| serde_json::from_str::<Value>(line).expect("lines of JSON"));
        all.into_iter().find(|message| message["method"] == "elicitation/create")
    };
    run.wait_until("the form", |run| asked(run).is_some());
    let form = asked(&run).expect("it was waited for");
    let about = format!("The MCP server `s` asks: Who are you?\n{WARNING} api_key");
    assert_eq!(
        form["params"]["requestedSchema"],
        json!({"type": "object", "required": ["api_key"],
            "properties": {"api_key": {"type": "string", "description": about}}})
    );
    let result = json!({"action": "accept", "content": {"api_key": "k"}});
    let answer = json!({"jsonrpc": "2.0", "id": form["id"], "result": result});
    run.write_stdin(format!("{answer}\n")).wait_for_stdout("\"id\":2").close_stdin();
    run.finish();
    assert_eq!(answered(&model), r#"{"action":"accept","content":{"api_key":"k"}}"#);
}

/// Editors have choices and no text: a field to choose from is asked, with the warning; text that is required declines.
#[test]
fn nfr_008_editors() {
    let form = json!({"type": "object", "properties": {"api_key": {"type": "string", "enum": ["old", "new"]}},
        "required": ["api_key"]});
    let (world, model) = asking(&form, "");
    let mut editor = Editor::with_session(&world, ALLOWED);
    let id = editor.prompt("go");
    let asked = editor.next("session/request_permission").pop().expect("it was waited for");
    let shown = &asked["params"]["toolCall"]["content"][0]["content"]["text"];
    assert!(shown.as_str().is_some_and(|text| text.contains(WARNING)), "{asked}");
    editor.answer(&asked["id"], json!({"outcome": {"outcome": "selected", "optionId": "2"}}));
    editor.until(id);
    assert_eq!(answered(&model), r#"{"action":"accept","content":{"api_key":"new"}}"#);
    let (world, model) = asking(&secret_form(), "");
    Editor::with_session(&world, ALLOWED).turn("go");
    assert_eq!(answered(&model), r#"{"action":"decline"}"#);
}

/// KEY-6: on the screen the warning comes first, and what is typed is shown as dots.
#[test]
fn nfr_008_screen() {
    let (world, model) = asking(&secret_form(), "");
    let mut person = Person::open(&world, &[&["--no-save"], ALLOWED].concat());
    person.says("go").sees("? the MCP server s asks").sees("looks like a secret").pauses(1300);
    person.keys("w").sees("your answer? Enter says it").keys("k-123").sees("w •••••").pauses(400);
    // The server of this test says later what it was told, and that is its own affair.
    assert!(!person.pty.drawn().contains("k-123"), "it is nowhere on the screen");
    person.keys("\r").sees("Send this to `s`?").pauses(1300).keys("1").sees("Done.").leaves();
    assert_eq!(answered(&model), r#"{"action":"accept","content":{"api_key":"k-123"}}"#);
    let kept = std::fs::read_dir(world.base().join("drafts")).into_iter().flatten().count();
    assert_eq!(kept, 0, "and in no draft");
}

/// MCP-72: an editor that shows forms gets the form whole, text and all; what it does not fill in as asked is declined.
#[test]
fn nfr_008_editors_with_forms() {
    let ask = |answer: &dyn Fn(&mut Editor, &Value)| {
        let (world, model) = asking(&secret_form(), "");
        let mut editor = Editor::offering(&world, ALLOWED, json!({"elicitation": {"form": {}}}));
        editor.open();
        let id = editor.prompt("go");
        let asked = editor.next("elicitation/create").pop().expect("it was waited for");
        assert_eq!(
            asked["params"],
            json!({"mode": "form", "sessionId": "$SESSION", "requestedSchema": secret_form(),
                "message": format!("The MCP server `s` asks: {WARNING}\nWho are you?")})
        );
        answer(&mut editor, &asked["id"]);
        editor.until(id);
        answered(&model)
    };
    let accepted = ask(&|editor, id| {
        editor.answer(id, json!({"action": "accept", "content": {"api_key": "k"}}));
    });
    assert_eq!(accepted, r#"{"action":"accept","content":{"api_key":"k"}}"#);
    let cancelled = ask(&|editor, id| editor.answer(id, json!({"action": "cancel"})));
    assert_eq!(cancelled, r#"{"action":"cancel"}"#);
    for refusal in [json!({"action": "accept", "content": {}}), json!({"action": "decline"}), json!(7)] {
        let declined = ask(&|editor, id| editor.answer(id, refusal.clone()));
        assert_eq!(declined, r#"{"action":"decline"}"#, "{refusal}");
    }
}

/// MCP-70: with `-y` each kind of field by itself.
#[test]
fn fields_with_yes() {
    for (field, required, answers, wanted) in [
        (json!({"type": "string", "default": "d"}), true, "", r#"{"f":"d"}"#),
        (json!({"type": "string", "default": "d"}), true, "f = \"a\"", r#"{"f":"d"}"#),
        (json!({"type": "string"}), true, "f = \"a\"", r#"{"f":"a"}"#),
        (json!({"type": "integer"}), true, "f = 7", r#"{"f":7}"#),
        (json!({"type": "integer"}), true, "f = \"seven\"", ""),
        (json!({"type": "boolean"}), true, "", r#"{"f":true}"#),
        (json!({"type": "string", "enum": ["only"]}), true, "", r#"{"f":"only"}"#),
        (json!({"type": "string", "enum": ["a", "b"]}), true, "", ""),
        (json!({"type": "string", "enum": ["a", "b"]}), true, "f = \"b\"", r#"{"f":"b"}"#),
        (json!({"type": "string"}), false, "", "{}"),
        (json!({"type": "object"}), false, "", ""),
    ] {
        let required = if required { vec!["f"] } else { Vec::new() };
        let form = json!({"type": "object", "properties": {"f": field}, "required": required});
        let answers =
            if answers.is_empty() { String::new() } else { format!("[mcp.servers.s.answers]\n{answers}\n") };
        let (world, model) = asking(&form, &answers);
        world.run(&["exec", "-y", "-p", "go", "--no-save"]).success();
        let expected = match wanted {
            "" => r#"{"action":"decline"}"#.to_owned(),
            content => format!(r#"{{"action":"accept","content":{content}}}"#),
        };
        assert_eq!(answered(&model), expected, "{form} {answers}");
    }
}

/// MCP-70: a form opens while two calls run, of two servers that both ask: one form at a time, and each answer goes to who asked.
#[test]
fn a_form_while_two_calls_run() {
    let both = anthropic::Message::new()
        .tool_use("t1", "mcp__s__ask", json!({}))
        .tool_use("t2", "mcp__t__ask", json!({}))
        .stop("tool_use");
    let (world, model) = with_model([both, anthropic::text("Done.")]);
    let script = scripted_server(&world);
    let form = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}}).to_string();
    let table = |server: &str| {
        let form = form(server);
        format!(
            "[mcp.servers.{server}]\ncommand = \"sh\"\nargs = [{script:?}]\nenv = {{ FORM = {form:?} }}\n"
        )
    };
    world.write(world.base().join("config.toml"), table("s") + &table("t"));
    let mut run = start(&world, &["--json", "--no-save", "--allow", "mcp__s", "--allow", "mcp__t"]);
    run.write_stdin("go\n");
    for answered in 1..=2 {
        run.wait_until("a form", |run| run.stdout().matches("\"type\":\"elicitation\"").count() == answered);
        let last = run.stdout();
        let asked =
            last.lines().rfind(|line| line.contains("\"type\":\"elicitation\"")).expect("it was waited for");
        let asked: Value = serde_json::from_str(asked).expect("an event is JSON");
        let shown = asked["fields"][0]["description"].as_str().expect("a field is described");
        let server = if shown.contains("`s`") { "s" } else { "t" };
        let answer = json!({"type": "elicitation_response", "action": "accept", "content": {server: format!("for {server}")}});
        run.write_stdin(format!("{answer}\n"));
    }
    run.wait_for_stdout("\"cost\"").close_stdin();
    run.finish();
    let results = model.request(1).messages().pop().expect("a request has messages")["content"].clone();
    let told: Vec<_> =
        results.as_array().expect("two results").iter().map(|result| result["content"].clone()).collect();
    assert_eq!(
        told,
        [r#"{"action":"accept","content":{"s":"for s"}}"#, r#"{"action":"accept","content":{"t":"for t"}}"#]
    );
}
