//! Sessions by the protocol's flags.

use serde_json::json;
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::output::CommandOutput;

use super::{args, lines, told, user};
use crate::world::with_model;

fn say(world: &TestEnv, more: &[&str], text: &str) -> CommandOutput {
    world.run_with_stdin(&args(more), user(text))
}

fn session(output: &CommandOutput) -> String {
    lines(&output.stdout()).last().expect("there is a result")["session_id"]
        .as_str()
        .expect("it names the session")
        .to_owned()
}

/// Going on keeps the id, a fork has another one; the model sees all that was said.
#[test]
fn resume_continue_and_fork() {
    let (world, model) = with_model(["One.", "Two.", "Three.", "Four."].map(anthropic::text));
    let first = session(&say(&world, &["--session-id=my-own"], "a"));
    assert_eq!(first, "my-own");
    assert_eq!(session(&say(&world, &["--resume=my-own"], "b")), "my-own");
    assert_eq!(session(&say(&world, &["--continue"], "c")), "my-own");
    let forked = session(&say(&world, &["--resume", "my-own", "--fork-session"], "d"));
    assert_ne!(forked, "my-own");
    assert_eq!(
        model.request(3).conversation(),
        "user: a\nassistant: One.\nuser: b\nassistant: Two.\nuser: c\nassistant: Three.\nuser: d\n"
    );
    let files = world.session_files();
    let own = files.iter().filter(|path| path.file_stem().is_some_and(|stem| stem == "my-own")).count();
    assert_eq!((files.len(), own), (2, 1), "{files:?}");
}

/// Returns the names of what the model said.
fn uuids(output: &CommandOutput) -> Vec<String> {
    let stdout = String::from_utf8_lossy(&output.stdout);
    let told = lines(&stdout).into_iter().filter(|line| line["type"] == "assistant");
    told.map(|line| line["uuid"].as_str().expect("each has one").to_owned()).collect()
}

/// The conversation goes on behind the message, in later runs, too, and in copies; the file keeps everything.
#[test]
fn resumed_at_a_message() {
    let looks = anthropic::text("I look.").tool_use("t1", "LS", json!({"path": "."}));
    let said = ["Two.", "Three.", "Four.", "Five.", "Six."].map(anthropic::text);
    let (world, model) = with_model([looks].into_iter().chain(said));
    let first = uuids(&say(&world, &["--session-id=s", "--include-partial-messages"], "a"));
    let second = uuids(&say(&world, &["--resume=s"], "b"));
    let mut all: Vec<_> = first.iter().chain(&second).collect();
    all.sort();
    all.dedup();
    assert_eq!((first.len(), second.len(), all.len()), (3, 1, 4), "each has a name of its own");
    say(&world, &["--resume=s", &format!("--resume-session-at={}", first[2])], "c");
    assert_eq!(
        model.request(3).conversation().lines().skip(3).collect::<Vec<_>>(),
        ["user: tool_result t1 (the directory is empty)", "assistant: Two.", "user: c"]
    );
    // A message that calls a tool is one without its result.
    let at = format!("--resume-session-at={}", first[0]);
    say(&world, &["--resume=s", "--fork-session", "--session-id=f", &at], "d");
    assert_eq!(model.request(4).conversation(), "user: a\nassistant: I look.\nuser: d\n");
    say(&world, &["--resume=f"], "e");
    assert_eq!(
        model.request(5).conversation(),
        "user: a\nassistant: I look.\nuser: d\nassistant: Five.\nuser: e\n"
    );
    assert!(world.read(world.base().join("sessions/s.jsonl")).contains("Three."));
}

#[test]
fn messages_that_are_not_there() {
    let (world, model) = with_model([anthropic::text("One.")]);
    say(&world, &["--session-id=s"], "a");
    insta::assert_snapshot!(told(&say(&world, &["--resume=s", "--resume-session-at=nope"], "b")), @r#"
    over error_during_execution is_error ["No message found with message.uuid of: nope"] not_started turns=0
    ------- stderr -------
    Error: No message found with message.uuid of: nope
    [exit status: 1]
    "#);
    assert_eq!(say(&world, &["--resume-session-at=nope"], "b").code(), Some(1));
    assert_eq!(model.count(), 1);
}

#[test]
fn sessions_that_cannot_be() {
    let (world, _model) = with_model([anthropic::text("One.")]);
    insta::assert_snapshot!(told(&say(&world, &["--resume=nope"], "a")), @r#"
    over error_during_execution is_error ["No conversation found with session ID: nope"] not_started turns=0
    ------- stderr -------
    Error: No conversation found with session ID: nope
    [exit status: 1]
    "#);
    assert_eq!(say(&world, &["--continue"], "a").code(), Some(1));
    say(&world, &["--session-id", "mine"], "a");
    insta::assert_snapshot!(say(&world, &["--session-id", "mine"], "b"), @r"

    ------- stderr -------
    Error: Session ID mine is already in use.
    [exit status: 1]
    ");
}

/// Clients kill or resume right after the `result`: what it is about is on disk by then.
#[test]
fn saved_before_the_result() {
    let (world, _model) = with_model([anthropic::text("One."), anthropic::text("Two.")]);
    let mut run = super::start(&world, &["--session-id", "s"]);
    run.write_stdin(user("a")).wait_for_stdout("{\"type\":\"result\"").kill();
    drop(run);
    let output = say(&world, &["--resume", "s"], "b");
    assert_eq!(output.code(), Some(0), "{output}");
    let none = with_model([anthropic::text("One.")]).0;
    say(&none, &["--no-session-persistence"], "a");
    assert!(none.session_files().is_empty());
}

/// The system prompt comes as an argument (Python) or with `initialize` (TypeScript).
#[test]
fn system_prompts() {
    let system = |more: &[&str], before: &str| {
        let (world, model) = with_model([anthropic::text("ok")]);
        world.write("prompt.txt", "from a file");
        world.run_with_stdin(&args(more), format!("{before}{}", user("hi")));
        let json = model.request(0).json();
        json["system"]
            .as_array()
            .map(|parts| parts.iter().filter_map(|part| part["text"].as_str()).collect::<String>())
    };
    assert_eq!(system(&["--system-prompt", ""], ""), None);
    assert_eq!(
        system(&["--system-prompt", "be", "--append-system-prompt", "so"], "").as_deref(),
        Some("be\n\nso")
    );
    assert_eq!(system(&["--system-prompt-file", "prompt.txt"], "").as_deref(), Some("from a file"));
    let initialize = |prompt: serde_json::Value| {
        super::request(
            "r",
            json!({"subtype": "initialize", "systemPrompt": prompt, "appendSystemPrompt": "z"}),
        )
    };
    assert_eq!(
        system(&["--system-prompt", "x"], &initialize(json!(["a", "b"]))).as_deref(),
        Some("a\n\nb\n\nz")
    );
    assert_eq!(system(&[], &initialize(json!([""]))).as_deref(), Some("z"));
}

/// A session that another process has open: a `result` with words, and the way around it.
#[test]
fn a_session_in_use() {
    let (world, _model) = with_model([anthropic::text("One.")]);
    world.run(&["exec", "-p", "hi", "--session", "s"]).success();
    let path = world.write(world.base().join("sessions/s.lock"), std::process::id().to_string());
    let held = std::fs::File::options().write(true).open(&path).unwrap();
    held.try_lock().unwrap();
    let output = world.run(&["-p", "x", "--output-format", "json", "--resume", "s"]);
    let result: serde_json::Value = serde_json::from_str(&output.stdout()).unwrap();
    assert_eq!(
        (output.code(), &result["type"], &result["is_error"]),
        (Some(1), &"result".into(), &true.into()),
        "{output}"
    );
    let why = result["errors"][0].as_str().unwrap();
    assert!(why.contains("in use") && why.ends_with("; `--fork-session` goes on in a copy"), "{why}");
}
