//! What the screen adds to `/feedback`: the terminal, and what was shown. What is being typed is left out.

use std::fmt::Write as _;

use zori_tui::cell::{CellCx, Detail};
use zori_tui::state::State;

use super::display::Display;
use super::outside::Outside;
use crate::chat::feedback::{self, Subject};
use zori_setup::environment::Environment;

/// How much of what was shown goes along.
const MOST: usize = 2 << 20;
/// What the environment says of the terminal.
const VARIABLES: [&str; 8] =
    ["TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "COLORTERM", "COLORFGBG", "LANG", "LC_ALL", "TMUX"];

impl Outside {
    /// Puts the folder together beside the conversation, and says where it is.
    pub(super) fn feedback(&mut self, display: &mut Display, subject: Subject) {
        let files =
            [("terminal.txt", terminal_facts(display, &self.env)), ("screen.txt", shown(&display.state))];
        self.ask_work(display, move || feedback::write(&subject, &files).map_err(|failure| failure.message));
    }
}

fn terminal_facts(display: &Display, env: &Environment) -> String {
    let size = display.state.size;
    let mut out = format!("{:?}\nsize {}x{}\n", display.terminal, size.columns, size.rows);
    for name in VARIABLES {
        let value = env.text(name).unwrap_or_default();
        writeln!(out, "{name}={value}").expect("a string takes everything");
    }
    out
}

fn shown(state: &State) -> String {
    let mut out = String::new();
    for entry in state.transcript.entries() {
        let (number, signs) = (entry.number, state.options.signs);
        let cx = CellCx { number, detail: Detail::Short, running: None, signs };
        for row in entry.cell.rows(state.size.width(), &cx) {
            writeln!(out, "{}", row.text()).expect("a string takes everything");
        }
    }
    zori_core::text::suffix(&out, MOST).to_owned()
}
