//! The Yume dialect (`stream-json.md` chapter 5): flat lines for a GUI. What it shares with the SDK dialect is in the files
//! beside this one; the lines of its own are `flat/wire.rs`, the order of calls is `flat/calls.rs`.
//!
//! `docs/protocols/gui.md` is for the reader.

mod calls;
mod wire;

use std::io;
use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;
use zori_core::compaction::{CompactCause, Compaction};
use zori_core::event::{DecidedBy, Event, EventKind, SessionFacts, ToolFinished, ToolRequested, TurnSummary};
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::ids::{AgentId, IdSource, SessionId};
use zori_core::message::{ToolCall, ToolInput};
use zori_core::permission::Verdict;
use zori_core::render::Renderer;
use zori_core::usage::Usage;
use zori_redact::Redactor;

use self::calls::{Answer, Calls, Step};
use self::wire::{Line, System, SystemKind, pieces};
use super::wire::Init;
use super::{Ending, Frames, LEVEL, Tally, error_kind, uuid};
use crate::jsonl::call::input as without_secrets;

/// The code of what is wrong with a key.
pub const AUTH: &str = "AUTH";

/// What a renderer is made from.
pub struct FlatParts {
    /// Where lines go.
    pub frames: Frames,
    /// What it finds is in no line; the assistant's own words are.
    pub redactor: Redactor,
    /// Where names of lines come from.
    pub ids: Arc<dyn IdSource>,
    /// What counts.
    pub tally: Tally,
    /// How the client calls things.
    pub words: Words,
    /// What `init` says beside what the session says itself.
    pub greeting: Greeting,
}

/// How the client calls things. The names of tools and modes are tables of others.
pub struct Words {
    /// Says a call, given as the tool's name and its input as JSON.
    pub call: fn(&str, &str) -> CallWords,
    /// Says a permission mode, given by our own name.
    pub mode: fn(&str) -> &'static str,
}

/// A call as the client says it.
pub struct CallWords {
    /// The tool's name.
    pub name: String,
    /// The input, as JSON; `None` where it has no other words.
    pub input: Option<String>,
}

/// What `init` says beside what the session says itself.
pub struct Greeting {
    /// The permission mode, in the client's word.
    pub permission_mode: String,
    /// The variable the key comes from, or `none`.
    pub api_key_source: String,
    /// Our version.
    pub version: &'static str,
    /// The session this one goes on from under another name.
    pub previous: Option<SessionId>,
}

impl Greeting {
    /// For a run that has no session to greet with.
    pub fn none() -> Self {
        Self { permission_mode: String::new(), api_key_source: String::new(), version: "", previous: None }
    }
}

/// Writes a run as lines of the Yume dialect.
pub struct FlatRenderer {
    parts: FlatParts,
    calls: Calls,
    /// Whether the client was told that the model thinks.
    thinking: bool,
    /// Whether the client was told what this turn has used.
    counted: bool,
}

impl FlatRenderer {
    /// Returns a renderer.
    pub fn new(parts: FlatParts) -> Self {
        Self { parts, calls: Calls::default(), thinking: false, counted: false }
    }

    /// Tells a turn that never began, because there is no session for it.
    pub fn refuse(parts: &FlatParts, session: &str, code: &str, why: &str) -> io::Result<()> {
        let why = parts.redactor.redact(why).into_owned();
        let id = uuid(&*parts.ids);
        let kind = SystemKind::Error { message: &why, code };
        parts.frames.write(&System { r#type: "system", kind, session_id: session, uuid: &id })?;
        let (mut ending, id) = (Ending::refused(why.clone()), uuid(&*parts.ids));
        if code == AUTH {
            // As if a provider had refused, which it would have.
            ending = Ending {
                subtype: "success",
                result: Some(why.clone()),
                terminal_reason: "api_error",
                ..ending
            };
        }
        parts.frames.write(&parts.tally.result(&ending, None, session, &id, None))?;
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
        let greeting = &self.parts.greeting;
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
            claude_code_version: LEVEL,
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
        pieces(text).try_for_each(|content| self.write(&Line::Text { content }))
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

    /// Ends what was being told, before the turn does. Every turn has its usage, also one without an answer.
    fn settle(&mut self) -> io::Result<()> {
        self.end_thought()?;
        if self.counted { Ok(()) } else { self.usage(Usage::NOTHING) }
    }

    /// Says a call in the client's words, and without secrets.
    fn told(&self, name: &str, input: &str) -> (String, String) {
        let CallWords { name, input: other } = (self.parts.words.call)(name, input);
        let input = ToolInput::parse(other.unwrap_or_else(|| input.to_owned()));
        let input = without_secrets(&input, &self.parts.redactor);
        (self.parts.redactor.redact(&name).into_owned(), input.get().to_owned())
    }

    /// Returns an event about a call in the client's words, so that whatever is told of the call is told alike.
    fn in_their_words(&self, event: &Event) -> Option<Event> {
        let kind = match &event.kind {
            EventKind::ToolRequested(request) => {
                let (name, input) = self.told(&request.call.name, request.call.input.json());
                let call = ToolCall { name, input: ToolInput::parse(input), ..request.call.clone() };
                EventKind::ToolRequested(ToolRequested { call, ..request.clone() })
            }
            EventKind::ToolChanged { call, input, effects } => {
                let name = self.parts.tally.call(call).map_or("", |(name, _)| name);
                let (_, input) = self.told(name, input.get());
                let input = RawValue::from_string(input).ok()?.into();
                EventKind::ToolChanged { call: call.clone(), input, effects: effects.clone() }
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
        self.write(&self.parts.tally.result(&ending, Some(summary), session.as_str(), &id, None))?;
        self.write(&Line::MessageStop)
    }
}

/// Tells the client what is wrong with something it said. The message has no secrets in it.
pub fn error(frames: &Frames, message: &str, code: &str) -> io::Result<()> {
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
            EventKind::ToolRequested(request) => self.requested(event, request),
            EventKind::ToolFinished(done) => self.finished(event, done),
            EventKind::ToolChanged { call, input, .. } => {
                // A call that was told stays as it was told.
                self.calls.changed(event.agent, call, input.get().to_owned());
                Ok(())
            }
            // Beside its calls a sub-agent speaks to the agent that started it, which reports in its own result.
            _ if event.agent != AgentId::MAIN => Ok(()),
            EventKind::SessionStarted(facts) => self.init(&event.session, facts),
            EventKind::TurnStarted { .. } => {
                self.counted = false;
                Ok(())
            }
            EventKind::AssistantDelta { text } => self.text(text),
            EventKind::ThinkingDelta { text } => self.thought(text),
            EventKind::MessageFinished(reply) => {
                self.end_thought()?;
                self.usage(reply.usage)
            }
            EventKind::ApprovalResolved { call, decision, by: DecidedBy::Policy }
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
            EventKind::ModeChanged { to, .. } => {
                let permission_mode = (self.parts.words.mode)(to);
                self.system(&event.session, SystemKind::Status { status: None, permission_mode })
            }
            EventKind::Retrying { attempt, max, delay, failure } => {
                let kind = SystemKind::ApiRetry {
                    attempt: *attempt,
                    max_retries: *max,
                    retry_delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
                    error_status: failure.status,
                    error: error_kind(failure),
                };
                self.system(&event.session, kind)
            }
            EventKind::ContextCompacted(compaction) => self.system(
                &event.session,
                SystemKind::CompactBoundary { compact_metadata: metadata(compaction) },
            ),
            EventKind::Error { failure } => {
                self.settle()?;
                self.failed(&event.session, failure)
            }
            EventKind::Interrupted => {
                self.settle()?;
                self.write(&Line::Interrupt)
            }
            EventKind::TurnFinished(summary) => self.turn_over(&event.session, summary),
            // The dialect has no line for these; what people should know of them is a remark on stderr.
            EventKind::ModelChanged { .. }
            | EventKind::AgentStarted(_)
            | EventKind::SessionEnded { .. }
            | EventKind::Steered { .. }
            | EventKind::HookContext { .. }
            | EventKind::MessageStarted { .. }
            | EventKind::RequestStarted
            | EventKind::ThinkingSigned { .. }
            | EventKind::BlockFinished
            | EventKind::ToolInputDelta { .. }
            | EventKind::AssistantFinal { .. }
            | EventKind::ApprovalRequested { .. }
            | EventKind::ApprovalResolved { .. }
            | EventKind::ToolStarted { .. }
            | EventKind::ToolOutputDelta { .. }
            | EventKind::TodosChanged { .. }
            | EventKind::Notice { .. } => Ok(()),
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
