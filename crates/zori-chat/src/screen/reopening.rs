//! A chat that goes on elsewhere: with another provider, in another folder, or with a key that was just stored. The screen is left and opened again,
//! with the same conversation, in the same process.

use std::path::Path;

use zori_contract::error::{IO_ERROR, VALIDATION_ERROR};
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_core::cost::Spent;
use zori_core::event::NoticeLevel;
use zori_core::outcome::{CancelCause, Outcome};
use zori_host::Which;
use zori_providers::catalog::ProviderFacts;
use zori_tui::state::Draft;
use zori_tui::update::{Effect, Msg, TurnOver};

use super::Screen;
use zori_setup::args::LowArgs;
use zori_setup::settings::Settings;
use zori_setup::trust::TrustDialog;

/// What is said of a turn that is not waited for any longer.
const GIVEN_UP: &str = "The turn did not end within 3 s and was given up; Ctrl-C now ends the program.";

/// How a chat was left.
pub enum Left {
    Over(Exit),
    Again(Box<Again>),
}

/// What a chat goes on with.
#[derive(Clone, Debug)]
pub struct Again {
    /// What would have to be typed for it.
    pub args: LowArgs,
    pub which: Which,
    /// What it has cost so far.
    pub spent: Spent,
    /// What was being typed.
    pub draft: Draft,
    /// What is said when it is there.
    pub words: String,
    /// The demo is played before.
    pub demo: bool,
    /// A turn was given up for it.
    pub abandoned: bool,
}

impl Screen<'_, '_> {
    /// Goes on with a model of another provider; `name` is `provider:model`.
    pub(super) fn with_model(&mut self, name: &str) -> Result<(), Failure> {
        let mut again = self.again()?;
        again.args.model.name = Some(name.to_owned());
        again.args.model.provider = None;
        again.args.model.api_base = None;
        again.words = format!("Model: {name}");
        self.leave_for(again)?;
        self.chat.keep_model(Some(name));
        Ok(())
    }

    /// Goes on in another folder.
    pub(super) fn in_folder(&mut self, folder: &str) -> Result<(), Failure> {
        let found = self.found_folder(folder)?;
        let mut again = self.again()?;
        again.words = format!("The chat goes on in {found}");
        again.args.workspace.root = Some(found);
        self.leave_for(again)
    }

    /// Goes on with a project's settings, in a new session (UI-13).
    pub(super) fn with_project(&mut self, name: &str) -> Result<(), Failure> {
        let args = self.project_args(name)?;
        let draft = self.display.state.draft();
        let words = format!("Project: {name}; this is a new session");
        let spent = self.spent();
        self.leave_for(Again { args, which: Which::New, spent, draft, words, demo: false, abandoned: false })
    }

    /// Returns what would have to be typed for a project.
    pub(super) fn project_args(&self, name: &str) -> Result<LowArgs, Failure> {
        let demo = || Failure::new(&VALIDATION_ERROR, "this is the demo, which has no projects");
        Ok(self.chat.args.as_ref().ok_or_else(demo)?.with_project(name))
    }

    /// Finds a folder as it was named.
    pub(super) fn found_folder(&self, folder: &str) -> Result<String, Failure> {
        let root = &self.chat.plain.host.settings.workspace.root;
        let home = self.outside.env.home();
        let wanted = match (folder.strip_prefix('~'), home) {
            (Some(""), Some(home)) => home,
            (Some(below), Some(home)) if below.starts_with('/') => home.join(&below[1..]),
            _ => root.join(folder),
        };
        let bad = |why: String| Failure::new(&VALIDATION_ERROR, why);
        let found = wanted.canonicalize().map_err(|error| bad(format!("{}: {error}", wanted.display())))?;
        if !found.is_dir() {
            return Err(bad(format!("{} is no folder", found.display())));
        }
        utf8(&found)
    }

    /// Stores a key, or logs in, in the terminal, and goes on with it.
    pub(super) fn log_in(&mut self, provider: &str) -> Result<(), Failure> {
        let facts = match provider {
            "" => self.chat.plain.host.settings.model.facts,
            name => zori_providers::catalog::provider(name)
                .ok_or_else(|| zori_setup::model_choice::unknown_provider(name))?,
        };
        let again = self.again_with(facts)?;
        self.display.release();
        let done = self.outside.log_in(facts);
        self.display.resume();
        done?;
        self.leave_for(again)
    }

    /// Goes on with a key that was stored while a turn ran; returns whether the screen is left for that. What was about to be sent waits there.
    pub(super) fn go_on_with_key(&mut self, facts: &'static ProviderFacts) -> bool {
        let Self { display, outside, .. } = self;
        for effect in outside.later.drain(..).chain(display.effects.drain(..)).rev() {
            if let Effect::Prompt(prompt) = effect {
                display.state.queue.items.push_front(prompt);
            }
        }
        let gone = self.again_with(facts).and_then(|again| self.leave_for(again));
        if let Err(failure) = &gone {
            self.display.state.transcript.error(&failure.message, &failure.facts.hints);
            self.display.touch();
        }
        gone.is_ok()
    }

    /// Returns what this chat would go on with after a login.
    fn again_with(&self, facts: &'static ProviderFacts) -> Result<Again, Failure> {
        let mut again = self.again()?;
        if facts.name != self.chat.plain.host.settings.model.facts.name {
            again.args.model.name = None;
            again.args.model.provider = Some(facts.name.to_owned());
            again.args.model.api_base = None;
        }
        again.words = format!("Logged in: {}", facts.display);
        Ok(again)
    }

    /// Plays the demo, and comes back.
    pub(super) fn play_demo(&mut self) -> Result<(), Failure> {
        let again = Again { demo: true, ..self.again()? };
        self.leave_for(again)
    }

    /// Goes on without a turn that did not end when it was stopped (KEY-3): the conversation is opened anew as it is kept, or with what is known of
    /// it where nothing is.
    pub(super) fn abandon_turn(&mut self) {
        let over = TurnOver {
            outcome: Some(Outcome::Cancelled(CancelCause::User)),
            error: None,
            details: None,
            ways_out: Vec::new(),
            context: self.display.state.facts.context,
            spent: self.spent(),
        };
        self.display.drain_events();
        self.display.inputs.clear();
        self.display.take(Msg::TurnOver(over));
        self.chat.plan_turn_abandoned();
        self.tell();
        let id = self.chat.plain.session().id().clone();
        // A tab of the panel goes on where it is.
        let leaves = self.display.face.is_none() && self.chat.args.is_some();
        let gone = match leaves && self.chat.plain.session().is_saved() {
            true => self.again().and_then(|again| {
                let words = GIVEN_UP.to_owned();
                self.leave_for(Again { which: Which::Existing(id), words, abandoned: true, ..again })
            }),
            false => self.go_on_here(),
        };
        if let Err(failure) = gone {
            self.display.state.transcript.error(&failure.message, &failure.facts.hints);
            self.display.touch();
        }
    }

    /// Goes on without the turn on this screen.
    fn go_on_here(&mut self) -> Result<(), Failure> {
        self.keep_mode();
        self.carried = self.spent();
        self.chat.plain.leave_turn_behind(self.chat.cx)?;
        self.outside.snapshot = None;
        self.show_facts();
        self.display.state.abandoned = true;
        self.say(NoticeLevel::Info, GIVEN_UP);
        Ok(())
    }

    /// Returns what this chat would go on with as it is.
    fn again(&self) -> Result<Again, Failure> {
        let stays = |why: &str| Failure::new(&VALIDATION_ERROR, why);
        let Some(args) = &self.chat.args else {
            return Err(stays("this is the demo, which has one model and one folder"));
        };
        let session = self.chat.plain.session();
        let which = match (session.messages().is_empty(), session.is_saved()) {
            (true, _) => Which::New,
            (false, true) => Which::Existing(session.id().clone()),
            (false, false) => {
                return Err(stays("this conversation is not saved, so it cannot go on elsewhere")
                    .hint("`/new` begins another one first"));
            }
        };
        let mut args = args.anew();
        let settings = &self.chat.plain.host.settings;
        let provider = settings.model.facts.name;
        args.model.name = Some(format!("{provider}:{}", session.model()));
        args.model.provider = None;
        args.permission.mode = Some(session.policy().mode.shown().to_owned());
        args.permission.bypass = false;
        let draft = self.display.state.draft();
        let spent = self.spent();
        Ok(Again { args, which, spent, draft, words: String::new(), demo: false, abandoned: false })
    }

    /// Leaves the screen, unless the chat could not go on there.
    fn leave_for(&mut self, again: Again) -> Result<(), Failure> {
        Settings::resolve(self.chat.cx, &again.args, &TrustDialog::Nobody)?;
        self.again = Some(again);
        Ok(())
    }
}

impl super::Outside {
    /// Runs `auth login` in the terminal that the screen has let go.
    fn log_in(&self, facts: &ProviderFacts) -> Result<(), Failure> {
        let failed = |why: String| Failure::new(&IO_ERROR, why);
        let mut command = self.env.again().map_err(|error| failed(error.to_string()))?;
        command.args(["auth", "login", "--provider", facts.name]);
        if !zori_auth::browser::open_to_all(facts) {
            command.arg("--with-token");
        }
        let ended = command.status().map_err(|error| failed(format!("cannot log in: {error}")))?;
        match ended.success() {
            true => Ok(()),
            false => {
                Err(Failure::new(&VALIDATION_ERROR, format!("nothing was stored for {}", facts.display))
                    .hint(format!("or set {} and start again", facts.key_var)))
            }
        }
    }
}

fn utf8(path: &Path) -> Result<String, Failure> {
    let named = path.to_str().map(str::to_owned);
    named.ok_or_else(|| Failure::new(&VALIDATION_ERROR, format!("{} is no UTF-8", path.display())))
}
