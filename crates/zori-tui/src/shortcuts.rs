//! The short list of keys that `?` opens in place of the footer: what a newcomer looks for, with the keys as they are here (KEY-1, KEY-2).

use crate::keymap::Action;
use crate::row::{Row, Span};
use crate::state::Options;
use crate::wrap;

/// How wide a column is, and how wide the keys are in it.
const COLUMN: usize = 32;
const KEYS: usize = 12;

/// A line of the list: what is pressed, or the action that has a key, and what comes of it.
enum Shortcut {
    Typed(&'static str, &'static str),
    Key(Action, &'static str),
}

use Shortcut::{Key, Typed};

const SHORTCUTS: &[Shortcut] = &[
    Typed("/", "commands"),
    Typed("@", "files"),
    Typed("!", "a shell command"),
    Typed("#", "line for AGENTS.md"),
    Key(Action::NewLine, "another line"),
    Key(Action::Tab, "send into the turn"),
    Key(Action::Escape, "stop; twice: back"),
    Key(Action::Up, "queue, history"),
    Key(Action::NextMode, "permission mode"),
    Key(Action::PickModel, "model"),
    Key(Action::Transcript, "all cells"),
    Key(Action::SearchHistory, "search history"),
    Key(Action::Editor, "editor"),
    Key(Action::PasteClipboard, "paste an image"),
    Key(Action::Suspend, "suspend"),
    Typed("/keys", "all keys"),
];

/// Returns the rows of the list, as many columns beside one another as there is room for.
pub fn rows(options: &Options, width: u16) -> Vec<Row> {
    let width = usize::from(width);
    let columns = ((width.saturating_sub(2)) / COLUMN).max(1);
    let height = SHORTCUTS.len().div_ceil(columns);
    (0..height)
        .map(|at| {
            let mut row = Row::empty().with("  ");
            for (column, shortcut) in SHORTCUTS.iter().skip(at).step_by(height).enumerate() {
                row.push(" ".repeat((2 + column * COLUMN).saturating_sub(row.width())));
                let (keys, about) = match shortcut {
                    Typed(text, about) => ((*text).to_owned(), *about),
                    Key(action, about) => (key(options, *action), *about),
                };
                let gap = KEYS.saturating_sub(wrap::width(&keys)).max(1);
                row.push(Span::new(keys).bold());
                row.push(Span::new(format!("{}{about}", " ".repeat(gap))).muted());
            }
            wrap::truncate(&row, width)
        })
        .collect()
}

/// Returns the first key of an action that can be told apart here, as it stands on a keyboard.
fn key(options: &Options, action: Action) -> String {
    let keys = options.keymap.keys_of(action);
    let wanted = match options.shift_enter {
        true => keys.iter().find(|key| *key == "shift+enter").or(keys.first()),
        false => keys.iter().find(|key| *key != "shift+enter"),
    };
    let part = |part: &str| match part.chars().next() {
        Some(first) => first.to_uppercase().chain(part.chars().skip(1)).collect::<String>(),
        None => String::new(),
    };
    let chord = |key: &str| key.split('+').map(part).collect::<Vec<_>>().join("-");
    wanted.map_or_else(String::new, |keys| keys.split(' ').map(chord).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(options: &Options, width: u16) -> String {
        rows(options, width).iter().map(Row::text).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn in_columns() {
        let wide = [
            "  /           commands            Esc         stop; twice: back   Ctrl-G      editor",
            "  @           files               Up          queue, history      Ctrl-V      paste an image",
            "  !           a shell command     Shift-Tab   permission mode     Ctrl-Z      suspend",
            "  #           line for AGENTS.md  Alt-M       model               /keys       all keys",
            "  Alt-Enter   another line        Ctrl-O      all cells",
            "  Tab         send into the turn  Ctrl-R      search history",
        ];
        assert_eq!(shown(&Options::default(), 99), wide.join("\n"));
        let narrow = shown(&Options::default(), 39);
        assert_eq!(narrow.lines().count(), SHORTCUTS.len());
        assert!(narrow.ends_with("\n  Ctrl-Z      suspend\n  /keys       all keys"), "{narrow}");
    }

    /// What the user changed is shown, and a key that the terminal does not tell apart is not.
    #[test]
    fn the_keys_are_those_that_work_here() {
        let mut options = Options { shift_enter: true, ..Options::default() };
        options.keymap.bind("editor", &["ctrl+x ctrl+e"]).unwrap();
        let text = shown(&options, 39);
        assert!(text.contains("  Shift-Enter another line\n"), "{text}");
        assert!(text.contains("  Ctrl-X Ctrl-E editor\n"), "{text}");
    }
}
