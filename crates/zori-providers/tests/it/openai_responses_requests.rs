//! What is sent to the Responses API: the bytes of each fixture's request, and the rest of the HTTP request.

use std::sync::Arc;

use zori_core::message::{Block, IdOrigin};
use zori_core::provider::{Delivery, Effort};
use zori_core::transport::{Method, Redirects, Timeouts, named_headers};
use zori_providers::endpoint::Endpoint;
use zori_providers::key::Credential;
use zori_providers::openai_responses::OpenAiResponses;
use zori_providers::replay::ReplayTransport;

use crate::ask::{StoppedClock, ask, fixture, streams};
use crate::conversation::{Conversation, call, step, thinking};
use crate::vendor::Vendor;

const MODEL: &str = "gpt-5.2";

fn conversation(name: &str) -> Conversation {
    let plain = |text: &str| Conversation::plain(MODEL, text);
    let equipped = |text: &str| Conversation::equipped(MODEL, text);
    match name {
        "text" => plain("Hello"),
        "max_output_tokens" => plain("Count to fifty."),
        "content_filter" => plain("How does it go?"),
        "refusal" => plain("Do something bad."),
        "failed" | "error_event" => plain("What is the time?"),
        "unknown_events" => plain("Look it up."),
        "tool_call" => equipped("What is in src/main.rs?"),
        "parallel_tools" => equipped("Compare a.txt with b.txt, and list the rest."),
        "max_tokens_in_tool" => equipped("Write a big file."),
        "unicode" => equipped("Schreib „größe.txt“ – auf 日本語 🎉"),
        "unnamed_events" => equipped("What is in src?"),
        "no_deltas" => equipped("Read x."),
        "reasoning_then_tool" => Conversation { effort: Some(Effort::High), ..equipped("Run the tests.") },
        "reasoning_hidden" => {
            let mut conversation = Conversation { effort: Some(Effort::Off), ..equipped("Run the tests.") };
            let item = r#"{"id":"rs_1","type":"reasoning","encrypted_content":"gAAAAABp1==","summary":[]}"#;
            step(
                &mut conversation.messages,
                vec![
                    thinking("", "openai", item),
                    Block::Text("Both at once.".into()),
                    call("call_1", IdOrigin::Provider, "read", r#"{"path": "test.sh"}"#, None),
                    call("call_2", IdOrigin::Provider, "bash", r#"{"command":"sh test.sh"}"#, None),
                ],
            );
            conversation
        }
        "whole" => Conversation { delivery: Delivery::Whole, ..equipped("Read a b.txt") },
        other => panic!("say here what {other} answers"),
    }
}

#[tokio::test]
async fn every_stream_has_the_request_it_answers() {
    let names = streams("openai_responses").into_iter().chain(["openai_responses/whole".to_owned()]);
    for name in names {
        let conversation = conversation(name.strip_prefix("openai_responses/").unwrap());
        let body = String::from_utf8(conversation.sent(Vendor::Responses).await.body.to_vec()).unwrap();
        let file = String::from_utf8(fixture(&format!("{name}.request.json"))).unwrap();
        assert_eq!(body, file.trim_end(), "{name}.request.json");
    }
}

#[tokio::test]
async fn the_request_around_the_body() {
    let request = conversation("text").sent(Vendor::Responses).await;
    assert_eq!(request.method, Method::Post);
    assert_eq!(request.url, "http://api.test/v1/responses");
    assert_eq!(
        request.headers,
        named_headers([
            ("content-type", "application/json".to_owned()),
            ("authorization", "Bearer sk-test-key".to_owned()),
        ])
    );
    assert_eq!(request.limits, Timeouts::DEFAULT);
    assert_eq!(request.redirects, Redirects::SameOrigin);
    assert!(!format!("{request:?}").contains("sk-test-key"), "{request:?}");
}

#[tokio::test]
async fn without_a_usable_key_nothing_is_sent() {
    for (key, message) in [
        (None, "refused auth: OPENAI_API_KEY is not set"),
        (Some(""), "refused auth: OPENAI_API_KEY has characters that no key has"),
        (Some("two\nlines"), "refused auth: OPENAI_API_KEY has characters that no key has"),
    ] {
        let transport = Arc::new(ReplayTransport::default());
        let provider = OpenAiResponses::new(Endpoint {
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
