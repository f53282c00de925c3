//! A conversation to Anthropic's request body, without encoding any of it twice.
//!
//! What was encoded before is kept by [`encoded`](crate::encoded). The copy into the body also puts in the cache
//! marks, which move with every request while the text around them stays the same bytes (L-10).

use serde_json::value::RawValue;
use zori_core::message::{Block, Message, Role, ToolCall, ToolResult};
use zori_core::provider::{Delivery, Request};
use zori_core::tool::ToolSpec;

use super::{NAME, effort, wire};
use crate::encoded::{EncodedHead, EncodedHistory, push_json, wire_name, wire_word};

/// What a body names first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    Model,
    /// A version of the API, where the model is part of the address.
    Version(&'static str),
}

/// Encodes requests and remembers what it has encoded.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    /// `"tools":[..],"system":[..],`, without what is absent.
    head: EncodedHead,
    /// The messages, separated by commas. Of each: where a cache mark would go; `None` if it had nothing to send.
    history: EncodedHistory<Option<usize>>,
    /// The model that the history was encoded for: thinking goes back only to the one that thought.
    model: String,
}

impl Encoder {
    pub(super) fn encode(&mut self, request: &Request<'_>, max_tokens: u32, names: Names) -> Vec<u8> {
        if self.model != request.model {
            self.model = request.model.to_owned();
            self.history = EncodedHistory::default();
        }
        self.history.update(request.messages, |out, message| encode_message(out, message, request.model));
        let head = self.head.bytes(request, encode_head);
        let history = self.history.bytes();

        let mut body = Vec::with_capacity(head.len() + history.len() + 512);
        match names {
            Names::Model => {
                body.extend_from_slice(br#"{"model":"#);
                push_json(&mut body, &request.model);
            }
            Names::Version(version) => {
                body.extend_from_slice(br#"{"anthropic_version":"#);
                push_json(&mut body, &version);
            }
        }
        body.extend_from_slice(br#","max_tokens":"#);
        push_json(&mut body, &max_tokens);
        if request.delivery == Delivery::Streamed {
            body.extend_from_slice(br#","stream":true"#);
        }
        let thinking_params = effort::thinking_params(request.model, request.effort, max_tokens);
        if let Some(temperature) = request.temperature.filter(|_| !thinking_params.without_temperature) {
            body.extend_from_slice(br#","temperature":"#);
            push_json(&mut body, &temperature);
        }
        if let Some(thinking) = &thinking_params.thinking {
            body.extend_from_slice(br#","thinking":"#);
            push_json(&mut body, thinking);
        }
        if let Some(output_config) = &thinking_params.output_config {
            body.extend_from_slice(br#","output_config":"#);
            push_json(&mut body, output_config);
        }
        body.push(b',');
        body.extend_from_slice(head);
        body.extend_from_slice(br#""messages":["#);
        let mut copied = 0;
        for at in cache_marks(&self.history) {
            body.extend_from_slice(&history[copied..at]);
            body.extend_from_slice(wire::CACHE_CONTROL);
            copied = at;
        }
        body.extend_from_slice(&history[copied..]);
        body.extend_from_slice(b"]}");
        self.history.trim();
        body
    }
}

/// Returns where the history is marked for the cache: at its end, which the next request will read, and at the
/// user's message before, which the last request wrote. With tools and system that makes the four marks the API
/// allows. The second one matters when a step adds more blocks than the API looks back over.
fn cache_marks(history: &EncodedHistory<Option<usize>>) -> impl Iterator<Item = usize> {
    let mut sent = history.notes().filter_map(|(message, at)| Some((message.role, (*at)?)));
    let last = sent.next().map(|(_, at)| at);
    let before = sent.find(|(role, _)| *role == Role::User).map(|(_, at)| at);
    before.into_iter().chain(last)
}

fn encode_head(tools: &[ToolSpec], system: Option<&str>) -> Vec<u8> {
    let mut out = Vec::new();
    if !tools.is_empty() {
        out.extend_from_slice(br#""tools":["#);
        for tool in tools {
            let ToolSpec { name, description, schema } = tool;
            let name = &wire_name(name);
            push_json(&mut out, &wire::Tool { name, description, input_schema: schema });
            out.push(b',');
        }
        // Back over the last comma and brace, to put the mark into the last tool.
        out.truncate(out.len() - 2);
        out.extend_from_slice(wire::CACHE_CONTROL);
        out.extend_from_slice(b"}],");
    }
    if let Some(text) = system.filter(|t| !t.trim().is_empty()) {
        out.extend_from_slice(br#""system":["#);
        push_json(&mut out, &wire::Block::Text { text });
        out.pop();
        out.extend_from_slice(wire::CACHE_CONTROL);
        out.extend_from_slice(b"}],");
    }
    out
}

/// Appends a message, behind a comma where one is needed. A message of which nothing can be sent leaves no trace.
fn encode_message(out: &mut Vec<u8>, message: &Message, model: &str) -> Option<usize> {
    let start = out.len();
    if start > 0 {
        out.push(b',');
    }
    out.extend_from_slice(match message.role {
        Role::User => br#"{"role":"user","content":["#,
        Role::Assistant => br#"{"role":"assistant","content":["#,
    });
    let cache_at = match message.role {
        Role::User => encode_user(out, &message.blocks),
        Role::Assistant => encode_assistant(out, &message.blocks, model),
    };
    if cache_at.is_some() {
        out.pop();
        out.extend_from_slice(b"]}");
    } else {
        out.truncate(start);
    }
    cache_at
}

/// Results come first, as the API demands; then text and images.
fn encode_user(out: &mut Vec<u8>, blocks: &[Block]) -> Option<usize> {
    let mut cache_at = None;
    for block in blocks {
        if let Block::ToolResult(result) = block {
            let tool_use_id = &wire_word(result.call.as_str());
            let content = result_content(result);
            cache_at =
                push_block(out, &wire::Block::ToolResult { tool_use_id, content, is_error: !result.ok });
        }
    }
    for block in blocks {
        match block {
            Block::Text(text) => cache_at = push_text(out, text).or(cache_at),
            Block::Image(image) => cache_at = push_block(out, &wire::Block::from(image)),
            Block::Thinking(_) | Block::ToolCall(_) | Block::ToolResult(_) => {}
        }
    }
    cache_at
}

fn result_content(result: &ToolResult) -> wire::ResultContent<'_> {
    if result.images.is_empty() {
        return wire::ResultContent::Text(result.content());
    }
    let text = wire::Block::Text { text: result.content() };
    let images = result.images.iter().map(wire::Block::from);
    wire::ResultContent::Blocks([text].into_iter().chain(images).collect())
}

/// Blocks stay in the order they came in. Thinking goes back only to the model it is of, and never as the
/// last block, which the API refuses: it is what a reply leaves that was cut off while thinking.
fn encode_assistant(out: &mut Vec<u8>, blocks: &[Block], model: &str) -> Option<usize> {
    let mut cache_at = None;
    let mut sendable = out.len();
    for block in blocks {
        let written = match block {
            Block::Text(text) => push_text(out, text),
            Block::ToolCall(call) => push_call(out, call),
            Block::Thinking(thinking) => {
                if let Some(replay) = thinking.replay.as_ref().filter(|r| r.is_of(NAME, model)) {
                    out.extend_from_slice(replay.raw.get().as_bytes());
                    out.push(b',');
                }
                None
            }
            Block::Image(_) | Block::ToolResult(_) => None,
        };
        if written.is_some() {
            cache_at = written;
            sendable = out.len();
        }
    }
    out.truncate(sendable);
    cache_at
}

/// Text of nothing but blanks is refused by the API.
fn push_text(out: &mut Vec<u8>, text: &str) -> Option<usize> {
    if text.trim().is_empty() { None } else { push_block(out, &wire::Block::Text { text }) }
}

fn push_call(out: &mut Vec<u8>, call: &ToolCall) -> Option<usize> {
    // Arguments go back as they came; the API takes only objects, so anything else the model wrote does not.
    let json = call.input.json();
    let json = if json.trim_start().starts_with('{') { json } else { "{}" };
    let input: &RawValue = serde_json::from_str(json).expect("arguments were JSON when they were read");
    // Another provider's id may have more in it than the API accepts.
    let (id, name) = (&wire_word(call.id.as_str()), &wire_name(&call.name));
    push_block(out, &wire::Block::ToolUse { id, name, input })
}

/// Appends a block and a comma; returns where its cache mark would go, in front of the closing brace.
fn push_block(out: &mut Vec<u8>, block: &wire::Block<'_>) -> Option<usize> {
    push_json(out, block);
    let cache_at = out.len() - 1;
    out.push(b',');
    Some(cache_at)
}

#[cfg(test)]
mod tests;
