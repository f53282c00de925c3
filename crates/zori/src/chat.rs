//! The line chat: read a line, run a turn or a slash command, again (`core-cli.md` chapter 10).
//!
//! Everything but the assistant's text goes to standard error. Lines come from the editor in `chat/editor.rs` at a
//! terminal, or from a pipe in the profile `zdx`.

mod complete;
mod editor;
mod lines;
pub(crate) mod permissions;
mod serve;
pub mod slash;

pub use serve::serve;

use std::sync::Arc;

use zori_contract::error::REPL_MODE_PROHIBITED;
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_core::cost::Spent;
use zori_core::ids::SessionId;
use zori_core::image::Image;
use zori_core::input::Prompt;
use zori_core::provider::Provider;

use crate::args::LowArgs;
use crate::asking::{self, Answers};
use crate::attachment::{self, Viewer};
use crate::chat::lines::{Line, Lines};
use crate::chat::slash::Next;
use crate::commands::Cx;
use crate::commands::{Ended, exec_turn};
use crate::network::Network;
use crate::outlet::Outlet;
use crate::sandbox::confinement::Confinement;
use crate::settings::Settings;
use crate::signals::Signals;
use crate::trust::Asks;
use crate::wire_up::{self, Open, Run, Session};

/// A chat under way.
struct Chat<'a, 'c> {
    cx: &'a mut Cx<'c>,
    settings: Settings,
    network: Network,
    provider: Arc<dyn Provider>,
    signals: Signals,
    session: Session,
    id: SessionId,
    /// What goes with the next prompt.
    attached: Vec<Image>,
    /// What confines commands.
    confinement: Option<Arc<Confinement>>,
}

/// Opens the chat with a new session, or with the one `--session` names.
pub fn run(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Exit, Failure> {
    start(cx, args, Open::ByFlags)
}

/// Opens the chat with a session that exists.
pub fn resume(cx: &mut Cx<'_>, args: &LowArgs, id: SessionId) -> Result<Exit, Failure> {
    start(cx, args, Open::Existing(id))
}

fn start(cx: &mut Cx<'_>, args: &LowArgs, open: Open) -> Result<Exit, Failure> {
    let interactive = cx.terminal.interactive();
    if !interactive && !cx.profile.chats_on_a_pipe() {
        return Err(Failure::new(&REPL_MODE_PROHIBITED, "a chat needs a terminal")
            .hint("give one prompt with `-p TEXT`"));
    }
    let signals = Signals::install(&cx.cancel)?;
    // A question has to be seen and answered: standard error is where it is drawn.
    let attended = interactive && cx.terminal.stderr;
    let asks = if attended { Asks::Person(&signals) } else { Asks::Nobody };
    let mut settings = Settings::resolve(cx, args, &asks)?;
    if attended && settings.answers == Answers::Nobody {
        settings.answers = Answers::Person;
    }
    let viewer = Viewer { facts: settings.choice.facts, model: &settings.choice.model };
    let attached = attachment::load_all(&args.images, viewer)?;
    let confinement = Confinement::start(&settings)?;
    let saved = wire_up::open(&settings, open, cx.ui)?;
    let network = Network::open(cx, &settings)?;
    let provider = wire_up::provider(&settings, &network);
    let id = saved.id.clone();
    greet(cx, &settings, confinement.as_deref(), &saved);
    for image in &attached {
        cx.ui.say(&format!("Attached to the first prompt: {image}"));
    }
    let mut lines = match interactive {
        true => Lines::editor(&settings, cx.terminal.colour),
        false => Lines::pipe(),
    };
    let outlet = Outlet::plain(cx, &settings)?;
    let run = Run {
        settings: &settings,
        network: &network,
        provider: provider.clone(),
        confinement: confinement.clone(),
        spent_before: Spent::NOTHING,
    };
    let session = Session::start(cx, run, saved, outlet)?;
    let mut chat = Chat { cx, settings, network, provider, signals, session, id, attached, confinement };
    let exit = chat.converse(&mut lines);
    let Chat { cx, network, signals, session, confinement, .. } = chat;
    signals.leave();
    session.finish(cx.ui);
    if let Some(confinement) = confinement {
        confinement.end(cx.ui);
    }
    network.close(cx.ui);
    signals.die_of_hangup();
    exit
}

fn greet(cx: &mut Cx<'_>, settings: &Settings, confinement: Option<&Confinement>, saved: &wire_up::Saved) {
    let name = cx.profile.name;
    if cx.front.events().is_none() {
        cx.ui.say(&format!("{name} chat (type :q to quit)"));
    }
    cx.ui.say(&format!("Model: {}", settings.choice.model));
    if saved.log.is_some() {
        cx.ui.say(&format!("Session: {}", saved.id));
    }
    if let Some(confinement) = confinement {
        cx.ui.say(&format!("Sandbox: {}", confinement.status()));
    }
    if !settings.guidelines.is_empty() {
        cx.ui.say("Loaded AGENTS.md from:");
        for path in &settings.guidelines {
            cx.ui.say(&format!("  - {}", path.display()));
        }
    }
    if !saved.history.is_empty() {
        cx.ui.say(&format!("Loaded {} previous messages", saved.history.len()));
    }
    // Said to people, and nowhere else (MODE-3).
    let people = cx.terminal.interactive() && cx.front.events().is_none();
    if people && confinement.is_none() && permissions::as_root_without_questions(&settings.policy) {
        cx.ui.warn(permissions::AS_ROOT);
    }
    if let Some(error) = settings.missing_key(name) {
        cx.ui.report(&error);
    }
}

impl Chat<'_, '_> {
    fn converse(&mut self, lines: &mut Lines) -> Result<Exit, Failure> {
        loop {
            let text = match lines.next(&self.signals)? {
                Line::Text(text) => text,
                Line::End => return Ok(Exit::Success),
            };
            match text.trim() {
                "" => {}
                ":q" => {
                    self.cx.ui.say("Goodbye!");
                    return Ok(Exit::Success);
                }
                line => match slash::run(self, line)? {
                    Next::Prompt => drop(self.turn(line.to_owned())),
                    Next::Ask(text) => drop(self.turn(text)),
                    Next::Done => {}
                    Next::Quit => {
                        self.cx.ui.say("Goodbye!");
                        return Ok(Exit::Success);
                    }
                },
            }
            if let Some(exit) = self.signals.ending() {
                return Ok(exit);
            }
        }
    }

    /// Runs one turn. Errors are shown by the renderer and do not end the chat (EXIT-3).
    fn turn(&mut self, text: String) -> Ended {
        let prompt = Prompt { text, images: std::mem::take(&mut self.attached) };
        self.network.prompt(&prompt);
        let ended = exec_turn(&mut self.session, prompt, &self.signals);
        self.network.turn_over(self.cx.ui);
        if ended.unasked {
            self.cx.ui.say(asking::WAYS_OUT);
        }
        // One that is missing was told at the start.
        if ended.refused && matches!(self.settings.choice.key, Ok(Some(_))) {
            let advice = self.settings.choice.advice(self.cx.profile.name);
            self.cx.ui.say(&format!("Hint: {advice}"));
        }
        ended
    }

    /// Leaves the running session and goes on with another.
    fn switch(&mut self, open: Open) -> Result<(), Failure> {
        let saved = wire_up::open(&self.settings, open, self.cx.ui)?;
        self.id = saved.id.clone();
        let (saving, messages) = (saved.log.is_some(), saved.history.len());
        self.settings.choice.model = self.session.engine.model().into();
        let outlet = Outlet::plain(self.cx, &self.settings)?;
        let run = Run {
            settings: &self.settings,
            network: &self.network,
            provider: self.provider.clone(),
            confinement: self.confinement.clone(),
            spent_before: self.session.engine.spent(),
        };
        let mut next = Session::start(self.cx, run, saved, outlet)?;
        next.asking.attend(self.session.asking.client().take());
        std::mem::replace(&mut self.session, next).finish(self.cx.ui);
        if saving {
            self.cx.ui.say(&format!("Session: {}", self.id));
        }
        if messages > 0 {
            self.cx.ui.say(&format!("Loaded {messages} previous messages"));
        }
        Ok(())
    }
}
