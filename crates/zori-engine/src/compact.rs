//! Shortens a conversation that nears the model's context window. First it masks older tool outputs and cuts those that are
//! longer than half the window; then it asks the model to summarise the older messages; if that fails it leaves them out and
//! emits a notice. Whatever comes of it is made to fit, so that no conversation is stuck (`fit`).
//!
//! The child files build the views and are pure: `mask.rs`, `cut.rs`, `older.rs`, `summary.rs`. `context.rs` measures
//! lengths.

mod cut;
mod mask;
mod older;
mod summary;

#[cfg(test)]
mod tests;

use std::future::poll_fn;
use std::path::Path;
use std::sync::Arc;

use zori_core::compaction::{CompactCause, Compacted, Compaction, SummaryReply};
use zori_core::cost::Spent;
use zori_core::event::{Notice, NoticeLevel, Reply, StateEvent};
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::message::Message;
use zori_core::provider::Request;
use zori_core::render::Sink;
use zori_core::tool::ToolSpec;

use crate::assemble::Assembly;
use crate::context::{self, TokenCount};
use crate::control::Control;
use crate::engine::Engine;
use crate::retry::RetryCounts;
use crate::turn::TurnAbort;
use crate::unusable_reply;
use cut::Shortened;
use mask::{Keep, Masked, mask};

/// Automatic compaction waits until the conversation has grown by this much since the last one, in percent: what
/// could not be made small enough once is not tried again with every request.
const GROWTH_PERCENT: u64 = 125;

/// When a conversation is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactAt {
    /// The share of the context window in percent; `None` compacts only on request, or when the provider refuses.
    pub percent: Option<u64>,
}

impl CompactAt {
    /// 80 percent: late enough to be rare, early enough for one more large tool output.
    pub const DEFAULT: Self = Self { percent: Some(80) };
}

/// The result of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompactOutcome {
    /// A shorter view replaced the conversation.
    Shortened,
    /// There was nothing to shorten.
    Unchanged,
    /// The summary failed or a hook objected; the conversation is unchanged.
    Failed,
}

impl<S: Sink + 'static> Engine<S> {
    /// Estimates the tokens of the conversation.
    pub fn context_tokens(&self) -> u64 {
        self.estimate(self.history.messages())
    }

    /// Returns the context window of the current model in tokens, reply included, if it is known.
    pub fn context_window(&self) -> Option<u64> {
        (self.shared.models.windows)(&self.shared.settings.model).map(|window| window.tokens)
    }

    /// Records the token count of a request and its reply, which are the whole history at this point.
    pub(crate) fn measure(&mut self, tokens: u64) {
        if tokens > 0 {
            let bytes = self.bytes(self.history.messages());
            self.measured = Some(TokenCount { tokens, bytes });
        }
    }

    /// Returns whether the conversation should be compacted.
    pub(crate) fn should_compact(&self) -> bool {
        let Some(limit) = self.limit() else { return false };
        let now = self.context_tokens();
        now >= limit && now >= self.compacted_tokens.saturating_mul(GROWTH_PERCENT) / 100
    }

    /// Cuts results where the next request would not fit the window at all, although the conversation was compacted not long
    /// ago: one result can be longer than what was left.
    pub(crate) fn cut_to_window(&mut self) {
        let window = (self.shared.models.windows)(&self.shared.settings.model);
        let (Some(limit), Some(window)) = (self.limit(), window) else { return };
        let before = self.context_tokens();
        if before < window.limit(100) {
            return;
        }
        let made =
            cut::cut_to_fit(self.history.messages(), self.record(), |view| self.estimate(view) <= limit);
        if let Some(Shortened { view, results }) = made {
            self.replace(view, Compacted::Cut { results }, CompactCause::NearlyFull, before, None);
        }
    }

    /// Compacts the conversation, and adds the cost to `spent`.
    pub(crate) async fn compact_with(
        &mut self,
        cause: CompactCause,
        focus: Option<&str>,
        control: &mut Control<'_>,
        spent: &mut Spent,
    ) -> Result<CompactOutcome, TurnAbort> {
        let asked = cause == CompactCause::Asked;
        let made = match self.compaction_blocked(asked, focus, control).await? {
            true => Ok(CompactOutcome::Failed),
            false => self.shorten(cause, focus, control, spent).await,
        };
        self.compacted_tokens = self.context_tokens();
        made
    }

    /// Undoes the last compaction. Returns whether there was one.
    pub(crate) fn undo(&mut self) -> bool {
        let before = self.context_tokens();
        let undone = self.history.undo(self.saved.as_ref());
        self.history.read_through(&*self.shared.toolbox);
        if undone {
            self.compacted_tokens = self.context_tokens();
            self.emit_compaction(Compacted::Undone, CompactCause::Asked, before, None);
        }
        undone
    }

    async fn shorten(
        &mut self,
        cause: CompactCause,
        focus: Option<&str>,
        control: &mut Control<'_>,
        spent: &mut Spent,
    ) -> Result<CompactOutcome, TurnAbort> {
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
                    return Ok(CompactOutcome::Shortened);
                }
            }
        }
        let Masked { view: masked, results } = mask(&messages, Keep::Newest);
        // What has to be reached for the next request to go through.
        let enough = if cause == CompactCause::Refused { before / 4 * 3 } else { limit };
        // One result may be longer than all that is left.
        let half = usize::try_from(context::bytes_of(goal) / 2).unwrap_or(usize::MAX);
        let Shortened { view: base, results: cut } = cut::cut(&masked, half, self.record());
        if cause != CompactCause::Asked && cut > 0 && self.estimate(&base) <= goal {
            self.replace(base, Compacted::Cut { results: cut }, cause, before, None);
            return Ok(CompactOutcome::Shortened);
        }
        // At most a quarter is kept as it is, or there would be little to gain.
        let budget = (context::bytes_of(goal) / 4).min(context::size(&base) / 4);
        let Some(at) = older::split(&base, budget).or_else(|| self.split_all(&base, enough)) else {
            return Ok(self.shorten_results(cause, before, goal));
        };
        let failure = match self
            .summarise(&messages[..at], focus, context::bytes_of(goal / 2), control, spent)
            .await
        {
            Ok(reply) => {
                let note = summary::note(&reply.message.text());
                let (view, at) = self.fit(&base, at, note, enough);
                if context::size(&view) < context::size(&messages) {
                    let reply = SummaryReply { model: reply.model, usage: reply.usage };
                    self.replace(view, Compacted::Summarised { messages: at }, cause, before, Some(reply));
                    return Ok(CompactOutcome::Shortened);
                }
                ProviderFailure::new(FailureKind::Parse, "it is longer than what it would replace")
            }
            Err(TurnAbort::Failed(failure)) => failure,
            Err(abort) => return Err(abort),
        };
        let text = format!("The conversation could not be summarised: {}", failure.message);
        self.shared.emitter.emit(Notice { level: NoticeLevel::Warning, code: "summary_failed", text });
        if cause == CompactCause::Asked {
            return Ok(match self.shorten_results(cause, before, goal) {
                CompactOutcome::Unchanged => CompactOutcome::Failed,
                made => made,
            });
        }
        if results > 0 && self.estimate(&masked) < enough {
            self.replace(masked, Compacted::Masked { results }, cause, before, None);
        } else {
            let (view, at) = self.fit(&base, at, summary::note_without_summary(at), enough);
            self.replace(view, Compacted::Dropped { messages: at }, cause, before, None);
        }
        Ok(CompactOutcome::Shortened)
    }

    /// Returns where to split a conversation whose last round alone is too long, for the call itself rather than for what it
    /// returned: behind that round.
    fn split_all(&self, base: &[Arc<Message>], enough: u64) -> Option<usize> {
        let fits = |view: &[Arc<Message>]| self.estimate(view) <= enough;
        let cut = cut::cut_to_fit(base, None, fits);
        let needed = !fits(cut.as_ref().map_or(base, |cut| cut.view.as_slice()));
        // Where the prompts alone are too long, nothing is gained by losing the rest.
        let all_left_out = || older::replace_with_note(base, base.len(), String::new());
        let helps = || fits(&older::without_skills(&all_left_out()));
        if needed && helps() { older::all(base) } else { None }
    }

    /// Shortens what tools returned, where there is nothing to summarise: older outputs are masked, long ones cut.
    fn shorten_results(&mut self, cause: CompactCause, before: u64, goal: u64) -> CompactOutcome {
        let messages = self.history.messages().to_vec();
        let Masked { view: masked, results } = mask(&messages, Keep::Newest);
        // Whoever asks wants it shorter, however much of the window is left.
        let goal = if cause == CompactCause::Asked { goal.min(before / 2) } else { goal };
        if results > 0 && self.estimate(&masked) <= goal {
            self.replace(masked, Compacted::Masked { results }, cause, before, None);
            return CompactOutcome::Shortened;
        }
        match cut::cut_to_fit(&masked, self.record(), |view| self.estimate(view) <= goal) {
            Some(Shortened { view, results }) => {
                self.replace(view, Compacted::Cut { results }, cause, before, None);
            }
            None if results > 0 => self.replace(masked, Compacted::Masked { results }, cause, before, None),
            None => return CompactOutcome::Unchanged,
        }
        CompactOutcome::Shortened
    }

    /// Returns the view in which the messages before `at` are replaced by a note, made to fit: what follows is cut, then
    /// left out as well, then skills are, and then the first prompt is cut. Returns how many messages the note stands for, too.
    fn fit(&self, base: &[Arc<Message>], at: usize, note: String, goal: u64) -> (Vec<Arc<Message>>, usize) {
        let fits = |view: &[Arc<Message>]| self.estimate(view) <= goal;
        let view = older::replace_with_note(base, at, note.clone());
        if fits(&view) {
            return (view, at);
        }
        if let Some(Shortened { view, .. }) = cut::cut_to_fit(&view, self.record(), fits)
            && fits(&view)
        {
            return (view, at);
        }
        // Where the last prompt alone is too much, leaving the last round out would not help.
        let without = older::replace_with_note(base, base.len(), note);
        match fits(&without) {
            true => (without, base.len()),
            false => {
                let without = older::without_skills(&without);
                if fits(&without) {
                    return (without, base.len());
                }
                let most = usize::try_from(context::bytes_of(goal) / 4).unwrap_or(usize::MAX);
                let shortened = older::cut_first_prompt(&without, most);
                if fits(&shortened) { (shortened, base.len()) } else { (view, at) }
            }
        }
    }

    /// Asks the model for a summary of the messages, with retries. None of it is shown.
    async fn summarise(
        &mut self,
        messages: &[Arc<Message>],
        focus: Option<&str>,
        max: u64,
        control: &mut Control<'_>,
        spent: &mut Spent,
    ) -> Result<Reply, TurnAbort> {
        if let Some(why) = self.budget_refuses() {
            return Err(TurnAbort::Failed(ProviderFailure::new(FailureKind::Internal, why)));
        }
        let question = [Arc::new(Message::user(summary::question(messages, focus, max)))];
        let mut retries = RetryCounts::default();
        loop {
            let failure = match self.summary(&question, control, spent).await {
                Err(TurnAbort::Failed(failure)) => failure,
                Ok(reply) if reply.message.text().trim().is_empty() => {
                    return Err(TurnAbort::Failed(ProviderFailure::new(
                        FailureKind::Parse,
                        "the model said nothing",
                    )));
                }
                other => return other,
            };
            self.wait_for_retry(&mut retries, failure, control).await?;
        }
    }

    async fn summary(
        &mut self,
        question: &[Arc<Message>],
        control: &mut Control<'_>,
        spent: &mut Spent,
    ) -> Result<Reply, TurnAbort> {
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
            return Err(TurnAbort::Stopped(stop));
        }
        // A summary calls no tools, so no id is made up for one.
        let mut assembly = Assembly::new(
            model.clone(),
            String::new(),
            0,
            self.shared.registry.clone(),
            self.shared.settings.leniency,
        );
        let mut stream =
            control.until(self.shared.provider.stream(&request)).await?.map_err(TurnAbort::Failed)?;
        let mut broken = None;
        while let Some(chunk) = control.until(poll_fn(|cx| stream.as_mut().poll_next(cx))).await? {
            if let Err(failure) = chunk.and_then(|chunk| assembly.push(chunk)) {
                broken = Some(failure);
                break;
            }
        }
        *spent += self.charge(assembly.usage());
        if let Some(failure) = broken {
            return Err(TurnAbort::Failed(failure));
        }
        let (reply, _) = assembly.finish().ok_or_else(|| {
            let text = "the provider ended the reply without saying so";
            TurnAbort::Failed(ProviderFailure::new(FailureKind::Transport, text))
        })?;
        match unusable_reply::fault(&reply) {
            Some(failure) => Err(TurnAbort::Failed(failure)),
            None => Ok(reply),
        }
    }

    pub(crate) fn replace(
        &mut self,
        view: Vec<Arc<Message>>,
        how: Compacted,
        cause: CompactCause,
        before: u64,
        summary: Option<SummaryReply>,
    ) {
        self.history.replace(view, self.saved.as_ref());
        self.emit_compaction(how, cause, before, summary);
    }

    fn emit_compaction(
        &mut self,
        how: Compacted,
        cause: CompactCause,
        before: u64,
        summary: Option<SummaryReply>,
    ) {
        let (after, window) = (self.context_tokens(), self.context_window());
        let view = self.history.messages().into();
        let compaction = Compaction { how, cause, before, after, window, view, summary };
        self.shared.emitter.emit(StateEvent::ContextCompacted(compaction));
    }

    /// Returns the file that keeps the whole conversation.
    fn record(&self) -> Option<&Path> {
        self.saved.as_ref().map(|saved| saved.file.as_path())
    }

    /// Returns the length in tokens at which the conversation is compacted, if the window is known.
    fn limit(&self) -> Option<u64> {
        let percent = self.shared.settings.compact_at.percent?;
        Some((self.shared.models.windows)(&self.shared.settings.model)?.limit(percent))
    }

    fn estimate(&self, messages: &[Arc<Message>]) -> u64 {
        context::estimate(self.measured, self.bytes(messages))
    }

    fn bytes(&self, messages: &[Arc<Message>]) -> u64 {
        context::head_size(self.shared.settings.system.as_deref(), self.shared.toolbox.specs())
            + context::size(messages)
    }
}
