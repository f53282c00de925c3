//! `assistant` lines: one for each block of a message.

use std::cell::Cell;
use std::io;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use zori_core::ids::IdSource;
use zori_core::message::{Block, Thinking};

use crate::claude::wire::CallUsage;
use crate::claude::{FrameWriter, block_uuid, object, uuid};

pub(super) struct Scope<'a> {
    pub(super) frames: &'a FrameWriter,
    pub(super) ids: &'a dyn IdSource,
    pub(super) session: &'a str,
    /// For a sub-agent, the call that started it.
    pub(super) parent: Option<&'a str>,
    /// Numbers the blocks of the main agent; those of a sub-agent are in no file.
    pub(super) told: Option<&'a BlockCounter>,
}

/// Counts replies and their blocks, so that each block has an id that a later run computes again.
#[derive(Default)]
pub(super) struct BlockCounter {
    /// The replies before this one.
    pub(super) replies: Cell<u64>,
    /// The blocks of this one.
    pub(super) blocks: Cell<u64>,
}

impl BlockCounter {
    /// Ends a reply. One that says nothing is not in the session's file and does not count.
    pub(super) fn over(&self, blocks: &[Block]) {
        self.blocks.set(0);
        if blocks.iter().any(Block::says_something) {
            self.replies.set(self.replies.get() + 1);
        }
    }

    fn next(&self, session: &str) -> String {
        let block = self.blocks.replace(self.blocks.get() + 1);
        block_uuid(session, self.replies.get(), block)
    }
}

/// Returns whether a block is sent to the client.
pub fn is_sent(block: &Block) -> bool {
    content(block).is_some()
}

/// What the lines of one message have in common.
pub(super) struct Assistant<'a> {
    pub(super) id: &'a str,
    pub(super) model: &'a str,
    pub(super) usage: CallUsage,
    pub(super) aborted: bool,
}

#[derive(Serialize)]
struct Line<'a> {
    r#type: &'static str,
    message: Message<'a>,
    parent_tool_use_id: Option<&'a str>,
    session_id: &'a str,
    uuid: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    aborted: bool,
}

#[derive(Serialize)]
struct Message<'a> {
    id: &'a str,
    r#type: &'static str,
    role: &'static str,
    model: &'a str,
    content: [Box<RawValue>; 1],
    stop_reason: Option<&'a str>,
    stop_sequence: Option<&'a str>,
    usage: CallUsage,
}

#[derive(Serialize)]
struct Stream<'a, E> {
    r#type: &'static str,
    event: E,
    session_id: &'a str,
    parent_tool_use_id: Option<&'a str>,
    uuid: String,
}

impl Scope<'_> {
    /// Writes one block of a message. A block that says nothing has no line.
    pub(super) fn assistant(&self, line: &Assistant<'_>, block: &Block) -> io::Result<()> {
        let Some(block) = content(block) else { return Ok(()) };
        self.frames.write(&Line {
            r#type: "assistant",
            message: Message {
                id: line.id,
                r#type: "message",
                role: "assistant",
                model: line.model,
                content: [to_raw_value(&block).expect("a block is made of JSON")],
                stop_reason: None,
                stop_sequence: None,
                usage: line.usage,
            },
            parent_tool_use_id: self.parent,
            session_id: self.session,
            uuid: self.told.map_or_else(|| uuid(self.ids), |told| told.next(self.session)),
            aborted: line.aborted,
        })
    }

    pub(super) fn stream(&self, event: impl Serialize) -> io::Result<()> {
        self.frames.write(&Stream {
            r#type: "stream_event",
            event,
            session_id: self.session,
            parent_tool_use_id: self.parent,
            uuid: uuid(self.ids),
        })
    }
}

/// A block on the wire. The input of a call is as the model wrote it.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Content<'a> {
    Text { text: &'a str },
    Thinking { thinking: &'a str, signature: String },
    RedactedThinking { data: String },
    ToolUse { id: &'a str, name: &'a str, input: Box<RawValue> },
}

/// Returns a block as it is on the wire; `None` for one that is not the model's or says nothing.
pub(super) fn content(block: &Block) -> Option<Content<'_>> {
    match block {
        Block::Text(text) if text.is_empty() => None,
        Block::Text(text) => Some(Content::Text { text }),
        Block::Thinking(thinking) => thought(thinking),
        Block::ToolCall(call) => Some(Content::ToolUse {
            id: call.id.as_str(),
            name: &call.name,
            // The protocol wants a complete object, whatever the model sent.
            input: object(call.input.json()),
        }),
        Block::Image(_) | Block::ToolResult(_) => None,
    }
}

/// What the provider wants back stays with us; the field has to be there, though, or a client throws.
fn thought(thinking: &Thinking) -> Option<Content<'_>> {
    let replay: serde_json::Value = thinking
        .replay
        .as_ref()
        .and_then(|opaque| serde_json::from_str(opaque.raw.get()).ok())
        .unwrap_or_default();
    let text = |name: &str| replay[name].as_str().map(str::to_owned);
    if let Some(data) = text("data") {
        return Some(Content::RedactedThinking { data });
    }
    let signature = text("signature").unwrap_or_default();
    let says = !thinking.text.is_empty() || !signature.is_empty();
    says.then_some(Content::Thinking { thinking: &thinking.text, signature })
}
