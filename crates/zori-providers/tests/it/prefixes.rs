//! What a request begins with stays the same bytes from one request to the next (L-10): a provider's prompt cache
//! works by prefixes, so one changed byte early on is paid for with the whole conversation.
//!
//! Held for every API: the bodies of consecutive requests are the same up to the end of the earlier one's messages.
//! What stands behind them in a body (Chat Completions have options there) is compared too. The one difference that
//! is allowed is Anthropic's cache marks, which move with the end of the conversation; they are no part of the text
//! that is cached.

use std::sync::Arc;

use zori_core::image::Image;
use zori_core::message::{Block, IdOrigin, Message, Role};
use zori_core::provider::{Delivery, Provider, Request};
use zori_core::transport::Transport;
use zori_providers::quirks::ToolStyle;
use zori_providers::replay::{Exchange, ReplayTransport};

use crate::ask::fixture;
use crate::chat_ask::chat;
use crate::conversation::{Conversation, call, opaque, step, thinking};
use crate::vendor::Vendor;

/// An API, with the name under which its list of messages goes out.
struct Api {
    name: &'static str,
    list: &'static str,
    make: fn(Arc<dyn Transport>) -> Box<dyn Provider>,
}

fn chat_api<const PROSE: bool>(name: &str, transport: Arc<dyn Transport>) -> Box<dyn Provider> {
    Box::new(chat(name, if PROSE { ToolStyle::Prose } else { ToolStyle::Native }, transport))
}

const APIS: &[Api] = &[
    Api { name: "anthropic", list: "messages", make: |t| Vendor::Anthropic.provider(t) },
    Api { name: "codex", list: "input", make: |t| Vendor::Responses.provider(t) },
    Api { name: "gemini", list: "contents", make: |t| Vendor::Gemini.provider(t) },
    Api { name: "openai", list: "messages", make: |t| chat_api::<false>("openai", t) },
    Api { name: "openrouter", list: "messages", make: |t| chat_api::<false>("openrouter", t) },
    Api { name: "llamacpp", list: "messages", make: |t| chat_api::<false>("llamacpp", t) },
    Api { name: "ollama, calls in prose", list: "messages", make: |t| chat_api::<true>("ollama", t) },
];

/// The conversation as it stands at each request: prompt, two steps with calls and reasoning, answer, prompt with an
/// image, a call that answers with one, answer, prompt.
fn requests() -> Vec<Vec<Arc<Message>>> {
    let mut messages = Conversation::equipped("m", "What is in `notes`?\nBe exact: \"é\".").messages;
    let mut all = vec![messages.clone()];
    let item = r#"{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAA=="}"#;
    let signed = r#"{"type":"thinking","thinking":"Hm.","signature":"c2ln"}"#;
    let origin = IdOrigin::Provider;
    step(
        &mut messages,
        vec![
            thinking("Hm.", "anthropic", signed),
            thinking("", "codex", item),
            Block::Text("I look.".to_owned()),
            call("call_1", origin, "read", r#"{"path": "a",  "b":1}"#, Some(opaque("gemini", r#""c2ln""#))),
            call("call_2", origin, "bash", r#"{"command":"ls\n"}"#, None),
        ],
    );
    all.push(messages.clone());
    step(&mut messages, vec![call("call_3", IdOrigin::Made, "read", "{}", None)]);
    all.push(messages.clone());
    step(&mut messages, vec![Block::Text("Fifteen.".to_owned())]);
    let image = Image::parse(fixture("images/box.png")).expect("the fixture is whole");
    let blocks = vec![Block::Image(image.clone()), Block::Text("And now?".to_owned())];
    messages.push(Arc::new(Message { role: Role::User, blocks }));
    all.push(messages.clone());
    step(&mut messages, vec![call("call_4", origin, "read", r#"{"path":"box.png"}"#, None)]);
    let mut blocks = messages.pop().expect("the call has a result").blocks.clone();
    let Block::ToolResult(result) = &mut blocks[0] else { panic!("results come first") };
    result.images.push(image);
    messages.push(Arc::new(Message { role: Role::User, blocks }));
    all.push(messages.clone());
    step(&mut messages, vec![Block::Text("Still.".to_owned())]);
    messages.push(Arc::new(Message::user("Thanks.")));
    all.push(messages);
    all
}

/// Sends the requests one after another and returns their bodies.
async fn bodies(api: &Api, requests: &[Vec<Arc<Message>>]) -> Vec<String> {
    let transport = Arc::new(ReplayTransport::new(requests.iter().map(|_| Exchange::json("{}"))));
    let provider = (api.make)(transport.clone());
    let Conversation { system, tools, .. } = Conversation::equipped("m", "");
    for messages in requests {
        let request = Request {
            model: "m",
            system: system.as_ref(),
            tools: &tools,
            messages,
            max_tokens: Some(1_000),
            temperature: None,
            effort: None,
            delivery: Delivery::Streamed,
        };
        // The answer is nonsense; only the request is of interest.
        assert!(provider.stream(&request).await.is_err());
    }
    let text = |body: Vec<u8>| String::from_utf8(body).expect("a body is text");
    transport.requests().into_iter().map(|request| text(request.body.to_vec()).replace(MARK, "")).collect()
}

const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

/// Cuts a body behind its last message: what is before may be cached, what is behind are options.
fn cut<'b>(api: &Api, body: &'b str) -> (&'b str, &'b str) {
    let parsed: serde_json::Value = serde_json::from_str(body).expect("a body is JSON");
    let count = parsed[api.list].as_array().expect("it has the list").len();
    assert!(count > 0);
    let start = body.find(&format!("\"{}\":[", api.list)).expect("it has the list") + api.list.len() + 4;
    let mut end = start;
    for n in 0..count {
        end += usize::from(n > 0);
        let mut values = serde_json::Deserializer::from_str(&body[end..]).into_iter::<serde_json::Value>();
        values.next().expect("there is a message").expect("it is JSON");
        end += values.byte_offset();
    }
    body.split_at(end)
}

#[tokio::test]
async fn a_request_begins_with_the_one_before() {
    for api in APIS {
        let bodies = bodies(api, &requests()).await;
        for pair in bodies.windows(2) {
            let ((before, options), (after, more)) = (cut(api, &pair[0]), cut(api, &pair[1]));
            assert!(after.starts_with(before), "{}:\n{before}\n{after}", api.name);
            assert_eq!(options, more, "{}", api.name);
        }
        let image = Image::parse(fixture("images/box.png")).expect("the fixture is whole").base64();
        let shown: Vec<_> = bodies.iter().map(|body| body.matches(&image).count()).collect();
        assert_eq!(shown, [0, 0, 0, 1, 2, 2], "{}", api.name);
    }
}

/// Another process has encoded nothing before, and sends the same bytes all the same.
#[tokio::test]
async fn another_process_sends_the_same_bytes() {
    for api in APIS {
        let requests = requests();
        let together = bodies(api, &requests).await;
        for (n, messages) in requests.iter().enumerate() {
            let copied: Vec<_> = messages.iter().map(|message| Arc::new(Message::clone(message))).collect();
            assert_eq!(bodies(api, &[copied]).await, together[n..=n], "{}: request {n}", api.name);
        }
    }
}

/// Where an output is left out, everything before it stays.
#[tokio::test]
async fn a_masked_output_changes_nothing_before_it() {
    for api in APIS {
        let whole = requests().pop().expect("there are requests");
        let mut masked = whole.clone();
        let at = whole.iter().rposition(|m| is_result(m)).expect("there is a result");
        let mut blocks = whole[at].blocks.clone();
        let Block::ToolResult(result) = &mut blocks[0] else { panic!("results come first") };
        result.envelope = Arc::from(serde_json::value::to_raw_value("left out").expect("it is JSON"));
        masked[at] = Arc::new(Message { role: Role::User, blocks });
        let bodies = bodies(api, &[whole[..at].to_vec(), whole, masked]).await;
        let before = cut(api, &bodies[0]).0;
        assert!(bodies[1].starts_with(before) && bodies[2].starts_with(before), "{}", api.name);
        assert_ne!(bodies[1], bodies[2], "{}", api.name);
    }
}

fn is_result(message: &Message) -> bool {
    message.blocks.iter().any(|block| matches!(block, Block::ToolResult(_)))
}
