//! Compaction: a conversation that grows too long for its model is replaced by a shorter view.
//!
//! Nothing is lost: the log keeps every record, and the replaced view can be restored.

use std::sync::Arc;

use crate::message::Message;
use crate::usage::Usage;

/// A compaction of the conversation.
#[derive(Clone, Debug)]
pub struct Compaction {
    /// What was done.
    pub how: Compacted,
    /// Why it was done.
    pub cause: CompactCause,
    /// The estimated tokens of the conversation before.
    pub before: u64,
    /// The estimated tokens after.
    pub after: u64,
    /// The context window of the model, if it is known.
    pub window: Option<u64>,
    /// The conversation as it is sent from now on.
    pub view: Arc<[Arc<Message>]>,
    /// The request that wrote the summary, if one did.
    pub summary: Option<SummaryReply>,
}

impl Compaction {
    /// Describes the compaction for people.
    pub fn words(&self) -> String {
        let figures = format!("about {} -> {} tokens", self.before, self.after);
        match self.how {
            Compacted::Masked { results } => {
                let outputs = if results == 1 { "output" } else { "outputs" };
                format!("left out {results} older tool {outputs}, {figures}")
            }
            Compacted::Cut { results } => {
                let outputs = if results == 1 { "output" } else { "outputs" };
                format!("cut {results} long tool {outputs}, {figures}")
            }
            Compacted::Summarised { messages } => {
                format!("summarised the {messages} oldest messages, {figures}")
            }
            Compacted::Dropped { messages } => {
                format!("the {messages} oldest messages are left out without a summary, {figures}")
            }
            Compacted::Rewound { messages } => {
                let what = if messages == 1 { "message" } else { "messages" };
                format!("went back before the last {messages} {what}, {figures}")
            }
            Compacted::Undone => format!("put the conversation back as it was before, {figures}"),
        }
    }
}

/// What was done to a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compacted {
    /// Older tool outputs were replaced by placeholders.
    Masked {
        /// How many.
        results: usize,
    },
    /// Long tool outputs were cut, the newest too.
    Cut {
        /// How many.
        results: usize,
    },
    /// Older messages were replaced by a summary of them.
    Summarised {
        /// How many.
        messages: usize,
    },
    /// Older messages were left out, because they could not be summarised.
    Dropped {
        /// How many.
        messages: usize,
    },
    /// The newest messages were left out: the conversation continues from an earlier point.
    Rewound {
        /// How many.
        messages: usize,
    },
    /// The last compaction was undone.
    Undone,
}

impl Compacted {
    /// Returns the stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Masked { .. } => "masked",
            Self::Cut { .. } => "cut",
            Self::Summarised { .. } => "summarised",
            Self::Dropped { .. } => "dropped",
            Self::Rewound { .. } => "rewound",
            Self::Undone => "undone",
        }
    }
}

/// The cause of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactCause {
    /// The conversation neared the model's window.
    NearlyFull,
    /// The provider refused the conversation for its length.
    Refused,
    /// The user asked for it.
    Asked,
}

impl CompactCause {
    /// Returns the stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NearlyFull => "nearly_full",
            Self::Refused => "refused",
            Self::Asked => "asked",
        }
    }
}

/// The request that wrote a summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryReply {
    /// The model, as the provider names it.
    pub model: Arc<str>,
    /// What the request used.
    pub usage: Usage,
}

/// A view that a compaction replaced, with all that undoing it needs.
#[derive(Clone, Debug)]
pub struct ReplacedView {
    /// The conversation as it was sent before.
    pub view: Vec<Arc<Message>>,
    /// The messages added after it was replaced.
    pub since: Vec<Arc<Message>>,
}
