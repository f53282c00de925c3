//! What is sent to the Gemini API: the bytes of each fixture's request, and the rest of the HTTP request.

use std::sync::Arc;

use zori_core::message::{Block, IdOrigin};
use zori_core::provider::{Delivery, Effort};
use zori_core::transport::{Method, Redirects, Timeouts, named_headers};
use zori_providers::endpoint::Endpoint;
use zori_providers::gemini::Gemini;
use zori_providers::key::Credential;
use zori_providers::replay::{Exchange, ReplayTransport};

use crate::ask::{StoppedClock, ask, fixture, streams};
use crate::conversation::{Conversation, call, opaque, step, thinking};
use crate::vendor::Vendor;

const MODEL: &str = "gemini-3.8-flash";

fn conversation(name: &str) -> Conversation {
    let plain = |text: &str| Conversation::plain(MODEL, text);
    let equipped = |text: &str| Conversation::equipped(MODEL, text);
    match name {
        "text" | "lf" => plain("Hello"),
        "max_tokens" | "thought_all_tokens_away" => plain("Count to fifty."),
        "safety" | "blocked_prompt" | "other_reason" => plain("Do something bad."),
        "recitation" => plain("Recite it."),
        "error_mid_stream" => plain("What is the time?"),
        "unknown_parts" => plain("Compute it."),
        "signature_on_thought" => Conversation { effort: Some(Effort::Low), ..plain("Is it?") },
        "tool_call" => equipped("What is in src/main.rs?"),
        "tool_call_with_id" => equipped("What is in a?"),
        "parallel_tools" => equipped("Compare a.txt with b.txt, and list the rest."),
        "malformed_call" => equipped("Read it."),
        "unicode" => equipped("Schreib „größe.txt“ – auf 日本語 🎉"),
        "thoughts_then_tool" => Conversation { effort: Some(Effort::High), ..equipped("Run the tests.") },
        // A conversation in which the answer of `signature_on_text` has been given.
        "signature_behind_text" => {
            let mut conversation = plain("What is 2+2?");
            let part = r#"{"text":" is 4.","thoughtSignature":"CiQBon=="}"#;
            let said = vec![Block::Text("The answer is 4.".into()), thinking("", "gemini", part)];
            step(&mut conversation.messages, said);
            conversation.messages.extend(plain("Sure?").messages);
            conversation
        }
        "signature_on_text" => plain("What is 2+2?"),
        "cached" => {
            let mut conversation = equipped("Run the tests.");
            step(
                &mut conversation.messages,
                vec![
                    Block::Text("Both at once.".into()),
                    call(
                        "call_gemini_1",
                        IdOrigin::Made,
                        "read",
                        r#"{"path": "test.sh"}"#,
                        Some(opaque("gemini", r#""CiQBfirst==""#)),
                    ),
                    call("fc-2", IdOrigin::Provider, "bash", r#"{"command":"sh test.sh"}"#, None),
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
    let names = streams("gemini").into_iter().chain(["gemini/whole".to_owned()]);
    for name in names {
        let conversation = conversation(name.strip_prefix("gemini/").unwrap());
        let body = String::from_utf8(conversation.sent(Vendor::Gemini).await.body.to_vec()).unwrap();
        let file = String::from_utf8(fixture(&format!("{name}.request.json"))).unwrap();
        assert_eq!(body, file.trim_end(), "{name}.request.json");
    }
}

#[tokio::test]
async fn the_request_around_the_body() {
    let request = conversation("text").sent(Vendor::Gemini).await;
    assert_eq!(request.method, Method::Post);
    assert_eq!(request.url, "http://api.test/v1/models/gemini-3.8-flash:streamGenerateContent?alt=sse");
    assert_eq!(
        request.headers,
        named_headers([
            ("content-type", "application/json".to_owned()),
            ("x-goog-api-key", "sk-test-key".to_owned())
        ])
    );
    assert_eq!(request.limits, Timeouts::DEFAULT);
    assert_eq!(request.redirects, Redirects::SameOrigin);
    assert!(!format!("{request:?}").contains("sk-test-key"), "{request:?}");
    let whole = conversation("whole").sent(Vendor::Gemini).await;
    assert_eq!(whole.url, "http://api.test/v1/models/gemini-3.8-flash:generateContent");
    let prefixed = Conversation::plain("models/gemini-2.5-pro", "hi").sent(Vendor::Gemini).await;
    assert_eq!(prefixed.url, "http://api.test/v1/models/gemini-2.5-pro:streamGenerateContent?alt=sse");
}

fn gemini(key: Option<Credential>, transport: Arc<ReplayTransport>) -> Gemini {
    Gemini::new(Endpoint {
        base_url: "http://api.test".to_owned(),
        key,
        transport,
        limits: Timeouts::DEFAULT,
        clock: Arc::new(StoppedClock),
    })
}

#[tokio::test]
async fn a_token_is_a_bearer() {
    let credential = Credential::Token("ya29.test-token".into());
    assert_eq!(format!("{credential:?}"), "Token(..)");
    let refused =
        Exchange::new(401, "application/json", r#"{"error":{"message":"ya29.test-token expired"}}"#);
    let transport = Arc::new(ReplayTransport::new([refused]));
    let shown = ask(&gemini(Some(credential), transport.clone()), Delivery::Streamed).await;
    assert!(shown.starts_with("refused http_status: HTTP 401: [REDACTED] expired | status 401"), "{shown}");
    assert_eq!(
        transport.requests()[0].headers,
        named_headers([
            ("content-type", "application/json".to_owned()),
            ("authorization", "Bearer ya29.test-token".to_owned()),
        ])
    );
}

#[tokio::test]
async fn without_a_usable_credential_nothing_is_sent() {
    for (credential, message) in [
        (None, "refused auth: GEMINI_API_KEY is not set"),
        (
            Some(Credential::Key("two\nlines".into())),
            "refused auth: GEMINI_API_KEY has characters that no key has",
        ),
        (Some(Credential::Token("".into())), "refused auth: the access token has characters that no key has"),
    ] {
        let transport = Arc::new(ReplayTransport::default());
        assert_eq!(ask(&gemini(credential, transport.clone()), Delivery::Streamed).await, message);
        assert_eq!(transport.requests().len(), 0);
    }
}

#[tokio::test]
async fn a_model_that_would_leave_its_place_in_the_path_is_refused() {
    for model in ["../../evil", "a/b", "m?key=1", "m#x", "", ".", "m%2e", "models/"] {
        let transport = Arc::new(ReplayTransport::default());
        let provider = gemini(Some(Credential::Key("k".into())), transport.clone());
        let conversation = Conversation::plain("unused", "hi");
        let request = zori_core::provider::Request {
            model,
            system: None,
            tools: &conversation.tools,
            messages: &conversation.messages,
            max_tokens: None,
            temperature: None,
            effort: None,
            delivery: Delivery::Whole,
        };
        let failure =
            zori_core::provider::Provider::stream(&provider, &request).await.err().expect("it is refused");
        assert_eq!(failure.to_string(), format!("http_status: `{model}` is no name of a Gemini model"));
        assert_eq!(transport.requests().len(), 0);
    }
}
