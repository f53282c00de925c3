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
    {"type":"text","content":"Two.","id":"$SESSION"}
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
    {"type":"text","content":"Two.","id":"$SESSION"}
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

/// The GUI lists what it finds there: `sessions/<provider>/<id>.json`, in its own words. It goes with the session.
#[test]
fn the_history_of_the_gui() {
    let call = anthropic::tool_use("1", "LS", serde_json::json!({"path": "."}));
    let (world, _model) = with_model([call, anthropic::text("Nothing."), anthropic::text("Still nothing.")]);
    world
        .run(&["start", "--session-id", "s", "--permission-mode", "auto", "--prompt", "what is here?"])
        .success();
    world.run(&["start", "--resume", "s", "--prompt", "and now?"]).success();
    let file = world.base().join("sessions/anthropic/s.json");
    let mut kept: Value = serde_json::from_str(&world.read(&file)).unwrap();
    for time in ["created", "updated"] {
        assert!(kept[time].as_str().is_some_and(|time| time.starts_with("20")), "{kept}");
        kept[time] = "$TIME".into();
    }
    kept["cwd"] = "$WORK".into();
    insta::assert_snapshot!(serde_json::to_string_pretty(&kept).unwrap(), @r#"
    {
      "id": "s",
      "provider": "anthropic",
      "model": "claude-sonnet-5-5",
      "cwd": "$WORK",
      "created": "$TIME",
      "updated": "$TIME",
      "history": [
        {
          "role": "user",
          "content": "what is here?"
        },
        {
          "role": "assistant",
          "toolCalls": [
            {
              "id": "1",
              "name": "LS",
              "input": {
                "path": "."
              }
            }
          ]
        },
        {
          "role": "tool",
          "content": "(the directory is empty)",
          "toolCallId": "1"
        },
        {
          "role": "assistant",
          "content": "Nothing."
        },
        {
          "role": "user",
          "content": "and now?"
        },
        {
          "role": "assistant",
          "content": "Still nothing."
        }
      ],
      "usage": {
        "inputTokens": 30,
        "outputTokens": 15,
        "cacheReadTokens": 0,
        "cacheCreationTokens": 0
      },
      "metadata": {
        "compactionCount": 0
      }
    }
    "#);
    world.run(&["sessions", "rm", "s", "--yes"]).success();
    assert!(!file.exists());
}

/// The GUI remembers sessions that are gone: it begins anew, under the name that was asked for.
#[test]
fn a_session_that_is_gone() {
    let (world, model) = with_model([anthropic::text("Hello.")]);
    insta::assert_snapshot!(brief(&world.run(&["start", "--resume", "gone", "--prompt", "hi"])), @r#"
    init gone default
    {"type":"text","content":"Hello.","id":"$SESSION"}
    usage 10 5
    result success is_error=false "completed" turns=1 "Hello."
    {"type":"message_stop"}
    ------- stderr -------
    Warning: No conversation found with session ID: gone; a new session begins
    [exit status: 0]
    "#);
    assert_eq!(model.request(0).conversation(), "user: hi\n");
    assert!(world.base().join("sessions/gone.jsonl").exists());
}
