//! Commands about the screen and its cells, and the pager.

use super::{Effect, question};
use crate::commands::{CommandInfo, ScreenCommand, unquoted};
use crate::keymap::{Action, Bound, Keymap};
use crate::keys::{Key, KeyCode};
use crate::pager::{Pager, PagerEnd};
use crate::row::{Row, Span};
use crate::state::{Learning, State};
use crate::wrap;
use zori_core::event::NoticeLevel;
use zori_core::tool::TodoStatus;

/// Returns the command a line begins with, if the screen does it.
pub(crate) fn find<'a, 's>(
    state: &'s State,
    line: &'a str,
) -> Option<(&'s CommandInfo, ScreenCommand, &'a str)> {
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let command = state.options.commands.iter().find(|command| command.is_called(name))?;
    Some((command, command.own?, rest.trim()))
}

/// Runs a line if it is a command of the screen.
pub(crate) fn run(state: &mut State, line: &str, effects: &mut Vec<Effect>) -> bool {
    let Some((_, command, rest)) = find(state, line) else { return false };
    let rest = rest.to_owned();
    match command {
        ScreenCommand::Help => help(state),
        ScreenCommand::Keys => keys(state, &rest),
        ScreenCommand::Rerun => rerun(state, &rest, effects),
        ScreenCommand::Aside => match rest.is_empty() {
            true => say(state, "`/btw QUESTION` asks the model beside the conversation."),
            false => effects.push(Effect::Aside(rest)),
        },
        ScreenCommand::Theme => match rest.is_empty() {
            true => {
                let names = crate::theme::Theme::names().collect::<Vec<_>>().join(", ");
                say(
                    state,
                    &format!("`/theme NAME` changes the colours; there are: {names}. Tab lists yours, too."),
                );
            }
            false => effects.push(Effect::Theme { name: unquoted(&rest).to_owned(), keep: true }),
        },
        ScreenCommand::History => open_pager(state, None),
        ScreenCommand::Editor => effects.push(Effect::Edit(rest)),
        ScreenCommand::Lines => state.begin_lines(&rest),
        ScreenCommand::Todo => todo(state),
        ScreenCommand::Show => match shown(state, &rest) {
            Ok((number, Some(file))) => effects.push(Effect::ShowFile { number, file }),
            Ok((number, None)) => open_pager(state, Some(number)),
            Err(why) => say(state, &why),
        },
        ScreenCommand::Find => {
            open_pager(state, None);
            crate::pager::search(state, &rest);
        }
        ScreenCommand::Copy => copy(state, &rest, effects),
    }
    true
}

fn number(text: &str) -> Option<u32> {
    text.trim_start_matches('#').parse().ok()
}

pub(crate) fn say(state: &mut State, text: &str) {
    state.transcript.notice(NoticeLevel::Info, text);
}

fn copy(state: &mut State, what: &str, effects: &mut Vec<Effect>) {
    let text = match what {
        "" => state.transcript.last_answer(),
        "code" => state.transcript.last_answer().and_then(|answer| last_code(&answer)),
        what => number(what).and_then(|number| state.transcript.text_of(number, state.now)),
    };
    match text {
        Some(text) => {
            let lines = crate::cells::counted(text.lines().count(), "line", "lines");
            say(state, &format!("Copied {lines} to the clipboard."));
            effects.push(Effect::Copy(text));
        }
        None => say(state, "There is nothing to copy: `/copy`, `/copy code` or `/copy N`."),
    }
}

/// Runs the command of a cell again, as if it had been typed behind `!`.
fn rerun(state: &mut State, what: &str, effects: &mut Vec<Effect>) {
    let command =
        number(what).and_then(|number| state.transcript.numbered(number)).map(|entry| entry.cell.command());
    match command {
        Some(Some(command)) => {
            let command = command.to_owned();
            effects.push(Effect::Shell { command, share: true });
        }
        Some(None) => say(state, &format!("Cell {what} is no command that can be run again.")),
        None => say(state, "`/rerun N` runs the command of the cell with this number again."),
    }
}

/// Says what a key is called and what it does.
pub(super) fn name(state: &mut State, key: Key) {
    let words = describe(&key.to_string(), state.options.keymap.find(&[key]));
    say(state, &words);
}

fn describe(key: &str, bound: Bound) -> String {
    match bound {
        Bound::Action(action) => format!("{key}: {} ({})", action.about(), action.name()),
        Bound::Prefix => format!("{key} begins a chord."),
        Bound::Nothing if key.chars().count() == 1 => format!("{key} is typed."),
        Bound::Nothing => format!("{key} does nothing here."),
    }
}

/// Gives an action the key that was just pressed, and keeps that.
pub(super) fn learn(state: &mut State, action: Action, key: Key, effects: &mut Vec<Effect>) {
    let name = key.to_string();
    if key == Key::plain(KeyCode::Esc) {
        return say(state, "Nothing was changed.");
    }
    if matches!(key.code, KeyCode::Char(_)) && !key.mods.ctrl && !key.mods.alt {
        return say(
            state,
            &format!(
                "`{name}` alone is for text; a key with Ctrl or Alt, or a function key, can be given away."
            ),
        );
    }
    let before = match state.options.keymap.find(&[key]) {
        Bound::Action(other) if other != action => Some(other),
        _ => None,
    };
    if let Some(needed) = state.options.keymap.needs(key).filter(|_| before.is_some()) {
        let (about, other) = (needed.about(), needed.name());
        let why = format!(
            "{name} is the only key for \"{about}\": give that another one first, by `/keys {other}`."
        );
        return say(state, &why);
    }
    let mut keys = state.options.keymap.keys_of(action);
    if !keys.contains(&name) {
        keys.insert(0, name.clone());
    }
    let texts: Vec<&str> = keys.iter().map(String::as_str).collect();
    match state.options.keymap.bind(action.name(), &texts) {
        Ok(()) => {
            if let Some(other) = before {
                say(state, &format!("{name} is no longer for \"{}\" ({}).", other.about(), other.name()));
            }
            effects.push(Effect::SaveKeys { action: action.name().to_owned(), keys });
        }
        Err(why) => say(state, &why),
    }
}

fn last_code(answer: &str) -> Option<String> {
    let mut blocks = answer.split("```").skip(1).step_by(2);
    let block = blocks.by_ref().last()?;
    Some(block.split_once('\n').map_or(block, |(_, code)| code).trim_end().to_owned())
}

fn todo(state: &mut State) {
    let rows: Vec<Row> = state
        .todos
        .iter()
        .map(|todo| {
            let sign = match todo.status {
                TodoStatus::Pending => "☐",
                TodoStatus::InProgress => "▸",
                TodoStatus::Completed => "☑",
            };
            Row::from(Span::new(format!("{sign} {}", todo.content)))
        })
        .collect();
    match rows.is_empty() {
        true => say(state, "There is no task list."),
        false => state.transcript.rows(rows),
    }
}

/// Lists the commands.
pub(super) fn help(state: &mut State) {
    let mut rows = Vec::new();
    let width = usize::from(state.size.width());
    let mut category = "";
    for command in &state.options.commands {
        if command.category != category {
            category = command.category;
            rows.push(Row::from(Span::new(category).bold()));
        }
        let head = format!("  {}", format!("{} {}", command.name, command.args).trim_end());
        let gap = " ".repeat(24usize.saturating_sub(head.chars().count()).max(1));
        let first = Row::empty().with(head).with(gap);
        let rest = Row::empty().with(" ".repeat(if width < 60 { 4 } else { 24 }));
        rows.extend(wrap::wrap_hanging(&[Span::new(command.about).muted()], width, &first, &rest));
    }
    let new_line = if state.options.shift_enter { "Shift-Enter" } else { "Alt-Enter or Ctrl-J" };
    rows.push(Row::from(
        Span::new(format!("{new_line} starts another line; @ completes files; /keys lists keys")).muted(),
    ));
    state.transcript.rows(rows);
}

fn keys(state: &mut State, wanted: &str) {
    if wanted == "?" {
        state.learning = Some(Learning::Name);
        return say(state, "Press a key: what it is called and what it does is told.");
    }
    if !wanted.is_empty() {
        return match Action::ALL.iter().find(|action| action.name() == wanted) {
            Some(action) => {
                state.learning = Some(Learning::Bind(*action));
                let about = format!("Press the key that should do this, too: {} (Esc: none)", action.about());
                say(state, &about);
            }
            None => match Key::parse(wanted).map(|key| state.options.keymap.find(&[key])) {
                Some(bound) => say(state, &describe(wanted, bound)),
                None => {
                    say(state, &format!("`{wanted}` is neither an action nor a key; `/keys` lists both."))
                }
            },
        };
    }
    let rows = key_rows(&state.options.keymap, usize::from(state.size.width()));
    state.transcript.rows(rows);
}

/// Lists what keys do: the keys, what comes of them, and what the action is called. Where there is no room for columns each hangs below its keys.
fn key_rows(keymap: &Keymap, width: usize) -> Vec<Row> {
    let lines: Vec<(String, Action)> =
        Action::ALL.iter().map(|action| (keymap.keys_of(*action).join(", "), *action)).collect();
    let keys = lines.iter().map(|(keys, _)| wrap::width(keys)).max().unwrap_or(0) + 4;
    let about = Action::ALL.iter().map(|action| wrap::width(action.about())).max().unwrap_or(0) + 2;
    let name = Action::ALL.iter().map(|action| wrap::width(action.name())).max().unwrap_or(0);
    let padded =
        |text: &str, to: usize| format!("{text}{}", " ".repeat(to.saturating_sub(wrap::width(text))));
    let mut rows = Vec::new();
    for (names, action) in lines {
        let first = Row::empty().with(padded(&format!("  {names}"), keys));
        let (mut words, mut rest) = (format!("{}  {}", action.about(), action.name()), " ".repeat(keys));
        if keys + about + name <= width {
            words = format!("{}{}", padded(action.about(), about), action.name());
        } else if width < 60 {
            rest.truncate(4);
        }
        let (words, rest) = (Span::new(words).muted(), Row::empty().with(rest));
        match width < 60 {
            true => {
                let names = [Span::new(names)];
                rows.extend(wrap::wrap_hanging(&names, width, &Row::empty().with("  "), &rest));
                rows.extend(wrap::wrap_hanging(&[words], width, &rest, &rest));
            }
            false => rows.extend(wrap::wrap_hanging(&[words], width, &first, &rest)),
        }
    }
    rows
}

/// Returns the cell that `/show` names, and the file that has all of what it printed, if there is one (TRN-3).
pub(crate) fn shown(state: &State, what: &str) -> Result<(u32, Option<String>), String> {
    let number =
        number(what).ok_or("`/show N` opens the cell with this number; `/history` opens all of them.")?;
    if !state.transcript.has(number) {
        return Err(format!("There is no cell {number}."));
    }
    let file = state.transcript.numbered(number).and_then(|entry| entry.cell.file());
    Ok((number, file.map(str::to_owned)))
}

/// Opens the pager over all cells, or at one of them.
pub(super) fn open_pager(state: &mut State, number: Option<u32>) {
    state.completion = None;
    state.pager = Some(Pager::transcript(number));
}

/// A key while the pager is open.
pub(super) fn pager_key(state: &mut State, key: Key, effects: &mut Vec<Effect>) {
    match crate::pager::key(state, key) {
        PagerEnd::No => {}
        PagerEnd::Closed => state.pager = None,
        PagerEnd::Copy(number) => {
            state.pager = None;
            copy(state, &number.to_string(), effects);
        }
        PagerEnd::Rerun(number) => {
            state.pager = None;
            match state.turn.is_some() {
                true => super::wait_in_queue(state, format!("/rerun {number}").into()),
                false => rerun(state, &number.to_string(), effects),
            }
        }
        PagerEnd::Approved => {
            state.pager = None;
            question::approve_read(state, effects);
        }
    }
}
