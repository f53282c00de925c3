//! Sub-agents that somebody described: the caller on the command line and in `initialize`, the project and the user in files.

use std::path::Path;

use serde_json::{Value, json};
use zori_testkit::anthropic::{self, Message};
use zori_testkit::env::TestEnv;

use super::{args, lines, request, start, told, user};
use crate::world::{with_model, world};

const REVIEWER: &str = r#"{"reviewer":{"description":"Reviews code","prompt":"You review.","tools":["Read","Grep"],
    "model":"sonnet"},"plain":{"description":"Anything","prompt":"You are plain.","model":"inherit"}}"#;

fn task(id: &str, kind: &str) -> Message {
    anthropic::tool_use(id, "Task", json!({"description": "look", "prompt": "Look.", "subagent_type": kind}))
}

fn names(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().expect("there are tools").iter();
    tools.map(|tool| tool["name"].as_str().expect("tools have names")).collect()
}

fn about_task(request: &Value) -> &str {
    let tools = request["tools"].as_array().expect("there are tools").iter();
    let task = tools.clone().find(|tool| tool["name"] == "Task" || tool["name"] == "task");
    task.and_then(|task| task["description"].as_str()).expect("there is the tool")
}

fn agents(stdout: &str) -> Value {
    lines(stdout).iter().find(|line| line["subtype"] == "init").expect("the turn began")["agents"].clone()
}

/// The prompt is its system prompt, beside the project's guidelines; it has its tools and its model and nothing more.
#[test]
fn on_the_command_line() {
    let (world, model) = with_model([
        task("t1", "reviewer"),
        anthropic::tool_use("c1", "Bash", json!({"command": "touch made"})),
        anthropic::text("Good."),
        task("t2", "plain"),
        anthropic::text("Plain."),
        anthropic::text("Done."),
    ]);
    world.write("AGENTS.md", "Be kind.");
    let more = ["--agents", REVIEWER, "--allowedTools", "Task,Bash", "--system-prompt", "Main."];
    let output = world.run_with_stdin(&args(&more), user("go"));
    insta::assert_snapshot!(told(&output), @r#"
    init
    calls Task {"description":"look","prompt":"Look.","subagent_type":"reviewer"}
    system task_started
    note Look.
    calls Bash {"command":"touch made"}
    result failed "<tool_use_error>Error: No such tool available: Bash</tool_use_error>"
    says "Good."
    system task_notification
    result "Good."
    calls Task {"description":"look","prompt":"Look.","subagent_type":"plain"}
    system task_started
    note Look.
    says "Plain."
    system task_notification
    result "Plain."
    says "Done."
    over success "Done." completed turns=3
    [exit status: 0]
    "#);
    assert_eq!(agents(&output.stdout()), json!(["reviewer", "plain", "general-purpose"]));
    assert!(!world.work().join("made").exists());
    let sub = model.request(1).json();
    let guidelines = world.work().join("AGENTS.md");
    let told = format!("You review.\n\n# Project Context\n\n## {}\n\nBe kind.", guidelines.display());
    assert_eq!(sub["system"][0]["text"], told);
    assert_eq!((names(&sub), &sub["model"]), (vec!["Read", "Grep"], &json!("claude-sonnet-5-5")));
    let main = model.request(0).json();
    insta::assert_snapshot!(about_task(&main), @"
    Hand a task to a sub-agent with the same tools and a conversation of its own; its last message is the result. Good for searches and side work. Several calls in one reply run side by side. The kinds of sub-agents (`subagent_type`):
    - reviewer: Reviews code
    - plain: Anything
    - general-purpose: Searches and side work of any kind
    ");
    assert_eq!(model.request(4).json()["model"], main["model"]);
}

/// The same from `initialize`, whose answer lists them; and there they come before the command line's.
#[test]
fn in_initialize() {
    let (world, model) =
        with_model([task("t1", "reviewer"), anthropic::text("Good."), anthropic::text("Done.")]);
    let mut run = start(&world, &["--agents", REVIEWER, "--allowedTools", "Task"]);
    let theirs =
        json!({"reviewer": {"description": "Mine", "prompt": "I review.", "skills": ["x"], "tools": null}});
    run.write_stdin(request("1", json!({"subtype": "initialize", "hooks": null, "agents": theirs})));
    run.wait_for_stdout("\"request_id\":\"1\"").write_stdin(user("go"));
    run.close_stdin();
    let output = run.finish();
    assert_eq!(output.code(), Some(0), "{output}");
    let all = lines(&output.stdout());
    assert_eq!(
        all[0]["response"]["response"]["agents"],
        json!([
            {"name": "reviewer", "description": "Mine"},
            {"name": "reviewer", "description": "Reviews code"},
            {"name": "plain", "description": "Anything"},
        ])
    );
    assert_eq!(agents(&output.stdout()), json!(["reviewer", "plain", "general-purpose"]));
    assert_eq!(
        output.stderr(),
        "Warning: `skills` of the sub-agent `reviewer` has no effect: it can load every skill of the session\n"
    );
    assert_eq!(model.request(1).json()["system"][0]["text"], "I review.");
}

#[test]
fn what_cannot_be_understood() {
    let world = world();
    for (agents, why) in [
        ("{", "`--agents`: it is no JSON: "),
        ("[]", "`--agents`: the sub-agents must be an object, by name"),
        (r#"{"a":{"description":"d"}}"#, "`--agents`: `a.prompt` is missing"),
        (
            r#"{"a":{"description":"d","prompt":"p","tools":"Read"}}"#,
            "`--agents`: `a.tools` must be a list of names",
        ),
    ] {
        let output = world.run(&["-p", "x", "--output-format", "stream-json", "--agents", agents]);
        assert_eq!((output.stdout().as_str(), output.code()), ("", Some(2)), "{output}");
        assert!(output.stderr().contains(why), "{output}");
    }
    let (world, _model) = with_model([anthropic::text("ok")]);
    let bad =
        request("1", json!({"subtype": "initialize", "agents": {"a": {"description": "d", "prompt": 7}}}));
    let output = world.run_with_stdin(&args(&[]), bad + &user("hi"));
    insta::assert_snapshot!(told(&output), @r#"
    answers 1 "initialize: agents: `a.prompt` must be a string"
    init
    says "ok"
    over success "ok" completed turns=1
    [exit status: 0]
    "#);
}

fn described(world: &TestEnv, path: impl AsRef<Path>, name: &str) {
    let words = format!("---\nname: {name}\ndescription: Is {name}\ntools: Read\n---\nYou are {name}.\n");
    world.write(path, words);
}

fn of_user(world: &TestEnv) {
    described(world, world.base().join("agents/three.md"), "three");
}

/// A project's files count when the folder is trusted, and come before the user's; a file that is none costs that one.
#[test]
fn in_files() {
    let (world, model) = with_model([task("t1", "one"), anthropic::text("Good."), anthropic::text("Done.")]);
    described(&world, ".zori/agents/one.md", "one");
    world.write(
        ".claude/agents/one.md",
        "---\nname: one\ndescription: Another\npermissionMode: plan\n---\nNot me.\n",
    );
    described(&world, ".claude/agents/two.md", "two");
    world.write(".claude/agents/bad.md", "no front matter");
    world.write(".claude/agents/notes.txt", "not one");
    of_user(&world);
    let output = world.run_with_stdin(&args(&["--trust-workspace", "--allowedTools", "Task"]), user("go"));
    insta::assert_snapshot!(told(&output), @r#"
    init
    calls Task {"description":"look","prompt":"Look.","subagent_type":"one"}
    system task_started
    note Look.
    says "Good."
    system task_notification
    result "Good."
    says "Done."
    over success "Done." completed turns=2
    ------- stderr -------
    Trusted for this run (`--trust-workspace`):
      sub-agent one: Is one  (.zori/agents/one.md)
      sub-agent one: Another  (.claude/agents/one.md)
      sub-agent two: Is two  (.claude/agents/two.md)
    Warning: $WORK/.claude/agents/bad.md has no front matter: its first line must be `---`; it is no sub-agent
    Warning: `permissionMode` of the sub-agent `one` ($WORK/.claude/agents/one.md) has no effect here
    [exit status: 0]
    "#);
    assert_eq!(agents(&output.stdout()), json!(["one", "two", "three", "general-purpose"]));
    let sub = model.request(1).json();
    assert_eq!((names(&sub), &sub["system"][0]["text"]), (vec!["Read"], &json!("You are one.")));
}

/// TRUST-2: nothing of a folder that nobody trusts is used; and `--setting-sources` leaves files out.
#[test]
fn files_that_do_not_count() {
    for (more, wanted, warned) in [
        (&[][..], json!(["three", "general-purpose"]), true),
        (&["--setting-sources=user"], json!(["three", "general-purpose"]), false),
        (&["--setting-sources=project"], json!(["general-purpose"]), true),
        (&["--setting-sources=", "--trust-workspace"], json!(["general-purpose"]), false),
    ] {
        let (world, _model) = with_model([anthropic::text("ok")]);
        described(&world, ".claude/agents/one.md", "one");
        of_user(&world);
        let output = world.run_with_stdin(&args(more), user("go"));
        assert_eq!((agents(&output.stdout()), output.code()), (wanted, Some(0)), "{more:?} {output}");
        let said = output.stderr();
        assert_eq!(said.contains("its own settings are not used: 1 sub-agent; "), warned, "{more:?} {said}");
    }
}

/// They are there for people, too, and where there is no tool that starts one there are none.
#[test]
fn elsewhere() {
    let (world, model) = with_model([anthropic::text("ok"), anthropic::text("ok"), anthropic::text("ok")]);
    of_user(&world);
    world.run(&["exec", "-p", "hi"]).success();
    assert!(
        about_task(&model.request(0).json())
            .ends_with("\n- three: Is three\n- general-purpose: Searches and side work of any kind")
    );
    let output = world.run(&["start", "--prompt", "hi"]);
    assert_eq!(agents(&output.stdout()), json!(["three", "general-purpose"]), "{output}");
    let output = world.run_with_stdin(&args(&["--tools", "Read"]), user("hi"));
    assert_eq!(agents(&output.stdout()), json!([]), "{output}");
}

/// Bounds that cannot be held are refused by name.
#[test]
fn bounds_that_cannot_be_held() {
    let world = world();
    for (field, value) in [("maxTurns", json!(3)), ("permissionMode", json!("plan"))] {
        let agents = json!({"reviewer": {"description": "d", "prompt": "p", field: value}}).to_string();
        let output = world.run(&["-p", "x", "--output-format", "stream-json", "--agents", &agents]);
        let why = format!("`reviewer.{field}` is not supported: ");
        assert!(output.code() == Some(2) && output.stderr().contains(&why), "{output}");
    }
}
