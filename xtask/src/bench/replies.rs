//! Replies of the model, serialised before the clock runs: HTTP head, chunks and all.

use std::time::Duration;

use serde_json::{Value, json};

/// One reply: what is sent, and when.
pub type Reply = Vec<Step>;

/// A step of a reply.
pub enum Step {
    /// These bytes in one go.
    Send(Vec<u8>),
    /// Nothing for a while.
    Pause(Duration),
}

const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/// A reply that says this text, in as many deltas as there are pieces.
pub fn text<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Reply {
    let mut bytes = HEAD.to_vec();
    opening(&mut bytes, &json!({"type": "text", "text": ""}));
    for piece in pieces {
        delta(&mut bytes, &json!({"type": "text_delta", "text": piece}));
    }
    closing(&mut bytes, "end_turn");
    vec![Step::Send(bytes)]
}

/// A reply whose first text comes after a pause, and whose end comes after another.
pub fn paced(text: &str, pause: Duration) -> Reply {
    let (mut head, mut middle, mut end) = (HEAD.to_vec(), Vec::new(), Vec::new());
    opening(&mut head, &json!({"type": "text", "text": ""}));
    delta(&mut middle, &json!({"type": "text_delta", "text": text}));
    closing(&mut end, "end_turn");
    vec![Step::Send(head), Step::Pause(pause), Step::Send(middle), Step::Pause(pause), Step::Send(end)]
}

/// A reply that says this text piece by piece, with a pause before each.
pub fn streamed<'a>(pieces: impl IntoIterator<Item = &'a str>, pause: Duration) -> Reply {
    let mut head = HEAD.to_vec();
    opening(&mut head, &json!({"type": "text", "text": ""}));
    let mut steps = vec![Step::Send(head)];
    for piece in pieces {
        let mut bytes = Vec::new();
        delta(&mut bytes, &json!({"type": "text_delta", "text": piece}));
        steps.extend([Step::Pause(pause), Step::Send(bytes)]);
    }
    let mut end = Vec::new();
    closing(&mut end, "end_turn");
    steps.push(Step::Send(end));
    steps
}

/// A reply of many blocks of text, each of which is a cell of its own in a chat.
pub fn blocks(count: usize) -> Reply {
    let mut bytes = HEAD.to_vec();
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "replay", "content": [],
        "stop_reason": null, "usage": {"input_tokens": 1, "output_tokens": 1},
    });
    event(&mut bytes, &json!({"type": "message_start", "message": message}));
    for index in 0..count {
        let block = json!({"type": "text", "text": ""});
        event(&mut bytes, &json!({"type": "content_block_start", "index": index, "content_block": block}));
        let text = json!({"type": "text_delta", "text": format!("cell {index}\n")});
        event(&mut bytes, &json!({"type": "content_block_delta", "index": index, "delta": text}));
        if index + 1 < count {
            event(&mut bytes, &json!({"type": "content_block_stop", "index": index}));
        }
    }
    closing(&mut bytes, "end_turn");
    vec![Step::Send(bytes)]
}

/// A reply that calls a tool.
pub fn call(number: usize, name: &str, input: &Value) -> Reply {
    let mut bytes = HEAD.to_vec();
    opening(
        &mut bytes,
        &json!({"type": "tool_use", "id": format!("toolu_{number}"), "name": name, "input": {}}),
    );
    delta(&mut bytes, &json!({"type": "input_json_delta", "partial_json": input.to_string()}));
    closing(&mut bytes, "tool_use");
    vec![Step::Send(bytes)]
}

fn opening(out: &mut Vec<u8>, block: &Value) {
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "replay", "content": [],
        "stop_reason": null, "usage": {"input_tokens": 1, "output_tokens": 1},
    });
    event(out, &json!({"type": "message_start", "message": message}));
    event(out, &json!({"type": "content_block_start", "index": 0, "content_block": block}));
}

fn delta(out: &mut Vec<u8>, delta: &Value) {
    event(out, &json!({"type": "content_block_delta", "index": 0, "delta": delta}));
}

fn closing(out: &mut Vec<u8>, stop_reason: &str) {
    event(out, &json!({"type": "content_block_stop", "index": 0}));
    let delta = json!({"stop_reason": stop_reason, "stop_sequence": null});
    event(out, &json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 1}}));
    event(out, &json!({"type": "message_stop"}));
    out.extend_from_slice(b"0\r\n\r\n");
}

/// One event, in a chunk of its own as servers send them.
fn event(out: &mut Vec<u8>, data: &Value) {
    let event = format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or("message"));
    out.extend_from_slice(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_one_piece_of_bytes() {
        let reply = call(7, "bash", &json!({"command": "true"}));
        let [Step::Send(bytes)] = reply.as_slice() else { panic!("one step") };
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert!(text.contains(r#""id":"toolu_7""#) && text.contains(r#"{\"command\":\"true\"}"#), "{text}");
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("\r\n0\r\n\r\n"), "{text}");
    }
}
