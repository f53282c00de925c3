//! A conversation to a Gemini request, without encoding any of it twice (`encoded`).
//!
//! Signatures go back on the part they came with. A call has a place for its own; a text's was kept as a block of
//! thinking without words behind it, which holds the part as it came.

use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;
use zori_core::ids::CallId;
use zori_core::image::Image;
use zori_core::message::{Block, IdOrigin, Message, Opaque, Role, ToolCall, ToolResult};
use zori_core::provider::Request;
use zori_core::tool::ToolSpec;

use super::{NAME, effort, wire};
use crate::encoded::{EncodedHead, EncodedHistory, push_json, wire_name};

/// What the vendor documents for calls that came without a signature; without it, Gemini 3 refuses them.
const FOREIGN_CALL: &str = r#""skip_thought_signature_validator""#;

/// Encodes requests and remembers what it has encoded.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    /// `"systemInstruction":..,"tools":[..],`, without what is absent.
    head: EncodedHead,
    history: EncodedHistory<()>,
    /// The model that the history was encoded for: signatures go back only to the one that signed.
    model: String,
}

/// The model that a history is for.
#[derive(Clone, Copy)]
struct Reader<'a> {
    model: &'a str,
    signatures: Signatures,
}

/// Whether a model insists on a signature for every step's first call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Signatures {
    #[default]
    Optional,
    Required,
}

impl Signatures {
    fn of(model: &str) -> Self {
        match effort::generation(model) {
            Some(3..) => Self::Required,
            _ => Self::Optional,
        }
    }
}

impl Encoder {
    pub(super) fn encode(&mut self, request: &Request<'_>, max_tokens: u32) -> Vec<u8> {
        if self.model != request.model {
            self.model = request.model.to_owned();
            self.history = EncodedHistory::default();
        }
        let reader = Reader { model: request.model, signatures: Signatures::of(request.model) };
        let head = self.head.bytes(request, encode_head);
        self.history.update(request.messages, |out, message| {
            encode_message(out, request.messages, message, reader);
        });
        let history = self.history.bytes();

        let mut body = Vec::with_capacity(head.len() + history.len() + 512);
        body.push(b'{');
        body.extend_from_slice(head);
        body.extend_from_slice(br#""generationConfig":"#);
        let config = wire::GenerationConfig {
            max_output_tokens: max_tokens,
            temperature: request.temperature,
            thinking_config: request.effort.and_then(|e| effort::config(request.model, e, max_tokens)),
        };
        push_json(&mut body, &config);
        body.extend_from_slice(br#","contents":["#);
        body.extend_from_slice(history);
        body.extend_from_slice(b"]}");
        self.history.trim();
        body
    }
}

fn encode_head(tools: &[ToolSpec], system: Option<&str>) -> Vec<u8> {
    let mut out = Vec::new();
    if let Some(text) = system.filter(|t| !t.trim().is_empty()) {
        out.extend_from_slice(br#""systemInstruction":{"parts":["#);
        push_json(&mut out, &wire::OutPart::Text(text));
        out.extend_from_slice(b"]},");
    }
    if !tools.is_empty() {
        out.extend_from_slice(br#""tools":[{"functionDeclarations":["#);
        for tool in tools {
            let ToolSpec { name, description, schema } = tool;
            let name = &wire_name(name);
            let declaration = wire::FunctionDeclaration { name, description, parameters_json_schema: schema };
            push_json(&mut out, &declaration);
            out.push(b',');
        }
        out.pop();
        out.extend_from_slice(b"]}],");
    }
    out
}

/// Appends a message, behind a comma where one is needed. A message of which nothing can be sent leaves no trace.
fn encode_message(out: &mut Vec<u8>, conversation: &[Arc<Message>], message: &Message, reader: Reader<'_>) {
    let start = out.len();
    if start > 0 {
        out.push(b',');
    }
    out.extend_from_slice(match message.role {
        Role::User => br#"{"role":"user","parts":["#,
        Role::Assistant => br#"{"role":"model","parts":["#,
    });
    let empty = out.len();
    match message.role {
        Role::User => encode_user(out, conversation, &message.blocks, reader.signatures),
        Role::Assistant => encode_assistant(out, &message.blocks, reader),
    }
    if out.len() > empty {
        out.pop();
        out.extend_from_slice(b"]}");
    } else {
        out.truncate(start);
    }
}

/// Results come first, behind the calls they answer; then text and images. The generation that insists on signatures
/// is also the one whose results can hold images; before it they follow the results.
fn encode_user(out: &mut Vec<u8>, conversation: &[Arc<Message>], blocks: &[Block], signatures: Signatures) {
    let inside = signatures == Signatures::Required;
    let results = || blocks.iter().filter_map(|b| if let Block::ToolResult(r) = b { Some(r) } else { None });
    for result in results() {
        let images = if inside { &*result.images } else { &[] };
        push_result(out, result, issued(conversation, &result.call), images);
    }
    for image in results().filter(|_| !inside).flat_map(|result| &result.images) {
        push_part(out, &wire::OutPart::InlineData(image.into()));
    }
    for block in blocks {
        match block {
            Block::Text(text) => push_text(out, text),
            Block::Image(image) => push_part(out, &wire::OutPart::InlineData(image.into())),
            Block::Thinking(_) | Block::ToolCall(_) | Block::ToolResult(_) => {}
        }
    }
}

/// Returns whether a call's id came from a provider. A made-up one is not sent (PROV-10).
fn issued(conversation: &[Arc<Message>], id: &CallId) -> bool {
    let call = conversation.iter().rev().find_map(|message| message.calls().find(|call| call.id == *id));
    call.is_some_and(|call| call.id_origin == IdOrigin::Provider)
}

fn push_result(out: &mut Vec<u8>, result: &ToolResult, issued: bool, images: &[Image]) {
    // What the model reads instead of the envelope may be plain text; the API takes only objects.
    let wrapped = result.text.as_deref().map(|text| {
        let key = if result.ok { "output" } else { "error" };
        let text = serde_json::to_string(text).expect("text is JSON");
        RawValue::from_string(format!(r#"{{"{key}":{text}}}"#)).expect("an object of one text is JSON")
    });
    push_part(
        out,
        &wire::OutPart::FunctionResponse {
            id: issued.then(|| result.call.as_str()),
            name: &wire_name(&result.name),
            response: wrapped.as_deref().unwrap_or(&result.envelope),
            parts: images.iter().map(|image| wire::OutPart::InlineData(image.into())).collect(),
        },
    );
}

/// Parts stay in the order they came in.
fn encode_assistant(out: &mut Vec<u8>, blocks: &[Block], reader: Reader<'_>) {
    // Only the first call of a step is checked. A signature elsewhere in the step does not count for it.
    let mut stand_in = reader.signatures == Signatures::Required;
    for (at, block) in blocks.iter().enumerate() {
        match block {
            Block::Text(text) => push_text(out, without_signed_end(text, blocks.get(at + 1), reader)),
            Block::ToolCall(call) => {
                push_call(out, call, stand_in, reader);
                stand_in = false;
            }
            Block::Thinking(thinking) => {
                if let Some(raw) = own(thinking.replay.as_ref(), reader) {
                    push_part(out, &raw);
                }
            }
            Block::Image(_) | Block::ToolResult(_) => {}
        }
    }
}

/// Returns what the model wants back; another one's bytes are not for it.
fn own<'a>(replay: Option<&'a Opaque>, reader: Reader<'_>) -> Option<&'a RawValue> {
    replay.filter(|r| r.is_of(NAME, reader.model)).map(|r| &*r.raw)
}

/// Returns the text without the end of it that the next block holds as a signed part.
fn without_signed_end<'a>(text: &'a str, next: Option<&Block>, reader: Reader<'_>) -> &'a str {
    let Some(Block::Thinking(thinking)) = next else { return text };
    let Some(raw) = own(thinking.replay.as_ref(), reader) else { return text };
    match serde_json::from_str::<wire::KeptPart<'_>>(raw.get()) {
        Ok(part) if !part.thought => text.strip_suffix(&*part.text).unwrap_or(text),
        _ => text,
    }
}

fn push_text(out: &mut Vec<u8>, text: &str) {
    if !text.trim().is_empty() {
        push_part(out, &wire::OutPart::Text(text));
    }
}

fn push_call(out: &mut Vec<u8>, call: &ToolCall, stand_in: bool, reader: Reader<'_>) {
    // Arguments go back as they came; the API takes only objects, so anything else the model wrote does not.
    let json = call.input.json();
    let json = if json.trim_start().starts_with('{') { json } else { "{}" };
    let args: &RawValue = serde_json::from_str(json).expect("arguments were JSON when they were read");
    let instead: &RawValue = serde_json::from_str(FOREIGN_CALL).expect("a quoted word is JSON");
    let id = (call.id_origin == IdOrigin::Provider).then(|| call.id.as_str());
    push_part(
        out,
        &wire::CallPart {
            function_call: wire::OutCall { id, name: &wire_name(&call.name), args },
            thought_signature: own(call.replay.as_ref(), reader).or(stand_in.then_some(instead)),
        },
    );
}

/// Appends a part and a comma.
fn push_part(out: &mut Vec<u8>, part: &impl Serialize) {
    push_json(out, part);
    out.push(b',');
}

#[cfg(test)]
mod tests;
