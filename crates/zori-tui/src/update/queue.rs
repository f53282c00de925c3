//! What is sent: at once, into the running turn, or when it is over.

use zori_core::input::{Input, Prompt};

use super::{Effect, keys, screen_command};
use crate::commands::{guideline, is_command, is_doubled};
use crate::state::State;

/// Enter: sends what was typed, or queues it while a turn runs.
pub(super) fn submit(state: &mut State, effects: &mut Vec<Effect>) {
    state.completion = None;
    if state.answers_in_words() {
        return super::question::answer_in_words(state, effects);
    }
    if !state.composer.is_empty() && super::confirm::typed(state, effects) {
        return;
    }
    if state.composer.buffer.text().trim().is_empty() && state.composer.buffer.images() == 0 {
        // One that is about to end does not let them go before that is seen.
        state.queue.held &= is_stopping(state);
        if state.turn.is_none() {
            next(state, effects);
        }
        return;
    }
    let prompt = state.composer.take();
    if state.turn.is_none() {
        return send(state, prompt, effects);
    }
    match runs_now(state, &prompt.text) {
        true => send(state, prompt, effects),
        false => wait_in_queue(state, prompt),
    }
}

/// Puts a message at the end of the queue. Of a command it is said that it waits, because others do not.
pub fn wait_in_queue(state: &mut State, prompt: Prompt) {
    let word = first_word(&prompt.text);
    if let Some(command) = state.options.commands.iter().find(|known| known.is_called(word) && !known.brought)
    {
        state.say(format!("{} waits for the end of the turn", command.name));
    }
    // Whoever adds to the queue wants it to go on.
    state.queue.held &= is_stopping(state);
    state.queue.items.push_back(prompt);
}

fn is_stopping(state: &State) -> bool {
    state.turn.as_ref().is_some_and(|turn| turn.stopped.is_some())
}

/// Returns whether a line is done while a turn runs, and not queued.
fn runs_now(state: &State, text: &str) -> bool {
    if is_shell(text) {
        return true;
    }
    if text.trim_end() == ":q" {
        return true;
    }
    match state.options.commands.iter().find(|command| command.is_called(first_word(text))) {
        Some(command) => !command.waits,
        // One that does not exist is said so at once.
        None => is_command(&state.options.commands, text),
    }
}

/// Returns whether a line is a command of the user's own.
fn is_shell(text: &str) -> bool {
    text.starts_with('!') && !text.starts_with("!!!") && !text.trim_end().trim_start_matches('!').is_empty()
}

/// Tab in a turn: what was typed, or the head of the queue, goes into it; an answer to a question goes where Enter sends it.
pub(super) fn steer(state: &mut State, effects: &mut Vec<Effect>) {
    // An answer to a question is for whoever asked, and for nobody else.
    if state.answers_in_words() {
        return submit(state, effects);
    }
    let prompt = match state.composer.is_empty() {
        true => state.queue.items.pop_front(),
        false => Some(state.composer.take()),
    };
    let Some(prompt) = prompt else { return };
    if runs_now(state, &prompt.text) {
        return send(state, prompt, effects);
    }
    let text = prompt.text.trim_end();
    let told = state.options.commands.iter().any(|known| known.is_called(first_word(text)));
    if !prompt.images.is_empty() || told || guideline(text).is_some() {
        // These cannot go into a turn.
        state.queue.items.push_front(prompt);
        return state.say("That waits for the end of the turn");
    }
    let text = if is_doubled(text) { text[1..].to_owned() } else { prompt.text };
    state.queue.steered.push_back(text.clone());
    effects.push(Effect::Input(Input::Steer(text)));
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

/// The model reads what was sent into the turn.
pub(super) fn read(state: &mut State, text: &str) {
    if let Some(at) = state.queue.steered.iter().position(|steered| steered == text) {
        state.queue.steered.remove(at);
    }
}

/// The turn is over, and what the model never read of it is next.
pub(super) fn take_back_steered(state: &mut State) {
    while let Some(text) = state.queue.steered.pop_back() {
        state.queue.items.push_front(text.into());
    }
}

/// Up on nothing: the newest message comes back into the composer.
pub(super) fn edit_newest(state: &mut State) {
    if let Some(prompt) = state.queue.items.pop_back() {
        state.composer.set(&prompt.text);
        for image in prompt.images {
            state.composer.attach(image);
        }
    }
}

/// Moves the newest message, or the one that the key before this moved, by one place.
pub(super) fn reorder(state: &mut State, moved: Option<usize>, by: isize) {
    let Some(last) = state.queue.items.len().checked_sub(1) else { return };
    let at = moved.unwrap_or(last).min(last);
    let to = at.saturating_add_signed(by).min(last);
    state.queue.items.swap(at, to);
    state.queue.moving = Some(to);
}

/// The way is free: the next message goes out, unless they are held. One of which nothing comes leaves the way to those behind it.
pub(super) fn next(state: &mut State, effects: &mut Vec<Effect>) {
    while !state.queue.held
        && let Some(prompt) = state.queue.items.pop_front()
    {
        state.queue.moving = state.queue.moving.and_then(|at| at.checked_sub(1));
        let before = effects.len();
        send(state, prompt, effects);
        if effects.len() > before || state.confirm.is_some() {
            return;
        }
    }
}

/// Sends a line: a command, or a prompt.
pub(super) fn send(state: &mut State, prompt: Prompt, effects: &mut Vec<Effect>) {
    let text = prompt.text.trim_end();
    let chooses = state.options.commands.iter().find(|command| command.chooses && command.is_called(text));
    if let Some(name) = chooses.map(|command| command.name) {
        return keys::choose(state, name, effects);
    }
    if text.starts_with('/') && screen_command::run(state, text, effects) {
        return;
    }
    if let Some(line) = guideline(text) {
        return super::confirm::ask_guideline(state, line);
    }
    match text.as_bytes() {
        _ if is_doubled(text) => {
            let text = text[1..].to_owned();
            effects.push(Effect::Prompt(Prompt { text, ..prompt }));
        }
        [b'/', ..] if is_command(&state.options.commands, text) => {
            effects.push(Effect::Command(text.to_owned()));
        }
        b":q" => {
            super::leave::stop(state, effects);
            effects.push(Effect::Leave);
        }
        [b'!', b'!', rest @ ..] if !rest.is_empty() => {
            effects.push(Effect::Shell { command: text[2..].trim().to_owned(), share: false });
        }
        [b'!', rest @ ..] if !rest.is_empty() => {
            effects.push(Effect::Shell { command: text[1..].trim().to_owned(), share: true });
        }
        _ => effects.push(Effect::Prompt(prompt)),
    }
}
