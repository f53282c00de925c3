//! A conversation to a Responses request, without encoding any of it twice (`encoded`).

use std::borrow::Cow;

use zori_core::image::Image;
use zori_core::message::{Block, Message, Role, ToolResult};
use zori_core::provider::{Delivery, Effort, Request};
use zori_core::tool::ToolSpec;

use super::{NAME, effort, wire};
use crate::encoded::{DOCUMENT_NAME, EncodedHead, EncodedHistory, data_url, push_json, wire_id, wire_name};

/// How long the API lets a call's id be.
const MAX_CALL_ID: usize = 64;

/// Encodes requests and remembers what it has encoded.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    /// `"instructions":..,"tools":[..],`, without what is absent.
    head: EncodedHead,
    history: EncodedHistory<()>,
    /// The model that the history was encoded for: reasoning goes back only to the one that thought.
    model: String,
}

impl Encoder {
    pub(super) fn encode(&mut self, request: &Request<'_>) -> Vec<u8> {
        let thinks = effort::thinks(request.model);
        if self.model != request.model {
            self.model = request.model.to_owned();
            self.history = EncodedHistory::default();
        }
        let thinker = thinks.then_some(request.model);
        let head = self.head.bytes(request, encode_head);
        self.history.update(request.messages, |out, message| encode_message(out, message, thinker));
        let history = self.history.bytes();

        let mut body = Vec::with_capacity(head.len() + history.len() + 512);
        body.extend_from_slice(br#"{"model":"#);
        push_json(&mut body, &request.model);
        if request.delivery == Delivery::Streamed {
            body.extend_from_slice(br#","stream":true"#);
        }
        body.extend_from_slice(br#","store":false"#);
        if thinks {
            body.extend_from_slice(wire::INCLUDE);
        }
        // Without one, the model's own limit holds.
        if let Some(max_tokens) = request.max_tokens {
            body.extend_from_slice(br#","max_output_tokens":"#);
            push_json(&mut body, &max_tokens);
        }
        let refused = effort::refuses_temperature(request.model, request.effort);
        if let Some(temperature) = request.temperature.filter(|_| !refused) {
            body.extend_from_slice(br#","temperature":"#);
            push_json(&mut body, &temperature);
        }
        if let Some(asked) = request.effort
            && let Some(level) = effort::level(request.model, asked)
        {
            let summary = (asked.level() != Effort::Off).then_some("auto");
            body.extend_from_slice(br#","reasoning":"#);
            push_json(&mut body, &wire::Reasoning { effort: level, summary });
        }
        body.push(b',');
        body.extend_from_slice(head);
        body.extend_from_slice(br#""input":["#);
        body.extend_from_slice(history);
        body.extend_from_slice(b"]}");
        self.history.trim();
        body
    }
}

fn encode_head(tools: &[ToolSpec], system: Option<&str>) -> Vec<u8> {
    let mut out = Vec::new();
    if let Some(text) = system.filter(|t| !t.trim().is_empty()) {
        out.extend_from_slice(br#""instructions":"#);
        push_json(&mut out, &text);
        out.push(b',');
    }
    if !tools.is_empty() {
        out.extend_from_slice(br#""tools":["#);
        for tool in tools {
            let ToolSpec { name, description, schema } = tool;
            let name = &wire_name(name);
            let r#type = "function";
            push_json(&mut out, &wire::Tool { r#type, name, description, parameters: schema, strict: false });
            out.push(b',');
        }
        out.pop();
        out.extend_from_slice(br#"],"parallel_tool_calls":true,"#);
    }
    out
}

/// Appends a message's items, behind a comma where one is needed. `thinker`: the model, if it thinks.
fn encode_message(out: &mut Vec<u8>, message: &Message, thinker: Option<&str>) {
    match message.role {
        Role::User => encode_user(out, &message.blocks),
        Role::Assistant => encode_assistant(out, &message.blocks, thinker),
    }
}

/// Results come first, behind the calls they answer; then images and text.
fn encode_user(out: &mut Vec<u8>, blocks: &[Block]) {
    for block in blocks {
        if let Block::ToolResult(result) = block {
            let call_id = wire_id(result.call.as_str(), MAX_CALL_ID);
            push_item(out, &wire::InputItem::FunctionCallOutput { call_id, output: output(result) });
        }
    }
    let images =
        || blocks.iter().filter_map(|b| if let Block::Image(image) = b { Some(image) } else { None });
    let texts = || blocks.iter().filter_map(|b| if let Block::Text(text) = b { Some(text) } else { None });
    if images().next().is_none() {
        for text in texts().filter(|text| !text.trim().is_empty()) {
            let content = [wire::Content::Text { text }];
            push_item(out, &wire::InputItem::Message { role: "user", content });
        }
        return;
    }
    // One message, so that the words stand beside what they are about.
    let said = texts().filter(|text| !text.trim().is_empty());
    let content = images().map(image_content).chain(said.map(|text| wire::Content::Text { text }));
    push_item(out, &wire::InputItem::Shown { role: "user", content: content.collect() });
}

fn output(result: &ToolResult) -> wire::Output<'_> {
    if result.images.is_empty() {
        return wire::Output::Text(result.content());
    }
    let text = wire::Content::Text { text: result.content() };
    wire::Output::List([text].into_iter().chain(result.images.iter().map(image_content)).collect())
}

fn image_content<'a>(image: &Image) -> wire::Content<'a> {
    if image.format().is_document() {
        return wire::Content::File { filename: DOCUMENT_NAME, file_data: data_url(image) };
    }
    wire::Content::Image { detail: "auto", image_url: data_url(image) }
}

/// Items stay in the order they came in. Reasoning goes back only to the model it is of, and where that thinks,
/// since others refuse it, and never as the last item, which the API refuses too: it is what a reply leaves that
/// was cut off while thinking.
fn encode_assistant(out: &mut Vec<u8>, blocks: &[Block], thinker: Option<&str>) {
    let mut sendable = out.len();
    for (at, block) in blocks.iter().enumerate() {
        let before = out.len();
        match block {
            // Text of nothing but blanks says nothing.
            Block::Text(text) if text.trim().is_empty() => continue,
            Block::Text(text) => {
                let phase = blocks.get(at + 1).and_then(phase);
                push_item(out, &wire::InputItem::Said { role: "assistant", content: text, phase });
            }
            Block::ToolCall(call) => {
                let call_id = wire_id(call.id.as_str(), MAX_CALL_ID);
                let arguments = call.input.json();
                let name = &wire_name(&call.name);
                push_item(out, &wire::InputItem::FunctionCall { call_id, name, arguments });
            }
            Block::Thinking(thinking) => {
                if phase(block).is_none()
                    && let Some(replay) =
                        thinking.replay.as_ref().filter(|r| thinker.is_some_and(|model| r.is_of(NAME, model)))
                {
                    push_comma(out);
                    out.extend_from_slice(replay.raw.get().as_bytes());
                }
                continue;
            }
            Block::Image(_) | Block::ToolResult(_) => continue,
        }
        if out.len() > before {
            sendable = out.len();
        }
    }
    out.truncate(sendable);
}

/// Returns the phase of the text in front of this block, if the block is one that keeps it.
fn phase(block: &Block) -> Option<Cow<'_, str>> {
    let Block::Thinking(thinking) = block else { return None };
    let replay = thinking.replay.as_ref().filter(|replay| &*replay.provider == NAME)?;
    serde_json::from_str::<wire::Phase<'_>>(replay.raw.get()).ok().map(|kept| kept.phase)
}

fn push_item(out: &mut Vec<u8>, item: &wire::InputItem<'_>) {
    push_comma(out);
    push_json(out, item);
}

fn push_comma(out: &mut Vec<u8>) {
    if !out.is_empty() {
        out.push(b',');
    }
}

#[cfg(test)]
mod tests;
