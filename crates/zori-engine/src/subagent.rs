//! Sub-agents: what the `task` tool starts. A sub-agent is an [`Engine`] with a conversation of its own that shares
//! everything else with the engine that started it: provider, tools, rules, hooks, limits and event sink. Its events
//! carry its id. It cannot loosen any rule (DEC-5).
//!
//! `agent_kinds.rs` describes the kinds, `subagent/tool_filter.rs` restricts their tools, `agent_registry.rs` holds what
//! all agents of a session share.

mod tool_filter;

use std::sync::{Arc, Mutex, PoisonError};

use zori_core::BoxFuture;
use zori_core::agent::{AgentFacts, Agents, Task};
use zori_core::cost::Spent;
use zori_core::event::{SessionEvent, TurnSummary};
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::ids::CallId;
use zori_core::input::PermissionUpdate;
use zori_core::outcome::{CancelCause, LimitKind, Outcome};
use zori_core::render::Sink;
use zori_core::search::{SearchAnswer, SearchQuery, WebSearch};
use zori_core::text::{one_line, prefix};
use zori_core::tool::{ToolCode, ToolOutput};
use zori_core::usage::Usage;
use zori_policy::Policy;

use self::tool_filter::OnlyTools;
pub use self::tool_filter::WithoutTask;
use crate::agent_kinds::AgentKinds;
use crate::engine::Engine;
use crate::shared::Shared;

/// The longest report that reaches the model.
const REPORT_BYTES: usize = 64 * 1024;

/// The longest part of a description that names a sub-agent.
const NAME_BYTES: usize = 40;

/// Bounds how many sub-agents may run and how deep, and describes their kinds.
#[derive(Clone)]
pub struct AgentLimits {
    /// How deep sub-agents may nest; 0 disables them.
    pub depth: u32,
    /// How many sub-agents one prompt may start.
    pub max: u32,
    /// The kinds the model may choose from.
    pub kinds: AgentKinds,
}

impl Default for AgentLimits {
    /// One level, 16 sub-agents per prompt, the general kind only.
    fn default() -> Self {
        Self { depth: 1, max: 16, kinds: AgentKinds::new([]) }
    }
}

/// What the sub-agents of a turn used and changed, reported to the engine that started them.
#[derive(Default)]
pub(crate) struct SubagentTotals {
    pub(crate) spent: Option<Spent>,
    pub(crate) requests: u32,
    pub(crate) effects: bool,
    /// Permissions granted for the rest of the session.
    pub(crate) granted: Vec<PermissionUpdate>,
    /// Set if a sub-agent was cancelled.
    pub(crate) cancelled: Option<CancelCause>,
}

/// Starts sub-agents for the calls of one reply.
pub(crate) struct SubagentSpawner<S> {
    pub(crate) shared: Shared<S>,
    pub(crate) totals: Arc<Mutex<SubagentTotals>>,
}

impl<S: Sink + 'static> SubagentSpawner<S> {
    /// Returns the spawner for one call, under the rules in force when the call starts.
    pub(crate) fn agents(self: &Arc<Self>, call: &CallId, policy: &Policy) -> Arc<dyn Agents> {
        Arc::new(CallSpawner { spawner: self.clone(), call: call.clone(), policy: policy.clone() })
    }
}

impl<S: Sink + 'static> SubagentSpawner<S> {
    /// Returns what searches the web; `None` where the provider cannot.
    pub(crate) fn search(self: &Arc<Self>) -> Option<Arc<dyn WebSearch>> {
        self.shared.provider.searches().then(|| -> Arc<dyn WebSearch> { Arc::new(CallSearch(self.clone())) })
    }
}

/// Searches with the session's own provider and model. What that uses counts as what sub-agents use.
struct CallSearch<S>(Arc<SubagentSpawner<S>>);

impl<S: Sink + 'static> WebSearch for CallSearch<S> {
    fn search(&self, query: SearchQuery) -> BoxFuture<'_, Result<SearchAnswer, ProviderFailure>> {
        Box::pin(async move {
            let SubagentSpawner { shared, totals } = &*self.0;
            let model = &shared.settings.model;
            let answer = shared.provider.search(model, &query).await?;
            let mut spent = Spent::request(answer.usage, (shared.models.prices)(model));
            spent += Spent { usage: Usage::NOTHING, cost: Some(answer.fee) };
            shared.registry.add_spent(spent);
            let mut totals = totals.lock().unwrap_or_else(PoisonError::into_inner);
            let mut sum = totals.spent.unwrap_or(Spent::NOTHING);
            sum += spent;
            totals.spent = Some(sum);
            totals.requests += 1;
            Ok(answer)
        })
    }
}

/// Starts the sub-agents of one call.
struct CallSpawner<S> {
    spawner: Arc<SubagentSpawner<S>>,
    call: CallId,
    policy: Policy,
}

impl<S: Sink + 'static> Agents for CallSpawner<S> {
    fn run(&self, task: Task) -> BoxFuture<'_, ToolOutput> {
        Box::pin(async move { self.run_task(task).await.unwrap_or_else(|failure| failure) })
    }
}

impl<S: Sink + 'static> CallSpawner<S> {
    async fn run_task(&self, task: Task) -> Result<ToolOutput, ToolOutput> {
        let SubagentSpawner { shared, totals } = &*self.spawner;
        let kind = shared.agents.kinds.find(task.kind.as_deref())?;
        let max = shared.agents.max;
        let Some(mut handle) = shared.registry.register(max) else {
            let agents = if max == 1 { "1 sub-agent".to_owned() } else { format!("{max} sub-agents") };
            let message = format!(
                "This prompt has started {agents}, which is all it may (`subagent_max`). Do the rest yourself."
            );
            return Err(ToolOutput::failure(ToolCode::AgentError, message));
        };

        let name = one_line(task.description.trim());
        let name = format!("{} {:?}", handle.id.0, prefix(&name, NAME_BYTES));
        let policy = Policy { agent: Some(name), ..self.policy.clone() };
        let mut shared = shared.for_agent(handle.id, self.call.clone());
        shared.agents.depth = shared.agents.depth.saturating_sub(1);
        if shared.agents.depth == 0 {
            shared.toolbox = Arc::new(WithoutTask::new(shared.toolbox));
        }
        if let Some(names) = &kind.tools {
            shared.toolbox = Arc::new(OnlyTools::new(shared.toolbox, names));
        }
        if let Some(model) = task.model.as_deref().or(kind.model.as_deref()) {
            shared.settings.model = model.into();
            shared.settings.max_tokens = (shared.models.reply_limits)(model);
        }
        shared.settings.effort = kind.effort.or(shared.settings.effort);
        shared.settings.system = Some(kind.system.resolve(shared.settings.system.as_deref()));
        let model = shared.settings.model.clone();
        let mut engine = Engine::subagent(shared, policy, kind.name.clone());
        engine.shared.emitter.emit(SessionEvent::AgentStarted(AgentFacts {
            description: task.description.as_str().into(),
            kind: kind.name.clone(),
            model,
            prompt: task.prompt.as_str().into(),
        }));
        let (summary, _) = engine.turn(task.prompt.into(), &mut handle.inputs).await;

        let mut totals = totals.lock().unwrap_or_else(PoisonError::into_inner);
        let mut spent = totals.spent.unwrap_or(Spent::NOTHING);
        spent += Spent { usage: summary.usage, cost: summary.cost };
        totals.spent = Some(spent);
        totals.requests += summary.requests;
        totals.effects |= summary.effects;
        totals.granted.append(&mut engine.granted);
        if let Outcome::Cancelled(cause) = summary.outcome {
            totals.cancelled = Some(cause);
        }
        Ok(report(&summary))
    }
}

/// Returns what the model reads of a sub-agent: its last message, or why there is none.
fn report(summary: &TurnSummary) -> ToolOutput {
    let text = summary.text.trim();
    let failed = |why: String| {
        let said = match text {
            "" => "It said nothing.".to_owned(),
            text => format!("The last it said: {}", truncate(text).0),
        };
        ToolOutput::failure(
            ToolCode::AgentError,
            format!("The sub-agent did not come to an end: {why}. {said}"),
        )
    };
    let note = match &summary.outcome {
        Outcome::Completed(_) => None,
        Outcome::Failed(failure) if failure.kind == FailureKind::MaxTokens && !text.is_empty() => {
            Some(failure.message.as_str())
        }
        Outcome::Cancelled(_) => {
            return ToolOutput::failure(ToolCode::Canceled, "The sub-agent was canceled before it was done");
        }
        Outcome::Failed(failure) => return failed(format!("{}: {}", failure.kind.as_str(), failure.message)),
        Outcome::Limit(limit) => return failed(limit_reason(*limit).to_owned()),
        Outcome::OutputClosed => return failed("nobody reads the output any more".to_owned()),
        Outcome::NotSaved(why) => return failed(why.clone()),
    };
    if text.is_empty() {
        return failed("the model ended with an empty message".to_owned());
    }
    let (text, whole) = truncate(text);
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

/// Returns the part of a report that is passed on, and the full length if that is not all of it.
fn truncate(text: &str) -> (&str, Option<usize>) {
    let kept = prefix(text, REPORT_BYTES);
    (kept, (kept.len() < text.len()).then_some(text.len()))
}

fn limit_reason(limit: LimitKind) -> &'static str {
    match limit {
        LimitKind::Turns => "the turns of this prompt are used up (`--max-turns`)",
        LimitKind::Budget => "the budget of the run is used up (`--max-budget-usd`)",
        LimitKind::Tokens => "the tokens of the run are used up (`--max-tokens-total`)",
        LimitKind::Denials => "it made the same call again and again although it was denied",
        LimitKind::Repeats => "it made the same call again and again although it failed",
        LimitKind::Hook | LimitKind::Prompt => "a hook stopped it",
    }
}

#[cfg(test)]
mod tests {
    use zori_core::failure::ProviderFailure;
    use zori_core::provider::StopReason;
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
            reported(
                Outcome::Failed(ProviderFailure::new(FailureKind::MaxTokens, "the reply was cut off")),
                "a"
            ),
            r#"{"ok":true,"data":{"text":"a","note":"the reply was cut off"}}"#
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
