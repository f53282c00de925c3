//! Answers that go wrong: statuses, strange bodies, contradictions, streams without end.

use std::sync::Arc;

use zori_core::provider::Delivery;
use zori_core::time::Clock;
use zori_core::transport::{Timeouts, TransportFailure};
use zori_providers::anthropic::Anthropic;
use zori_providers::endpoint::Endpoint;
use zori_providers::key::Credential;
use zori_providers::replay::{Ending, Exchange, ReplayTransport};

use crate::ask::{StoppedClock, ask, fixture, reply, reply_as};
use crate::endless::{Endless, MinuteClock};

#[tokio::test]
async fn statuses() {
    let body = r#"{"type":"error","error":{"type":"rate_limit_error","message":"Too fast"}}"#;
    let mut exchange = Exchange::new(429, "application/json", body);
    exchange.headers.push(("retry-after".to_owned(), "3".to_owned()));
    assert_eq!(
        reply(exchange).await,
        format!("refused http_status: HTTP 429: Too fast | status 429 | after 3s | details {body}")
    );
    assert_eq!(
        reply(Exchange::new(502, "text/html", "<h1>Bad\nGateway</h1>")).await,
        "refused http_status: HTTP 502 | status 502 | details <h1>Bad Gateway</h1>"
    );
    assert_eq!(
        reply(Exchange::new(304, "text/plain", "")).await,
        "refused http_status: HTTP 304 | status 304"
    );
}

#[tokio::test]
async fn a_key_that_the_server_repeats_is_not_repeated_again() {
    let exchange = Exchange::new(401, "application/json", r#"{"error":{"message":"bad key sk-test-key"}}"#);
    assert_eq!(
        reply(exchange).await,
        "refused http_status: HTTP 401: bad key [REDACTED] | status 401 | details {\"error\":{\"message\":\"bad key [REDACTED]\"}}"
    );
    let event = "event: error\ndata: {\"error\":{\"type\":\"api_error\",\"message\":\"sk-test-key?\"}}\n\n";
    assert_eq!(
        reply(Exchange::event_stream(event)).await,
        "failed api_error: api_error: [REDACTED]? | status 500\n"
    );
}

#[tokio::test]
async fn no_connection() {
    assert_eq!(
        ask(&crate::ask::anthropic(Arc::new(ReplayTransport::default())), Delivery::Streamed).await,
        "refused timeout: Connection failed: the recording has no further answer"
    );
}

#[tokio::test]
async fn error_types_have_the_status_of_their_http_twin() {
    for (kind, status) in [
        ("invalid_request_error", 400),
        ("authentication_error", 401),
        ("billing_error", 402),
        ("permission_error", 403),
        ("not_found_error", 404),
        ("request_too_large", 413),
        ("rate_limit_error", 429),
        ("api_error", 500),
        ("timeout_error", 504),
        ("overloaded_error", 529),
    ] {
        let event = format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"m"}}}}"#);
        let expected = format!("api_error: {kind}: m | status {status}");
        let streamed = Exchange::event_stream(format!("event: error\ndata: {event}\n\n"));
        assert_eq!(reply(streamed).await, format!("failed {expected}\n"));
        assert_eq!(reply_as(Exchange::json(event), Delivery::Whole).await, format!("refused {expected}"));
    }
    assert_eq!(
        reply(Exchange::event_stream("event: error\ndata: {\"error\":{}}\n\n")).await,
        "failed api_error: error: \n"
    );
}

#[tokio::test]
async fn bodies_that_are_no_reply() {
    let incomplete = "failed transport: stream ended before the reply was complete\n";
    assert_eq!(reply(Exchange::event_stream("")).await, incomplete);
    assert_eq!(reply(Exchange::event_stream("\n\n: only comments\n\n")).await, incomplete);
    assert_eq!(
        reply(Exchange::new(200, "text/html; charset=utf-8", "<html>Please\nlog in</html>")).await,
        "refused parse: the server answered with `text/html`, not with a model's reply; check the base URL \
         | details <html>Please log in</html>"
    );
    assert_eq!(
        reply(Exchange::json("{}")).await,
        "refused parse: the provider's answer cannot be read: missing field `content` at line 1 column 2 \
         | details {}"
    );
    assert_eq!(
        reply(Exchange::json("")).await,
        "refused parse: the provider's answer cannot be read: EOF while parsing a value at line 1 column 0"
    );
    assert_eq!(
        reply(Exchange::json(r#"{"content":[],"stop_reason":null}"#)).await,
        "refused parse: the provider's answer contradicts itself: a message without a stop reason"
    );
    let broken = Ending::Failure(TransportFailure::Broken("reset".to_owned()));
    assert_eq!(
        reply(Exchange::json("{\"content\":[").ending(broken)).await,
        "refused transport: connection lost: reset"
    );
}

#[tokio::test]
async fn servers_that_ignore_what_was_asked() {
    let streamed = fixture("anthropic/text.sse");
    let whole = fixture("anthropic/whole.json");
    assert_eq!(
        reply_as(Exchange::event_stream(streamed.clone()), Delivery::Whole).await,
        reply(Exchange::event_stream(streamed.clone())).await
    );
    assert_eq!(
        reply(Exchange::json(whole.clone())).await,
        reply_as(Exchange::json(whole.clone()), Delivery::Whole).await
    );
    // Without a content type, the request decides.
    let bare = |body: Vec<u8>| {
        let mut exchange = Exchange::json(body);
        exchange.headers.clear();
        exchange
    };
    assert_eq!(reply(bare(streamed.clone())).await, reply(Exchange::event_stream(streamed)).await);
    assert_eq!(
        reply_as(bare(whole.clone()), Delivery::Whole).await,
        reply_as(Exchange::json(whole), Delivery::Whole).await
    );
}

/// Decodes a stream that starts properly and goes on with these events; returns what comes after the start.
async fn after_start(events: &[&str]) -> String {
    let mut stream = "event: message_start\ndata: {\"message\":{\"model\":\"m\"}}\n\n".to_owned();
    for event in events {
        let tag: serde_json::Value = serde_json::from_str(event).expect("test data is JSON");
        stream += &format!("event: {}\ndata: {event}\n\n", tag["type"].as_str().expect("it has a type"));
    }
    let shown = reply(Exchange::event_stream(stream)).await;
    shown.strip_prefix("started m\n").expect("it started").trim_end().to_owned()
}

#[tokio::test]
async fn contradictions_end_the_reply() {
    const TEXT: &str =
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    const SAY: &str = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}"#;
    const STOP: &str = r#"{"type":"content_block_stop","index":0}"#;
    const END: &str = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#;
    const OVER: &str = r#"{"type":"message_stop"}"#;
    let wrong = |what: &str| format!("failed parse: the provider's answer contradicts itself: {what}");
    for (events, what) in [
        (&[r#"{"type":"message_start","message":{}}"#][..], "a second message_start"),
        (&[SAY], "a delta for a block that is not open"),
        (&[TEXT, TEXT], "a block that starts twice"),
        (&[TEXT, STOP, TEXT], "a block that starts twice"),
        (&[TEXT, STOP, SAY], "a delta for a block that is not open"),
        (&[STOP], "a stop for a block that is not open"),
        (&[TEXT, END, OVER], "message_stop while a block is open"),
        (&[OVER], "message_stop without a stop reason"),
        (
            &[TEXT, r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta"}}"#],
            "a delta that does not fit its block",
        ),
        (
            &[r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"x"}}"#],
            "a tool_use block without a name",
        ),
    ] {
        assert_eq!(after_start(events).await, wrong(what), "{events:?}");
    }
    let early = format!("event: content_block_stop\ndata: {STOP}\n\n");
    assert_eq!(
        reply(Exchange::event_stream(early)).await.trim_end(),
        wrong("content_block_stop before message_start")
    );
}

#[tokio::test]
async fn oddities_that_are_none() {
    let call = |input: &str| {
        format!(
            r#"{{"type":"content_block_start","index":4,"content_block":{{"type":"tool_use","id":"x","name":"ls","input":{input}}}}}"#
        )
    };
    const STOP: &str = r#"{"type":"content_block_stop","index":4}"#;
    const END: &str = r#"{"type":"message_delta","delta":{"stop_reason":"someday"}}"#;
    const OVER: &str = r#"{"type":"message_stop"}"#;
    assert_eq!(
        after_start(&[&call(r#"{"path":"."}"#), STOP, END, OVER]).await,
        "call 0 ls x\ncall 0 input \"{\\\"path\\\":\\\".\\\"}\"\ncall 0 end\ndone Other(\"someday\")",
        "arguments that come with the start"
    );
    const DELTA: &str =
        r#"{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#;
    assert_eq!(
        after_start(&[&call(r#"{"path":"."}"#), DELTA, STOP, END, OVER]).await,
        "call 0 ls x\ncall 0 input \"{}\"\ncall 0 end\ndone Other(\"someday\")",
        "a delta replaces them"
    );
    assert_eq!(
        after_start(&[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"un"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"signed"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            END,
            OVER,
        ])
        .await,
        "thinking \"un\"\nthinking \"signed\"\nblock end\ndone Other(\"someday\")",
        "thinking without a signature is shown, not sent back"
    );
}

async fn endless(clock: Arc<dyn Clock>, start: &'static str, again: String) -> String {
    let provider = Anthropic::new(Endpoint {
        base_url: "http://api.test".to_owned(),
        key: Some(Credential::Key("k".into())),
        transport: Arc::new(Endless { start, again }),
        limits: Timeouts::DEFAULT,
        clock,
    });
    let shown = ask(&provider, Delivery::Streamed).await;
    shown.lines().last().unwrap_or_default().to_owned()
}

const OPEN_TEXT: &str = concat!(
    "event: message_start\ndata: {\"message\":{}}\n\n",
    "event: content_block_start\ndata: {\"index\":0,\"content_block\":{\"type\":\"text\"}}\n\n",
);

#[tokio::test]
async fn streams_without_end() {
    let text = "x".repeat(1024 * 1024);
    let delta = format!(
        "event: content_block_delta\ndata: {{\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{text}\"}}}}\n\n"
    );
    assert_eq!(
        endless(Arc::new(StoppedClock), OPEN_TEXT, delta).await,
        "failed parse: the reply is larger than 64 MiB"
    );
    assert_eq!(
        endless(Arc::new(StoppedClock), "data: ", text).await,
        "failed parse: an event of the stream is larger than 16 MiB"
    );
    for life in ["event: ping\ndata: {\"type\":\"ping\"}\n\n", ": still here\n\n"] {
        assert_eq!(
            endless(Arc::new(MinuteClock::default()), OPEN_TEXT, life.to_owned()).await,
            "failed transport: nothing but signs of life for 10 minutes"
        );
    }
}
