//! What a chat is known by on the server, as it is kept in the session (CTX-2).

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use zori_core::message::{Block, Message, Opaque};

use super::NAME;
use super::tool_request::ToolRequest;

/// The state of a chat. It is part of each reply, as bytes that only this provider understands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ChatState {
    /// The id on the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) context_id: Option<String>,
    /// What the workspace looked like when it was last described there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) context_signature: Option<String>,
    /// Requests of an answer that have not been made yet: each result is sent before the next one starts (TR-8).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) waiting: Vec<ToolRequest>,
}

impl ChatState {
    /// Returns the last state in a conversation.
    pub(super) fn of<'m>(messages: impl DoubleEndedIterator<Item = &'m Message>) -> Self {
        let states =
            messages.rev().flat_map(|message| message.blocks.iter().rev()).filter_map(|block| match block {
                Block::Thinking(thinking) => {
                    thinking.replay.as_ref().filter(|replay| &*replay.provider == NAME)
                }
                _ => None,
            });
        states.into_iter().find_map(|opaque| serde_json::from_str(opaque.raw.get()).ok()).unwrap_or_default()
    }

    /// Returns it as it is kept.
    pub(super) fn opaque(&self) -> Opaque {
        let raw: Box<RawValue> = serde_json::value::to_raw_value(self).expect("a state is JSON");
        Opaque::state(NAME, raw)
    }
}
