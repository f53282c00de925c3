//! The end of a chat: the draft is kept, the terminal given back, the session closed.

use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_tui::update::Effect;

use super::{Left, Screen, greeting};
use crate::chat::Chat;
use crate::chat::server_chat;
use crate::plain::Advice;

impl Screen<'_, '_> {
    /// Ends the chat, or this part of it. Dying of a hang-up is left to the caller, who may have something to clear away.
    pub(super) fn end(mut self) -> Result<Left, Failure> {
        let draft = self.display.state.draft();
        self.outside.run(&mut self.display, Effect::Keep(draft));
        // A program that has the terminal ends with the chat.
        self.outside.errand = None;
        self.display.release();
        let spent = self.spent();
        let Self { chat, display, said, exit, outer: mut ui, again, .. } = self;
        let ending = display.ending;
        let gone = display.gone;
        drop(display);
        let Chat { cx, signals, plain, .. } = chat;
        std::mem::swap(cx.ui, &mut ui);
        for line in said.take().lines() {
            cx.ui.say(line);
        }
        let again = again.filter(|_| ending.is_none() && !gone);
        let session = plain.session();
        if session.is_saved() && session.totals().turns > 0 && !gone && again.is_none() {
            cx.ui.say(&greeting::farewell(session, spent, cx.profile.name));
        }
        if again.is_none() {
            signals.leave();
        }
        // A chat that goes on elsewhere is not closed.
        if let Some(words) = again.is_none().then(|| server_chat::terminate(&plain)).flatten() {
            cx.ui.warn(&words);
        }
        plain.close(cx.ui, Advice::default());
        Ok(match (ending, again) {
            (Some(_), _) => Left::Over(Exit::Terminated),
            (None, Some(again)) => Left::Again(Box::new(again)),
            (None, None) => Left::Over(exit),
        })
    }
}
