//! One turn, as a straight line: request, stream, tool calls, results, again, until the model ends it.
//!
//! A turn always ends in exactly one `TurnFinished`. Cancelling drops the future the turn waits for; what has arrived by
//! then is held here and kept. `turn/reply.rs` requests one reply, `turn/ending.rs` emits how the turn ended.

mod ending;
mod reply;
mod waiting;

use std::collections::HashSet;
use std::sync::Arc;

use zori_core::compaction::CompactCause;
use zori_core::cost::Spent;
use zori_core::event::{EventKind, MessageEvent, Notice, NoticeLevel, Reply, TurnEvent, TurnSummary};
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::ids::CallId;
use zori_core::input::Prompt;
use zori_core::message::{Block, ToolCall, ToolInput};
use zori_core::outcome::{CancelCause, LimitKind};
use zori_core::provider::StopReason;
use zori_core::render::{Sink, Stop};
use zori_core::usage::Usage;

use crate::compact::CompactOutcome;
use crate::control::Control;
use crate::dispatch::{Dispatch, Dispatched};
use crate::engine::Engine;
use crate::hooks::HookMessage;
use crate::limits::LimitReached;
use crate::reprompt::{self, Mistakes};
use crate::retry::RetryCounts;
use crate::unusable_reply;

/// This many replies in a row with arguments that are not JSON end the turn (TOOL-7, L-16).
const MALFORMED_IN_A_ROW: u32 = 3;

/// This many identical calls in a row that are denied end the turn (DEC-3).
const DENIED_IN_A_ROW: u32 = 3;

/// This many replies in a row that the token limit cuts off inside a call end the turn.
const CUT_CALLS_IN_A_ROW: u32 = 3;

/// This many pauses in a row end the turn.
const PAUSES_IN_A_ROW: u32 = 10;

/// A running turn.
pub(crate) struct Turn<'e, 'i, S> {
    pub(crate) engine: &'e mut Engine<S>,
    pub(crate) control: Control<'i>,
    spent: Spent,
    requests: u32,
    retries: RetryCounts,
    malformed: u32,
    /// The call that was denied last, by name and input, and how often in a row.
    denied: Option<(String, String)>,
    denials: u32,
    /// How often in a row the model was asked to continue a reply that was cut off.
    pub(crate) continuations: u32,
    /// How many replies in a row the token limit cut off inside a call.
    pub(crate) cut_calls: u32,
    /// How often in a row the provider paused its reply.
    pauses: u32,
    /// What the model got wrong so far.
    pub(crate) mistakes: Mistakes,
    /// The calls whose arguments were repaired.
    pub(crate) repaired: HashSet<CallId>,
    /// How often hooks kept the turn from ending.
    pub(crate) hook_continuations: u32,
    effects: bool,
    /// Whether a reply of this turn is part of the conversation.
    replied: bool,
    /// Whether the text of a cancelled reply was added to the conversation.
    pub(crate) kept_partial: bool,
    /// The notes that the prompt carries; they wait for the next one if it is taken back.
    pub(crate) carried: Vec<HookMessage>,
    pub(crate) text: Arc<str>,
}

/// Why a turn ended before the model ended it.
pub(crate) enum TurnAbort {
    Cancelled(CancelCause),
    Failed(ProviderFailure),
    Limit(LimitReached),
    Stopped(Stop),
}

impl From<CancelCause> for TurnAbort {
    fn from(cause: CancelCause) -> Self {
        Self::Cancelled(cause)
    }
}

impl<'e, 'i, S: Sink + 'static> Turn<'e, 'i, S> {
    pub(crate) fn new(engine: &'e mut Engine<S>, control: Control<'i>) -> Self {
        Self {
            engine,
            control,
            spent: Spent::NOTHING,
            requests: 0,
            retries: RetryCounts::default(),
            malformed: 0,
            denied: None,
            denials: 0,
            continuations: 0,
            cut_calls: 0,
            pauses: 0,
            mistakes: Mistakes::default(),
            repaired: HashSet::new(),
            hook_continuations: 0,
            effects: false,
            replied: false,
            kept_partial: false,
            carried: Vec::new(),
            text: "".into(),
        }
    }

    /// Runs the turn to its end. Returns the summary and the control with the inputs it did not consume.
    pub(crate) async fn run(mut self, prompt: Prompt) -> (TurnSummary, Control<'i>) {
        let began = self.engine.shared.clock.elapsed();
        let mark = self.engine.history.mark();
        let ended = match self.push_prompt(prompt).await {
            Ok(()) => self.run_loop().await,
            Err(abort) => Err(abort),
        };

        let image_hint = ended.as_ref().err().and_then(|abort| self.image_hint(abort));
        if ended.is_err() && !self.replied && !self.kept_partial {
            // There was no reply that counts, so the conversation continues as if the prompt had not been sent (PERR-5, INT-1).
            self.engine.history.roll_back(mark);
            self.engine.start_messages.splice(..0, std::mem::take(&mut self.carried));
        }
        let outcome = self.emit_end(ended, image_hint);
        self.engine.restore_model();
        let summary = TurnSummary {
            outcome,
            usage: self.spent.usage,
            cost: self.spent.cost,
            requests: self.requests,
            retries: self.retries.turn,
            duration: self.engine.shared.clock.elapsed().saturating_sub(began),
            text: self.text.clone(),
            effects: self.effects,
        };
        self.emit(TurnEvent::TurnFinished(summary.clone()));
        self.engine.shared.emitter.idle();
        (summary, self.control)
    }

    /// Adds the prompt to the conversation, with the texts of hooks.
    async fn push_prompt(&mut self, prompt: Prompt) -> Result<(), TurnAbort> {
        let Prompt { text, images, uuid, scheduled } = prompt;
        if let (Some(checkpoints), None) = (&self.engine.shared.checkpoints, &self.engine.kind) {
            checkpoints.start_turn();
        }
        self.emit(TurnEvent::TurnStarted {
            prompt: text.as_str().into(),
            images: images.clone(),
            uuid: uuid.map(Into::into),
            scheduled: scheduled.map(Into::into),
        });
        if let Some(text) = self.engine.refused_prompt.take() {
            self.engine.attached.clear();
            return Err(TurnAbort::Limit(LimitReached { kind: LimitKind::Prompt, text }));
        }
        let hook_messages = self.fire_prompt_hooks(&text).await?;
        let mut blocks: Vec<_> = images.into_iter().map(Block::Image).chain([Block::Text(text)]).collect();
        blocks.extend(self.hook_blocks(hook_messages));
        let attached = std::mem::take(&mut self.engine.attached);
        blocks.extend(self.hook_blocks(attached));
        self.engine.history.push_user(blocks);
        Ok(())
    }

    async fn run_loop(&mut self) -> Result<StopReason, TurnAbort> {
        let mut retried_malformed = false;
        loop {
            self.engine.apply_pending(&mut self.control);
            self.check_limits()?;
            if self.engine.should_compact() {
                self.compact(CompactCause::NearlyFull).await?;
                self.check_limits()?;
            }
            self.engine.cut_to_window();
            let reply = self.request_reply().await?;
            if let Some(failure) = unusable_reply::fault(&reply) {
                self.warn_unpriced();
                self.discard_reply(reply, failure, &mut retried_malformed)?;
                continue;
            }
            retried_malformed = false;
            let calls: Vec<ToolCall> = reply.message.calls().cloned().collect();
            let stop = self.accept_reply(reply);
            self.warn_unpriced();
            if calls.is_empty() {
                match stop {
                    StopReason::Pause => {
                        self.count_pause()?;
                        continue;
                    }
                    StopReason::MaxTokens if self.continue_reply() || self.ask_after_empty() => continue,
                    StopReason::MaxTokens | StopReason::ContextWindow => {
                        return Err(TurnAbort::Failed(self.cut_off(&stop)));
                    }
                    stop if self.ask_again(&stop)? => continue,
                    stop if self.fire_stop_hooks(&stop).await? => continue,
                    stop => return Ok(stop),
                }
            }
            self.continuations = 0;
            self.pauses = 0;
            let cut = self.cut_inside_call(&stop);
            self.run_calls(&calls, cut.as_deref()).await?;
            if self.cut_calls == CUT_CALLS_IN_A_ROW {
                return Err(TurnAbort::Failed(self.cut_off(&stop)));
            }
        }
    }

    /// Counts a pause of the provider, which may go on for ever.
    fn count_pause(&mut self) -> Result<(), TurnAbort> {
        self.pauses += 1;
        if self.pauses < PAUSES_IN_A_ROW {
            return Ok(());
        }
        let text = format!("the provider paused the reply {PAUSES_IN_A_ROW} times in a row");
        Err(TurnAbort::Failed(ProviderFailure::new(FailureKind::MaxTokens, text)))
    }

    /// Warns once per model that has answered and whose price is unknown (D-11).
    fn warn_unpriced(&mut self) {
        let model = self.engine.shared.settings.model.clone();
        if (self.engine.shared.models.prices)(&model).is_none()
            && self.engine.shared.unpriced.insert(model.clone())
        {
            let text = format!("The price of `{model}` is not known, so what it costs is not counted");
            self.emit(Notice { level: NoticeLevel::Warning, code: "unpriced_model", text });
        }
    }

    fn check_limits(&self) -> Result<(), TurnAbort> {
        let reached = self.engine.shared.settings.limits.reached(&self.engine.used());
        let reached = reached.or_else(|| {
            self.engine.budget_refuses().map(|text| LimitReached { kind: LimitKind::Budget, text })
        });
        reached.map_or(Ok(()), |reached| Err(TurnAbort::Limit(reached)))
    }

    /// Compacts the conversation. Returns whether it got shorter.
    async fn compact(&mut self, cause: CompactCause) -> Result<bool, TurnAbort> {
        let made = self.engine.compact_with(cause, None, &mut self.control, &mut self.spent).await?;
        Ok(made == CompactOutcome::Shortened)
    }

    /// Adds a complete reply to the conversation. Returns why the model stopped.
    fn accept_reply(&mut self, reply: Reply) -> StopReason {
        self.count_reply(reply.usage);
        self.replied = true;
        self.text = reply.message.text().into();
        if !reply.message.blocks.is_empty() {
            self.engine.history.push(reply.message.clone());
        }
        self.engine.measure(reply.usage.total());
        let stop = reply.stop.clone().unwrap_or(StopReason::EndTurn);
        self.emit(MessageEvent::MessageFinished(reply));
        stop
    }

    /// Counts a complete reply.
    pub(crate) fn count_reply(&mut self, usage: Usage) {
        self.requests += 1;
        self.engine.shared.registry.count_reply();
        self.count(usage);
    }

    /// Adds the usage of a reply, at the price of the current model.
    fn count(&mut self, usage: Usage) {
        self.spent += self.engine.charge(usage);
    }

    /// Runs the calls of a reply, and adds their results and the steering texts that arrived meanwhile to the conversation.
    /// `withheld` is what the model is told where none of them may run.
    async fn run_calls(&mut self, calls: &[ToolCall], withheld: Option<&str>) -> Result<(), TurnAbort> {
        let engine = &mut *self.engine;
        let (image_support, model, spawner) = (
            engine.shared.models.image_support.clone(),
            engine.shared.settings.model.clone(),
            engine.spawner(),
        );
        let mut dispatch = Dispatch {
            toolbox: &*engine.shared.toolbox,
            policy: &mut engine.policy,
            modes: &engine.shared.modes,
            hooks: engine.shared.hooks.as_deref(),
            checkpoints: engine.shared.checkpoints.clone(),
            hook_messages: Vec::new(),
            halt: None,
            interrupted: false,
            clock: &*engine.shared.clock,
            emitter: &mut engine.shared.emitter,
            control: &mut self.control,
            image_support: &|image| image_support(&model, image),
            live: engine.shared.settings.live_output,
            registry: &engine.shared.registry,
            spawner,
            granted: &mut engine.granted,
            order: engine.shared.settings.order,
            withheld,
            mistakes: &self.mistakes,
            repaired: &self.repaired,
            by_user: false,
        };
        let Dispatched { results, effects, denied, hook_messages, halt, cancelled } =
            dispatch.run(calls).await;
        drop(dispatch);
        self.effects |= effects;
        let cancelled = cancelled.or(self.add_subagent_totals());
        let failed = reprompt::failures(&results);
        let mut blocks: Vec<_> = results.into_iter().map(Block::ToolResult).collect();
        blocks.extend(self.hook_blocks(hook_messages));
        for text in std::mem::take(&mut self.control.steers) {
            self.emit(TurnEvent::Steered { text: text.as_str().into() });
            blocks.push(Block::Text(text));
        }
        self.engine.history.push_user(blocks);
        if let Some(cause) = cancelled {
            return Err(TurnAbort::Cancelled(cause));
        }
        if let Some(stop) = self.engine.shared.emitter.stop() {
            return Err(TurnAbort::Stopped(stop));
        }
        if let Some(why) = halt {
            let text = format!("A hook ended the turn: {why}");
            return Err(TurnAbort::Limit(LimitReached { kind: LimitKind::Hook, text }));
        }
        let malformed =
            withheld.is_none() && calls.iter().any(|call| matches!(call.input, ToolInput::Malformed(_)));
        self.malformed = if malformed { self.malformed + 1 } else { 0 };
        if self.malformed == MALFORMED_IN_A_ROW {
            let text =
                format!("the model sent arguments that are not JSON {MALFORMED_IN_A_ROW} times in a row");
            return Err(TurnAbort::Failed(ProviderFailure::new(FailureKind::Parse, text)));
        }
        self.check_repeated_denials(calls, &denied)?;
        match withheld {
            Some(_) => Ok(()),
            None => self.check_repeated_failures(calls, &failed),
        }
    }

    /// Adds the totals of sub-agents to those of the turn; their usage already counts towards the limits. Returns the cause
    /// if a sub-agent was cancelled, which ends this turn as well.
    fn add_subagent_totals(&mut self) -> Option<CancelCause> {
        let totals = self.engine.take_subagent_totals();
        self.spent += totals.spent.unwrap_or(Spent::NOTHING);
        self.requests += totals.requests;
        self.effects |= totals.effects;
        self.engine.grant(totals.granted);
        totals.cancelled
    }

    /// Ends a turn in which the model repeats a call that is denied each time (DEC-3).
    fn check_repeated_denials(&mut self, calls: &[ToolCall], denied: &[bool]) -> Result<(), TurnAbort> {
        for (call, denied) in calls.iter().zip(denied) {
            let repeated = match (&call.input, denied) {
                (ToolInput::Json(input), true) => Some((call.name.to_string(), input.get().to_owned())),
                _ => None,
            };
            self.denials = match repeated {
                Some(repeated) if self.denied.as_ref() == Some(&repeated) => self.denials + 1,
                Some(repeated) => {
                    self.denied = Some(repeated);
                    1
                }
                None => {
                    self.denied = None;
                    0
                }
            };
            if self.denials == DENIED_IN_A_ROW {
                let text =
                    format!("The same call of `{}` was denied {DENIED_IN_A_ROW} times in a row", call.name);
                return Err(TurnAbort::Limit(LimitReached { kind: LimitKind::Denials, text }));
            }
        }
        Ok(())
    }

    pub(crate) fn emit(&mut self, kind: impl Into<EventKind>) {
        self.engine.shared.emitter.emit(kind);
    }
}
