//! The help of the panel (F1): its keys, then the commands.

use crate::panel::compose;
use crate::row::{Role, Row, Span};
use crate::state::State;
use crate::wrap;

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

/// How wide the keys and names are.
const NAMES: usize = 18;
/// Below this what a key does stands below it.
const NARROW: usize = 56;

fn lines(state: &State) -> Vec<Row> {
    let inner = width(state).saturating_sub(4);
    let line = |name: &str, about: &str| {
        let first = Row::empty().with(Span::new(format!("{name:<NAMES$} ")).role(Role::Primary));
        let is_below = inner < NARROW && first.width() + wrap::width(about) > inner;
        let about = [Span::new(about)];
        match is_below {
            false => {
                let rest = Row::empty().with(" ".repeat(NAMES + 1));
                wrap::wrap_hanging(&about, inner, &first, &rest)
            }
            true => {
                let below = Row::empty().with("    ");
                let mut rows = vec![wrap::truncate(&first, inner)];
                rows.extend(wrap::wrap_hanging(&about, inner, &below, &below));
                rows
            }
        }
    };
    let mut rows: Vec<Row> = KEYS.iter().flat_map(|(name, about)| line(name, about)).collect();
    let new_line = if state.options.shift_enter { "Shift-Enter" } else { "Alt-Enter, Ctrl-J" };
    rows.extend(line(new_line, "start another line"));
    rows.push(Row::empty());
    let commands = state.options.commands.iter();
    rows.extend(
        commands
            .flat_map(|command| line(format!("{} {}", command.name, command.args).trim_end(), command.about)),
    );
    rows
}

/// Returns how wide the box is, with its edges.
fn width(state: &State) -> usize {
    usize::from(state.size.columns).min(84)
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
    compose::boxed("Help", &foot, shown, width(state))
}
