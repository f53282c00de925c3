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
use crate::encoded::{EncodedHead, EncodedHistory, data_url, push_json, wire_id, wire_name};
use crate::openai_responses::effort;
use crate::quirks::{EffortField, EmptyContent, Quirks, ReasoningReplay, ReplyLimit, SystemRole, ToolStyle};
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
}

impl Encoder {
    pub(super) fn new(provider: &'static str, quirks: Quirks) -> Self {
        Self { provider, quirks, head: EncodedHead::default(), history: EncodedHistory::default() }
    }

    /// Returns the request body. `default_limit` bounds the reply where nobody asked and the server wants a bound.
    pub(super) fn encode(&mut self, request: &Request<'_>, default_limit: u32) -> Vec<u8> {
        let Self { provider, quirks, head, history } = self;
        history.update(request.messages, |out, message| encode_message(out, message, provider, quirks));
        let head = head.bytes(request, |tools, system| encode_head(tools, system, quirks));
        let history = history.bytes();

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
        body.extend_from_slice(history);
        body.extend_from_slice(b"]}");
        body
    }
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
        EffortField::ReasoningEffort => request.effort.and_then(|asked| match asked {
            Effort::Off => None,
            Effort::Low => Some("low"),
            Effort::Medium => Some("medium"),
            Effort::High | Effort::Max => Some("high"),
        }),
        EffortField::ReasoningObject => request.effort.map(|asked| match asked {
            Effort::Off => "none",
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
            Effort::Max => "xhigh",
        }),
    };
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

fn encode_head(tools: &[ToolSpec], system: Option<&str>, quirks: &Quirks) -> Vec<u8> {
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
        push_json(&mut out, &wire::Said { role, content: &text });
    }
    out
}

/// Appends what a message becomes, behind commas where they are needed. A message of which nothing can be sent
/// leaves no trace.
fn encode_message(out: &mut Vec<u8>, message: &Message, provider: &str, quirks: &Quirks) {
    match (message.role, quirks.tools) {
        (Role::User, ToolStyle::Native) => encode_user(out, message),
        (Role::User, ToolStyle::Prose) => push_user(out, message, &text_tools::user_text(&message.blocks)),
        (Role::Assistant, ToolStyle::Native) => encode_assistant(out, message, provider, quirks),
        (Role::Assistant, ToolStyle::Prose) => {
            push_said(out, "assistant", &text_tools::assistant_text(&message.blocks));
        }
    }
}

/// Each result is a message of its own, right behind the calls, as the API demands; then the text. A result cannot
/// hold an image: those of all results come with the text.
fn encode_user(out: &mut Vec<u8>, message: &Message) {
    let blocks = &message.blocks;
    for block in blocks {
        if let Block::ToolResult(result) = block {
            separate(out);
            let content = result.content();
            let tool_call_id = wire_id(result.call.as_str(), MAX_CALL_ID);
            push_json(out, &wire::Answered { role: "tool", tool_call_id, content });
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
        return push_said(out, "user", text);
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
    push_json(out, &wire::Shown { role: "user", content });
}

/// Stands before images that a tool returned.
const OF_RESULTS: &str = "[what the tool call returned as an image]";

fn image_part<'a>(image: &Image) -> wire::Part<'a> {
    wire::Part::ImageUrl { image_url: wire::ImageUrl { url: data_url(image) } }
}

fn encode_assistant(out: &mut Vec<u8>, message: &Message, provider: &str, quirks: &Quirks) {
    let text = message.text();
    let tool_calls: Vec<_> = message.calls().map(wire_call).collect();
    let content = match (text.trim().is_empty(), tool_calls.is_empty(), quirks.empty_content) {
        (false, _, _) => Some(text.as_str()),
        // Nothing to say and nothing to call: what is left of a reply that was cut off while thinking.
        (true, true, _) => return,
        (true, false, EmptyContent::Null) => None,
        (true, false, EmptyContent::Text) => Some(""),
    };
    let reasoning_details = match quirks.reasoning_replay {
        ReasoningReplay::Nothing => Vec::new(),
        ReasoningReplay::Details => details(&message.blocks, provider),
    };
    separate(out);
    push_json(out, &wire::Assistant { role: "assistant", content, tool_calls, reasoning_details });
}

/// A call goes back with the id it has here, as far as it fits, whoever made it. The API does not work without one,
/// and an id that we made stands for none of the server's: it issued none, so that it only ever sees ours (PROV-10).
fn wire_call(call: &ToolCall) -> wire::Call<'_> {
    let function = wire::CallFunction { name: wire_name(&call.name), arguments: call.input.json() };
    wire::Call { id: wire_id(call.id.as_str(), MAX_CALL_ID), r#type: "function", function }
}

/// Returns the elements of all reasoning that this provider wants back.
fn details(blocks: &[Block], provider: &str) -> Vec<Box<RawValue>> {
    let replays = blocks.iter().filter_map(|block| match block {
        Block::Thinking(thinking) => thinking.replay.as_ref().filter(|r| &*r.provider == provider),
        _ => None,
    });
    replays.flat_map(|r| whole_details(serde_json::from_str(r.raw.get()).unwrap_or_default())).collect()
}

/// Puts the fragments together that a stream made of the elements: a vendor that signs its reasoning takes only the
/// whole back. What came in one piece stays as it came.
fn whole_details(fragments: Vec<&RawValue>) -> Vec<Box<RawValue>> {
    let mut elements: Vec<(Option<wire::DetailPlace>, Vec<&RawValue>)> = Vec::new();
    for fragment in fragments {
        let place = serde_json::from_str::<wire::DetailPlace>(fragment.get()).ok();
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

fn push_said(out: &mut Vec<u8>, role: &str, content: &str) {
    if !content.trim().is_empty() {
        separate(out);
        push_json(out, &wire::Said { role, content });
    }
}

fn separate(out: &mut Vec<u8>) {
    if !out.is_empty() {
        out.push(b',');
    }
}

#[cfg(test)]
mod tests;
