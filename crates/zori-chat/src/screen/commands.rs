//! Slash commands, as the screen runs them.

use zori_contract::failure::Failure;
use zori_core::event::NoticeLevel;
use zori_core::input::{Input, Prompt};
use zori_tui::confirm::{Confirm, What};
use zori_tui::state::{Draft, Phase};
use zori_tui::update::Msg;

use super::errand;
use super::in_turn;
use super::peer::ScreenPeer;
use super::start::facts;
use super::{Begun, Screen, completions, look};
use crate::chat::feedback;
use crate::chat::server_chat;
use crate::chat::slash::{self, Next, Reopen};
use crate::chat::undo::{self, UndoPlan};
use crate::plain::PlainSession;

impl Screen<'_, '_> {
    /// Runs a slash command; returns whether the chat is over, or goes on elsewhere.
    pub(super) fn command(&mut self, line: &str) -> bool {
        if line.trim() == "/clear" {
            self.display.clear();
            if let Some(words) = server_chat::reset(&self.chat.plain) {
                self.say(NoticeLevel::Info, &words);
            }
        }
        let line = if line.trim() == "/clear" { "/new" } else { line };
        let before_cell = match self.before_cell(line) {
            Ok(line) => line,
            Err(failure) => {
                self.tell_failure(&failure);
                return false;
            }
        };
        let line = before_cell.as_deref().unwrap_or(line);
        let (command, rest) = match slash::find(line) {
            slash::Found::Command(command, rest) => (command, rest),
            slash::Found::Nothing => {
                self.turn(line.to_owned().into());
                return false;
            }
            slash::Found::Unknown(_) if self.chat.plain.session().extensions().is_call(line) => {
                self.turn(line.to_owned().into());
                return false;
            }
            slash::Found::Unknown(_) => {
                let own = completions::names(&self.display.state.options.commands);
                let why = slash::unknown_on_screen(line, own);
                self.say(NoticeLevel::Warning, &why);
                return false;
            }
        };
        let before = self.chat.plain.session().id().clone();
        let next = command.run(&mut self.chat, rest);
        self.display.drain_events();
        match command.names[0] {
            "/diff" if next.is_ok() => self.tell_diff(),
            _ => self.tell(),
        }
        let done = match next {
            Ok(next) => self.go_on(next, line),
            Err(failure) => Err(failure),
        };
        match done {
            Ok(true) => return true,
            Ok(false) => {}
            Err(failure) => {
                self.tell();
                self.tell_failure(&failure);
            }
        }
        if *self.chat.plain.session().id() != before {
            // What is being typed moves along; the command that was typed is no draft of the session that was left.
            self.outside.keep(&Draft::default());
            self.outside.session = self.chat.plain.session().id().to_string();
            self.outside.kept_branch = None;
            self.display.state.todos.clear();
            self.recall(false);
            self.display.state.draft.kept = Draft::default();
            self.display.state.draft.due = Some(self.display.now());
            if self.display.state.draft() == Draft::default() {
                self.restore_draft(true);
            }
        }
        let same = *self.chat.plain.session().id() == before;
        let found = (!same).then(|| self.outside.sessions.title(&self.outside.session)).flatten();
        let title = &mut self.display.state.facts.title;
        *title = match command.names[0] {
            "/rename" | "/new" if !rest.is_empty() => Some(rest.to_owned()),
            _ => title.take().filter(|_| same).or(found),
        };
        self.show_facts();
        self.go_on_with_queue();
        false
    }

    /// Says what went wrong. What is queued may have counted on it, and waits for Enter then.
    fn tell_failure(&mut self, failure: &Failure) {
        self.display.state.transcript.error(&failure.message, &failure.facts.hints);
        self.display.state.queue.held = true;
        self.display.touch();
    }

    /// Returns what `/undo #7` means: back to before the turn of cell 7. `None` for all other lines.
    fn before_cell(&self, line: &str) -> Result<Option<String>, Failure> {
        let cell =
            line.trim().strip_prefix("/undo").map(str::trim_start).and_then(|rest| rest.strip_prefix('#'));
        let Some(cell) = cell else { return Ok(None) };
        let turn = undo::turn_of_cell(self.chat.plain.session(), &self.display.state.transcript, cell)?;
        Ok(Some(format!("/rewind {turn}")))
    }

    /// Shows what the command said as a diff, with what was added and removed told apart.
    fn tell_diff(&mut self) {
        let text = self.said.take();
        self.display.state.transcript.rows(look::diff(&text));
        self.display.touch();
    }

    /// Asks whether files go back to what they were, on the screen (SAF-1, TRN-8).
    fn ask_undo(&mut self, plan: UndoPlan) {
        let question = Confirm::new(What::Undo, "Go ahead? [y/N]".to_owned()).below(plan.lines.clone());
        self.undo = Some(plan);
        self.display.take(Msg::Confirm(question));
    }

    /// Takes the answer to that. The prompt of the turn that is gone comes back into an empty composer.
    pub(super) fn undo_answered(&mut self, yes: bool) {
        let Some(plan) = self.undo.take() else { return };
        if !yes {
            self.display.state.queue.held = true;
            return self.say(NoticeLevel::Info, undo::NOTHING_CHANGED);
        }
        let done = plan.carry_out(&mut self.chat);
        self.display.drain_events();
        self.tell();
        match done {
            Ok(prompt) => self.give_back(prompt),
            Err(failure) => self.tell_failure(&failure),
        }
        self.show_facts();
    }

    /// Puts the prompt of a turn that is gone into an empty composer.
    fn give_back(&mut self, prompt: Option<String>) {
        if let Some(prompt) = prompt.filter(|_| self.display.state.composer.is_empty()) {
            self.display.state.composer.set(&prompt);
            self.display.touch();
        }
    }

    /// Shows what the session is now.
    pub(super) fn show_facts(&mut self) {
        self.outside.beside = Some(self.chat.plain.beside(""));
        self.outside.servers = self.chat.plain.session().mcp().cloned();
        self.outside.viewer.1 = self.chat.plain.session().model().to_owned();
        let title = self.display.state.facts.title.take();
        self.display.state.facts = facts(&self.chat.plain, &self.outside.env);
        self.display.state.facts.spent = Some(self.spent());
        self.display.state.facts.title = title;
        self.show_tab_facts();
        self.display.touch();
    }

    /// Does what a command leads to; returns whether the screen is left.
    fn go_on(&mut self, next: Next, line: &str) -> Result<bool, Failure> {
        match next {
            Next::Quit => return Ok(true),
            Next::Ask(text) => self.turn(text.into()),
            Next::Lines(first) => self.display.state.begin_lines(&first),
            Next::Prompt => self.turn(line.to_owned().into()),
            Next::Done => {}
            Next::Reopen(wanted) if self.display.face.is_some() => self.reopen_in_tab(wanted)?,
            Next::Reopen(wanted) => {
                match wanted {
                    Reopen::Model(name) => self.with_model(&name)?,
                    Reopen::Folder(folder) => self.in_folder(&folder)?,
                    Reopen::Login(provider) => self.log_in(&provider)?,
                    Reopen::Demo => self.play_demo()?,
                    Reopen::Project(name) => self.with_project(&name)?,
                }
                return Ok(true);
            }
            Next::Compact(focus) => {
                self.like_a_turn(Phase::Compacting);
                if self.display.face.is_some() {
                    self.begun = Some(Begun::Compact(focus));
                    return Ok(false);
                }
                let Self { chat, display, outside, answers, .. } = self;
                let mut peer = ScreenPeer { display, outside, answers: *answers };
                chat.plain.compact_with(focus.as_deref(), &mut peer);
                self.turn_over(None);
            }
            Next::Recap if self.display.face.is_some() => {
                let Self { display, outside, .. } = self;
                outside.ask_aside(display, None);
            }
            Next::Recap => {
                let Self { chat, display, outside, answers, .. } = self;
                display.take(Msg::TurnBegins(Prompt::from("")));
                if let Some(turn) = &mut display.state.turn {
                    turn.prompt = None;
                }
                let mut peer = ScreenPeer { display, outside, answers: *answers };
                let (text, _) = chat.plain.recap_with(&mut peer);
                self.turn_over(None);
                match text {
                    Ok(text) => self.display.state.transcript.answer(&text),
                    Err(why) => self.display.state.transcript.error(&format!("Recap failed: {why}"), &[]),
                }
            }
            Next::LogIn(login) => {
                let Self { display, outside, .. } = self;
                let login = errand::log_in_to(&outside.env, &outside.root, login);
                outside.send(display, login);
            }
            Next::Feedback => {
                let subject = feedback::Subject::of(&self.chat);
                let Self { display, outside, .. } = self;
                outside.feedback(display, subject);
            }
            Next::Undo(plan) => self.ask_undo(plan),
            Next::WentBack(prompt) => self.give_back(prompt),
            Next::Report(report) => {
                let Self { display, outside, .. } = self;
                outside.ask_report(display, report);
            }
        }
        Ok(false)
    }

    /// Changes the mode between turns. One that asks less is told in a row of its own (SAF-8).
    pub(super) fn set_mode(&mut self, name: &str) {
        let PlainSession { host, .. } = &mut self.chat.plain;
        let permission = &mut host.settings.permission;
        match permission.modes.named("/mode", name) {
            Ok((choice, shell)) => {
                host.settings.tools.child_env.set_mode(choice.mode);
                permission.policy.mode = choice;
                permission.policy.shell = shell;
                permission.modes.source = "Shift-Tab".to_owned();
                // The session's own events bring the new one, too.
                let before = std::mem::replace(&mut self.display.state.facts.mode, name.to_owned());
                self.chat.plain.session_mut().apply(Input::SetMode(name.to_owned()));
                self.display.drain_events();
                if in_turn::asks_less(&before, choice.mode) {
                    self.say(NoticeLevel::Info, &format!("Mode {name}: {}", choice.mode.about()));
                }
                self.display.touch();
            }
            Err(error) => self.say(NoticeLevel::Warning, &error.with_hints()),
        }
    }
}
