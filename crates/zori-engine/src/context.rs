//! Estimates the length of a conversation without the model's tokenizer, and computes how long it may get. Pure.
//!
//! The provider's count of the last request is exact; what was added since is estimated by its bytes.

use std::sync::Arc;

use zori_core::image::Image;
use zori_core::message::{Block, Message};
use zori_core::tool::ToolSpec;

/// The average length of a token, in prose and in code.
const BYTES_PER_TOKEN: u64 = 4;
/// The overhead of a message or a block.
const FRAME_BYTES: u64 = 16;

/// The context window of a model, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextWindow {
    /// Prompt and reply together.
    pub tokens: u64,
    /// The most that the reply may take of it.
    pub reply: u64,
}

impl ContextWindow {
    /// Returns how long a conversation may get before it is compacted: a share of the window in percent that leaves room
    /// for the reply, since some providers refuse requests that do not.
    pub(crate) fn limit(&self, percent: u64) -> u64 {
        let share = u64::try_from(u128::from(self.tokens) * u128::from(percent) / 100).unwrap_or(u64::MAX);
        share.min(self.tokens - self.reply.min(self.tokens / 2))
    }
}

/// A provider's token count, and the bytes of the conversation it was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TokenCount {
    pub(crate) tokens: u64,
    pub(crate) bytes: u64,
}

/// Estimates the tokens of a conversation of `bytes`, given an earlier count.
pub(crate) fn estimate(measured: Option<TokenCount>, bytes: u64) -> u64 {
    match measured {
        None => bytes.div_ceil(BYTES_PER_TOKEN),
        Some(then) if bytes >= then.bytes => then.tokens + (bytes - then.bytes).div_ceil(BYTES_PER_TOKEN),
        // What was taken away had as many tokens for its bytes as the whole.
        Some(then) => {
            let tokens = u128::from(then.tokens) * u128::from(bytes) / u128::from(then.bytes.max(1));
            u64::try_from(tokens).unwrap_or(u64::MAX)
        }
    }
}

/// Estimates the bytes of so many tokens.
pub(crate) fn bytes_of(tokens: u64) -> u64 {
    tokens.saturating_mul(BYTES_PER_TOKEN)
}

/// Returns the bytes of the system prompt and the tools, which are the same in every request.
pub(crate) fn head_size(system: Option<&str>, tools: &[ToolSpec]) -> u64 {
    let tool = |tool: &ToolSpec| tool.name.len() + tool.description.len() + tool.schema.get().len();
    (system.map_or(0, str::len) + tools.iter().map(tool).sum::<usize>()) as u64
}

/// Estimates the bytes of messages.
pub(crate) fn size(messages: &[Arc<Message>]) -> u64 {
    messages.iter().map(|message| message_size(message)).sum()
}

fn message_size(message: &Message) -> u64 {
    FRAME_BYTES + message.blocks.iter().map(block_size).sum::<u64>()
}

fn block_size(block: &Block) -> u64 {
    let bytes = match block {
        Block::Text(text) => text.len(),
        // What goes back for reasoning holds its text, or is opaque and as long.
        Block::Thinking(thinking) => match &thinking.replay {
            Some(replay) => replay.raw.get().len(),
            None => thinking.text.len(),
        },
        Block::ToolCall(call) => call.name.len() + call.input.json().len(),
        Block::ToolResult(result) => {
            result.content().len() + result.images.iter().map(image_size).sum::<usize>()
        }
        Block::Image(image) => image_size(image),
    };
    FRAME_BYTES + bytes as u64
}

/// An image counts by its area, not by its bytes: so many pixels to a token, and a bound to which providers shrink it.
fn image_size(image: &Image) -> usize {
    const PIXELS_PER_TOKEN: u64 = 750;
    const MAX_TOKENS: u64 = 1_600;
    if image.format().is_document() {
        // How many pages it has is not known without reading it; a page is some 50 kB and 2,500 tokens.
        return ((image.bytes().len() as u64 / 20).max(2_500) * BYTES_PER_TOKEN) as usize;
    }
    let tokens = u64::from(image.width()) * u64::from(image.height()) / PIXELS_PER_TOKEN;
    (tokens.clamp(1, MAX_TOKENS) * BYTES_PER_TOKEN) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_count_bytes_are_all_there_is() {
        assert_eq!(estimate(None, 0), 0);
        assert_eq!(estimate(None, 4_001), 1_001);
        assert_eq!(size(&[Arc::new(Message::user("12345678"))]), 40);
    }

    #[test]
    fn what_was_added_is_estimated_and_what_was_taken_is_scaled() {
        let measured = Some(TokenCount { tokens: 1_000, bytes: 3_000 });
        assert_eq!(estimate(measured, 3_000), 1_000);
        assert_eq!(estimate(measured, 3_400), 1_100);
        assert_eq!(estimate(measured, 1_500), 500);
        assert_eq!(estimate(Some(TokenCount { tokens: 5, bytes: 0 }), 0), 5);
    }

    #[test]
    fn the_reply_needs_room() {
        let limit = |tokens, reply| ContextWindow { tokens, reply }.limit(80);
        assert_eq!(limit(200_000, 8_192), 160_000);
        assert_eq!(limit(200_000, 64_000), 136_000);
        assert_eq!(limit(8_192, 8_192), 4_096, "but not all of it");
        assert_eq!(limit(u64::MAX, 0), u64::MAX / 100 * 80 + 12);
    }
}
