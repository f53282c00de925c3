//! Fires hooks, and handles their responses.
//!
//! `dispatch.rs` fires those around a call, whose verdict is part of the decision; the others are fired here. Text from a
//! hook enters the conversation as user text, under a heading that names the event.

use std::sync::Arc;

use zori_core::event::{Notice, NoticeLevel, TurnEvent};
use zori_core::hook::{HookEvent, HookInput, HookResponse, Hooks};
use zori_core::message::Block;
use zori_core::outcome::{CancelCause, LimitKind};
use zori_core::provider::StopReason;
use zori_core::render::Sink;
use zori_policy::mode::Protocol;

use crate::control::Control;
use crate::emitter::Emitter;
use crate::engine::Engine;
use crate::limits::LimitReached;
use crate::turn::{Turn, TurnAbort};

/// How often hooks may keep one turn from ending.
const MAX_HOOK_CONTINUATIONS: u32 = 8;

/// Text from a hook for the conversation.
#[derive(Clone)]
pub(crate) struct HookMessage {
    event: HookEvent,
    text: Arc<str>,
}

impl HookMessage {
    /// A note that comes from no hook.
    pub(crate) fn note(text: String) -> Self {
        Self { event: HookEvent::UserPromptSubmit, text: text.into() }
    }

    /// Puts each text under a heading that names the event.
    pub(crate) fn from_context(event: HookEvent, context: Vec<String>) -> impl Iterator<Item = Self> {
        let heading = move |text: String| format!("[{} hook]\n{text}", event.as_str()).into();
        context.into_iter().map(move |text| Self { event, text: heading(text) })
    }
}

/// Fires the hooks of an event, and emits their messages for the user.
pub(crate) async fn fire<S: Sink>(
    hooks: Option<&dyn Hooks>,
    input: HookInput<'_>,
    mode: &str,
    emitter: &mut Emitter<S>,
    control: &mut Control<'_>,
) -> Result<HookResponse, CancelCause> {
    let Some(hooks) = hooks.filter(|hooks| hooks.wants(&input)) else { return Ok(HookResponse::default()) };
    emitter.idle();
    let response = control.until(hooks.fire(input, mode)).await?;
    emit_notices(&response, emitter);
    Ok(response)
}

fn emit_notices<S: Sink>(response: &HookResponse, emitter: &mut Emitter<S>) {
    for notice in &response.notices {
        let text = notice.text.clone();
        emitter.emit(Notice { level: notice.level, code: "hook", text });
    }
}

impl<S: Sink + 'static> Engine<S> {
    pub(crate) async fn fire_hooks(
        &mut self,
        input: HookInput<'_>,
        control: &mut Control<'_>,
    ) -> Result<HookResponse, CancelCause> {
        let mode = self.policy.mode.mode.name_in(Protocol::Claude);
        fire(self.shared.hooks.as_deref(), input, mode, &mut self.shared.emitter, control).await
    }

    /// Fires the `SessionEnd` hooks, unless the session never had a prompt.
    pub async fn fire_session_end(&mut self) {
        let Some(hooks) = self.shared.hooks.clone().filter(|hooks| hooks.wants(&HookInput::SessionEnd))
        else {
            return;
        };
        if self.hooks_started {
            let mode = self.policy.mode.mode.name_in(Protocol::Claude);
            let response = hooks.fire(HookInput::SessionEnd, mode).await;
            emit_notices(&response, &mut self.shared.emitter);
            self.shared.emitter.idle();
        }
    }

    /// Fires the `PreCompact` hooks. Returns whether one of them blocks the compaction.
    pub(crate) async fn compaction_blocked(
        &mut self,
        asked: bool,
        focus: Option<&str>,
        control: &mut Control<'_>,
    ) -> Result<bool, CancelCause> {
        let response = self.fire_hooks(HookInput::PreCompact { asked, focus }, control).await?;
        let Some(why) = response.block_reason() else { return Ok(false) };
        let text = format!("A hook keeps the conversation as it is: {why}");
        self.shared.emitter.emit(Notice { level: NoticeLevel::Warning, code: "hook", text });
        Ok(true)
    }
}

impl<S: Sink + 'static> Turn<'_, '_, S> {
    /// Fires the hooks of a prompt, and before the first one those of the session. Returns the text they add to it.
    pub(crate) async fn fire_prompt_hooks(&mut self, prompt: &str) -> Result<Vec<HookMessage>, TurnAbort> {
        let engine = &mut *self.engine;
        if !engine.hooks_started {
            let (resumed, model) = (engine.resumed, engine.shared.settings.model.clone());
            let input = HookInput::SessionStart { resumed, model: &model };
            let response = engine.fire_hooks(input, &mut self.control).await?;
            engine.hooks_started = true;
            // Kept until a prompt is accepted.
            let context = HookMessage::from_context(HookEvent::SessionStart, response.context);
            engine.start_messages.extend(context);
        }
        if engine.kind.is_some() {
            // A sub-agent is not prompted by the user.
            return Ok(Vec::new());
        }
        let response = engine.fire_hooks(HookInput::UserPromptSubmit { prompt }, &mut self.control).await?;
        if let Some(why) = response.block_reason() {
            let text = format!("A hook did not let the prompt pass: {why}");
            return Err(TurnAbort::Limit(LimitReached { kind: LimitKind::Prompt, text }));
        }
        let start_messages = std::mem::take(&mut engine.start_messages);
        self.carried.clone_from(&start_messages);
        Ok(start_messages
            .into_iter()
            .chain(HookMessage::from_context(HookEvent::UserPromptSubmit, response.context))
            .collect())
    }

    /// Fires the hooks for the end of a turn. Returns whether they keep the turn going.
    pub(crate) async fn fire_stop_hooks(&mut self, stop: &StopReason) -> Result<bool, TurnAbort> {
        if !matches!(stop, StopReason::EndTurn | StopReason::StopSequence) {
            return Ok(false);
        }
        let (text, again) = (self.text.clone(), self.hook_continuations > 0);
        let kind = self.engine.kind.clone();
        let (input, event) = match kind.as_deref() {
            Some(kind) => (HookInput::SubagentStop { kind, again, text: &text }, HookEvent::SubagentStop),
            None => (HookInput::Stop { again, text: &text }, HookEvent::Stop),
        };
        let response = self.engine.fire_hooks(input, &mut self.control).await?;
        let Some(why) = response.block_reason().filter(|_| response.halt.is_none()) else { return Ok(false) };
        if self.hook_continuations == MAX_HOOK_CONTINUATIONS {
            let text = format!("Hooks kept the turn going {MAX_HOOK_CONTINUATIONS} times; it ends here");
            self.emit(Notice { level: NoticeLevel::Warning, code: "hook", text });
            return Ok(false);
        }
        self.hook_continuations += 1;
        let hook_messages = HookMessage::from_context(event, vec![why.to_owned()]).collect();
        let blocks = self.hook_blocks(hook_messages);
        self.engine.history.push_user(blocks);
        Ok(true)
    }

    /// Emits the texts of hooks as events, and returns them as blocks for the conversation.
    pub(crate) fn hook_blocks(&mut self, hook_messages: Vec<HookMessage>) -> Vec<Block> {
        let block = |HookMessage { event, text }: HookMessage| {
            self.emit(TurnEvent::HookContext { event, text: text.clone() });
            Block::Text(text.to_string())
        };
        hook_messages.into_iter().map(block).collect()
    }
}
