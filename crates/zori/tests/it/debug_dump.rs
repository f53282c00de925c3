//! DUMP-1 to DUMP-4: requests, responses and results as files, for whoever asks; without secrets, private, and not for git.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;

use crate::world::with_model;

/// Returns every file and folder below one, with its rights.
fn tree(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let mode = entry.metadata().expect("it is there").permissions().mode() & 0o777;
        let name = entry.file_name().to_string_lossy().into_owned();
        found.push(format!("{mode:o} {name}"));
        if entry.path().is_dir() {
            found.extend(tree(&entry.path()).into_iter().map(|line| {
                let (mode, rest) = line.split_once(' ').expect("a mode stands before it");
                format!("{mode} {name}/{rest}")
            }));
        }
    }
    found.sort_by(|a, b| a.split_once(' ').map(|a| a.1).cmp(&b.split_once(' ').map(|b| b.1)));
    found
}

fn text(world: &TestEnv, name: &str) -> String {
    std::fs::read_to_string(world.work().join(".local/debug/s").join(name)).expect("it is there")
}

#[test]
fn one_file_for_each_step() {
    let token = format!("ghp_{}", "a1B2c3D4e5".repeat(4).split_at(36).0);
    let (world, _model) = with_model([
        anthropic::tool_use("toolu_1", "bash", json!({"command": format!("echo {token}")})),
        anthropic::text("Done."),
    ]);
    world.run(&["exec", "--session", "s", "--debug-dump", "-p", "hi"]).success();
    insta::assert_snapshot!(tree(&world.work().join(".local")).join("\n"), @"
    644 .gitignore
    700 debug
    700 debug/s
    600 debug/s/0000-request.json
    600 debug/s/0000-response.json
    600 debug/s/0001-tool-bash.txt
    600 debug/s/0002-request.json
    600 debug/s/0002-response.json
    ");
    let request: Value = serde_json::from_str(&text(&world, "0000-request.json")).expect("it is JSON");
    assert_eq!(
        (&request["method"], &request["headers"]["x-api-key"], &request["body"]["messages"][0]["role"]),
        (&json!("POST"), &json!("[REDACTED]"), &json!("user"))
    );
    let response: Value = serde_json::from_str(&text(&world, "0000-response.json")).expect("it is JSON");
    assert_eq!(response["status"], 200);
    insta::assert_snapshot!(response["body"].as_str().expect("it is text"), @r#"
    event: message_start
    data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-haiku-4-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":1}}}

    event: content_block_start
    data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"bash","input":{}}}

    event: content_block_delta
    data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"command\":\"echo [REDACTED]\"}"}}

    event: content_block_delta
    data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":""}}

    event: content_block_stop
    data: {"type":"content_block_stop","index":0}

    event: message_delta
    data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":5}}

    event: message_stop
    data: {"type":"message_stop"}
    "#);
    insta::assert_snapshot!(text(&world, "0001-tool-bash.txt"), @r#"
    bash toolu_1
    {"command":"echo [REDACTED]"}

    {"ok":true,"data":{"stdout":"[REDACTED]\n","stderr":"","exit_code":0,"timed_out":false}}
    "#);
    for name in ["0000-request.json", "0000-response.json", "0001-tool-bash.txt", "0002-request.json"] {
        assert!(!text(&world, name).contains(&token), "{name}");
    }
}

/// A session that goes on leaves what it wrote before.
#[test]
fn a_session_that_goes_on() {
    let (world, _model) = with_model(["One.", "Two."].map(anthropic::text));
    for prompt in ["first", "second"] {
        world.run(&["exec", "--session", "s", "--debug-dump", "-p", prompt]).success();
    }
    insta::assert_snapshot!(tree(&world.work().join(".local")).join("\n"), @"
    644 .gitignore
    700 debug
    700 debug/s
    600 debug/s/0000-request.json
    600 debug/s/0000-response.json
    600 debug/s/0001-request.json
    600 debug/s/0001-response.json
    ");
    let asked = |name: &str| {
        let request: Value = serde_json::from_str(&text(&world, name)).expect("it is JSON");
        let messages = request["body"]["messages"].as_array().expect("messages").clone();
        messages
            .iter()
            .map(|message| message["role"].as_str().expect("a role").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(asked("0000-request.json"), ["user"]);
    assert_eq!(asked("0001-request.json"), ["user", "assistant", "user"]);
}

/// Without the flag nothing is made; in a session it can be switched.
#[test]
fn switched_in_a_session() {
    let (world, _model) = with_model(["One.", "Two.", "Three."].map(anthropic::text));
    let output = world.run_with_stdin(
        &["--json", "--session", "s"],
        "first\n/debug-dump\nsecond\n/debug-dump off\nthird\n/debug-dump maybe\n",
    );
    insta::assert_snapshot!(tree(&world.work().join(".local")).join("\n"), @"
    644 .gitignore
    700 debug
    700 debug/s
    600 debug/s/0000-request.json
    600 debug/s/0000-response.json
    ");
    let model = output.stderr().lines().find_map(|line| line.strip_prefix("Model: ").map(str::to_owned));
    let shown = output.to_string().replace(&model.expect("it is said"), "$MODEL");
    insta::assert_snapshot!(shown, @r#"
    {"type":"response_chunk","schema":1,"text":"One."}
    {"type":"response_end","schema":1}
    {"type":"cost","schema":1,"input_tokens":10,"output_tokens":5,"cache_read_tokens":0,"estimated_usd":0.00007,"session_id":"s"}
    {"type":"response_chunk","schema":1,"text":"Debug dumps go to $WORK/.local/debug/s."}
    {"type":"response_end","schema":1}
    {"type":"response_chunk","schema":1,"text":"Two."}
    {"type":"response_end","schema":1}
    {"type":"cost","schema":1,"input_tokens":10,"output_tokens":5,"cache_read_tokens":0,"estimated_usd":0.00007,"session_id":"s"}
    {"type":"response_chunk","schema":1,"text":"No debug dumps are written."}
    {"type":"response_end","schema":1}
    {"type":"response_chunk","schema":1,"text":"Three."}
    {"type":"response_end","schema":1}
    {"type":"cost","schema":1,"input_tokens":10,"output_tokens":5,"cache_read_tokens":0,"estimated_usd":0.00007,"session_id":"s"}
    {"type":"error","schema":1,"message":"`/debug-dump maybe`: it takes `on` or `off`","code":"agent_error"}
    ------- stderr -------
    Warning: Session 's' does not exist yet; starting it
    Model: $MODEL
    Session: s
    Error: `/debug-dump maybe`: it takes `on` or `off`
    [exit status: 0]
    "#);
    let request: Value = serde_json::from_str(&text(&world, "0000-request.json")).expect("it is JSON");
    insta::assert_snapshot!(request["body"]["messages"], @r#"[{"role":"user","content":[{"type":"text","text":"first","cache_control":{"type":"ephemeral"}}]},{"role":"assistant","content":[{"type":"text","text":"One."}]},{"role":"user","content":[{"type":"text","text":"second","cache_control":{"type":"ephemeral"}}]}]"#);
}

/// D-36: what would lead elsewhere is refused before anything is sent.
#[test]
fn a_link_is_refused() {
    let (world, model) = with_model([anthropic::text("One.")]);
    let elsewhere = world.tmp().join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("it can be made");
    std::os::unix::fs::symlink(&elsewhere, world.work().join(".local")).expect("it can be made");
    insta::assert_snapshot!(world.run(&["exec", "--debug-dump", "-p", "hi"]), @"
    ------- stderr -------
    Error: debug dumps cannot be written to $WORK/.local: it is not a folder
    [exit status: 1]
    ");
    assert_eq!((model.count(), tree(&elsewhere)), (0, Vec::new()));
}

/// A purge deletes exactly the folders of sessions, and only when it is told to.
#[test]
fn a_purge_takes_them_along() {
    let (world, _model) = with_model([anthropic::text("One."), anthropic::text("Two.")]);
    world.run(&["exec", "--session", "s", "--debug-dump", "-p", "hi"]).success();
    world.run(&["exec", "--session", "t", "--debug-dump", "-p", "hi"]).success();
    // What somebody keeps beside them, by a name that a session could have, and among them.
    for mine in ["my notes.txt", "findings/0001.txt", "t/why.md", "t/0009-thoughts.txt"] {
        world.write(world.work().join(".local/debug").join(mine), "mine");
    }
    world.run(&["project", "purge", "--yes"]).success();
    assert!(world.work().join(".local/debug/s").exists());
    insta::assert_snapshot!(world.run(&["project", "purge", "--yes", "--include-debug"]), @"
    Deleted of $WORK: 2 debug dumps
    [exit status: 0]
    ");
    insta::assert_snapshot!(tree(&world.work().join(".local")).join("\n"), @"
    644 .gitignore
    700 debug
    755 debug/findings
    644 debug/findings/0001.txt
    644 debug/my notes.txt
    700 debug/t
    644 debug/t/0009-thoughts.txt
    644 debug/t/why.md
    ");
}
