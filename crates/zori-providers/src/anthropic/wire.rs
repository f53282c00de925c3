//! Anthropic's JSON, as it goes out and as it comes in. Shapes only: `encode` and `decode` know what they mean.
//!
//! Incoming types are flat and tolerate what they do not know. Text that becomes a chunk is owned from the start;
//! what is only looked at is borrowed.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use zori_core::image::Image;
use zori_core::usage::Usage;

// Outgoing.

/// What marks a block as the end of a prefix worth caching; goes in front of the block's closing brace.
pub(super) const CACHE_CONTROL: &[u8] = br#","cache_control":{"type":"ephemeral"}"#;

#[derive(Serialize)]
pub(super) struct Tool<'a> {
    pub(super) name: &'a str,
    pub(super) description: &'a str,
    pub(super) input_schema: &'a RawValue,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block<'a> {
    Text {
        text: &'a str,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: &'a RawValue,
    },
    Image {
        source: Source,
    },
    Document {
        source: Source,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: ResultContent<'a>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

/// An image's bytes.
#[derive(Serialize)]
pub(super) struct Source {
    r#type: &'static str,
    media_type: &'static str,
    data: String,
}

impl From<&Image> for Block<'_> {
    fn from(image: &Image) -> Self {
        let source = image.into();
        if image.format().is_document() { Self::Document { source } } else { Self::Image { source } }
    }
}

impl From<&Image> for Source {
    fn from(image: &Image) -> Self {
        Self { r#type: "base64", media_type: image.format().media_type(), data: image.base64() }
    }
}

/// What a tool answered: plain text, or blocks where there are images.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ResultContent<'a> {
    Text(&'a str),
    Blocks(Vec<Block<'a>>),
}

/// A thinking block put together from its deltas, to be sent back as one.
#[derive(Serialize)]
pub(super) struct ThinkingReplay<'a> {
    pub(super) r#type: &'static str,
    pub(super) thinking: &'a str,
    pub(super) signature: &'a str,
}

// Incoming, streamed: one struct per event.

/// Any event: its type, for servers that do not name it in the event stream.
#[derive(Deserialize)]
pub(super) struct Tagged<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Cow<'a, str>,
}

#[derive(Deserialize)]
pub(super) struct MessageStart {
    pub(super) message: StartedMessage,
}

#[derive(Deserialize)]
pub(super) struct StartedMessage {
    #[serde(default)]
    pub(super) model: String,
    #[serde(default)]
    pub(super) usage: Option<Counts>,
}

#[derive(Deserialize)]
pub(super) struct BlockStart<'a> {
    pub(super) index: u64,
    #[serde(borrow)]
    pub(super) content_block: &'a RawValue,
}

/// A content block, whole or as its start shows it.
#[derive(Deserialize)]
pub(super) struct ContentBlock<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Cow<'a, str>,
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) thinking: Option<String>,
    #[serde(default)]
    pub(super) signature: Option<String>,
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(borrow, default)]
    pub(super) input: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct BlockDelta<'a> {
    pub(super) index: u64,
    #[serde(borrow)]
    pub(super) delta: Delta<'a>,
}

#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Cow<'a, str>,
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) thinking: Option<String>,
    #[serde(default)]
    pub(super) signature: Option<String>,
    #[serde(default)]
    pub(super) partial_json: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct BlockStop {
    pub(super) index: u64,
}

#[derive(Deserialize)]
pub(super) struct MessageDelta {
    pub(super) delta: Stop,
    #[serde(default)]
    pub(super) usage: Option<Counts>,
}

#[derive(Deserialize)]
pub(super) struct Stop {
    #[serde(default)]
    pub(super) stop_reason: Option<String>,
    #[serde(default)]
    pub(super) stop_details: Option<StopDetails>,
}

/// Why a reply was refused.
#[derive(Deserialize)]
pub(super) struct StopDetails {
    #[serde(default)]
    pub(super) category: Option<String>,
    #[serde(default)]
    pub(super) explanation: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct ErrorEvent {
    pub(super) error: ErrorObject,
}

#[derive(Deserialize)]
pub(super) struct ErrorObject {
    #[serde(default, rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) message: String,
}

// Incoming, in one piece.

#[derive(Deserialize)]
pub(super) struct WholeMessage<'a> {
    #[serde(default)]
    pub(super) model: String,
    #[serde(borrow)]
    pub(super) content: Vec<&'a RawValue>,
    #[serde(default)]
    pub(super) stop_reason: Option<String>,
    #[serde(default)]
    pub(super) stop_details: Option<StopDetails>,
    #[serde(default)]
    pub(super) usage: Option<Counts>,
}

/// Token counts; each is cumulative, and one that is missing has not changed.
#[derive(Deserialize)]
pub(super) struct Counts {
    #[serde(default)]
    input_tokens: Option<u64>,
    #[serde(default)]
    output_tokens: Option<u64>,
    #[serde(default)]
    cache_read_input_tokens: Option<u64>,
    #[serde(default)]
    cache_creation_input_tokens: Option<u64>,
}

impl Counts {
    /// Writes the counts that are there over the ones known so far.
    pub(super) fn update(&self, usage: &mut Usage) {
        // The counts of the prompt come together, some servers' without those of a cache.
        if let Some(input) = self.input_tokens {
            usage.cache_unknown = if self.cache_read_input_tokens.is_some() { 0 } else { input };
        }
        usage.input = self.input_tokens.unwrap_or(usage.input);
        usage.output = self.output_tokens.unwrap_or(usage.output);
        usage.cache_read = self.cache_read_input_tokens.unwrap_or(usage.cache_read);
        usage.cache_write = self.cache_creation_input_tokens.unwrap_or(usage.cache_write);
    }
}
