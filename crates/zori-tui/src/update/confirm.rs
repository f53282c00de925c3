//! Keys for a question of the chat itself.

use std::time::Duration;

use super::Effect;
use crate::confirm::{Confirm, What};
use crate::keymap::{Action, Bound};
use crate::keys::{Key, KeyCode};
use crate::state::State;

/// Gives a key to the open question; returns whether it was for it. `last`: when the key before it came.
pub(super) fn takes(state: &mut State, last: Option<Duration>, key: Key, effects: &mut Vec<Effect>) -> bool {
    let (now, empty) = (state.now, state.composer.is_empty());
    // Nobody answers what there is no room for.
    if state.tab.is_none() && crate::chat::is_tiny(state.size) {
        return false;
    }
    let Some(confirm) = state.confirm.as_mut().filter(|confirm| confirm.takes_keys(now, last, empty)) else {
        return false;
    };
    let yes = match (key.code, state.options.keymap.find(&[key])) {
        (_, Bound::Action(Action::Tab)) => {
            confirm.entered = !confirm.entered;
            return true;
        }
        (_, Bound::Action(Action::Submit | Action::Escape | Action::Interrupt)) => false,
        (KeyCode::Char('y' | 'Y'), Bound::Nothing) => true,
        (KeyCode::Char('n' | 'N'), Bound::Nothing) => false,
        _ => {
            confirm.entered = false;
            return false;
        }
    };
    answer(state, yes, effects);
    true
}

/// Enter with words in the composer while the question is open; returns whether they answered it. What is no answer stays where it is.
pub(super) fn typed(state: &mut State, effects: &mut Vec<Effect>) -> bool {
    if state.confirm.is_none() {
        return false;
    }
    let yes = match state.composer.buffer.text().trim().to_lowercase().as_str() {
        "y" | "yes" => true,
        "n" | "no" => false,
        _ => {
            state.say("answer y or n first; Tab goes to the question");
            return true;
        }
    };
    state.composer.buffer.clear();
    answer(state, yes, effects);
    true
}

/// Answers the open question with no; returns whether there was one.
pub(super) fn refuse(state: &mut State, effects: &mut Vec<Effect>) -> bool {
    let open = state.confirm.is_some();
    answer(state, false, effects);
    open
}

fn answer(state: &mut State, yes: bool, effects: &mut Vec<Effect>) {
    if let Some(confirm) = state.confirm.take() {
        effects.push(Effect::Confirmed { what: confirm.what, yes });
    }
}

/// Asks whether a line goes into the project's guidelines (CMP-6).
pub(super) fn ask_guideline(state: &mut State, line: &str) {
    let text = "Add this line to AGENTS.md? [y/N]".to_owned();
    state.confirm = Some(Confirm::new(What::Guideline(line.to_owned()), text));
}
