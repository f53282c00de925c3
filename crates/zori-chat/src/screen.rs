//! The chat on a terminal (`docs/contracts/interactive.md`): `zori-tui` says what is drawn and what keys mean, this drives it with a session.
//!
//! `screen/start.rs` puts it together, `screen/turns.rs` runs turns, `screen/commands.rs` the slash commands, `screen/outside.rs` what is neither.

mod aside;
mod asked_changes;
mod commands;
mod completions;
mod display;
mod drafts;
mod errand;
mod feed;
mod feedback;
mod files;
mod first_time;
mod greeting;
mod history;
mod in_turn;
mod leaving;
mod look;
mod offers;
mod outside;
mod panel;
mod peer;
mod pictures;
mod recall;
mod reopening;
mod sessions;
mod spilled;
mod start;
mod title;
mod tty;
mod turns;

pub use completions::is_own as is_own_command;
pub use completions::models;
pub use completions::own_names as own_command_names;
use zori_contract::exit::Exit;
use zori_core::cost::Spent;
use zori_core::event::NoticeLevel;
use zori_core::input::Prompt;
use zori_host::Answers;
use zori_tui::completion::Item;
use zori_tui::update::{Effect, FindRequest, Msg};

use crate::chat::Chat;
use crate::chat::undo::{UndoPlan, turn_lines};
use display::Display;
use history::HistoryFile;
use outside::Outside;
use zori_setup::agent_cx::AgentCx;
use zori_setup::args::LowArgs;
use zori_setup::terminal;
use zori_setup::ui::{Collected, Ui};

pub use aside::Beside;
pub use errand::{Back, edit as edit_draft};
pub use feed::shown_event;
pub use look::Look;
pub use offers::{efforts, themes};
pub use outside::{clipboard, keep_theme};
pub use panel::run as run_panel;
pub use recall::recall;
pub use reopening::{Again, Left};
pub use sessions::Sessions;
pub use spilled::text as spilled_text;
pub use start::plain_state;
pub use start::{Opening, run};
pub use turns::{NO_GUIDELINE, attach_files, guideline};

/// Whether the chat is the inline screen here; else it is the line chat (ACC-1).
pub fn fits(cx: &AgentCx<'_>, plain: bool) -> bool {
    let env = &cx.app.env;
    let is = |name: &str, value: &str| env.text(name) == Some(value);
    cx.terminal.interactive()
        && cx.profile.has_screen()
        && !plain
        && !is("ACCESSIBLE", "1")
        && !terminal::is_dumb(env)
        && cx.front.events().is_none()
}

/// A chat on its screen.
struct Screen<'a, 'c> {
    chat: Chat<'a, 'c>,
    display: Display,
    outside: Outside,
    history: Option<HistoryFile>,
    /// What the commands said.
    said: Collected,
    /// The way out for words while the screen has let the terminal go.
    outer: Ui,
    answers: Answers,
    exit: Exit,
    /// The chat goes on elsewhere: another provider, another folder, or with a new key.
    again: Option<Again>,
    /// What the conversation cost before it went on here.
    carried: Spent,
    /// What goes back when the person says so (`/undo`).
    undo: Option<UndoPlan>,
    /// How many turns the loop has had (`/loop`).
    loop_turns: u32,
    /// What the panel is to run beside its other tabs.
    begun: Option<Begun>,
}

/// What the chat runs at once, and the panel beside its other tabs.
enum Begun {
    Turn(Prompt),
    Shell {
        command: String,
        share: bool,
    },
    Compact(Option<String>),
    /// A tab with what was typed for it, and this name.
    Tab(Box<LowArgs>, String),
    /// The same tab with what was typed for it.
    Again(Box<LowArgs>),
}

impl Screen<'_, '_> {
    fn converse(&mut self) {
        loop {
            if self.display.is_lent() && !self.await_terminal() {
                return;
            }
            if let Some(facts) = self.outside.logged_in.take()
                && self.go_on_with_key(facts)
            {
                return;
            }
            let Self { chat, display, outside, .. } = self;
            let effect = match outside.later.pop_front() {
                Some(effect) => effect,
                None => {
                    let answered = chat.plain.block_on(async {
                        tokio::select! {
                            biased;
                            () = display.wait() => None,
                            answered = outside.aside() => Some(answered),
                        }
                    });
                    if let Some(came) = answered {
                        outside.came(display, came);
                        self.count_asides();
                        continue;
                    }
                    // Nobody hears them between turns.
                    display.inputs.clear();
                    if display.gone || display.ending.is_some() {
                        return;
                    }
                    let Some(effect) = display.effects.pop_front() else { continue };
                    effect
                }
            };
            match effect {
                // It waits for the answer to the question that is open.
                Effect::Prompt(prompt) if self.display.state.confirm.is_some() => {
                    self.display.state.queue.items.push_front(prompt);
                }
                Effect::Prompt(prompt) => {
                    self.keep_in_history(&prompt.text);
                    self.turn(prompt);
                }
                Effect::Command(line) => {
                    if self.command(&line) {
                        return;
                    }
                }
                Effect::Shell { command, share } => {
                    self.keep_in_history(&format!("{}{command}", if share { "!" } else { "!!" }));
                    self.shell(command, share);
                }
                Effect::Find(FindRequest::Argument { command: "/rewind", word, .. }) => self.find_turns(word),
                Effect::Confirmed { what, yes } => self.confirmed(what, yes),
                Effect::SetMode(mode) => self.set_mode(&mode),
                Effect::Leave => return,
                effect => {
                    let Self { display, outside, .. } = self;
                    outside.run(display, effect);
                }
            }
            if self.display.gone || self.display.ending.is_some() || self.again.is_some() {
                return;
            }
        }
    }

    /// Waits until the terminal is back; returns whether the chat goes on. Nothing begins meanwhile that might want the terminal, too.
    fn await_terminal(&mut self) -> bool {
        let Self { chat, display, outside, .. } = self;
        let came = chat.plain.block_on(async {
            tokio::select! {
                biased;
                () = display.lent() => None,
                came = outside.aside() => Some(came),
            }
        });
        let Some(came) = came else { return false };
        outside.came(display, came);
        self.count_asides();
        true
    }

    /// Adds what questions beside the conversation used to what the session has.
    fn count_asides(&mut self) {
        for (model, usage) in std::mem::take(&mut self.outside.used) {
            self.chat.plain.session_mut().add_usage_of(&model, usage);
        }
        self.display.state.facts.spent = Some(self.spent());
    }

    /// Returns what the conversation has cost.
    fn spent(&self) -> Spent {
        let mut spent = self.carried;
        spent += self.chat.plain.session().totals().spent;
        spent
    }

    /// Lists the turns that `/rewind` can go back to, newest first, then what of one goes back.
    fn find_turns(&mut self, word: String) {
        let turns = self.chat.plain.session().turns().unwrap_or_default();
        let lines = turn_lines(self.chat.plain.session(), &turns);
        let (items, of) = offers::turns(&turns, &lines, &word);
        self.display.take(Msg::Found { word, items, of, all: of, pending: false });
    }

    fn keep_in_history(&self, text: &str) {
        if let Some(history) = &self.history {
            history.add(text);
        }
    }

    fn say(&mut self, level: NoticeLevel, text: &str) {
        self.display.state.transcript.notice(level, text);
        self.display.touch();
    }

    /// Shows what commands and the session said.
    fn tell(&mut self) {
        let text = self.said.take();
        // Lines that belong together are one notice.
        let mut lines: Vec<&str> = Vec::new();
        for line in text.trim_end().lines() {
            match line.strip_prefix("Warning: ") {
                Some(warning) => {
                    self.say_lines(&mut lines);
                    self.say(NoticeLevel::Warning, warning);
                }
                None => lines.push(line),
            }
        }
        self.say_lines(&mut lines);
    }

    fn say_lines(&mut self, lines: &mut Vec<&str>) {
        if !lines.is_empty() {
            self.say(NoticeLevel::Info, &std::mem::take(lines).join("\n"));
        }
    }
}

/// A choice in a list.
fn item(text: impl Into<String>, about: impl Into<String>) -> Item {
    Item { text: text.into(), args: String::new(), about: about.into(), label: None }
}
