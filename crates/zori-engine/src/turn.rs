//! One turn, as a straight line: request, stream, tool calls, results, again, until the model ends it.
//!
//! Whatever happens, a turn ends in exactly one `TurnFinished`. Cancelling drops the future the turn waits for;
//! what has arrived until then lives here, not in that future, and is kept. `turn/reply.rs` gets one reply,
//! `turn/ending.rs` says how it ended.

mod ending;
mod reply;

use std::sync::Arc;

use zori_core::compaction::CompactCause;
use zori_core::cost::Spent;
use zori_core::event::{EventKind, NoticeLevel, Reply, TurnSummary};
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::input::Prompt;
use zori_core::message::{Block, ToolCall, ToolInput};
use zori_core::outcome::{CancelCause, LimitKind};
use zori_core::provider::StopReason;
use zori_core::render::{Sink, Stop};
use zori_core::usage::Usage;

use crate::compact::Made;
use crate::control::Control;
use crate::dispatch::{Dispatch, Dispatched};
use crate::engine::Engine;
use crate::limits::Reached;
use crate::tries::Tries;

/// So many replies in a row with arguments that are no JSON end the turn (TOOL-7, L-16).
const MALFORMED_IN_A_ROW: u32 = 3;

/// So many identical calls in a row that are denied end the turn (DEC-3).
const DENIED_IN_A_ROW: u32 = 3;

/// A turn under way.
pub(crate) struct Turn<'e, 'i, S> {
    pub(crate) engine: &'e mut Engine<S>,
    pub(crate) control: Control<'i>,
    spent: Spent,
    requests: u32,
    tries: Tries,
    malformed: u32,
    /// The call that was denied last, by name and input, and how often in a row.
    denied: Option<(String, String)>,
    denials: u32,
    /// How often in a row a reply that was cut off was gone on with.
    pub(crate) gone_on: u32,
    /// How often hooks kept it from ending.
    pub(crate) kept: u32,
    effects: bool,
    /// Whether the text of an answer that was cut is part of the conversation.
    pub(crate) kept_cut: bool,
    pub(crate) text: Arc<str>,
}

/// Why a turn ended before the model ended it.
pub(crate) enum Cut {
    Cancelled(CancelCause),
    Failed(ProviderFailure),
    Limit(Reached),
    Stopped(Stop),
}

impl From<CancelCause> for Cut {
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
            tries: Tries::default(),
            malformed: 0,
            denied: None,
            denials: 0,
            gone_on: 0,
            kept: 0,
            effects: false,
            kept_cut: false,
            text: "".into(),
        }
    }

    /// Runs the turn to its end, and gives back what was said for later.
    pub(crate) async fn run(mut self, prompt: Prompt) -> (TurnSummary, Control<'i>) {
        let began = self.engine.shared.clock.elapsed();
        let mark = self.engine.history.mark();
        let ended = match self.take(prompt).await {
            Ok(()) => self.converse().await,
            Err(cut) => Err(cut),
        };

        let unsighted = ended.as_ref().err().and_then(|cut| self.unsighted(cut));
        if ended.is_err() && self.requests == 0 && !self.kept_cut {
            // Nothing came of the prompt, so the conversation goes on as if it had not been said (PERR-5, INT-1).
            self.engine.history.back_to(mark);
        }
        let outcome = self.close(ended, unsighted);
        self.engine.restore_model();
        let summary = TurnSummary {
            outcome,
            usage: self.spent.usage,
            cost: self.spent.cost,
            requests: self.requests,
            retries: self.tries.turn,
            duration: self.engine.shared.clock.elapsed().saturating_sub(began),
            text: self.text.clone(),
            effects: self.effects,
        };
        self.emit(EventKind::TurnFinished(summary.clone()));
        self.engine.shared.emitter.idle();
        (summary, self.control)
    }

    /// Takes the prompt into the conversation, with what hooks add to it.
    async fn take(&mut self, prompt: Prompt) -> Result<(), Cut> {
        let Prompt { text, images } = prompt;
        self.emit(EventKind::TurnStarted { prompt: text.as_str().into(), images: images.clone() });
        let said = self.prompted(&text).await?;
        let mut blocks: Vec<_> = images.into_iter().map(Block::Image).chain([Block::Text(text)]).collect();
        blocks.extend(self.say(said));
        self.engine.history.push_user(blocks);
        Ok(())
    }

    async fn converse(&mut self) -> Result<StopReason, Cut> {
        loop {
            self.engine.heed(&mut self.control);
            self.check_limits()?;
            if self.engine.is_nearly_full() {
                self.make_room(CompactCause::NearlyFull).await?;
                self.check_limits()?;
            }
            let reply = self.ask().await?;
            let calls: Vec<ToolCall> = reply.message.calls().cloned().collect();
            let stop = self.keep(reply);
            self.remark_price();
            if calls.is_empty() {
                match stop {
                    StopReason::Pause => continue,
                    StopReason::MaxTokens if self.goes_on() => continue,
                    stop if self.kept_going(&stop).await? => continue,
                    stop => return Ok(stop),
                }
            }
            self.gone_on = 0;
            self.answer(&calls).await?;
        }
    }

    /// Says once of each model that has answered that its price is not known (D-11).
    fn remark_price(&mut self) {
        let model = self.engine.shared.settings.model.clone();
        if (self.engine.shared.pricing)(&model).is_none() && self.engine.shared.unpriced.insert(model.clone())
        {
            let text = format!("The price of `{model}` is not known, so what it costs is not counted");
            self.emit(EventKind::Notice { level: NoticeLevel::Warning, code: "unpriced_model", text });
        }
    }

    fn check_limits(&self) -> Result<(), Cut> {
        let reached = self.engine.shared.settings.limits.reached(&self.engine.used());
        reached.map_or(Ok(()), |reached| Err(Cut::Limit(reached)))
    }

    /// Compacts the conversation. Returns whether it is shorter now.
    async fn make_room(&mut self, cause: CompactCause) -> Result<bool, Cut> {
        let made = self.engine.compact_for(cause, None, &mut self.control, &mut self.spent).await?;
        Ok(made == Made::Room)
    }

    /// Takes a complete reply into the conversation.
    fn keep(&mut self, reply: Reply) -> StopReason {
        self.requests += 1;
        self.engine.shared.crew.answered();
        self.count(reply.usage);
        self.text = reply.message.text().into();
        if !reply.message.blocks.is_empty() {
            self.engine.history.push(reply.message.clone());
        }
        self.engine.measure(reply.usage.total());
        let stop = reply.stop.clone().unwrap_or(StopReason::EndTurn);
        self.emit(EventKind::MessageFinished(reply));
        stop
    }

    /// Counts what a reply used, at the price of the model that was asked.
    fn count(&mut self, usage: Usage) {
        self.spent += self.engine.pay(usage);
    }

    /// Runs the calls of a reply and takes their results, and what the user added meanwhile, into the conversation.
    async fn answer(&mut self, calls: &[ToolCall]) -> Result<(), Cut> {
        let engine = &mut *self.engine;
        let (eyes, model, nest) =
            (engine.shared.eyes.clone(), engine.shared.settings.model.clone(), engine.nest());
        let mut dispatch = Dispatch {
            toolbox: &*engine.shared.toolbox,
            policy: &mut engine.policy,
            modes: &engine.shared.modes,
            hooks: engine.shared.hooks.as_deref(),
            said: Vec::new(),
            halt: None,
            interrupted: false,
            clock: &*engine.shared.clock,
            emitter: &mut engine.shared.emitter,
            control: &mut self.control,
            sees: &|image| eyes(&model, image),
            live: engine.shared.settings.live_output,
            crew: &engine.shared.crew,
            nest,
            granted: &mut engine.granted,
            order: engine.shared.settings.order,
        };
        let Dispatched { results, effects, denied, said, halt, cancelled } = dispatch.run(calls).await;
        drop(dispatch);
        self.effects |= effects;
        let cancelled = cancelled.or(self.add_up());
        let mut blocks: Vec<_> = results.into_iter().map(Block::ToolResult).collect();
        blocks.extend(self.say(said));
        for text in std::mem::take(&mut self.control.steers) {
            self.emit(EventKind::Steered { text: text.as_str().into() });
            blocks.push(Block::Text(text));
        }
        self.engine.history.push_user(blocks);
        if let Some(cause) = cancelled {
            return Err(Cut::Cancelled(cause));
        }
        if let Some(stop) = self.engine.shared.emitter.stop() {
            return Err(Cut::Stopped(stop));
        }
        if let Some(why) = halt {
            let text = format!("A hook ended the turn: {why}");
            return Err(Cut::Limit(Reached { kind: LimitKind::Hook, text }));
        }
        let malformed = calls.iter().any(|call| matches!(call.input, ToolInput::Malformed(_)));
        self.malformed = if malformed { self.malformed + 1 } else { 0 };
        if self.malformed == MALFORMED_IN_A_ROW {
            let text =
                format!("the model sent arguments that are not JSON {MALFORMED_IN_A_ROW} times in a row");
            return Err(Cut::Failed(ProviderFailure::new(FailureKind::Parse, text)));
        }
        self.insisting(calls, &denied)
    }

    /// Counts what sub-agents did as this turn's own. What they used of the limits was counted as they used it. Returns
    /// why this turn ends, too, if whoever was asked wanted that.
    fn add_up(&mut self) -> Option<CancelCause> {
        let done = self.engine.take_done();
        self.spent += done.spent.unwrap_or(Spent::NOTHING);
        self.requests += done.requests;
        self.effects |= done.effects;
        self.engine.update(done.granted);
        done.cancelled
    }

    /// Ends a turn in which the model asks for the same thing however often it is denied (DEC-3).
    fn insisting(&mut self, calls: &[ToolCall], denied: &[bool]) -> Result<(), Cut> {
        for (call, denied) in calls.iter().zip(denied) {
            let said = match (&call.input, denied) {
                (ToolInput::Json(input), true) => Some((call.name.to_string(), input.get().to_owned())),
                _ => None,
            };
            self.denials = match said {
                Some(said) if self.denied.as_ref() == Some(&said) => self.denials + 1,
                Some(said) => {
                    self.denied = Some(said);
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
                return Err(Cut::Limit(Reached { kind: LimitKind::Denials, text }));
            }
        }
        Ok(())
    }

    pub(crate) fn emit(&mut self, kind: EventKind) {
        self.engine.shared.emitter.emit(kind);
    }
}
