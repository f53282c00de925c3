//! When hooks are told, and what becomes of what they say.
//!
//! Before a call they are told by `dispatch.rs`, which gives their verdict to the decision; the other moments are here.
//! What a hook says to the model is part of the conversation like what the user says, under a heading that names it.

use std::sync::Arc;

use zori_core::event::{EventKind, NoticeLevel};
use zori_core::hook::{Heard, HookEvent, Hooks, Moment};
use zori_core::message::Block;
use zori_core::outcome::{CancelCause, LimitKind};
use zori_core::provider::StopReason;
use zori_core::render::Sink;
use zori_policy::mode::Protocol;

use crate::control::Control;
use crate::emitter::Emitter;
use crate::engine::Engine;
use crate::limits::Reached;
use crate::turn::{Cut, Turn};

/// So often hooks may keep one turn from ending.
const KEPT_GOING: u32 = 8;

/// What a hook tells the model, on its way into the conversation.
pub(crate) struct Said {
    event: HookEvent,
    text: Arc<str>,
}

impl Said {
    /// Takes what hooks told the model.
    pub(crate) fn all(event: HookEvent, context: Vec<String>) -> impl Iterator<Item = Self> {
        let heading = move |text: String| format!("[{} hook]\n{text}", event.as_str()).into();
        context.into_iter().map(move |text| Self { event, text: heading(text) })
    }
}

/// Tells hooks, and the user what they have to say to him.
pub(crate) async fn tell<S: Sink>(
    hooks: Option<&dyn Hooks>,
    moment: Moment<'_>,
    mode: &str,
    emitter: &mut Emitter<S>,
    control: &mut Control<'_>,
) -> Result<Heard, CancelCause> {
    let Some(hooks) = hooks.filter(|hooks| hooks.listens(&moment)) else { return Ok(Heard::default()) };
    emitter.idle();
    let heard = control.until(hooks.tell(moment, mode)).await?;
    remark(&heard, emitter);
    Ok(heard)
}

fn remark<S: Sink>(heard: &Heard, emitter: &mut Emitter<S>) {
    for remark in &heard.remarks {
        let text = remark.text.clone();
        emitter.emit(EventKind::Notice { level: remark.level, code: "hook", text });
    }
}

impl<S: Sink + 'static> Engine<S> {
    pub(crate) async fn tell_hooks(
        &mut self,
        moment: Moment<'_>,
        control: &mut Control<'_>,
    ) -> Result<Heard, CancelCause> {
        let mode = self.policy.mode.mode.name_in(Protocol::Claude);
        tell(self.shared.hooks.as_deref(), moment, mode, &mut self.shared.emitter, control).await
    }

    /// Tells hooks that the session is over. One in which nothing was said has not begun.
    pub async fn leave(&mut self) {
        let Some(hooks) = self.shared.hooks.clone().filter(|hooks| hooks.listens(&Moment::SessionEnd)) else {
            return;
        };
        if self.begun {
            let mode = self.policy.mode.mode.name_in(Protocol::Claude);
            let heard = hooks.tell(Moment::SessionEnd, mode).await;
            remark(&heard, &mut self.shared.emitter);
            self.shared.emitter.idle();
        }
    }

    /// Returns whether hooks object to making the conversation shorter.
    pub(crate) async fn compaction_blocked(
        &mut self,
        asked: bool,
        focus: Option<&str>,
        control: &mut Control<'_>,
    ) -> Result<bool, CancelCause> {
        let heard = self.tell_hooks(Moment::PreCompact { asked, focus }, control).await?;
        let Some(why) = heard.blocked() else { return Ok(false) };
        let text = format!("A hook keeps the conversation as it is: {why}");
        self.shared.emitter.emit(EventKind::Notice { level: NoticeLevel::Warning, code: "hook", text });
        Ok(true)
    }
}

impl<S: Sink + 'static> Turn<'_, '_, S> {
    /// Tells hooks of the prompt, and before the first one of the session. Returns what they add to it.
    pub(crate) async fn prompted(&mut self, prompt: &str) -> Result<Vec<Said>, Cut> {
        let engine = &mut *self.engine;
        if !engine.begun {
            let (resumed, model) = (engine.resumed, engine.shared.settings.model.clone());
            let moment = Moment::SessionStart { resumed, model: &model };
            let heard = engine.tell_hooks(moment, &mut self.control).await?;
            engine.begun = true;
            // Kept until a prompt is sent that it can go with.
            engine.opening = Said::all(HookEvent::SessionStart, heard.context).collect();
        }
        if engine.kind.is_some() {
            // It is no user who prompts a sub-agent.
            return Ok(Vec::new());
        }
        let heard = engine.tell_hooks(Moment::UserPromptSubmit { prompt }, &mut self.control).await?;
        if let Some(why) = heard.blocked() {
            let text = format!("A hook did not let the prompt pass: {why}");
            return Err(Cut::Limit(Reached { kind: LimitKind::Prompt, text }));
        }
        let opening = std::mem::take(&mut engine.opening).into_iter();
        Ok(opening.chain(Said::all(HookEvent::UserPromptSubmit, heard.context)).collect())
    }

    /// Tells hooks that the model has ended its turn. Returns whether it goes on all the same.
    pub(crate) async fn kept_going(&mut self, stop: &StopReason) -> Result<bool, Cut> {
        if !matches!(stop, StopReason::EndTurn | StopReason::StopSequence) {
            return Ok(false);
        }
        let (text, again) = (self.text.clone(), self.kept > 0);
        let kind = self.engine.kind.clone();
        let (moment, event) = match kind.as_deref() {
            Some(kind) => (Moment::SubagentStop { kind, again, text: &text }, HookEvent::SubagentStop),
            None => (Moment::Stop { again, text: &text }, HookEvent::Stop),
        };
        let heard = self.engine.tell_hooks(moment, &mut self.control).await?;
        let Some(why) = heard.blocked().filter(|_| heard.halt.is_none()) else { return Ok(false) };
        if self.kept == KEPT_GOING {
            let text = format!("Hooks kept the turn going {KEPT_GOING} times; it ends here");
            self.emit(EventKind::Notice { level: NoticeLevel::Warning, code: "hook", text });
            return Ok(false);
        }
        self.kept += 1;
        let said = Said::all(event, vec![why.to_owned()]).collect();
        let blocks = self.say(said);
        self.engine.history.push_user(blocks);
        Ok(true)
    }

    /// Says in events what hooks tell the model, and returns it for the conversation.
    pub(crate) fn say(&mut self, said: Vec<Said>) -> Vec<Block> {
        let say = |Said { event, text }: Said| {
            self.emit(EventKind::HookContext { event, text: text.clone() });
            Block::Text(text.to_string())
        };
        said.into_iter().map(say).collect()
    }
}
