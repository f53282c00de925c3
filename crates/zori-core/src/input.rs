//! What can be said to a running engine. Front ends produce these and nothing else.

use std::path::PathBuf;

use crate::ids::CallId;
use crate::image::Image;
use crate::outcome::CancelCause;
use crate::permission::Verdict;
use crate::provider::Effort;

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
    /// Uses another model from the next request on, in a running turn, too.
    SetModel {
        /// Its id.
        model: String,
        /// The upper bound for its replies.
        max_tokens: Option<u32>,
    },
    /// Uses another permission mode for calls that are not decided yet, in a running turn, too. The name is one that
    /// the run's [`modes`](crate::permission) know; whoever says this speaks for the user (MODE-4).
    SetMode(String),
    /// Lets the model think so much from the next request on; `None` is as much as it likes.
    SetEffort(Option<Effort>),
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
    /// Run it on a client's terms.
    AllowWith(Terms),
    /// Do not run it; the model is told why.
    Reject {
        /// The person's words, if any.
        reason: Option<String>,
    },
    /// Do not run it; the model reads a client's words as they are.
    Refuse {
        /// The words.
        message: String,
        /// Whether the turn ends with it.
        interrupt: bool,
    },
}

/// What a client wants when it lets a call run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// The whole input to run with in place of the model's, as JSON. It is judged again.
    pub input: Option<String>,
    /// What holds from now on.
    pub updates: Vec<PermissionUpdate>,
}

/// Something that holds for the rest of the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionUpdate {
    /// One more rule.
    AddRule {
        /// What it says shall happen.
        verdict: Verdict,
        /// Its text.
        rule: String,
    },
    /// Another permission mode, by its name.
    SetMode(String),
    /// One more folder that is worked in.
    AddDirectory(PathBuf),
}
