//! Keys of the list of sessions (RSM-2): those of all folders, a look at one, the trash.

use super::{Effect, complete};
use crate::keys::{Key, KeyCode, Mods};
use crate::state::State;

/// Gives a key to the list of sessions, if that is open; returns whether it was for it.
pub(super) fn takes(state: &mut State, key: Key, effects: &mut Vec<Effect>) -> bool {
    let Some(list) = state.completion.as_mut().filter(|list| list.is_of_sessions()) else { return false };
    let (KeyCode::Char(letter), Mods { ctrl: true, alt: false, .. }) = (key.code, key.mods) else {
        return false;
    };
    let chosen = list.item().map(|item| item.text.clone());
    match (letter, chosen) {
        ('a', _) => {
            list.everywhere = !list.everywhere;
            complete::refresh(state, effects);
        }
        ('p', Some(id)) => effects.push(Effect::Preview(id)),
        ('d', Some(id)) => {
            effects.push(Effect::Trash(id));
            complete::refresh(state, effects);
        }
        // Ctrl-D on an empty list deletes nothing and leaves nothing.
        ('p' | 'd', None) => {}
        _ => return false,
    }
    true
}
