//! Sub-agents: what the `task` tool starts. One is an [`Engine`] with a conversation of its own, and with everything
//! else of the engine that started it: provider, tools, rules, hooks, limits, and the way out, where its events say whose
//! they are. It has no way to loosen anything (DEC-5).
//!
//! The kinds there are is `kinds.rs`, their tools `subagent/fewer.rs`; what all agents of a session share is in `crew.rs`.

mod fewer;

use std::sync::{Arc, Mutex, PoisonError};

use zori_core::BoxFuture;
use zori_core::agent::{AgentFacts, Agents, Task};
use zori_core::cost::Spent;
use zori_core::event::{EventKind, TurnSummary};
use zori_core::ids::CallId;
use zori_core::input::PermissionUpdate;
use zori_core::outcome::{CancelCause, LimitKind, Outcome};
use zori_core::provider::StopReason;
use zori_core::render::Sink;
use zori_core::text::{one_line, prefix};
use zori_core::tool::{ToolCode, ToolOutput};
use zori_policy::Policy;

use self::fewer::Only;
pub use self::fewer::WithoutTask;
use crate::engine::Engine;
use crate::kinds::Kinds;
use crate::shared::Shared;

/// So many bytes of a report reach the model.
const REPORT_BYTES: usize = 64 * 1024;

/// So much of a description is shown where a sub-agent is named.
const NAME_BYTES: usize = 40;

/// Returns the upper bound for a model's replies; `None` where the provider knows it.
pub type ReplyLimits = Arc<dyn Fn(&str) -> Option<u32> + Send + Sync>;

/// How far sub-agents may go.
#[derive(Clone)]
pub struct AgentLimits {
    /// How deep they may be nested; with 0 there are none.
    pub depth: u32,
    /// How many one prompt may start.
    pub max: u32,
    /// Returns the upper bound for a reply of a model.
    pub reply: ReplyLimits,
    /// The kinds there are.
    pub kinds: Kinds,
}

/// What sub-agents did, for the turn that started them.
#[derive(Default)]
pub(crate) struct Done {
    pub(crate) spent: Option<Spent>,
    pub(crate) requests: u32,
    pub(crate) effects: bool,
    /// What somebody let hold for the rest of the session.
    pub(crate) granted: Vec<PermissionUpdate>,
    /// Set when one was cancelled.
    pub(crate) cancelled: Option<CancelCause>,
}

/// Makes sub-agents for the calls of one reply.
pub(crate) struct Nest<S> {
    pub(crate) shared: Shared<S>,
    pub(crate) done: Arc<Mutex<Done>>,
}

impl<S: Sink + 'static> Nest<S> {
    /// Returns what starts sub-agents for one call, under the rules that hold as it starts.
    pub(crate) fn agents(self: &Arc<Self>, call: &CallId, policy: &Policy) -> Arc<dyn Agents> {
        Arc::new(Handle { nest: self.clone(), call: call.clone(), policy: policy.clone() })
    }
}

struct Handle<S> {
    nest: Arc<Nest<S>>,
    call: CallId,
    policy: Policy,
}

impl<S: Sink + 'static> Agents for Handle<S> {
    fn run(&self, task: Task) -> BoxFuture<'_, ToolOutput> {
        Box::pin(async move { self.hand_on(task).await.unwrap_or_else(|failure| failure) })
    }
}

impl<S: Sink + 'static> Handle<S> {
    async fn hand_on(&self, task: Task) -> Result<ToolOutput, ToolOutput> {
        let Nest { shared, done } = &*self.nest;
        let kind = shared.agents.kinds.find(task.kind.as_deref())?;
        let max = shared.agents.max;
        let Some(mut member) = shared.crew.join(max) else {
            let agents = if max == 1 { "1 sub-agent".to_owned() } else { format!("{max} sub-agents") };
            let message = format!(
                "This prompt has started {agents}, which is all it may (`subagent_max`). Do the rest yourself."
            );
            return Err(ToolOutput::failure(ToolCode::AgentError, message));
        };

        let name = one_line(task.description.trim());
        let name = format!("{} {:?}", member.id.0, prefix(&name, NAME_BYTES));
        let policy = Policy { agent: Some(name), ..self.policy.clone() };
        let mut shared = shared.for_agent(member.id, self.call.clone());
        shared.agents.depth = shared.agents.depth.saturating_sub(1);
        if shared.agents.depth == 0 {
            shared.toolbox = Arc::new(WithoutTask::new(shared.toolbox));
        }
        if let Some(names) = &kind.tools {
            shared.toolbox = Arc::new(Only::new(shared.toolbox, names));
        }
        if let Some(model) = task.model.as_deref().or(kind.model.as_deref()) {
            shared.settings.model = model.into();
            shared.settings.max_tokens = (shared.agents.reply)(model);
        }
        shared.settings.effort = kind.effort.or(shared.settings.effort);
        shared.settings.system = Some(kind.told.beside(shared.settings.system.as_deref()));
        let model = shared.settings.model.clone();
        let mut engine = Engine::nested(shared, policy, kind.name.clone());
        engine.shared.emitter.emit(EventKind::AgentStarted(AgentFacts {
            description: task.description.as_str().into(),
            kind: kind.name.clone(),
            model,
            prompt: task.prompt.as_str().into(),
        }));
        let (summary, _) = engine.turn(task.prompt.into(), &mut member.inputs).await;

        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        let mut spent = done.spent.unwrap_or(Spent::NOTHING);
        spent += Spent { usage: summary.usage, cost: summary.cost };
        done.spent = Some(spent);
        done.requests += summary.requests;
        done.effects |= summary.effects;
        done.granted.append(&mut engine.granted);
        if let Outcome::Cancelled(cause) = summary.outcome {
            done.cancelled = Some(cause);
        }
        Ok(report(&summary))
    }
}

/// Returns what the model reads of a sub-agent: its last words, or why there are none.
fn report(summary: &TurnSummary) -> ToolOutput {
    let text = summary.text.trim();
    let failed = |why: String| {
        let said = match text {
            "" => "It said nothing.".to_owned(),
            text => format!("The last it said: {}", cut(text).0),
        };
        ToolOutput::failure(
            ToolCode::AgentError,
            format!("The sub-agent did not come to an end: {why}. {said}"),
        )
    };
    let note = match &summary.outcome {
        Outcome::Completed(StopReason::MaxTokens) => Some("the report was cut off at the token limit"),
        Outcome::Completed(StopReason::ContextWindow) => {
            Some("the report was cut off: the conversation no longer fits the model's context window")
        }
        Outcome::Completed(_) => None,
        Outcome::Cancelled(_) => {
            return ToolOutput::failure(ToolCode::Canceled, "The sub-agent was canceled before it was done");
        }
        Outcome::Failed(failure) => return failed(format!("{}: {}", failure.kind.as_str(), failure.message)),
        Outcome::Limit(limit) => return failed(of_limit(*limit).to_owned()),
        Outcome::OutputClosed => return failed("nobody reads the output any more".to_owned()),
        Outcome::NotSaved(why) => return failed(why.clone()),
    };
    if text.is_empty() {
        return failed("the model ended with an empty message".to_owned());
    }
    let (text, whole) = cut(text);
    let mut data = serde_json::json!({ "text": text });
    if let Some(bytes) = whole {
        data["truncated"] = true.into();
        data["bytes"] = bytes.into();
    }
    if let Some(note) = note {
        data["note"] = note.into();
    }
    ToolOutput::success(&data.to_string())
}

/// Returns as much of a report as is passed on, and how many bytes it has if that is not all.
fn cut(text: &str) -> (&str, Option<usize>) {
    let kept = prefix(text, REPORT_BYTES);
    (kept, (kept.len() < text.len()).then_some(text.len()))
}

fn of_limit(limit: LimitKind) -> &'static str {
    match limit {
        LimitKind::Turns => "the turns of this prompt are used up (`--max-turns`)",
        LimitKind::Budget => "the budget of the run is used up (`--max-budget-usd`)",
        LimitKind::Tokens => "the tokens of the run are used up (`--max-tokens-total`)",
        LimitKind::Denials => "it made the same call again and again although it was denied",
        LimitKind::Hook | LimitKind::Prompt => "a hook stopped it",
    }
}

#[cfg(test)]
mod tests {
    use zori_core::usage::Usage;

    use super::*;

    fn reported(outcome: Outcome, text: &str) -> String {
        let summary = TurnSummary {
            outcome,
            usage: Usage::NOTHING,
            cost: None,
            requests: 1,
            retries: 0,
            duration: std::time::Duration::ZERO,
            text: text.into(),
            effects: false,
        };
        report(&summary).envelope.get().to_owned()
    }

    #[test]
    fn the_last_words_are_the_report() {
        let done = || Outcome::Completed(StopReason::EndTurn);
        assert_eq!(reported(done(), " a\nb\n"), r#"{"ok":true,"data":{"text":"a\nb"}}"#);
        assert_eq!(
            reported(Outcome::Completed(StopReason::MaxTokens), "a"),
            r#"{"ok":true,"data":{"text":"a","note":"the report was cut off at the token limit"}}"#
        );
        assert_eq!(
            reported(done(), " "),
            r#"{"ok":false,"error":{"code":"agent_error","message":"The sub-agent did not come to an end: the model ended with an empty message. It said nothing."}}"#
        );
    }

    #[test]
    fn a_long_report_is_cut_and_says_so() {
        let long = "é".repeat(REPORT_BYTES);
        let report = reported(Outcome::Completed(StopReason::EndTurn), &long);
        let data: serde_json::Value = serde_json::from_str(&report).unwrap();
        let kept = "é".repeat(REPORT_BYTES / 2);
        let whole = 2 * REPORT_BYTES;
        assert_eq!(
            data,
            serde_json::json!({"ok": true, "data": {"text": kept, "truncated": true, "bytes": whole}})
        );
    }

    #[test]
    fn an_early_end_is_said_with_the_last_words() {
        assert_eq!(
            reported(Outcome::Limit(LimitKind::Budget), "half"),
            r#"{"ok":false,"error":{"code":"agent_error","message":"The sub-agent did not come to an end: the budget of the run is used up (`--max-budget-usd`). The last it said: half"}}"#
        );
    }
}
