//! Slash commands, as the screen runs them.

use zori_core::event::NoticeLevel;
use zori_core::input::{Input, Prompt};
use zori_tui::row::{Ground, Row, Span};
use zori_tui::state::Phase;
use zori_tui::update::Msg;
use zori_tui::wrap;

use super::Screen;
use super::peer::ScreenPeer;
use super::start::facts;
use crate::chat::slash::{self, Elsewhere, Next};
use crate::plain::PlainSession;

/// The commands that ask before they do something.
const ASKING: [&str; 3] = ["/undo", "/redo", "/rewind"];

impl Screen<'_, '_> {
    /// Runs a slash command; returns whether the chat is over, or goes on elsewhere.
    pub(super) fn command(&mut self, line: &str) -> bool {
        let line = if line.trim() == "/clear" { "/new" } else { line };
        let (command, rest) = match slash::find(line) {
            slash::Found::Command(command, rest) => (command, rest),
            slash::Found::Nothing => {
                self.turn(line.to_owned().into());
                return false;
            }
            slash::Found::Unknown(why) => {
                self.say(NoticeLevel::Warning, &why);
                return false;
            }
        };
        let before = self.chat.plain.session().id().clone();
        // These ask, line by line: they have the terminal meanwhile.
        let lists = command.names[0] == "/rewind" && rest.is_empty();
        let asks = ASKING.contains(&command.names[0]) && !lists;
        if asks {
            self.display.release();
            std::mem::swap(self.chat.cx.ui, &mut self.outer);
        }
        let next = command.run(&mut self.chat, rest);
        if asks {
            std::mem::swap(self.chat.cx.ui, &mut self.outer);
            self.display.resume();
        }
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
                let hints = failure.facts.hints.clone();
                self.display.state.transcript.error(&failure.message, &hints);
            }
        }
        if *self.chat.plain.session().id() != before {
            self.outside.session = self.chat.plain.session().id().to_string();
            self.display.state.todos.clear();
            self.recall(false);
        }
        self.outside.beside = Some(self.chat.plain.beside(""));
        self.outside.viewer.1 = self.chat.plain.session().model().to_owned();
        let title =
            self.display.state.facts.title.take().filter(|_| *self.chat.plain.session().id() == before);
        self.display.state.facts = facts(&self.chat.plain, &self.outside.env);
        self.display.state.facts.spent = Some(self.spent());
        self.display.state.facts.title = match command.names[0] {
            "/rename" if !rest.is_empty() => Some(rest.to_owned()),
            _ => title,
        };
        self.display.touch();
        false
    }

    /// Shows what the command said as a diff, with what was added and removed told apart.
    fn tell_diff(&mut self) {
        let text = self.said.take();
        let row = |line: &str| {
            let span = Span::new(wrap::expand_tabs(line, wrap::TAB).into_owned());
            Row::from(match line.as_bytes() {
                [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => span.bold(),
                [b'+', ..] => span.ground(Ground::Added),
                [b'-', ..] => span.ground(Ground::Removed),
                [b'@', ..] => span.muted(),
                _ => span,
            })
        };
        self.display.state.transcript.rows(text.trim_end().lines().map(row).collect());
        self.display.touch();
    }

    /// Does what a command leads to; returns whether the screen is left.
    fn go_on(&mut self, next: Next, line: &str) -> Result<bool, zori_contract::failure::Failure> {
        match next {
            Next::Quit => return Ok(true),
            Next::Ask(text) => self.turn(text.into()),
            Next::Prompt => self.turn(line.to_owned().into()),
            Next::Done => {}
            Next::Elsewhere(wanted) => {
                match wanted {
                    Elsewhere::Model(name) => self.with_model(&name)?,
                    Elsewhere::Folder(folder) => self.in_folder(&folder)?,
                    Elsewhere::Login(provider) => self.log_in(&provider)?,
                    Elsewhere::Demo => self.play_demo()?,
                }
                return Ok(true);
            }
            Next::Compact(focus) => {
                let Self { chat, display, outside, answers, .. } = self;
                display.take(Msg::TurnBegins(Prompt::from("")));
                if let Some(turn) = &mut display.state.turn {
                    turn.phase = Phase::Compacting;
                    turn.prompt = None;
                }
                let mut peer = ScreenPeer { display, outside, answers: *answers };
                chat.plain.compact_with(focus.as_deref(), &mut peer);
                self.turn_over(None);
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
            Next::Feedback => self.feedback(),
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
                self.chat.plain.session_mut().apply(Input::SetMode(name.to_owned()));
                self.display.drain_events();
                if matches!(name, "yolo" | "acceptEdits") {
                    self.say(NoticeLevel::Info, &format!("Mode {name}: {}", choice.mode.about()));
                }
                self.display.state.facts.mode = name.to_owned();
                self.display.touch();
            }
            Err(error) => self.say(NoticeLevel::Warning, &error.with_hints()),
        }
    }
}
