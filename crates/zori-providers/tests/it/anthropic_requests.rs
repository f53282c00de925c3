//! What is sent: the bytes of each fixture's request, and the rest of the HTTP request around them.

use std::sync::Arc;

use serde_json::value::RawValue;
use zori_core::ids::CallId;
use zori_core::message::{Block, IdOrigin, Message, Opaque, Role, Thinking, ToolCall, ToolInput, ToolResult};
use zori_core::provider::{Delivery, Provider, Request};
use zori_core::tool::ToolSpec;
use zori_core::transport::{HttpRequest, Method, Redirects, Timeouts, named_headers};
use zori_providers::anthropic::Anthropic;
use zori_providers::endpoint::Endpoint;
use zori_providers::key::Credential;
use zori_providers::replay::{Exchange, ReplayTransport};

use crate::ask::{StoppedClock, anthropic, ask, fixture, streams};

/// What a fixture's request is made from.
struct Conversation {
    model: &'static str,
    system: Option<Arc<str>>,
    tools: Arc<[ToolSpec]>,
    messages: Vec<Arc<Message>>,
    delivery: Delivery,
}

fn conversation(name: &str) -> Conversation {
    let said = |text: &str| vec![Arc::new(Message::user(text))];
    let plain = |text: &str| Conversation {
        model: "claude-haiku-4-5",
        system: None,
        tools: Arc::default(),
        messages: said(text),
        delivery: Delivery::Streamed,
    };
    let equipped = |messages| Conversation {
        model: "claude-haiku-4-5",
        system: Some("You are a coding agent. Be brief.".into()),
        tools: tools(),
        messages,
        delivery: Delivery::Streamed,
    };
    match name {
        "text" | "crlf" => plain("Hello"),
        "text_with_pings" => plain("Are you there?"),
        "empty_deltas" => plain("Be short."),
        "error_mid_stream" => plain("What is the time?"),
        "refusal" => plain("Do something bad."),
        "max_tokens" => plain("Count to fifty."),
        "stop_sequence" => plain("Say something that ends with END."),
        "pause_turn" => plain("Search for long."),
        "context_window" => plain("Summarise all of this."),
        "redacted_thinking" => plain("Think about it."),
        "unknown_events" => plain("Look it up."),
        "thinking_omitted" => Conversation { model: "claude-opus-5-5", ..plain("Are we done?") },
        "tool_call" => equipped(said("What is in src/main.rs?")),
        "text_then_tool" | "unnamed_events" => equipped(said("What is in src?")),
        "parallel_tools" => equipped(said("Compare a.txt with b.txt, and list the rest.")),
        "max_tokens_in_tool" => equipped(said("Write a big file.")),
        "unicode" => equipped(said("Schreib „größe.txt“ – auf 日本語 🎉")),
        "thinking_then_tool" => equipped(said("Run the tests.")),
        "interleaved_thinking" => equipped(tool_round()),
        "cache_usage" => {
            let mut messages = tool_round();
            messages.push(Arc::new(Message {
                role: Role::Assistant,
                blocks: vec![Block::Text("One test fails.".into())],
            }));
            messages.extend(said("Fix it."));
            equipped(messages)
        }
        "whole" => Conversation { delivery: Delivery::Whole, ..equipped(said("Read a b.txt")) },
        other => panic!("say here what {other} answers"),
    }
}

fn tools() -> Arc<[ToolSpec]> {
    let tool = |name: &str, description: &str, parameter: &str| ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        schema: raw(&format!(
            r#"{{"type":"object","properties":{{"{parameter}":{{"type":"string"}}}},"required":["{parameter}"]}}"#
        )),
    };
    Arc::new([tool("read", "Reads a text file.", "path"), tool("bash", "Runs a shell command.", "command")])
}

/// A turn in which the model thought, called two tools, and has the results of both.
fn tool_round() -> Vec<Arc<Message>> {
    let call = |id: &str, name: &str, input: &str| {
        Block::ToolCall(ToolCall {
            id: CallId::new(id),
            name: name.to_owned(),
            input: ToolInput::parse(input.to_owned()),
            id_origin: IdOrigin::Provider,
            replay: None,
        })
    };
    let result = |id: &str, name: &str, ok: bool, envelope: &str| {
        Block::ToolResult(ToolResult {
            call: CallId::new(id),
            name: name.to_owned(),
            ok,
            envelope: raw(envelope).into(),
            text: None,
            images: Vec::new(),
        })
    };
    let thought = Thinking {
        text: "Two things.".into(),
        replay: Some(Opaque::new(
            "anthropic",
            raw(r#"{"type":"thinking","thinking":"Two things.","signature":"EqABround=="}"#),
        )),
    };
    vec![
        Arc::new(Message::user("Run the tests.")),
        Arc::new(Message {
            role: Role::Assistant,
            blocks: vec![
                Block::Thinking(thought),
                Block::Text("Both at once.".into()),
                call("toolu_01r", "read", r#"{"path": "test.sh"}"#),
                call("toolu_02r", "bash", r#"{"command":"sh test.sh"}"#),
            ],
        }),
        Arc::new(Message {
            role: Role::User,
            blocks: vec![
                result(
                    "toolu_01r",
                    "read",
                    false,
                    r#"{"ok":false,"error":{"code":"path_error","message":"File not found: test.sh (ENOENT)"}}"#,
                ),
                result(
                    "toolu_02r",
                    "bash",
                    true,
                    r#"{"ok":true,"data":{"stdout":"FAIL 15\n","stderr":"","exit_code":1,"timed_out":false}}"#,
                ),
            ],
        }),
    ]
}

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).expect("test data is JSON")
}

/// Sends a conversation and returns the request that went out.
async fn sent(conversation: &Conversation) -> HttpRequest {
    let transport = Arc::new(ReplayTransport::new([Exchange::json("{}")]));
    let provider = anthropic(transport.clone());
    let request = Request {
        model: conversation.model,
        system: conversation.system.as_ref(),
        tools: &conversation.tools,
        messages: &conversation.messages,
        max_tokens: None,
        temperature: None,
        effort: None,
        delivery: conversation.delivery,
    };
    // The answer is nonsense; only the request is of interest.
    assert!(provider.stream(&request).await.is_err());
    transport.requests().remove(0)
}

#[tokio::test]
async fn every_stream_has_the_request_it_answers() {
    let names = streams("anthropic").into_iter().chain(["anthropic/whole".to_owned()]);
    for name in names {
        let conversation = conversation(name.strip_prefix("anthropic/").unwrap());
        let body = String::from_utf8(sent(&conversation).await.body.to_vec()).unwrap();
        let file = String::from_utf8(fixture(&format!("{name}.request.json"))).unwrap();
        assert_eq!(body, file.trim_end(), "{name}.request.json");
    }
}

#[tokio::test]
async fn the_request_around_the_body() {
    let request = sent(&conversation("text")).await;
    assert_eq!(request.method, Method::Post);
    assert_eq!(request.url, "http://api.test/v1/messages");
    assert_eq!(
        request.headers,
        named_headers([
            ("content-type", "application/json".to_owned()),
            ("anthropic-version", "2023-06-01".to_owned()),
            ("x-api-key", "sk-test-key".to_owned()),
        ])
    );
    assert_eq!(request.limits, Timeouts::DEFAULT);
    assert_eq!(request.redirects, Redirects::SameOrigin);
    assert!(!format!("{request:?}").contains("sk-test-key"), "{request:?}");
}

/// On Vertex AI the model is part of the address, and a version stands in its place; a bearer's token is the key.
#[tokio::test]
async fn claude_on_vertex() {
    let base = "https://aiplatform.test/v1/projects/p/locations/global/publishers/anthropic";
    for (delivery, method) in [(Delivery::Streamed, "streamRawPredict"), (Delivery::Whole, "rawPredict")] {
        let transport = Arc::new(ReplayTransport::new([Exchange::json("{}")]));
        let provider = Anthropic::new(Endpoint {
            base_url: base.to_owned(),
            key: Some(Credential::Key("ya29.token".into())),
            transport: transport.clone(),
            limits: Timeouts::DEFAULT,
            clock: Arc::new(StoppedClock),
        });
        let conversation = Conversation { delivery, ..conversation("text") };
        let request = Request {
            model: "claude-haiku-4-5@20251001",
            system: None,
            tools: &conversation.tools,
            messages: &conversation.messages,
            max_tokens: Some(9),
            temperature: None,
            effort: None,
            delivery,
        };
        assert!(provider.stream(&request).await.is_err());
        let sent = transport.requests().remove(0);
        assert_eq!(sent.url, format!("{base}/models/claude-haiku-4-5@20251001:{method}"));
        let bearer = ("authorization", "Bearer ya29.token".to_owned());
        assert_eq!(sent.headers, named_headers([("content-type", "application/json".to_owned()), bearer]));
        let body: serde_json::Value = serde_json::from_slice(&sent.body).unwrap();
        assert_eq!(
            (&body["anthropic_version"], &body["model"]),
            (&"vertex-2023-10-16".into(), &serde_json::Value::Null)
        );
        assert_eq!(body["max_tokens"], 9);
    }
}

#[tokio::test]
async fn without_a_usable_key_nothing_is_sent() {
    for (key, message) in [
        (None, "refused auth: ANTHROPIC_API_KEY is not set"),
        (Some("two\nlines"), "refused auth: ANTHROPIC_API_KEY has characters that no key has"),
    ] {
        let transport = Arc::new(ReplayTransport::default());
        let provider = Anthropic::new(Endpoint {
            base_url: "http://api.test".to_owned(),
            key: key.map(|key| Credential::Key(key.into())),
            transport: transport.clone(),
            limits: Timeouts::DEFAULT,
            clock: Arc::new(StoppedClock),
        });
        assert_eq!(ask(&provider, Delivery::Streamed).await, message);
        assert_eq!(transport.requests().len(), 0);
    }
}
