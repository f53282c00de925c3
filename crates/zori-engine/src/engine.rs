//! The engine: owns the conversation, takes `Input`s from one channel, emits `Event`s to one sink.
//!
//! `parts.rs` says what it is made of, `turn.rs` runs a turn.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;
use zori_core::checkpoint::Rewound;
use zori_core::compaction::{CompactCause, Compacted};
use zori_core::cost::{Ledger, Spent};
use zori_core::event::{Notice, NoticeLevel, SessionEvent, SessionFacts, StateEvent, TurnSummary};
use zori_core::input::{Input, PermissionUpdate, Prompt};
use zori_core::message::Message;
use zori_core::render::Sink;
use zori_core::usage::Usage;
use zori_policy::policy::ShellPolicy;
use zori_policy::{ModeChoice, Policy};

use crate::agent_registry::AgentRegistry;
use crate::compact::CompactOutcome;
use crate::context::TokenCount;
use crate::control::Control;
use crate::emitter::Emitter;
use crate::history::History;
use crate::hooks::HookMessage;
use crate::image_support::ImageFilter;
use crate::limits::Used;
use crate::parts::{Parts, SavedSession, SessionState};
use crate::shared::Shared;
use crate::subagent::{SubagentSpawner, SubagentTotals};
use crate::turn::{Turn, TurnAbort};

/// A running session, and the only writer of its history.
pub struct Engine<S> {
    /// What it shares with its sub-agents.
    pub(crate) shared: Shared<S>,
    pub(crate) policy: Policy,
    /// Whether the `SessionStart` hooks have run, and their texts that no prompt has carried yet.
    pub(crate) hooks_started: bool,
    pub(crate) start_messages: Vec<HookMessage>,
    /// What goes with the next prompt alone, such as files that it names.
    pub(crate) attached: Vec<HookMessage>,
    /// Why the next prompt is not sent.
    pub(crate) refused_prompt: Option<String>,
    pub(crate) resumed: bool,
    pub(crate) image_filter: ImageFilter,
    pub(crate) history: History,
    /// Where the session is saved; `None` for sub-agents, too.
    pub(crate) saved: Option<SavedSession>,
    /// How many call ids were generated so far; the next one is numbered on from it.
    pub(crate) generated_ids: usize,
    /// The provider's last token count.
    pub(crate) measured: Option<TokenCount>,
    /// The tokens after the last compaction, successful or not.
    pub(crate) compacted_tokens: u64,
    /// The model that the turn began with and its reply limit, while the fallback model is in use.
    pub(crate) fallback_from: Option<(Arc<str>, Option<u32>)>,
    /// The kind of sub-agent; `None` for the main engine.
    pub(crate) kind: Option<Arc<str>>,
    /// Permissions granted for the rest of the session, in order.
    pub(crate) granted: Vec<PermissionUpdate>,
    subagent_totals: Arc<Mutex<SubagentTotals>>,
    totals: Totals,
}

/// What a session has used so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// What all its turns used together.
    pub spent: Spent,
    /// What the last turn used.
    pub last_turn: Usage,
    /// The number of turns.
    pub turns: u32,
}

impl<S: Sink + 'static> Engine<S> {
    /// Starts an engine, and emits `SessionStarted` with the facts.
    pub fn start(parts: Parts, sink: S, facts: SessionFacts) -> Self {
        let SessionState { id, history, replaced, spent_before, saved } = parts.session;
        let mut history = History::new(history, replaced);
        history.read_through(&*parts.toolbox);
        let mut emitter = Emitter::new(sink, parts.clock.clone(), id);
        emitter.emit(SessionEvent::SessionStarted(facts));
        let registry = AgentRegistry::new(spent_before);
        history.call_ids().for_each(|id| drop(registry.unique_call_id(id)));
        let shared = Shared {
            provider: parts.provider,
            toolbox: parts.toolbox,
            modes: parts.modes,
            hooks: parts.hooks,
            checkpoints: parts.checkpoints,
            ledger: parts.ledger,
            clock: parts.clock,
            ids: parts.ids,
            models: parts.models,
            unpriced: HashSet::new(),
            settings: parts.settings,
            emitter,
            registry,
            agents: parts.agents,
        };
        let mut engine = Self::new(shared, parts.policy, history);
        engine.history.forget_oldest(saved.as_ref());
        engine.saved = saved;
        engine
    }

    /// Creates the engine of a sub-agent, inside a session that hooks and the user already know.
    pub(crate) fn subagent(shared: Shared<S>, policy: Policy, kind: Arc<str>) -> Self {
        let engine = Self::new(shared, policy, History::default());
        Self { hooks_started: true, kind: Some(kind), ..engine }
    }

    fn new(shared: Shared<S>, policy: Policy, history: History) -> Self {
        Self {
            shared,
            policy,
            hooks_started: false,
            start_messages: Vec::new(),
            attached: Vec::new(),
            refused_prompt: None,
            resumed: !history.messages().is_empty(),
            image_filter: ImageFilter::default(),
            generated_ids: history.call_ids().count(),
            history,
            saved: None,
            measured: None,
            compacted_tokens: 0,
            fallback_from: None,
            kind: None,
            granted: Vec::new(),
            subagent_totals: Arc::default(),
            totals: Totals { spent: Spent::NOTHING, last_turn: Usage::NOTHING, turns: 0 },
        }
    }

    /// Returns the spawner for the sub-agents of the next calls.
    pub(crate) fn spawner(&self) -> Arc<SubagentSpawner<S>> {
        Arc::new(SubagentSpawner { shared: self.shared.clone(), totals: self.subagent_totals.clone() })
    }

    /// Takes what sub-agents have reported since the last call.
    pub(crate) fn take_subagent_totals(&self) -> SubagentTotals {
        std::mem::take(&mut *self.subagent_totals.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the registry if this is the main engine, which forwards inputs to sub-agents.
    fn forwards_to(&self) -> Option<Arc<AgentRegistry>> {
        self.kind.is_none().then(|| self.shared.registry.clone())
    }

    /// Runs one turn. Returns its summary and the inputs that arrived meanwhile and are not for this turn, oldest first.
    pub async fn turn(
        &mut self,
        prompt: Prompt,
        inputs: &mut mpsc::Receiver<Input>,
    ) -> (TurnSummary, VecDeque<Input>) {
        if self.kind.is_none() {
            self.shared.registry.start_prompt();
        }
        let control = Control::new(inputs, self.forwards_to());
        let (summary, control) = Turn::new(self, control).run(prompt).await;
        self.totals.spent += Spent { usage: summary.usage, cost: summary.cost };
        self.totals.last_turn = summary.usage;
        self.totals.turns += 1;
        (summary, self.remaining_inputs(control))
    }

    /// Applies pending updates, and returns the inputs that the turn did not consume.
    fn remaining_inputs(&mut self, mut control: Control<'_>) -> VecDeque<Input> {
        self.apply_pending(&mut control);
        let unseen = control.steers.into_iter().map(|text| Input::Prompt(text.into()));
        unseen.chain(control.queued).collect()
    }

    /// Handles inputs until they end or ask for a shutdown. `on_turn` sees each turn's summary and decides whether to
    /// continue.
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
                Some(update @ (Input::SetModel { .. } | Input::SetMode(_) | Input::SetEffort(_))) => {
                    self.apply(update);
                    continue;
                }
                Some(Input::Compact { focus }) => {
                    queue.extend(self.compact(focus.as_deref(), inputs).await);
                    continue;
                }
                Some(Input::Shell { command, share }) => {
                    let mut shells = self.user_shells();
                    shells.start(command, share);
                    let done = shells.next().await;
                    if done.share {
                        self.add_note(done.note());
                    }
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

    /// Summarises the older part of the conversation and reports the result as events. Returns the inputs that arrived
    /// meanwhile, cancels excepted, oldest first.
    pub async fn compact(
        &mut self,
        focus: Option<&str>,
        inputs: &mut mpsc::Receiver<Input>,
    ) -> VecDeque<Input> {
        let (mut control, mut spent) = (Control::new(inputs, self.forwards_to()), Spent::NOTHING);
        let made = self.compact_with(CompactCause::Asked, focus, &mut control, &mut spent).await;
        self.totals.spent += spent;
        match made {
            Ok(CompactOutcome::Unchanged) => {
                self.notice(
                    NoticeLevel::Info,
                    "nothing_to_compact",
                    "Nothing to compact: the conversation is short",
                );
            }
            Err(TurnAbort::Cancelled(_)) => {
                self.notice(
                    NoticeLevel::Info,
                    "compaction_cancelled",
                    "Interrupted; the conversation is as it was",
                );
            }
            // A failure was emitted when it happened, and a closed sink takes no events.
            Ok(CompactOutcome::Shortened | CompactOutcome::Failed)
            | Err(TurnAbort::Failed(_) | TurnAbort::Limit(_) | TurnAbort::Stopped(_)) => {}
        }
        let remaining = self.remaining_inputs(control);
        self.shared.emitter.idle();
        remaining
    }

    /// Rewinds the conversation to an earlier point; `view` is the conversation up to it. [`Engine::undo_compact`] undoes
    /// this as it does a compaction.
    pub fn rewind(&mut self, view: Vec<Arc<Message>>) {
        let before = self.context_tokens();
        let messages = self.messages().len().saturating_sub(view.len());
        self.replace(view, Compacted::Rewound { messages }, CompactCause::Asked, before, None);
    }

    /// Undoes the last compaction: the view before it is sent again, with the messages added since.
    pub fn undo_compact(&mut self) {
        if !self.undo() {
            self.notice(
                NoticeLevel::Info,
                "nothing_to_undo",
                "Nothing to take back: the conversation was not compacted",
            );
        }
        self.shared.emitter.idle();
    }

    /// Adds a note for the model, which the next prompt carries (UNDO-24).
    pub fn add_note(&mut self, text: String) {
        self.start_messages.push(HookMessage::note(text));
    }

    /// Adds a text that goes with the next prompt, and with no later one if that is taken back.
    pub fn attach(&mut self, text: String) {
        self.attached.push(HookMessage::note(text));
    }

    /// Has the next prompt end its turn before anything is sent: a part of it could not be made.
    pub fn refuse_prompt(&mut self, why: String) {
        self.refused_prompt = Some(why);
    }

    /// Emits that files went back.
    pub fn files_rewound(&mut self, rewound: Rewound) {
        self.shared.emitter.emit(StateEvent::FilesRewound(Box::new(rewound)));
        self.shared.emitter.idle();
    }

    /// Emits a notice for the user.
    pub fn notice(&mut self, level: NoticeLevel, code: &'static str, text: impl Into<String>) {
        self.shared.emitter.emit(Notice { level, code, text: text.into() });
    }

    /// Switches to another model with the next request.
    pub fn set_model(&mut self, model: &str) {
        self.fallback_from = None;
        self.shared.settings.model = model.into();
        self.image_filter = ImageFilter::default();
        self.shared.emitter.emit(StateEvent::ModelChanged { model: self.shared.settings.model.clone() });
    }

    /// Switches to another permission mode with the next call. Callers act for the user: nothing that a model, a tool or a
    /// project says may lead here (MODE-4).
    pub fn set_mode(&mut self, mode: ModeChoice, shell: ShellPolicy) {
        let from = std::mem::replace(&mut self.policy.mode, mode).shown();
        self.policy.shell = shell;
        self.shared.emitter.emit(StateEvent::ModeChanged { from, to: mode.shown() });
    }

    /// Lets the shell be used, or not, with the next call. As for [`set_mode`](Self::set_mode), callers act for the user.
    pub fn set_shell(&mut self, shell: ShellPolicy) {
        self.policy.shell = shell;
    }

    /// Narrows calls to what these rules cover, beside what only looks, until they are widened again (CUS-3).
    pub fn narrow(&mut self, by: &str, rules: &[String]) {
        self.policy.narrow(by, rules);
    }

    /// Takes that back.
    pub fn widen(&mut self) {
        self.policy.widen();
    }

    /// Returns the policy in force.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Sets the most tokens of a reply, from the next request on.
    pub fn set_max_tokens(&mut self, max_tokens: Option<u32>) {
        self.shared.settings.max_tokens = max_tokens;
    }

    /// Returns the id of the current model.
    pub fn model(&self) -> &str {
        &self.shared.settings.model
    }

    /// Returns what the session has used so far.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Returns what the whole run has used, this session and what came before it.
    pub fn spent(&self) -> Spent {
        self.shared.registry.used().0
    }

    /// Returns what all agents have used of the limits so far.
    pub(crate) fn used(&self) -> Used {
        let (spent, requests) = self.shared.registry.used();
        Used { requests, spent, priced: (self.shared.models.prices)(&self.shared.settings.model).is_some() }
    }

    /// Adds the usage of a request, at the price of the current model.
    pub(crate) fn charge(&self, usage: Usage) -> Spent {
        self.charge_for(&self.shared.settings.model, usage)
    }

    fn charge_for(&self, model: &str, usage: Usage) -> Spent {
        let spent = Spent::request(usage, (self.shared.models.prices)(model));
        self.shared.registry.add_spent(spent);
        if let Some(ledger) = &self.shared.ledger {
            ledger.add(model, spent);
        }
        spent
    }

    /// Returns why no further request may be sent, in a sentence: what was spent beyond this process is too much.
    pub(crate) fn budget_refuses(&self) -> Option<String> {
        self.shared.ledger.as_ref().and_then(|ledger| ledger.refuses())
    }

    /// Returns what counts requests beyond this process, if anything does.
    pub fn ledger(&self) -> Option<Arc<dyn Ledger>> {
        self.shared.ledger.clone()
    }

    /// Adds the usage of a request that belongs to no turn, at the price of the current model.
    pub fn add_usage(&mut self, usage: Usage) -> Spent {
        let spent = self.charge(usage);
        self.totals.spent += spent;
        spent
    }

    /// The same, at the price of another model.
    pub fn add_usage_of(&mut self, model: &str, usage: Usage) -> Spent {
        let spent = self.charge_for(model, usage);
        self.totals.spent += spent;
        spent
    }

    /// Returns the conversation as it would be sent.
    pub fn messages(&self) -> &[Arc<Message>] {
        self.history.messages()
    }

    /// Ends the session, and returns the sink.
    pub fn finish(mut self) -> S {
        self.shared
            .emitter
            .emit(SessionEvent::SessionEnded { spent: self.totals.spent, turns: self.totals.turns });
        self.shared.emitter.into_sink()
    }
}

/// Whether a run continues after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It waits for the next input.
    Continue,
    /// It ends.
    Stop,
}
