//! What becomes of a conversation that grows too long for its model: another view of it is sent from then on.
//!
//! Nothing is lost by that: the log keeps every record, and a view can be taken back for the one it replaced.

use std::sync::Arc;

use crate::message::Message;
use crate::usage::Usage;

/// A change of what the model is sent.
#[derive(Clone, Debug)]
pub struct Compaction {
    /// What was done.
    pub how: Compacted,
    /// What made it necessary.
    pub cause: CompactCause,
    /// About how many tokens the conversation had before.
    pub before: u64,
    /// About how many it has since.
    pub after: u64,
    /// How many the model takes, reply included; `None` where that is not known.
    pub window: Option<u64>,
    /// The conversation as it is sent from now on.
    pub view: Arc<[Arc<Message>]>,
    /// The request that wrote the summary, if one did.
    pub summary: Option<SummaryReply>,
}

impl Compaction {
    /// Returns what people are told.
    pub fn words(&self) -> String {
        let figures = format!("about {} -> {} tokens", self.before, self.after);
        match self.how {
            Compacted::Masked { results } => {
                let outputs = if results == 1 { "output" } else { "outputs" };
                format!("left out {results} older tool {outputs}, {figures}")
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
            Compacted::Undone => format!("took the last compaction back, {figures}"),
        }
    }
}

/// What was done to a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compacted {
    /// Older tool outputs were replaced by a word about them.
    Masked {
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
    /// The newest messages were left out: the conversation goes on from an earlier point.
    Rewound {
        /// How many.
        messages: usize,
    },
    /// The last change was taken back.
    Undone,
}

impl Compacted {
    /// Returns the stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Masked { .. } => "masked",
            Self::Summarised { .. } => "summarised",
            Self::Dropped { .. } => "dropped",
            Self::Rewound { .. } => "rewound",
            Self::Undone => "undone",
        }
    }
}

/// What made a compaction necessary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactCause {
    /// The conversation neared the model's window.
    NearlyFull,
    /// The provider refused it for its length.
    Refused,
    /// The user wanted it.
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

/// Who wrote a summary, and what that used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryReply {
    /// The model, as the provider names it.
    pub model: Arc<str>,
    /// What the request used.
    pub usage: Usage,
}

/// A view that a compaction replaced, with all that undoing it needs.
#[derive(Clone, Debug)]
pub struct Replaced {
    /// The conversation as it was sent before.
    pub view: Vec<Arc<Message>>,
    /// What was said after it was replaced, one entry each time something was added.
    pub since: Vec<Arc<Message>>,
}
