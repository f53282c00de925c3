//! Whatever a server says, as one of a few events: the table of `docs/contracts/agent-zero.md`, row by row.

use serde_json::{Map, Value};

use super::tool_request::ToolRequest;

/// How deep values may be in one another; below that they are text.
const MAX_DEPTH: usize = 32;

/// The names that the id of a chat has.
const ID_KEYS: &[&str] = &["context_id", "contextId", "conversation_id", "conversationId"];

/// What a server says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ServerEvent {
    Status(String),
    Thinking(String),
    /// A piece of an answer that may never come whole (NRM-3).
    Delta(String),
    ToolRequest(Box<ToolRequest>),
    /// A tool ran on the server.
    ToolOutput(String),
    Final(String),
    Error(String),
    /// An event this version does not know; its type, and its text if it has one.
    Unknown(String, Option<String>),
}

/// Returns the id of the chat, in any of its spellings: that of the outermost object, else the first below it (CTX-1).
pub(super) fn context_id(value: &Value) -> Option<&str> {
    let mut level = vec![value];
    for _ in 0..MAX_DEPTH {
        let mut next = Vec::new();
        for value in level {
            match value {
                Value::Object(object) => {
                    let id = |key: &&str| object.get(*key)?.as_str().filter(|id| !id.is_empty());
                    if let Some(id) = ID_KEYS.iter().find_map(id) {
                        return Some(id);
                    }
                    next.extend(object.values());
                }
                Value::Array(list) => next.extend(list),
                _ => {}
            }
        }
        level = next;
    }
    None
}

/// Returns a field that has something in it.
pub(super) fn given<'v>(object: &'v Map<String, Value>, name: &str) -> Option<&'v Value> {
    object.get(name).filter(|value| !value.is_null())
}

/// Adds what a value says.
pub(super) fn normalise(value: &Value, out: &mut Vec<ServerEvent>) {
    at_depth(value, 0, out);
}

/// Adds what a text says: JSON in it counts, and so does one code fence around a tool request (SRV-11).
pub(super) fn normalise_text(text: &str, out: &mut Vec<ServerEvent>) {
    string(text, 0, out);
}

fn at_depth(value: &Value, depth: usize, out: &mut Vec<ServerEvent>) {
    match value {
        // Row 1.
        Value::Null => {}
        Value::String(text) => string(text, depth, out),
        _ if depth >= MAX_DEPTH => out.push(ServerEvent::Final(value.to_string())),
        // Row 4.
        Value::Array(list) => list.iter().for_each(|value| at_depth(value, depth + 1, out)),
        Value::Object(object) => of_object(object, depth, out),
        Value::Bool(_) | Value::Number(_) => out.push(ServerEvent::Final(value.to_string())),
    }
}

fn string(text: &str, depth: usize, out: &mut Vec<ServerEvent>) {
    let trimmed = text.trim();
    // Row 2.
    if depth < MAX_DEPTH
        && trimmed.starts_with(['{', '['])
        && let Ok(value) = serde_json::from_str::<Value>(trimmed)
        && has_object(&value)
    {
        let before = out.len();
        at_depth(&value, depth + 1, out);
        // An object without any meaning stays the text it was.
        let unread = value.to_string();
        if let [ServerEvent::Final(json)] = &mut out[before..]
            && *json == unread
        {
            *json = text.to_owned();
        }
        return;
    }
    // Row 2a.
    if depth < MAX_DEPTH
        && let Some(inner) = fenced(trimmed)
        && let Ok(value) = serde_json::from_str::<Value>(inner)
    {
        let mut inside = Vec::new();
        at_depth(&value, depth + 1, &mut inside);
        if !inside.is_empty() && inside.iter().all(|event| matches!(event, ServerEvent::ToolRequest(_))) {
            out.append(&mut inside);
            return;
        }
    }
    // Row 3.
    if !text.is_empty() {
        out.push(ServerEvent::Final(text.to_owned()));
    }
}

/// A list without objects is an answer that looks like JSON, and stays text.
fn has_object(value: &Value) -> bool {
    match value {
        Value::Object(_) => true,
        Value::Array(list) => list.iter().any(has_object),
        _ => false,
    }
}

/// Returns what is in a text that is exactly one code fence.
fn fenced(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("```")?.strip_suffix("```")?;
    let (language, body) = inner.split_once('\n')?;
    (matches!(language.trim(), "" | "json" | "JSON") && !body.contains("```")).then(|| body.trim())
}

fn of_object(object: &Map<String, Value>, depth: usize, out: &mut Vec<ServerEvent>) {
    let text = |names: &[&str]| names.iter().find_map(|name| object.get(*name).and_then(words));
    let request = |object: &Map<String, Value>, out: &mut Vec<ServerEvent>| match ToolRequest::read(object) {
        Some(request) => out.push(ServerEvent::ToolRequest(Box::new(request))),
        None => {
            out.push(ServerEvent::Unknown("tool_request".to_owned(), Some("it names no tool".to_owned())))
        }
    };
    // Row 5.
    if let Some(Value::Array(choices)) = object.get("choices") {
        for choice in choices {
            if let Some(delta) = choice.get("delta").and_then(|delta| words(delta.get("content")?)) {
                out.push(ServerEvent::Delta(delta));
            }
            match choice.get("message").and_then(Value::as_object) {
                Some(message) if message.contains_key("tool_calls") => of_object(message, depth + 1, out),
                Some(message) => {
                    out.extend(message.get("content").and_then(words).map(ServerEvent::Final));
                }
                None => {}
            }
        }
        return;
    }
    // Row 6.
    if let Some(Value::Array(calls)) = object.get("tool_calls") {
        out.extend(object.get("content").and_then(words).map(ServerEvent::Final));
        calls.iter().filter_map(Value::as_object).for_each(|call| request(call, out));
        return;
    }
    // Row 7.
    if let Some(Value::Object(call)) = object.get("tool_call") {
        return request(call, out);
    }
    let kind = object.get("type").and_then(Value::as_str).unwrap_or_default();
    // Row 8.
    if kind == "tool_use" {
        return request(object, out);
    }
    // Row 9.
    if let Some(delta) = object.get("delta").and_then(|delta| words(delta.get("content")?)) {
        return out.push(ServerEvent::Delta(delta));
    }
    // Row 10.
    if let Some(events) = object.get("events") {
        return at_depth(events, depth + 1, out);
    }
    // Row 11.
    if let Some(Value::Object(asked)) = object.get("tool_request") {
        return request(asked, out);
    }
    let said = || text(&["content", "text", "message"]);
    match kind {
        "" => {}
        // Row 12.
        "tool_request" | "tool_call" | "tool" => return request(object, out),
        // Row 13.
        "text" => return out.extend(text(&["text", "content"]).map(ServerEvent::Final)),
        // Row 14.
        "final_response" | "message" | "answer" | "response" => {
            return out.extend(text(&["content", "message", "text", "response"]).map(ServerEvent::Final));
        }
        // Row 14a.
        "thinking" | "thought" | "reasoning" => return out.extend(said().map(ServerEvent::Thinking)),
        // Row 14b.
        "error" => {
            let error = object.get("error").and_then(error_text).or_else(said);
            return out
                .push(ServerEvent::Error(error.unwrap_or_else(|| "the server reports an error".to_owned())));
        }
        "status" if said().is_some() => return out.extend(said().map(ServerEvent::Status)),
        "tool_output" | "tool_result" if object.contains_key("content") || object.contains_key("output") => {
            return out.extend(text(&["content", "output"]).map(ServerEvent::ToolOutput));
        }
        // Rows 15 and 16.
        kind => return out.push(ServerEvent::Unknown(kind.to_owned(), text(&["content"]))),
    }
    // Row 14b, the other form.
    let inner = given(object, "response").or_else(|| given(object, "message"));
    if let (Some(error), None) = (object.get("error").and_then(error_text), inner) {
        return out.push(ServerEvent::Error(error));
    }
    // Row 17.
    if let Some(inner) = inner {
        return at_depth(inner, depth + 1, out);
    }
    // Row 18.
    if !object.iter().all(|(key, value)| ID_KEYS.contains(&key.as_str()) || value.is_null()) {
        out.push(ServerEvent::Final(Value::Object(object.clone()).to_string()));
    }
}

/// Returns a value as text: a string is itself, a list of parts their text, anything else JSON.
fn words(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::Array(parts) if parts.iter().all(|part| part.get("text").is_some_and(Value::is_string)) => {
            let text: String = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            Some(text).filter(|text| !text.is_empty())
        }
        other => Some(other.to_string()),
    }
}

fn error_text(value: &Value) -> Option<String> {
    match value {
        Value::Object(error) => error.get("message").and_then(words).or_else(|| words(value)),
        other => words(other),
    }
}

#[cfg(test)]
mod tests;
