//! The conversation: messages made of blocks, in the order the model or the user produced them.
//!
//! What a provider wants back byte for byte (tool input, thinking signatures) is kept as raw JSON.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::ids::CallId;
use crate::image::Image;

/// The author of a message. Tool results are part of user messages, as most providers want it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The user; also the results of tools.
    User,
    /// The model.
    Assistant,
}

/// One message of the conversation: who wrote it, and its blocks in order.
#[derive(Clone, Debug)]
pub struct Message {
    /// The author.
    pub role: Role,
    /// The content, in order.
    pub blocks: Vec<Block>,
}

impl Message {
    /// A user message of one text.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, blocks: vec![Block::Text(text.into())] }
    }

    /// Returns all text blocks joined.
    pub fn text(&self) -> String {
        self.blocks
            .iter()
            .filter_map(|b| if let Block::Text(t) = b { Some(t.as_str()) } else { None })
            .collect()
    }

    /// Returns the images, those of tool results included.
    pub fn images(&self) -> impl Iterator<Item = &Image> {
        self.blocks.iter().flat_map(|block| match block {
            Block::Image(image) => std::slice::from_ref(image),
            Block::ToolResult(result) => &result.images,
            Block::Text(_) | Block::Thinking(_) | Block::ToolCall(_) => &[],
        })
    }

    /// Returns the tool calls in the order the model made them.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|b| if let Block::ToolCall(c) = b { Some(c) } else { None })
    }
}

/// A part of a message.
#[derive(Clone, Debug)]
pub enum Block {
    /// Visible text.
    Text(String),
    /// An image from the user.
    Image(Image),
    /// The model's reasoning.
    Thinking(Thinking),
    /// A call of a tool by the model.
    ToolCall(ToolCall),
    /// The result of a call.
    ToolResult(ToolResult),
}

impl Block {
    /// Returns whether a model says something with it, so that it has a record of its own: not what is empty, nor what models do not say.
    pub fn says_something(&self) -> bool {
        match self {
            Self::Text(text) => !text.is_empty(),
            Self::Thinking(thinking) => !thinking.text.is_empty() || thinking.replay.is_some(),
            Self::ToolCall(_) => true,
            Self::Image(_) | Self::ToolResult(_) => false,
        }
    }
}

/// The start of a text that holds the instructions of a skill. Such a text outlives the messages around it (SK-5).
pub const SKILL_HEAD: &str = "[skill ";

/// Reasoning of the model. The text is empty if the provider hides it.
#[derive(Clone, Debug)]
pub struct Thinking {
    /// The text that may be shown.
    pub text: String,
    /// What the provider wants back, byte for byte.
    pub replay: Option<Opaque>,
}

/// Bytes that only one provider understands. They are stored and sent back as they came.
#[derive(Clone, Debug)]
pub struct Opaque {
    /// The provider that made them. They must not be sent to another.
    pub provider: Arc<str>,
    /// The model that was asked, which is the only one that understands its own reasoning; `None` where nobody noted it.
    pub model: Option<Arc<str>>,
    /// The bytes, which are JSON.
    pub raw: Box<RawValue>,
    /// Whether they are what the provider keeps of the conversation rather than something the model thought.
    pub is_state: bool,
}

impl Opaque {
    /// Makes bytes of a provider whose model is not known yet.
    pub fn new(provider: impl Into<Arc<str>>, raw: Box<RawValue>) -> Self {
        Self { provider: provider.into(), model: None, raw, is_state: false }
    }

    /// Makes what a provider keeps of the conversation.
    pub fn state(provider: impl Into<Arc<str>>, raw: Box<RawValue>) -> Self {
        Self { is_state: true, ..Self::new(provider, raw) }
    }

    /// Returns whether they may be sent to this model of this provider.
    pub fn is_of(&self, provider: &str, model: &str) -> bool {
        &*self.provider == provider && self.model.as_deref().is_none_or(|made_by| made_by == model)
    }
}

/// A tool call as the model made it.
#[derive(Clone, Debug)]
pub struct ToolCall {
    /// The id that the result refers to.
    pub id: CallId,
    /// The tool's name in the dialect the model was shown.
    pub name: String,
    /// The arguments.
    pub input: ToolInput,
    /// Whether the provider issued the id.
    pub id_origin: IdOrigin,
    /// A signature or the like that the provider attached to this call.
    pub replay: Option<Opaque>,
}

/// Where a call's id comes from (PROV-10, L-3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdOrigin {
    /// The provider issued it.
    Provider,
    /// The engine generated it, because the provider sends none.
    Made,
}

/// A call's arguments: JSON, or the text that arrived instead.
#[derive(Clone, Debug)]
pub enum ToolInput {
    /// Valid JSON, byte for byte.
    Json(Box<RawValue>),
    /// Not JSON, or cut off before it ended. Never executed.
    Malformed(String),
}

impl ToolInput {
    /// Reads complete argument text; empty text counts as `{}` (TOOL-7).
    pub fn parse(text: String) -> Self {
        if text.trim().is_empty() {
            return Self::empty();
        }
        match RawValue::from_string(text.clone()) {
            Ok(raw) => Self::Json(raw),
            Err(_) => Self::Malformed(text),
        }
    }

    /// The arguments `{}`.
    pub fn empty() -> Self {
        Self::Json(RawValue::from_string("{}".to_owned()).expect("`{}` is JSON"))
    }

    /// Returns JSON that can be sent to a provider: the arguments, or `{}` where they are malformed.
    pub fn json(&self) -> &str {
        match self {
            Self::Json(raw) => raw.get(),
            Self::Malformed(_) => "{}",
        }
    }
}

/// The result of a call, as it is sent to the model and stored.
#[derive(Clone, Debug)]
pub struct ToolResult {
    /// The call it answers.
    pub call: CallId,
    /// The tool's name as the model knows it; some providers want it repeated.
    pub name: String,
    /// Whether the tool succeeded.
    pub ok: bool,
    /// The envelope `{"ok":..,"data"|"error":..}` (TOOL-1).
    pub envelope: Arc<RawValue>,
    /// What the model reads instead of the envelope, where the dialect lays results out differently.
    pub text: Option<Arc<str>>,
    /// Images that belong to the result.
    pub images: Vec<Image>,
}

impl ToolResult {
    /// Returns what the model reads.
    pub fn content(&self) -> &str {
        self.text.as_deref().unwrap_or_else(|| self.envelope.get())
    }
}
