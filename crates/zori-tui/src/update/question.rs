//! Questions: keys that answer them, and those that do not (SAF-1 to SAF-4).

use std::time::Duration;

use zori_core::ids::CallId;
use zori_core::input::{Approval, Input};

use super::{Effect, leave};
use crate::keymap::{Action, Bound};
use crate::keys::{Key, KeyCode, Mods};
use crate::pager::Pager;
use crate::question::{Arranged, Asked, ModelWords, QuestionKey};
use crate::row::Row;
use crate::state::{Phase, State};

/// A question came.
pub(super) fn asked(state: &mut State, mut asked: Asked, effects: &mut Vec<Effect>) {
    asked.mode.clone_from(&state.facts.mode);
    if let Some(turn) = &mut state.turn {
        turn.phase = Phase::Asking;
    }
    if state.is_unwatched() {
        effects.push(Effect::Notify(format!("{} wants to go on", asked.question.tool)));
    }
    state.questions.push_back(asked);
}

/// Gives a key to the open question; returns whether it was for it. `last`: when the key before it came.
pub(super) fn takes(state: &mut State, last: Option<Duration>, key: Key, effects: &mut Vec<Effect>) -> bool {
    let (now, empty) = (state.now, state.composer.is_empty());
    let hidden = hidden_rows(state);
    let Some(asked) = state.questions.front_mut() else { return false };
    if !asked.takes_keys(now, last, empty) {
        return false;
    }
    let action = match state.options.keymap.find(&[key]) {
        Bound::Action(action) => Some(action),
        Bound::Prefix | Bound::Nothing => None,
    };
    match (key.code, key.mods, action) {
        (_, _, Some(Action::Interrupt)) => {
            leave::interrupt(state, effects);
            return true;
        }
        (_, _, Some(Action::Tab)) => {
            asked.entered = !asked.entered;
            return true;
        }
        (_, _, Some(Action::Escape)) => answer(state, Approval::Reject { reason: None }, effects),
        (_, _, Some(Action::Submit)) if asked.choice().is_some() => {
            // A field of a form may stay as it is; whether the form goes out is never left to Enter.
            if !asked.chosen.is_empty() || asked.is_field() {
                let numbers: Vec<String> = asked.chosen.iter().map(|at| (at + 1).to_string()).collect();
                answer_next(state, numbers.join(","), effects);
            }
        }
        (_, _, Some(Action::Left)) if asked.choice().is_none() => asked.step(-1),
        (_, _, Some(Action::Right)) if asked.choice().is_none() => asked.step(1),
        // By itself Enter approves nothing (SAF-3): it explains, until the arrows went elsewhere.
        (_, _, Some(Action::Submit)) => {
            let focused = asked.focused();
            return pressed(state, focused, hidden, effects);
        }
        (KeyCode::Char(c), Mods::NONE, None) => {
            let key = asked.key(c);
            return pressed(state, key, hidden, effects);
        }
        _ => {
            asked.entered = false;
            return false;
        }
    }
    true
}

/// Does what a key of the question means; returns whether it means something.
fn pressed(state: &mut State, key: QuestionKey, hidden: usize, effects: &mut Vec<Effect>) -> bool {
    let shows_offers = shows_offers(state);
    let Some(asked) = state.questions.front_mut() else { return false };
    match key {
        QuestionKey::Once if asked.must_be_read(hidden) => whole(state),
        QuestionKey::Once => answer(state, Approval::Allow, effects),
        QuestionKey::No => answer(state, Approval::Reject { reason: None }, effects),
        QuestionKey::Because => {
            // What was put by for a list is what comes back behind the words.
            let typed = state.composer.buffer.text();
            asked.because = Some(state.put_by.take().map_or(typed, |draft| draft.text()));
            state.composer.buffer.clear();
        }
        QuestionKey::Explain => explain(state, effects),
        QuestionKey::Whole => whole(state),
        QuestionKey::Grant(_) if asked.must_be_read(hidden) || !shows_offers => whole(state),
        QuestionKey::Grant(number) => grant(state, number, effects),
        QuestionKey::Option(at) if asked.choice().is_some_and(|choice| choice.multiple) => {
            match asked.chosen.iter().position(|chosen| *chosen == at) {
                Some(there) => drop(asked.chosen.remove(there)),
                None => asked.chosen.push(at),
            }
            asked.chosen.sort_unstable();
        }
        QuestionKey::Option(at) => answer_next(state, (at + 1).to_string(), effects),
        // It is no answer, so it is text.
        QuestionKey::Nothing => {
            asked.entered = false;
            return false;
        }
    }
    true
}

fn hidden_rows(state: &State) -> usize {
    let Some(asked) = state.questions.front() else { return 0 };
    if state.tab.is_some() {
        return crate::panel::hidden_rows(state);
    }
    match crate::chat::is_tiny(state.size) {
        // There is no room for questions at all.
        true => asked.lines().len().max(1),
        false => arranged(state, asked).hidden,
    }
}

fn arranged(state: &State, asked: &Asked) -> Arranged {
    asked.arranged(state.size.width(), crate::chat::question_room(state), state.questions.len())
}

/// Returns whether the grants are in sight: one that is not cannot be given (SAF-5).
fn shows_offers(state: &State) -> bool {
    let Some(asked) = state.questions.front() else { return false };
    state.tab.is_some() || (!crate::chat::is_tiny(state.size) && arranged(state, asked).offers)
}

/// Explains the call, or takes that away again; the first time a model is asked, too. Where it would push out what is asked about, it has a page
/// of its own.
fn explain(state: &mut State, effects: &mut Vec<Effect>) {
    let hidden = hidden_rows(state);
    let Some(asked) = state.questions.front_mut() else { return };
    if asked.explained && asked.said_on_page {
        return on_a_page(state);
    }
    asked.explained = !asked.explained;
    if asked.explained && asked.said == ModelWords::NotAsked {
        asked.said = ModelWords::Asked;
        effects.push(Effect::Explain { call: asked.call.clone(), question: asked.question.clone() });
    }
    let explained = asked.explained;
    if explained && (!fits(state) || hidden_rows(state) > hidden) {
        on_a_page(state);
    }
}

/// Shows the call and its explanation on a page of their own.
fn on_a_page(state: &mut State) {
    let width = usize::from(state.size.width()).max(1);
    let Some(asked) = state.questions.front_mut() else { return };
    (asked.explained, asked.said_on_page) = (false, false);
    let mut rows = asked.lines();
    rows.push(Row::empty());
    // A page wraps what is too long wherever it ends; words are wrapped between them.
    rows.extend(asked.steps(usize::from(u16::MAX)));
    rows.extend(asked.words(width));
    state.pager = Some(Pager::explanation(rows));
}

/// A model has said what a call does, or that it cannot. It is shown where the explanation is; where it has no room there, `e` shows it.
pub(super) fn explained(state: &mut State, call: &CallId, words: Result<String, String>) {
    let first = state.questions.front().is_some_and(|asked| asked.call == *call);
    let hidden = hidden_rows(state);
    let Some(asked) = state.questions.iter_mut().find(|asked| asked.call == *call) else { return };
    asked.said = match words {
        Ok(words) => ModelWords::Said(words),
        Err(why) => ModelWords::Failed(why),
    };
    let explained = asked.explained;
    if first && state.pager.as_ref().is_some_and(Pager::is_explanation) {
        on_a_page(state);
    } else if first && explained && (!fits(state) || hidden_rows(state) > hidden) {
        // What is being read stays.
        if let Some(asked) = state.questions.front_mut() {
            asked.said_on_page = true;
        }
    }
}

/// Returns whether the question has room for all it says.
fn fits(state: &State) -> bool {
    let Some(asked) = state.questions.front() else { return true };
    if state.tab.is_some() {
        return crate::panel::question_fits(state);
    }
    !asked.explained || arranged(state, asked).explained
}

/// Opens the whole text; at its end `y` approves. A question of the model's is only read there: its answers are no yes.
fn whole(state: &mut State) {
    if let Some(asked) = state.questions.front() {
        let mut rows = asked.lines();
        rows.push(Row::empty());
        state.pager = Some(match asked.choice() {
            Some(_) => Pager::text(rows),
            None => Pager::question(rows, state.now),
        });
    }
}

/// `y` at the end of the whole text.
pub(super) fn approve_read(state: &mut State, effects: &mut Vec<Effect>) {
    if let Some(asked) = state.questions.front_mut() {
        asked.read_whole = true;
        answer(state, Approval::Allow, effects);
    }
}

fn grant(state: &mut State, number: usize, effects: &mut Vec<Effect>) {
    let Some(asked) = state.questions.front() else { return };
    match asked.question.grants.get(number) {
        Some(_) => answer(state, Approval::Grant(number), effects),
        // The last one is the first, for ever.
        None => {
            let rules = asked.question.grants.first().map_or_else(Vec::new, |grant| grant.rules.clone());
            effects.push(Effect::Remember { rules });
            answer(state, Approval::Grant(0), effects);
        }
    }
}

/// Nobody has to answer any more. What was being typed comes back, and a reason that was begun is an older message then (UI-36).
pub(super) fn drop_where(state: &mut State, gone: impl Fn(&Asked) -> bool) {
    let mut drafts = Vec::new();
    state.questions.retain_mut(|asked| {
        let (goes, secret) = (gone(asked), asked.hides_typing());
        if goes {
            drafts.extend(asked.because.take().map(|draft| (draft, secret)));
        }
        !goes
    });
    drafts.iter().for_each(|(draft, secret)| put_reason_away(state, draft, *secret));
}

/// Nobody writes a reason any more: what was being typed before is back.
pub(super) fn put_reason_away(state: &mut State, draft: &str, secret: bool) {
    let reason = state.composer.buffer.text();
    if secret {
        // Nothing of it stays, neither for an undo nor for a yank.
        state.composer.buffer.wipe();
    } else if !reason.trim().is_empty() {
        state.composer.history.put_away(&reason);
    }
    state.composer.set(draft);
}

/// Answers the first question. The next one has a guard of its own.
fn answer(state: &mut State, answer: Approval, effects: &mut Vec<Effect>) {
    let Some(asked) = state.questions.pop_front() else { return };
    if let Some(draft) = asked.because {
        state.composer.set(&draft);
    }
    effects.push(Effect::Input(Input::Approve { call: asked.call, answer }));
}

/// Answers the present question of the model's; the next one follows, or all answers go to the model.
fn answer_next(state: &mut State, text: String, effects: &mut Vec<Effect>) {
    let Some(asked) = state.questions.front_mut() else { return };
    asked.answers.push(text);
    asked.chosen.clear();
    if asked.choice().is_none() {
        let answers = std::mem::take(&mut asked.answers);
        return answer(state, Approval::answers(answers), effects);
    }
    if let Some(draft) = asked.because.take() {
        state.composer.set(&draft);
    }
    // It is another question, which has to be seen before a key answers it (SAF-1).
    asked.drawn = None;
    asked.entered = false;
}

/// Enter behind "no, because", or behind an answer in one's own words.
pub(super) fn answer_in_words(state: &mut State, effects: &mut Vec<Effect>) {
    let reason = state.composer.buffer.text().trim().to_owned();
    match state.hides_typing() {
        true => state.composer.buffer.wipe(),
        false => state.composer.buffer.clear(),
    }
    if let Some(asked) = state.questions.front().filter(|asked| asked.choice().is_some()) {
        return match reason.is_empty() && !asked.is_field() {
            true => answer(state, Approval::Reject { reason: None }, effects),
            false => answer_next(state, reason, effects),
        };
    }
    let reason = (!reason.is_empty()).then_some(reason);
    if let (Some(asked), Some(why)) = (state.questions.front(), &reason) {
        state.transcript.because(&asked.call, why);
    }
    answer(state, Approval::Reject { reason }, effects);
}
