//! Makes room in a conversation that nears its model's window: first older tool outputs are masked, then the older
//! part is summarised by the model, and where that fails it is left out, which is said.
//!
//! What a view looks like is in the child files, which are pure: `mask.rs`, `cut.rs`, `summary.rs`. When it is time
//! is in `context.rs`.

mod cut;
mod mask;
mod summary;

#[cfg(test)]
mod tests;

use std::future::poll_fn;
use std::sync::Arc;

use zori_core::compaction::{CompactCause, Compacted, Compaction, SummaryReply};
use zori_core::cost::Spent;
use zori_core::event::{EventKind, NoticeLevel, Reply};
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::message::Message;
use zori_core::provider::Request;
use zori_core::render::Sink;
use zori_core::tool::ToolSpec;

use crate::assemble::Assembly;
use crate::context::{self, Measured};
use crate::control::Control;
use crate::engine::Engine;
use crate::tries::Tries;
use crate::turn::Cut;
use mask::{Keep, Masked, mask};

/// Automatic compaction waits until the conversation has grown by this much since the last one, in percent: what
/// could not be made small enough once is not tried again with every request.
const GROWN_PERCENT: u64 = 125;

/// When conversations are compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactAt {
    /// At how many percent of the model's window; `None`: only when asked, or when the provider refuses.
    pub percent: Option<u64>,
}

impl CompactAt {
    /// Late enough to be rare, early enough for one more large tool output.
    pub const DEFAULT: Self = Self { percent: Some(80) };
}

/// What compacting a conversation came to, beside the events that tell of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    /// The view is another one.
    Room,
    /// Nothing could be made shorter.
    Nothing,
    /// There is no summary, and nothing else was done.
    Failed,
}

impl<S: Sink + 'static> Engine<S> {
    /// Returns about how many tokens the conversation has.
    pub fn context_tokens(&self) -> u64 {
        self.estimate(self.history.messages())
    }

    /// Returns how many tokens the model in use takes, reply included; `None` where that is not known.
    pub fn context_window(&self) -> Option<u64> {
        (self.shared.windows)(&self.shared.settings.model).map(|window| window.tokens)
    }

    /// Notes what the provider counted for a request and its reply, which is the end of the history now.
    pub(crate) fn measure(&mut self, tokens: u64) {
        if tokens > 0 {
            let bytes = self.bytes(self.history.messages());
            self.measured = Some(Measured { tokens, bytes });
        }
    }

    /// Returns whether it is time to compact.
    pub(crate) fn is_nearly_full(&self) -> bool {
        let Some(limit) = self.limit() else { return false };
        let now = self.context_tokens();
        now >= limit && now >= self.settled.saturating_mul(GROWN_PERCENT) / 100
    }

    /// Makes the conversation shorter. What that used is added to `spent`.
    pub(crate) async fn compact_for(
        &mut self,
        cause: CompactCause,
        focus: Option<&str>,
        control: &mut Control<'_>,
        spent: &mut Spent,
    ) -> Result<Made, Cut> {
        let asked = cause == CompactCause::Asked;
        let made = match self.compaction_blocked(asked, focus, control).await? {
            true => Ok(Made::Failed),
            false => self.make_room(cause, focus, control, spent).await,
        };
        self.settled = self.context_tokens();
        made
    }

    /// Takes the last compaction back.
    pub(crate) fn undo(&mut self) -> bool {
        let before = self.context_tokens();
        let undone = self.history.undo();
        if undone {
            self.settled = self.context_tokens();
            self.tell(Compacted::Undone, CompactCause::Asked, before, None);
        }
        undone
    }

    async fn make_room(
        &mut self,
        cause: CompactCause,
        focus: Option<&str>,
        control: &mut Control<'_>,
        spent: &mut Spent,
    ) -> Result<Made, Cut> {
        let messages = self.history.messages().to_vec();
        let before = self.estimate(&messages);
        // With three quarters of the limit there is room for a while. A conversation that was refused is too long
        // whatever we think of it.
        let limit = self.limit().unwrap_or(before);
        let goal = match cause {
            CompactCause::Refused => (limit / 4 * 3).min(before / 2),
            CompactCause::NearlyFull | CompactCause::Asked => limit / 4 * 3,
        };
        if cause != CompactCause::Asked {
            for keep in [Keep::Turn, Keep::Newest] {
                let Masked { view, results } = mask(&messages, keep);
                if results > 0 && self.estimate(&view) <= goal {
                    self.replace(view, Compacted::Masked { results }, cause, before, None);
                    return Ok(Made::Room);
                }
            }
        }
        let Masked { view: masked, results } = mask(&messages, Keep::Newest);
        // As much is kept as it is, but no more than a quarter, or there would be little to gain.
        let budget = (context::bytes_of(goal) / 4).min(context::size(&masked) / 4);
        let Some(at) = cut::split(&masked, budget) else {
            if results == 0 || cause == CompactCause::Asked {
                return Ok(Made::Nothing);
            }
            self.replace(masked, Compacted::Masked { results }, cause, before, None);
            return Ok(Made::Room);
        };
        let failure = match self
            .summarise(&messages[..at], focus, context::bytes_of(goal / 2), control, spent)
            .await
        {
            Ok(reply) => {
                let view = cut::replace(&masked, at, summary::note(&reply.message.text()));
                if context::size(&view) < context::size(&messages) {
                    let reply = SummaryReply { model: reply.model, usage: reply.usage };
                    self.replace(view, Compacted::Summarised { messages: at }, cause, before, Some(reply));
                    return Ok(Made::Room);
                }
                ProviderFailure::new(FailureKind::Parse, "it is longer than what it would replace")
            }
            Err(Cut::Failed(failure)) => failure,
            Err(cut) => return Err(cut),
        };
        let text = format!("The conversation could not be summarised: {}", failure.message);
        self.shared.emitter.emit(EventKind::Notice {
            level: NoticeLevel::Warning,
            code: "summary_failed",
            text,
        });
        if cause == CompactCause::Asked {
            return Ok(Made::Failed);
        }
        let enough = if cause == CompactCause::Refused { before / 4 * 3 } else { limit };
        if results > 0 && self.estimate(&masked) < enough {
            self.replace(masked, Compacted::Masked { results }, cause, before, None);
        } else {
            let view = cut::replace(&masked, at, summary::note_without_summary(at));
            self.replace(view, Compacted::Dropped { messages: at }, cause, before, None);
        }
        Ok(Made::Room)
    }

    /// Asks the model for a summary of these messages, trying again while that is safe. Nothing of it is shown.
    async fn summarise(
        &mut self,
        messages: &[Arc<Message>],
        focus: Option<&str>,
        max: u64,
        control: &mut Control<'_>,
        spent: &mut Spent,
    ) -> Result<Reply, Cut> {
        let question = [Arc::new(Message::user(summary::question(messages, focus, max)))];
        let mut tries = Tries::default();
        loop {
            let failure = match self.summary(&question, control, spent).await {
                Err(Cut::Failed(failure)) => failure,
                Ok(reply) if reply.message.text().trim().is_empty() => {
                    return Err(Cut::Failed(ProviderFailure::new(
                        FailureKind::Parse,
                        "the model said nothing",
                    )));
                }
                other => return other,
            };
            self.try_again(&mut tries, failure, control).await?;
        }
    }

    async fn summary(
        &mut self,
        question: &[Arc<Message>],
        control: &mut Control<'_>,
        spent: &mut Spent,
    ) -> Result<Reply, Cut> {
        let model = self.shared.settings.model.clone();
        let (system, tools): (Arc<str>, Arc<[ToolSpec]>) = (summary::SYSTEM.into(), Arc::default());
        let request = Request {
            model: &model,
            system: Some(&system),
            tools: &tools,
            messages: question,
            max_tokens: self.shared.settings.max_tokens,
            temperature: None,
            effort: None,
            delivery: self.shared.settings.delivery,
        };
        self.shared.emitter.idle();
        if let Some(stop) = self.shared.emitter.stop() {
            return Err(Cut::Stopped(stop));
        }
        // A summary calls no tools, so no id is made up for one.
        let mut assembly = Assembly::new(model.clone(), String::new(), 0, self.shared.crew.clone());
        let mut stream = control.until(self.shared.provider.stream(&request)).await?.map_err(Cut::Failed)?;
        let mut broken = None;
        while let Some(chunk) = control.until(poll_fn(|cx| stream.as_mut().poll_next(cx))).await? {
            if let Err(failure) = chunk.and_then(|chunk| assembly.push(chunk)) {
                broken = Some(failure);
                break;
            }
        }
        *spent += self.pay(assembly.usage());
        if let Some(failure) = broken {
            return Err(Cut::Failed(failure));
        }
        assembly.finish().ok_or_else(|| {
            let text = "the provider ended the reply without saying so";
            Cut::Failed(ProviderFailure::new(FailureKind::Transport, text))
        })
    }

    pub(crate) fn replace(
        &mut self,
        view: Vec<Arc<Message>>,
        how: Compacted,
        cause: CompactCause,
        before: u64,
        summary: Option<SummaryReply>,
    ) {
        self.history.replace(view);
        self.tell(how, cause, before, summary);
    }

    fn tell(&mut self, how: Compacted, cause: CompactCause, before: u64, summary: Option<SummaryReply>) {
        let (after, window) = (self.context_tokens(), self.context_window());
        let view = self.history.messages().into();
        let compaction = Compaction { how, cause, before, after, window, view, summary };
        self.shared.emitter.emit(EventKind::ContextCompacted(compaction));
    }

    /// Returns from how many tokens on the conversation is compacted; `None` where nobody can say.
    fn limit(&self) -> Option<u64> {
        let percent = self.shared.settings.compact_at.percent?;
        Some((self.shared.windows)(&self.shared.settings.model)?.limit(percent))
    }

    fn estimate(&self, messages: &[Arc<Message>]) -> u64 {
        context::estimate(self.measured, self.bytes(messages))
    }

    fn bytes(&self, messages: &[Arc<Message>]) -> u64 {
        context::head_size(self.shared.settings.system.as_deref(), self.shared.toolbox.specs())
            + context::size(messages)
    }
}
