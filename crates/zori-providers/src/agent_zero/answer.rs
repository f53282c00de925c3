//! The formats of an answer: server-sent events, lines of JSON, one document, or plain text (RES-1 to RES-6).

use serde_json::Value;
use zori_core::failure::{FailureKind, ProviderFailure};

use super::StreamMode;
use super::normalise::{self, ServerEvent};
use super::reply::Reply;
use crate::sse;

/// The longest line, and the longest answer in one piece.
pub(super) const MAX_LINE: usize = sse::MAX_EVENT;

/// How an answer is read.
pub(super) enum Format {
    Sse(sse::Decoder),
    /// A line that is not complete yet, and how far it has been searched for its end.
    Jsonl(Vec<u8>, usize),
    Whole(Vec<u8>),
}

impl Format {
    /// Returns the format of an answer (RES-2).
    pub(super) fn of(mode: StreamMode, content_type: &str) -> Self {
        let kind = content_type.to_ascii_lowercase();
        match mode {
            StreamMode::Sse => Self::Sse(sse::Decoder::new()),
            StreamMode::Jsonl => Self::Jsonl(Vec::new(), 0),
            StreamMode::Auto if kind.contains("text/event-stream") => Self::Sse(sse::Decoder::new()),
            StreamMode::Auto if kind.contains("ndjson") || kind.contains("jsonl") => {
                Self::Jsonl(Vec::new(), 0)
            }
            StreamMode::Auto => Self::Whole(Vec::new()),
        }
    }

    /// Takes bytes as they arrive. Returns whether the server said that this is all.
    pub(super) fn push(&mut self, bytes: &[u8], reply: &mut Reply) -> Result<bool, ProviderFailure> {
        match self {
            Self::Sse(frames) => {
                frames.push(bytes);
                while let Some(frame) = frames.next_frame().map_err(|error| too_long(&error.to_string()))? {
                    if event(frame, reply) {
                        return Ok(true);
                    }
                }
            }
            Self::Jsonl(open, searched) => {
                open.extend_from_slice(bytes);
                let mut start = 0;
                while let Some(at) = open[*searched..].iter().position(|&byte| byte == b'\n') {
                    let end = *searched + at;
                    json_line(&open[start..end], reply);
                    (start, *searched) = (end + 1, end + 1);
                }
                open.drain(..start);
                *searched = open.len();
                if open.len() > MAX_LINE {
                    return Err(too_long("a line of the answer is larger than 16 MiB"));
                }
            }
            Self::Whole(body) => {
                if body.len() + bytes.len() > MAX_LINE {
                    return Err(too_long("the answer is larger than 16 MiB"));
                }
                body.extend_from_slice(bytes);
            }
        }
        Ok(false)
    }

    /// Takes the end of the body: an event or line that it left open counts.
    pub(super) fn finish(self, reply: &mut Reply) -> Result<(), ProviderFailure> {
        match self {
            Self::Sse(mut frames) => {
                if let Some(frame) = frames.finish().map_err(|error| too_long(&error.to_string()))? {
                    match breaks_off(frame.data) {
                        true => reply.break_off(),
                        false => {
                            event(frame, reply);
                        }
                    }
                }
            }
            Self::Jsonl(open, _) if breaks_off(&open) => reply.break_off(),
            Self::Jsonl(open, _) => json_line(&open, reply),
            Self::Whole(body) => whole(&body, reply),
        }
        Ok(())
    }
}

fn too_long(message: &str) -> ProviderFailure {
    ProviderFailure::new(FailureKind::Parse, message)
}

/// Returns whether the end of the body cut an object in two: half of one is no answer.
fn breaks_off(data: &[u8]) -> bool {
    data.trim_ascii_start().starts_with(b"{")
        && serde_json::from_slice::<serde::de::IgnoredAny>(data).is_err_and(|error| error.is_eof())
}

/// Takes an event; returns whether it is the last.
fn event(frame: sse::Frame<'_>, reply: &mut Reply) -> bool {
    let data = String::from_utf8_lossy(frame.data);
    let name = String::from_utf8_lossy(frame.event);
    let name = name.trim();
    if matches!(data.trim(), "[DONE]" | "[FINISH]") {
        return true;
    }
    match serde_json::from_str::<Value>(&data) {
        Ok(mut value) => {
            // `message` is what every event is called that has no name; it says something only of words.
            let says = |object: &serde_json::Map<String, Value>| match name {
                "" => false,
                "message" => {
                    ["content", "text"].iter().any(|field| object.get(*field).is_some_and(Value::is_string))
                }
                _ => true,
            };
            if let Value::Object(object) = &mut value
                && !object.contains_key("type")
                && says(object)
            {
                object.insert("type".to_owned(), Value::String(name.to_owned()));
            }
            say(&value, reply);
        }
        Err(_) => {
            let kind = if matches!(name, "" | "message") { "final_response" } else { name };
            say(&serde_json::json!({ "type": kind, "content": data }), reply);
        }
    }
    false
}

fn json_line(line: &[u8], reply: &mut Reply) {
    let text = String::from_utf8_lossy(line);
    let text = text.trim();
    match serde_json::from_str::<Value>(text) {
        _ if text.is_empty() => {}
        Ok(value) => say(&value, reply),
        Err(_) => reply.take(ServerEvent::Final(text.to_owned())),
    }
}

fn whole(body: &[u8], reply: &mut Reply) {
    let text = String::from_utf8_lossy(body);
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return;
    }
    let Ok(value) = serde_json::from_str::<Value>(text.trim()) else {
        let mut events = Vec::new();
        normalise::normalise_text(text.trim_end(), &mut events);
        return events.into_iter().for_each(|event| reply.take(event));
    };
    note_chat(&value, reply);
    let inner = match &value {
        Value::Object(object) if !object.contains_key("type") => normalise::given(object, "response")
            .or_else(|| normalise::given(object, "message"))
            .unwrap_or(&value),
        _ => &value,
    };
    let mut events = Vec::new();
    normalise::normalise(inner, &mut events);
    events.into_iter().for_each(|event| reply.take(event));
}

fn say(value: &Value, reply: &mut Reply) {
    note_chat(value, reply);
    let mut events = Vec::new();
    normalise::normalise(value, &mut events);
    events.into_iter().for_each(|event| reply.take(event));
}

fn note_chat(value: &Value, reply: &mut Reply) {
    if let Some(id) = normalise::context_id(value) {
        reply.know(id);
    }
}
