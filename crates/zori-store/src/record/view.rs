//! The view in a `compacted` record: whole messages, in the shape of the other records without their times.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use zori_core::ids::CallId;
use zori_core::image::Image;
use zori_core::message::{Block, IdOrigin, Message, Role, Thinking, ToolCall, ToolInput, ToolResult};

use super::decode::{images as images_in, replay as replay_in};
use super::encode::{ImageOut, ReplayOut, replay as replay_out, single_line};

#[derive(Serialize)]
pub(super) struct ViewOut<'a> {
    role: &'static str,
    blocks: Vec<BlockOut<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockOut<'a> {
    Text {
        text: &'a str,
    },
    Reasoning {
        #[serde(skip_serializing_if = "str::is_empty")]
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        replay: Option<ReplayOut<'a>>,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: Box<RawValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        id_origin: Option<&'static str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        replay: Option<ReplayOut<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        malformed: Option<&'a str>,
    },
    ToolResult {
        tool_use_id: &'a str,
        name: &'a str,
        output: Box<RawValue>,
        ok: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        images: Vec<ImageOut>,
    },
    Image(ImageOut),
}

impl<'a> From<&'a Message> for ViewOut<'a> {
    fn from(message: &'a Message) -> Self {
        let role = match message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        Self { role, blocks: message.blocks.iter().map(BlockOut::from).collect() }
    }
}

impl<'a> From<&'a Block> for BlockOut<'a> {
    fn from(block: &'a Block) -> Self {
        match block {
            Block::Text(text) => Self::Text { text },
            Block::Image(image) => Self::Image(image.into()),
            Block::Thinking(thinking) => {
                Self::Reasoning { text: &thinking.text, replay: thinking.replay.as_ref().map(replay_out) }
            }
            Block::ToolCall(call) => {
                let (input, malformed) = match &call.input {
                    ToolInput::Json(raw) => (single_line(raw).into_owned(), None),
                    ToolInput::Malformed(text) => (empty(), Some(text.as_str())),
                };
                Self::ToolUse {
                    id: call.id.as_str(),
                    name: &call.name,
                    input,
                    id_origin: (call.id_origin == IdOrigin::Made).then_some("synthesized"),
                    replay: call.replay.as_ref().map(replay_out),
                    malformed,
                }
            }
            Block::ToolResult(result) => Self::ToolResult {
                tool_use_id: result.call.as_str(),
                name: &result.name,
                output: single_line(&result.envelope).into_owned(),
                ok: result.ok,
                text: result.text.as_deref(),
                images: result.images.iter().map(ImageOut::from).collect(),
            },
        }
    }
}

#[derive(Deserialize)]
pub(super) struct ViewIn {
    role: String,
    blocks: Vec<BlockIn>,
}

/// One shape for all kinds, since raw JSON cannot be read through a tagged one.
#[derive(Deserialize)]
struct BlockIn {
    r#type: String,
    text: Option<String>,
    replay: Option<Box<RawValue>>,
    id: Option<String>,
    name: Option<String>,
    input: Option<Box<RawValue>>,
    id_origin: Option<String>,
    malformed: Option<String>,
    tool_use_id: Option<String>,
    output: Option<Box<RawValue>>,
    ok: Option<bool>,
    images: Option<Box<RawValue>>,
    /// Of an image.
    data: Option<String>,
}

impl ViewIn {
    /// Returns the message; blocks of unknown types are left out.
    pub(super) fn message(self) -> Option<Message> {
        let role = match self.role.as_str() {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            _ => return None,
        };
        let blocks: Vec<Block> = self.blocks.into_iter().filter_map(BlockIn::block).collect();
        (!blocks.is_empty()).then_some(Message { role, blocks })
    }
}

impl BlockIn {
    fn block(self) -> Option<Block> {
        Some(match self.r#type.as_str() {
            "text" => Block::Text(self.text?),
            "image" => Block::Image(Image::from_base64(&self.data?).ok()?),
            "reasoning" => Block::Thinking(Thinking {
                text: self.text.unwrap_or_default(),
                replay: replay_in(self.replay),
            }),
            "tool_use" => Block::ToolCall(ToolCall {
                id: CallId::new(self.id?),
                name: self.name?,
                input: match self.malformed {
                    Some(text) => ToolInput::Malformed(text),
                    None => ToolInput::Json(self.input?),
                },
                id_origin: match self.id_origin.as_deref() {
                    Some("synthesized") => IdOrigin::Made,
                    _ => IdOrigin::Provider,
                },
                replay: replay_in(self.replay),
            }),
            "tool_result" => Block::ToolResult(ToolResult {
                call: CallId::new(self.tool_use_id?),
                name: self.name.unwrap_or_default(),
                ok: self.ok?,
                envelope: self.output?.into(),
                text: self.text.map(Arc::from),
                images: images_in(self.images.as_deref()),
            }),
            _ => return None,
        })
    }
}

fn empty() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).expect("`{}` is JSON")
}
