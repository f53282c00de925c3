//! What a caller may ask for beside prompts: another model, settings, hook events, somebody else who is asked.

use serde_json::{Value, json};
use zori_testkit::anthropic;

use super::{answer, args, asked, lines, outline, request, start, talk, told, user};
use crate::world::{with_model, world};

/// The turn goes on with the other model, which is said in both places; the next turn begins with the first one.
#[test]
fn a_fallback_model() {
    let overloaded = || anthropic::http_error(529, "overloaded_error", "Overloaded");
    let replies =
        [overloaded(), overloaded(), anthropic::text("Hello.").into(), anthropic::text("Again.").into()];
    let (world, model) = with_model(replies);
    let more =
        ["--model", "claude-haiku-4-5", "--fallback-model", "sonnet", "--retries", "1", "--retry-delay", "0"];
    let output = world.run_with_stdin(&args(&more), [user("hi"), user("again")].concat());
    insta::assert_snapshot!(told(&output), @r#"
    init
    retry 1 529
    system informational
    says "Hello."
    over success "Hello." completed turns=1
    init
    says "Again."
    over success "Again." completed turns=1
    ------- stderr -------
    Retrying in 0.0s (1/1): HTTP 529: Overloaded
    Warning: `claude-haiku-4-5` is not available (HTTP 529: Overloaded); this turn goes on with `claude-sonnet-5-5`
    [exit status: 0]
    "#);
    let asked: Vec<_> = (0..4).map(|n| model.request(n).json()["model"].clone()).collect();
    assert_eq!(asked, ["claude-haiku-4-5", "claude-haiku-4-5", "claude-sonnet-5-5", "claude-haiku-4-5"]);
    let last = lines(&output.stdout()).pop().unwrap();
    let used: Vec<_> = last["modelUsage"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(used, ["claude-haiku-4-5", "claude-sonnet-5-5"]);
}

/// The same for people.
#[test]
fn a_fallback_model_for_people() {
    let overloaded = || anthropic::http_error(529, "overloaded_error", "Overloaded");
    let (world, _model) = with_model([overloaded(), anthropic::text("Hello.").into()]);
    let output = world.run(&[
        "exec",
        "-p",
        "hi",
        "--model",
        "claude-haiku-4-5",
        "--fallback-model",
        "claude-sonnet-4-6",
        "--retries",
        "0",
    ]);
    insta::assert_snapshot!(output, @"
    Hello.
    ------- stderr -------
    Warning: `claude-haiku-4-5` is not available (HTTP 529: Overloaded); this turn goes on with `claude-sonnet-4-6`
    [exit status: 0]
    ");
    for (model, why) in [
        ("claude-haiku-4-5", "Error: `--fallback-model` is the model itself, `claude-haiku-4-5`\n"),
        ("openai:gpt-5.4", "Error: `--fallback-model openai:gpt-5.4`: this session is with `anthropic`\n"),
    ] {
        let output =
            world.run(&["exec", "-p", "hi", "--model", "claude-haiku-4-5", "--fallback-model", model]);
        assert_eq!((output.stdout().as_str(), output.code()), ("", Some(2)), "{output}");
        assert!(output.stderr().starts_with(why), "{output}");
    }
}

/// Rules, mode, folders, variables, hooks and model count as if they had been typed; what is not known is named.
#[test]
fn settings() {
    let bash = |id: &str, command: &str| anthropic::tool_use(id, "Bash", json!({"command": command}));
    let (world, model) = with_model([
        bash("1", "touch denied"),
        bash("2", "echo $GREETING > said"),
        anthropic::tool_use("3", "Write", json!({"file_path": "../tmp/more/a.txt", "content": "a"})),
        anthropic::text("ok"),
    ]);
    std::fs::create_dir(world.tmp().join("more")).unwrap();
    let settings = json!({
        "model": "claude-sonnet-4-5",
        "theme": "dark",
        "permissions": {
            "allow": ["Bash(echo:*)"],
            "deny": ["Bash(touch:*)"],
            "defaultMode": "acceptEdits",
            "additionalDirectories": ["../tmp/more"],
        },
        "env": {"GREETING": "hello", "ANTHROPIC_API_KEY": "other"},
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "touch stopped"}]}]},
    });
    world.write("settings.json", settings.to_string());
    let output =
        world.run_with_stdin(&args(&["--settings", "settings.json", "--sandbox", "off"]), user("go"));
    insta::assert_snapshot!(told(&output), @r#"
    init
    calls Bash {"command":"touch denied"}
    denied Bash
    result failed "the rule `Bash(touch:*)` (--deny) denies touch denied"
    calls Bash {"command":"echo $GREETING > said"}
    result "(Bash completed with no output)"
    calls Write {"file_path":"../tmp/more/a.txt","content":"a"}
    result "Created $TMP/more/a.txt (1 bytes)"
    says "ok"
    over success "ok" completed turns=4
    ------- stderr -------
    Warning: `--settings`: `env.ANTHROPIC_API_KEY` is not used: set it in the environment of this program
    Warning: `--settings`: `theme` has no effect here
    [exit status: 0]
    "#);
    assert_eq!((world.read("said").as_str(), world.read("../tmp/more/a.txt").as_str()), ("hello\n", "a"));
    assert!(world.work().join("stopped").exists() && !world.work().join("denied").exists());
    assert_eq!(model.request(0).json()["model"], "claude-sonnet-4-5");
}

#[test]
fn settings_that_are_wrong() {
    let world = world();
    for (settings, why) in [
        ("{", "`--settings`: it is no JSON: "),
        ("missing.json", "`--settings`: cannot read missing.json: "),
        (r#"{"permissions":{"deny":"Bash"}}"#, "`--settings`: `permissions.deny` must be a list of strings"),
    ] {
        let output = world.run(&["-p", "x", "--output-format", "stream-json", "--settings", settings]);
        assert_eq!((output.stdout().as_str(), output.code()), ("", Some(2)), "{output}");
        assert!(output.stderr().contains(why), "{output}");
    }
}

/// Programs and callbacks alike: a line when each begins and when it is over.
#[test]
fn hook_events() {
    let (world, _model) =
        with_model([anthropic::tool_use("1", "Bash", json!({"command": "echo hi"})), anthropic::text("ok")]);
    let fails = json!({"type": "command", "command": "echo out; echo err >&2; exit 3"});
    let hooks = json!({"hooks": {"PostToolUse": [{"matcher": "Bash", "hooks": [fails]}]}});
    let settings = hooks.to_string();
    let more =
        ["--include-hook-events", "--settings", &settings, "--allowedTools", "Bash", "--sandbox", "off"];
    let mut run = start(&world, &more);
    let theirs = json!({"PreToolUse": [{"matcher": "Bash", "hookCallbackIds": ["h"]}]});
    run.write_stdin(request("0", json!({"subtype": "initialize", "hooks": theirs}))).write_stdin(user("go"));
    let (id, _) = asked(&mut run, "hook_callback", 0);
    run.write_stdin(answer(&id, json!({"systemMessage": "seen"})));
    run.close_stdin();
    let output = run.finish();
    let told: Vec<String> = lines(&output.stdout())
        .into_iter()
        .filter(|line| line["subtype"].as_str().is_some_and(|kind| kind.starts_with("hook_")))
        .map(|mut line| {
            let map = line.as_object_mut().unwrap();
            assert!(map.remove("uuid").is_some() && map.remove("session_id").is_some());
            Value::Object(map.clone()).to_string()
        })
        .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    {"type":"system","subtype":"hook_started","hook_id":"hook_1","hook_name":"PreToolUse:Bash","hook_event":"PreToolUse"}
    {"type":"system","subtype":"hook_response","hook_id":"hook_1","hook_name":"PreToolUse:Bash","hook_event":"PreToolUse","output":"{\"systemMessage\":\"seen\"}","stdout":"{\"systemMessage\":\"seen\"}","stderr":"","outcome":"success"}
    {"type":"system","subtype":"hook_started","hook_id":"hook_2","hook_name":"PostToolUse:Bash","hook_event":"PostToolUse"}
    {"type":"system","subtype":"hook_response","hook_id":"hook_2","hook_name":"PostToolUse:Bash","hook_event":"PostToolUse","output":"out\nerr\n","stdout":"out\n","stderr":"err\n","exit_code":3,"outcome":"error"}
    "#);
}

const PERMIT: &[&str] = &["--permission-prompt-tool", "mcp__gate__permit"];

/// A tool of the client's own server is asked in place of the client, and is not offered to the model.
#[test]
fn a_tool_that_is_asked() {
    let write =
        |id: &str| anthropic::tool_use(id, "Write", json!({"file_path": "a.txt", "content": "model"}));
    let (world, model) = with_model([write("1"), write("2"), anthropic::text("ok")]);
    let mut run = start(&world, PERMIT);
    let servers = json!({"subtype": "initialize", "sdkMcpServers": ["gate"]});
    run.write_stdin(request("0", servers)).write_stdin(user("go"));
    let reply =
        |message: Value| json!({"mcp_response": {"jsonrpc": "2.0", "id": message["id"], "result": {}}});
    for n in 0.. {
        let (id, question) = asked(&mut run, "mcp_message", n);
        let message = question["message"].clone();
        let mut answered = reply(message.clone());
        let result = &mut answered["mcp_response"]["result"];
        let params = &message["params"];
        match message["method"].as_str().unwrap() {
            "tools/list" => {
                *result = json!({"tools": [{"name": "permit", "description": "Asks", "inputSchema": {"type": "object"}}]});
            }
            "tools/call" => {
                let arguments = &params["arguments"];
                assert_eq!((&params["name"], &arguments["tool_name"]), (&json!("permit"), &json!("Write")));
                assert_eq!(arguments["input"], json!({"file_path": "a.txt", "content": "model"}));
                let said = match arguments["tool_use_id"].as_str().unwrap() {
                    "1" => json!({"behavior": "deny", "message": "not yet"}),
                    _ => {
                        json!({"behavior": "allow", "updatedInput": {"file_path": "a.txt", "content": "changed"}})
                    }
                };
                *result = json!({"content": [{"type": "text", "text": said.to_string()}]});
            }
            _ => {}
        }
        run.write_stdin(answer(&id, answered));
        if params["arguments"]["tool_use_id"] == "2" {
            break;
        }
    }
    run.wait_for_stdout("{\"type\":\"result\"").close_stdin();
    let output = run.finish();
    assert_eq!((world.read("a.txt").as_str(), output.code()), ("changed", Some(0)), "{output}");
    let said = outline(&output.stdout());
    assert!(said.contains("result failed \"not yet\"") && !said.contains("can_use_tool"), "{said}");
    assert!(!model.request(0).json()["tools"].to_string().contains("mcp__gate__permit"));
}

#[test]
fn a_tool_that_is_asked_and_not_there() {
    let (output, _world) = talk([anthropic::text("never")], PERMIT, &user("go"));
    insta::assert_snapshot!(told(&output), @"

    ------- stderr -------
    Error: `--permission-prompt-tool`: there is no tool `mcp__gate__permit`; no MCP server offers any
    Hint: `stdio` asks the program that reads
    [exit status: 2]
    ");
}

/// What is for the protocol alone says so where it is not spoken; the rest counts.
#[test]
fn without_the_protocol() {
    let (world, _model) = with_model([anthropic::text("Hello.")]);
    let output = world.run(&["exec", "-p", "hi", "--tools", "Read", "--add-dir", "missing"]);
    insta::assert_snapshot!(output, @"
    Hello.
    ------- stderr -------
    Warning: `--add-dir missing`: No such file or directory (os error 2); it is not added
    [exit status: 0]
    ");
}
