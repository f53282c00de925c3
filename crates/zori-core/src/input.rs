//! The inputs of a running engine. Front ends send these and nothing else.

use std::path::PathBuf;

use crate::ids::CallId;
use crate::image::Image;
use crate::outcome::CancelCause;
use crate::permission::Verdict;
use crate::provider::Effort;

/// An input for the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Starts a turn, after the running one has ended.
    Prompt(Prompt),
    /// Adds text to the running turn, which the model sees with the next request. Without a turn it is a prompt.
    Steer(String),
    /// Answers an approval question.
    Approve {
        /// The call the question was about.
        call: CallId,
        /// Whether the call may run.
        answer: Approval,
    },
    /// Cancels the running turn, if there is one.
    Cancel(CancelCause),
    /// Switches to another model with the next request, in a running turn as well.
    SetModel {
        /// The id of the model.
        model: String,
        /// The most tokens of its replies.
        max_tokens: Option<u32>,
    },
    /// Switches to another permission mode, for calls that are not decided yet. The name is one that the engine's mode
    /// lookup knows. The sender acts for the user (MODE-4).
    SetMode(String),
    /// Changes how much the model thinks, from the next request on; `None` leaves that to the provider.
    SetEffort(Option<Effort>),
    /// Runs a command of the user's own at once, beside the conversation (CMP-5).
    Shell {
        /// The shell text, as the user typed it.
        command: String,
        /// Whether the model reads of it with the next prompt.
        share: bool,
    },
    /// Summarises the older part of the conversation, after the running turn has ended.
    Compact {
        /// What the summary should focus on.
        focus: Option<String>,
    },
    /// Undoes the last compaction, after the running turn has ended.
    UndoCompact,
    /// Ends the run, after the running turn has ended.
    Shutdown,
}

/// A prompt of the user, which starts a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// What the user wrote.
    pub text: String,
    /// Images, which the model sees before the text.
    pub images: Vec<Image>,
    /// The name a client knows it by; files can be put back to before it (UNDO-42).
    pub uuid: Option<String>,
    /// The scheduled job that sends it; `None`: somebody typed it.
    pub scheduled: Option<String>,
}

impl<T: Into<String>> From<T> for Prompt {
    fn from(text: T) -> Self {
        Self { text: text.into(), images: Vec::new(), uuid: None, scheduled: None }
    }
}

/// An answer to an approval question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approval {
    /// Run the call.
    Allow,
    /// Run the call, and from now on whatever this grant of the question covers, by its index; the same as `Allow` if
    /// there is no such grant (DEC-2).
    Grant(usize),
    /// Run the call on the terms of a client.
    AllowWith(Terms),
    /// Do not run the call. The model reads that the user rejected it.
    Reject {
        /// What the user gave as the reason.
        reason: Option<String>,
    },
    /// Do not run the call: nobody could be asked, or nobody answered. The model reads that, and that no user said no.
    Unavailable {
        /// Why there is no answer.
        why: String,
    },
    /// Do not run the call. The model reads the client's message as it is.
    Refuse {
        /// What the model reads as the result.
        message: String,
        /// Whether the turn ends.
        interrupt: bool,
    },
}

/// The terms on which a client lets a call run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// A new input that replaces the model's, as JSON. The call is judged again with it.
    pub input: Option<String>,
    /// Permissions to change for the rest of the session.
    pub updates: Vec<PermissionUpdate>,
    /// Answers to the questions that the call asks, in their order: a number means the option, anything else is the
    /// answer itself.
    pub answers: Vec<String>,
}

impl Approval {
    /// Answers the questions of a call that asks the user.
    pub fn answers(answers: Vec<String>) -> Self {
        Self::AllowWith(Terms { answers, ..Terms::default() })
    }
}

/// A change of permissions for the rest of the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionUpdate {
    /// Adds a rule.
    AddRule {
        /// What happens to calls that match it.
        verdict: Verdict,
        /// The rule as users write it.
        rule: String,
    },
    /// Switches to another permission mode, by its name.
    SetMode(String),
    /// Adds a folder to the workspace.
    AddDirectory(PathBuf),
}
