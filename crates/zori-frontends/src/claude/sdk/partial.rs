//! Pieces of a message as they come, in the grammar of Anthropic's streaming events for every provider. The whole
//! block is written between its last piece and its end.
//!
//! One block is open at a time. A call is over when its input is whole JSON and something else begins; pieces of a call
//! that come while another one is unfinished are not told, and that call comes whole with the end of the message.

use std::io;
use std::sync::Arc;

use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::json;
use zori_core::event::Reply;
use zori_core::ids::CallId;
use zori_core::message::{Block, IdOrigin, Opaque, Thinking, ToolCall, ToolInput};
use zori_core::usage::Usage;

use super::message::{Assistant, Content, Scope, content};
use crate::claude::turn_result::stop_reason;
use crate::claude::wire::CallUsage;

/// One more piece of a message.
pub(super) enum Piece<'a> {
    Text(&'a str),
    Thinking(&'a str),
    /// What the provider wants back for the thinking.
    Signed(&'a Opaque),
    /// A piece of a call's input.
    Input {
        call: &'a CallId,
        name: &'a Arc<str>,
        json: &'a str,
    },
}

/// A piece on the wire. There are thousands of them, so that they have a type where the rare events are made as they
/// come.
#[derive(Serialize)]
struct More<'a> {
    r#type: &'static str,
    index: usize,
    delta: Delta<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum Delta<'a> {
    #[serde(rename = "text_delta")]
    Text { text: &'a str },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: &'a str },
    #[serde(rename = "signature_delta")]
    Signature { signature: &'a str },
    #[serde(rename = "input_json_delta")]
    Input { partial_json: &'a str },
}

/// A message that is written in pieces.
#[derive(Default)]
pub(super) struct Partial {
    pub(super) id: String,
    begun: bool,
    /// How many blocks are over.
    over: usize,
    /// How many of them were no calls.
    said: usize,
    called: Vec<CallId>,
    /// Calls that come whole, because another one was open when they began.
    late: Vec<CallId>,
    open: Option<Open>,
}

/// The block that is open.
enum Open {
    Text(String),
    Thinking(Thinking),
    Call { id: CallId, name: Arc<str>, input: String },
}

impl Open {
    fn begin(piece: &Piece<'_>) -> Self {
        match piece {
            Piece::Text(_) => Self::Text(String::new()),
            Piece::Thinking(_) | Piece::Signed(_) => {
                Self::Thinking(Thinking { text: String::new(), replay: None })
            }
            Piece::Input { call, name, .. } => {
                Self::Call { id: (*call).clone(), name: (*name).clone(), input: String::new() }
            }
        }
    }

    fn takes(&self, piece: &Piece<'_>) -> bool {
        match (self, piece) {
            (Self::Text(_), Piece::Text(_)) => true,
            (Self::Thinking(_), Piece::Thinking(_) | Piece::Signed(_)) => true,
            (Self::Call { id, .. }, Piece::Input { call, .. }) => id == *call,
            _ => false,
        }
    }

    /// Returns whether nothing of it can be missing.
    fn is_whole(&self) -> bool {
        match self {
            Self::Text(_) | Self::Thinking(_) => true,
            Self::Call { input, .. } => serde_json::from_str::<IgnoredAny>(input).is_ok(),
        }
    }

    fn block(self) -> Block {
        match self {
            Self::Text(text) => Block::Text(text),
            Self::Thinking(thinking) => Block::Thinking(thinking),
            Self::Call { id, name, input } => Block::ToolCall(ToolCall {
                id,
                name: name.to_string(),
                input: ToolInput::parse(input),
                id_origin: IdOrigin::Provider,
                replay: None,
            }),
        }
    }
}

impl Partial {
    pub(super) fn new(id: String) -> Self {
        Self { id, ..Self::default() }
    }

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

    pub(super) fn piece(&mut self, scope: &Scope<'_>, model: &str, piece: &Piece<'_>) -> io::Result<()> {
        if let Piece::Input { call, .. } = piece
            && self.comes_late(call)
        {
            return Ok(());
        }
        self.begin(scope, model)?;
        if !self.open.as_ref().is_some_and(|open| open.takes(piece)) {
            self.close(scope, model)?;
            if let Piece::Signed(replay) = piece {
                return self.unseen(scope, model, replay);
            }
            let open = self.open.insert(Open::begin(piece));
            let block = match open {
                Open::Text(_) => json!({"type": "text", "text": ""}),
                Open::Thinking(_) => json!({"type": "thinking", "thinking": "", "signature": ""}),
                Open::Call { id, name, .. } => {
                    json!({"type": "tool_use", "id": id.as_str(), "name": &**name, "input": {}})
                }
            };
            self.start(scope, &block)?;
        }
        let delta = match (self.open.as_mut(), piece) {
            (Some(Open::Text(text)), Piece::Text(more)) => {
                text.push_str(more);
                Delta::Text { text: more }
            }
            (Some(Open::Thinking(thinking)), Piece::Thinking(more)) => {
                thinking.text.push_str(more);
                Delta::Thinking { thinking: more }
            }
            (Some(Open::Thinking(thinking)), Piece::Signed(replay)) => {
                thinking.replay = Some((*replay).clone());
                // Told with the end of the block.
                return Ok(());
            }
            (Some(Open::Call { input, .. }), Piece::Input { json, .. }) => {
                input.push_str(json);
                Delta::Input { partial_json: json }
            }
            _ => return Ok(()),
        };
        self.delta(scope, delta)
    }

    /// Tells thinking of which there is nothing to read.
    fn unseen(&mut self, scope: &Scope<'_>, model: &str, replay: &Opaque) -> io::Result<()> {
        let block = Block::Thinking(Thinking { text: String::new(), replay: Some(replay.clone()) });
        if content(&block).is_none() {
            return Ok(());
        }
        self.open_whole(scope, &block)?;
        self.early(scope, model, &block)
    }

    /// Ends the text or thinking that is open.
    pub(super) fn block_over(&mut self, scope: &Scope<'_>, model: &str) -> io::Result<()> {
        match self.open {
            Some(Open::Text(_) | Open::Thinking(_)) => self.close(scope, model),
            Some(Open::Call { .. }) | None => Ok(()),
        }
    }

    /// Returns whether a call comes whole with the end of the message: another one is open that lacks something.
    fn comes_late(&mut self, call: &CallId) -> bool {
        let unfinished =
            matches!(&self.open, Some(open @ Open::Call { id, .. }) if id != call && !open.is_whole());
        if unfinished && !self.late.contains(call) {
            self.late.push(call.clone());
        }
        self.late.contains(call)
    }

    /// Ends the block that is open, because another one begins.
    fn close(&mut self, scope: &Scope<'_>, model: &str) -> io::Result<()> {
        let Some(open) = self.open.take() else { return Ok(()) };
        if !open.is_whole() {
            return self.stop(scope);
        }
        self.early(scope, model, &open.block())
    }

    /// Tells a block before it is known what the message used.
    fn early(&mut self, scope: &Scope<'_>, model: &str, block: &Block) -> io::Result<()> {
        let (id, usage) = (self.id.clone(), CallUsage::from(Usage::NOTHING));
        self.finish_block(scope, &Assistant { id: &id, model, usage, aborted: false }, block)
    }

    /// Writes the rest of the message, and its end. Returns the calls that were written and are not in it: they never run.
    pub(super) fn finish(
        mut self,
        scope: &Scope<'_>,
        line: &Assistant<'_>,
        reply: &Reply,
    ) -> io::Result<Vec<CallId>> {
        let (said, called) = (self.said, self.called.clone());
        let open = self.open.take();
        let is_open = |block: &Block| match (&open, block) {
            (Some(Open::Call { id, .. }), Block::ToolCall(call)) => *id == call.id,
            (Some(Open::Text(_)), Block::Text(_)) | (Some(Open::Thinking(_)), Block::Thinking(_)) => true,
            _ => false,
        };
        let blocks = reply.message.blocks.iter().filter(|block| content(block).is_some());
        let mut nth = 0;
        let mut rest: Vec<&Block> = blocks
            .filter(|block| match block {
                Block::ToolCall(call) => !called.contains(&call.id),
                _ => {
                    nth += 1;
                    nth > said
                }
            })
            .collect();
        // What is open comes first, wherever it stands among what was not told.
        if let Some(at) = rest.iter().position(|block| is_open(block)) {
            let block = rest.remove(at);
            self.finish_block(scope, line, block)?;
        } else if open.is_some() {
            self.stop(scope)?;
        }
        for block in rest {
            self.open_whole(scope, block)?;
            self.finish_block(scope, line, block)?;
        }
        self.end(scope, reply.stop.as_ref().map(stop_reason), line.usage)?;
        let there = |id: &CallId| reply.message.calls().any(|call| call.id == *id);
        Ok(called.into_iter().filter(|id| !there(id)).collect())
    }

    /// Ends a message that was cut off. Returns the calls that were written; they never run.
    pub(super) fn give_up(mut self, scope: &Scope<'_>) -> io::Result<Vec<CallId>> {
        if !self.begun {
            return Ok(Vec::new());
        }
        if self.open.take().is_some() {
            self.stop(scope)?;
        }
        let called = std::mem::take(&mut self.called);
        self.end(scope, None, CallUsage::from(Usage::NOTHING))?;
        Ok(called)
    }

    fn end(&self, scope: &Scope<'_>, stop: Option<&str>, usage: CallUsage) -> io::Result<()> {
        let delta = json!({"stop_reason": stop, "stop_sequence": null});
        scope.stream(json!({"type": "message_delta", "delta": delta, "usage": usage}))?;
        scope.stream(json!({"type": "message_stop"}))
    }

    /// Writes a block whose pieces were all written, and ends it.
    fn finish_block(&mut self, scope: &Scope<'_>, line: &Assistant<'_>, block: &Block) -> io::Result<()> {
        if let Some(Content::Thinking { signature, .. }) = content(block)
            && !signature.is_empty()
        {
            self.delta(scope, Delta::Signature { signature: &signature })?;
        }
        scope.assistant(line, block)?;
        match block {
            Block::ToolCall(call) => self.called.push(call.id.clone()),
            _ => self.said += 1,
        }
        self.stop(scope)
    }

    fn start(&self, scope: &Scope<'_>, block: &serde_json::Value) -> io::Result<()> {
        scope.stream(json!({"type": "content_block_start", "index": self.over, "content_block": block}))
    }

    fn delta(&self, scope: &Scope<'_>, delta: Delta<'_>) -> io::Result<()> {
        scope.stream(More { r#type: "content_block_delta", index: self.over, delta })
    }

    fn stop(&mut self, scope: &Scope<'_>) -> io::Result<()> {
        scope.stream(json!({"type": "content_block_stop", "index": self.over}))?;
        self.over += 1;
        Ok(())
    }

    /// Opens a block that comes in one piece.
    fn open_whole(&self, scope: &Scope<'_>, block: &Block) -> io::Result<()> {
        let whole = content(block);
        let (start, delta) = match &whole {
            Some(Content::ToolUse { id, name, input }) => (
                json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
                Delta::Input { partial_json: input.get() },
            ),
            Some(Content::Text { text }) => (json!({"type": "text", "text": ""}), Delta::Text { text }),
            Some(Content::Thinking { thinking, .. }) => {
                (json!({"type": "thinking", "thinking": "", "signature": ""}), Delta::Thinking { thinking })
            }
            Some(Content::RedactedThinking { data }) => {
                return self.start(scope, &json!({"type": "redacted_thinking", "data": data}));
            }
            None => return Ok(()),
        };
        self.start(scope, &start)?;
        self.delta(scope, delta)
    }
}
