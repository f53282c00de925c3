//! A conversation that is longer than the model takes, said inside of an answer that had begun well: every API's way of
//! saying it has the kind that makes the engine shorten the conversation.

use std::sync::Arc;

use zori_core::provider::Delivery;
use zori_providers::quirks::ToolStyle;
use zori_providers::replay::{Exchange, ReplayTransport};

use crate::ask::ask;
use crate::chat_ask::chat;
use crate::vendor::Vendor;

/// Returns what is made of a stream of this one event.
async fn read(api: &str, event: &str) -> String {
    let transport = Arc::new(ReplayTransport::new([Exchange::event_stream(event.to_owned())]));
    match api {
        "anthropic" => ask(&*Vendor::Anthropic.provider(transport), Delivery::Streamed).await,
        "codex" => ask(&*Vendor::Responses.provider(transport), Delivery::Streamed).await,
        "gemini" => ask(&*Vendor::Gemini.provider(transport), Delivery::Streamed).await,
        server => ask(&chat(server, ToolStyle::Native, transport), Delivery::Streamed).await,
    }
}

#[tokio::test]
async fn errors_inside_a_stream() {
    for (api, event, expected) in [
        (
            "anthropic",
            r#"event: error
data: {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}"#,
            "invalid_request_error: prompt is too long: 9 tokens > 8 maximum | status 400",
        ),
        (
            "codex",
            r#"event: error
data: {"type":"error","code":"context_length_exceeded","message":"Your input is too much."}"#,
            "context_length_exceeded: Your input is too much. | status 400",
        ),
        (
            "gemini",
            r#"data: {"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens allowed (8).","status":"INVALID_ARGUMENT"}}"#,
            "INVALID_ARGUMENT: The input token count (9) exceeds the maximum number of tokens allowed (8). | status 400",
        ),
        (
            "openai",
            r#"data: {"error":{"message":"Too much.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
            "invalid_request_error: Too much. | status 400",
        ),
        (
            "openrouter",
            r#"data: {"error":{"code":400,"message":"This endpoint's maximum context length is 8 tokens."},"choices":[]}"#,
            "400: This endpoint's maximum context length is 8 tokens. | status 400",
        ),
        (
            "llamacpp",
            r#"data: {"error":{"code":400,"message":"too large","type":"exceed_context_size_error","n_prompt_tokens":9,"n_ctx":8}}"#,
            "exceed_context_size_error: too large | status 400",
        ),
        (
            "ollama",
            r#"data: {"error":{"message":"the input length exceeds the context length","type":"api_error"}}"#,
            "api_error: the input length exceeds the context length",
        ),
        (
            "lmstudio",
            r#"data: {"error":"The model is loaded with context length of only 8 tokens"}"#,
            "error: The model is loaded with context length of only 8 tokens",
        ),
    ] {
        let shown = read(api, &format!("{event}\n\n")).await;
        assert_eq!(shown, format!("failed context_length: {expected}\n"), "{api}");
    }
}

/// The Responses API ends an answer that had begun with an event of its own.
#[tokio::test]
async fn a_response_that_failed() {
    let stream = concat!(
        "event: response.created\ndata: {\"response\":{\"model\":\"m\"}}\n\n",
        "event: response.failed\ndata: {\"response\":{\"status\":\"failed\",\"error\":",
        "{\"code\":\"context_length_exceeded\",\"message\":\"Too much.\"}}}\n\n",
    );
    assert_eq!(
        read("codex", stream).await,
        "started m\nfailed context_length: context_length_exceeded: Too much. | status 400\n"
    );
}
