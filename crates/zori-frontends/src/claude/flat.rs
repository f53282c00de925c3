//! The Yume dialect (`docs/contracts/claude-protocol.md`): flat lines for a GUI. What it shares with the SDK dialect is
//! in the files beside this one; the lines of its own are `flat/wire.rs`, the order of calls is `flat/calls.rs`.
//!
//! `docs/protocols/gui.md` is for the reader.

mod calls;
mod wire;

use std::io;
use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;
use zori_core::compaction::{CompactCause, Compacted, Compaction};
use zori_core::event::{
    DecidedBy, Event, EventKind, MessageEvent, SessionEvent, SessionFacts, StateEvent, ToolEvent,
    ToolFinished, ToolRequested, TurnEvent, TurnSummary,
};
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::ids::{AgentId, IdSource, SessionId};
use zori_core::message::{ToolCall, ToolInput};
use zori_core::permission::Verdict;
use zori_core::render::Renderer;
use zori_core::usage::Usage;
use zori_redact::Redactor;

use self::calls::{Answer, Calls, Step};
use self::wire::{Line, System, SystemKind, pieces};
use super::wire::{Init, ResultLine};
use super::{FrameWriter, PROTOCOL_VERSION, Tally, TurnResult, error_kind, uuid};
use crate::jsonl::call::input as without_secrets;

/// The code of what is wrong with a key.
pub const AUTH: &str = "AUTH";

/// What a renderer is made from.
pub struct FlatParts {
    pub frames: FrameWriter,
    /// What it finds is in no line; the assistant's own words are.
    pub redactor: Redactor,
    /// Where names of lines come from.
    pub ids: Arc<dyn IdSource>,
    pub tally: Tally,
    /// Translates names for the client.
    pub names: ClientNames,
    /// Facts for `init` that no event has.
    pub init: InitFacts,
}

/// Translates names for the client: those of tools and of permission modes.
pub struct ClientNames {
    /// Translates a call, given as the tool's name and its input as JSON.
    pub call: fn(&str, &str) -> ClientCall,
    /// Translates a permission mode, given by our own name.
    pub mode: fn(&str) -> &'static str,
}

/// A call under the client's names.
pub struct ClientCall {
    pub name: String,
    /// The input, as JSON; `None` where it has no other words.
    pub input: Option<String>,
}

/// Facts for `init` that no event has.
pub struct InitFacts {
    /// The permission mode, in the client's word.
    pub permission_mode: String,
    /// The variable the key comes from, or `none`.
    pub api_key_source: String,
    pub version: &'static str,
    /// The session that this one continues under another id.
    pub previous: Option<SessionId>,
}

impl InitFacts {
    /// For a run that has no session to greet with.
    pub fn none() -> Self {
        Self { permission_mode: String::new(), api_key_source: String::new(), version: "", previous: None }
    }
}

/// Writes a run as lines of the Yume dialect.
pub struct FlatRenderer {
    parts: FlatParts,
    calls: Calls,
    /// Whether a line has said that the model thinks.
    thinking: bool,
    /// Whether the usage of this turn was written.
    counted: bool,
    /// Whether a model has answered in this turn.
    answered: bool,
    /// The message whose pieces are told.
    message: Option<String>,
}

impl FlatRenderer {
    pub fn new(parts: FlatParts) -> Self {
        Self {
            parts,
            calls: Calls::default(),
            thinking: false,
            counted: false,
            answered: false,
            message: None,
        }
    }

    /// Writes the result of a turn that never began, because there is no session for it.
    pub fn refuse(parts: &FlatParts, session: &str, code: &str, why: &str) -> io::Result<()> {
        let why = parts.redactor.redact(why).into_owned();
        let id = uuid(&*parts.ids);
        let kind = SystemKind::Error { message: &why, code };
        parts.frames.write(&System { r#type: "system", kind, session_id: session, uuid: &id })?;
        let (mut ending, id) = (TurnResult::refused(why.clone()), uuid(&*parts.ids));
        if code == AUTH {
            // As if a provider had refused, which it would have.
            ending = TurnResult {
                subtype: "success",
                result: Some(why.clone()),
                terminal_reason: "api_error",
                ..ending
            };
        }
        let line = parts.tally.result(&ending, None, session, &id, None);
        parts.frames.write(&ResultLine { usage: None, ..line })?;
        parts.frames.write(&Line::MessageStop)
    }

    fn write(&self, line: &impl Serialize) -> io::Result<()> {
        self.parts.frames.write(line)
    }

    fn system(&self, session: &SessionId, kind: SystemKind<'_>) -> io::Result<()> {
        let id = uuid(&*self.parts.ids);
        self.write(&System { r#type: "system", kind, session_id: session.as_str(), uuid: &id })
    }

    fn init(&self, session: &SessionId, facts: &SessionFacts) -> io::Result<()> {
        let greeting = &self.parts.init;
        self.write(&Init {
            r#type: "system",
            subtype: "init",
            cwd: &facts.root.to_string_lossy(),
            session_id: session.as_str(),
            tools: &facts.tools,
            mcp_servers: &[],
            model: &facts.model,
            permission_mode: &greeting.permission_mode,
            slash_commands: &[],
            api_key_source: &greeting.api_key_source,
            claude_code_version: PROTOCOL_VERSION,
            output_style: "default",
            agents: &facts.agents,
            skills: &[],
            plugins: &[],
            zori_version: greeting.version,
            provider: &facts.provider,
            uuid: &uuid(&*self.parts.ids),
        })?;
        match &greeting.previous {
            Some(previous) => {
                self.system(session, SystemKind::SessionId { previous_session_id: previous.as_str() })
            }
            None => Ok(()),
        }
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        self.end_thought()?;
        let id = self.message.get_or_insert_with(|| uuid(&*self.parts.ids)).clone();
        pieces(text).try_for_each(|content| self.write(&Line::Text { content, id: &id }))
    }

    fn thought(&mut self, text: &str) -> io::Result<()> {
        self.thinking = true;
        pieces(text).try_for_each(|thought| self.write(&Line::Thinking { is_thinking: true, thought }))
    }

    fn end_thought(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.thinking) {
            true => self.write(&Line::Thinking { is_thinking: false, thought: "" }),
            false => Ok(()),
        }
    }

    /// Tells what a model call has used.
    fn usage(&mut self, usage: Usage) -> io::Result<()> {
        self.counted = true;
        self.write(&Line::Usage(usage.into()))
    }

    /// Ends the open block before the turn ends. Every turn has its usage, also one without an answer.
    fn settle(&mut self) -> io::Result<()> {
        self.end_thought()?;
        if self.counted { Ok(()) } else { self.usage(Usage::NOTHING) }
    }

    /// Translates a call for the client, and removes secrets.
    fn for_client(&self, name: &str, input: &str) -> (String, String) {
        let ClientCall { name, input: other } = (self.parts.names.call)(name, input);
        let input = ToolInput::parse(other.unwrap_or_else(|| input.to_owned()));
        let input = without_secrets(&input, &self.parts.redactor);
        (self.parts.redactor.redact(&name).into_owned(), input.get().to_owned())
    }

    /// Translates an event about a call for the client, so that all its lines name the call alike.
    fn in_their_words(&self, event: &Event) -> Option<Event> {
        let kind = match &event.kind {
            EventKind::Tool(ToolEvent::ToolRequested(request)) => {
                let (name, input) = self.for_client(&request.call.name, request.call.input.json());
                let call = ToolCall { name, input: ToolInput::parse(input), ..request.call.clone() };
                EventKind::Tool(ToolEvent::ToolRequested(ToolRequested { call, ..request.clone() }))
            }
            EventKind::Tool(ToolEvent::ToolChanged { call, input, effects }) => {
                let name = self.parts.tally.call(call).map_or("", |(name, _)| name);
                let (_, input) = self.for_client(name, input.get());
                let input = RawValue::from_string(input).ok()?.into();
                EventKind::Tool(ToolEvent::ToolChanged {
                    call: call.clone(),
                    input,
                    effects: effects.clone(),
                })
            }
            _ => return None,
        };
        Some(Event { kind, ..event.clone() })
    }

    fn requested(&mut self, event: &Event, request: &ToolRequested) -> io::Result<()> {
        let ToolCall { id, name, input, .. } = &request.call;
        let next = self.calls.requested(event.agent, id.clone(), name.clone(), input.json().to_owned());
        self.steps(event, next)
    }

    fn finished(&mut self, event: &Event, done: &ToolFinished) -> io::Result<()> {
        let output = &done.output;
        let text = match (&output.text, &output.failure) {
            (Some(text), _) => text,
            (None, Some(failure)) => failure.message.as_str(),
            (None, None) => output.envelope.get(),
        };
        let text = self.parts.redactor.redact(text);
        let content = if text.is_empty() { "(no output)".to_owned() } else { text.into_owned() };
        let failed = output.process.is_some_and(|end| end.exit_code != 0 || end.timed_out);
        let answer = Answer { content, is_error: !output.ok() || failed };
        let next = self.calls.finished(event.agent, &done.call, answer);
        self.steps(event, next)
    }

    fn steps(&self, event: &Event, steps: Vec<Step>) -> io::Result<()> {
        let parent = event.parent.as_ref().map(|call| call.as_str());
        steps.iter().try_for_each(|step| match step {
            Step::Call { id, name, input } => {
                self.write(&Line::ToolUse { id: id.as_str(), name, input, parent_tool_use_id: parent })
            }
            Step::Result { id, answer: Answer { content, is_error } } => self.write(&Line::ToolResult {
                tool_use_id: id.as_str(),
                content,
                is_error: *is_error,
                parent_tool_use_id: parent,
            }),
        })
    }

    /// What keeps the model from answering at all is a problem of the setting; the rest is an error of this turn.
    fn failed(&self, session: &SessionId, failure: &ProviderFailure) -> io::Result<()> {
        let message = self.parts.redactor.redact(&failure_text(failure)).into_owned();
        match (failure.status, failure.kind) {
            (Some(401 | 403), _) | (None, FailureKind::Auth) => {
                self.system(session, SystemKind::Error { message: &message, code: AUTH })
            }
            _ => self.write(&Line::Error { message: &message, code: error_kind(failure) }),
        }
    }

    fn turn_over(&mut self, session: &SessionId, summary: &TurnSummary) -> io::Result<()> {
        self.settle()?;
        let mut ending = self.parts.tally.ending(summary, failure_text);
        if ending.is_error {
            // What the assistant said is its own; what went wrong may quote anything.
            let clean = |text: &mut String| *text = self.parts.redactor.redact(text).into_owned();
            ending.errors.iter_mut().for_each(clean);
            ending.result.iter_mut().for_each(clean);
        }
        let id = uuid(&*self.parts.ids);
        let mut line = self.parts.tally.result(&ending, Some(summary), session.as_str(), &id, None);
        // Zeros would be taken for a conversation that is empty.
        line.usage = line.usage.filter(|_| self.answered);
        self.write(&line)?;
        self.write(&Line::MessageStop)
    }
}

/// Tells the client what is wrong with something it said. The message has no secrets in it.
pub fn error(frames: &FrameWriter, message: &str, code: &str) -> io::Result<()> {
    frames.write(&Line::Error { message, code })
}

/// Returns a failure as GUIs show it: `API error 429: slow down`.
fn failure_text(failure: &ProviderFailure) -> String {
    let Some(status) = failure.status else { return failure.message.clone() };
    let said = failure.message.strip_prefix(&format!("HTTP {status}")).unwrap_or(&failure.message);
    match said.trim_start_matches(": ") {
        "" => format!("API error {status}"),
        said => format!("API error {status}: {said}"),
    }
}

impl Renderer for FlatRenderer {
    fn on_event(&mut self, event: &Event) -> io::Result<()> {
        let told = self.in_their_words(event);
        let event = told.as_ref().unwrap_or(event);
        self.parts.tally.on_event(event);
        match &event.kind {
            EventKind::Tool(ToolEvent::ToolRequested(request)) => self.requested(event, request),
            EventKind::Tool(ToolEvent::ToolFinished(done)) => self.finished(event, done),
            EventKind::Tool(ToolEvent::ToolChanged { call, input, .. }) => {
                // A call that was told stays as it was told.
                self.calls.changed(event.agent, call, input.get().to_owned());
                Ok(())
            }
            // Beside its calls a sub-agent speaks to the agent that started it, which reports in its own result.
            _ if event.agent != AgentId::MAIN => Ok(()),
            EventKind::Session(SessionEvent::SessionStarted(facts)) => self.init(&event.session, facts),
            EventKind::Turn(TurnEvent::TurnStarted { .. }) => {
                (self.counted, self.answered, self.message) = (false, false, None);
                Ok(())
            }
            EventKind::Message(MessageEvent::AssistantDelta { text }) => self.text(text),
            EventKind::Message(MessageEvent::ThinkingDelta { text }) => self.thought(text),
            EventKind::Message(MessageEvent::MessageFinished(reply)) => {
                self.end_thought()?;
                (self.answered, self.message) = (true, None);
                self.usage(reply.usage)
            }
            EventKind::Tool(ToolEvent::ApprovalResolved { call, decision, by: DecidedBy::Policy })
                if decision.verdict == Verdict::Deny =>
            {
                let name = self.parts.tally.call(call).map_or("", |(name, _)| name);
                let message = self.parts.redactor.redact(&decision.reason);
                let kind = SystemKind::PermissionDenied {
                    tool_name: name,
                    tool_use_id: call.as_str(),
                    message: &message,
                };
                self.system(&event.session, kind)
            }
            EventKind::State(StateEvent::ModeChanged { to, .. }) => {
                let permission_mode = (self.parts.names.mode)(to);
                self.system(&event.session, SystemKind::Status { status: None, permission_mode })
            }
            EventKind::Message(MessageEvent::Retrying { attempt, max, delay, failure }) => {
                let kind = SystemKind::ApiRetry {
                    attempt: *attempt,
                    max_retries: *max,
                    retry_delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
                    error_status: failure.status,
                    error: error_kind(failure),
                };
                self.system(&event.session, kind)
            }
            // A conversation that came with the call was not made shorter.
            EventKind::State(StateEvent::ContextCompacted(Compaction {
                how: Compacted::Rewound { .. },
                ..
            })) => Ok(()),
            EventKind::State(StateEvent::ContextCompacted(compaction)) => self.system(
                &event.session,
                SystemKind::CompactBoundary { compact_metadata: metadata(compaction) },
            ),
            EventKind::Turn(TurnEvent::Error { failure }) => {
                self.settle()?;
                self.failed(&event.session, failure)
            }
            EventKind::Turn(TurnEvent::Interrupted) => {
                self.settle()?;
                self.write(&Line::Interrupt)
            }
            EventKind::Turn(TurnEvent::TurnFinished(summary)) => self.turn_over(&event.session, summary),
            // The dialect has no line for these; what people should know of them is a remark on stderr.
            EventKind::Session(_)
            | EventKind::Turn(_)
            | EventKind::Message(_)
            | EventKind::Tool(_)
            | EventKind::State(_)
            | EventKind::Notice(_) => Ok(()),
        }
    }
}

fn metadata(compaction: &Compaction) -> wire::CompactMetadata {
    wire::CompactMetadata {
        trigger: if compaction.cause == CompactCause::Asked { "manual" } else { "auto" },
        pre_tokens: compaction.before,
        post_tokens: compaction.after,
    }
}

#[cfg(test)]
mod tests;
