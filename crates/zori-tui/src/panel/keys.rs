//! Keys of the panel itself (UI-5): they come before the chat's own.

use crate::keymap::{Action, Bound};
use crate::keys::{Key, KeyCode, Mods};
use crate::panel::arcade::{FIELD, Game, Player};
use crate::panel::menu::{Closed, Menu};
use crate::panel::{Open, Panel, PanelEffect, view};
use crate::state::State;
use crate::update::Effect;

/// Takes a key if it is the panel's; returns whether it was.
pub(super) fn key(panel: &mut Panel, state: &mut State, key: Key, effects: &mut Vec<Effect>) -> bool {
    // What is being read or learned has all keys; Ctrl-Z is the same everywhere.
    if state.pager.is_some() || state.learning.is_some() {
        return false;
    }
    let taken = taken(panel, state, key, effects);
    if taken {
        state.keys.last = Some(state.now);
        state.hint = None;
        // What the next Ctrl-C would do was said of the next key (KEY-3).
        state.leaving = None;
        state.abandoned = false;
    }
    taken
}

fn taken(panel: &mut Panel, state: &mut State, key: Key, effects: &mut Vec<Effect>) -> bool {
    let plain = key.mods == Mods::NONE;
    match (key.code, key.mods) {
        (KeyCode::F(10), _) => effects.push(Effect::Panel(PanelEffect::Quit)),
        (KeyCode::F(5), Mods::NONE) => effects.push(Effect::Panel(PanelEffect::WebUi)),
        (KeyCode::Char(digit @ '1'..='9'), Mods { alt: true, ctrl: false, .. }) => {
            let at = digit as usize - '1' as usize;
            if at < panel.tabs.len() {
                effects.push(Effect::Panel(PanelEffect::Tab(at)));
            }
        }
        // A question is answered before anything is opened over it.
        (KeyCode::F(2 | 3), Mods::NONE) if !state.questions.is_empty() => {}
        (KeyCode::F(1), Mods::NONE) => {
            let is_open = matches!(panel.open, Some(Open::Help(_)));
            panel.close(effects);
            panel.open = (!is_open).then_some(Open::Help(0));
        }
        (KeyCode::F(2), Mods::NONE) if !matches!(panel.open, Some(Open::Menu(_))) => {
            panel.open = Some(Open::Menu(Box::new(Menu::new(panel, state))));
        }
        (KeyCode::F(3), Mods::NONE) => {
            let is_open = matches!(panel.open, Some(Open::Game(_)));
            panel.close(effects);
            panel.open = if is_open { None } else { game(panel, state) };
        }
        _ => return within(panel, state, key, plain, effects),
    }
    true
}

/// Opens a game, or says why not.
fn game(panel: &Panel, state: &mut State) -> Option<Open> {
    match panel.plays(state) {
        true => Some(Open::Game(Box::new(Game::new(panel.game_kind(), Player::Person, FIELD.0, FIELD.1)))),
        false => {
            state.say("the arcade needs colours, motion and a window of 60x20");
            None
        }
    }
}

/// A key for what is open over the panel, or for the view itself.
fn within(panel: &mut Panel, state: &mut State, key: Key, plain: bool, effects: &mut Vec<Effect>) -> bool {
    let bound = state.options.keymap.find(&[key]);
    if bound == Bound::Action(Action::Suspend) {
        return false;
    }
    match panel.open.take() {
        Some(Open::Menu(mut menu)) => {
            if menu.key(key, bound, state, effects) == Closed::No {
                panel.open = Some(Open::Menu(menu));
            }
            return true;
        }
        Some(Open::Game(mut game)) => {
            let ends = key.code == KeyCode::Esc || bound == Bound::Action(Action::Interrupt);
            if !ends {
                game.key(key.code);
                panel.open = Some(Open::Game(game));
            }
            return true;
        }
        Some(Open::Help(top)) => {
            let top = match key.code {
                KeyCode::Down | KeyCode::Char('j') => Some(top + 1),
                KeyCode::Up | KeyCode::Char('k') => Some(top.saturating_sub(1)),
                KeyCode::PageDown | KeyCode::Char(' ') => Some(top + 10),
                KeyCode::PageUp => Some(top.saturating_sub(10)),
                _ => None,
            };
            panel.open = top.map(|top| Open::Help(top.min(super::help::last(state))));
            return true;
        }
        None => {}
    }
    let pages = plain && state.completion.is_none() && state.search.is_none();
    match key.code {
        KeyCode::PageUp | KeyCode::PageDown if pages => {
            let (page, most) =
                (view::chat_height(state).saturating_sub(2).max(1), view::scrolled_most(state));
            if let Some(tab) = &mut state.tab {
                let by = isize::try_from(page).unwrap_or(1);
                tab.scroll_by(if key.code == KeyCode::PageUp { by } else { -by }, most);
            }
            true
        }
        // What is sent is seen.
        KeyCode::Enter => {
            if let Some(tab) = &mut state.tab {
                tab.scroll = 0;
            }
            false
        }
        _ => false,
    }
}
