//! Keys and pastes: to whom they go, and what they do in the composer.

use std::time::Duration;

use super::{Effect, Pasted, complete, confirm, leave, question, queue};
use crate::composer::LONG;
use crate::composer::layout::Layout;
use crate::composer::vim::{Done, Mode};
use crate::keymap::{Action, Bound};
use crate::keys::{Key, KeyCode, Mods};
use crate::state::{Learning, Search, State};
use zori_core::event::NoticeLevel;

/// Keys that come so fast after another are no typing (CMP-2).
const BURST_GAP: Duration = Duration::from_millis(8);
/// So many of them are a paste.
const BURST: usize = 3;
/// So many are a paste that comes in several pieces, between which a terminal takes its time.
const LONG_BURST: usize = 256;
const PIECE_GAP: Duration = Duration::from_millis(60);

/// Returns how long the next key of the same burst may take.
fn burst_gap(state: &State) -> Duration {
    if state.keys.burst >= LONG_BURST { PIECE_GAP } else { BURST_GAP }
}

/// Takes a key.
pub(super) fn key(state: &mut State, key: Key, effects: &mut Vec<Effect>) {
    let before = state.keys.last;
    let fast = before.is_some_and(|before| state.now.saturating_sub(before) <= burst_gap(state));
    if !fast {
        end_burst(state);
    }
    state.keys.burst = if fast { state.keys.burst + 1 } else { 1 };
    state.keys.last = Some(state.now);
    state.given_back = false;
    state.hint = None;
    let alone = state.options.keymap.find(&[key]);
    if !matches!(alone, Bound::Action(Action::Interrupt | Action::EndOfInput)) {
        // It stands between two keys of which the second would have left (KEY-3).
        state.leaving = None;
        state.abandoned = false;
    }
    // In every state (TTY-3).
    let suspends = alone == Bound::Action(Action::Suspend);
    if suspends && state.keys.chord.is_empty() && state.learning.is_none() {
        return effects.push(Effect::Suspend);
    }
    if state.pager.is_some() {
        return super::screen_command::pager_key(state, key, effects);
    }
    match state.learning.take() {
        Some(Learning::Bind(action)) => {
            return super::screen_command::learn(state, action, key, effects);
        }
        Some(Learning::Name) => return super::screen_command::name(state, key),
        None => {}
    }
    if question::takes(state, before, key, effects) || confirm::takes(state, before, key, effects) {
        return;
    }
    if asks_for_keys(state, key, fast) {
        return;
    }
    if state.options.vim
        && state.search.is_none()
        && state.keys.chord.is_empty()
        && vim_key(state, key, effects)
    {
        return;
    }
    if state.keys.chord.is_empty() && super::picker::takes(state, key, effects) {
        return;
    }
    state.keys.chord.push(key);
    let bound = state.options.keymap.find(&state.keys.chord);
    if bound == Bound::Prefix {
        return;
    }
    let chord = std::mem::take(&mut state.keys.chord);
    let before = Before { escaped: state.keys.escaped.take(), moved: state.queue.moving.take() };
    if chord.len() == 1 && state.search.is_some() && search_key(state, key, bound) {
        return;
    }
    match bound {
        Bound::Action(action) => {
            // These three are characters of a paste that nobody brackets.
            if !matches!(action, Action::NewLine | Action::Submit | Action::Tab) {
                end_burst(state);
            }
            act(state, action, &before, effects);
        }
        // A chord that means nothing is not typed; a character without modifiers is.
        Bound::Nothing | Bound::Prefix => {
            if let (1, KeyCode::Char(c), Mods::NONE) =
                (chord.len(), key.code, Mods { shift: false, ..key.mods })
            {
                put_in(state, c.encode_utf8(&mut [0; 4]));
                edited(state, effects);
            }
        }
    }
}

/// `?` on nothing: the list of keys, until the next key, which does what it does; returns whether the key was for it.
fn asks_for_keys(state: &mut State, key: Key, fast: bool) -> bool {
    let question_mark = Mods { shift: false, ..key.mods } == Mods::NONE && key.code == KeyCode::Char('?');
    match std::mem::take(&mut state.shortcuts) {
        // Text that comes so fast is a paste, and the sign was its beginning.
        true if fast => put_in(state, "?"),
        true => return question_mark || key.code == KeyCode::Esc,
        false => {
            let insert = !state.options.vim || state.composer.vim.mode == Mode::Insert;
            let free = state.composer.is_empty() && state.search.is_none() && state.keys.chord.is_empty();
            if question_mark && insert && free && state.options.keymap.find(&[key]) == Bound::Nothing {
                state.shortcuts = true;
                return true;
            }
        }
    }
    false
}

/// Takes pasted text, which answers nothing and sends nothing.
pub(super) fn paste(state: &mut State, text: &str, effects: &mut Vec<Effect>) {
    state.keys.last = Some(state.now);
    state.given_back = false;
    state.leaving = None;
    state.abandoned = false;
    state.shortcuts = false;
    if let Some(asked) = state.questions.front_mut() {
        asked.entered = false;
    }
    match &mut state.search {
        Some(search) => search.words.push_str(text.lines().next().unwrap_or_default()),
        // A dropped image comes as its path.
        None if is_image_path(text) => effects.push(Effect::Dropped(text.to_owned())),
        None => put_pasted(state, text, effects),
    }
}

/// Puts pasted text in.
fn put_pasted(state: &mut State, text: &str, effects: &mut Vec<Effect>) {
    match state.hides_typing() {
        true => state.composer.paste_secret(text),
        false => state.composer.paste(text),
    }
    edited(state, effects);
}

/// Returns whether a text looks like the path of an image, in whatever quotes.
fn is_image_path(text: &str) -> bool {
    let text = text.trim().trim_end_matches(['\'', '"']).to_ascii_lowercase();
    let ending = [".png", ".jpg", ".jpeg", ".gif", ".webp"].iter().any(|ending| text.ends_with(ending));
    ending && !text.contains('\n') && text.len() < 4096
}

/// Takes what the clipboard held, or what stands at a dropped path.
pub(super) fn pasted(state: &mut State, pasted: Pasted, effects: &mut Vec<Effect>) {
    match pasted {
        Pasted::Image(image) => {
            state.composer.attach(image);
            edited(state, effects);
        }
        Pasted::Text(text) => put_pasted(state, &text, effects),
        Pasted::Refused(why) => state.transcript.notice(NoticeLevel::Warning, &why),
    }
}

/// A key for vim's modes; returns whether it was one.
fn vim_key(state: &mut State, key: Key, effects: &mut Vec<Effect>) -> bool {
    // What stops a turn or closes a list stays what it is.
    let insert = state.composer.vim.mode == Mode::Insert;
    let open = state.completion.is_some();
    if key.code == KeyCode::Esc && (open || (!insert && state.turn.is_some())) {
        return false;
    }
    let before = state.composer.buffer.changes();
    match state.composer.vim.key(key, &mut state.composer.buffer) {
        Done::Not => return false,
        Done::Here => {
            if state.composer.buffer.changes() != before {
                edited(state, effects);
            }
        }
        // What is hidden goes nowhere else.
        Done::Older | Done::Newer | Done::Search if state.hides_typing() => {}
        Done::Older => _ = state.composer.older(),
        Done::Newer => _ = state.composer.newer(),
        Done::Search => state.search = Some(Search::default()),
    }
    true
}

/// The text changed by the user's hand.
pub(super) fn edited(state: &mut State, effects: &mut Vec<Effect>) {
    state.composer.history.leave();
    complete::refresh(state, effects);
}

/// What the key before this one began.
struct Before {
    /// When it was Esc on nothing.
    escaped: Option<Duration>,
    /// The queued message that it moved.
    moved: Option<usize>,
}

fn act(state: &mut State, action: Action, before: &Before, effects: &mut Vec<Effect>) {
    // What is hidden goes nowhere else.
    if matches!(action, Action::SearchHistory | Action::Editor) && state.hides_typing() {
        return;
    }
    let width = usize::from(state.size.width()).saturating_sub(2);
    let pasted = is_unbracketed_paste(state);
    let buffer = &mut state.composer.buffer;
    let at = buffer.cursor();
    match action {
        Action::Submit => submit(state, effects),
        Action::NewLine => {
            put_in(state, "\n");
            edited(state, effects);
        }
        Action::Tab => {
            if state.completion.is_some() {
                complete::accept(state, effects);
            } else if let Some(asked) = state.questions.front_mut().filter(|asked| asked.drawn.is_some()) {
                asked.entered = true;
            } else if let Some(confirm) = state.confirm.as_mut().filter(|confirm| confirm.drawn.is_some()) {
                confirm.entered = true;
            } else if pasted {
                // Where nothing waits for the key, it is a character of what comes as fast as a paste.
                put_in(state, "\t");
                edited(state, effects);
            } else if state.turn.is_some() {
                queue::steer(state, effects);
            }
        }
        Action::Steer => match state.turn.is_some() {
            true => queue::steer(state, effects),
            false => submit(state, effects),
        },
        Action::Escape => escape(state, before.escaped, effects),
        Action::Interrupt => leave::interrupt(state, effects),
        Action::EndOfInput => leave::end_of_input(state, effects),
        Action::NextMode => next_mode(state, effects),
        Action::Transcript => {
            if !state.composer.buffer.unfold() {
                super::screen_command::open_pager(state, None);
            }
        }
        Action::SearchHistory => {
            state.completion = None;
            state.search = Some(Search::default());
        }
        Action::Editor => effects.push(Effect::Edit(state.composer.buffer.text())),
        Action::PasteClipboard => effects.push(Effect::PasteClipboard),
        Action::Repaint => effects.push(Effect::Repaint),
        Action::Suspend => effects.push(Effect::Suspend),
        Action::PickModel => choose(state, "/model", effects),
        Action::PickEffort => choose(state, "/effort", effects),
        Action::Help => super::screen_command::help(state),
        Action::QueueUp => queue::reorder(state, before.moved, -1),
        Action::QueueDown => queue::reorder(state, before.moved, 1),
        Action::Up | Action::Down => vertical(state, action == Action::Up, width, effects),
        Action::Left => buffer.move_to(buffer.before(at)),
        Action::Right => buffer.move_to(buffer.behind(at)),
        Action::WordLeft => buffer.move_to(buffer.word_before(at)),
        Action::WordRight => buffer.move_to(buffer.word_behind(at)),
        Action::LineStart => buffer.move_to(buffer.line_start(at)),
        Action::LineEnd => buffer.move_to(buffer.line_end(at)),
        Action::DeleteBack => change(state, effects, |buffer| buffer.delete(buffer.before(at)..at)),
        Action::DeleteForward => change(state, effects, |buffer| buffer.delete(at..buffer.behind(at))),
        Action::CutWordBack => change(state, effects, |buffer| buffer.cut(buffer.word_before(at)..at)),
        Action::CutWordForward => change(state, effects, |buffer| buffer.cut(at..buffer.word_behind(at))),
        Action::CutToEnd => change(state, effects, |buffer| {
            let end = buffer.line_end(at);
            // At the end of a line its end goes.
            buffer.cut(at..if end == at { buffer.behind(at) } else { end });
        }),
        Action::CutToStart => change(state, effects, |buffer| buffer.cut(buffer.line_start(at)..at)),
        Action::Yank => change(state, effects, crate::composer::buffer::Buffer::yank),
        Action::YankOlder => change(state, effects, crate::composer::buffer::Buffer::yank_older),
        Action::Undo => change(state, effects, crate::composer::buffer::Buffer::undo),
        Action::PageUp | Action::PageDown => {
            if let Some(completion) = &mut state.completion {
                let by = crate::completion::ROWS as isize;
                completion.step(if action == Action::PageUp { -by } else { by });
            }
        }
    }
}

fn change(
    state: &mut State,
    effects: &mut Vec<Effect>,
    how: impl FnOnce(&mut crate::composer::buffer::Buffer),
) {
    how(&mut state.composer.buffer);
    edited(state, effects);
}

/// Returns whether the key that came is one of many that came at once, where the terminal does not say what is pasted (CMP-2).
fn is_unbracketed_paste(state: &State) -> bool {
    state.keys.burst >= BURST && !state.options.brackets_pastes
}

/// Puts in what a key stands for. Where the terminal does not say what is pasted, what comes as fast as that becomes one piece as a paste does
/// (CMP-2): what is very long at once, since it is laid out with every frame.
fn put_in(state: &mut State, text: &str) {
    let at = state.composer.buffer.cursor();
    state.composer.buffer.insert(text);
    if state.options.brackets_pastes {
        return;
    }
    let (from, goes_on) = *state.keys.burst_from.get_or_insert((at, false));
    if at + text.len() >= from + LONG && state.composer.fold(from, goes_on) {
        state.keys.burst_from = Some((state.composer.buffer.cursor(), true));
    }
}

/// Makes one piece of the keys that came one right after another, if they are so many that they were pasted.
pub(super) fn end_burst(state: &mut State) {
    let Some((from, goes_on)) = state.keys.burst_from.take() else { return };
    if state.keys.burst >= BURST {
        state.composer.fold(from, goes_on);
    }
}

/// Returns when the keys that came one right after another are over, if they may be a paste.
pub(super) fn burst_ends(state: &State) -> Option<Duration> {
    let pasted = state.keys.burst_from.is_some() && state.keys.burst >= BURST;
    state.keys.last.filter(|_| pasted).map(|last| last + burst_gap(state) + Duration::from_millis(1))
}

fn submit(state: &mut State, effects: &mut Vec<Effect>) {
    if state.composer.buffer.raw().ends_with('\\')
        && state.composer.buffer.cursor() == state.composer.buffer.raw().len()
    {
        let at = state.composer.buffer.cursor();
        state.composer.buffer.replace(at - 1..at, "\n");
        return edited(state, effects);
    }
    // What comes as fast as a paste is one, its line ends included.
    if is_unbracketed_paste(state) {
        put_in(state, "\n");
        return edited(state, effects);
    }
    if state.completion.is_some() && complete::accept_and_run(state, effects) {
        return;
    }
    if state.several_lines && !state.answers_in_words() {
        return another_line(state, effects);
    }
    queue::submit(state, effects);
}

/// Enter in a message of several lines: another one, unless the last is empty. What is sent is words for the model, whatever it begins with.
fn another_line(state: &mut State, effects: &mut Vec<Effect>) {
    let buffer = &mut state.composer.buffer;
    let last = buffer.raw().rsplit('\n').next().unwrap_or_default();
    if buffer.cursor() < buffer.raw().len() || !last.trim().is_empty() {
        buffer.insert("\n");
        return edited(state, effects);
    }
    state.several_lines = false;
    let mut prompt = state.composer.take();
    prompt.text.truncate(prompt.text.trim_end().len());
    if prompt.text.is_empty() && prompt.images.is_empty() {
        return state.say("Nothing was sent");
    }
    match state.turn.is_some() {
        true => state.queue.items.push_back(prompt),
        false => effects.push(Effect::Prompt(prompt)),
    }
}

fn escape(state: &mut State, escaped: Option<Duration>, effects: &mut Vec<Effect>) {
    if close_list(state) {
        return;
    }
    let secret = state.hides_typing();
    if let Some(asked) = state.questions.front_mut()
        && let Some(draft) = asked.because.take()
    {
        return question::put_reason_away(state, &draft, secret);
    }
    if std::mem::take(&mut state.several_lines) {
        return state.say("Enter sends again");
    }
    if state.turn.is_some() {
        return leave::stop(state, effects);
    }
    let rewinds = state.options.commands.iter().any(|command| command.name == "/rewind");
    match (state.composer.is_empty() && rewinds, escaped) {
        (true, Some(first)) if state.now.saturating_sub(first) < Duration::from_secs(1) => {
            choose(state, "/rewind", effects);
        }
        (true, _) => {
            state.keys.escaped = Some(state.now);
            state.say("Esc again goes back to an earlier prompt");
        }
        (false, _) => {}
    }
}

fn next_mode(state: &mut State, effects: &mut Vec<Effect>) {
    if let Some(completion) = &mut state.completion {
        return completion.step(-1);
    }
    let modes = &state.options.modes;
    let at = modes.iter().position(|mode| *mode == state.facts.mode);
    let next = match at {
        Some(at) => modes.get((at + 1) % modes.len().max(1)),
        None => modes.first(),
    };
    if let Some(mode) = next {
        effects.push(Effect::SetMode(mode.clone()));
    }
}

/// Opens the list of what a command can be given. Where there is nothing in it, the command itself says so.
pub(super) fn choose(state: &mut State, command: &str, effects: &mut Vec<Effect>) {
    if state.hides_typing() {
        return;
    }
    if state.options.commands.iter().any(|known| known.name == command) {
        if state.put_by.is_some() {
            // Another list was open; what was typed for that is an older message.
            clear_list(state);
        }
        state.put_by();
        state.composer.set(&format!("{command} "));
        complete::refresh(state, effects);
        if let Some(list) = &mut state.completion {
            list.by_command = true;
        }
    }
}

/// Closes the list that is open; returns whether one was. Where a key or a command opened it, what was being typed before is back with that.
pub(super) fn close_list(state: &mut State) -> bool {
    let open = state.completion.take().is_some();
    if open && state.put_by.is_some() && state.confirm.is_none() {
        clear_list(state);
    }
    open
}

/// Takes what stands in the composer for a list away; words that were typed for it are an older message then.
fn clear_list(state: &mut State) {
    let text = state.composer.buffer.text();
    if text.trim().contains(char::is_whitespace) || !text.starts_with('/') {
        state.composer.history.put_away(text.trim());
    }
    state.composer.buffer.clear();
}

fn vertical(state: &mut State, up: bool, width: usize, effects: &mut Vec<Effect>) {
    if let Some(completion) = &mut state.completion {
        return completion.step(if up { -1 } else { 1 });
    }
    if up && state.composer.is_empty() && !state.queue.items.is_empty() {
        return queue::edit_newest(state);
    }
    if state.hides_typing() {
        return;
    }
    let layout = Layout::new(&state.composer.buffer, width);
    let (row, column) = layout.position(state.composer.buffer.cursor());
    let browsing = state.composer.history.is_browsing();
    match up {
        true if row > 0 && !browsing => state.composer.buffer.move_to(layout.place(row - 1, column)),
        true => {
            state.composer.older();
        }
        false if row + 1 < layout.height() && !browsing => {
            state.composer.buffer.move_to(layout.place(row + 1, column));
        }
        false => {
            state.composer.newer();
        }
    }
    let _ = effects;
}

/// A key for the history search; returns whether it was one.
fn search_key(state: &mut State, key: Key, bound: Bound) -> bool {
    let Some(mut search) = state.search.take() else { return false };
    let found = |state: &State, search: &Search| {
        state.composer.history.search(&search.words).get(search.chosen).map(|entry| (*entry).to_owned())
    };
    match (key.code, bound) {
        (_, Bound::Action(Action::SearchHistory | Action::Up)) => {
            let count = state.composer.history.search(&search.words).len();
            search.chosen = (search.chosen + 1).min(count.saturating_sub(1));
        }
        (_, Bound::Action(Action::Down)) => search.chosen = search.chosen.saturating_sub(1),
        (_, Bound::Action(Action::DeleteBack)) => {
            search.words.pop();
            search.chosen = 0;
        }
        // What was being typed is as it was.
        (_, Bound::Action(Action::Escape | Action::Interrupt)) => return true,
        (_, Bound::Action(Action::Submit | Action::Tab | Action::Left | Action::Right)) => {
            if let Some(entry) = found(state, &search) {
                state.composer.exchange(&entry);
            }
            return true;
        }
        (KeyCode::Char(c), Bound::Nothing) if !key.mods.ctrl && !key.mods.alt => {
            search.words.push(c);
            search.chosen = 0;
        }
        _ => {}
    }
    state.search = Some(search);
    true
}
