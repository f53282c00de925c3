//! What is to be sent: the newest message, and what is known of the chat. The server keeps the rest (CTX-3).

use std::sync::Arc;

use serde_json::{Value, json};
use zori_core::message::{Block, Message, Role, ToolCall};

use super::state::ChatState;
use super::tool_result;

/// What is to be sent, and where it belongs.
#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    pub(super) state: ChatState,
    pub(super) payload: Payload,
    /// How many results were sent since the user's last prompt.
    pub(super) rounds: usize,
}

/// What is to be sent.
#[derive(Clone, Debug)]
pub(super) enum Payload {
    /// Words of the user, and files with them.
    Prompt { text: String, attachments: Vec<Value> },
    /// Results of tools, and words of the user that came meanwhile.
    Results { results: Vec<Value>, text: String },
}

/// Finds what is to be sent.
pub(super) fn find(messages: &[Arc<Message>]) -> Outgoing {
    let state = ChatState::of(messages.iter().map(|message| &**message));
    let is_result = |block: &Block| matches!(block, Block::ToolResult(_));
    let last = messages.iter().rev().find(|message| message.role == Role::User);
    let blocks = last.map(|message| message.blocks.as_slice()).unwrap_or_default();
    let texts = blocks.iter().filter_map(|block| match block {
        Block::Text(text) if !text.trim().is_empty() => Some(text.as_str()),
        _ => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n\n");
    // A prompt begins a count of rounds; so does a conversation that was cut.
    let newest_first = messages.iter().rev().filter(|message| message.role == Role::User);
    let rounds = newest_first.take_while(|message| message.blocks.iter().any(is_result)).count();
    if rounds == 0 {
        let images = blocks.iter().filter_map(|block| match block {
            Block::Image(image) => Some(image),
            _ => None,
        });
        let attachments = (1..).zip(images).map(|(number, image)| {
            json!({ "filename": format!("image-{number}.{}", image.format().as_str()), "base64": image.base64() })
        });
        let attachments = attachments.collect();
        return Outgoing { state, payload: Payload::Prompt { text, attachments }, rounds };
    }
    let calls: Vec<&ToolCall> = messages.iter().flat_map(|message| message.calls()).collect();
    let results = blocks.iter().filter_map(|block| match block {
        Block::ToolResult(result) => {
            let call = calls.iter().rev().find(|call| call.id == result.call).copied();
            Some(tool_result::encode(call, result))
        }
        _ => None,
    });
    let results = results.collect();
    Outgoing { state, payload: Payload::Results { results, text }, rounds }
}
