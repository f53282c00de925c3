//! `task_started` and `task_notification`: a sub-agent's beginning and end. An SDK keeps its standard input open from the
//! one to the other, so each of the first is followed by one of the second.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};
use zori_core::agent::AgentFacts;
use zori_core::event::{Event, TurnSummary};
use zori_core::ids::{AgentId, CallId};
use zori_core::outcome::Outcome;
use zori_core::usage::Usage;

/// The running sub-agents, and the reports of those whose call has no result yet.
#[derive(Default)]
pub(super) struct Tasks {
    at_work: HashMap<AgentId, RunningTask>,
    over: HashMap<CallId, Report>,
}

struct RunningTask {
    description: Arc<str>,
    tools: u64,
}

/// The report of a sub-agent.
pub(super) struct Report {
    pub(super) id: String,
    /// How many calls it made.
    pub(super) tools: u64,
    pub(super) usage: Usage,
}

impl Tasks {
    /// Returns the fields of a beginning.
    pub(super) fn started(&mut self, event: &Event, facts: &AgentFacts) -> Value {
        self.at_work.insert(event.agent, RunningTask { description: facts.description.clone(), tools: 0 });
        json!({
            "task_id": id(event.agent),
            "description": &*facts.description,
            "tool_use_id": event.parent.as_ref().map(CallId::as_str),
            "task_type": "local_agent",
            "subagent_type": &*facts.kind,
            "prompt": &*facts.prompt,
        })
    }

    pub(super) fn tool_finished(&mut self, event: &Event) {
        if let Some(agent) = self.at_work.get_mut(&event.agent) {
            agent.tools += 1;
        }
    }

    /// Returns the fields of an end, for one that has begun.
    pub(super) fn over(&mut self, event: &Event, summary: &TurnSummary) -> Option<Value> {
        let RunningTask { description, tools } = self.at_work.remove(&event.agent)?;
        let status = match &summary.outcome {
            Outcome::Completed(_) => "completed",
            Outcome::Cancelled(_) => "stopped",
            Outcome::Failed(_) | Outcome::Limit(_) | Outcome::OutputClosed | Outcome::NotSaved(_) => "failed",
        };
        let usage = json!({
            "total_tokens": summary.usage.total(),
            "tool_uses": tools,
            "duration_ms": u64::try_from(summary.duration.as_millis()).unwrap_or(u64::MAX),
        });
        if let Some(call) = &event.parent {
            self.over.insert(call.clone(), Report { id: id(event.agent), tools, usage: summary.usage });
        }
        Some(json!({
            "task_id": id(event.agent),
            "status": status,
            // Its conversation is not kept.
            "output_file": "",
            "summary": &*description,
            "tool_use_id": event.parent.as_ref().map(CallId::as_str),
            "usage": usage,
        }))
    }

    /// Takes the report of the sub-agent of a call.
    pub(super) fn report(&mut self, call: &CallId) -> Option<Report> {
        self.over.remove(call)
    }
}

fn id(agent: AgentId) -> String {
    format!("agent-{}", agent.0)
}
