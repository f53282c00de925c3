//! A conversation to a Chat Completions request, without encoding any of it twice: see
//! [`encoded`](crate::encoded). What differs between servers is asked of the quirks.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::value::{RawValue, to_raw_value};
use zori_core::image::Image;
use zori_core::message::{Block, Message, Role, ToolCall};
use zori_core::provider::{Delivery, Effort, Request};
use zori_core::tool::ToolSpec;

use super::wire;
use crate::encoded::{DOCUMENT_NAME, EncodedHead, EncodedHistory, data_url, push_json, wire_id, wire_name};
use crate::openai_responses::effort;
use crate::quirks::{
    CallIds, EffortField, EmptyContent, Quirks, ReasoningReplay, ReplyLimit, SystemRole, ToolStyle,
};
use crate::text_tools;

/// How long the API lets a call's id be.
const MAX_CALL_ID: usize = 40;

/// Encodes requests and remembers what it has encoded.
#[derive(Debug)]
pub(super) struct Encoder {
    /// Marks the reasoning that may go back.
    provider: &'static str,
    quirks: Quirks,
    /// `"tools":[..],"messages":[` and the system prompt, without what is absent.
    head: EncodedHead,
    /// The messages, separated by commas.
    history: EncodedHistory<()>,
    /// Whether what is encoded has marks for the cache in it.
    marked: bool,
    /// The model that the history was encoded for: reasoning goes back only to the one that thought.
    model: String,
}

/// Whose reasoning a request may hold.
#[derive(Clone, Copy)]
struct Thinker<'a> {
    provider: &'a str,
    model: &'a str,
}

impl Encoder {
    pub(super) fn new(provider: &'static str, quirks: Quirks) -> Self {
        let (head, history) = (EncodedHead::default(), EncodedHistory::default());
        Self { provider, quirks, head, history, marked: false, model: String::new() }
    }

    /// Returns the request body. `default_limit` bounds the reply if the request has no limit and the server wants one.
    pub(super) fn encode(&mut self, request: &Request<'_>, default_limit: u32) -> Vec<u8> {
        let marked = self.quirks.cache.wanted(request.model);
        if self.marked != marked {
            self.marked = marked;
            self.head = EncodedHead::default();
        }
        if self.model != request.model {
            self.model = request.model.to_owned();
            self.history = EncodedHistory::default();
        }
        let Self { provider, quirks, head, history, .. } = self;
        let thinker = Thinker { provider, model: request.model };
        history.update(request.messages, |out, message| encode_message(out, message, thinker, quirks));
        let head = head.bytes(request, |tools, system| encode_head(tools, system, quirks, marked));
        let mut history = Cow::Borrowed(history.bytes());
        if marked {
            mark_last(history.to_mut());
        }

        let mut body = Vec::with_capacity(head.len() + history.len() + 512);
        body.extend_from_slice(br#"{"model":"#);
        push_json(&mut body, &request.model);
        push_limit(&mut body, request.max_tokens, default_limit, quirks.reply_limit);
        if request.delivery == Delivery::Streamed {
            body.extend_from_slice(br#","stream":true"#);
            if quirks.stream_usage {
                body.extend_from_slice(br#","stream_options":{"include_usage":true}"#);
            }
        }
        let refused = quirks.effort == EffortField::OpenAi
            && effort::refuses_temperature(request.model, request.effort);
        if let Some(temperature) = request.temperature.filter(|_| !refused) {
            body.extend_from_slice(br#","temperature":"#);
            push_json(&mut body, &temperature);
        }
        let with_tools = quirks.tools == ToolStyle::Native && !request.tools.is_empty();
        push_effort(&mut body, request, quirks.effort, with_tools);
        if quirks.parallel_calls && with_tools {
            body.extend_from_slice(br#","parallel_tool_calls":true"#);
        }
        body.push(b',');
        body.extend_from_slice(head);
        if !head.ends_with(b"[") && !history.is_empty() {
            body.push(b',');
        }
        body.extend_from_slice(&history);
        body.extend_from_slice(b"]}");
        self.history.trim();
        body
    }
}

/// What marks the end of a prefix for the cache.
const MARK: &str = r#""cache_control":{"type":"ephemeral"}"#;

/// Marks the last message for the cache: its text becomes a list of one part, which can carry the mark.
fn mark_last(history: &mut Vec<u8>) {
    // The text of the last message is what follows the last such key outside of a string; within one its quotes are escaped.
    const KEY: &[u8] = br#","content":""#;
    if !history.ends_with(b"\"}") {
        return;
    }
    let Some(at) = history.windows(KEY.len()).rposition(|window| window == KEY) else { return };
    let text_at = at + KEY.len() - 1;
    let text = history.split_off(text_at);
    history.extend_from_slice(br#"[{"type":"text","text":"#);
    history.extend_from_slice(&text[..text.len() - 1]);
    history.push(b',');
    history.extend_from_slice(MARK.as_bytes());
    history.extend_from_slice(b"}]}");
}

fn push_limit(out: &mut Vec<u8>, asked: Option<u32>, default: u32, field: ReplyLimit) {
    let (name, limit): (&[u8], _) = match field {
        ReplyLimit::MaxCompletionTokens => (br#","max_completion_tokens":"#, Some(asked.unwrap_or(default))),
        ReplyLimit::MaxTokens => (br#","max_tokens":"#, Some(asked.unwrap_or(default))),
        ReplyLimit::MaxTokensIfAsked => (br#","max_tokens":"#, asked),
    };
    if let Some(limit) = limit {
        out.extend_from_slice(name);
        push_json(out, &limit);
    }
}

fn push_effort(out: &mut Vec<u8>, request: &Request<'_>, field: EffortField, with_tools: bool) {
    let word = match field {
        EffortField::Unsupported => None,
        EffortField::OpenAi => effort::chat_level(request.model, request.effort, with_tools),
        EffortField::ReasoningEffort => request.effort.and_then(|asked| match asked.level() {
            Effort::Off => None,
            Effort::Low => Some("low"),
            Effort::Medium => Some("medium"),
            Effort::High | Effort::Max | Effort::Tokens(_) => Some("high"),
        }),
        EffortField::ReasoningObject => request.effort.map(|asked| match asked.level() {
            Effort::Off => "none",
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
            Effort::Max | Effort::Tokens(_) => "xhigh",
        }),
    };
    if let (EffortField::ReasoningObject, Some(Effort::Tokens(tokens @ 1..))) = (field, request.effort) {
        out.extend_from_slice(br#","reasoning":{"max_tokens":"#);
        push_json(out, &tokens);
        out.push(b'}');
        return;
    }
    let Some(word) = word else { return };
    if field == EffortField::ReasoningObject {
        out.extend_from_slice(br#","reasoning":{"effort":"#);
        push_json(out, &word);
        out.push(b'}');
    } else {
        out.extend_from_slice(br#","reasoning_effort":"#);
        push_json(out, &word);
    }
}

fn encode_head(tools: &[ToolSpec], system: Option<&str>, quirks: &Quirks, marked: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let native = quirks.tools == ToolStyle::Native;
    if native && !tools.is_empty() {
        out.extend_from_slice(br#""tools":["#);
        for ToolSpec { name, description, schema } in tools {
            let name = &wire_name(name);
            let function = wire::ToolFunction { name, description, parameters: schema };
            push_json(&mut out, &wire::Tool { r#type: "function", function });
            out.push(b',');
        }
        out.pop();
        out.extend_from_slice(b"],");
    }
    out.extend_from_slice(br#""messages":["#);
    let mut text = system.filter(|t| !t.trim().is_empty()).unwrap_or_default().to_owned();
    if !native && !tools.is_empty() {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&text_tools::describe(tools));
    }
    if !text.is_empty() {
        let role = match quirks.system_role {
            SystemRole::System => "system",
            SystemRole::Developer => "developer",
        };
        push_json(&mut out, &wire::TextMessage { role, content: &text });
        if marked {
            mark_last(&mut out);
        }
    }
    out
}

/// Appends what a message becomes, behind commas where they are needed. A message of which nothing can be sent
/// leaves no trace.
fn encode_message(out: &mut Vec<u8>, message: &Message, thinker: Thinker<'_>, quirks: &Quirks) {
    match (message.role, quirks.tools) {
        (Role::User, ToolStyle::Native) => encode_user(out, message, quirks.call_ids),
        (Role::User, ToolStyle::Prose) => push_user(out, message, &text_tools::user_text(&message.blocks)),
        (Role::Assistant, ToolStyle::Native) => encode_assistant(out, message, thinker, quirks),
        (Role::Assistant, ToolStyle::Prose) => {
            push_text_message(out, "assistant", &text_tools::assistant_text(&message.blocks));
        }
    }
}

/// Each result is a message of its own, right behind the calls, as the API demands; then the text. A result cannot
/// hold an image: those of all results come with the text.
fn encode_user(out: &mut Vec<u8>, message: &Message, ids: CallIds) {
    let blocks = &message.blocks;
    for block in blocks {
        if let Block::ToolResult(result) = block {
            separate(out);
            let content = result.content();
            let tool_call_id = &call_id(result.call.as_str(), ids);
            push_json(out, &wire::ToolMessage { role: "tool", tool_call_id, content });
        }
    }
    let texts: Vec<&str> = blocks
        .iter()
        .filter_map(|block| if let Block::Text(text) = block { Some(text.as_str()) } else { None })
        .filter(|text| !text.trim().is_empty())
        .collect();
    push_user(out, message, &texts.join("\n\n"));
}

/// Appends what the user says: text alone, or the message's images and the text.
fn push_user(out: &mut Vec<u8>, message: &Message, text: &str) {
    if message.images().next().is_none() {
        return push_text_message(out, "user", text);
    }
    let mut content = Vec::new();
    for block in &message.blocks {
        match block {
            Block::Image(image) => content.push(image_part(image)),
            Block::ToolResult(result) if !result.images.is_empty() => {
                content.push(wire::Part::Text { text: OF_RESULTS });
                content.extend(result.images.iter().map(image_part));
            }
            _ => {}
        }
    }
    if !text.trim().is_empty() {
        content.push(wire::Part::Text { text });
    }
    separate(out);
    push_json(out, &wire::MultipartMessage { role: "user", content });
}

/// Stands before images that a tool returned.
const OF_RESULTS: &str = "[what the tool call returned as an image]";

fn image_part<'a>(image: &Image) -> wire::Part<'a> {
    if image.format().is_document() {
        return wire::Part::File { file: wire::File { filename: DOCUMENT_NAME, file_data: data_url(image) } };
    }
    wire::Part::ImageUrl { image_url: wire::ImageUrl { url: data_url(image) } }
}

fn encode_assistant(out: &mut Vec<u8>, message: &Message, thinker: Thinker<'_>, quirks: &Quirks) {
    let text = message.text();
    let tool_calls: Vec<_> = message.calls().map(|call| wire_call(call, quirks.call_ids)).collect();
    let content = match (text.trim().is_empty(), tool_calls.is_empty(), quirks.empty_content) {
        (false, _, _) => Some(text.as_str()),
        // Nothing to say and nothing to call: what is left of a reply that was cut off while thinking.
        (true, true, _) => return,
        (true, false, EmptyContent::Null) => None,
        (true, false, EmptyContent::Text) => Some(""),
    };
    let reasoning_details = match quirks.reasoning_replay {
        ReasoningReplay::Nothing | ReasoningReplay::Content => Vec::new(),
        ReasoningReplay::Details => details(&message.blocks, thinker),
    };
    let reasoning_content = match quirks.reasoning_replay {
        ReasoningReplay::Content => reasoning(&message.blocks, thinker),
        ReasoningReplay::Nothing | ReasoningReplay::Details => None,
    };
    separate(out);
    let role = "assistant";
    push_json(
        out,
        &wire::AssistantMessage { role, content, reasoning_content, tool_calls, reasoning_details },
    );
}

/// Returns the text of all reasoning that this provider wants back.
fn reasoning(blocks: &[Block], thinker: Thinker<'_>) -> Option<String> {
    let texts: Vec<&str> = blocks
        .iter()
        .filter_map(|block| match block {
            Block::Thinking(thinking) => thinking
                .replay
                .as_ref()
                .filter(|r| r.is_of(thinker.provider, thinker.model))
                .map(|_| thinking.text.as_str()),
            _ => None,
        })
        .collect();
    (!texts.is_empty()).then(|| texts.concat())
}

/// A call goes back with the id it has here, as far as it fits, no matter who made it. The API does not work without
/// one; where we made the id up, the server issued none and only ever sees ours (PROV-10).
fn wire_call(call: &ToolCall, ids: CallIds) -> wire::Call<'_> {
    let function = wire::CallFunction { name: wire_name(&call.name), arguments: call.input.json() };
    wire::Call { id: call_id(call.id.as_str(), ids), r#type: "function", function }
}

/// Returns a call's id as the server takes it.
fn call_id(id: &str, ids: CallIds) -> Cow<'_, str> {
    match ids {
        CallIds::Any => wire_id(id, MAX_CALL_ID).into(),
        CallIds::NineAlphanumeric if id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric()) => {
            id.into()
        }
        CallIds::NineAlphanumeric => nine(id).into(),
    }
}

/// Returns nine letters and digits that stand for another id: FNV-1a, which gives the same in every process.
fn nine(id: &str) -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mut digit = || {
        let digit = DIGITS[usize::try_from(hash % 36).expect("below 36")];
        hash /= 36;
        char::from(digit)
    };
    (0..9).map(|_| digit()).collect()
}

/// Returns the elements of all reasoning that this provider wants back.
fn details(blocks: &[Block], thinker: Thinker<'_>) -> Vec<Box<RawValue>> {
    let replays = blocks.iter().filter_map(|block| match block {
        Block::Thinking(thinking) => {
            thinking.replay.as_ref().filter(|r| r.is_of(thinker.provider, thinker.model))
        }
        _ => None,
    });
    replays.flat_map(|r| whole_details(serde_json::from_str(r.raw.get()).unwrap_or_default())).collect()
}

/// Puts the fragments together that a stream made of the elements: a vendor that signs its reasoning takes only the
/// whole back. What came in one piece stays as it came.
fn whole_details(fragments: Vec<&RawValue>) -> Vec<Box<RawValue>> {
    let mut elements: Vec<(Option<wire::DetailPosition>, Vec<&RawValue>)> = Vec::new();
    for fragment in fragments {
        let place = serde_json::from_str::<wire::DetailPosition>(fragment.get()).ok();
        match elements.iter_mut().find(|(known, _)| place.is_some() && *known == place) {
            Some((_, parts)) => parts.push(fragment),
            None => elements.push((place, vec![fragment])),
        }
    }
    elements.iter().map(|(_, parts)| join_detail(parts)).collect()
}

fn join_detail(parts: &[&RawValue]) -> Box<RawValue> {
    if let [whole] = parts {
        return (*whole).to_owned();
    }
    let mut members: BTreeMap<String, Cow<'_, RawValue>> = BTreeMap::new();
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for part in parts {
        let part: BTreeMap<String, &RawValue> = serde_json::from_str(part.get()).unwrap_or_default();
        for (name, value) in part {
            if matches!(&*name, "text" | "summary" | "data")
                && let Ok(text) = serde_json::from_str::<Cow<'_, str>>(value.get())
            {
                texts.entry(name).or_default().push_str(&text);
            } else if value.get() == "null" {
                members.entry(name).or_insert(Cow::Borrowed(value));
            } else {
                members.insert(name, Cow::Borrowed(value));
            }
        }
    }
    for (name, text) in texts {
        members.insert(name, Cow::Owned(to_raw_value(&text).expect("text is JSON")));
    }
    to_raw_value(&members).expect("an object of JSON is JSON")
}

fn push_text_message(out: &mut Vec<u8>, role: &str, content: &str) {
    if !content.trim().is_empty() {
        separate(out);
        push_json(out, &wire::TextMessage { role, content });
    }
}

fn separate(out: &mut Vec<u8>) {
    if !out.is_empty() {
        out.push(b',');
    }
}

#[cfg(test)]
mod tests;
