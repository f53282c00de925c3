//! Pieces of a message as they come (4.5), in the grammar of Anthropic's streaming events whoever the provider is. The
//! whole block is told between its last piece and its end.

use std::io;

use serde::Serialize;
use serde_json::json;
use zori_core::event::Reply;
use zori_core::message::{Block, Thinking};
use zori_core::usage::Usage;

use super::message::{Assistant, Content, Scope, content};
use crate::claude::ending::stop_reason;
use crate::claude::wire::CallUsage;

/// A message that is told in pieces.
#[derive(Default)]
pub(super) struct Partial {
    pub(super) id: String,
    begun: bool,
    /// How many blocks are over.
    over: usize,
    /// The block that is open: text or thinking.
    open: Option<Block>,
}

/// A piece on the wire. There are thousands of them, so that they have a type where the rare events are made as they
/// come.
#[derive(Serialize)]
struct Piece<'a> {
    r#type: &'static str,
    index: usize,
    delta: Delta<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Delta<'a> {
    TextDelta { text: &'a str },
    ThinkingDelta { thinking: &'a str },
}

impl Partial {
    pub(super) fn new(id: String) -> Self {
        Self { id, ..Self::default() }
    }

    /// Begins the message, once.
    pub(super) fn begin(&mut self, scope: &Scope<'_>, model: &str) -> io::Result<()> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        scope.stream(json!({"type": "message_start", "message": {
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [],
            "stop_reason": null,
            "stop_sequence": null,
            "usage": CallUsage::from(Usage::NOTHING),
        }}))
    }

    /// Takes one more piece of text or thinking.
    pub(super) fn piece(&mut self, scope: &Scope<'_>, model: &str, piece: &Block) -> io::Result<()> {
        self.begin(scope, model)?;
        let goes_on = matches!(
            (&self.open, piece),
            (Some(Block::Text(_)), Block::Text(_)) | (Some(Block::Thinking(_)), Block::Thinking(_))
        );
        if !goes_on {
            self.close(scope, model)?;
            let block = match piece {
                Block::Thinking(_) => json!({"type": "thinking", "thinking": "", "signature": ""}),
                _ => json!({"type": "text", "text": ""}),
            };
            scope
                .stream(json!({"type": "content_block_start", "index": self.over, "content_block": block}))?;
        }
        let delta = match piece {
            Block::Thinking(more) => Delta::ThinkingDelta { thinking: &more.text },
            Block::Text(more) => Delta::TextDelta { text: more },
            Block::Image(_) | Block::ToolCall(_) | Block::ToolResult(_) => return Ok(()),
        };
        match (&mut self.open, piece) {
            (Some(Block::Text(text)), Block::Text(more)) => text.push_str(more),
            (Some(Block::Thinking(text)), Block::Thinking(more)) => text.text.push_str(&more.text),
            (open, piece) => *open = Some(piece.clone()),
        }
        scope.stream(Piece { r#type: "content_block_delta", index: self.over, delta })
    }

    /// Ends the block that is open, because another kind begins. Its signature, if it will have one, is not known yet.
    fn close(&mut self, scope: &Scope<'_>, model: &str) -> io::Result<()> {
        let Some(block) = self.open.take() else { return Ok(()) };
        let usage = CallUsage::from(Usage::NOTHING);
        let line = Assistant { id: &self.id, model, usage, aborted: false };
        scope.assistant(&line, &block)?;
        scope.stream(json!({"type": "content_block_stop", "index": self.over}))?;
        self.over += 1;
        Ok(())
    }

    /// Tells the rest of the message, and its end.
    pub(super) fn finish(mut self, scope: &Scope<'_>, line: &Assistant<'_>, reply: &Reply) -> io::Result<()> {
        let blocks = reply.message.blocks.iter().filter(|block| content(block).is_some());
        for block in blocks.skip(self.over) {
            if self.open.take().is_none() {
                self.open_whole(scope, block)?;
            }
            if let Some(Content::Thinking { signature, .. }) = content(block).filter(|_| signed(block)) {
                let delta = json!({"type": "signature_delta", "signature": signature});
                scope.stream(json!({"type": "content_block_delta", "index": self.over, "delta": delta}))?;
            }
            scope.assistant(line, block)?;
            scope.stream(json!({"type": "content_block_stop", "index": self.over}))?;
            self.over += 1;
        }
        let stop = reply.stop.as_ref().map(stop_reason);
        scope.stream(json!({
            "type": "message_delta",
            "delta": {"stop_reason": stop, "stop_sequence": null},
            "usage": line.usage,
        }))?;
        scope.stream(json!({"type": "message_stop"}))
    }

    /// Opens a block that comes in one piece.
    fn open_whole(&self, scope: &Scope<'_>, block: &Block) -> io::Result<()> {
        let (start, delta) = match content(block) {
            Some(Content::ToolUse { id, name, input }) => (
                json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
                json!({"type": "input_json_delta", "partial_json": input.get()}),
            ),
            Some(Content::Text { text }) => {
                (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": text}))
            }
            Some(Content::Thinking { thinking, .. }) => (
                json!({"type": "thinking", "thinking": "", "signature": ""}),
                json!({"type": "thinking_delta", "thinking": thinking}),
            ),
            Some(Content::RedactedThinking { data }) => {
                let block = json!({"type": "redacted_thinking", "data": data});
                let start =
                    json!({"type": "content_block_start", "index": self.over, "content_block": block});
                return scope.stream(start);
            }
            None => return Ok(()),
        };
        scope.stream(json!({"type": "content_block_start", "index": self.over, "content_block": start}))?;
        scope.stream(json!({"type": "content_block_delta", "index": self.over, "delta": delta}))
    }
}

fn signed(block: &Block) -> bool {
    matches!(block, Block::Thinking(Thinking { replay: Some(_), .. }))
}
