//! Requests one reply of the model and assembles it, with retries while nothing of it has run (FOR-13).

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use zori_core::compaction::CompactCause;
use zori_core::event::{CALL_REASON, MessageEvent, Notice, NoticeLevel, PROVIDER_STATUS, Reply};
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::message::{Block, Message, ToolCall};
use zori_core::provider::{Chunk, ChunkStream, Request};
use zori_core::render::Sink;
use zori_core::tool::Leniency;
use zori_core::transport::Timeouts;

use super::waiting::ProviderWait;
use super::{Turn, TurnAbort};
use crate::assemble::Assembly;
use crate::engine::Engine;
use crate::reprompt::Mistakes;

/// How often a request is made again of which words were shown.
const MAX_RETRIES_AFTER_WORDS: u32 = 2;

/// A request that did not end in a reply.
struct FailedAttempt {
    abort: TurnAbort,
    /// Whether words of the model were shown.
    said: bool,
    /// What arrived of the reply, if any of it was shown.
    partial: Option<Reply>,
}

/// How often a conversation that is refused for its length is made shorter for one request. Each time it is halved.
const MAX_COMPACTIONS: u32 = 2;

impl<S: Sink + 'static> Turn<'_, '_, S> {
    /// Requests one reply, and retries while that is safe. A conversation that the provider refuses for its length is
    /// compacted and sent once more, as long as it gets shorter.
    pub(super) async fn request_reply(&mut self) -> Result<Reply, TurnAbort> {
        let mut compactions = 0;
        let (mut without_reasoning, mut limited) = (false, false);
        self.retries.request = 0;
        self.mistakes.retried_after_words = 0;
        loop {
            let FailedAttempt { abort, said, partial } = match self.attempt().await {
                Ok(reply) => return Ok(reply),
                Err(failed) => *failed,
            };
            let discarded =
                matches!(&abort, TurnAbort::Failed(failure) if self.is_asked_again(failure, said));
            if let Some(partial) = partial {
                self.show_partial(partial, &abort, discarded);
            }
            let TurnAbort::Failed(failure) = abort else { return Err(abort) };
            if failure.kind == FailureKind::ContextLength && !said {
                if compactions < MAX_COMPACTIONS && self.compact(CompactCause::Refused).await? {
                    compactions += 1;
                    self.check_limits()?;
                    continue;
                }
                return Err(TurnAbort::Failed(too_long(failure)));
            }
            if said && !discarded {
                return Err(TurnAbort::Failed(failure));
            }
            self.mistakes.retried_after_words += u32::from(said);
            if failure.kind == FailureKind::Parse && discarded {
                self.mistakes.retried_broken = true;
                let text = "The reply could not be read; it is asked for once more".to_owned();
                self.emit(Notice { level: NoticeLevel::Warning, code: "broken_reply", text });
                continue;
            }
            if failure.kind == FailureKind::Reasoning
                && !std::mem::replace(&mut without_reasoning, true)
                && self.drop_reasoning(&failure)
            {
                continue;
            }
            if failure.reply_limit.is_some() && !std::mem::replace(&mut limited, true) {
                self.lower_reply_limit(&failure);
                continue;
            }
            match self.engine.wait_for_retry(&mut self.retries, failure, &mut self.control).await {
                Err(TurnAbort::Failed(failure)) if self.use_fallback_model(&failure) => {
                    self.retries.request = 0
                }
                tried => tried?,
            }
        }
    }

    /// Takes the reasoning out of the conversation that the provider does not take back. Returns whether there was any.
    fn drop_reasoning(&mut self, failure: &ProviderFailure) -> bool {
        let has_reasoning = |block: &Block| match block {
            Block::Thinking(_) => true,
            Block::ToolCall(call) => call.replay.is_some(),
            Block::Text(_) | Block::Image(_) | Block::ToolResult(_) => false,
        };
        let engine = &mut *self.engine;
        if !engine.history.messages().iter().any(|message| message.blocks.iter().any(has_reasoning)) {
            return false;
        }
        engine.history.revise(|message| {
            if !message.blocks.iter().any(has_reasoning) {
                return message.clone();
            }
            let blocks = message.blocks.iter().filter_map(|block| match block {
                Block::Thinking(_) => None,
                Block::ToolCall(call) => Some(Block::ToolCall(ToolCall { replay: None, ..call.clone() })),
                other => Some(other.clone()),
            });
            Arc::new(Message { role: message.role, blocks: blocks.collect() })
        });
        let text = format!(
            "The provider does not take the reasoning of this conversation back ({}); it goes on without it",
            failure.message
        );
        engine.notice(NoticeLevel::Warning, "reasoning_dropped", text);
        true
    }

    /// Takes the reply limit that the provider named.
    fn lower_reply_limit(&mut self, failure: &ProviderFailure) {
        let Some(limit) = failure.reply_limit else { return };
        let engine = &mut *self.engine;
        let model = engine.shared.settings.model.clone();
        engine.notice(
            NoticeLevel::Info,
            "reply_limit",
            format!("`{model}` gives replies of at most {limit} tokens; that is what it is asked for"),
        );
        engine.set_max_tokens(Some(limit));
    }

    /// Returns whether a reply that broke off is asked for again, though part of it may have been shown: nothing of it has
    /// run (FOR-13). One with an event that cannot be read, once in a turn.
    fn is_asked_again(&self, failure: &ProviderFailure, said: bool) -> bool {
        let Mistakes { broken, retried_broken, retried_after_words, .. } = self.mistakes;
        if self.engine.shared.settings.leniency == Leniency::Exact
            || said && retried_after_words == MAX_RETRIES_AFTER_WORDS
        {
            return false;
        }
        if failure.kind == FailureKind::Parse {
            return broken && !retried_broken && self.engine.shared.settings.retry.per_request > 0;
        }
        let mut counts = self.retries;
        counts.next(&self.engine.shared.settings.retry, failure, 0).is_some()
    }

    /// Shows what arrived of a reply that broke off.
    fn show_partial(&mut self, partial: Reply, abort: &TurnAbort, discarded: bool) {
        self.count(partial.usage);
        self.text = partial.message.text().into();
        self.keep_partial_reply(abort);
        self.emit(MessageEvent::MessageFinished(Reply { discarded, ..partial }));
    }

    /// Switches to the fallback model, if there is one and the current model is unavailable. Returns whether it did.
    fn use_fallback_model(&mut self, failure: &ProviderFailure) -> bool {
        let engine = &mut *self.engine;
        let (model, max_tokens) = (engine.shared.settings.model.clone(), engine.shared.settings.max_tokens);
        let other = engine.shared.settings.fallback.clone();
        let Some(other) = other.filter(|other| *other != model && is_unavailable(failure)) else {
            return false;
        };
        let text =
            format!("`{model}` is not available ({}); this turn goes on with `{other}`", failure.message);
        engine.notice(NoticeLevel::Warning, "fallback_model", text);
        let limit = (engine.shared.models.reply_limits)(&other);
        engine.set_max_tokens(limit);
        engine.set_model(&other);
        engine.fallback_from = Some((model, max_tokens));
        true
    }

    /// Sends the request once.
    async fn attempt(&mut self) -> Result<Reply, Box<FailedAttempt>> {
        let model = self.engine.shared.settings.model.clone();
        let (prefix, generated) = (self.engine.call_id_prefix(), self.engine.generated_ids);
        let leniency = self.engine.shared.settings.leniency;
        let mut assembly =
            Assembly::new(model.clone(), prefix, generated, self.engine.shared.registry.clone(), leniency);
        let abort = match self.receive(&model, &mut assembly).await {
            Ok(()) if assembly.is_complete() => {
                self.engine.generated_ids = assembly.generated_ids();
                let (reply, repaired) = assembly.finish().expect("a complete reply has its end");
                self.repaired.extend(repaired);
                return Ok(reply);
            }
            Ok(()) => {
                let text = "the provider ended the reply without saying so";
                TurnAbort::Failed(ProviderFailure::new(FailureKind::Transport, text))
            }
            Err(abort) => abort,
        };
        let (visible, said) = (assembly.visible(), assembly.has_text());
        // A stream that contradicts itself is no accident.
        self.mistakes.broken = assembly.begun() && !assembly.contradicts();
        if visible {
            // Events have mentioned the ids, so no other call may get them.
            self.engine.generated_ids = assembly.generated_ids();
        } else {
            assembly.release_ids();
        }
        let partial = if visible { assembly.partial() } else { None };
        Err(Box::new(FailedAttempt { abort, said, partial }))
    }

    async fn receive(&mut self, model: &str, assembly: &mut Assembly) -> Result<(), TurnAbort> {
        let engine = &mut *self.engine;
        let image_support = engine.shared.models.image_support.clone();
        let filtered =
            engine.image_filter.filter(engine.history.messages(), &|image| image_support(model, image));
        if let Some((count, why)) = filtered.hidden.filter(|_| !engine.image_filter.notified) {
            engine.image_filter.notified = true;
            let images = if count == 1 { "1 image".to_owned() } else { format!("{count} images") };
            let text = format!("{why}; {images} of this conversation left out of what it is sent");
            engine.shared.emitter.emit(Notice { level: NoticeLevel::Warning, code: "images_left_out", text });
        }
        let settings = &engine.shared.settings;
        let request = Request {
            model,
            system: settings.system.as_ref(),
            tools: engine.shared.toolbox.specs_for(model),
            messages: &filtered.messages,
            max_tokens: settings.max_tokens,
            temperature: settings.temperature,
            effort: settings.effort,
            delivery: settings.delivery,
        };
        engine.shared.emitter.emit(MessageEvent::RequestStarted);
        engine.shared.emitter.idle();
        if let Some(stop) = engine.shared.emitter.stop() {
            return Err(TurnAbort::Stopped(stop));
        }
        let Timeouts { connect, first_byte, .. } = settings.waits;
        let mut wait = ProviderWait::new(first_byte.map(|limit| limit + connect.unwrap_or_default()));
        let (mut starting, emitter) = (engine.shared.provider.stream(&request), &mut engine.shared.emitter);
        let started = poll_fn(|cx| {
            let started = starting.as_mut().poll(cx);
            if started.is_pending() {
                wait.poll(cx, emitter);
            }
            started
        });
        let started = self.control.until(started).await?;
        drop(starting);
        let mut stream = started.map_err(TurnAbort::Failed)?;
        while let Some(chunk) = self.next_chunk(&mut stream).await? {
            match chunk? {
                Chunk::Status(text) => {
                    self.emit(Notice { level: NoticeLevel::Info, code: PROVIDER_STATUS, text });
                }
                Chunk::CallReason(text) => {
                    self.emit(Notice { level: NoticeLevel::Info, code: CALL_REASON, text });
                }
                chunk => {
                    if let Some(shown) = assembly.push(chunk).map_err(TurnAbort::Failed)? {
                        self.emit(shown);
                    }
                }
            }
            if let Some(stop) = self.engine.shared.emitter.stop() {
                return Err(TurnAbort::Stopped(stop));
            }
        }
        Ok(())
    }

    /// Waits for the next chunk. Before it has to wait, it lets the sink write out what it holds; a sink whose reader is
    /// gone ends the wait.
    ///
    /// A provider yields its chunks one by one, so a stream often has to be polled twice although more has arrived. Only
    /// if the second poll is pending as well does it wait: a burst of deltas is then one write, and a slow stream still
    /// writes each of them at once.
    async fn next_chunk(
        &mut self,
        stream: &mut ChunkStream,
    ) -> Result<Option<Result<Chunk, TurnAbort>>, TurnAbort> {
        let mut wait = ProviderWait::new(self.engine.shared.settings.waits.idle);
        let emitter = &mut self.engine.shared.emitter;
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
                wait.poll(cx, emitter);
                match emitter.stop() {
                    Some(stop) => Poll::Ready(Err(TurnAbort::Stopped(stop))),
                    None => Poll::Pending,
                }
            }
        });
        Ok(self.control.until(polled).await??.map(|chunk| chunk.map_err(TurnAbort::Failed)))
    }
}

impl<S: Sink + 'static> Engine<S> {
    /// Switches back from the fallback model.
    pub(super) fn restore_model(&mut self) {
        if let Some((model, max_tokens)) = self.fallback_from.take() {
            self.set_max_tokens(max_tokens);
            self.set_model(&model);
        }
    }
}

/// Returns whether the failure means that the model is unavailable to everyone at the moment: it is overloaded, or a
/// gateway cannot reach it (`docs/contracts/claude-protocol.md`).
fn is_unavailable(failure: &ProviderFailure) -> bool {
    matches!(failure.status, Some(502..=504 | 529))
}

/// Adds to the failure what the user can do about a conversation that compaction cannot shorten enough.
fn too_long(failure: ProviderFailure) -> ProviderFailure {
    let message = format!(
        "the conversation is too long for the model, and cannot be made shorter; start a new session or use a model \
         with a larger context window ({})",
        failure.message
    );
    ProviderFailure { message, ..failure }
}
