//! What can be said to a running engine. Front ends produce these and nothing else.

use crate::ids::CallId;
use crate::image::Image;
use crate::outcome::CancelCause;

/// One thing said to the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Starts a turn. While one runs, it waits for its end.
    Prompt(Prompt),
    /// Adds to the running turn: the model sees it with the next request. Without a turn it is a prompt.
    Steer(String),
    /// Answers an approval question.
    Approve {
        /// The call that was asked about.
        call: CallId,
        /// The answer.
        answer: Approval,
    },
    /// Ends the running turn; nothing when there is none.
    Cancel(CancelCause),
    /// Uses another model from the next request on.
    SetModel(String),
    /// Summarises the older part of the conversation. While a turn runs, it waits for its end.
    Compact {
        /// What the summary should dwell on.
        focus: Option<String>,
    },
    /// Takes the last compaction back. While a turn runs, it waits for its end.
    UndoCompact,
    /// Ends the run when the running turn is over.
    Shutdown,
}

/// What starts a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// The user's words.
    pub text: String,
    /// Images that go with them; the model sees them first.
    pub images: Vec<Image>,
}

impl<T: Into<String>> From<T> for Prompt {
    fn from(text: T) -> Self {
        Self { text: text.into(), images: Vec::new() }
    }
}

/// An answer to an approval question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approval {
    /// Run it.
    Allow,
    /// Run it, and whatever the question's rule covers from now on; like `Allow` where none was offered (DEC-2).
    Always,
    /// Do not run it; the model is told why.
    Reject {
        /// The person's words, if any.
        reason: Option<String>,
    },
}
