//! Tabs: opened, shown, closed (UI-11, UI-54).

use zori_contract::error::VALIDATION_ERROR;
use zori_contract::failure::Failure;
use zori_core::event::NoticeLevel;
use zori_host::{Answers, Which};
use zori_tui::panel::TabSign;
use zori_tui::state::Draft;
use zori_tui::update::{Effect, Msg};

use super::super::start::ChatParts;
use super::tab_parts::{self, Parked};
use super::{Begun, PanelLoop, Screen, Slot, THEME};
use crate::chat::server_chat;
use crate::chat::slash::Reopen;
use crate::plain::Advice;
use zori_setup::args::LowArgs;
use zori_setup::config::Config;
use zori_setup::settings::Settings;
use zori_setup::trust::TrustDialog;
use zori_setup::wire_up;

impl PanelLoop<'_, '_> {
    /// Works on a tab for a moment, whichever is shown.
    pub(super) fn with_tab(&mut self, at: usize, work: impl FnOnce(&mut Self)) {
        self.bring(at);
        work(self);
        self.pump();
        let (here, shown) = (self.on_screen, self.shown);
        let sign = TabSign::of(&self.screen.display.state);
        self.bring(shown);
        if here != shown {
            self.show_sign(here, sign);
        }
    }

    /// Puts a tab into the screen, without showing it.
    fn bring(&mut self, at: usize) {
        if at == self.on_screen {
            return;
        }
        if let Some(mut parked) = self.slots[at].parked.take() {
            parked.swap(&mut self.screen);
            self.slots[self.on_screen].parked = Some(parked);
            self.on_screen = at;
        }
    }

    /// Shows a tab.
    pub(super) fn show(&mut self, at: usize) {
        if at >= self.slots.len() {
            return;
        }
        let before = TabSign::of(&self.screen.display.state);
        let left = self.on_screen;
        self.bring(at);
        self.shown = at;
        let display = &mut self.screen.display;
        if let Some(face) = &mut display.face {
            let mut effects = Vec::new();
            face.panel.active = at;
            face.panel.close(&mut effects);
            display.effects.extend(effects);
            if left != at
                && let Some(sign) = face.panel.tabs.get_mut(left)
            {
                *sign = before;
            }
        }
        let size = display.tty.size();
        display.drain_events();
        display.take(Msg::Resized(size));
        // A question is seen anew before a key answers it (SAF-1).
        if let Some(asked) = display.state.questions.front_mut() {
            asked.drawn = None;
            asked.entered = false;
        }
        display.paint = self.screen.outside.look.paint(&display.terminal);
        display.forget();
    }

    /// Opens a tab like the one that is shown.
    pub(super) fn open_beside(&mut self, name: Option<String>) {
        match self.screen.tab_args() {
            Ok(args) => self.open_tab(args, name),
            Err(failure) => self.screen.say(NoticeLevel::Warning, &failure.message),
        }
    }

    /// Opens a tab and shows it; what is wrong is said in the one that wanted it.
    pub(super) fn open_tab(&mut self, args: LowArgs, name: Option<String>) {
        match self.new_tab_parts(args, name) {
            Ok((parked, _)) => {
                self.slots.push(Slot { id: self.opened, parked: Some(Box::new(parked)), work: None });
                self.opened += 1;
                let at = self.slots.len() - 1;
                if let (Some(face), Some(parked)) = (&mut self.screen.display.face, &self.slots[at].parked) {
                    face.panel.tabs.push(TabSign::of(&parked.state));
                }
                self.show(at);
                self.screen.tell();
            }
            Err(failure) => {
                self.screen.tell();
                self.screen.display.state.transcript.error(&failure.message, &failure.facts.hints);
                self.screen.display.touch();
            }
        }
    }

    /// Begins the tab in the screen anew: other settings, a new session. What is being typed stays.
    pub(super) fn begin_anew(&mut self, args: LowArgs) {
        let name = self.screen.display.state.tab.as_ref().map(|tab| tab.name.clone());
        match self.new_tab_parts(args, name) {
            Ok((mut parked, config)) => {
                std::mem::swap(&mut parked.state.composer, &mut self.screen.display.state.composer);
                parked.swap(&mut self.screen);
                // What is being typed moves along; the session that was left keeps none (CMP-10).
                parked.outside.keep(&Draft::default());
                self.screen.display.state.draft.due = Some(self.screen.display.now());
                parked.plain.close(self.screen.chat.cx.ui, Advice::default());
                if self.on_screen == self.shown {
                    self.show(self.on_screen);
                }
                self.take_settings(&config);
                self.screen.tell();
            }
            Err(failure) => {
                self.screen.tell();
                self.screen.display.state.transcript.error(&failure.message, &failure.facts.hints);
                self.screen.display.touch();
            }
        }
    }

    /// Lets the panel look as the settings of a project say (UI-13). What the user chose since stays where they say nothing else.
    fn take_settings(&mut self, config: &Config) {
        if let Some(face) = &mut self.screen.display.face {
            tab_parts::furnish_panel(&mut face.panel, config);
        }
        let theme = config.text("ui.theme").map(str::to_owned);
        if theme != self.theme {
            self.theme(theme.clone().unwrap_or_else(|| THEME.to_owned()), false);
            self.theme = theme;
        }
    }

    fn new_tab_parts(&mut self, args: LowArgs, name: Option<String>) -> Result<(Parked, Config), Failure> {
        let cx = &mut *self.screen.chat.cx;
        let Settings { mut session, run } = Settings::resolve(cx, &args, &TrustDialog::Nobody)?;
        if session.permission.answers == Answers::Nobody {
            session.permission.answers = Answers::Person;
        }
        let prepared = wire_up::prepare(cx, session, &run, Which::New)?;
        let runtime = Some(self.runtime.clone());
        let mut parts = ChatParts::open(cx, runtime, prepared, run, Some(args), Vec::new(), false)?;
        parts.outside.look = self.screen.outside.look.clone();
        parts.state.size = self.screen.display.state.size;
        parts.state.focused = self.screen.display.state.focused;
        parts.state.options.shift_enter = self.screen.display.state.options.shift_enter;
        parts.state.options.brackets_pastes = self.screen.display.state.options.brackets_pastes;
        tab_parts::furnish(&mut parts, name.unwrap_or_else(|| format!("Chat {}", self.opened + 1)));
        let config = std::mem::take(&mut parts.config);
        Ok((Parked::from(parts), config))
    }

    /// Closes the tab that is shown; the last one stays.
    pub(super) fn close_tab(&mut self) {
        if self.slots.len() == 1 {
            return self.hint("this is the last tab; F10 quits");
        }
        if self.slots[self.on_screen].work.is_some() {
            return self.hint("a turn is running; Esc stops it");
        }
        let at = self.on_screen;
        let draft = self.screen.display.state.draft();
        let Screen { display, outside, .. } = &mut self.screen;
        outside.run(display, Effect::Keep(draft));
        let next = if at + 1 < self.slots.len() { at + 1 } else { at - 1 };
        self.show(next);
        let closed = self.slots.remove(at);
        if next > at {
            self.on_screen -= 1;
        }
        self.shown = self.on_screen;
        if let Some(face) = &mut self.screen.display.face {
            face.panel.tabs.remove(at);
            face.panel.active = self.shown;
        }
        if let Some(parked) = closed.parked {
            if let Some(words) = server_chat::terminate(&parked.plain) {
                self.screen.say(NoticeLevel::Warning, &words);
            }
            parked.plain.close(self.screen.chat.cx.ui, Advice::default());
        }
        self.screen.tell();
        self.screen.display.forget();
    }
}

impl Screen<'_, '_> {
    /// Returns what would have to be typed for a tab like this one.
    fn tab_args(&self) -> Result<LowArgs, Failure> {
        let Some(args) = &self.chat.args else {
            return Err(Failure::new(&VALIDATION_ERROR, "this is the demo, which has one tab"));
        };
        Ok(args.anew())
    }

    /// What the chat would go on with elsewhere is a tab of its own here.
    pub(in crate::screen) fn reopen_in_tab(&mut self, wanted: Reopen) -> Result<(), Failure> {
        let mut args = self.tab_args()?;
        let name = match &wanted {
            Reopen::Model(name) => {
                args.model.name = Some(name.clone());
                args.model.provider = None;
                args.model.api_base = None;
                name.clone()
            }
            Reopen::Folder(folder) => {
                args.workspace.root = Some(self.found_folder(folder)?);
                folder.clone()
            }
            Reopen::Project(name) => {
                let args = self.project_args(name)?;
                self.begun = Some(Begun::Again(Box::new(args)));
                return Ok(());
            }
            Reopen::Login(_) | Reopen::Demo => {
                let words = wanted.by_hand(self.chat.cx.profile.name, None).replace("the chat", "the panel");
                self.say(NoticeLevel::Info, &format!("To go on so, {words}."));
                return Ok(());
            }
        };
        self.begun = Some(Begun::Tab(Box::new(args), name));
        Ok(())
    }
}
