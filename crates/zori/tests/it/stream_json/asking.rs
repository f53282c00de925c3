//! `can_use_tool`, interrupts and changes of mode and model while the client is there.

use serde_json::json;
use zori_testkit::anthropic;
use zori_testkit::gate::Gate;
use zori_testkit::reply::Reply;
use zori_testkit::running::Running;

use super::{answer, asked, outline, request, start, told, user};
use crate::world::with_model;

const ASK: &[&str] = &["--permission-prompt-tool", "stdio"];

fn write(id: &str) -> anthropic::Message {
    anthropic::tool_use(id, "Write", json!({"file_path": "a.txt", "content": "model"}))
}

pub(super) fn wait_over(run: &mut Running, count: usize) {
    run.wait_until("the turn's end", |run| run.stdout().matches("{\"type\":\"result\"").count() == count);
}

/// What runs is what the client made of it; what it denies is told in its words.
#[test]
fn allowed_changed_and_denied() {
    let (world, model) = with_model([
        write("1"),
        anthropic::tool_use("2", "Bash", json!({"command": "touch b"})),
        anthropic::text("ok"),
    ]);
    let mut run = start(&world, ASK);
    run.write_stdin(user("go"));
    let (id, question) = asked(&mut run, "can_use_tool", 0);
    assert_eq!(question["input"], json!({"file_path": "a.txt", "content": "model"}));
    assert_eq!((&question["tool_name"], &question["tool_use_id"]), (&json!("Write"), &json!("1")));
    let changed = json!({"file_path": "a.txt", "content": "client"});
    run.write_stdin(answer(&id, json!({"behavior": "allow", "updatedInput": changed})));
    let (id, _) = asked(&mut run, "can_use_tool", 1);
    run.write_stdin(answer(&id, json!({"behavior": "deny", "message": "no shell"})));
    wait_over(&mut run, 1);
    // An answer that comes twice, and one to nothing, are told and change nothing (IO-7).
    run.write_stdin(answer(&id, json!({"behavior": "allow"}))).wait_for_stderr("no such question is open");
    run.close_stdin();
    let output = run.finish();
    assert_eq!(world.read("a.txt"), "client");
    assert!(!world.work().join("b").exists());
    let said = outline(&output.stdout());
    let said: Vec<_> = said.lines().filter(|line| !line.starts_with("asks")).collect();
    insta::assert_snapshot!(said.join("\n"), @r#"
    init
    calls Write {"file_path":"a.txt","content":"model"}
    result "Created $WORK/a.txt (6 bytes)"
    calls Bash {"command":"touch b"}
    result failed "no shell"
    says "ok"
    over success "ok" completed turns=3
    "#);
    assert_eq!(output.code(), Some(0));
    // All that the model reads of the change is its result.
    assert!(model.request(1).conversation().contains("model"), "{}", model.request(1).conversation());
}

/// Chapter 6: silence is a no after `approval_timeout_secs`, and the question is taken back.
#[test]
fn an_answer_that_does_not_come() {
    let (world, _model) = with_model([write("1"), anthropic::text("ok")]);
    world.write(world.base().join("config.toml"), "approval_timeout_secs = 1\n");
    let mut run = start(&world, ASK);
    run.write_stdin(user("go"));
    let (id, _) = asked(&mut run, "can_use_tool", 0);
    wait_over(&mut run, 1);
    run.close_stdin();
    let output = run.finish();
    let withdrawn = json!({"type": "control_cancel_request", "request_id": id}).to_string();
    assert!(output.stdout().contains(&withdrawn), "{output}");
    assert!(output.stdout().contains("nobody has answered in time (`approval_timeout_secs`)"), "{output}");
    assert!(!world.work().join("a.txt").exists());
    assert_eq!(output.code(), Some(0));
}

/// Rules and a mode that come with an approval hold from then on.
#[test]
fn an_approval_for_more() {
    let bash = |id: &str| anthropic::tool_use(id, "Bash", json!({"command": "touch b"}));
    let (world, _model) = with_model([bash("1"), bash("2"), write("3"), anthropic::text("ok")]);
    let mut run = start(&world, ASK);
    run.write_stdin(user("go"));
    let (id, question) = asked(&mut run, "can_use_tool", 0);
    let rule = &question["permission_suggestions"][0];
    assert_eq!(rule["rules"], json!([{"toolName": "Bash", "ruleContent": "touch b"}]));
    let mode = json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"});
    let never = json!({"type": "removeRules", "rules": [], "destination": "session"});
    run.write_stdin(answer(&id, json!({"behavior": "allow", "updatedPermissions": [rule, mode, never]})));
    wait_over(&mut run, 1);
    run.close_stdin();
    let output = run.finish();
    let asked_once = output.stdout().matches("can_use_tool").count();
    assert_eq!((asked_once, world.read("a.txt").as_str()), (1, "model"), "{output}");
    assert!(output.stdout().contains("\"permissionMode\":\"acceptEdits\""), "{output}");
    assert_eq!(
        output.stderr(),
        "Warning: the permission update `removeRules` is not possible; rules only add up here\n"
    );
}

/// `interrupt: true` ends the turn, and the next prompt works.
#[test]
fn a_denial_that_ends_the_turn() {
    let (world, _model) = with_model([write("1"), anthropic::text("next")]);
    let mut run = start(&world, ASK);
    run.write_stdin(user("go"));
    let (id, _) = asked(&mut run, "can_use_tool", 0);
    run.write_stdin(answer(&id, json!({"behavior": "deny", "message": "stop", "interrupt": true})));
    run.write_stdin(user("again"));
    wait_over(&mut run, 2);
    run.close_stdin();
    let output = run.finish();
    let said = told(&output);
    let (_, after) = said.split_once("result failed").unwrap();
    insta::assert_snapshot!(after, @r#"
     "stop"
    note [Request interrupted by user for tool use]
    over error_during_execution is_error ["Request was aborted"] aborted_tools turns=3
    init
    says "next"
    over success "next" completed turns=1
    ------- stderr -------

    ^C Interrupted.
    [exit status: 0]
    "#);
}

/// A question is taken back before the interrupt is answered; then the rest of the turn.
#[test]
fn an_interrupt_while_asked() {
    let (world, _model) = with_model([write("1")]);
    let mut run = start(&world, ASK);
    run.write_stdin(user("go"));
    let (id, _) = asked(&mut run, "can_use_tool", 0);
    run.write_stdin(request("i", json!({"subtype": "interrupt"})));
    wait_over(&mut run, 1);
    // Too late (IO-7).
    run.write_stdin(answer(&id, json!({"behavior": "allow"}))).close_stdin();
    let output = run.finish();
    let said = outline(&output.stdout());
    let (_, after) = said.split_once("control_cancel_request").unwrap();
    insta::assert_snapshot!(after, @r#"

    answers i null
    result failed "[Request interrupted by user for tool use]"
    note [Request interrupted by user for tool use]
    over error_during_execution is_error ["Request was aborted"] aborted_tools turns=3
    "#);
    assert_eq!(output.code(), Some(1));
    assert!(!world.work().join("a.txt").exists());
}

#[test]
fn an_interrupt_of_a_stream() {
    let gate = Gate::new();
    let hanging = anthropic::text("one two three").reply().wait_after(3, &gate);
    let (world, _model) = with_model([hanging, anthropic::text("next").into()]);
    let mut run = start(&world, &["--include-partial-messages"]);
    run.write_stdin(user("go")).wait_for_stdout("text_delta");
    run.write_stdin(request("i", json!({"subtype": "interrupt"}))).write_stdin(user("again"));
    wait_over(&mut run, 2);
    // Without a turn it is only answered.
    run.write_stdin(request("j", json!({"subtype": "interrupt"}))).wait_for_stdout("\"request_id\":\"j\"");
    run.close_stdin();
    let output = run.finish();
    let said = outline(&output.stdout());
    let said: Vec<_> = said.lines().filter(|line| !line.starts_with("piece")).collect();
    insta::assert_snapshot!(said.join("\n"), @r#"
    init
    requesting
    answers i null
    says "one " (cut)
    note [Request interrupted by user]
    over error_during_execution is_error ["Request was aborted"] aborted_streaming turns=2
    init
    requesting
    says "next"
    over success "next" completed turns=1
    answers j null
    "#);
    assert_eq!(output.code(), Some(0));
}

/// Every request has an answer, before, in and after a turn; what cannot be done is an error.
#[test]
fn requests_at_any_time() {
    let (world, model) = with_model([anthropic::text("ok")]);
    let mut run = start(&world, ASK);
    for (id, wanted) in [
        ("1", json!({"subtype": "set_permission_mode", "mode": "acceptEdits"})),
        ("2", json!({"subtype": "set_permission_mode", "mode": "bypassPermissions"})),
        ("3", json!({"subtype": "set_permission_mode", "mode": "frob"})),
        ("4", json!({"subtype": "set_model", "model": "claude-sonnet-4-5"})),
        ("5", json!({"subtype": "set_model", "model": "openai:gpt-5"})),
        ("6", json!({"subtype": "set_max_thinking_tokens", "max_thinking_tokens": null})),
        ("7", json!({"subtype": "mcp_status"})),
        ("8", json!({"subtype": "stop_task"})),
        ("9", json!({})),
    ] {
        run.write_stdin(request(id, wanted));
    }
    run.write_stdin(user("go"));
    wait_over(&mut run, 1);
    run.write_stdin(request("10", json!({"subtype": "get_context_usage"}))).close_stdin();
    let output = run.finish();
    let said = outline(&output.stdout());
    let said: Vec<_> = said.lines().filter(|line| !line.starts_with("answers 3 ")).collect();
    insta::assert_snapshot!(said.join("\n"), @r#"
    answers 1 {"mode":"acceptEdits"}
    answers 2 "the mode bypassPermissions was not permitted when the program started; `--allow-dangerously-skip-permissions` permits it"
    answers 4 null
    answers 5 "this session is with `anthropic`"
    answers 6 null
    answers 7 {"mcpServers":[]}
    answers 8 "Unsupported control request subtype: stop_task"
    answers 9 "the request has no `subtype`"
    init
    says "ok"
    over success "ok" completed turns=1
    answers 10 {"categories":[{"name":"Messages","tokens":15,"color":"blue"}],"totalTokens":15,"maxTokens":200000,"rawMaxTokens":200000,"percentage":0,"model":"claude-sonnet-4-5"}
    "#);
    assert!(output.stdout().contains("\"permissionMode\":\"acceptEdits\""), "{output}");
    assert_eq!(model.request(0).json()["model"], "claude-sonnet-4-5");
}

/// Nobody to ask is a denial, and the turn goes on; rules and modes need nobody.
#[test]
fn nobody_to_ask() {
    let (output, world) = super::talk([write("1"), anthropic::text("ok")], &[], &user("go"));
    insta::assert_snapshot!(told(&output), @r#"
    init
    calls Write {"file_path":"a.txt","content":"model"}
    denied Write
    result failed "approval_unavailable: mode default asks about W: Creates or edits inside a workspace root, and nobody can be asked in this run. Do it another way, or tell the user what would have to be allowed."
    says "ok"
    over success "ok" completed turns=2
    [exit status: 0]
    "#);
    assert!(!world.work().join("a.txt").exists());
    for more in [
        &["--allowedTools", "Write"][..],
        &["--permission-mode", "acceptEdits"],
        &["--dangerously-skip-permissions"],
    ] {
        let (output, world) = super::talk([write("1"), anthropic::text("ok")], more, &user("go"));
        assert_eq!((output.code(), world.read("a.txt").as_str()), (Some(0), "model"), "{more:?} {output}");
    }
}

/// SIGINT ends the turn with its `result`, SIGTERM too; both end the program.
#[test]
fn signals() {
    for (terminate, code) in [(false, 130), (true, 143)] {
        let gate = Gate::new();
        let (world, model) = with_model([anthropic::text("one two").reply().wait_after(3, &gate)]);
        let mut run = start(&world, &["--include-partial-messages"]);
        run.write_stdin(user("go"));
        model.wait_for_requests(1);
        run.wait_for_stdout("text_delta");
        if terminate {
            run.terminate()
        } else {
            run.interrupt()
        };
        let output = run.finish();
        assert_eq!(output.code(), Some(code), "{output}");
        assert!(outline(&output.stdout()).contains("over error_during_execution is_error"), "{output}");
    }
}

/// What is not built is an error that names it, and no request is left without an answer.
#[test]
fn requests_that_are_not_built() {
    let rare = ["stop_task", "frobnicate"];
    let lines: String = rare.iter().map(|name| request(name, json!({ "subtype": name }))).collect();
    let (output, _world) = super::talk::<Reply>([], &[], &lines);
    let expected: Vec<_> = rare
        .iter()
        .map(|name| format!("answers {name} \"Unsupported control request subtype: {name}\""))
        .collect();
    assert_eq!(outline(&output.stdout()), expected.join("\n"));
    assert_eq!((output.stderr().as_str(), output.code()), ("", Some(0)));
}

/// MCP servers that are not there cannot be changed.
#[test]
fn servers_that_are_not_there() {
    let toggle = json!({"subtype": "mcp_toggle", "serverName": "s", "enabled": false});
    let lines = request("a", json!({"subtype": "mcp_reconnect", "serverName": "s"}))
        + &request("b", toggle)
        + &request("c", json!({"subtype": "mcp_toggle"}));
    let (output, _world) = super::talk::<Reply>([], &[], &lines);
    let expected = [
        "answers a \"Server not found: s\"",
        "answers b \"Server not found: s\"",
        "answers c \"mcp_toggle: `serverName` and `enabled` are needed\"",
    ];
    assert_eq!(outline(&output.stdout()), expected.join("\n"));
}

/// A folder that comes with an approval is one for tools; the sandbox was laid out before, and that is said.
#[test]
fn a_folder_that_the_sandbox_does_not_know() {
    for (sandbox, warned) in [(&[][..], true), (&["--sandbox", "off"], false)] {
        let (world, _model) = with_model([write("1"), anthropic::text("ok")]);
        let more = world.home().canonicalize().unwrap().join("more");
        std::fs::create_dir(&more).unwrap();
        let mut run = start(&world, &[ASK, sandbox].concat());
        run.write_stdin(user("go"));
        let (id, _) = asked(&mut run, "can_use_tool", 0);
        let update = json!({"type": "addDirectories", "directories": [more], "destination": "session"});
        run.write_stdin(answer(&id, json!({"behavior": "allow", "updatedPermissions": [update]})));
        wait_over(&mut run, 1);
        run.close_stdin();
        let stderr = run.finish().stderr();
        assert_eq!(stderr.contains("but commands in the sandbox cannot write there"), warned, "{stderr}");
        // One fact is one warning.
        assert_eq!(stderr.matches("Warning:").count(), usize::from(warned), "{stderr}");
    }
}

/// A client that reads the state of the session knows when it is waited for.
#[test]
fn the_state_of_the_session() {
    let (mut world, _model) = with_model([write("1"), anthropic::text("ok")]);
    world.set_var("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1");
    let mut run = start(&world, ASK);
    run.write_stdin(user("go"));
    let (id, _) = asked(&mut run, "can_use_tool", 0);
    run.write_stdin(answer(&id, json!({"behavior": "allow"})));
    run.wait_for_stdout("\"state\":\"idle\"").close_stdin();
    let all = super::lines(&run.finish().stdout());
    let states: Vec<_> = all.iter().filter_map(|line| line["state"].as_str()).collect();
    assert_eq!(states, ["running", "requires_action", "running", "idle"]);
    assert_eq!(all.last().unwrap()["state"], "idle");
}

/// ASK-2: `AskUserQuestion` is asked as the SDKs expect it, and answered in the input.
#[test]
fn a_question_of_the_model() {
    let options = json!([{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]);
    let questions = json!([
        {"question": "Which colour?", "header": "Colour", "options": options, "multiSelect": false},
        {"question": "Which sizes?", "header": "Size", "options": options, "multiSelect": true},
    ]);
    let asks = |id: &str| anthropic::tool_use(id, "AskUserQuestion", json!({ "questions": questions }));
    let (world, model) = with_model([asks("1"), asks("2"), anthropic::text("ok")]);
    let mut run = start(&world, ASK);
    run.write_stdin(user("go"));
    let (id, question) = asked(&mut run, "can_use_tool", 0);
    assert_eq!(
        (&question["tool_name"], &question["input"]["questions"]),
        (&json!("AskUserQuestion"), &questions)
    );
    let answers = json!({"Which colour?": "Blue", "Which sizes?": "Red, Blue"});
    let input = json!({"questions": questions, "answers": answers});
    run.write_stdin(answer(&id, json!({"behavior": "allow", "updatedInput": input})));
    let (id, _) = asked(&mut run, "can_use_tool", 1);
    run.write_stdin(answer(&id, json!({"behavior": "allow", "updatedInput": {"questions": questions}})));
    wait_over(&mut run, 1);
    run.close_stdin();
    let output = run.finish();
    let results: Vec<_> =
        (1..3).map(|n| model.request(n).messages().pop().unwrap()["content"][0]["content"].clone()).collect();
    assert_eq!(
        results,
        [
            "The user answered:\n\"Which colour?\" = \"Blue\"\n\"Which sizes?\" = \"Red, Blue\"",
            "nobody is there to answer; decide what is most sensible, and say in your reply what you decided",
        ],
        "{output}"
    );
    let structured = super::lines(&output.stdout());
    let told = structured.iter().find(|line| line["tool_use_result"]["answers"].is_object()).unwrap();
    assert_eq!(told["tool_use_result"]["answers"], answers);
}
