//! Answers of the Gemini API that go wrong: statuses, strange bodies, errors in every form.

use zori_core::provider::Delivery;
use zori_providers::replay::Exchange;

use crate::ask::fixture;
use crate::vendor::Vendor;

async fn reply(exchange: Exchange) -> String {
    Vendor::Gemini.reply(exchange).await
}

#[tokio::test]
async fn errors_come_as_an_object_or_as_a_list() {
    let list = fixture("gemini/error_list.json");
    let shown = reply(Exchange::new(400, "application/json", list.clone())).await;
    let expected =
        "refused http_status: HTTP 400: API key not valid. Please pass a valid API key. | status 400";
    assert!(shown.starts_with(expected), "{shown}");
    let inside =
        "refused api_error: INVALID_ARGUMENT: API key not valid. Please pass a valid API key. | status 400";
    assert_eq!(reply(Exchange::json(list)).await, inside);
    let object = r#"{"error":{"code":429,"message":"Quota exceeded\nfor sk-test-key.","status":"RESOURCE_EXHAUSTED"}}"#;
    assert_eq!(
        reply(Exchange::json(object)).await,
        "refused api_error: RESOURCE_EXHAUSTED: Quota exceeded for [REDACTED]. | status 429"
    );
    assert_eq!(
        reply(Exchange::event_stream(format!("data: {object}\n\n"))).await,
        "failed api_error: RESOURCE_EXHAUSTED: Quota exceeded for [REDACTED]. | status 429\n"
    );
    assert_eq!(
        reply(Exchange::event_stream("event: error\ndata: {\"error\":{}}\n\n")).await,
        "failed api_error: error: \n"
    );
}

#[tokio::test]
async fn bodies_that_are_no_reply() {
    assert_eq!(
        reply(Exchange::new(200, "text/html", "<html>Please\nlog in</html>")).await,
        "refused parse: the server answered with `text/html`, not with a model's reply; check the base URL \
         | details <html>Please log in</html>"
    );
    let unfinished =
        "refused parse: the provider's answer contradicts itself: an answer without a finish reason";
    for body in
        ["{}", "[]", r#"{"candidates":[]}"#, r#"{"candidates":[{"content":{"parts":[{"text":"x"}]}}]}"#]
    {
        assert_eq!(reply(Exchange::json(body)).await, unfinished, "{body}");
    }
    assert_eq!(
        reply(Exchange::event_stream(
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{}}]}}]}\n\n"
        ))
        .await,
        "started \nfailed parse: the provider's answer contradicts itself: a function call without a name\n"
    );
    assert_eq!(
        reply(Exchange::event_stream("data: {\"candidates\":7}\n\n")).await,
        "failed parse: the provider's answer cannot be read: invalid type: integer `7`, expected a sequence \
         at line 1 column 15 | details {\"candidates\":7}\n"
    );
}

#[tokio::test]
async fn a_list_of_responses_is_a_stream_in_one_piece() {
    let stream = String::from_utf8(fixture("gemini/thoughts_then_tool.sse")).unwrap();
    let events: Vec<&str> = stream.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    let list = format!("[{}]", events.join(",\r\n"));
    let streamed = reply(Exchange::event_stream(stream.clone())).await;
    for delivery in [Delivery::Streamed, Delivery::Whole] {
        assert_eq!(Vendor::Gemini.reply_as(Exchange::json(list.clone()), delivery).await, streamed);
    }
}

#[tokio::test]
async fn oddities_that_are_none() {
    let event = |parts: &str| {
        format!(
            "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{parts}]}},\"finishReason\":\"STOP\"}}]}}\n\n"
        )
    };
    let shown =
        reply(Exchange::event_stream(event(r#"{"functionCall":{"id":"","name":"ls","args":null}}"#))).await;
    assert_eq!(shown, "started \ncall 0 ls without id\ncall 0 end\ndone ToolUse\n", "an empty id is none");
    let named = format!("event: keepalive\ndata: nothing\n\nevent: message\n{}", event(r#"{"text":"x"}"#));
    assert_eq!(
        reply(Exchange::event_stream(named)).await,
        "started \ntext \"x\"\nblock end\ndone EndTurn\n",
        "events that have a name are not the API's"
    );
    let second = "data: {\"candidates\":[{\"index\":1,\"content\":{\"parts\":[{\"text\":\"no\"}]},\"finishReason\":\"STOP\"},\
                  {\"index\":0,\"finishReason\":\"FINISH_SOMEDAY\"}]}\n\n";
    assert_eq!(
        reply(Exchange::event_stream(second)).await,
        "started \ndone Other(\"FINISH_SOMEDAY\")\n",
        "one candidate counts"
    );
}
