//! `--json`: events for programs, prompts and commands from them (`docs/contracts/json-events.md`).

mod session;

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::gate::Gate;
use zori_testkit::output::CommandOutput;
use zori_testkit::running::{Stdin, Stdout};

use crate::world::{with_model, world};

/// Which fields each event has beside `type` and `schema`, and no others.
const SCHEMA: &[(&str, &[&str])] = &[
    ("response_chunk", &["text"]),
    ("response_end", &[]),
    ("tool_call", &["tool", "input", "id"]),
    ("tool_result", &["id", "output", "exit_code"]),
    ("cost", &["input_tokens", "output_tokens", "cache_read_tokens", "estimated_usd", "session_id"]),
    ("error", &["message", "code"]),
    ("elicitation", &["prompt", "fields"]),
];

/// Returns the events of a stream, each of them held against the schema: every test reads its lines with this.
#[track_caller]
pub(super) fn events(stdout: &str) -> Vec<Value> {
    assert!(stdout.is_empty() || stdout.ends_with('\n'), "{stdout}");
    let event = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let fields = event.as_object().expect("an event is an object");
        let known = SCHEMA.iter().find(|(name, _)| fields["type"] == *name);
        let (_, known) = known.unwrap_or_else(|| panic!("no event of the schema: {line}"));
        assert_eq!(fields["schema"], 1, "{line}");
        for field in known.iter().filter(|field| **field != "session_id") {
            assert!(fields.contains_key(*field), "`{field}` is missing: {line}");
        }
        let extra =
            |name: &&String| !["type", "schema"].contains(&name.as_str()) && !known.contains(&name.as_str());
        assert_eq!(fields.keys().find(extra), None, "{line}");
        event
    };
    stdout.split_terminator('\n').map(event).collect()
}

/// The whole of a run, after its lines have been held against the schema.
#[track_caller]
fn checked(output: CommandOutput) -> String {
    events(&output.stdout());
    output.to_string()
}

#[test]
fn one_prompt_with_a_tool() {
    let (world, _model) = with_model([
        anthropic::text("I look.").tool_use(
            "t1",
            "bash",
            json!({"command": "echo out; echo err >&2; exit 3"}),
        ),
        anthropic::tool_use("t2", "read", json!({"path": "a.txt"})).tool_use("t3", "nonsense", json!({})),
        anthropic::text("Done."),
    ]);
    world.write("a.txt", "content\n");
    let output = world.run(&["--json", "-p", "go", "--no-save"]);
    insta::assert_snapshot!(checked(output), @r#"
    {"type":"response_chunk","schema":1,"text":"I "}
    {"type":"response_chunk","schema":1,"text":"look."}
    {"type":"tool_call","schema":1,"tool":"bash","input":{"command":"echo out; echo err >&2; exit 3"},"id":"t1"}
    {"type":"tool_result","schema":1,"id":"t1","output":"out\nerr\n","exit_code":3}
    {"type":"tool_call","schema":1,"tool":"read","input":{"path":"a.txt"},"id":"t2"}
    {"type":"tool_call","schema":1,"tool":"nonsense","input":{},"id":"t3"}
    {"type":"tool_result","schema":1,"id":"t3","output":"`nonsense` is not a tool; the tools are read, write, edit, bash, multi_edit, glob, grep, ls, apply_patch, web_fetch, web_search, todo_write, task, ask_user","exit_code":127}
    {"type":"tool_result","schema":1,"id":"t2","output":"content\n","exit_code":0}
    {"type":"response_chunk","schema":1,"text":"Done."}
    {"type":"response_end","schema":1}
    {"type":"cost","schema":1,"input_tokens":30,"output_tokens":15,"cache_read_tokens":0,"estimated_usd":0.00021}
    [exit status: 0]
    "#);
}

/// The three spellings are one setting, and a session that is saved can be found again.
#[test]
fn every_spelling() {
    let (mut world, _model) = with_model((0..5).map(|_| anthropic::text("Hi.")));
    for args in [
        &["exec", "--format", "json", "--session", "s", "-p", "a"][..],
        &["-p", "a", "--output", "jsonl", "--session", "s"],
        &["sessions", "resume", "s", "-p", "a", "--stream"],
        &["-o", "jsonl", "--session", "s", "-p", "a"],
    ] {
        let output = world.run(args);
        let events = events(&output.stdout());
        assert_eq!(events.last().unwrap()["session_id"], "s", "{args:?}");
        assert_eq!((events.len(), output.code()), (3, Some(0)), "{args:?}");
    }
    world.remove_var("ZORI_OUTPUT");
    world.write(world.base().join("config.toml"), "[cli]\njson = true\n");
    assert_eq!(events(&world.run(&["-p", "a"]).stdout()).len(), 3);
    let both = world.run(&["exec", "--json", "--output", "plain", "-p", "a"]);
    assert_eq!(both.code(), Some(2), "{both}");
}

/// A program that reads lines reads a failure as one, too: whatever is wrong, it is the last line.
#[test]
fn failures_before_the_first_turn() {
    let world = world();
    insta::assert_snapshot!(checked(world.run(&["exec", "--json", "-p", "hi", "--provider", "anthropic"])), @r#"
    {"type":"error","schema":1,"message":"ANTHROPIC_API_KEY is not set","code":"auth_error"}
    ------- stderr -------
    Error: ANTHROPIC_API_KEY is not set
    Hint: set ANTHROPIC_API_KEY to your Anthropic key
    Hint: or store it: `zori auth login --provider anthropic --with-token`
    Hint: a server on this machine (Ollama, llama.cpp, LM Studio, vLLM) needs none: `--provider ollama`
    Hint: `zori demo` shows what this program does without a key
    [exit status: 8]
    "#);
    insta::assert_snapshot!(checked(world.run(&["exec", "--json", "--retries", "many", "-p", "hi"])), @r#"
    {"type":"error","schema":1,"message":"`--retries` takes a whole number from 0 to 20, not `many`","code":"agent_error"}
    ------- stderr -------
    Error: `--retries` takes a whole number from 0 to 20, not `many`
    [exit status: 2]
    "#);
    world.write(world.base().join("config.toml"), "retries = true\n");
    insta::assert_snapshot!(checked(world.run(&["exec", "--json", "-p", "hi"])), @r#"
    {"type":"error","schema":1,"message":"$BASE/config.toml:1:11: `retries` must be a whole number from 0 to 20, not true","code":"agent_error"}
    ------- stderr -------
    Error: $BASE/config.toml:1:11: `retries` must be a whole number from 0 to 20, not true
    [exit status: 2]
    "#);
}

/// D-6, DECISIONS 24: a turn that fails says so, ends, and costs what it cost.
#[test]
fn a_provider_that_fails() {
    let (world, _model) = with_model([anthropic::http_error(400, "invalid_request_error", "no such thing")]);
    insta::assert_snapshot!(checked(world.run(&["--json", "-p", "hi", "--no-save"])), @r#"
    {"type":"error","schema":1,"message":"HTTP 400: no such thing","code":"provider_error"}
    {"type":"cost","schema":1,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"estimated_usd":0.0}
    ------- stderr -------
    Error [http_status]: HTTP 400: no such thing
      Details: {"error":{"message":"no such thing","type":"invalid_request_error"},"type":"error"}
    [exit status: 1]
    "#);
}

#[test]
fn ctrl_c() {
    let gate = Gate::new();
    let (world, _model) = with_model([anthropic::text("Some words").reply().wait_after(4, &gate)]);
    let mut run = world.start(world.cmd(&["--json", "-p", "hi", "--no-save"]), Stdin::Null, Stdout::Captured);
    run.wait_for_stdout("words").interrupt();
    insta::assert_snapshot!(checked(run.finish()), @r#"
    {"type":"response_chunk","schema":1,"text":"Some "}
    {"type":"response_chunk","schema":1,"text":"words"}
    {"type":"error","schema":1,"message":"Interrupted","code":"interrupted"}
    {"type":"response_end","schema":1}
    {"type":"cost","schema":1,"input_tokens":10,"output_tokens":1,"cache_read_tokens":0,"estimated_usd":0.00003}
    ------- stderr -------

    ^C Interrupted.
    [exit status: 130]
    "#);
}

/// IO-2: nobody reads, so nothing goes on; the gate never opens.
#[test]
fn a_reader_that_leaves() {
    let gate = Gate::new();
    let (world, model) = with_model([anthropic::text("one two").reply().wait_after(3, &gate)]);
    let run =
        world.start(world.cmd(&["--json", "-p", "hi", "--no-save"]), Stdin::Null, Stdout::ClosedAfter(0));
    assert_eq!(run.finish().to_string(), "[exit status: 1]");
    assert_eq!(model.count(), 1);
    drop(gate);
}

/// D-3: behind `-p` standard input is not read, so what is in it is there for others.
#[test]
fn a_prompt_leaves_standard_input_alone() {
    let (world, model) = with_model([anthropic::text("Hi.")]);
    let mut run = world.start(world.cmd(&["--json", "-p", "hi", "--no-save"]), Stdin::Open, Stdout::Captured);
    run.write_stdin("not a prompt\n").wait_for_stdout("\"cost\"");
    assert_eq!(run.finish().code(), Some(0));
    assert_eq!(model.request(0).conversation(), "user: hi\n");
}

/// FR-002: log lines are there before the first event, and on standard error only.
#[test]
fn log_lines() {
    let logged = |level: &str, args: &[&str]| {
        let (mut world, _model) = with_model([anthropic::text("Hi.")]);
        world.set_var("RUST_LOG", level);
        let output = world.run(&[args, &["--json", "-p", "hi", "--no-save"]].concat());
        assert_eq!((events(&output.stdout()).len(), output.code()), (3, Some(0)), "{output}");
        let stderr = output.stderr();
        let word = |line: &str| line.rsplit_once("] ").map_or(line, |(_, words)| words).to_owned();
        stderr.lines().map(word).collect::<Vec<_>>()
    };
    let info = [
        "session.started messages=0",
        "session.ready",
        "turn.started",
        "turn.finished requests=1 input=10 output=5",
        "session.ended turns=1",
    ];
    assert_eq!(logged("info", &[]), info);
    assert_eq!(logged("warn", &["--verbose"]), info);
    assert_eq!(logged("", &[]), [""; 0]);
    let all = logged("zori=trace", &["--quiet"]);
    assert!(all.contains(&"text bytes=3".to_owned()), "{all:?}");
    assert!(info.iter().all(|line| all.contains(&(*line).to_owned())), "{all:?}");
}

/// The demo is an agent command (DECISIONS 21).
#[test]
fn the_demo_as_events() {
    let output = world().run(&["demo", "--json"]);
    let events = events(&output.stdout());
    let count = |name: &str| events.iter().filter(|event| event["type"] == name).count();
    assert_eq!((count("response_end"), count("cost"), output.code()), (1, 1, Some(0)), "{output}");
    assert_eq!(count("tool_call"), count("tool_result"));
    assert!(count("tool_call") > 2, "{output}");
    assert_eq!(events.last().unwrap()["estimated_usd"], 0.0, "a model on this machine costs nothing");
}

/// SCR-3: what a tool brings to light is not handed on.
#[test]
fn secrets_are_taken_out() {
    let key = format!("ghp_{}", "x1Y2".repeat(9));
    let (world, _model) = with_model([
        anthropic::tool_use(
            "t1",
            "bash",
            json!({"command": format!("echo {key}; printf '\\342\\200\\250\\033'")}),
        ),
        anthropic::text("Done."),
    ]);
    let output = world.run(&["--json", "-p", "go", "--no-save"]);
    assert!(!output.to_string().contains(&key), "{output}");
    let result = events(&output.stdout()).into_iter().find(|event| event["type"] == "tool_result").unwrap();
    assert_eq!(result["output"], "[REDACTED]\n\u{2028}\u{1b}");
    assert!(!output.stdout().contains('\u{2028}'));
}
