//! Answers of Chat Completions that go wrong: statuses, strange bodies, contradictions, streams without end.

use std::sync::Arc;

use zori_core::provider::Delivery;
use zori_providers::quirks::ToolStyle;
use zori_providers::replay::Exchange;

use crate::ask::{ask, fixture};
use crate::chat_ask::{chat, chat_reply};
use crate::endless::Endless;

async fn reply(exchange: Exchange) -> String {
    chat_reply("openai_chat/x", exchange, Delivery::Streamed).await
}

#[tokio::test]
async fn statuses() {
    let body = String::from_utf8(fixture("compat/llama-server/chat_error.json")).unwrap();
    assert_eq!(
        reply(Exchange::new(400, "application/json", body.clone())).await,
        format!(
            "refused http_status: HTTP 400: Expected 'messages' to be an array | status 400 | details {body}"
        )
    );
    let secret = r#"{"error":{"message":"Incorrect API key provided: sk-test-key."}}"#;
    assert_eq!(
        reply(Exchange::new(401, "application/json", secret)).await,
        "refused http_status: HTTP 401: Incorrect API key provided: [REDACTED]. | status 401 | details \
         {\"error\":{\"message\":\"Incorrect API key provided: [REDACTED].\"}}"
    );
}

#[tokio::test]
async fn errors_inside_an_answer() {
    for (error, expected) in [
        (r#"{"message":"m","type":"server_error","code":null}"#, "server_error: m | status 500"),
        (r#"{"message":"m","type":"requests","code":"rate_limit_exceeded"}"#, "requests: m | status 429"),
        (r#"{"message":"m","code":502}"#, "502: m | status 502"),
        (r#"{"message":"m","code":"503"}"#, "503: m | status 503"),
        (r#"{"message":"m","code":7,"type":"odd"}"#, "odd: m"),
        (r#"{"message":"m"}"#, "error: m"),
        (r#""model not loaded""#, "error: model not loaded"),
        ("{}", "error: "),
        ("[1]", "error: [1]"),
    ] {
        let body = format!(r#"{{"error":{error}}}"#);
        let streamed = reply(Exchange::event_stream(format!("data: {body}\n\n"))).await;
        assert_eq!(streamed, format!("failed api_error: {expected}\n"));
        let whole = chat_reply("openai_chat/x", Exchange::json(body), Delivery::Whole).await;
        assert_eq!(whole, format!("refused api_error: {expected}"));
        let choice = format!(r#"{{"choices":[{{"error":{error},"finish_reason":"error"}}]}}"#);
        let shown = reply(Exchange::event_stream(format!("data: {choice}\n\n"))).await;
        assert_eq!(shown, format!("started \nfailed api_error: {expected}\n"));
    }
}

#[tokio::test]
async fn bodies_that_are_no_reply() {
    let incomplete = "failed transport: stream ended before the reply was complete\n";
    assert_eq!(reply(Exchange::event_stream("")).await, incomplete);
    assert_eq!(reply(Exchange::event_stream(": only comments\n\n")).await, incomplete);
    assert_eq!(
        reply(Exchange::new(200, "text/html", "<html>Please\nlog in</html>")).await,
        "refused parse: the server answered with `text/html`, not with a model's reply; check the base URL \
         | details <html>Please log in</html>"
    );
    assert_eq!(
        reply(Exchange::json("{}")).await,
        "refused parse: the provider's answer contradicts itself: an end without a finish reason"
    );
    assert_eq!(
        reply(Exchange::json("")).await,
        "refused parse: the provider's answer cannot be read: EOF while parsing a value at line 1 column 0"
    );
}

#[tokio::test]
async fn servers_that_ignore_what_was_asked() {
    let whole = fixture("openai_chat/whole.json");
    assert_eq!(
        reply(Exchange::json(whole.clone())).await,
        chat_reply("openai_chat/whole", Exchange::json(whole), Delivery::Whole).await
    );
    let streamed = Exchange::event_stream(fixture("openai_chat/text.sse"));
    let asked_whole = chat_reply("openai_chat/text", streamed.clone(), Delivery::Whole).await;
    assert_eq!(asked_whole, reply(streamed).await);
}

/// Decodes a stream of these deltas and finish reasons; returns what comes after the start.
async fn choices(choices: &[&str]) -> String {
    let events = choices.iter().map(|c| format!("data: {{\"model\":\"m\",\"choices\":[{c}]}}\n\n"));
    let stream = events.collect::<String>() + "data: [DONE]\n\n";
    let shown = reply(Exchange::event_stream(stream)).await;
    shown.strip_prefix("started m\n").expect("it started").trim_end().replace('\n', "; ")
}

#[tokio::test]
async fn contradictions_end_the_reply() {
    const SAY: &str = r#"{"delta":{"content":"a"}}"#;
    const STOP: &str = r#"{"delta":{},"finish_reason":"stop"}"#;
    let wrong = "failed parse: the provider's answer contradicts itself:";
    for (events, expected) in [
        (&[SAY][..], format!("text \"a\"; {wrong} an end without a finish reason")),
        (&[STOP, SAY], format!("{wrong} more content after the finish reason")),
        (&[STOP, r#"{"finish_reason":"length"}"#], format!("{wrong} two finish reasons")),
        (
            &[r#"{"delta":{"tool_calls":[{"index":0,"id":"x"}]},"finish_reason":"tool_calls"}"#],
            format!("{wrong} a call without a name"),
        ),
    ] {
        assert_eq!(choices(events).await, expected, "{events:?}");
    }
    let twice = format!("data: {{\"choices\":[{STOP}]}}\n\ndata: [DONE]\n\n");
    assert_eq!(
        reply(Exchange::event_stream(twice + "data: [DONE]\n\n")).await,
        "started \ndone EndTurn\n",
        "what comes after the end is not read"
    );
}

#[tokio::test]
async fn oddities_that_are_none() {
    const STOP: &str = r#"{"delta":{},"finish_reason":"stop"}"#;
    let call = |fields: &str| format!(r#"{{"delta":{{"tool_calls":[{{{fields}}}]}}}}"#);
    for (events, expected) in [
        (
            vec![
                r#"{"delta":{"content":""},"finish_reason":""}"#.to_owned(),
                STOP.to_owned(),
                STOP.to_owned(),
            ],
            "done EndTurn",
        ),
        (vec![r#"{"index":1,"delta":{"content":"other"}}"#.to_owned(), STOP.to_owned()], "done EndTurn"),
        (
            vec![
                call(r#""index":0,"id":"x","function":{"arguments":"{\"a\""}"#),
                call(r#""index":0,"function":{"name":"ls","arguments":":1}"}"#),
                STOP.to_owned(),
            ],
            r#"call 0 ls x; call 0 input "{\"a\""; call 0 input ":1}"; call 0 end; done ToolUse"#,
        ),
        (
            vec![
                call(r#""index":0,"id":"x","function":{"name":"ls","arguments":"{"}"#),
                call(r#""index":0,"id":"x","function":{"name":"ls","arguments":"}"}"#),
                STOP.to_owned(),
            ],
            r#"call 0 ls x; call 0 input "{"; call 0 input "}"; call 0 end; done ToolUse"#,
        ),
        (
            vec![
                call(r#""id":"","function":{"name":"ls","arguments":"{}"}"#),
                call(r#""function":{"name":"ls","arguments":null}"#),
                STOP.to_owned(),
            ],
            r#"call 0 ls without id; call 0 input "{}"; call 1 ls without id; call 0 end; call 1 end; done ToolUse"#,
        ),
    ] {
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        assert_eq!(choices(&events).await, expected, "{events:?}");
    }
}

#[tokio::test]
async fn streams_without_end() {
    let text = "x".repeat(1024 * 1024);
    for (tools, delta) in
        [(ToolStyle::Native, "content"), (ToolStyle::Native, "reasoning"), (ToolStyle::Prose, "content")]
    {
        let again = format!("data: {{\"choices\":[{{\"delta\":{{\"{delta}\":\"{text}\"}}}}]}}\n\n");
        let provider = chat("openai", tools, Arc::new(Endless { start: "", again }));
        let shown = ask(&provider, Delivery::Streamed).await;
        assert_eq!(shown.lines().last(), Some("failed parse: the reply is larger than 64 MiB"), "{delta}");
    }
}
