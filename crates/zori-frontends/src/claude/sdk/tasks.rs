//! `task_started` and `task_notification`: a sub-agent's beginning and end. An SDK keeps its standard input open from the
//! one to the other, so each of the first is followed by one of the second.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};
use zori_core::agent::AgentFacts;
use zori_core::event::{Event, TurnSummary};
use zori_core::ids::{AgentId, CallId};
use zori_core::outcome::Outcome;

/// The sub-agents at work, and what each is about.
#[derive(Default)]
pub(super) struct Tasks(HashMap<AgentId, Arc<str>>);

impl Tasks {
    /// Returns the fields of a beginning.
    pub(super) fn started(&mut self, event: &Event, facts: &AgentFacts) -> Value {
        self.0.insert(event.agent, facts.description.clone());
        json!({
            "task_id": id(event.agent),
            "description": &*facts.description,
            "tool_use_id": event.parent.as_ref().map(CallId::as_str),
            "task_type": "local_agent",
            "subagent_type": &*facts.kind,
            "prompt": &*facts.prompt,
        })
    }

    /// Returns the fields of an end, for one that has begun.
    pub(super) fn over(&mut self, event: &Event, summary: &TurnSummary) -> Option<Value> {
        let description = self.0.remove(&event.agent)?;
        let status = match &summary.outcome {
            Outcome::Completed(_) => "completed",
            Outcome::Cancelled(_) => "stopped",
            Outcome::Failed(_) | Outcome::Limit(_) | Outcome::OutputClosed | Outcome::NotSaved(_) => "failed",
        };
        Some(json!({
            "task_id": id(event.agent),
            "status": status,
            // Its conversation is not kept.
            "output_file": "",
            "summary": &*description,
            "tool_use_id": event.parent.as_ref().map(CallId::as_str),
        }))
    }
}

fn id(agent: AgentId) -> String {
    format!("agent-{}", agent.0)
}
