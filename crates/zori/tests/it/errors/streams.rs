//! Streams that break off, contradict themselves or make no sense (NET-3, NET-4, NET-8 to NET-10).

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::reply::{Disconnect, Reply};

use super::{once, run};

#[test]
fn an_empty_stream() {
    insta::assert_snapshot!(once(Reply::sse("")), @r"
    ------- stderr -------
    Error [transport]: stream ended before the reply was complete
    [exit status: 12]
    ");
}

/// PERR-4. Nothing was shown yet, so it is tried again.
#[test]
fn an_error_in_the_stream_before_any_text() {
    let start = anthropic::event(&anthropic::text("x").events()[0]);
    let broken = || Reply::sse(&start).then(anthropic::error("overloaded_error", "Overloaded"));
    insta::assert_snapshot!(once(broken()), @r"
    ------- stderr -------
    Error [api_error]: overloaded_error: Overloaded
    [exit status: 12]
    ");
    let (output, ..) = run(vec![broken(), anthropic::text("Hello").into()], &[]);
    insta::assert_snapshot!(output, @r"
    Hello
    ------- stderr -------
    Retrying in 0.0s (1/4): overloaded_error: Overloaded
    [exit status: 0]
    ");
}

/// PERR-4, FOR-13: nothing of it has run, so it is asked for again; what was shown is kept, and is no part of what goes on.
#[test]
fn an_error_in_the_stream_after_text() {
    let broken = Reply::sse(anthropic::text("Hello wor").sse_unfinished())
        .then(anthropic::error("overloaded_error", "Overloaded"));
    let replies = vec![broken, anthropic::text("Hello world").into(), anthropic::text("Bye").into()];
    let (output, world, server) = run(replies, &["--session", "s"]);
    insta::assert_snapshot!(output, @r"
    Hello wor
    Hello world
    ------- stderr -------
    Warning: Session 's' does not exist yet; starting it
    Retrying in 0.0s (1/4): overloaded_error: Overloaded
    [exit status: 0]
    ");
    let shown = world.run(&["sessions", "show", "s"]).stdout();
    assert!(
        shown.ends_with("### Assistant (discarded)\nHello wor\n\n### Assistant\nHello world\n"),
        "{shown}"
    );
    world.run(&["exec", "--session", "s", "-p", "and now"]);
    let texts = |request: &Value| -> Vec<String> {
        let messages = request["messages"].as_array().unwrap().iter();
        let blocks = messages.flat_map(|message| message["content"].as_array().unwrap());
        blocks.map(|block| block["text"].as_str().unwrap().to_owned()).collect()
    };
    let requests = server.requests();
    assert_eq!(texts(&requests[0].json()), texts(&requests[1].json()));
    assert_eq!(texts(&requests[2].json())[1..], ["Hello world", "and now"]);
}

/// NET-4, FOR-13: twice, and no more often; then what was shown stays.
#[test]
fn errors_in_the_stream_after_text_again_and_again() {
    let broken = || {
        Reply::sse(anthropic::text("Hello wor").sse_unfinished())
            .then(anthropic::error("overloaded_error", "Overloaded"))
    };
    let (output, _, server) = run(vec![broken(), broken(), broken(), anthropic::text("never").into()], &[]);
    insta::assert_snapshot!(output, @r"
    Hello wor
    Hello wor
    Hello wor
    ------- stderr -------
    Retrying in 0.0s (1/4): overloaded_error: Overloaded
    Retrying in 0.0s (2/4): overloaded_error: Overloaded
    Error [api_error]: overloaded_error: Overloaded
    [exit status: 12]
    ");
    assert_eq!(server.count(), 3);
}

/// Returns a reply that breaks off inside this text.
fn cut_inside(stream: &str, text: &str, how: Disconnect) -> Reply {
    let at = stream.find(text).expect("the text is in the stream") + 1;
    Reply::sse(stream).cut_after(at, how)
}

/// NET-4: before anything was shown the connection is as good as never made.
#[test]
fn a_stream_cut_before_any_text() {
    for how in [Disconnect::Fin, Disconnect::Rst] {
        let cut = cut_inside(&anthropic::text("é").sse(), "é", how);
        let (output, _, server) = run(vec![cut, anthropic::text("Hello").into()], &[]);
        assert_eq!(
            (output.stdout().as_str(), output.code(), server.count()),
            ("Hello\n", Some(0), 2),
            "{output}"
        );
    }
}

/// NET-3, NET-4: half a character is never shown.
#[test]
fn a_stream_cut_inside_a_character() {
    for how in [Disconnect::Fin, Disconnect::Rst] {
        let cut = cut_inside(&anthropic::text("caf é").sse(), "é", how);
        let (output, _, server) = run(vec![cut, anthropic::text("never").into()], &["--retries", "0"]);
        assert_eq!(output.stdout, b"caf \n", "{output}");
        assert!(output.stderr().starts_with("Error [transport]: "), "{output}");
        assert_eq!((output.code(), server.count()), (Some(12), 1));
    }
}

/// The same stream whole, in pieces of one byte.
#[test]
fn a_stream_in_single_bytes() {
    let (output, ..) = run(vec![anthropic::text("caf é €").reply().chunks_of(1)], &[]);
    assert_eq!(output.to_string(), "caf é €\n[exit status: 0]");
}

/// NET-8: never executed in part.
#[test]
fn a_stream_cut_inside_a_tool_call() {
    let call =
        anthropic::text("I will.").tool_use("toolu_1", "bash", json!({"command": "touch done; touch more"}));
    let (output, world, server) = run(
        vec![cut_inside(&call.sse(), "touch more", Disconnect::Fin), anthropic::text("never").into()],
        &["--retries", "0"],
    );
    assert_eq!(output.stdout(), "I will.\n");
    assert!(output.stderr().starts_with("Error [transport]: "), "{output}");
    assert_eq!((output.code(), server.count()), (Some(12), 1));
    assert_eq!(std::fs::read_dir(world.work()).unwrap().count(), 0, "nothing was executed");
}

/// NET-4: a stream that ends in good order, but before the reply does, is no success.
#[test]
fn a_stream_that_ends_too_early() {
    let unfinished = anthropic::text("Hello").sse_unfinished();
    insta::assert_snapshot!(once(Reply::sse(unfinished)), @r"
    Hello
    ------- stderr -------
    Error [transport]: stream ended before the reply was complete
    [exit status: 12]
    ");
}

/// NET-9.
#[test]
fn a_stream_that_contradicts_itself() {
    let events = anthropic::text("Hello").events();
    let twice: String = events[..1].iter().chain(&events).map(anthropic::event).collect();
    insta::assert_snapshot!(once(Reply::sse(twice)), @r"
    ------- stderr -------
    Error [parse]: the provider's answer contradicts itself: a second message_start
    [exit status: 1]
    ");
}

#[test]
fn a_stream_that_is_garbage() {
    let (output, ..) =
        run(vec![Reply::sse("event: message_start\ndata: {\"type\":\n\n")], &["--retries", "0"]);
    insta::assert_snapshot!(output, @r#"
    ------- stderr -------
    Error [parse]: the provider's answer cannot be read: EOF while parsing a value at line 1 column 8
      Details: {"type":
    [exit status: 1]
    "#);
}

/// NET-9, PROV-8: what is unknown or empty is skipped.
#[test]
fn noise_in_a_stream() {
    let events = anthropic::text("Hello").events();
    let mut stream = String::from(": comment\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n");
    for event in &events {
        stream.push_str(&anthropic::event(event).replace('\n', "\r\n").replace("data: ", "data:"));
        stream.push_str("event: novelty\r\ndata: {\"type\":\"novelty\"}\r\n\r\n");
    }
    let empty =
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ""}});
    let at = stream.find("event: content_block_stop").expect("the block ends");
    stream.insert_str(at, &anthropic::event(&empty));
    assert_eq!(once(Reply::sse(stream)).to_string(), "Hello\n[exit status: 0]");
}

/// NET-10.
#[test]
fn other_ends_of_a_reply() {
    let ended = |reason: &str| once(anthropic::text("Hel").stop(reason)).to_string();
    insta::assert_snapshot!(ended("refusal"), @r"
    Hel
    ------- stderr -------
    Error [refused]: the model refused to answer
    [exit status: 7]
    ");
    insta::assert_snapshot!(ended("model_context_window_exceeded"), @r"
    Hel
    ------- stderr -------
    Error [cut]: the reply was cut off at the end of the model's context window
    [exit status: 3]
    ");
    insta::assert_snapshot!(ended("novelty"), @r"
    Hel
    ------- stderr -------
    Warning: The model stopped for an unknown reason: novelty
    [exit status: 0]
    ");
    assert_eq!(ended("stop_sequence"), "Hel\n[exit status: 0]");
}

/// TOOL-7: arguments that are no JSON go back to the model, three times.
#[test]
fn arguments_that_are_no_json() {
    let garbled = |id: &str| {
        let stream = anthropic::tool_use(id, "bash", json!({"command": "touch done"})).sse();
        Reply::sse(stream.replace("\\\"}", ""))
    };
    let replies =
        vec![garbled("toolu_1"), garbled("toolu_2"), garbled("toolu_3"), anthropic::text("never").into()];
    let (output, world, server) = run(replies, &[]);
    insta::assert_snapshot!(output, @r#"
    ------- stderr -------
    Tool finished: bash error="The arguments are not valid JSON, or were cut off. Nothing was executed. Send the call again with one complete JSON object."
    Tool finished: bash error="The arguments are not valid JSON, or were cut off. Nothing was executed. Send the call again with one complete JSON object."
    Tool finished: bash error="The arguments are not valid JSON, or were cut off. Nothing was executed. Send the call again with one complete JSON object."
    Error [parse]: the model sent arguments that are not JSON 3 times in a row
    [exit status: 1]
    "#);
    insta::assert_snapshot!(server.request(1).conversation(), @r"
    user: hi
    assistant: tool_use toolu_1 bash {}
    user: tool_result (error) toolu_1 error invalid_input: The arguments are not valid JSON, or were cut off. Nothing was executed. Send the call again with one complete JSON object.
    ");
    assert_eq!(server.count(), 3);
    assert!(!world.work().join("done").exists());
}

/// TOOL-7: in a row.
#[test]
fn a_good_call_in_between_starts_the_count_again() {
    let garbled = |id: &str| {
        let stream = anthropic::tool_use(id, "ls", json!({"path": "x"})).sse();
        Reply::sse(stream.replace("\\\"}", ""))
    };
    let replies = vec![
        garbled("toolu_1"),
        garbled("toolu_2"),
        anthropic::tool_use("toolu_3", "ls", json!({})).into(),
        garbled("toolu_4"),
        anthropic::text("Hello").into(),
    ];
    let (output, ..) = run(replies, &[]);
    assert_eq!((output.stdout().as_str(), output.code()), ("Hello\n", Some(0)), "{output}");
}
