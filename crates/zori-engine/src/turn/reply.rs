//! One reply of the model: a request, what streams back, and the same again while that is safe.

use std::future::poll_fn;
use std::task::Poll;

use zori_core::compaction::CompactCause;
use zori_core::event::{EventKind, NoticeLevel, Reply};
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::provider::{Chunk, ChunkStream, Request};
use zori_core::render::Sink;

use super::{Cut, Turn};
use crate::assemble::Assembly;
use crate::engine::Engine;

impl<S: Sink + 'static> Turn<'_, '_, S> {
    /// Gets one reply, trying again while that is safe. A conversation that the provider finds too long is compacted
    /// and sent once more, and only once.
    pub(super) async fn ask(&mut self) -> Result<Reply, Cut> {
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
            match self.engine.try_again(&mut self.tries, failure, &mut self.control).await {
                Err(Cut::Failed(failure)) if self.fall_back(&failure) => self.tries.request = 0,
                tried => tried?,
            }
        }
    }

    /// Goes on with the fallback model, where there is one and the failure is about the one in use. Returns whether it does.
    fn fall_back(&mut self, failure: &ProviderFailure) -> bool {
        let engine = &mut *self.engine;
        let (model, max_tokens) = (engine.shared.settings.model.clone(), engine.shared.settings.max_tokens);
        let other = engine.shared.settings.fallback.clone();
        let Some(other) = other.filter(|other| *other != model && is_unavailable(failure)) else {
            return false;
        };
        let text =
            format!("`{model}` is not available ({}); this turn goes on with `{other}`", failure.message);
        engine.remark(NoticeLevel::Warning, "fallback_model", text);
        let limit = (engine.shared.agents.reply)(&other);
        engine.set_max_tokens(limit);
        engine.set_model(&other);
        engine.replaced = Some((model, max_tokens));
        true
    }

    /// Sends the request once. An error says whether any of the answer was shown.
    async fn attempt(&mut self) -> Result<Reply, (Cut, bool)> {
        let model = self.engine.shared.settings.model.clone();
        let (maker, made) = (self.engine.call_maker(), self.engine.made_calls);
        let mut assembly = Assembly::new(model.clone(), maker, made, self.engine.shared.crew.clone());
        let cut = match self.receive(&model, &mut assembly).await {
            Ok(()) => {
                self.engine.made_calls = assembly.made();
                match assembly.finish() {
                    Some(reply) => return Ok(reply),
                    None => {
                        let text = "the provider ended the reply without saying so";
                        return Err((Cut::Failed(ProviderFailure::new(FailureKind::Transport, text)), true));
                    }
                }
            }
            Err(cut) => cut,
        };
        let visible = assembly.visible();
        if visible {
            // Somebody may have seen the ids, so no other call gets them.
            self.engine.made_calls = assembly.made();
        } else {
            assembly.forget_ids();
        }
        if visible && let Some(partial) = assembly.partial() {
            self.count(partial.usage);
            self.text = partial.message.text().into();
            self.keep_cut(&cut);
            self.emit(EventKind::MessageFinished(partial));
        }
        Err((cut, visible))
    }

    async fn receive(&mut self, model: &str, assembly: &mut Assembly) -> Result<(), Cut> {
        let engine = &mut *self.engine;
        let eyes = engine.shared.eyes.clone();
        let seen = engine.view.of(engine.history.messages(), &|image| eyes(model, image));
        if let Some((count, why)) = seen.hidden.filter(|_| !engine.view.told) {
            engine.view.told = true;
            let images = if count == 1 { "1 image".to_owned() } else { format!("{count} images") };
            let text = format!("{why}; {images} of this conversation left out of what it is sent");
            engine.shared.emitter.emit(EventKind::Notice {
                level: NoticeLevel::Warning,
                code: "images_left_out",
                text,
            });
        }
        let settings = &engine.shared.settings;
        let request = Request {
            model,
            system: settings.system.as_ref(),
            tools: engine.shared.toolbox.specs(),
            messages: &seen.messages,
            max_tokens: settings.max_tokens,
            temperature: settings.temperature,
            effort: settings.effort,
            delivery: settings.delivery,
        };
        engine.shared.emitter.emit(EventKind::RequestStarted);
        engine.shared.emitter.idle();
        if let Some(stop) = engine.shared.emitter.stop() {
            return Err(Cut::Stopped(stop));
        }
        let mut stream =
            self.control.until(engine.shared.provider.stream(&request)).await?.map_err(Cut::Failed)?;
        while let Some(chunk) = self.next_chunk(&mut stream).await? {
            if let Some(shown) = assembly.push(chunk?).map_err(Cut::Failed)? {
                self.emit(shown);
            }
            if let Some(stop) = self.engine.shared.emitter.stop() {
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
                match emitter.stop() {
                    Some(stop) => Poll::Ready(Err(Cut::Stopped(stop))),
                    None => Poll::Pending,
                }
            }
        });
        Ok(self.control.until(polled).await??.map(|chunk| chunk.map_err(Cut::Failed)))
    }
}

impl<S: Sink + 'static> Engine<S> {
    /// Goes back to the model that the fallback took the place of.
    pub(super) fn restore_model(&mut self) {
        if let Some((model, max_tokens)) = self.replaced.take() {
            self.set_max_tokens(max_tokens);
            self.set_model(&model);
        }
    }
}

/// Returns whether the model cannot answer at the moment, whoever asks (`stream-json.md` 4.7: overloaded, and gateways that
/// have nobody to ask).
fn is_unavailable(failure: &ProviderFailure) -> bool {
    matches!(failure.status, Some(502..=504 | 529))
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
