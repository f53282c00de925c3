//! What the engine asks of a model, and what comes back.

use std::pin::Pin;
use std::sync::Arc;

use futures_core::Stream;

use crate::BoxFuture;
use crate::failure::ProviderFailure;
use crate::message::{Message, Opaque};
use crate::tool::ToolSpec;
use crate::usage::Usage;

/// A model behind some API.
///
/// Implementations encode, send and decode. They do not retry, log, price or interpret. Dropping the future or
/// the stream cancels the request. A stream that ends without [`Chunk::Done`] is a broken stream; an
/// implementation reports it as a failure of kind `transport` rather than just ending.
pub trait Provider: Send + Sync {
    /// Returns the provider's name, as `--provider` takes it.
    fn name(&self) -> &str;

    /// Sends one request. `Err` means that no part of an answer has arrived.
    fn stream<'a>(&'a self, request: &'a Request<'a>) -> BoxFuture<'a, Result<ChunkStream, ProviderFailure>>;
}

/// The decoded answer.
pub type ChunkStream = Pin<Box<dyn Stream<Item = Result<Chunk, ProviderFailure>> + Send>>;

/// One request. Messages are shared so that a provider can recognise those it has encoded before.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The model's id at this provider.
    pub model: &'a str,
    /// The system prompt; `None` sends none.
    pub system: Option<&'a Arc<str>>,
    /// The tools, in the order the model sees them. The same `Arc` means the same bytes.
    pub tools: &'a Arc<[ToolSpec]>,
    /// The conversation, oldest first.
    pub messages: &'a [Arc<Message>],
    /// The upper bound for the reply; `None` leaves it to the provider's own table.
    pub max_tokens: Option<u32>,
    /// Sent only if set.
    pub temperature: Option<f64>,
    /// How much the model should think; `None` leaves it to the provider.
    pub effort: Option<Effort>,
    /// Whether the answer comes as it is made or all at once.
    pub delivery: Delivery,
}

/// How much a model should think before it answers (L-22).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Not at all, where the model can leave it.
    Off,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// As much as it can.
    Max,
}

impl Effort {
    /// Every level, from little to much.
    pub const ALL: &[Self] = &[Self::Off, Self::Low, Self::Medium, Self::High, Self::Max];

    /// Returns the level of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|effort| effort.as_str() == name)
    }

    /// Returns the name `--thinking` takes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Max => "max",
        }
    }
}

/// How an answer is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// As it is made.
    Streamed,
    /// In one piece; the provider still answers with chunks.
    Whole,
}

/// One piece of an answer, in the order the provider sent it.
///
/// Text and thinking go to the block that is open; a delta of another kind, or [`Chunk::BlockEnd`], closes it.
/// Tool calls are addressed by index, since some providers interleave them.
#[derive(Clone, Debug)]
pub enum Chunk {
    /// The answer begins.
    Started {
        /// The model that answers, as the provider names it.
        model: String,
    },
    /// More visible text.
    Text(String),
    /// More reasoning.
    Thinking(String),
    /// What the provider wants back for the open thinking block; opens one if none is open.
    ThinkingReplay(Opaque),
    /// The open text or thinking block is complete.
    BlockEnd,
    /// A tool call begins.
    CallStart {
        /// Which call of this answer.
        index: u32,
        /// The provider's id; `None` where it issues none.
        id: Option<String>,
        /// The tool's name.
        name: String,
        /// A signature or the like attached to the call.
        replay: Option<Opaque>,
    },
    /// More of a call's arguments.
    CallInput {
        /// Which call of this answer.
        index: u32,
        /// JSON text, cut anywhere.
        json: String,
    },
    /// A call's arguments are complete. A call that never gets here is never executed.
    CallEnd {
        /// Which call of this answer.
        index: u32,
    },
    /// What the request has used, all told; a later one replaces an earlier one.
    Usage(Usage),
    /// The answer is complete.
    Done(StopReason),
}

/// Why the model stopped (NET-10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// It had said what it wanted to say.
    EndTurn,
    /// It wants tools to run.
    ToolUse,
    /// The reply limit cut it off.
    MaxTokens,
    /// A stop sequence was met.
    StopSequence,
    /// It refused.
    Refusal,
    /// The provider withheld the answer.
    ContentFilter,
    /// It paused and wants to be asked to go on.
    Pause,
    /// The conversation no longer fits the model's window.
    ContextWindow,
    /// Something this version does not know.
    Other(String),
}
