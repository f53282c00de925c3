//! The chat with a program: `--json` without `-p`. Commands come from standard input, answers go out as events.
//!
//! It is the chat of `chat.rs` but for where lines come from and where words go. Each turn that fails is told as an event
//! and does not end the session; the exit code is that of the last of them (D-4).

use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_core::cost::Spent;
use zori_frontends::jsonl::command::Command;
use zori_frontends::jsonl::{Code, Events};

use super::Chat;
use super::slash::{self, Found, Next};
use crate::args::LowArgs;
use crate::asking::Answers;
use crate::attachment::{self, Viewer};
use crate::client::Client;
use crate::commands::Cx;
use crate::network::Network;
use crate::outlet::Outlet;
use crate::sandbox::confinement::Confinement;
use crate::secrets;
use crate::settings::Settings;
use crate::signals::Signals;
use crate::trust::Asks;
use crate::ui::Ui;
use crate::wire_up::{self, Open, Run, Session};
use crate::workers::Workers;

/// Serves a program until its lines end.
pub fn serve(cx: &mut Cx<'_>, args: &LowArgs, open: Open, events: Events) -> Result<Exit, Failure> {
    let signals = Signals::install(&cx.cancel)?;
    let settings = Settings::resolve(cx, args, &Asks::Nobody);
    signals.check()?;
    let mut settings = settings?;
    if let Some(error) = settings.missing_key(cx.profile.name) {
        return Err(error);
    }
    if settings.answers == Answers::Nobody && !settings.bare {
        settings.answers = Answers::Client;
    }
    let confinement = Confinement::start(&settings)?;
    let viewer = Viewer { facts: settings.choice.facts, model: &settings.choice.model };
    let attached = attachment::load_all(&args.images, viewer)?;
    let saved = wire_up::open(&settings, open, cx.ui)?;
    let network = Network::open(cx, &settings)?;
    let provider = wire_up::provider(&settings, &network);
    let id = saved.id.clone();
    super::greet(cx, &settings, confinement.as_deref(), &saved);
    let workers = Workers::new(settings.bare, cx.ui);
    let client = Client::new(events.clone(), workers, settings.bare, cx.terminal.stdin);
    let outlet = Outlet::plain(cx, &settings)?;
    let run = Run {
        settings: &settings,
        network: &network,
        provider: provider.clone(),
        confinement: confinement.clone(),
        spent_before: Spent::NOTHING,
    };
    let mut session = Session::start(cx, run, saved, outlet)?;
    session.asking.attend(Some(client));
    let mut chat = Chat { cx, settings, network, provider, confinement, signals, session, id, attached };
    let exit = chat.follow(&events);
    let Chat { cx, network, signals, session, confinement, .. } = chat;
    signals.leave();
    let closed = session.finish(cx.ui);
    if let Some(confinement) = confinement {
        confinement.end(cx.ui);
    }
    network.close(cx.ui);
    signals.die_of_hangup();
    Ok(if exit == Exit::Success { closed } else { exit })
}

/// What becomes of a line.
enum Said {
    /// The model gets this.
    Ask(String),
    /// It has been dealt with.
    Done,
    /// The session is over.
    Quit,
}

impl Chat<'_, '_> {
    fn follow(&mut self, events: &Events) -> Exit {
        let mut exit = Exit::Success;
        while let Some(command) = self.heard() {
            let said = match command {
                Command::Exit => Said::Quit,
                Command::Line(line) if matches!(line.as_str(), "exit" | "quit") => Said::Quit,
                Command::Line(line) => self.slash(&line, events, Said::Ask(line.clone())),
                Command::Slash(line) => {
                    let refused = format!("`{line}` is no slash command; `/help` shows them all");
                    match slash::find(&line) {
                        Found::Nothing => self.refuse(events, Code::BadCommand, &refused),
                        Found::Unknown(_) | Found::Command(..) => self.slash(&line, events, Said::Done),
                    }
                }
                Command::Prompt(text) => Said::Ask(text),
                // No turn runs, so there is nothing to end.
                Command::Interrupt => Said::Done,
                Command::Answer(_) => self.refuse(events, Code::BadCommand, "no question is open"),
            };
            match said {
                Said::Quit => break,
                Said::Done => {}
                Said::Ask(text) => {
                    let ended = self.turn(text).exit;
                    exit = if ended == Exit::Success { exit } else { ended };
                    let by_client =
                        self.session.asking.client().as_mut().is_some_and(Client::take_interrupted);
                    // Whoever presses Ctrl-C does not mean the first of many lines; at a terminal there is the next one.
                    if ended == Exit::Interrupted && !by_client && !self.cx.terminal.stdin {
                        return exit;
                    }
                }
            }
            if let Some(ending) = self.signals.ending() {
                return ending;
            }
            if events.is_closed() {
                return exit;
            }
        }
        exit
    }

    /// Waits for the next command. A signal ends the program meanwhile.
    fn heard(&mut self) -> Option<Command> {
        let waiting = self.signals.while_editing(|| {});
        let Session { runtime, asking, .. } = &mut self.session;
        let command = runtime.block_on(asking.client().as_mut()?.next());
        drop(waiting);
        command
    }

    /// Runs a slash command. What it says is an answer (D-8), and what cannot be done an error.
    fn slash(&mut self, line: &str, events: &Events, otherwise: Said) -> Said {
        let (command, rest) = match slash::find(line) {
            Found::Nothing => return otherwise,
            Found::Unknown(why) => return self.refuse(events, Code::BadCommand, &why),
            Found::Command(command, rest) => (command, rest),
        };
        let (mut ui, collected) = Ui::collecting();
        std::mem::swap(self.cx.ui, &mut ui);
        let next = (command.run)(self, rest);
        std::mem::swap(self.cx.ui, &mut ui);
        // Whether the reader is gone is looked at after each command.
        let _ = events.answer(collected.text().trim_end());
        match next {
            Ok(Next::Quit) => Said::Quit,
            Ok(Next::Ask(text)) => Said::Ask(text),
            Ok(Next::Done | Next::Prompt) => Said::Done,
            Err(failure) => {
                self.cx.ui.report(&failure);
                self.refuse(events, Code::AgentError, &failure.message)
            }
        }
    }

    fn refuse(&self, events: &Events, code: Code, why: &str) -> Said {
        let _ = events.error(code, &secrets::redactor().redact(why));
        Said::Done
    }
}
