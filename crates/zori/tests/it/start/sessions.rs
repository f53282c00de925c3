//! Sessions by the GUI's own names.

use serde_json::Value;
use zori_testkit::anthropic;

use super::{brief, prompted};
use crate::world::with_model;

#[test]
fn a_session_goes_on() {
    let (world, model) = with_model([anthropic::text("One."), anthropic::text("Two.")]);
    world.run(&["start", "--session-id", "sess-123", "--prompt", "one"]).success();
    let output = world.run(&["start", "--resume", "sess-123", "--prompt", "two"]);
    insta::assert_snapshot!(brief(&output), @r#"
    init sess-123 default
    {"type":"text","content":"Two."}
    usage 10 5
    result success is_error=false "completed" turns=1 "Two."
    {"type":"message_stop"}
    [exit status: 0]
    "#);
    assert_eq!(model.request(1).conversation(), "user: one\nassistant: One.\nuser: two\n");
}

/// Chapter 2: the version decides over the command.
#[test]
fn the_dialect_by_its_version() {
    let run = |args: &[&str]| {
        let (world, _model) = with_model([anthropic::text("One.")]);
        let output = world.run(&[args, &["-p", "one", "--no-save"]].concat());
        assert_eq!(output.code(), Some(0), "{args:?}: {output}");
        let kind =
            |line: &str| serde_json::from_str::<Value>(line).unwrap()["type"].as_str().unwrap().to_owned();
        output.stdout().lines().map(kind).collect::<Vec<_>>().join(" ")
    };
    let (flat, sdk) = ("system text usage result message_stop", "system assistant result");
    for version in ["1", "yume", "flat"] {
        assert_eq!(run(&["start", "--protocol-version", version]), flat);
        assert_eq!(run(&["exec", "--protocol-version", version]), flat);
    }
    assert_eq!(run(&["--protocol-version=1", "--output-format", "stream-json", "--verbose"]), flat);
    for version in ["2", "claude", "sdk"] {
        assert_eq!(run(&["start", "--protocol-version", version]), sdk);
    }
    assert_eq!(run(&["exec", "--protocol-version", "2"]), sdk);
    assert_eq!(run(&["--output-format", "stream-json"]), sdk);
}

#[test]
fn names_that_do_not_fit() {
    let (world, model) = with_model([anthropic::text("One.")]);
    insta::assert_snapshot!(brief(&world.run(&["start", "--resume", "nope", "--prompt", "x"])), @r#"
    {"type":"system","subtype":"error","message":"No conversation found with session ID: nope","code":"SESSION_NOT_FOUND","session_id":"nope","uuid":"$SESSION"}
    result error_during_execution is_error=true "not_started" turns=0 ["No conversation found with session ID: nope"]
    {"type":"message_stop"}
    ------- stderr -------
    Error: No conversation found with session ID: nope
    Hint: leave `--resume` and `--continue` out to start a new session
    [exit status: 1]
    "#);
    prompted(&world, "one", &[]).success();
    insta::assert_snapshot!(brief(&prompted(&world, "x", &[])), @r#"
    {"type":"system","subtype":"error","message":"Session ID s is already in use.","code":"ALREADY_EXISTS","session_id":"s","uuid":"$SESSION"}
    result error_during_execution is_error=true "not_started" turns=0 ["Session ID s is already in use."]
    {"type":"message_stop"}
    ------- stderr -------
    Error: Session ID s is already in use.
    Hint: `--resume ID` goes on with a session
    [exit status: 1]
    "#);
    assert_eq!(model.count(), 1);
}

/// A session that goes on under another name is a copy, and the GUI is told.
#[test]
fn a_session_under_another_name() {
    let (world, model) = with_model(["One.", "Two.", "Three."].map(anthropic::text));
    prompted(&world, "one", &[]).success();
    insta::assert_snapshot!(brief(&world.run(&["start", "--resume", "s", "--session-id", "t", "--prompt", "two"])), @r#"
    init t default
    {"type":"system","subtype":"session_id","previous_session_id":"s","session_id":"t","uuid":"$SESSION"}
    {"type":"text","content":"Two."}
    usage 10 5
    result success is_error=false "completed" turns=1 "Two."
    {"type":"message_stop"}
    [exit status: 0]
    "#);
    world.run(&["start", "--resume", "s", "--session-id", "s", "--prompt", "three"]).success();
    assert_eq!(model.request(1).conversation(), "user: one\nassistant: One.\nuser: two\n");
    assert_eq!(model.request(2).conversation(), "user: one\nassistant: One.\nuser: three\n");
    assert_eq!(world.session_files().len(), 2);
}
