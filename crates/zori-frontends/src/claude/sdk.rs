//! The SDK dialect: a turn as whole messages, as `claude -p --output-format stream-json` writes it.
//!
//! [`SdkRenderer`] is the one place that turns events into lines of this dialect. The messages are `sdk/message.rs`, the
//! pieces of them that `--include-partial-messages` asks for `sdk/partial.rs` and `sdk/partial_message.rs`, results of tools
//! `sdk/tool_result.rs`, and for eyes `sdk/structured.rs`.

mod message;
mod partial;
mod partial_message;
mod structured;
mod tasks;
mod tool_result;
mod turn_end;

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use zori_core::compaction::{CompactCause, Compacted, Compaction};
use zori_core::event::{
    DecidedBy, Event, EventKind, MessageEvent, Notice, NoticeLevel, Reply, SessionEvent, SessionFacts,
    StateEvent, ToolEvent, ToolFinished, TurnEvent, TurnSummary,
};
use zori_core::failure::ProviderFailure;
use zori_core::ids::{AgentId, CallId, IdSource};
use zori_core::permission::{Decision, Verdict};
use zori_core::render::Renderer;
use zori_core::tool::Todo;
use zori_core::usage::Usage;
use zori_redact::Redactor;

pub use self::message::is_sent;
use self::message::{Assistant, BlockCounter, Scope};
use self::partial::{Partial, Piece};
use self::structured::Known;
use self::tasks::Tasks;
use super::wire::{CallUsage, Init, McpServer};
use super::{AbortPhase, FrameWriter, PROTOCOL_VERSION, Tally, TurnResult, error_kind, uuid};

/// The notices that a client is told: it may show them, and nothing else tells it.
const TOLD: &[&str] = &["fallback_model", "session_not_saved", "waiting"];

/// A line: its type, then what it says, then where it belongs.
#[derive(Serialize)]
struct Line<'a> {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    subtype: Option<&'static str>,
    #[serde(flatten)]
    fields: Value,
    session_id: &'a str,
    uuid: String,
}

/// What the client gets besides the events of a run, and which of these it asked for.
pub struct SdkFacts {
    /// MCP servers and how they fare.
    pub mcp_servers: Vec<McpServer>,
    /// The permission mode, in the client's word.
    pub mode: String,
    /// What can be called by a slash.
    pub slash_commands: Vec<String>,
    /// The skills, by name.
    pub skills: Vec<String>,
    /// Where the key comes from.
    pub api_key_source: String,
    pub version: &'static str,
    /// How many turns a prompt may take.
    pub max_turns: Option<u32>,
    /// Whether pieces of messages are wanted.
    pub partial: bool,
    /// Whether the state of the session is wanted.
    pub state: bool,
}

/// The result of a turn.
#[derive(Clone, Debug)]
pub struct FinishedTurn {
    pub ending: TurnResult,
    /// The `result` line as it is written.
    pub line: Box<RawValue>,
}

/// The last turn, shared with the caller.
pub type LastTurn = Arc<Mutex<Option<FinishedTurn>>>;

/// Checks the text of a finished turn, and returns it as a value if the client asked for one by a schema.
/// `None`: the turn is not over, it is tried again.
pub type TurnChecker = Arc<dyn Fn(&TurnSummary) -> TurnCheck + Send + Sync>;

/// The result of checking a finished turn.
pub enum TurnCheck {
    /// The turn is done.
    Done,
    /// The turn is done, and this is its value.
    Value(Box<RawValue>),
    /// The turn is done, and failed.
    Failed(TurnResult),
    /// The turn continues: another prompt follows, which the client does not see.
    Retry,
}

/// Writes a run as lines of the SDK dialect.
pub struct SdkRenderer {
    frames: FrameWriter,
    redactor: Redactor,
    ids: Arc<dyn IdSource>,
    tally: Tally,
    facts: SdkFacts,
    session: Option<SessionFacts>,
    /// The message under way, of the main agent.
    partial: Partial,
    /// Calls in a message that was cut off: they never run, and get their result when the turn ends.
    orphans: Vec<CallId>,
    /// Whether the client sees several turns of the engine as one.
    again: bool,
    judge: Option<TurnChecker>,
    last: LastTurn,
    tasks: Tasks,
    /// The task list of the main agent.
    todos: Arc<[Todo]>,
    told: BlockCounter,
    /// What the turns have used that were tried again.
    carried: (Usage, Duration),
}

impl SdkRenderer {
    /// Returns a renderer. What the redactor finds is in no tool's result; what the client has to send back is exact.
    pub fn new(
        frames: FrameWriter,
        redactor: Redactor,
        ids: Arc<dyn IdSource>,
        tally: Tally,
        facts: SdkFacts,
        judge: Option<TurnChecker>,
    ) -> Self {
        Self {
            frames,
            redactor,
            ids,
            tally,
            facts,
            session: None,
            partial: Partial::default(),
            orphans: Vec::new(),
            again: false,
            judge,
            last: LastTurn::default(),
            tasks: Tasks::default(),
            todos: Arc::default(),
            told: BlockCounter::default(),
            carried: (Usage::NOTHING, Duration::ZERO),
        }
    }

    /// Returns the slot that holds the last turn.
    pub fn last_turn(&self) -> LastTurn {
        self.last.clone()
    }

    fn uuid(&self) -> String {
        uuid(&*self.ids)
    }

    /// Writes a line with what every line has.
    fn say(&self, event: &Event, kind: &'static str, fields: Value) -> io::Result<()> {
        let session_id = event.session.as_str();
        self.frames.write(&Line { r#type: kind, subtype: None, fields, session_id, uuid: self.uuid() })
    }

    fn system(&self, event: &Event, subtype: &'static str, fields: Value) -> io::Result<()> {
        let (session_id, subtype) = (event.session.as_str(), Some(subtype));
        self.frames.write(&Line { r#type: "system", subtype, fields, session_id, uuid: self.uuid() })
    }

    fn init(&self, event: &Event) -> io::Result<()> {
        let Some(session) = &self.session else { return Ok(()) };
        if self.facts.state {
            self.state(event, "running")?;
        }
        let cwd = session.root.display().to_string();
        self.frames.write(&Init {
            r#type: "system",
            subtype: "init",
            cwd: &cwd,
            session_id: event.session.as_str(),
            tools: &session.tools,
            mcp_servers: &self.facts.mcp_servers,
            model: self.tally.model(),
            permission_mode: &self.facts.mode,
            slash_commands: &self.facts.slash_commands,
            api_key_source: &self.facts.api_key_source,
            claude_code_version: PROTOCOL_VERSION,
            output_style: "default",
            agents: &session.agents,
            skills: &self.facts.skills,
            plugins: &[],
            zori_version: self.facts.version,
            provider: &session.provider,
            uuid: &self.uuid(),
        })
    }

    fn state(&self, event: &Event, state: &str) -> io::Result<()> {
        self.system(event, "session_state_changed", json!({"state": state, "sdk_host_only": true}))
    }

    fn scope<'a>(&'a self, event: &'a Event) -> Scope<'a> {
        Scope {
            frames: &self.frames,
            ids: &*self.ids,
            session: event.session.as_str(),
            parent: event.parent.as_ref().map(CallId::as_str),
            told: self.main(event).then_some(&self.told),
        }
    }

    fn main(&self, event: &Event) -> bool {
        event.agent == AgentId::MAIN
    }

    /// Writes a whole message: one line for each block that was not written in pieces.
    fn reply(&mut self, event: &Event, reply: &Reply) -> io::Result<()> {
        let main = self.main(event);
        let mut partial = if main { std::mem::take(&mut self.partial) } else { Partial::default() };
        if partial.id.is_empty() {
            partial.id = format!("msg_{}", self.uuid().replace('-', ""));
        }
        let (scope, id) = (self.scope(event), partial.id.clone());
        let line = Assistant {
            id: &id,
            model: &reply.model,
            usage: CallUsage::from(reply.usage),
            aborted: reply.stop.is_none(),
        };
        if main && self.facts.partial {
            partial.begin(&scope, &reply.model)?;
            let orphans = partial.finish(&scope, &line, reply)?;
            self.orphans.extend(orphans);
            return Ok(());
        }
        for block in &reply.message.blocks {
            scope.assistant(&line, block)?;
        }
        Ok(())
    }

    /// Tells a provider failure in the model's place.
    fn failure(&self, event: &Event, text: &str, kind: &str) -> io::Result<()> {
        let line = json!({
            "message": {
                "id": self.uuid(),
                "type": "message",
                "role": "assistant",
                "model": "<synthetic>",
                "content": [{"type": "text", "text": text}],
                "stop_reason": "stop_sequence",
                "stop_sequence": "",
                "usage": {
                    "input_tokens": 0,
                    "output_tokens": 0,
                    "cache_creation_input_tokens": 0,
                    "cache_read_input_tokens": 0,
                },
            },
            "parent_tool_use_id": event.parent.as_ref().map(CallId::as_str),
            "error": kind,
        });
        self.say(event, "assistant", line)
    }

    fn note(&self, event: &Event) -> io::Result<()> {
        let text = match self.tally.aborted() {
            AbortPhase::Streaming => "[Request interrupted by user]",
            AbortPhase::Tools => "[Request interrupted by user for tool use]",
        };
        self.user_text(event, text)
    }

    fn user_text(&self, event: &Event, text: &str) -> io::Result<()> {
        let message = json!({"role": "user", "content": [{"type": "text", "text": text}]});
        let parent = event.parent.as_ref().map(CallId::as_str);
        self.say(event, "user", json!({"message": message, "parent_tool_use_id": parent}))
    }

    fn tool_finished(&mut self, event: &Event, done: &ToolFinished) -> io::Result<()> {
        self.tasks.tool_finished(event);
        let report = self.tasks.report(&done.call);
        let known =
            Known { call: self.tally.details(&done.call), todos: &self.todos, report: report.as_ref() };
        let line = tool_result::line(done, &known, &self.redactor);
        if let Some(todos) = done.output.todos.as_ref().filter(|_| self.main(event)) {
            self.todos = todos.clone();
        }
        let mut fields = json!({
            "message": {"role": "user", "content": [line.block]},
            "parent_tool_use_id": event.parent.as_ref().map(CallId::as_str),
            "timestamp": event.at.to_string(),
        });
        if let Some(structured) = line.structured {
            fields["tool_use_result"] = structured;
        }
        self.say(event, "user", fields)
    }

    fn denied(&self, event: &Event, call: &CallId, decision: &Decision) -> io::Result<()> {
        let Some((name, _)) = self.tally.call(call) else { return Ok(()) };
        let message = self.redactor.redact(&decision.reason);
        let fields = json!({"tool_name": name, "tool_use_id": call.as_str(), "message": message});
        self.system(event, "permission_denied", fields)
    }

    fn retrying(
        &self,
        event: &Event,
        (attempt, max): (u32, u32),
        delay: u64,
        failure: &ProviderFailure,
    ) -> io::Result<()> {
        let fields = json!({
            "attempt": attempt,
            "max_retries": max,
            "retry_delay_ms": delay,
            "error_status": failure.status,
            "error": error_kind(failure),
        });
        self.system(event, "api_retry", fields)
    }

    fn compacted(&self, event: &Event, compaction: &Compaction) -> io::Result<()> {
        if matches!(compaction.how, Compacted::Rewound { .. }) {
            // The client has asked for it when it started the program.
            return Ok(());
        }
        let trigger = if compaction.cause == CompactCause::Asked { "manual" } else { "auto" };
        let metadata =
            json!({"trigger": trigger, "pre_tokens": compaction.before, "post_tokens": compaction.after});
        self.system(event, "compact_boundary", json!({ "compact_metadata": metadata }))
    }
}

/// How this dialect tells a provider failure.
pub fn failure_text(failure: &ProviderFailure) -> String {
    match failure.status {
        Some(status) => {
            let twice = format!("HTTP {status}: ");
            format!(
                "API Error: {status} {}",
                failure.message.strip_prefix(&twice).unwrap_or(&failure.message)
            )
        }
        None => format!("API Error: {}", failure.message),
    }
}

/// Returns the word the protocol has for a mode of ours.
fn mode_word(mode: &str) -> &str {
    if mode == "yolo" { "bypassPermissions" } else { mode }
}

impl Renderer for SdkRenderer {
    fn on_event(&mut self, event: &Event) -> io::Result<()> {
        let main = self.main(event);
        // A turn that is tried again goes on counting.
        let goes_on =
            main && self.again && matches!(event.kind, EventKind::Turn(TurnEvent::TurnStarted { .. }));
        if goes_on {
            self.again = false;
            return Ok(());
        }
        self.tally.on_event(event);
        match &event.kind {
            EventKind::Session(SessionEvent::SessionStarted(facts)) if main => {
                self.told.replies.set(facts.resumed_replies);
                self.session = Some(facts.clone());
                Ok(())
            }
            EventKind::Turn(TurnEvent::TurnStarted { .. }) if main => self.init(event),
            EventKind::Turn(TurnEvent::TurnStarted { prompt, .. }) => self.user_text(event, prompt),
            EventKind::Message(MessageEvent::RequestStarted) if main && self.facts.partial => {
                self.system(event, "status", json!({"status": "requesting"}))
            }
            EventKind::Message(MessageEvent::MessageStarted { model }) if main && self.facts.partial => {
                let mut partial = Partial::new(format!("msg_{}", self.uuid().replace('-', "")));
                let begun = partial.begin(&self.scope(event), model);
                self.partial = partial;
                begun
            }
            EventKind::Message(MessageEvent::AssistantDelta { text }) if main && self.facts.partial => {
                self.piece(event, &Piece::Text(text))
            }
            EventKind::Message(MessageEvent::ThinkingDelta { text }) if main && self.facts.partial => {
                self.piece(event, &Piece::Thinking(text))
            }
            EventKind::Message(MessageEvent::ThinkingSigned { replay }) if main && self.facts.partial => {
                self.piece(event, &Piece::Signed(replay))
            }
            EventKind::Message(MessageEvent::ToolInputDelta { call, name, json, .. })
                if main && self.facts.partial =>
            {
                self.piece(event, &Piece::Input { call, name, json })
            }
            EventKind::Message(MessageEvent::BlockFinished) if main && self.facts.partial => {
                self.with_partial(event, |partial, scope, model| partial.block_over(scope, model))
            }
            EventKind::Message(MessageEvent::MessageFinished(reply)) => {
                let written = self.reply(event, reply);
                if main {
                    self.told.over(&reply.message.blocks);
                }
                written
            }
            EventKind::Tool(ToolEvent::ApprovalRequested { .. }) if self.facts.state => {
                self.state(event, "requires_action")
            }
            EventKind::Tool(ToolEvent::ApprovalResolved { by: DecidedBy::User, .. }) if self.facts.state => {
                self.state(event, "running")
            }
            EventKind::Tool(ToolEvent::ApprovalResolved { call, decision, by: DecidedBy::Policy })
                if decision.verdict == Verdict::Deny =>
            {
                self.denied(event, call, decision)
            }
            EventKind::Tool(ToolEvent::ToolFinished(done)) => self.tool_finished(event, done),
            // Sub-agents follow the agent that started them.
            EventKind::State(StateEvent::ModeChanged { to, .. }) if main => {
                self.facts.mode = mode_word(to).to_owned();
                let fields = json!({"status": null, "permissionMode": self.facts.mode});
                self.system(event, "status", fields)
            }
            EventKind::State(StateEvent::ContextCompacted(compaction)) => self.compacted(event, compaction),
            EventKind::Message(MessageEvent::Retrying { attempt, max, delay, failure }) => {
                if main {
                    self.cut_off(event)?;
                }
                let delay = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
                self.retrying(event, (*attempt, *max), delay, failure)
            }
            EventKind::Turn(TurnEvent::Error { failure }) if main => {
                self.cut_off(event)?;
                let text = failure_text(failure);
                self.failure(event, &self.redactor.redact(&text), error_kind(failure))
            }
            EventKind::Notice(Notice { level, code, text }) if main && TOLD.contains(code) => {
                let content = self.redactor.redact(text);
                let level = if *level == NoticeLevel::Info { "info" } else { "warning" };
                self.system(event, "informational", json!({"content": content, "level": level}))
            }
            EventKind::Turn(TurnEvent::Interrupted) if main => {
                self.cut_off(event)?;
                self.note(event)
            }
            EventKind::Turn(TurnEvent::TurnFinished(summary)) if main => {
                self.cut_off(event)?;
                self.turn_over(event, summary)
            }
            EventKind::Session(SessionEvent::AgentStarted(facts)) => {
                let fields = self.tasks.started(event, facts);
                self.system(event, "task_started", fields)
            }
            EventKind::Turn(TurnEvent::TurnFinished(summary)) => match self.tasks.over(event, summary) {
                Some(fields) => self.system(event, "task_notification", fields),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
