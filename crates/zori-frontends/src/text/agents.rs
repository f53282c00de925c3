//! Sub-agents at work, for people: one line for each, and one for each call it makes.

use std::collections::HashMap;

use zori_core::agent::AgentFacts;
use zori_core::event::{DecidedBy, Event, EventKind, MessageEvent, SessionEvent, ToolEvent, ToolRequested};
use zori_core::ids::{AgentId, CallId};
use zori_core::permission::Verdict;
use zori_core::text::{one_line, prefix};
use zori_core::tool::Effect;

/// The longest part of a command, path or address that is shown.
const MOST_BYTES: usize = 100;

/// What sub-agents are about to do.
#[derive(Default)]
pub(super) struct SubAgents {
    calls: HashMap<(AgentId, CallId), String>,
}

impl SubAgents {
    /// Returns the line a sub-agent's event is worth, if it is worth one. What becomes of its work is told by the result
    /// of the call that started it.
    pub(super) fn line(&mut self, event: &Event) -> Option<String> {
        let said = match &event.kind {
            EventKind::Session(SessionEvent::AgentStarted(AgentFacts { description, kind, .. })) => {
                format!("{kind}: {}", shortened(description))
            }
            EventKind::Tool(ToolEvent::ToolRequested(request)) => {
                self.calls.insert((event.agent, request.call.id.clone()), about(request));
                return None;
            }
            EventKind::Tool(ToolEvent::ToolStarted { call, name, .. }) => self.about(event.agent, call, name),
            EventKind::Tool(ToolEvent::ApprovalResolved { decision, by: DecidedBy::Policy, .. })
                if decision.verdict == Verdict::Deny =>
            {
                format!("denied: {}", one_line(&decision.reason))
            }
            EventKind::Message(MessageEvent::Retrying { attempt, max, delay, failure }) => {
                let (secs, why) = (delay.as_secs_f64(), one_line(&failure.message));
                format!("retrying in {secs:.1}s ({attempt}/{max}): {why}")
            }
            EventKind::Tool(ToolEvent::ToolFinished(done)) => {
                self.calls.remove(&(event.agent, done.call.clone()));
                return None;
            }
            _ => return None,
        };
        Some(format!("  [{}] {said}", event.agent.0))
    }

    fn about(&self, agent: AgentId, call: &CallId, name: &str) -> String {
        let known = self.calls.get(&(agent, call.clone())).cloned();
        known.unwrap_or_else(|| one_line(name).into_owned())
    }
}

/// Describes a call: the tool, and what it touches.
fn about(request: &ToolRequested) -> String {
    let name = one_line(&request.call.name);
    let what = request.effects.iter().find_map(|effect| match effect {
        Effect::Read(path) | Effect::Write(path) => Some(path.display().to_string()),
        Effect::Exec { command, .. } => Some(command.clone()),
        Effect::Net { url } => Some(url.clone()),
        Effect::Mcp { .. } | Effect::Agent | Effect::Memory | Effect::Schedule | Effect::Internal => None,
    });
    match what {
        Some(what) => format!("{name} {}", shortened(&what)),
        None => name.into_owned(),
    }
}

fn shortened(text: &str) -> String {
    let text = one_line(text);
    match prefix(&text, MOST_BYTES) {
        kept if kept.len() < text.len() => format!("{kept}..."),
        kept => kept.to_owned(),
    }
}
