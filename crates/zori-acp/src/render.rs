//! A run as the client sees it: each event is an update of its session, or nothing.
//!
//! The model's words go out as they are; what tools took in and gave back has no secrets in it (DECISIONS 31).

use std::io;
use std::path::Path;
use std::sync::Arc;

use agent_client_protocol::v1::schema::{
    CompactionStatus, CompactionUpdate, ContentBlock, ContentChunk, Notice, NoticeSeverity, Plan, PlanEntry,
    PlanEntryPriority, PlanEntryStatus, SessionUpdate,
};
use zori_core::compaction::{Compacted, Compaction};
use zori_core::event::{Event, EventKind, MessageEvent, NoticeLevel, SessionEvent, StateEvent, ToolEvent};
use zori_core::ids::AgentId;
use zori_core::render::Renderer;
use zori_core::tool::{Todo, TodoStatus};
use zori_redact::Redactor;

use crate::call::{self, Facts};
use crate::client::AcpClient;
use crate::live::LiveOutput;
use crate::state::ContextUsage;

/// Tells a client what happens in one session.
pub struct AcpRenderer {
    client: AcpClient,
    redactor: Redactor,
    session: Arc<str>,
    root: Option<Arc<Path>>,
    live: LiveOutput,
}

impl AcpRenderer {
    /// Returns a renderer. `session` is the id the client knows.
    pub fn new(client: AcpClient, session: &str, redactor: Redactor) -> Self {
        Self { client, redactor, session: session.into(), root: None, live: LiveOutput::default() }
    }

    fn update(&self, update: SessionUpdate) -> io::Result<()> {
        self.client.update(&self.session, update)
    }

    fn notice(&self, severity: NoticeSeverity, text: &str) -> io::Result<()> {
        if !self.client.support().notices {
            return Ok(());
        }
        let text = self.redactor.redact(text).into_owned();
        self.update(SessionUpdate::Notice(Notice::new(severity, text)))
    }

    /// Clients show where it happened, or say so, or at least see that the conversation is shorter.
    fn compacted(&self, event: &Event, compaction: &Compaction) -> io::Result<()> {
        let words = compaction.words();
        match compaction.how {
            Compacted::Masked { .. }
            | Compacted::Cut { .. }
            | Compacted::Summarised { .. }
            | Compacted::Dropped { .. }
                if self.client.support().compactions =>
            {
                // A session that is opened again counts from the beginning, but not at the same time.
                let id = format!("{}-{}", event.at.0, event.seq);
                let update = CompactionUpdate::new(id, CompactionStatus::Completed)
                    .summary(vec![ContentBlock::from(words)]);
                self.update(SessionUpdate::CompactionUpdate(update))?;
            }
            Compacted::Dropped { .. } => self.notice(NoticeSeverity::Warning, &words)?,
            _ => self.notice(NoticeSeverity::Info, &words)?,
        }
        match compaction.window {
            Some(size) => {
                let usage = ContextUsage { used: compaction.after, size, micro_usd: None };
                self.client.show_usage(&self.session, usage)
            }
            None => Ok(()),
        }
    }
}

impl Renderer for AcpRenderer {
    fn on_event(&mut self, event: &Event) -> io::Result<()> {
        match &event.kind {
            EventKind::Tool(ToolEvent::ToolRequested(request)) => {
                let facts = Facts {
                    call: &request.call,
                    kind: request.kind,
                    effects: &request.effects,
                    root: self.root.as_deref(),
                    parent: event.parent.as_ref(),
                };
                self.update(SessionUpdate::ToolCall(call::requested(facts, &self.redactor)))
            }
            EventKind::Tool(ToolEvent::ToolChanged { call, input, effects }) => {
                let update = call::changed(call, input, effects, &self.redactor);
                self.update(SessionUpdate::ToolCallUpdate(update))
            }
            EventKind::Tool(ToolEvent::ToolStarted { call, .. }) => {
                self.update(SessionUpdate::ToolCallUpdate(call::started(call)))
            }
            EventKind::Tool(ToolEvent::ToolOutputDelta { call, text, .. }) => {
                let update = self.live.push(call, text, &self.redactor);
                self.update(SessionUpdate::ToolCallUpdate(update))
            }
            EventKind::Tool(ToolEvent::ToolFinished(done)) => {
                self.live.remove(&done.call);
                let terminal = self.client.take_terminal(&done.call);
                let update =
                    call::finished(&done.call, done.kind, &done.output, terminal.as_ref(), &self.redactor);
                self.update(SessionUpdate::ToolCallUpdate(update))
            }
            // A sub-agent reports to the agent that started it; what it calls is shown, because it may be asked about.
            _ if event.agent != AgentId::MAIN => Ok(()),
            EventKind::Session(SessionEvent::SessionStarted(facts)) => {
                self.root = Some(facts.root.clone());
                Ok(())
            }
            EventKind::Message(MessageEvent::AssistantDelta { text }) => {
                self.update(SessionUpdate::AgentMessageChunk(chunk(text)))
            }
            EventKind::Message(MessageEvent::ThinkingDelta { text }) => {
                self.update(SessionUpdate::AgentThoughtChunk(chunk(text)))
            }
            EventKind::State(StateEvent::TodosChanged { todos }) => {
                self.update(SessionUpdate::Plan(plan(todos)))
            }
            EventKind::State(StateEvent::ModeChanged { to, .. }) => self.client.show_mode(&self.session, to),
            EventKind::State(StateEvent::ContextCompacted(compaction)) => self.compacted(event, compaction),
            EventKind::Notice(notice) => {
                let severity = match notice.level {
                    NoticeLevel::Info => NoticeSeverity::Info,
                    NoticeLevel::Warning => NoticeSeverity::Warning,
                    NoticeLevel::Error => NoticeSeverity::Error,
                };
                self.notice(severity, &notice.text)
            }
            EventKind::Message(MessageEvent::Retrying { attempt, max, failure, .. }) => {
                let text = format!("{failure}; trying again ({attempt} of {max})");
                self.notice(NoticeSeverity::Warning, &text)
            }
            // The question is a request of its own, the end an answer; the rest the protocol has no word for.
            EventKind::Session(_)
            | EventKind::Turn(_)
            | EventKind::Message(_)
            | EventKind::Tool(_)
            | EventKind::State(_) => Ok(()),
        }
    }
}

fn chunk(text: &str) -> ContentChunk {
    ContentChunk::new(ContentBlock::from(text))
}

fn plan(todos: &[Todo]) -> Plan {
    let entry = |todo: &Todo| {
        let status = match todo.status {
            TodoStatus::Pending => PlanEntryStatus::Pending,
            TodoStatus::InProgress => PlanEntryStatus::InProgress,
            TodoStatus::Completed => PlanEntryStatus::Completed,
        };
        // Our list has an order and no priorities.
        PlanEntry::new(todo.content.clone(), PlanEntryPriority::Medium, status)
    };
    Plan::new(todos.iter().map(entry).collect())
}

#[cfg(test)]
mod tests;
