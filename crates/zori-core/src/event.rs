//! All that can happen in a run, as one closed list.
//!
//! Every front end is a projection of these events, and so is the session log. They are not a wire format:
//! each wire has its own types. For one call the order is requested, (asked, answered,) started, finished; a
//! call that is denied or cancelled before it starts is finished without having started.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;

use crate::agent::AgentFacts;
use crate::compaction::Compaction;
use crate::cost::{MicroUsd, Spent};
use crate::failure::ProviderFailure;
use crate::hook::HookEvent;
use crate::ids::{AgentId, CallId, SessionId};
use crate::image::Image;
use crate::message::{Message, Opaque, ToolCall};
use crate::outcome::Outcome;
use crate::permission::Decision;
use crate::provider::StopReason;
use crate::question::Question;
use crate::time::Timestamp;
use crate::tool::{Effect, OutputStream, Todo, ToolKind, ToolOutput};
use crate::usage::Usage;

/// Something that happened.
#[derive(Clone, Debug)]
pub struct Event {
    /// Counts up from 0 within a run.
    pub seq: u64,
    /// When, by the wall clock. Order never depends on it.
    pub at: Timestamp,
    /// The session it belongs to.
    pub session: SessionId,
    /// The agent that speaks.
    pub agent: AgentId,
    /// For a sub-agent, the call that started it.
    pub parent: Option<CallId>,
    /// What happened.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum EventKind {
    // Session.
    /// A run begins.
    SessionStarted(SessionFacts),
    /// Another model answers from now on.
    ModelChanged {
        /// Its id.
        model: Arc<str>,
    },
    /// Another permission mode holds from now on, because a person said so (MODE-4).
    ModeChanged {
        /// The one that held.
        from: &'static str,
        /// The one that holds.
        to: &'static str,
    },
    /// The run is over.
    SessionEnded {
        /// What all its turns used, and what that cost.
        spent: Spent,
        /// How many turns there were.
        turns: u32,
    },

    /// A sub-agent begins: its first event. Its one turn follows, and `TurnFinished` is its last.
    AgentStarted(AgentFacts),

    // Turn.
    /// A prompt was taken.
    TurnStarted {
        /// What the user said.
        prompt: Arc<str>,
        /// The images that went with it.
        images: Vec<Image>,
    },
    /// The user added to the running turn, or it was gone on with in the user's place.
    Steered {
        /// What the model reads.
        text: Arc<str>,
    },
    /// Hooks told the model something.
    HookContext {
        /// When they were asked.
        event: HookEvent,
        /// What the model reads.
        text: Arc<str>,
    },
    /// The turn is over; exactly one per `TurnStarted`, whatever happened.
    TurnFinished(TurnSummary),

    // Message.
    /// A request is on its way to the provider; one for each attempt.
    RequestStarted,
    /// The provider began to answer.
    MessageStarted {
        /// The model, as the provider names it.
        model: Arc<str>,
    },
    /// More visible text; never empty.
    AssistantDelta {
        /// The text.
        text: String,
    },
    /// More reasoning.
    ThinkingDelta {
        /// The text.
        text: String,
    },
    /// What the provider wants back for the reasoning just told, or for some that cannot be told.
    ThinkingSigned {
        /// The bytes.
        replay: Opaque,
    },
    /// The text or reasoning just told is complete, and more of the same kind is another block. Not every provider says so.
    BlockFinished,
    /// More of a call's arguments; never empty, so that a call without arguments has none of these.
    ToolInputDelta {
        /// Which call of this reply.
        index: u32,
        /// The id the call has when the reply is complete.
        call: CallId,
        /// The tool's name as the model wrote it.
        name: Arc<str>,
        /// JSON text, cut anywhere.
        json: String,
    },
    /// One reply of the model is complete, or was cut off.
    MessageFinished(Reply),
    /// The complete text of the turn's last message; not emitted when empty.
    AssistantFinal {
        /// The text.
        text: Arc<str>,
    },

    // Tool.
    /// The model asked for a tool. All requests of one reply come before the first one runs.
    ToolRequested(ToolRequested),
    /// A hook or a client changed the call's arguments; this is what is judged, and what runs.
    ToolChanged {
        /// The call.
        call: CallId,
        /// The arguments as they are now, whole.
        input: Arc<RawValue>,
        /// What it would do.
        effects: Vec<Effect>,
    },
    /// A person or client is asked.
    ApprovalRequested {
        /// The call in question.
        call: CallId,
        /// Why it is asked about.
        decision: Decision,
        /// What is asked, with what would happen.
        question: Arc<Question>,
    },
    /// The question was answered, or the call was denied without one.
    ApprovalResolved {
        /// The call in question.
        call: CallId,
        /// The decision that holds.
        decision: Decision,
        /// Who decided.
        by: DecidedBy,
    },
    /// Execution begins.
    ToolStarted {
        /// Which call.
        call: CallId,
        /// The tool's name as the model knows it.
        name: Arc<str>,
        /// Why it may run. A call that may not has an `ApprovalResolved` instead, so each decision is in one event.
        decision: Decision,
    },
    /// Output of a running tool, a few times a second; only where a front end asked for it. Of a flood the end is told:
    /// the result has it all.
    ToolOutputDelta {
        /// Which call.
        call: CallId,
        /// Which of its streams.
        stream: OutputStream,
        /// The text.
        text: String,
    },
    /// The call has its result; exactly one per `ToolRequested`.
    ToolFinished(ToolFinished),

    // State.
    /// The task list was replaced.
    TodosChanged {
        /// The whole list.
        todos: Arc<[Todo]>,
    },
    /// The model is sent another view of the conversation from now on.
    ContextCompacted(Compaction),

    // Trouble.
    /// A request failed and is tried again.
    Retrying {
        /// Which retry of this request, from 1.
        attempt: u32,
        /// How many there may be.
        max: u32,
        /// How long we wait.
        delay: Duration,
        /// Why.
        failure: ProviderFailure,
    },
    /// Something worth a line on stderr.
    Notice {
        /// How bad it is.
        level: NoticeLevel,
        /// A stable name.
        code: &'static str,
        /// One sentence.
        text: String,
    },
    /// The turn failed; `TurnFinished` follows.
    Error {
        /// How.
        failure: ProviderFailure,
    },
    /// Somebody cancelled the turn; `TurnFinished` follows. A limit or a deadline is a `Notice` instead.
    Interrupted,
}

/// What a run starts with.
#[derive(Clone, Debug)]
pub struct SessionFacts {
    /// The provider's name.
    pub provider: Arc<str>,
    /// The model's id.
    pub model: Arc<str>,
    /// The working directory of the tools, canonical.
    pub root: Arc<std::path::Path>,
    /// The tools' names, as the model knows them.
    pub tools: Vec<String>,
    /// The kinds of sub-agents that can be started; none where there are no sub-agents.
    pub agents: Vec<String>,
    /// How many messages of an earlier run were loaded.
    pub resumed_messages: usize,
    /// How many replies of the model there were in earlier runs, as the session's file has them.
    pub resumed_replies: u64,
    /// Whether the session is saved.
    pub saved: bool,
}

/// One reply of the model.
#[derive(Clone, Debug)]
pub struct Reply {
    /// What it said.
    pub message: Arc<Message>,
    /// The model that said it, as the provider names it.
    pub model: Arc<str>,
    /// What it used.
    pub usage: Usage,
    /// Why it stopped; `None` where it was cut off by a cancel or a failure.
    pub stop: Option<StopReason>,
}

/// A tool call, with what is known of it before it runs.
#[derive(Clone, Debug)]
pub struct ToolRequested {
    /// The call as the model made it.
    pub call: ToolCall,
    /// Which tool it is; `None` for an unknown name or arguments that do not fit.
    pub kind: Option<ToolKind>,
    /// What it would do.
    pub effects: Vec<Effect>,
    /// How many calls this reply makes.
    pub of: usize,
}

/// A tool call and its result.
#[derive(Clone, Debug)]
pub struct ToolFinished {
    /// Which call.
    pub call: CallId,
    /// The tool's name as the model knows it.
    pub name: Arc<str>,
    /// Which tool it is; `None` for an unknown name.
    pub kind: Option<ToolKind>,
    /// The result.
    pub output: ToolOutput,
    /// How long it ran; `None` if it never started.
    pub duration: Option<Duration>,
}

/// The end of a turn.
#[derive(Clone, Debug)]
pub struct TurnSummary {
    /// How it ended.
    pub outcome: Outcome,
    /// What all its requests used.
    pub usage: Usage,
    /// What they cost; `None` where the price of a model is not known (D-11).
    pub cost: Option<MicroUsd>,
    /// How many requests were answered.
    pub requests: u32,
    /// How many were sent again because they had failed.
    pub retries: u32,
    /// How long it took.
    pub duration: Duration,
    /// The text of its last message.
    pub text: Arc<str>,
    /// Whether a tool that changes something has run: then a failure is a partial one (exit 3).
    pub effects: bool,
}

/// Who decided about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecidedBy {
    /// A person or client.
    User,
    /// The policy.
    Policy,
    /// Nobody: the turn ended before there was an answer.
    Cancelled,
}

/// How bad a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeLevel {
    /// Good to know.
    Info,
    /// Something is not as it should be.
    Warning,
    /// It ended the turn.
    Error,
}
