//! Any bytes as the answer of any API, through the provider as the engine uses it.
//!
//! The first byte of an input chooses the API and whether the answer streams, the second where the network cuts it.
//! What must hold: no panic; the same chunks however the bytes were cut; exactly one end; and no success unless the
//! bytes said that the answer is over.

#![no_main]

use std::cell::RefCell;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use tokio::runtime::{Builder, Runtime};
use zori_core::message::Message;
use zori_core::provider::{Chunk, Delivery, Provider, Request};
use zori_core::time::{Clock, Timestamp};
use zori_core::transport::{Timeouts, Transport};
use zori_providers::agent_zero::{AgentZero, AgentZeroOptions};
use zori_providers::anthropic::Anthropic;
use zori_providers::catalog::{self, Api};
use zori_providers::endpoint::Endpoint;
use zori_providers::gemini::Gemini;
use zori_providers::key::Credential;
use zori_providers::openai_chat::{OpenAiChat, OpenAiChatOptions};
use zori_providers::openai_responses::OpenAiResponses;
use zori_providers::quirks::{Quirks, ToolStyle};
use zori_providers::replay::{Chunking, Exchange, ReplayTransport};

/// The APIs, in the order of the first byte; `xtask/src/fuzz.rs` makes the seeds after the same list. Which words
/// must be there for an answer to be complete.
const APIS: [(&str, ToolStyle, &[&str]); 5] = [
    ("anthropic", ToolStyle::Native, &["message_stop"]),
    ("openai-chat", ToolStyle::Native, &["[DONE]"]),
    ("compat", ToolStyle::Prose, &["finish_reason"]),
    ("codex", ToolStyle::Native, &["response.completed", "response.incomplete"]),
    ("gemini", ToolStyle::Native, &["finishReason", "blockReason"]),
];

/// Answers of more bytes are not also taken byte by byte.
const SHORT: usize = 600;

thread_local! {
    static RUNTIME: RefCell<Runtime> =
        RefCell::new(Builder::new_current_thread().enable_time().build().expect("a runtime can be had"));
}

fuzz_target!(|input: &[u8]| {
    let Some((&[choice, cut], body)) = input.split_first_chunk() else { return };
    let api = usize::from(choice) % APIS.len();
    let streamed = usize::from(choice) / APIS.len() % 2 == 0;
    let exchange =
        if streamed { Exchange::event_stream(body.to_vec()) } else { Exchange::json(body.to_vec()) };
    RUNTIME.with_borrow(|runtime| {
        let decoded = |chunking| runtime.block_on(decode(api, exchange.clone().chunked(chunking)));
        let (whole, done) = decoded(Chunking::Whole);
        assert_eq!(decoded(Chunking::CutAt(body.len() * usize::from(cut) / 256)).0, whole);
        if body.len() <= SHORT {
            assert_eq!(decoded(Chunking::EveryByte).0, whole);
        }
        if done && streamed {
            let said = unescaped(body);
            assert!(APIS[api].2.iter().any(|word| said.contains(word)), "complete without an end: {whole}");
        }
    });
});

/// Returns everything that came of an answer, and whether it was complete.
async fn decode(api: usize, exchange: Exchange) -> (String, bool) {
    let delivery = Delivery::Streamed;
    let provider = provider(api, Arc::new(ReplayTransport::new([exchange])));
    let (tools, messages) = (Arc::default(), [Arc::new(Message::user("hi"))]);
    let request = Request {
        model: "m",
        system: None,
        tools: &tools,
        messages: &messages,
        max_tokens: None,
        temperature: None,
        effort: None,
        delivery,
    };
    let mut stream = match provider.stream(&request).await {
        Ok(stream) => stream,
        Err(failure) => return (format!("{failure:?}"), false),
    };
    let (mut out, mut ends, mut done) = (String::new(), 0, false);
    while let Some(item) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        assert_eq!(ends, 0, "something comes behind the end: {out}{item:?}");
        done = matches!(item, Ok(Chunk::Done(_)));
        ends += usize::from(done || item.is_err());
        out += &format!("{item:?}\n");
    }
    assert_eq!(ends, 1, "an answer has one end: {out}");
    (out, done)
}

fn provider(api: usize, transport: Arc<dyn Transport>) -> Box<dyn Provider> {
    let (name, tools, _) = APIS[api];
    let facts = catalog::provider(name).expect("the catalogue lists it");
    let (base_url, key) = ("http://api.test".to_owned(), Some(Credential::Key("sk-test-key".into())));
    let (limits, clock) = (Timeouts::DEFAULT, Arc::new(FixedClock));
    let endpoint = Endpoint { base_url, key, transport, limits, clock };
    match facts.api {
        Api::Anthropic => Box::new(Anthropic::new(endpoint)),
        Api::OpenAiChat(quirks) => {
            let quirks = Quirks { tools, ..*quirks };
            Box::new(OpenAiChat::new(OpenAiChatOptions { facts, quirks, endpoint }))
        }
        Api::OpenAiResponses => Box::new(OpenAiResponses::new(endpoint)),
        Api::Gemini => Box::new(Gemini::new(endpoint)),
        Api::AgentZero => Box::new(AgentZero::new(endpoint, AgentZeroOptions::default(), None)),
    }
}

/// Returns the bytes as text, with the letters that JSON may write as `\u0061` as letters.
fn unescaped(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::new();
    let mut rest = &*text;
    while let Some(at) = rest.find("\\u") {
        out.push_str(&rest[..at]);
        let code = rest.get(at + 2..at + 6).and_then(|hex| u32::from_str_radix(hex, 16).ok());
        match code.and_then(char::from_u32) {
            Some(c) => {
                out.push(c);
                rest = &rest[at + 6..];
            }
            None => {
                out.push_str("\\u");
                rest = &rest[at + 2..];
            }
        }
    }
    out + rest
}

struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp(0)
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}
