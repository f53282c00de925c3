//! The engine: owns the conversation, takes `Input`s on one channel, pushes `Event`s to one sink.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;
use zori_core::compaction::{CompactCause, Compacted, Replaced};
use zori_core::cost::{Prices, Spent};
use zori_core::event::{EventKind, NoticeLevel, SessionFacts, TurnSummary};
use zori_core::hook::Hooks;
use zori_core::ids::{IdSource, SessionId};
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
use crate::shared::Shared;
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
    /// The model a turn goes on with when the other one is not available.
    pub fallback: Option<Arc<str>>,
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
    /// What becomes of an answer that is cut off.
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

/// What becomes of an answer that is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutAnswer {
    /// The conversation goes on without one that somebody cut off (INT-1).
    Forgotten,
    /// Its text is part of the conversation.
    Kept,
    /// The same; and one that the token limit cut off is gone on with, a few times.
    GoneOnWith,
}

/// One session under way. The only writer of its history.
pub struct Engine<S> {
    /// What sub-agents have as well.
    pub(crate) shared: Shared<S>,
    pub(crate) policy: Policy,
    /// Whether hooks know that the session has started, and what they said to it and nobody has heard yet.
    pub(crate) begun: bool,
    pub(crate) opening: Vec<Said>,
    pub(crate) resumed: bool,
    pub(crate) view: View,
    pub(crate) history: History,
    /// How many call ids were made up so far, so that no two are alike.
    pub(crate) made_calls: usize,
    /// The last count of the provider.
    pub(crate) measured: Option<Measured>,
    /// How many tokens the last compaction left, or could not take away.
    pub(crate) settled: u64,
    /// The model that the turn began with, and its bound of a reply, while another one has taken its place.
    pub(crate) replaced: Option<(Arc<str>, Option<u32>)>,
    /// Which kind of sub-agent this is; `None` for the one the user talks to.
    pub(crate) kind: Option<Arc<str>>,
    /// What somebody let hold for the rest of the session, in order.
    pub(crate) granted: Vec<PermissionUpdate>,
    done: Arc<Mutex<Done>>,
    totals: Totals,
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
            agents: parts.agents,
        };
        Self::new(shared, parts.policy, history)
    }

    /// Makes the engine of a sub-agent. To hooks and to the user the session has begun long ago.
    pub(crate) fn nested(shared: Shared<S>, policy: Policy, kind: Arc<str>) -> Self {
        let engine = Self::new(shared, policy, History::default());
        Self { begun: true, kind: Some(kind), ..engine }
    }

    fn new(shared: Shared<S>, policy: Policy, history: History) -> Self {
        Self {
            shared,
            policy,
            begun: false,
            opening: Vec::new(),
            resumed: !history.messages().is_empty(),
            view: View::default(),
            made_calls: history.call_ids().count(),
            history,
            measured: None,
            settled: 0,
            replaced: None,
            kind: None,
            granted: Vec::new(),
            done: Arc::default(),
            totals: Totals { spent: Spent::NOTHING, last_turn: Usage::NOTHING, turns: 0 },
        }
    }

    /// Returns what makes sub-agents.
    pub(crate) fn nest(&self) -> Arc<Nest<S>> {
        Arc::new(Nest { shared: self.shared.clone(), done: self.done.clone() })
    }

    /// Returns what sub-agents did since the last time.
    pub(crate) fn take_done(&self) -> Done {
        std::mem::take(&mut *self.done.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the sub-agents that hear what is said to this engine.
    fn listeners(&self) -> Option<Arc<Crew>> {
        self.kind.is_none().then(|| self.shared.crew.clone())
    }

    /// Runs one turn. What is said meanwhile and is not for this turn comes back, oldest first.
    pub async fn turn(
        &mut self,
        prompt: Prompt,
        inputs: &mut mpsc::Receiver<Input>,
    ) -> (TurnSummary, VecDeque<Input>) {
        if self.kind.is_none() {
            self.shared.crew.prompted();
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
                self.remark(
                    NoticeLevel::Info,
                    "nothing_to_compact",
                    "Nothing to compact: the conversation is short",
                );
            }
            Err(Cut::Cancelled(_)) => {
                self.remark(
                    NoticeLevel::Info,
                    "compaction_cancelled",
                    "Interrupted; the conversation is as it was",
                );
            }
            // A failure was told when it happened, and an outlet that is gone cannot be told anything.
            Ok(Made::Room | Made::Failed) | Err(Cut::Failed(_) | Cut::Limit(_) | Cut::Stopped(_)) => {}
        }
        let rest = self.rest_of(control);
        self.shared.emitter.idle();
        rest
    }

    /// Goes on from an earlier point: this is the conversation up to it. What was said after it can be had back as what a
    /// compaction left out can.
    pub fn rewind(&mut self, view: Vec<Arc<Message>>) {
        let before = self.context_tokens();
        let messages = self.messages().len().saturating_sub(view.len());
        self.replace(view, Compacted::Rewound { messages }, CompactCause::Asked, before, None);
    }

    /// Takes the last compaction back: the conversation is sent as it was before, with what was said since.
    pub fn undo_compact(&mut self) {
        if !self.undo() {
            self.remark(
                NoticeLevel::Info,
                "nothing_to_undo",
                "Nothing to take back: the conversation was not compacted",
            );
        }
        self.shared.emitter.idle();
    }

    /// Says something that is worth a line to whoever watches.
    pub fn remark(&mut self, level: NoticeLevel, code: &'static str, text: impl Into<String>) {
        self.shared.emitter.emit(EventKind::Notice { level, code, text: text.into() });
    }

    /// Uses another model from the next request on.
    pub fn set_model(&mut self, model: &str) {
        self.replaced = None;
        self.shared.settings.model = model.into();
        self.view = View::default();
        self.shared.emitter.emit(EventKind::ModelChanged { model: self.shared.settings.model.clone() });
    }

    /// Uses another permission mode from the next call on, with what it brings for the shell. Whoever calls this speaks
    /// for the user: nothing a model, a tool or a project says may lead here (MODE-4).
    pub fn set_mode(&mut self, mode: Choice, shell: ShellPolicy) {
        let from = std::mem::replace(&mut self.policy.mode, mode).shown();
        self.policy.shell = shell;
        self.shared.emitter.emit(EventKind::ModeChanged { from, to: mode.shown() });
    }

    /// Returns what may run.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Bounds replies from the next request on.
    pub fn set_max_tokens(&mut self, max_tokens: Option<u32>) {
        self.shared.settings.max_tokens = max_tokens;
    }

    /// Returns the model in use.
    pub fn model(&self) -> &str {
        &self.shared.settings.model
    }

    /// Returns what the session has come to.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Returns what the whole run has used: this session, and what came before it.
    pub fn spent(&self) -> Spent {
        self.shared.crew.used().0
    }

    /// Returns what has been used of the limits so far, by whomever.
    pub(crate) fn used(&self) -> Used {
        let (spent, requests) = self.shared.crew.used();
        Used { requests, spent, priced: (self.shared.pricing)(&self.shared.settings.model).is_some() }
    }

    /// Counts what a request used, at the price of the model that was asked.
    pub(crate) fn pay(&self, usage: Usage) -> Spent {
        let spent = Spent::request(usage, (self.shared.pricing)(&self.shared.settings.model));
        self.shared.crew.pay(spent);
        spent
    }

    /// Returns the conversation as it would be sent.
    pub fn messages(&self) -> &[Arc<Message>] {
        self.history.messages()
    }

    /// Ends the session and gives the sink back.
    pub fn finish(mut self) -> S {
        self.shared
            .emitter
            .emit(EventKind::SessionEnded { spent: self.totals.spent, turns: self.totals.turns });
        self.shared.emitter.into_sink()
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
