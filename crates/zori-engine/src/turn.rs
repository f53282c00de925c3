//! One turn, as a straight line: request, stream, tool calls, results, again, until the model ends it.
//!
//! Whatever happens, a turn ends in exactly one `TurnFinished`. Cancelling drops the future the turn waits for;
//! what has arrived until then lives here, not in that future, and is kept.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use zori_core::compaction::CompactCause;
use zori_core::cost::Spent;
use zori_core::event::{EventKind, NoticeLevel, Reply, TurnSummary};
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::image::{Image, Sight};
use zori_core::input::Prompt;
use zori_core::message::{Block, Message, Role, ToolCall, ToolInput};
use zori_core::outcome::{CancelCause, LimitKind, Outcome};
use zori_core::provider::{Chunk, ChunkStream, Request, StopReason};
use zori_core::render::{Sink, Stop};
use zori_core::usage::Usage;

use crate::assemble::Assembly;
use crate::compact::Made;
use crate::control::Control;
use crate::dispatch::{Dispatch, Dispatched};
use crate::engine::{CutAnswer, Engine};
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
    /// How often hooks kept it from ending.
    pub(crate) kept: u32,
    effects: bool,
    /// Whether the text of an answer that was cut is part of the conversation.
    kept_cut: bool,
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
            kept: 0,
            effects: false,
            kept_cut: false,
            text: "".into(),
        }
    }

    /// Runs the turn to its end, and gives back what was said for later.
    pub(crate) async fn run(mut self, prompt: Prompt) -> (TurnSummary, Control<'i>) {
        let began = self.engine.clock.elapsed();
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
        let summary = TurnSummary {
            outcome,
            usage: self.spent.usage,
            cost: self.spent.cost,
            requests: self.requests,
            duration: self.engine.clock.elapsed().saturating_sub(began),
            text: self.text.clone(),
            effects: self.effects,
        };
        self.emit(EventKind::TurnFinished(summary.clone()));
        self.engine.emitter.idle();
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
                    stop if self.kept_going(&stop).await? => continue,
                    stop => return Ok(stop),
                }
            }
            self.answer(&calls).await?;
        }
    }

    /// Says once of each model that has answered that its price is not known (D-11).
    fn remark_price(&mut self) {
        let model = self.engine.settings.model.clone();
        if (self.engine.pricing)(&model).is_none() && self.engine.unpriced.insert(model.clone()) {
            let text = format!("The price of `{model}` is not known, so what it costs is not counted");
            self.emit(EventKind::Notice { level: NoticeLevel::Warning, code: "unpriced_model", text });
        }
    }

    fn check_limits(&self) -> Result<(), Cut> {
        self.engine
            .settings
            .limits
            .reached(&self.engine.used())
            .map_or(Ok(()), |reached| Err(Cut::Limit(reached)))
    }

    /// Compacts the conversation. Returns whether it is shorter now.
    async fn make_room(&mut self, cause: CompactCause) -> Result<bool, Cut> {
        let made = self.engine.compact_for(cause, None, &mut self.control, &mut self.spent).await?;
        Ok(made == Made::Room)
    }

    /// Gets one reply, trying again while that is safe. A conversation that the provider finds too long is compacted
    /// and sent once more, and only once.
    async fn ask(&mut self) -> Result<Reply, Cut> {
        let mut compacted = false;
        self.tries.request = 0;
        loop {
            let (cut, visible) = match self.attempt().await {
                Ok(reply) => return Ok(reply),
                Err(cut) => cut,
            };
            let Cut::Failed(failure) = cut else { return Err(cut) };
            if failure.kind == FailureKind::ContextLength && !visible {
                if !compacted && self.make_room(CompactCause::Refused).await? {
                    compacted = true;
                    self.check_limits()?;
                    continue;
                }
                return Err(Cut::Failed(too_long(failure)));
            }
            if visible {
                return Err(Cut::Failed(failure));
            }
            self.engine.try_again(&mut self.tries, failure, &mut self.control).await?;
        }
    }

    /// Sends the request once. An error says whether any of the answer was shown.
    async fn attempt(&mut self) -> Result<Reply, (Cut, bool)> {
        let model = self.engine.settings.model.clone();
        let mut assembly = Assembly::new(model.clone());
        let cut = match self.receive(&model, &mut assembly).await {
            Ok(()) => {
                let maker = self.engine.call_maker();
                match assembly.finish(&maker, &mut self.engine.made_calls) {
                    Some(reply) => return Ok(self.engine.named(reply)),
                    None => {
                        let text = "the provider ended the reply without saying so";
                        return Err((Cut::Failed(ProviderFailure::new(FailureKind::Transport, text)), true));
                    }
                }
            }
            Err(cut) => cut,
        };
        let visible = assembly.visible();
        if visible && let Some(partial) = assembly.partial() {
            self.count(partial.usage);
            self.text = partial.message.text().into();
            self.keep_cut(&cut);
            self.emit(EventKind::MessageFinished(partial));
        }
        Err((cut, visible))
    }

    /// Takes the text of an answer that was cancelled into the conversation, where that is wanted.
    fn keep_cut(&mut self, cut: &Cut) {
        let wanted = self.engine.settings.cut == CutAnswer::Kept && matches!(cut, Cut::Cancelled(_));
        if wanted && !self.text.is_empty() {
            // What else there was cannot be sent back: calls without results, thinking without its signature.
            let blocks = vec![Block::Text(self.text.to_string())];
            self.engine.history.push(Arc::new(Message { role: Role::Assistant, blocks }));
            self.kept_cut = true;
        }
    }

    async fn receive(&mut self, model: &str, assembly: &mut Assembly) -> Result<(), Cut> {
        let engine = &mut *self.engine;
        let eyes = engine.eyes.clone();
        let seen = engine.view.of(engine.history.messages(), &|image| eyes(model, image));
        if let Some((count, why)) = seen.hidden.filter(|_| !engine.view.told) {
            engine.view.told = true;
            let images = if count == 1 { "1 image".to_owned() } else { format!("{count} images") };
            let text = format!("{why}; {images} of this conversation left out of what it is sent");
            engine.emitter.emit(EventKind::Notice {
                level: NoticeLevel::Warning,
                code: "images_left_out",
                text,
            });
        }
        let settings = &engine.settings;
        let request = Request {
            model,
            system: settings.system.as_ref(),
            tools: engine.toolbox.specs(),
            messages: &seen.messages,
            max_tokens: settings.max_tokens,
            temperature: settings.temperature,
            effort: settings.effort,
            delivery: settings.delivery,
        };
        engine.emitter.idle();
        if let Some(stop) = engine.emitter.stop() {
            return Err(Cut::Stopped(stop));
        }
        let mut stream = self.control.until(engine.provider.stream(&request)).await?.map_err(Cut::Failed)?;
        while let Some(chunk) = self.next_chunk(&mut stream).await? {
            if let Some(shown) = assembly.push(chunk?).map_err(Cut::Failed)? {
                self.emit(shown);
            }
            if let Some(stop) = self.engine.emitter.stop() {
                return Err(Cut::Stopped(stop));
            }
        }
        Ok(())
    }

    /// Waits for the next chunk. Before it really has to wait, it lets the outlet write out what it holds; an outlet
    /// whose reader is gone is found out there and waits for nothing more.
    ///
    /// A provider hands its chunks over one by one, so that the stream often has to be asked twice although more has
    /// arrived already. Only when the second answer is "not yet", too, there is really something to wait for: a
    /// burst of deltas is then one write, and a slow stream still writes each of them at once.
    async fn next_chunk(&mut self, stream: &mut ChunkStream) -> Result<Option<Result<Chunk, Cut>>, Cut> {
        let emitter = &mut self.engine.emitter;
        let mut asked_twice = false;
        let polled = poll_fn(|cx| match stream.as_mut().poll_next(cx) {
            Poll::Ready(chunk) => Poll::Ready(Ok(chunk)),
            Poll::Pending if !asked_twice => {
                asked_twice = true;
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Poll::Pending => {
                emitter.idle();
                match emitter.stop() {
                    Some(stop) => Poll::Ready(Err(Cut::Stopped(stop))),
                    None => Poll::Pending,
                }
            }
        });
        Ok(self.control.until(polled).await??.map(|chunk| chunk.map_err(Cut::Failed)))
    }

    /// Takes a complete reply into the conversation.
    fn keep(&mut self, reply: Reply) -> StopReason {
        self.requests += 1;
        self.engine.crew.answered();
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
        let (eyes, model, nest) = (engine.eyes.clone(), engine.settings.model.clone(), engine.nest());
        let mut dispatch = Dispatch {
            toolbox: &*engine.toolbox,
            policy: &mut engine.policy,
            modes: &engine.modes,
            hooks: engine.hooks.as_deref(),
            said: Vec::new(),
            halt: None,
            interrupted: false,
            clock: &*engine.clock,
            emitter: &mut engine.emitter,
            control: &mut self.control,
            sees: &|image| eyes(&model, image),
            live: engine.settings.live_output,
            crew: &engine.crew,
            nest,
            granted: &mut engine.granted,
            order: engine.settings.order,
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
        if let Some(stop) = self.engine.emitter.stop() {
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

    /// Says how the turn ended, in the events that belong to it.
    fn close(&mut self, ended: Result<StopReason, Cut>, unsighted: Option<String>) -> Outcome {
        match ended {
            Ok(stop) => {
                if let Some((code, text)) = remark(&stop, self.text.is_empty()) {
                    self.emit(EventKind::Notice { level: NoticeLevel::Warning, code, text });
                }
                if !self.text.is_empty() {
                    self.emit(EventKind::AssistantFinal { text: self.text.clone() });
                }
                Outcome::Completed(stop)
            }
            Err(Cut::Cancelled(cause @ CancelCause::Deadline)) => {
                let text = "The time for this command is over (`--timeout`)".into();
                self.emit(EventKind::Notice { level: NoticeLevel::Error, code: "timeout", text });
                Outcome::Cancelled(cause)
            }
            Err(Cut::Limit(Reached { kind, text })) => {
                self.emit(EventKind::Notice { level: NoticeLevel::Error, code: kind.as_str(), text });
                Outcome::Limit(kind)
            }
            Err(Cut::Cancelled(cause)) => {
                self.emit(EventKind::Interrupted);
                Outcome::Cancelled(cause)
            }
            Err(Cut::Failed(failure)) => {
                self.emit(EventKind::Error { failure: failure.clone() });
                if let Some(text) = unsighted {
                    self.emit(EventKind::Notice { level: NoticeLevel::Warning, code: "images_sent", text });
                }
                Outcome::Failed(failure)
            }
            Err(Cut::Stopped(Stop::OutputClosed)) => Outcome::OutputClosed,
            Err(Cut::Stopped(Stop::NotSaved(why))) => Outcome::NotSaved(why),
        }
    }

    /// Returns what may be behind a refused request: images, sent to a model of which nobody knows whether it sees.
    fn unsighted(&self, cut: &Cut) -> Option<String> {
        let Cut::Failed(ProviderFailure { status: Some(400..=422 | 500..=501), .. }) = cut else {
            return None;
        };
        let engine = &*self.engine;
        let model = &engine.settings.model;
        let unknown = |image: &Image| (engine.eyes)(model, image) == Sight::Unknown;
        let mut images = engine.history.messages().iter().flat_map(|message| message.images());
        images.any(unknown).then(|| {
            let provider = engine.provider.name();
            format!(
                "The request had an image, and it is not known whether `{model}` sees images. If it does not, say \
                 `images = false` in a table `[models.\"{provider}:{model}\"]` of the config file"
            )
        })
    }

    pub(crate) fn emit(&mut self, kind: EventKind) {
        self.engine.emitter.emit(kind);
    }
}

/// Says what can still be done about a conversation that is too long however much of it is left out.
fn too_long(failure: ProviderFailure) -> ProviderFailure {
    let message = format!(
        "the conversation is too long for the model, and cannot be made shorter; start a new session or use a model \
         with a larger context window ({})",
        failure.message
    );
    ProviderFailure { message, ..failure }
}

/// What a person should know about the way a reply ended (NET-10, L-7).
fn remark(stop: &StopReason, empty: bool) -> Option<(&'static str, String)> {
    let (code, text) = match stop {
        StopReason::MaxTokens => {
            ("max_tokens", "The reply was cut off at the token limit (`max_tokens`)".into())
        }
        StopReason::Refusal => ("refusal", "The model refused to answer".into()),
        StopReason::ContentFilter => ("content_filter", "The provider withheld the answer".into()),
        StopReason::ContextWindow => {
            ("context_window_exceeded", "The conversation no longer fits the model's context window".into())
        }
        StopReason::Other(name) => {
            ("unknown_stop", format!("The model stopped for an unknown reason: {name}"))
        }
        StopReason::EndTurn | StopReason::ToolUse | StopReason::StopSequence | StopReason::Pause if empty => {
            ("empty_reply", "The model returned an empty reply".into())
        }
        StopReason::EndTurn | StopReason::ToolUse | StopReason::StopSequence | StopReason::Pause => {
            return None;
        }
    };
    Some((code, text))
}
