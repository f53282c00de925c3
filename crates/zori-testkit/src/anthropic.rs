//! Replies of an Anthropic model, written tersely.
//!
//! ```
//! use serde_json::json;
//! use zori_testkit::{anthropic, server::ModelServer};
//!
//! let server = ModelServer::start([
//!     anthropic::text("I will look.").tool_use("toolu_1", "bash", json!({"command": "ls"})),
//!     anthropic::text("Two files."),
//! ]);
//! assert_eq!(server.replies_left(), 2);
//! ```

use serde_json::{Value, json};

use crate::reply::Reply;

/// A message that begins with text.
pub fn text(text: &str) -> Message {
    Message::new().text(text)
}

/// A message that begins with a tool call.
pub fn tool_use(id: &str, name: &str, input: Value) -> Message {
    Message::new().tool_use(id, name, input)
}

/// A message that begins with thinking.
pub fn thinking(text: &str, signature: &str) -> Message {
    Message::new().thinking(text, signature)
}

/// One event of a stream, with its name.
pub fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or("message"))
}

/// An error inside a stream.
pub fn error(kind: &str, message: &str) -> String {
    event(&json!({"error": {"message": message, "type": kind}, "type": "error"}))
}

/// An error instead of a stream.
pub fn http_error(status: u16, kind: &str, message: &str) -> Reply {
    Reply::json(status, json!({"error": {"message": message, "type": kind}, "type": "error"}))
}

/// A message under construction: blocks in order, then `stop_reason` and usage, which follow from the blocks
/// unless they are set.
#[derive(Clone, Debug)]
pub struct Message {
    blocks: Vec<Value>,
    stop: Option<String>,
    usage: Value,
    model: String,
}

impl Message {
    /// A message without content.
    pub fn new() -> Self {
        Self {
            blocks: Vec::new(),
            stop: None,
            usage: json!({"input_tokens": 10, "output_tokens": 5}),
            model: "claude-haiku-4-5".to_owned(),
        }
    }

    /// Adds a text block; it is streamed word by word.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.block(json!({"type": "text", "text": text}))
    }

    /// Adds a tool call; its input is streamed in two pieces.
    #[must_use]
    pub fn tool_use(self, id: &str, name: &str, input: Value) -> Self {
        self.block(json!({"type": "tool_use", "id": id, "name": name, "input": input}))
    }

    /// Adds a tool call whose input is this text, JSON or not.
    #[must_use]
    pub fn raw_tool_use(self, id: &str, name: &str, input: &str) -> Self {
        self.block(json!({"type": "tool_use", "id": id, "name": name, "raw": input}))
    }

    /// Adds a thinking block.
    #[must_use]
    pub fn thinking(self, text: &str, signature: &str) -> Self {
        self.block(json!({"type": "thinking", "thinking": text, "signature": signature}))
    }

    /// Adds a thinking block that the provider hides.
    #[must_use]
    pub fn redacted_thinking(self, data: &str) -> Self {
        self.block(json!({"type": "redacted_thinking", "data": data}))
    }

    /// Adds a block of any kind; a kind the stream has no deltas for is sent whole when it starts.
    #[must_use]
    pub fn block(mut self, block: Value) -> Self {
        self.blocks.push(block);
        self
    }

    /// Sets why the model stopped; otherwise `tool_use` where there is a call, and `end_turn`.
    #[must_use]
    pub fn stop(mut self, reason: &str) -> Self {
        self.stop = Some(reason.to_owned());
        self
    }

    /// Sets the usage object.
    #[must_use]
    pub fn usage(mut self, usage: Value) -> Self {
        self.usage = usage;
        self
    }

    /// Sets the model's name.
    #[must_use]
    pub fn model(mut self, model: &str) -> Self {
        self.model = model.to_owned();
        self
    }

    /// Returns the events of the stream, for tests that reorder, drop or cut them.
    pub fn events(&self) -> Vec<Value> {
        let mut usage = self.usage.clone();
        usage["output_tokens"] = json!(1);
        let mut events = vec![json!({"type": "message_start", "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "model": self.model, "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": usage,
        }})];
        for (index, block) in self.blocks.iter().enumerate() {
            let (start, deltas) = opened(block);
            events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
            events.extend(
                deltas
                    .into_iter()
                    .map(|d| json!({"type": "content_block_delta", "index": index, "delta": d})),
            );
            events.push(json!({"type": "content_block_stop", "index": index}));
        }
        events.push(json!({
            "type": "message_delta",
            "delta": {"stop_reason": self.stop_reason(), "stop_sequence": null},
            "usage": {"output_tokens": self.usage["output_tokens"]},
        }));
        events.push(json!({"type": "message_stop"}));
        events
    }

    /// Returns the whole stream.
    pub fn sse(&self) -> String {
        self.events().iter().map(event).collect()
    }

    /// Returns the stream up to the end of the last block: the reply is not complete.
    pub fn sse_unfinished(&self) -> String {
        let events = self.events();
        events[..events.len() - 2].iter().map(event).collect()
    }

    /// Returns the message as the answer to a request that does not stream.
    pub fn json(&self) -> Value {
        json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": self.model, "content": self.blocks,
            "stop_reason": self.stop_reason(), "stop_sequence": null, "usage": self.usage,
        })
    }

    /// Returns the reply that streams the message.
    pub fn reply(&self) -> Reply {
        Reply::sse(self.sse())
    }

    fn stop_reason(&self) -> &str {
        let calls = self.blocks.iter().any(|block| block["type"] == "tool_use");
        self.stop.as_deref().unwrap_or(if calls { "tool_use" } else { "end_turn" })
    }
}

impl Default for Message {
    fn default() -> Self {
        Self::new()
    }
}

impl From<Message> for Reply {
    fn from(message: Message) -> Self {
        message.reply()
    }
}

/// Returns how a block starts, and its deltas.
fn opened(block: &Value) -> (Value, Vec<Value>) {
    let field = |name: &str| block[name].as_str().unwrap_or_default();
    match field("type") {
        "text" => {
            let words = field("text").split_inclusive(' ');
            (
                json!({"type": "text", "text": ""}),
                words.map(|word| json!({"type": "text_delta", "text": word})).collect(),
            )
        }
        "thinking" => (
            json!({"type": "thinking", "thinking": "", "signature": ""}),
            vec![
                json!({"type": "thinking_delta", "thinking": block["thinking"]}),
                json!({"type": "signature_delta", "signature": block["signature"]}),
            ],
        ),
        "tool_use" => {
            let input = block["raw"].as_str().map_or_else(|| block["input"].to_string(), str::to_owned);
            let (head, tail) = input.split_at(input.floor_char_boundary(input.len() / 2));
            let start = json!({"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}});
            (start, [head, tail].map(|json| json!({"type": "input_json_delta", "partial_json": json})).into())
        }
        _ => (block.clone(), Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_as_the_provider_documents_it() {
        let message = thinking("Hm", "sig").text("Hello you").tool_use("toolu_1", "ls", json!({"path": "é"}));
        let lines: Vec<_> = message
            .events()
            .iter()
            .map(|e| match e["type"].as_str().unwrap() {
                "content_block_start" => format!("start {}", e["content_block"]["type"].as_str().unwrap()),
                "content_block_delta" => e["delta"].to_string(),
                "message_delta" => e["delta"]["stop_reason"].to_string(),
                other => other.to_owned(),
            })
            .collect();
        assert_eq!(
            lines,
            [
                "message_start",
                "start thinking",
                r#"{"type":"thinking_delta","thinking":"Hm"}"#,
                r#"{"type":"signature_delta","signature":"sig"}"#,
                "content_block_stop",
                "start text",
                r#"{"type":"text_delta","text":"Hello "}"#,
                r#"{"type":"text_delta","text":"you"}"#,
                "content_block_stop",
                "start tool_use",
                r#"{"type":"input_json_delta","partial_json":"{\"path"}"#,
                r#"{"type":"input_json_delta","partial_json":"\":\"é\"}"}"#,
                "content_block_stop",
                "\"tool_use\"",
                "message_stop",
            ]
        );
    }

    #[test]
    fn errors_and_unfinished_streams() {
        assert_eq!(
            error("overloaded_error", "busy"),
            "event: error\ndata: {\"error\":{\"message\":\"busy\",\"type\":\"overloaded_error\"},\"type\":\"error\"}\n\n"
        );
        let message = text("a");
        assert!(message.sse().starts_with(&message.sse_unfinished()));
        assert!(message.sse_unfinished().ends_with("{\"type\":\"content_block_stop\",\"index\":0}\n\n"));
        assert_eq!(message.stop("max_tokens").json()["stop_reason"], "max_tokens");
    }
}
