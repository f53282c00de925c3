//! Counts a run from its events: times, tokens, costs and denials for `result`. Both dialects use it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use zori_core::cost::{MicroUsd, Prices};
use zori_core::event::{
    DecidedBy, Event, EventKind, MessageEvent, Notice, NoticeLevel, SessionEvent, StateEvent, ToolEvent,
    TurnEvent, TurnSummary,
};
use zori_core::failure::ProviderFailure;
use zori_core::ids::{AgentId, CallId};
use zori_core::permission::Verdict;
use zori_core::time::Clock;

use super::object;
use super::turn_result::{AbortPhase, ResultContext, TurnResult, stop_reason};
use super::wire::{Denial, ModelUsage, ResultLine};

/// What is known of a model.
#[derive(Clone, Copy, Debug, Default)]
pub struct ModelFacts {
    /// What it costs; `None` where that is not known.
    pub prices: Option<Prices>,
    /// How much it takes; 0 where that is not known.
    pub context_window: u64,
    /// How much it writes at most; 0 where that is not known.
    pub max_output: u64,
}

/// Returns what is known of a model.
pub type Models = Arc<dyn Fn(&str) -> ModelFacts + Send + Sync>;

/// Counts a run. It must see every event before the event is written.
pub struct Tally {
    clock: Arc<dyn Clock>,
    models: Models,
    model: Arc<str>,
    model_usage: BTreeMap<String, ModelUsage>,
    cost: MicroUsd,
    costs: BTreeMap<String, MicroUsd>,
    api: Duration,
    turn: Turn,
}

/// A call of a turn.
pub struct Call {
    pub name: String,
    /// The input that would run.
    pub input: Box<RawValue>,
    /// Whether that is not what the model wrote.
    pub changed: bool,
}

/// The counts of the current turn.
struct Turn {
    began: Duration,
    /// Since when a model is waited for.
    waiting: Option<Duration>,
    first: Option<Duration>,
    results: u64,
    notes: u64,
    why: Option<String>,
    stop: Option<&'static str>,
    aborted: AbortPhase,
    /// The calls of this turn.
    calls: HashMap<CallId, Call>,
    denials: Vec<Denial>,
}

impl Turn {
    fn new(now: Duration) -> Self {
        Self {
            began: now,
            waiting: Some(now),
            first: None,
            results: 0,
            notes: 0,
            why: None,
            stop: None,
            aborted: AbortPhase::Streaming,
            calls: HashMap::new(),
            denials: Vec::new(),
        }
    }
}

impl Tally {
    pub fn new(clock: Arc<dyn Clock>, models: Models) -> Self {
        let turn = Turn::new(clock.elapsed());
        Self {
            clock,
            models,
            model: "".into(),
            model_usage: BTreeMap::new(),
            cost: MicroUsd(0),
            costs: BTreeMap::new(),
            api: Duration::ZERO,
            turn,
        }
    }

    pub fn on_event(&mut self, event: &Event) {
        let main = event.agent == AgentId::MAIN;
        match &event.kind {
            EventKind::Session(SessionEvent::SessionStarted(facts)) if main => {
                self.model = facts.model.clone()
            }
            EventKind::State(StateEvent::ModelChanged { model }) if main => self.model = model.clone(),
            EventKind::Turn(TurnEvent::TurnStarted { .. }) if main => {
                self.turn = Turn::new(self.clock.elapsed())
            }
            EventKind::Message(MessageEvent::AssistantDelta { .. } | MessageEvent::ThinkingDelta { .. })
                if main && self.turn.first.is_none() =>
            {
                self.turn.first = Some(self.clock.elapsed());
            }
            EventKind::Message(MessageEvent::MessageFinished(reply)) => {
                let name = if main { self.model.clone() } else { reply.model.clone() };
                let facts = (self.models)(&name);
                let used = self.model_usage.entry(name.to_string()).or_default();
                used.input_tokens += reply.usage.input;
                used.output_tokens += reply.usage.output;
                used.cache_read_input_tokens += reply.usage.cache_read;
                used.cache_creation_input_tokens += reply.usage.cache_write;
                // Summed as integers: money in floats is not exact.
                let cost = facts.prices.map_or(MicroUsd(0), |prices| prices.cost(reply.usage));
                let of_model = self.costs.entry(name.to_string()).or_default();
                *of_model += cost;
                self.cost += cost;
                used.cost_usd = of_model.0 as f64 / 1e6;
                (used.context_window, used.max_output_tokens) = (facts.context_window, facts.max_output);
                if main {
                    let now = self.clock.elapsed();
                    self.api +=
                        self.turn.waiting.take().map_or(Duration::ZERO, |since| now.saturating_sub(since));
                    self.turn.stop = reply.stop.as_ref().map(stop_reason).or(self.turn.stop);
                }
            }
            EventKind::Tool(ToolEvent::ToolRequested(request)) => {
                if main {
                    self.turn.aborted = AbortPhase::Tools;
                }
                let input = object(request.call.input.json());
                let call = Call { name: request.call.name.clone(), input, changed: false };
                self.turn.calls.insert(request.call.id.clone(), call);
            }
            EventKind::Tool(ToolEvent::ToolChanged { call, input, .. }) => {
                if let Some(held) = self.turn.calls.get_mut(call) {
                    (held.input, held.changed) = (object(input.get()), true);
                }
            }
            EventKind::Tool(ToolEvent::ApprovalResolved { call, decision, by }) => {
                if decision.verdict == Verdict::Deny
                    && *by != DecidedBy::Cancelled
                    && let Some(Call { name, input, .. }) = self.turn.calls.get(call)
                {
                    self.turn.denials.push(Denial {
                        tool_name: name.clone(),
                        tool_use_id: call.to_string(),
                        tool_input: input.clone(),
                    });
                }
            }
            EventKind::Tool(ToolEvent::ToolFinished(_)) if main => {
                self.turn.results += 1;
                self.turn.waiting = Some(self.clock.elapsed());
            }
            EventKind::Message(MessageEvent::MessageStarted { .. }) if main => {
                self.turn.aborted = AbortPhase::Streaming;
                self.turn.first = self.turn.first.or_else(|| Some(self.clock.elapsed()));
            }
            EventKind::Notice(Notice { level: NoticeLevel::Error, text, .. }) if main => {
                self.turn.why = Some(text.clone());
            }
            EventKind::Turn(TurnEvent::Interrupted) if main => self.turn.notes += 1,
            _ => {}
        }
    }

    /// Counts the result of a call that was written and never ran.
    pub fn unanswered(&mut self) {
        self.turn.results += 1;
    }

    /// Returns a call's name and the input that would run.
    pub fn call(&self, call: &CallId) -> Option<(&str, &RawValue)> {
        self.turn.calls.get(call).map(|call| (call.name.as_str(), &*call.input))
    }

    /// Returns all that is known of a call.
    pub fn details(&self, call: &CallId) -> Option<&Call> {
        self.turn.calls.get(call)
    }

    /// Returns what was going on when the turn was cut.
    pub fn aborted(&self) -> AbortPhase {
        self.turn.aborted
    }

    /// Returns the model in use.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Returns how a turn ended. `failure`: how the dialect tells a provider failure.
    pub fn ending(&self, summary: &TurnSummary, failure: fn(&ProviderFailure) -> String) -> TurnResult {
        let context = ResultContext {
            why: self.turn.why.as_deref(),
            stop: self.turn.stop,
            aborted: self.turn.aborted,
            failure,
        };
        TurnResult::of(summary, &context)
    }

    /// Returns the last line of a turn. `summary`: `None` for one that never began.
    pub fn result<'a>(
        &'a self,
        ending: &'a TurnResult,
        summary: Option<&TurnSummary>,
        session_id: &'a str,
        uuid: &'a str,
        structured_output: Option<&'a RawValue>,
    ) -> ResultLine<'a> {
        let since = |at: Duration| millis(at.saturating_sub(self.turn.began));
        ResultLine {
            r#type: "result",
            ending,
            duration_ms: summary.map_or(0, |summary| millis(summary.duration)),
            duration_api_ms: millis(self.api),
            ttft_ms: self.turn.first.map(since).filter(|_| summary.is_some()),
            num_turns: summary.map_or(0, |_| 1 + self.turn.results + self.turn.notes),
            session_id,
            total_cost_usd: self.cost.0 as f64 / 1e6,
            usage: Some(summary.map(|summary| summary.usage).unwrap_or_default().into()),
            model_usage: &self.model_usage,
            permission_denials: &self.turn.denials,
            structured_output,
            uuid,
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
