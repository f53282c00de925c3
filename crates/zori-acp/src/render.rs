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
use zori_core::event::{Event, EventKind, NoticeLevel};
use zori_core::ids::AgentId;
use zori_core::render::Renderer;
use zori_core::tool::{Todo, TodoStatus};
use zori_redact::Redactor;

use crate::call::{self, Facts};
use crate::live::Live;
use crate::peer::Peer;
use crate::state::Usage;

/// Tells a client what happens in one session.
pub struct AcpRenderer {
    peer: Peer,
    redactor: Redactor,
    session: Arc<str>,
    root: Option<Arc<Path>>,
    live: Live,
}

impl AcpRenderer {
    /// Returns a renderer. `session` is the id the client knows.
    pub fn new(peer: Peer, session: &str, redactor: Redactor) -> Self {
        Self { peer, redactor, session: session.into(), root: None, live: Live::default() }
    }

    fn update(&self, update: SessionUpdate) -> io::Result<()> {
        self.peer.update(&self.session, update)
    }

    fn notice(&self, severity: NoticeSeverity, text: &str) -> io::Result<()> {
        if !self.peer.can().notices {
            return Ok(());
        }
        let text = self.redactor.redact(text).into_owned();
        self.update(SessionUpdate::Notice(Notice::new(severity, text)))
    }

    /// Clients show where it happened, or say so, or at least see that the conversation is shorter.
    fn compacted(&self, event: &Event, compaction: &Compaction) -> io::Result<()> {
        let words = compaction.words();
        match compaction.how {
            Compacted::Masked { .. } | Compacted::Summarised { .. } | Compacted::Dropped { .. }
                if self.peer.can().compactions =>
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
                let usage = Usage { used: compaction.after, size, micro_usd: None };
                self.peer.show_usage(&self.session, usage)
            }
            None => Ok(()),
        }
    }
}

impl Renderer for AcpRenderer {
    fn on_event(&mut self, event: &Event) -> io::Result<()> {
        // A sub-agent reports to the agent that started it; what it calls is shown, because it may be asked about.
        let main = event.agent == AgentId::MAIN;
        match &event.kind {
            EventKind::SessionStarted(facts) if main => {
                self.root = Some(facts.root.clone());
                Ok(())
            }
            EventKind::AssistantDelta { text } if main => {
                self.update(SessionUpdate::AgentMessageChunk(chunk(text)))
            }
            EventKind::ThinkingDelta { text } if main => {
                self.update(SessionUpdate::AgentThoughtChunk(chunk(text)))
            }
            EventKind::ToolRequested(request) => {
                let facts = Facts {
                    call: &request.call,
                    kind: request.kind,
                    effects: &request.effects,
                    root: self.root.as_deref(),
                    parent: event.parent.as_ref(),
                };
                self.update(SessionUpdate::ToolCall(call::requested(facts, &self.redactor)))
            }
            EventKind::ToolChanged { call, input, effects } => {
                let update = call::changed(call, input, effects, &self.redactor);
                self.update(SessionUpdate::ToolCallUpdate(update))
            }
            EventKind::ToolStarted { call, .. } => {
                self.update(SessionUpdate::ToolCallUpdate(call::started(call)))
            }
            EventKind::ToolOutputDelta { call, text, .. } => {
                let update = self.live.more(call, text, &self.redactor);
                self.update(SessionUpdate::ToolCallUpdate(update))
            }
            EventKind::ToolFinished(done) => {
                self.live.over(&done.call);
                let terminal = self.peer.take_terminal(&done.call);
                let update =
                    call::finished(&done.call, done.kind, &done.output, terminal.as_ref(), &self.redactor);
                self.update(SessionUpdate::ToolCallUpdate(update))
            }
            EventKind::TodosChanged { todos } if main => self.update(SessionUpdate::Plan(plan(todos))),
            EventKind::ModeChanged { to, .. } if main => self.peer.show_mode(&self.session, to),
            EventKind::ContextCompacted(compaction) if main => self.compacted(event, compaction),
            EventKind::Notice { level, text, .. } if main => {
                let severity = match level {
                    NoticeLevel::Info => NoticeSeverity::Info,
                    NoticeLevel::Warning => NoticeSeverity::Warning,
                    NoticeLevel::Error => NoticeSeverity::Error,
                };
                self.notice(severity, text)
            }
            EventKind::Retrying { attempt, max, failure, .. } if main => {
                let text = format!("{failure}; trying again ({attempt} of {max})");
                self.notice(NoticeSeverity::Warning, &text)
            }
            // The question is a request of its own, the end an answer; the rest the protocol has no word for.
            EventKind::SessionStarted(_)
            | EventKind::AgentStarted(_)
            | EventKind::AssistantDelta { .. }
            | EventKind::ThinkingDelta { .. }
            | EventKind::TodosChanged { .. }
            | EventKind::ModeChanged { .. }
            | EventKind::Notice { .. }
            | EventKind::Retrying { .. }
            | EventKind::ModelChanged { .. }
            | EventKind::SessionEnded { .. }
            | EventKind::TurnStarted { .. }
            | EventKind::Steered { .. }
            | EventKind::HookContext { .. }
            | EventKind::TurnFinished(_)
            | EventKind::MessageStarted { .. }
            | EventKind::RequestStarted
            | EventKind::ThinkingSigned { .. }
            | EventKind::BlockFinished
            | EventKind::ToolInputDelta { .. }
            | EventKind::MessageFinished(_)
            | EventKind::AssistantFinal { .. }
            | EventKind::ApprovalRequested { .. }
            | EventKind::ApprovalResolved { .. }
            | EventKind::ContextCompacted(_)
            | EventKind::Error { .. }
            | EventKind::Interrupted => Ok(()),
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
