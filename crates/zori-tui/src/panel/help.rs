//! The help of the panel (F1): its keys, then the commands.

use crate::panel::compose;
use crate::row::{Role, Row, Span};
use crate::state::State;

/// The keys of the panel.
const KEYS: &[(&str, &str)] = &[
    ("F1", "this help"),
    ("F2", "menu: themes and actions"),
    ("F3", "a game"),
    ("F5", "the provider's web UI, where it has one"),
    ("F10", "quit"),
    ("Alt-1 … Alt-9", "another tab"),
    ("PageUp, PageDown", "scroll"),
    ("Enter", "send; while a turn runs, queue"),
    ("Tab", "into the running turn; to the question"),
    ("Esc", "close what is open, else stop the turn"),
    ("Shift-Tab", "next permission mode"),
    ("Ctrl-O", "all cells, with search"),
    ("Ctrl-R", "search what was sent before"),
    ("Ctrl-C", "stop, put the draft away, leave"),
];

fn lines(state: &State) -> Vec<Row> {
    let line = |name: &str, about: &str| {
        Row::empty().with(Span::new(format!("{name:<18} ")).role(Role::Primary)).with(about)
    };
    let mut rows: Vec<Row> = KEYS.iter().map(|(name, about)| line(name, about)).collect();
    let new_line = if state.options.shift_enter { "Shift-Enter" } else { "Alt-Enter, Ctrl-J" };
    rows.push(line(new_line, "start another line"));
    rows.push(Row::empty());
    rows.extend(
        state
            .options
            .commands
            .iter()
            .map(|command| line(format!("{} {}", command.name, command.args).trim_end(), command.about)),
    );
    rows
}

fn room(state: &State) -> usize {
    usize::from(state.size.rows).saturating_sub(6).max(3)
}

/// Returns the last row that help can begin with.
pub(super) fn last(state: &State) -> usize {
    lines(state).len().saturating_sub(room(state))
}

/// Draws it from a row on.
pub(super) fn rows(state: &State, top: usize) -> Vec<Row> {
    let all = lines(state);
    let foot = format!("{}-{} of {} · ↑ ↓ · Esc", top + 1, (top + room(state)).min(all.len()), all.len());
    let shown = all.into_iter().skip(top).take(room(state)).collect();
    compose::boxed("Help", &foot, shown, usize::from(state.size.columns).min(84))
}
