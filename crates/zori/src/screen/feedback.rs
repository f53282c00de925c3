//! What the screen adds to `/feedback`: the terminal, and what was shown. What is being typed is left out.

use std::fmt::Write as _;

use zori_core::event::NoticeLevel;
use zori_tui::cell::{CellCx, Detail};

use super::Screen;
use crate::chat::feedback;

/// How much of what was shown goes along.
const MOST: usize = 2 << 20;
/// What the environment says of the terminal.
const VARIABLES: [&str; 8] =
    ["TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "COLORTERM", "COLORFGBG", "LANG", "LC_ALL", "TMUX"];

impl Screen<'_, '_> {
    /// Puts the folder together, and says where it is.
    pub(super) fn feedback(&mut self) {
        let files = [("terminal.txt", self.terminal_facts()), ("screen.txt", self.shown())];
        match feedback::write(&self.chat, &files) {
            Ok(words) => self.say(NoticeLevel::Info, &words),
            Err(failure) => self.display.state.transcript.error(&failure.message, &[]),
        }
    }

    fn terminal_facts(&self) -> String {
        let size = self.display.state.size;
        let mut out = format!("{:?}\nsize {}x{}\n", self.display.terminal, size.columns, size.rows);
        for name in VARIABLES {
            let value = self.outside.env.text(name).unwrap_or_default();
            writeln!(out, "{name}={value}").expect("a string takes everything");
        }
        out
    }

    fn shown(&self) -> String {
        let state = &self.display.state;
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
}
