//! Stopping and leaving (KEY-3, KEY-4).

use std::time::Duration;

use zori_core::input::{Approval, Input};
use zori_core::outcome::CancelCause;

use super::Effect;
use crate::state::{Leaving, LeavingKey, State};

/// How soon a key has to come again to leave.
const AGAIN: Duration = Duration::from_secs(2);

/// Ctrl-C: the first that fits.
pub(super) fn interrupt(state: &mut State, effects: &mut Vec<Effect>) {
    if std::mem::take(&mut state.abandoned) {
        return effects.push(Effect::Die);
    }
    if let Some(asked) = state.questions.front() {
        let answer = Approval::Reject { reason: None };
        effects.push(Effect::Input(Input::Approve { call: asked.call.clone(), answer }));
        super::question::drop_where(state, |_| true);
        return stop(state, effects);
    }
    if super::keys::close_list(state) || state.pager.take().is_some() {
        return;
    }
    if state.composer.is_empty() && super::confirm::refuse(state, effects) {
        return;
    }
    if let Some(turn) = &state.turn {
        match (turn.stopped, turn.overdue) {
            (Some(_), true) => effects.push(Effect::Die),
            _ => stop(state, effects),
        }
        return;
    }
    if !state.composer.is_empty() {
        let (draft, images) = (state.composer.buffer.text(), state.composer.buffer.images());
        if !draft.is_empty() {
            state.composer.history.put_away(&draft);
        }
        state.composer.buffer.clear();
        state.several_lines = false;
        state.say(match (images, draft.is_empty()) {
            (0, _) => "Put away; Up brings it back",
            (_, false) => "Put away without its images; Up brings the words back",
            (_, true) => "The images are gone; they can be pasted again",
        });
        return;
    }
    again(state, LeavingKey::CtrlC, "Ctrl-C again leaves", effects);
}

/// Ctrl-D: delete forward, or leave.
pub(super) fn end_of_input(state: &mut State, effects: &mut Vec<Effect>) {
    if !state.composer.is_empty() {
        let at = state.composer.buffer.cursor();
        let end = state.composer.buffer.behind(at);
        state.composer.buffer.delete(at..end);
        return super::keys::edited(state, effects);
    }
    // The end of the input is an answer, and leaves no more than what was asked about (FR-008).
    if super::confirm::refuse(state, effects) {
        return;
    }
    match (state.turn.is_some(), state.queue.items.is_empty()) {
        (false, true) => effects.push(Effect::Leave),
        (true, _) => {
            again(state, LeavingKey::CtrlD, "A turn is running; Ctrl-D again stops it and leaves", effects)
        }
        (false, false) => again(
            state,
            LeavingKey::CtrlD,
            "Messages are queued; Ctrl-D again leaves, and keeps them",
            effects,
        ),
    }
}

fn again(state: &mut State, key: LeavingKey, words: &str, effects: &mut Vec<Effect>) {
    if state.leaving.is_some_and(|leaving| leaving.key == key && state.now < leaving.until) {
        if state.turn.is_some() {
            stop(state, effects);
        }
        effects.push(Effect::Leave);
        return;
    }
    state.leaving = Some(Leaving { key, until: state.now + AGAIN });
    state.say(words);
}

/// Asks the running turn to end. What is queued waits for Enter then.
pub(super) fn stop(state: &mut State, effects: &mut Vec<Effect>) {
    let now = state.now;
    let Some(turn) = &mut state.turn else { return };
    if turn.stopped.is_none() {
        turn.stopped = Some(now);
        state.queue.held = true;
        state.queue.behind_failed = None;
        effects.push(Effect::Input(Input::Cancel(CancelCause::User)));
    }
}
