//! Completion while somebody types.

use super::{Effect, FindRequest, queue};
use crate::completion::{self, Completion, Item, Subject};
use crate::state::State;

/// Looks anew at what could be meant.
pub(super) fn refresh(state: &mut State, effects: &mut Vec<Effect>) {
    let wanted = match state.hides_typing() {
        // Nobody is asked what a secret may mean.
        true => None,
        false => completion::wanted(&state.composer.buffer, &state.options.commands),
    };
    let Some(wanted) = wanted else {
        state.completion = None;
        return;
    };
    match &wanted.subject {
        Subject::Command => {
            let list = completion::of_commands(&state.options.commands, &wanted);
            state.completion = Some(list).filter(|list| !list.items.is_empty());
        }
        subject => {
            effects.push(Effect::Find(match subject {
                Subject::Argument(command) => FindRequest::Argument {
                    command,
                    word: wanted.word.clone(),
                    everywhere: state.completion.as_ref().is_some_and(|list| list.everywhere),
                },
                _ => FindRequest::Files(wanted.word.clone()),
            }));
            let same = state.completion.take().filter(|list| list.subject == wanted.subject);
            let (everywhere, all) = same.as_ref().map_or((false, 0), |list| (list.everywhere, list.all));
            let items = same.as_ref().map_or_else(Vec::new, |list| list.items.clone());
            let of = same.map_or(0, |list| list.of);
            state.completion = Some(Completion {
                subject: wanted.subject,
                range: wanted.range,
                items,
                of,
                chosen: 0,
                pending: true,
                everywhere,
                all,
                by_command: false,
            });
        }
    }
}

/// What the outside found.
pub(super) struct Found {
    pub(super) items: Vec<Item>,
    pub(super) of: usize,
    pub(super) all: usize,
    /// More may be found.
    pub(super) pending: bool,
}

/// What was still being looked for may be found now.
pub(super) fn again(state: &mut State, effects: &mut Vec<Effect>) {
    if state.completion.as_ref().is_some_and(|list| list.pending) {
        refresh(state, effects);
    }
}

/// The outside found something; it counts if it is still asked for.
pub(super) fn found(state: &mut State, word: &str, found: Found, effects: &mut Vec<Effect>) {
    let Found { items, of, all, pending } = found;
    let Some(wanted) = completion::wanted(&state.composer.buffer, &state.options.commands) else { return };
    let Some(list) = &mut state.completion else { return };
    if wanted.word == word && wanted.subject == list.subject {
        // Enter on a list that only opened changes nothing.
        let now = items.iter().position(|item| item.text == state.facts.model);
        list.items = items;
        list.of = of;
        list.all = all;
        list.chosen = now.filter(|_| list.is_of_models() && word.is_empty()).unwrap_or(0);
        list.pending = pending;
        // Where others may be in other folders, the list stays and says how to see them.
        if list.items.is_empty() && !pending && !(list.is_of_sessions() && (list.everywhere || all > of)) {
            let asked = list.by_command;
            state.completion = None;
            if asked {
                // Why there is nothing to choose from, the command knows.
                let line = state.composer.buffer.text().trim_end().to_owned();
                state.composer.buffer.clear();
                effects.push(Effect::Command(line));
            }
        }
    }
}

/// Tab: takes what is chosen.
pub(super) fn accept(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(list) = state.completion.take_if(|list| !is_stale(list)) else { return };
    let Some(item) = list.item() else { return };
    let text = match list.subject {
        Subject::Command if item.args.is_empty() => item.text.clone(),
        Subject::Command => format!("{} ", item.text),
        Subject::Argument(_) => item.text.clone(),
        Subject::File => completion::mention(&item.text),
    };
    state.composer.buffer.replace(list.range.clone(), &text);
    if text.ends_with(' ') && list.subject != Subject::File {
        refresh(state, effects);
    }
}

/// Enter: takes what is chosen, and runs it if it is a command. Returns whether that was all.
pub(super) fn accept_and_run(state: &mut State, effects: &mut Vec<Effect>) -> bool {
    let Some(list) = state.completion.take() else { return false };
    let Some(item) = list.item().filter(|_| !is_stale(&list)) else { return false };
    match list.subject {
        Subject::File => {
            state.composer.buffer.replace(list.range.clone(), &completion::mention(&item.text));
            return true;
        }
        Subject::Command | Subject::Argument(_) => {
            state.composer.buffer.replace(list.range.clone(), &item.text.clone());
            // What ends in a blank is half of an argument: the other half is chosen next.
            match item.text.ends_with(' ') {
                true => refresh(state, effects),
                false => queue::submit(state, effects),
            }
        }
    }
    true
}

/// Returns whether what is listed was meant by what was typed before: somebody else is still being asked.
fn is_stale(list: &Completion) -> bool {
    list.pending && matches!(list.subject, Subject::Argument(_))
}
