//! Lines that are none, a standard input that ends at each point, and readers that stop or go.

use std::time::Duration;

use serde_json::json;
use zori_testkit::anthropic;
use zori_testkit::gate::Gate;
use zori_testkit::running::{Stdin, Stdout};

use super::{args, asked, lines, outline, request, start, talk, told, user};
use crate::world::{with_model, world};

/// IO-4: each costs that line and no other, and is told on standard error.
#[test]
fn lines_that_are_none() {
    let mut lines = Vec::new();
    for line in [
        &b"{\"type\":\"user\",\n"[..],
        b"{\"type\":\"interrupt\"}{\"type\":\"interrupt\"}\n",
        b"\xff\xfe\n",
        b"[1,2]\n",
        b"null\n",
        b"\0\n",
        b"{\"type\":\"fly\"}\n",
        b"{\"type\":\"user\",\"message\":{}}\n",
        b"{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"never\"}}\n",
        b"{\"type\":\"control_request\",\"request\":{\"subtype\":\"interrupt\"}}\n",
        b"{\"type\":\"keep_alive\"}\n",
        b"  \n",
    ] {
        lines.extend_from_slice(line);
    }
    lines.extend_from_slice(user("hi").trim_end().as_bytes());
    let (world, _model) = with_model([anthropic::text("ok")]);
    let output = world.run_with_stdin(&args(&[]), lines);
    insta::assert_snapshot!(told(&output), @r#"
    init
    says "ok"
    over success "ok" completed turns=1
    ------- stderr -------
    Warning: a line is not understood: EOF while parsing a value at line 1 column 15; the line is ignored
    Warning: a line is not understood: trailing characters at line 1 column 21; the line is ignored
    Warning: a line is not UTF-8 text (byte 0); the line is ignored
    Warning: a line is not understood: invalid type: integer `1`, expected a string at line 1 column 2; the line is ignored
    Warning: a line is not understood: invalid type: null, expected struct Wire at line 1 column 4; the line is ignored
    Warning: a line is not understood: expected value at line 1 column 1; the line is ignored
    Warning: a line has the type `fly`, which is not known; it is ignored
    Warning: a prompt has no `content` that is a text or a list; the line is ignored
    Warning: the client answers `never`, and no such question is open
    Warning: a line of the type `control_request` has no `request_id`; the line is ignored
    [exit status: 0]
    "#);
}

#[test]
fn fifty_megabytes_on_a_line() {
    let huge = format!("{{\"type\":\"user\",\"content\":\"{}\"}}\n{}", "x".repeat(50 << 20), user("hi"));
    let (output, _world) = talk([anthropic::text("ok")], &[], &huge);
    assert_eq!(output.stderr(), "Warning: a line has more than 16777216 bytes; the line is ignored\n");
    assert_eq!(outline(&output.stdout()), "init\nsays \"ok\"\nover success \"ok\" completed turns=1");
}

/// IO-5: a line is a line however it arrives.
#[test]
fn a_line_byte_by_byte() {
    let (world, _model) = with_model([anthropic::text("ok")]);
    let mut run = start(&world, &[]);
    for piece in user("hi").as_bytes().chunks(1) {
        run.write_stdin(std::str::from_utf8(piece).unwrap());
    }
    run.wait_for_stdout("{\"type\":\"result\"").close_stdin();
    assert_eq!(run.finish().code(), Some(0));
}

/// IO-3: the end of standard input ends nothing that runs, and what nobody can answer any more is a no.
#[test]
fn the_end_at_each_point() {
    let nothing = world().run_with_stdin(&args(&[]), "");
    assert_eq!((nothing.stdout().as_str(), nothing.code()), ("", Some(0)), "{nothing}");
    let hello = request("r", json!({"subtype": "initialize"}));
    assert_eq!(world().run_with_stdin(&args(&[]), hello).code(), Some(0));

    let gate = Gate::new();
    let (world, model) = with_model([anthropic::text("late").reply().wait(&gate)]);
    let mut run = start(&world, &[]);
    run.write_stdin(user("hi")).close_stdin();
    model.wait_for_requests(1);
    gate.open();
    assert_eq!(
        outline(&run.finish().stdout()),
        "init\nsays \"late\"\nover success \"late\" completed turns=1"
    );

    let write = || anthropic::tool_use("1", "Write", json!({"file_path": "a", "content": "x"}));
    let (world, _model) = with_model([write(), anthropic::text("ok")]);
    let mut run = start(&world, &["--permission-prompt-tool", "stdio"]);
    run.write_stdin(user("go"));
    asked(&mut run, "can_use_tool", 0);
    run.close_stdin();
    let output = run.finish();
    let gone = "result failed \"Tool permission request failed: Error: standard input has ended, so nobody can answer\"";
    assert!(outline(&output.stdout()).contains(gone), "{output}");
    assert_eq!(output.code(), Some(0));

    let (world, _model) = with_model([anthropic::text("ok")]);
    let mut run = start(&world, &[]);
    run.write_stdin(request("r", json!({"subtype": "initialize", "sdkMcpServers": ["calc"]})))
        .write_stdin(user("hi"));
    asked(&mut run, "mcp_message", 0);
    run.close_stdin();
    assert_eq!(run.finish().code(), Some(0));
}

/// IO-2: a reader that goes away ends the run without a word, whenever it does.
#[test]
fn a_reader_that_goes_away() {
    for after in [0, 1, 700, 1500] {
        let list = anthropic::tool_use("1", "LS", json!({"path": "."}));
        let (world, _model) = with_model([list, anthropic::text("ok")]);
        let lines = [user("hi"), user("again")].concat();
        let run =
            world.start(world.cmd(&args(&[])), Stdin::Bytes(lines.into_bytes()), Stdout::ClosedAfter(after));
        let output = run.finish();
        assert!(matches!(output.code(), Some(0 | 1)), "{after}: {output}");
        assert_eq!(output.stderr(), "", "{after}");
    }
}

/// IO-1: what a slow reader gets is whole, and nothing is kept for it without bound.
#[test]
fn a_result_that_is_too_long_for_a_client() {
    let (world, _model) = with_model([
        anthropic::tool_use("1", "Write", json!({"file_path": "a", "content": "y".repeat(1 << 20)})),
        anthropic::text("ok"),
    ]);
    let run = world.start(
        world.cmd(&args(&["--dangerously-skip-permissions"])),
        Stdin::Bytes(user("go").into_bytes()),
        Stdout::Captured,
    );
    let output = run.within(Duration::from_secs(60)).finish();
    assert_eq!((output.code(), world.read("a").len()), (Some(0), 1 << 20));
    assert!(output.stdout().lines().all(|line| line.len() < 900_000), "every line can be read");
    assert!(output.stdout().contains("more bytes left out]"));
}

/// A prompt that says nothing gets a `result` that says so, the model is not asked, and the next prompt is answered.
#[test]
fn an_empty_prompt() {
    let (world, model) = with_model([anthropic::text("Hello.")]);
    let nothing = r#"{"type":"user","message":{"role":"user","content":[]},"session_id":""}"#;
    let said =
        world.run_with_stdin(&args(&["--no-session-persistence"]), format!("{}{nothing}\n", user(" \n")));
    let results: Vec<_> = lines(&said.stdout())
        .iter()
        .filter(|line| line["type"] == "result")
        .map(|line| (line["subtype"].clone(), line["is_error"].clone(), line["errors"].clone()))
        .collect();
    let refused = (
        json!("error_during_execution"),
        json!(true),
        json!(["The prompt is empty: it has neither text nor an image"]),
    );
    assert_eq!(results, [refused.clone(), refused]);
    assert_eq!((said.code(), model.count()), (Some(1), 0));
    let said = world.run_with_stdin(&args(&["--no-session-persistence"]), user("") + &user("hi"));
    let last = lines(&said.stdout()).pop().expect("there is a result");
    assert_eq!((&last["result"], said.code(), model.count()), (&json!("Hello."), Some(0), 1));
    assert_eq!(model.request(0).conversation(), "user: hi\n");
}
