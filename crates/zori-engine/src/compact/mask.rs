//! Replaces older tool outputs by placeholders. Pure.

use std::sync::Arc;

use serde_json::value::RawValue;
use zori_core::message::{Block, Message, ToolResult};

/// Shorter outputs are not worth replacing.
const WORTH_BYTES: usize = 512;
/// How many of the newest outputs are always kept.
const NEWEST: usize = 8;

/// Which outputs are kept besides the newest and the failed ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// All since the last prompt.
    Turn,
    /// No others.
    Newest,
}

/// A view with some outputs replaced. Unchanged messages are the same `Arc`s as before.
pub(crate) struct Masked {
    pub(crate) view: Vec<Arc<Message>>,
    pub(crate) results: usize,
}

/// Replaces the outputs that `keep` does not cover.
pub(crate) fn mask(messages: &[Arc<Message>], keep: Keep) -> Masked {
    let outputs: usize = messages.iter().map(|message| outputs(message)).sum();
    let mut older = outputs.saturating_sub(NEWEST);
    let end = match keep {
        Keep::Newest => messages.len(),
        Keep::Turn => messages.iter().rposition(|message| has_text(message)).unwrap_or(0),
    };
    let mut results = 0;
    let view = messages
        .iter()
        .enumerate()
        .map(|(i, message)| {
            // A prompt may follow outputs of the turn before in the same message.
            let mut maskable = if i <= end { older.min(self::outputs(message)) } else { 0 };
            older -= maskable.min(older);
            let mut blocks = None;
            for (at, block) in message.blocks.iter().enumerate() {
                let Block::ToolResult(result) = block else { continue };
                if maskable == 0 {
                    break;
                }
                maskable -= 1;
                if result.ok && result.content().len() > WORTH_BYTES {
                    blocks.get_or_insert_with(|| message.blocks.clone())[at] =
                        Block::ToolResult(placeholder(result));
                    results += 1;
                }
            }
            match blocks {
                Some(blocks) => Arc::new(Message { role: message.role, blocks }),
                None => message.clone(),
            }
        })
        .collect();
    Masked { view, results }
}

fn outputs(message: &Message) -> usize {
    message.blocks.iter().filter(|block| matches!(block, Block::ToolResult(_))).count()
}

fn has_text(message: &Message) -> bool {
    message.role == zori_core::message::Role::User
        && message.blocks.iter().any(|block| matches!(block, Block::Text(_)))
}

/// Returns a result that describes the output it replaces. It depends on that output alone, so that its bytes never
/// change.
fn placeholder(result: &ToolResult) -> ToolResult {
    let note = format!(
        "The output of `{}` ({} bytes) was left out here to save context. If you need it, call the tool again with \
         the same arguments, unless that would repeat a change.",
        result.name,
        result.content().len()
    );
    let quoted = serde_json::to_string(&note).expect("a string is JSON");
    let envelope = format!(r#"{{"ok":true,"data":{{"left_out":{quoted}}}}}"#);
    let envelope = RawValue::from_string(envelope).expect("quoted text in an object is JSON");
    ToolResult {
        call: result.call.clone(),
        name: result.name.clone(),
        ok: true,
        envelope: envelope.into(),
        text: result.text.as_ref().map(|_| note.into()),
        images: Vec::new(),
    }
}
