//! What goes wrong, and how a client is told. What is wrong with a command line is in `argv.rs`, sessions
//! that cannot be opened are in `sessions.rs`, limits and retries in `stream_json.rs`.

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::reply::{Disconnect, Reply};
use zori_testkit::server::refused_url;

use super::{args, lines, talk, told, user};
use crate::world::with_model;

/// The words for failures, each from the failure it is for; no failure is retried here.
#[test]
fn the_word_for_each_failure() {
    let word = |reply: Option<Reply>| {
        let (mut world, _model) = with_model(reply.clone());
        world.set_var("CLAUDE_CODE_MAX_RETRIES", "0");
        if reply.is_none() {
            world.set_var("ANTHROPIC_BASE_URL", refused_url());
        }
        let output = world.run_with_stdin(&args(&[]), user("go"));
        assert_eq!(output.code(), Some(1), "{output}");
        let all = lines(&output.stdout());
        let [_init, said, over] = &all[..] else { panic!("{output}") };
        assert_eq!(
            (&said["message"]["model"], &over["subtype"], &over["is_error"], &over["terminal_reason"]),
            (&json!("<synthetic>"), &json!("success"), &json!(true), &json!("api_error")),
        );
        assert_eq!(over["result"], said["message"]["content"][0]["text"]);
        assert_eq!(over["errors"], json!([over["result"]]));
        (said["error"].as_str().unwrap().to_owned(), over["api_error_status"].clone())
    };
    for (status, kind, expected) in [
        (401, "authentication_error", "authentication_failed"),
        (403, "permission_error", "authentication_failed"),
        (402, "billing_error", "billing_error"),
        (429, "rate_limit_error", "rate_limit"),
        (400, "invalid_request_error", "invalid_request"),
        (413, "request_too_large", "invalid_request"),
        (404, "not_found_error", "model_not_found"),
        (529, "overloaded_error", "overloaded"),
        (503, "api_error", "overloaded"),
        (500, "api_error", "server_error"),
        (502, "api_error", "server_error"),
    ] {
        let failed = word(Some(anthropic::http_error(status, kind, "No.")));
        assert_eq!(failed, (expected.to_owned(), json!(status)));
    }
    assert_eq!(word(None), ("unknown".to_owned(), Value::Null));
}

/// An answer that the token limit cuts is gone on with; the model is sent what it has said.
#[test]
fn an_answer_that_is_gone_on_with() {
    let cut = anthropic::text("One,").stop("max_tokens");
    let (world, model) = with_model([cut, anthropic::text(" two.")]);
    let output = world.run_with_stdin(&args(&[]), user("count"));
    insta::assert_snapshot!(told(&output), @r#"
    init
    says "One,"
    says " two."
    over success " two." completed turns=1
    ------- stderr -------
    The reply was cut off at the token limit (`max_tokens`); the model goes on (1 of 2)
    [exit status: 0]
    "#);
    insta::assert_snapshot!(model.request(1).conversation(), @r"
    user: count
    assistant: One,
    user: Your reply was cut off at the token limit. Go on exactly where it ends, without a word about it and without repeating anything.
    ");
}

/// The third cut in a row ends the turn, and the next prompt works.
#[test]
fn an_answer_that_never_ends() {
    let cut = || anthropic::text("more").stop("max_tokens");
    let replies = [cut(), cut(), cut(), anthropic::text("ok")];
    let (output, _world) = talk(replies, &[], &[user("count"), user("stop")].concat());
    insta::assert_snapshot!(told(&output), @r#"
    init
    says "more"
    says "more"
    says "more"
    says "API Error: the reply was cut off at the token limit (`max_tokens`)" (max_output_tokens)
    over success is_error "API Error: the reply was cut off at the token limit (`max_tokens`)" max_output_tokens turns=1
    init
    says "ok"
    over success "ok" completed turns=1
    ------- stderr -------
    The reply was cut off at the token limit (`max_tokens`); the model goes on (1 of 2)
    The reply was cut off at the token limit (`max_tokens`); the model goes on (2 of 2)
    Error [cut]: the reply was cut off at the token limit (`max_tokens`)
    [exit status: 0]
    "#);
}

/// A stream that breaks is asked for again, what was said stays (FOR-13); where nothing is tried again the turn fails.
#[test]
fn a_stream_that_breaks() {
    let (output, _world) = talk(
        [anthropic::text("x").reply().cut_after_events(1, Disconnect::Fin), anthropic::text("fine").reply()],
        &["--retry-delay", "0"],
        &user("go"),
    );
    let said = told(&output);
    assert!(said.starts_with("init\nretry 1 null\nsays \"fine\"\nover success \"fine\" completed"), "{said}");
    assert_eq!(output.code(), Some(0));

    let (output, _world) = talk(
        [
            anthropic::text("one two").reply().cut_after_events(3, Disconnect::Fin),
            anthropic::text("three").reply(),
        ],
        &["--retry-delay", "0"],
        &user("go"),
    );
    let said = told(&output);
    assert!(
        said.starts_with(
            "init\nsays \"one \" (cut)\nretry 1 null\nsays \"three\"\nover success \"three\" completed"
        ),
        "{said}"
    );

    let (output, _world) = talk(
        [anthropic::text("one two").reply().cut_after_events(3, Disconnect::Fin)],
        &["--retries", "0"],
        &user("go"),
    );
    let said = told(&output);
    let told: Vec<&str> = said.lines().take(4).collect();
    assert_eq!(told[..2], ["init", "says \"one \" (cut)"], "{said}");
    assert!(told[2].starts_with("says \"API Error: ") && told[2].ends_with(" (unknown)"), "{said}");
    assert!(told[3].starts_with("over success is_error \"API Error: "), "{said}");
    assert_eq!(output.code(), Some(1));
}

/// A call that fails, is none, does not fit or is denied costs that call: the turn goes on, and ends well.
#[test]
fn calls_that_come_to_nothing() {
    let calls = anthropic::tool_use("1", "Read", json!({"file_path": "none"}))
        .tool_use("2", "Frobnicate", json!({}))
        .tool_use("3", "Read", json!({"path": 7}))
        .tool_use("4", "Write", json!({"file_path": "a", "content": "x"}))
        .tool_use("5", "Bash", json!({"command": "echo out; exit 3"}));
    let (output, _world) = talk([calls, anthropic::text("ok")], &["--allowedTools", "Bash"], &user("go"));
    let all = lines(&output.stdout());
    let results: Vec<_> = all.iter().filter(|line| line["type"] == "user").collect();
    let text = |line: &Value| line["message"]["content"][0]["content"].as_str().unwrap().to_owned();
    for line in &results {
        assert_eq!(line["message"]["content"][0]["is_error"], true, "{line}");
        assert_eq!(line["tool_use_result"], format!("Error: {}", text(line)), "{line}");
    }
    let mut texts: Vec<_> = results.iter().map(|line| text(line)).collect();
    texts.sort();
    assert_eq!(texts.len(), 5, "{output}");
    assert!(
        texts.contains(
            &"<tool_use_error>Error: No such tool available: Frobnicate</tool_use_error>".to_owned()
        )
    );
    assert!(
        texts.iter().any(|text| text.starts_with("<tool_use_error>InputValidationError: Read failed due to")),
        "{texts:?}"
    );
    assert!(texts.contains(&"out\nExit code 3".to_owned()), "{texts:?}");
    let over = all.last().unwrap();
    assert_eq!((&over["subtype"], &over["is_error"]), (&json!("success"), &json!(false)));
    assert_eq!(
        over["permission_denials"],
        json!([{"tool_name": "Write", "tool_use_id": "4", "tool_input": {"file_path": "a", "content": "x"}}])
    );
    assert_eq!(output.code(), Some(0));
}
