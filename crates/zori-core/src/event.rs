//! Everything that can happen in a run, as one closed list.
//!
//! Every front end is a projection of these events, and so is the session log. They are not a wire format:
//! each wire has its own types. For one call the order is requested, (asked, answered,) started, finished; a
//! call that is denied or cancelled before it starts is finished without having started.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;

use crate::agent::AgentFacts;
use crate::checkpoint::{ChangedFiles, Rewound};
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

/// An event of a run.
#[derive(Clone, Debug)]
pub struct Event {
    /// Counts up from 0 within a run.
    pub seq: u64,
    /// The wall-clock time. Order never depends on it.
    pub at: Timestamp,
    /// The session it belongs to.
    pub session: SessionId,
    /// The agent that emitted it.
    pub agent: AgentId,
    /// For a sub-agent, the call that started it.
    pub parent: Option<CallId>,
    /// What happened.
    pub kind: EventKind,
}

/// What happened, by family. A front end handles the families it shows and skips the others in one arm each.
#[derive(Clone, Debug)]
pub enum EventKind {
    /// The run as a whole, and its sub-agents.
    Session(SessionEvent),
    /// One prompt and all that follows from it.
    Turn(TurnEvent),
    /// One reply of the model, from the request to its last byte.
    Message(MessageEvent),
    /// One tool call.
    Tool(ToolEvent),
    /// A change of state: model, mode, task list, view of the conversation.
    State(StateEvent),
    /// A message for the user.
    Notice(Notice),
}

/// The run as a whole, and the sub-agents in it.
#[derive(Clone, Debug)]
pub enum SessionEvent {
    /// A run begins.
    SessionStarted(SessionFacts),
    /// A sub-agent begins: its first event. Its one turn follows, and `TurnFinished` is its last.
    AgentStarted(AgentFacts),
    /// The run is over.
    SessionEnded {
        /// What all its turns used, and what that cost.
        spent: Spent,
        /// How many turns there were.
        turns: u32,
    },
}

/// One prompt and all that follows from it.
#[derive(Clone, Debug)]
pub enum TurnEvent {
    /// A turn starts.
    TurnStarted {
        /// The user's prompt.
        prompt: Arc<str>,
        /// The images of the prompt.
        images: Vec<Image>,
        /// The name a client knows it by.
        uuid: Option<Arc<str>>,
        /// The scheduled job that sent it; `None`: somebody typed it.
        scheduled: Option<Arc<str>>,
    },
    /// Text was added to the running turn: steering by the user, or a request to continue a reply that was cut off.
    Steered {
        /// What the model reads.
        text: Arc<str>,
    },
    /// Hooks added text to the conversation.
    HookContext {
        /// The event the hooks ran for.
        event: HookEvent,
        /// What the model reads.
        text: Arc<str>,
    },
    /// The turn was cancelled; `TurnFinished` follows. A limit or a deadline is a `Notice` instead.
    Interrupted,
    /// The turn failed; `TurnFinished` follows.
    Error {
        /// How.
        failure: ProviderFailure,
    },
    /// The turn is over; exactly one per `TurnStarted`, whatever happened.
    TurnFinished(TurnSummary),
}

/// One reply of the model, from the request to its last byte.
#[derive(Clone, Debug)]
pub enum MessageEvent {
    /// A request is on its way to the provider; one for each attempt.
    RequestStarted,
    /// A request failed and is tried again.
    Retrying {
        /// Which retry of this request, from 1.
        attempt: u32,
        /// How many there may be.
        max: u32,
        /// The delay before it.
        delay: Duration,
        /// Why.
        failure: ProviderFailure,
    },
    /// The reply begins.
    MessageStarted {
        /// The model, as the provider names it.
        model: Arc<str>,
    },
    /// More visible text; never empty.
    AssistantDelta {
        /// The piece that arrived, to be appended.
        text: String,
    },
    /// More reasoning.
    ThinkingDelta {
        /// The piece that arrived, to be appended.
        text: String,
    },
    /// What the provider wants back for the preceding reasoning, or for reasoning that it hides.
    ThinkingSigned {
        /// The bytes.
        replay: Opaque,
    },
    /// The open block of text or reasoning is complete; more of the same kind is another block. Not every provider sends
    /// this.
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
        /// All of it, as the deltas gave it piece by piece.
        text: Arc<str>,
    },
}

/// One tool call.
#[derive(Clone, Debug)]
pub enum ToolEvent {
    /// The model asked for a tool. All requests of one reply come before the first one runs.
    ToolRequested(ToolRequested),
    /// A hook or a client replaced the call's arguments. The new ones are judged and run.
    ToolChanged {
        /// The id of the call that changed.
        call: CallId,
        /// The new arguments.
        input: Arc<RawValue>,
        /// What it would do.
        effects: Vec<Effect>,
    },
    /// A person or client is asked about a call.
    ApprovalRequested {
        /// The call in question.
        call: CallId,
        /// Why it is asked about.
        decision: Decision,
        /// The question, with a preview of the call.
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
    /// The call starts.
    ToolStarted {
        /// Which call.
        call: CallId,
        /// The tool's name as the model knows it.
        name: Arc<str>,
        /// Why it may run. A call that may not has an `ApprovalResolved` instead, so each decision is in one event.
        decision: Decision,
    },
    /// Output of a running tool, a few times a second, if the settings ask for it. Of very much output only the end is
    /// included; the result has it all.
    ToolOutputDelta {
        /// Which call.
        call: CallId,
        /// Which of its streams.
        stream: OutputStream,
        /// The piece that was printed, as text.
        text: String,
    },
    /// The call has its result; exactly one per `ToolRequested`.
    ToolFinished(ToolFinished),
}

/// A change of state: model, mode, task list, view of the conversation.
#[derive(Clone, Debug)]
pub enum StateEvent {
    /// From the next request on another model answers.
    ModelChanged {
        /// Its id.
        model: Arc<str>,
    },
    /// The user changed the permission mode (MODE-4).
    ModeChanged {
        /// The mode before.
        from: &'static str,
        /// The mode from now on.
        to: &'static str,
    },
    /// The task list was replaced.
    TodosChanged {
        /// The whole list.
        todos: Arc<[Todo]>,
    },
    /// The conversation was compacted.
    ContextCompacted(Compaction),
    /// Calls changed files, which can be put back.
    FilesChanged(Box<ChangedFiles>),
    /// Files went back to an earlier state.
    FilesRewound(Box<Rewound>),
}

/// The code of a notice in which a provider tells what it is doing.
pub const PROVIDER_STATUS: &str = "provider_status";

/// The code of a notice that says why the next call is made, where whoever asks for it has said so.
pub const CALL_REASON: &str = "call_reason";

/// A message for the user, which text front ends print on stderr.
#[derive(Clone, Debug)]
pub struct Notice {
    /// How serious it is.
    pub level: NoticeLevel,
    /// A stable name.
    pub code: &'static str,
    /// One sentence for the user.
    pub text: String,
}

macro_rules! families {
    ($($family:ident($event:ty))*) => {$(
        impl From<$event> for EventKind {
            fn from(event: $event) -> Self {
                Self::$family(event)
            }
        }
    )*};
}

families! { Session(SessionEvent) Turn(TurnEvent) Message(MessageEvent) Tool(ToolEvent) State(StateEvent) Notice(Notice) }

/// The facts that a session starts with.
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
    /// The kinds of sub-agents that can be started.
    pub agents: Vec<String>,
    /// How many messages of an earlier run were loaded.
    pub resumed_messages: usize,
    /// How many replies of the model the session file has from earlier runs.
    pub resumed_replies: u64,
    /// Whether the session is saved.
    pub saved: bool,
}

/// One reply of the model.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The reply as a message of the conversation.
    pub message: Arc<Message>,
    /// The model, as the provider names it.
    pub model: Arc<str>,
    /// What it used.
    pub usage: Usage,
    /// Why the model stopped; `None` if a cancel or a failure cut the reply off.
    pub stop: Option<StopReason>,
    /// Whether it is no part of the conversation: it was refused, or its request is made once more.
    pub discarded: bool,
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
    /// The mode, a rule or the blacklist.
    Policy,
    /// Nobody: the turn ended before there was an answer.
    Cancelled,
}

/// How serious a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeLevel {
    /// Good to know.
    Info,
    /// Something is not as it should be.
    Warning,
    /// It ended the turn.
    Error,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thousands of deltas are moved in a turn, each as large as the largest event.
    #[test]
    fn an_event_stays_small() {
        assert!(size_of::<MessageEvent>() <= 112 && size_of::<EventKind>() <= 208);
    }
}
