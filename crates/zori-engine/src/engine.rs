//! The engine: owns the conversation, takes `Input`s on one channel, pushes `Event`s to one sink.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;
use zori_core::compaction::{CompactCause, Replaced};
use zori_core::cost::{Prices, Spent};
use zori_core::event::{EventKind, NoticeLevel, SessionFacts, TurnSummary};
use zori_core::hook::Hooks;
use zori_core::ids::{AgentId, CallId, IdSource, SessionId};
use zori_core::input::{Input, PermissionUpdate, Prompt};
use zori_core::message::Message;
use zori_core::provider::{Delivery, Effort, Provider};
use zori_core::render::Sink;
use zori_core::time::Clock;
use zori_core::tool::Toolbox;
use zori_core::usage::Usage;
use zori_policy::policy::ShellPolicy;
use zori_policy::{Choice, Policy};

use crate::compact::{CompactAt, Made};
use crate::context::{Measured, Window};
use crate::control::Control;
use crate::crew::Crew;
use crate::emitter::Emitter;
use crate::history::History;
use crate::hooks::Said;
use crate::limits::{Limits, Used};
use crate::retry::Retry;
use crate::sight::{Eyes, View};
use crate::subagent::{AgentLimits, Done, Nest};
use crate::turn::{Cut, Turn};

/// Returns what a model costs; `None` where that is not known.
pub type Pricing = Arc<dyn Fn(&str) -> Option<Prices> + Send + Sync>;

/// Returns what a model takes; `None` where that is not known.
pub type Windows = Arc<dyn Fn(&str) -> Option<Window> + Send + Sync>;

/// Returns the mode a name means, with what it brings for the shell; an error says why it may not hold. It is asked when
/// the mode is about to change, so that whatever else depends on it may change with it.
pub type Modes = Arc<dyn Fn(&str) -> Result<(Choice, ShellPolicy), String> + Send + Sync>;

/// What an engine is made of.
pub struct Parts {
    /// The model.
    pub provider: Arc<dyn Provider>,
    /// The tools.
    pub toolbox: Arc<dyn Toolbox>,
    /// The rules.
    pub policy: Policy,
    /// Which other modes may come to hold.
    pub modes: Modes,
    /// Who is told what happens, and may object.
    pub hooks: Option<Arc<dyn Hooks>>,
    /// The clocks.
    pub clock: Arc<dyn Clock>,
    /// Where jitter comes from.
    pub ids: Arc<dyn IdSource>,
    /// What models cost.
    pub pricing: Pricing,
    /// Which images models see.
    pub eyes: Eyes,
    /// How long conversations with models may get.
    pub windows: Windows,
    /// How far sub-agents may go.
    pub agents: AgentLimits,
    /// What the run has used before this session; it counts towards the limits.
    pub spent_before: Spent,
    /// The session's name.
    pub session: SessionId,
    /// The conversation of an earlier run, repaired.
    pub history: Vec<Arc<Message>>,
    /// The views of it that compactions replaced, the oldest first.
    pub replaced: Vec<Replaced>,
    /// What requests look like.
    pub settings: Settings,
}

/// What every request of a run has in common.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The model's id.
    pub model: Arc<str>,
    /// The system prompt; the bytes never change within a run.
    pub system: Option<Arc<str>>,
    /// The upper bound for a reply.
    pub max_tokens: Option<u32>,
    /// Sent only if set.
    pub temperature: Option<f64>,
    /// How much the model should think.
    pub effort: Option<Effort>,
    /// Whether replies are streamed.
    pub delivery: Delivery,
    /// How failed requests are repeated.
    pub retry: Retry,
    /// What the run may use.
    pub limits: Limits,
    /// When the conversation is compacted.
    pub compact_at: CompactAt,
    /// Whether a running tool's output is told as it comes.
    pub live_output: bool,
    /// Which calls of a reply go together.
    pub order: CallOrder,
    /// What becomes of an answer that somebody cuts off.
    pub cut: CutAnswer,
}

/// Which calls of a reply go together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallOrder {
    /// All: they are decided one after another and run together.
    #[default]
    Together,
    /// None: each has its result before the next one is decided about.
    OneByOne,
}

/// What becomes of an answer that somebody cuts off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutAnswer {
    /// The conversation goes on without it (INT-1).
    Forgotten,
    /// Its text is part of the conversation.
    Kept,
}

/// One session under way. The only writer of its history.
pub struct Engine<S> {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) toolbox: Arc<dyn Toolbox>,
    pub(crate) policy: Policy,
    pub(crate) modes: Modes,
    pub(crate) hooks: Option<Arc<dyn Hooks>>,
    /// Whether hooks know that the session has started, and what they said to it and nobody has heard yet.
    pub(crate) begun: bool,
    pub(crate) opening: Vec<Said>,
    pub(crate) resumed: bool,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn IdSource>,
    pub(crate) pricing: Pricing,
    pub(crate) eyes: Eyes,
    pub(crate) view: View,
    /// The models without a known price that the user was told of.
    pub(crate) unpriced: HashSet<Arc<str>>,
    pub(crate) windows: Windows,
    pub(crate) settings: Settings,
    pub(crate) history: History,
    pub(crate) emitter: Emitter<S>,
    /// How many call ids were made up so far, so that no two are alike.
    pub(crate) made_calls: usize,
    /// The last count of the provider.
    pub(crate) measured: Option<Measured>,
    /// How many tokens the last compaction left, or could not take away.
    pub(crate) settled: u64,
    /// What all agents of the session share.
    pub(crate) crew: Arc<Crew>,
    pub(crate) agents: AgentLimits,
    /// Which kind of sub-agent this is; `None` for the one the user talks to.
    pub(crate) kind: Option<&'static str>,
    /// What somebody let hold for the rest of the session, in order.
    pub(crate) granted: Vec<PermissionUpdate>,
    done: Arc<Mutex<Done>>,
    totals: Totals,
}

/// What a sub-agent has in common with the engine that started it.
pub(crate) struct Shared<S> {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) toolbox: Arc<dyn Toolbox>,
    pub(crate) modes: Modes,
    pub(crate) hooks: Option<Arc<dyn Hooks>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn IdSource>,
    pub(crate) pricing: Pricing,
    pub(crate) eyes: Eyes,
    pub(crate) windows: Windows,
    pub(crate) unpriced: HashSet<Arc<str>>,
    pub(crate) settings: Settings,
    pub(crate) emitter: Emitter<S>,
    pub(crate) crew: Arc<Crew>,
}

impl<S> Shared<S> {
    /// Returns the same for a sub-agent that `call` started.
    pub(crate) fn for_agent(&self, agent: AgentId, call: CallId) -> Self {
        Self {
            provider: self.provider.clone(),
            toolbox: self.toolbox.clone(),
            modes: self.modes.clone(),
            hooks: self.hooks.clone(),
            clock: self.clock.clone(),
            ids: self.ids.clone(),
            pricing: self.pricing.clone(),
            eyes: self.eyes.clone(),
            windows: self.windows.clone(),
            unpriced: self.unpriced.clone(),
            settings: self.settings.clone(),
            emitter: self.emitter.of_agent(agent, Some(call)),
            crew: self.crew.clone(),
        }
    }
}

/// What a session has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// What all its turns used.
    pub spent: Spent,
    /// What the last turn used.
    pub last_turn: Usage,
    /// How many turns there were.
    pub turns: u32,
}

impl<S: Sink + 'static> Engine<S> {
    /// Makes an engine and announces the session.
    pub fn start(parts: Parts, sink: S, facts: SessionFacts) -> Self {
        let history = History::new(parts.history, parts.replaced);
        let mut emitter = Emitter::new(sink, parts.clock.clone(), parts.session);
        emitter.emit(EventKind::SessionStarted(facts));
        let crew = Crew::new(parts.spent_before);
        history.call_ids().for_each(|id| drop(crew.name(id)));
        let shared = Shared {
            provider: parts.provider,
            toolbox: parts.toolbox,
            modes: parts.modes,
            hooks: parts.hooks,
            clock: parts.clock,
            ids: parts.ids,
            pricing: parts.pricing,
            eyes: parts.eyes,
            windows: parts.windows,
            unpriced: HashSet::new(),
            settings: parts.settings,
            emitter,
            crew,
        };
        Self::new(shared, parts.policy, parts.agents, history)
    }

    /// Makes the engine of a sub-agent. To hooks and to the user the session has begun long ago.
    pub(crate) fn nested(shared: Shared<S>, policy: Policy, agents: AgentLimits, kind: &'static str) -> Self {
        let engine = Self::new(shared, policy, agents, History::default());
        Self { begun: true, kind: Some(kind), ..engine }
    }

    fn new(shared: Shared<S>, policy: Policy, agents: AgentLimits, history: History) -> Self {
        Self {
            provider: shared.provider,
            toolbox: shared.toolbox,
            policy,
            modes: shared.modes,
            hooks: shared.hooks,
            begun: false,
            opening: Vec::new(),
            resumed: !history.messages().is_empty(),
            clock: shared.clock,
            ids: shared.ids,
            pricing: shared.pricing,
            eyes: shared.eyes,
            view: View::default(),
            unpriced: shared.unpriced,
            windows: shared.windows,
            settings: shared.settings,
            made_calls: history.call_ids().count(),
            history,
            emitter: shared.emitter,
            measured: None,
            settled: 0,
            crew: shared.crew,
            agents,
            kind: None,
            granted: Vec::new(),
            done: Arc::default(),
            totals: Totals { spent: Spent::NOTHING, last_turn: Usage::NOTHING, turns: 0 },
        }
    }

    /// Returns what makes sub-agents.
    pub(crate) fn nest(&self) -> Arc<Nest<S>> {
        let shared = Shared {
            provider: self.provider.clone(),
            toolbox: self.toolbox.clone(),
            modes: self.modes.clone(),
            hooks: self.hooks.clone(),
            clock: self.clock.clone(),
            ids: self.ids.clone(),
            pricing: self.pricing.clone(),
            eyes: self.eyes.clone(),
            windows: self.windows.clone(),
            unpriced: self.unpriced.clone(),
            settings: self.settings.clone(),
            emitter: self.emitter.of_agent(self.emitter.agent(), None),
            crew: self.crew.clone(),
        };
        Arc::new(Nest { shared, limits: self.agents.clone(), done: self.done.clone() })
    }

    /// Returns what sub-agents did since the last time.
    pub(crate) fn take_done(&self) -> Done {
        std::mem::take(&mut *self.done.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the sub-agents that hear what is said to this engine.
    fn listeners(&self) -> Option<Arc<Crew>> {
        self.kind.is_none().then(|| self.crew.clone())
    }

    /// Runs one turn. What is said meanwhile and is not for this turn comes back, oldest first.
    pub async fn turn(
        &mut self,
        prompt: Prompt,
        inputs: &mut mpsc::Receiver<Input>,
    ) -> (TurnSummary, VecDeque<Input>) {
        if self.kind.is_none() {
            self.crew.prompted();
        }
        let control = Control::new(inputs, self.listeners());
        let (summary, control) = Turn::new(self, control).run(prompt).await;
        self.totals.spent += Spent { usage: summary.usage, cost: summary.cost };
        self.totals.last_turn = summary.usage;
        self.totals.turns += 1;
        (summary, self.rest_of(control))
    }

    /// Does what was said for the next request, and returns what is for later.
    fn rest_of(&mut self, mut control: Control<'_>) -> VecDeque<Input> {
        self.heed(&mut control);
        let unseen = control.steers.into_iter().map(|text| Input::Prompt(text.into()));
        unseen.chain(control.later).collect()
    }

    /// Takes inputs until they end or say so. `on_turn` sees each turn's end and says whether to go on.
    pub async fn run(
        &mut self,
        inputs: &mut mpsc::Receiver<Input>,
        mut on_turn: impl FnMut(&TurnSummary) -> Next,
    ) {
        let mut queue = VecDeque::new();
        loop {
            let input = match queue.pop_front() {
                Some(input) => Some(input),
                None => inputs.recv().await,
            };
            let prompt = match input {
                Some(Input::Prompt(prompt)) => prompt,
                Some(Input::Steer(text)) => text.into(),
                Some(wish @ (Input::SetModel { .. } | Input::SetMode(_) | Input::SetEffort(_))) => {
                    self.wish(wish);
                    continue;
                }
                Some(Input::Compact { focus }) => {
                    queue.extend(self.compact(focus.as_deref(), inputs).await);
                    continue;
                }
                Some(Input::UndoCompact) => {
                    self.undo_compact();
                    continue;
                }
                // No turn runs, so there is nothing to cancel and nothing was asked.
                Some(Input::Cancel(_) | Input::Approve { .. }) => continue,
                Some(Input::Shutdown) | None => return,
            };
            let (summary, later) = self.turn(prompt, inputs).await;
            queue.extend(later);
            if on_turn(&summary) == Next::Stop {
                return;
            }
        }
    }

    /// Summarises the older part of the conversation. What came of it is told by events; what is said meanwhile and
    /// is not a cancel comes back, oldest first.
    pub async fn compact(
        &mut self,
        focus: Option<&str>,
        inputs: &mut mpsc::Receiver<Input>,
    ) -> VecDeque<Input> {
        let (mut control, mut spent) = (Control::new(inputs, self.listeners()), Spent::NOTHING);
        let made = self.compact_for(CompactCause::Asked, focus, &mut control, &mut spent).await;
        self.totals.spent += spent;
        match made {
            Ok(Made::Nothing) => {
                self.remark("nothing_to_compact", "Nothing to compact: the conversation is short");
            }
            Err(Cut::Cancelled(_)) => {
                self.remark("compaction_cancelled", "Interrupted; the conversation is as it was");
            }
            // A failure was told when it happened, and an outlet that is gone cannot be told anything.
            Ok(Made::Room | Made::Failed) | Err(Cut::Failed(_) | Cut::Limit(_) | Cut::Stopped(_)) => {}
        }
        let rest = self.rest_of(control);
        self.emitter.idle();
        rest
    }

    /// Takes the last compaction back: the conversation is sent as it was before, with what was said since.
    pub fn undo_compact(&mut self) {
        if !self.undo() {
            self.remark("nothing_to_undo", "Nothing to take back: the conversation was not compacted");
        }
        self.emitter.idle();
    }

    fn remark(&mut self, code: &'static str, text: &str) {
        let text = text.to_owned();
        self.emitter.emit(EventKind::Notice { level: NoticeLevel::Info, code, text });
    }

    /// Uses another model from the next request on.
    pub fn set_model(&mut self, model: &str) {
        self.settings.model = model.into();
        self.view = View::default();
        self.emitter.emit(EventKind::ModelChanged { model: self.settings.model.clone() });
    }

    /// Uses another permission mode from the next call on, with what it brings for the shell. Whoever calls this speaks
    /// for the user: nothing a model, a tool or a project says may lead here (MODE-4).
    pub fn set_mode(&mut self, mode: Choice, shell: ShellPolicy) {
        let from = std::mem::replace(&mut self.policy.mode, mode).shown();
        self.policy.shell = shell;
        self.emitter.emit(EventKind::ModeChanged { from, to: mode.shown() });
    }

    /// Returns what may run.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Bounds replies from the next request on.
    pub fn set_max_tokens(&mut self, max_tokens: Option<u32>) {
        self.settings.max_tokens = max_tokens;
    }

    /// Returns the model in use.
    pub fn model(&self) -> &str {
        &self.settings.model
    }

    /// Returns what the session has come to.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Returns what the whole run has used: this session, and what came before it.
    pub fn spent(&self) -> Spent {
        self.crew.used().0
    }

    /// Returns what has been used of the limits so far, by whomever.
    pub(crate) fn used(&self) -> Used {
        let (spent, requests) = self.crew.used();
        Used { requests, spent, priced: (self.pricing)(&self.settings.model).is_some() }
    }

    /// Counts what a request used, at the price of the model that was asked.
    pub(crate) fn pay(&self, usage: Usage) -> Spent {
        let spent = Spent::request(usage, (self.pricing)(&self.settings.model));
        self.crew.pay(spent);
        spent
    }

    /// Returns the conversation as it would be sent.
    pub fn messages(&self) -> &[Arc<Message>] {
        self.history.messages()
    }

    /// Ends the session and gives the sink back.
    pub fn finish(mut self) -> S {
        self.emitter.emit(EventKind::SessionEnded { spent: self.totals.spent, turns: self.totals.turns });
        self.emitter.into_sink()
    }
}

/// Whether a run goes on after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// With the next input.
    Continue,
    /// It is over.
    Stop,
}
