//! A line of a session file, as values. How it is written and read is in `record/encode.rs` and `record/decode.rs`, the
//! only places that know the shapes on disk.

pub(crate) mod decode;
pub(crate) mod encode;
mod view;

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::value::RawValue;
use zori_core::ids::CallId;
use zori_core::image::Image;
use zori_core::message::{Message, Role, Thinking, ToolCall};
use zori_core::usage::Usage;

/// The version new sessions carry. Readers accept any: fields and types are only ever added (FS-9).
pub(crate) const SCHEMA_VERSION: u32 = 1;

#[derive(Clone, Debug)]
pub struct Record {
    /// When it was written, as it stands in the file; empty where it does not say.
    pub ts: String,
    /// Set on the last record of a model's reply (DECISIONS 28).
    pub reply_end: Option<ReplyEnd>,
    /// Whether it belongs to a reply that is no part of the conversation: refused, or asked for once more.
    pub discarded: bool,
    pub kind: RecordKind,
}

impl Record {
    /// Returns whether it is a prompt: the N-th of a file begins turn N.
    pub fn begins_turn(&self) -> bool {
        matches!(&self.kind, RecordKind::Message { role: Role::User, within_turn: false, .. })
    }
}

/// What a record says.
#[derive(Clone, Debug)]
pub enum RecordKind {
    /// The first line.
    Meta(Meta),
    /// Text of the user or the model.
    Message {
        /// Who wrote it.
        role: Role,
        text: String,
        /// Whether the reply was cut off here.
        partial: bool,
        /// Whether it was added to a turn that ran, and begins none.
        within_turn: bool,
        /// The images that went with it; only the user's have any.
        images: Vec<Image>,
        /// The name a client knows a prompt by.
        uuid: Option<String>,
        /// The scheduled job that sent a prompt; `None`: somebody typed it.
        scheduled: Option<String>,
    },
    /// Reasoning of the model.
    Reasoning(Thinking),
    /// The model called a tool.
    ToolUse(ToolCall),
    /// A tool answered.
    ToolResult {
        /// The call it answers.
        call: CallId,
        /// The envelope.
        output: Arc<RawValue>,
        /// Whether the tool succeeded.
        ok: bool,
        /// What the model read instead of the envelope, where that differs.
        text: Option<Arc<str>>,
        /// What the model saw beside it.
        images: Vec<Image>,
    },
    /// The turn was cancelled.
    Interrupted,
    /// A call was asked about or denied.
    Approval {
        /// The call in question.
        call: CallId,
        /// `approved`, `rejected` or `blocked`.
        decision: String,
        /// `user`, `policy` or `cancelled`.
        by: String,
        reason: String,
    },
    /// From here on the model was sent another view of the conversation.
    Compacted {
        /// `masked`, `summarised`, `dropped` or `undone`.
        how: String,
        /// About how many tokens there were before.
        before: u64,
        /// About how many there were since.
        after: u64,
        /// The whole view; `None` where the last compaction was taken back.
        view: Option<Vec<Message>>,
    },
    /// Calls changed files, which can be put back (UNDO-22).
    Changed {
        /// The number of the operation.
        op: u64,
        /// How many files were created.
        created: u64,
        /// How many were modified.
        modified: u64,
        /// How many were deleted.
        deleted: u64,
        /// The first of their paths.
        paths: Vec<String>,
    },
    /// Files went back to an earlier state (UNDO-23).
    Rewound {
        /// The turn whose beginning was the goal.
        to_turn: u32,
        /// `files`, `chat` or `both`.
        what: String,
        /// The number of the operation; `None` where no file was changed.
        op: Option<u64>,
        /// How many paths went back.
        restored: u64,
        /// Whether it took an undo back.
        redo: bool,
    },
    /// A notice for the user; never sent to a model (L-7).
    Notice {
        /// A stable name.
        code: String,
        /// One sentence.
        text: String,
    },
}

/// The facts of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta {
    /// The version of the format.
    pub schema_version: u32,
    /// The working directory it was begun in; sessions of other programs have none.
    pub root: Option<PathBuf>,
    /// The session it was forked from.
    pub parent: Option<String>,
}

/// What is known when a reply is complete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplyEnd {
    /// The model that wrote it.
    pub model: Option<String>,
    /// What the request used.
    pub usage: Usage,
}
