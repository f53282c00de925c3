//! What the line chat does with its cells (ACC-1): its turns are told by them, and the commands of the screen work on them.

use zori_contract::error::{IO_ERROR, VALIDATION_ERROR};
use zori_contract::failure::Failure;
use zori_core::event::NoticeLevel;
use zori_core::input::Prompt;
use zori_core::outcome::{CancelCause, Outcome};
use zori_host::TurnEnd;
use zori_tui::cells::printed_rows;
use zori_tui::state::Phase;
use zori_tui::update::{Effect, Msg};

use super::Chat;
use super::cells::Cells;
use super::slash::Next;
use crate::screen::{self, Back};
use zori_setup::data_dir::DataDir;
use zori_setup::terminal;

impl Chat<'_, '_> {
    /// Shows that a turn begins; returns its prompt with all that goes along.
    pub(super) fn cells_before_turn(&mut self, mut prompt: Prompt) -> Prompt {
        let Some(cells) = self.cells.clone() else { return prompt };
        let asked = prompt.clone();
        cells.with(|chat| {
            let notes = screen::attach_files(self, &chat.state, &mut prompt);
            let _ = chat.take(chat.state.now, Msg::TurnBegins(asked));
            chat.state.turn_notes = notes;
        });
        prompt
    }

    /// Shows that something runs that is no turn of the model's.
    pub(super) fn cells_like_a_turn(&self, phase: Phase) {
        let Some(cells) = &self.cells else { return };
        cells.with(|chat| {
            let _ = chat.take(chat.state.now, Msg::TurnBegins(Prompt::from("")));
            if let Some(turn) = &mut chat.state.turn {
                (turn.phase, turn.prompt) = (phase, None);
            }
        });
    }

    /// Shows the end of either.
    pub(super) fn cells_after_turn(&mut self, end: Option<&TurnEnd>) {
        let Some(cells) = &self.cells else { return };
        let over = self.turn_over(end, self.plain.session().totals().spent, None);
        if matches!(over.outcome, Some(Outcome::Cancelled(CancelCause::User))) {
            cells.end_line();
        }
        for effect in cells.take(Msg::TurnOver(over)) {
            if let Effect::Notify(text) = effect {
                cells.notify(&text);
            }
        }
        // A prompt that nothing came of is in the history of the line editor.
        cells.with(|chat| chat.state.composer.buffer.clear());
    }

    /// Shows what the session is now, and the end of a conversation that goes on (TRN-7).
    pub(super) fn cells_for_session(&mut self) {
        let Some(cells) = self.cells.clone() else { return };
        for wrong in cells.begin(self.cx, &self.plain) {
            self.cx.ui.warn(&wrong);
        }
        let redactor = self.plain.host.redactor();
        cells.with(|chat| {
            screen::recall(&mut chat.state.transcript, self.plain.session(), &redactor, false, "/history");
        });
    }

    /// Runs a command of the user's own (CMP-5).
    pub(super) fn own_command(&mut self, command: &str, share: bool) {
        self.cells_like_a_turn(Phase::Running("bash".to_owned()));
        let said = self.plain.shell(command.to_owned(), share, &self.signals);
        match self.cells.is_some() {
            true => self.cells_after_turn(None),
            false => said.iter().for_each(|said| self.cx.ui.say(said.trim_end())),
        }
    }

    /// Runs a line if it is one of the commands that are about cells.
    pub(super) fn cell_command(&mut self, line: &str) -> Result<Option<Next>, Failure> {
        let Some(cells) = self.cells.clone() else { return Ok(None) };
        let copies = line.split_whitespace().next().is_some_and(|name| name.eq_ignore_ascii_case("/copy"));
        if copies && terminal::is_dumb(&self.cx.app.env) {
            let words = "this terminal has no clipboard that could be written to";
            return Err(Failure::new(&VALIDATION_ERROR, words)
                .hint("`/show N` prints a cell, `/export FILE` writes the conversation to a file"));
        }
        let Some(effects) = cells.command(line) else { return Ok(None) };
        let mut next = Next::Done;
        for effect in effects {
            match effect {
                Effect::Copy(text) => self.cx.ui.raw(&screen::clipboard(&text)),
                Effect::Shell { command, share } => self.own_command(&command, share),
                Effect::Aside(question) => self.ask_beside(&cells, &question),
                Effect::Theme { name, .. } => self.choose_theme(&cells, &name),
                Effect::Edit(text) => next = self.edit(&text)?,
                Effect::ShowFile { number, file } => {
                    let text = screen::spilled_text(file.as_ref(), &self.plain.host.redactor());
                    cells.with(|chat| match text {
                        Ok(text) => chat.write(printed_rows(&text)),
                        // It is gone with the run that made it; the cell has both ends of it.
                        Err(_) => chat.show(number),
                    });
                }
                _ => {}
            }
        }
        Ok(Some(next))
    }

    fn ask_beside(&mut self, cells: &Cells, question: &str) {
        let answer = self.plain.ask_beside(question, &self.signals);
        cells.with(|chat| match &answer {
            Ok(answer) => chat.state.transcript.beside(question, answer),
            Err(why) => chat.state.transcript.error(&format!("/btw: {why}"), &[]),
        });
    }

    fn choose_theme(&self, cells: &Cells, name: &str) {
        let base = self.plain.run.base.as_ref();
        let (level, words) = match cells.choose_theme(base.map(DataDir::dir), name) {
            Ok(()) => (NoticeLevel::Info, screen::keep_theme(base.map(DataDir::config).as_deref(), name)),
            Err(why) => (NoticeLevel::Warning, why),
        };
        cells.with(|chat| chat.state.transcript.notice(level, &words));
    }

    /// Lets the user write the next prompt in an editor, and sends it.
    fn edit(&mut self, text: &str) -> Result<Next, Failure> {
        let root = self.plain.host.settings.workspace.root.clone();
        let edited = screen::edit_draft(&self.cx.app.env, &root, text);
        match edited.map(|editing| self.plain.block_on(editing)) {
            Ok(Back::Edited(Ok(text))) if text.trim().is_empty() => {
                self.cx.ui.say("Nothing was sent.");
                Ok(Next::Done)
            }
            Ok(Back::Edited(Ok(text))) => {
                text.lines().for_each(|line| self.cx.ui.say(&format!("> {line}")));
                Ok(Next::Ask(text))
            }
            Ok(Back::Edited(Err(why))) | Err(why) => Err(Failure::new(&IO_ERROR, why)),
            Ok(Back::LoggedIn(..) | Back::LoggedInTo(..)) => Ok(Next::Done),
        }
    }
}
