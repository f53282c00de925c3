//! Answers of the Responses API that go wrong: statuses, strange bodies, contradictions.

use zori_core::provider::Delivery;
use zori_providers::replay::Exchange;

use crate::vendor::Vendor;

async fn reply(exchange: Exchange) -> String {
    Vendor::Responses.reply(exchange).await
}

#[tokio::test]
async fn statuses() {
    let body = r#"{"error":{"message":"Incorrect API key provided: sk-test-key.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#;
    let shown = reply(Exchange::new(401, "application/json", body)).await;
    assert_eq!(
        shown,
        concat!(
            "refused http_status: HTTP 401: Incorrect API key provided: [REDACTED]. | status 401 | details ",
            r#"{"error":{"message":"Incorrect API key provided: [REDACTED].","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#,
        )
    );
}

#[tokio::test]
async fn errors_inside_an_answer_have_the_status_of_their_http_twin() {
    for (event, expected) in [
        (r#"{"type":"error","code":"server_error","message":"m"}"#, "server_error: m | status 500"),
        (
            r#"{"type":"error","code":"insufficient_quota","message":"m"}"#,
            "insufficient_quota: m | status 402",
        ),
        (
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"m"}}"#,
            "invalid_request_error: m | status 400",
        ),
        (
            r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#,
            "unavailable_error: Loading model | status 503",
        ),
        (r#"{"type":"error","code":null,"message":"m"}"#, "error: m"),
    ] {
        let named = Exchange::event_stream(format!("event: error\ndata: {event}\n\n"));
        assert_eq!(reply(named).await, format!("failed api_error: {expected}\n"));
        let unnamed = Exchange::event_stream(format!("data: {event}\n\n"));
        assert_eq!(reply(unnamed).await, format!("failed api_error: {expected}\n"));
    }
    let whole = r#"{"error":{"message":"The server had an error.","type":"server_error"}}"#;
    assert_eq!(
        Vendor::Responses.reply_as(Exchange::json(whole), Delivery::Whole).await,
        "refused api_error: server_error: The server had an error. | status 500"
    );
}

#[tokio::test]
async fn bodies_that_are_no_reply() {
    assert_eq!(
        reply(Exchange::new(200, "text/html", "<html>Please\nlog in</html>")).await,
        "refused parse: the server answered with `text/html`, not with a model's reply; check the base URL \
         | details <html>Please log in</html>"
    );
    assert_eq!(
        reply(Exchange::event_stream("<html>Please log in</html>")).await,
        "failed transport: stream ended before the reply was complete\n"
    );
    assert_eq!(
        reply(Exchange::json("{}")).await,
        "refused parse: the provider's answer has no output | details {}"
    );
    assert_eq!(
        reply(Exchange::json(r#"{"status":"in_progress","output":[]}"#)).await,
        "refused parse: the provider's answer contradicts itself: an end with the status `in_progress`"
    );
    assert_eq!(
        reply(Exchange::json(r#"{"output":[]}"#)).await,
        "refused parse: the provider's answer contradicts itself: an end without a status"
    );
}

/// Decodes a stream that starts properly and goes on with these events; returns what comes after the start.
async fn after_start(events: &[&str]) -> String {
    let mut stream = "data: {\"type\":\"response.created\",\"response\":{\"model\":\"m\"}}\n\n".to_owned();
    for event in events {
        stream += &format!("data: {event}\n\n");
    }
    let shown = reply(Exchange::event_stream(stream)).await;
    shown.strip_prefix("started m\n").expect("it started").trim_end().to_owned()
}

const MESSAGE: &str =
    r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"a"}}"#;
const CALL: &str = r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"a","call_id":"c","name":"ls"}}"#;
const TEXT: &str = r#"{"type":"response.output_text.delta","output_index":0,"item_id":"a","delta":"x"}"#;
const INPUT: &str =
    r#"{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"a","delta":"{}"}"#;
const OTHER_INPUT: &str = r#"{"type":"response.function_call_arguments.done","output_index":0,"item_id":"a","arguments":"{\"a\":1}"}"#;
const END: &str = r#"{"type":"response.completed","response":{"status":"completed"}}"#;

#[tokio::test]
async fn contradictions_end_the_reply() {
    let wrong = |what: &str| format!("failed parse: the provider's answer contradicts itself: {what}");
    for (events, what) in [
        (&[r#"{"type":"response.created","response":{}}"#][..], "a second response.created"),
        (&[TEXT], "a part of an item that is not open"),
        (&[MESSAGE, MESSAGE], "an item that is added twice"),
        (&[MESSAGE, INPUT], "arguments that do not belong to a call"),
        (
            &[r#"{"type":"response.output_item.added","item":{"type":"function_call","call_id":"c"}}"#],
            "a function call without a name",
        ),
        (
            &[MESSAGE, r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"x"}"#],
            "reasoning that does not belong to a reasoning item",
        ),
        (
            &[r#"{"type":"response.completed","response":{"status":"incomplete"}}"#],
            "an end that is named otherwise than its status",
        ),
        (&[r#"{"type":"response.completed","response":{}}"#], "an end without a status"),
    ] {
        assert_eq!(after_start(events).await, wrong(what), "{events:?}");
    }
    for (events, what) in [
        (&[CALL, TEXT][..], "text that does not belong to a message"),
        (&[CALL, END], "a completed response with an open call"),
    ] {
        assert_eq!(after_start(events).await, format!("call 0 ls c\n{}", wrong(what)));
    }
    assert_eq!(
        after_start(&[CALL, INPUT, OTHER_INPUT]).await,
        format!("call 0 ls c\ncall 0 input \"{{}}\"\n{}", wrong("arguments that differ from their deltas"))
    );
    let numbered = |number: u64| {
        format!(
            r#"{{"type":"response.output_text.delta","sequence_number":{number},"output_index":0,"delta":"x"}}"#
        )
    };
    for late in [3, 4] {
        assert_eq!(
            after_start(&[MESSAGE, &numbered(4), &numbered(late)]).await,
            format!("text \"x\"\n{}", wrong("a part that comes twice or too late"))
        );
    }
    assert_eq!(
        reply(Exchange::event_stream(format!("data: {MESSAGE}\n\n"))).await.trim_end(),
        wrong("an item before response.created")
    );
}

#[tokio::test]
async fn oddities_that_are_none() {
    let plain = r#"{"type":"response.output_text.delta","delta":"x"}"#;
    let incomplete = r#"{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"someday"}}}"#;
    assert_eq!(
        after_start(&[MESSAGE, plain, END]).await,
        "text \"x\"\ndone EndTurn",
        "a delta without index and id, a message without its end"
    );
    assert_eq!(after_start(&[incomplete]).await, "done Other(\"someday\")");
    assert_eq!(
        after_start(&[CALL, INPUT, incomplete]).await,
        "call 0 ls c\ncall 0 input \"{}\"\ndone Other(\"someday\")",
        "a call that is cut off stays open, so that nobody runs it"
    );
    let unsigned = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"a","summary":[{"type":"summary_text","text":"Hm."}]}}"#;
    let thinking =
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"a"}}"#;
    assert_eq!(
        after_start(&[thinking, unsigned, END]).await,
        "thinking \"Hm.\"\nblock end\ndone EndTurn",
        "reasoning that is not encrypted is shown, not sent back"
    );
    assert_eq!(after_start(&[END, TEXT]).await, "done EndTurn");
}
