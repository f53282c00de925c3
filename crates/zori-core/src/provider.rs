//! Requests to a model, and the chunks of its reply.

use std::pin::Pin;
use std::sync::Arc;

use futures_core::Stream;

use crate::BoxFuture;
use crate::failure::{FailureKind, ProviderFailure};
use crate::message::{Message, Opaque};
use crate::search::{SearchAnswer, SearchQuery};
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

    /// Sends one request. `Err` means that no part of a reply has arrived.
    fn stream<'a>(&'a self, request: &'a Request<'a>) -> BoxFuture<'a, Result<ChunkStream, ProviderFailure>>;

    /// Returns whether it has a tool of its own that searches the web.
    fn searches(&self) -> bool {
        false
    }

    /// Has a model search the web with that tool.
    fn search<'a>(
        &'a self,
        _model: &'a str,
        _search: &'a SearchQuery,
    ) -> BoxFuture<'a, Result<SearchAnswer, ProviderFailure>> {
        Box::pin(std::future::ready(Err(ProviderFailure::new(
            FailureKind::Internal,
            "this provider cannot search the web",
        ))))
    }
}

/// The decoded chunks of a reply.
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
    /// Whether the reply is streamed.
    pub delivery: Delivery,
}

/// How much a model should think before it answers (L-22).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Not at all, if the model can go without.
    Off,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// As much as it can.
    Max,
    /// At most so many tokens, where the API takes a number; else the level that comes nearest.
    Tokens(u32),
}

impl Effort {
    /// Every level, from little to much.
    pub const ALL: &[Self] = &[Self::Off, Self::Low, Self::Medium, Self::High, Self::Max];

    /// Returns the level of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|effort| effort.as_str() == name)
    }

    /// Returns the level that comes nearest to a number of tokens; a level is itself.
    pub fn level(self) -> Self {
        match self {
            Self::Tokens(0) => Self::Off,
            Self::Tokens(1..4_096) => Self::Low,
            Self::Tokens(4_096..16_384) => Self::Medium,
            Self::Tokens(16_384..32_000) => Self::High,
            Self::Tokens(_) => Self::Max,
            level => level,
        }
    }

    /// Returns the name `--thinking` takes; of a number, that of the nearest level.
    pub fn as_str(self) -> &'static str {
        match self.level() {
            Self::Off => "off",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Max | Self::Tokens(_) => "max",
        }
    }
}

/// How a reply is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Streamed, as the model writes it.
    Streamed,
    /// In one response, which the provider still turns into chunks.
    Whole,
}

/// A part of a reply, in the order the provider sent it.
///
/// Text and thinking go to the block that is open; a delta of another kind, or [`Chunk::BlockEnd`], closes it.
/// Tool calls are addressed by index, since some providers interleave them.
#[derive(Clone, Debug)]
pub enum Chunk {
    /// The reply begins.
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
    /// A line about what goes on at the provider, for the user; no part of the reply.
    Status(String),
    /// Why the next call is made, in the words of whoever asks for it; no part of the reply.
    CallReason(String),
    /// What the request has used in total; a later chunk replaces an earlier one.
    Usage(Usage),
    /// The reply is complete.
    Done(StopReason),
}

/// Why the model stopped (NET-10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// It finished its reply.
    EndTurn,
    /// It wants to call tools.
    ToolUse,
    /// The reply limit cut it off.
    MaxTokens,
    /// A stop sequence was met.
    StopSequence,
    /// It refused to answer; with the provider's explanation.
    Refusal(Option<String>),
    /// The provider withheld the answer; with its explanation.
    ContentFilter(Option<String>),
    /// The provider blocked the prompt; with its explanation.
    Blocked(Option<String>),
    /// The reply cannot be used, in the provider's words.
    Malformed(String),
    /// It paused; the same conversation has to be sent again.
    Pause,
    /// The conversation no longer fits the model's window.
    ContextWindow,
    /// A reason that this version does not know.
    Other(String),
}

impl StopReason {
    /// Returns the failure of a reply that is none (DECISIONS 45): refused, withheld, blocked or malformed.
    pub fn failure(&self) -> Option<ProviderFailure> {
        let (kind, what, why) = match self {
            Self::Refusal(why) => (FailureKind::Refused, "the model refused to answer", why.as_deref()),
            Self::ContentFilter(why) => {
                (FailureKind::Refused, "the provider withheld the answer", why.as_deref())
            }
            Self::Blocked(why) => (FailureKind::Blocked, "the provider blocked the prompt", why.as_deref()),
            Self::Malformed(why) => {
                (FailureKind::Malformed, "the model sent no usable reply", Some(why.as_str()))
            }
            Self::EndTurn
            | Self::ToolUse
            | Self::MaxTokens
            | Self::StopSequence
            | Self::Pause
            | Self::ContextWindow
            | Self::Other(_) => return None,
        };
        let message = why.map_or_else(|| what.to_owned(), |why| format!("{what} ({why})"));
        Some(ProviderFailure::new(kind, message))
    }
}
