//! The chat with a program: `--json` without `-p`. Commands come from standard input, answers go out as events.
//!
//! It is the chat of `chat.rs` but for where lines come from and where words go. Each turn that fails is told as an event
//! and does not end the session; the exit code is that of the last of them (D-4).

use zori_contract::error::VALIDATION_ERROR;
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_frontends::jsonl::command::Command;
use zori_frontends::jsonl::{Code, EventWriter};
use zori_host::{Answers, SessionSettings, Which};

use super::Chat;
use super::slash::{self, Found, Next};
use crate::attachment::{self, Viewer};
use crate::frontend;
use crate::plain::{Advice, PlainSession};
use crate::prompt_options::PromptOptions;
use crate::scheduler::Scheduler;
use zori_setup::agent_cx::AgentCx;
use zori_setup::args::LowArgs;
use zori_setup::settings::Settings;
use zori_setup::signals::Signals;
use zori_setup::stdin::{Client, Lines};
use zori_setup::ui::Ui;
use zori_setup::which_session;
use zori_setup::wire_up;
use zori_setup::workers::Workers;

/// Serves a program until its lines end.
pub fn serve(
    cx: &mut AgentCx<'_>,
    args: &LowArgs,
    which: Which,
    events: EventWriter,
) -> Result<Exit, Failure> {
    let signals = Signals::install(&cx.cancel, &cx.app.record)?;
    let Settings { mut session, run } = Settings::with_session_and_key(cx, args, &signals)?;
    if session.permission.answers == Answers::Nobody && !run.bare {
        session.permission.answers = Answers::Client;
    }
    if args.protocol.json_schema.is_some() {
        let message = "`--json-schema` is for one prompt, and standard input may have many";
        return Err(Failure::new(&VALIDATION_ERROR, message).hint("give the prompt with `-p TEXT`"));
    }
    let wanted = PromptOptions::of(args, &mut session, cx.ui)?;
    let viewer = Viewer { facts: session.model.facts, model: &session.model.name };
    let attached = attachment::load_all(&args.prompt.images, viewer)?;
    let which = which_session::choose_over(which, &args.session, &session, cx.profile)?;
    let prepared = wire_up::prepare(cx, session, &run, which)?;
    super::greet(cx, &prepared, &run);
    let workers = Workers::new(run.bare, &cx.app, cx.ui);
    let jobs = super::jobs::jobs(cx, &prepared, &run);
    let scheduler = jobs.and_then(|jobs| Scheduler::start(cx, &signals, &workers, jobs));
    let client =
        Client::new(events.clone(), Lines::new(workers), cx.app.redactor(), run.bare, cx.terminal.stdin);
    let parts = Box::new(move |cx: &AgentCx<'_>, settings: &SessionSettings| {
        frontend::plain_with(cx, settings, &wanted)
    });
    let plain = PlainSession::start_with(cx, prepared, run, Some(client), parts)?;
    let mut chat = Chat { attached, scheduler, ..Chat::new(cx, signals, plain) };
    let exit = chat.follow(&events);
    let Chat { cx, signals, plain, .. } = chat;
    signals.leave();
    let [closed, _] = plain.close(cx.ui, Advice::default());
    signals.die_of_hangup();
    Ok(if exit == Exit::Success { closed } else { exit })
}

/// What to do after a line.
enum LineAction {
    /// The model gets this.
    Ask(String),
    /// It has been dealt with.
    Done,
    /// The session is over.
    Quit,
}

impl Chat<'_, '_> {
    fn follow(&mut self, events: &EventWriter) -> Exit {
        let mut exit = Exit::Success;
        while let Some(command) = self.heard() {
            self.tell_scheduled();
            let action = match command {
                Command::Exit => LineAction::Quit,
                Command::Line(line) if line.is_empty() => LineAction::Done,
                Command::Line(line) if matches!(line.as_str(), "exit" | "quit") => LineAction::Quit,
                Command::Line(line) => self.slash(&line, events, LineAction::Ask(line.clone())),
                Command::Slash(line) => {
                    let refused = format!("`{line}` is no slash command; `/help` shows them all");
                    match slash::find(&line) {
                        Found::Nothing if self.plain.session().extensions().is_call(&line) => {
                            LineAction::Ask(line)
                        }
                        Found::Nothing => self.refuse(events, Code::BadCommand, &refused),
                        Found::Unknown(_) | Found::Command(..) => self.slash(&line, events, LineAction::Done),
                    }
                }
                Command::Prompt(text) => LineAction::Ask(text),
                // No turn runs, so there is nothing to end.
                Command::Interrupt => LineAction::Done,
                Command::Answer(_) => self.refuse(events, Code::BadCommand, "no question is open"),
            };
            match action {
                LineAction::Quit => break,
                LineAction::Done => {}
                LineAction::Ask(text) => {
                    let ended = self.turn(text);
                    exit = if ended == Exit::Success { exit } else { ended };
                    let (left, steps) = self.run_steps(events);
                    exit = if steps == Exit::Success { exit } else { steps };
                    if left {
                        break;
                    }
                    let by_client = self.plain.peer.client().is_some_and(Client::take_interrupted);
                    // Whoever presses Ctrl-C does not mean the first of many lines; at a terminal there is the next one.
                    if ended == Exit::Interrupted && !by_client && !self.cx.terminal.stdin {
                        return exit;
                    }
                    if self.signals.ending().is_none() && self.ask_client_to_continue(events) {
                        break;
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

    /// Asks about proposed steps, and runs those of a plan one after another. Returns whether the session is to end, and the exit code of a step
    /// that failed.
    fn run_steps(&mut self, events: &EventWriter) -> (bool, Exit) {
        while self.signals.ending().is_none() && !events.is_closed() {
            if self.ask_client_about_plan(events) {
                return (true, Exit::Success);
            }
            match self.begin_step() {
                Ok(None) => break,
                Ok(Some(prompt)) => match self.turn(prompt) {
                    Exit::Success => {}
                    failed => return (false, failed),
                },
                Err(failure) => {
                    self.cx.ui.report(&failure);
                    self.refuse(events, Code::AgentError, &failure.message);
                    break;
                }
            }
        }
        (false, Exit::Success)
    }

    /// Waits for the next command. A signal ends the program meanwhile.
    fn heard(&mut self) -> Option<Command> {
        let waiting = self.signals.while_editing(|| {});
        let command = self.plain.next_command();
        drop(waiting);
        command
    }

    /// Runs a slash command. What it says is an answer (D-8), and what cannot be done an error.
    fn slash(&mut self, line: &str, events: &EventWriter, otherwise: LineAction) -> LineAction {
        let (command, rest) = match slash::find(line) {
            Found::Nothing => return otherwise,
            Found::Unknown(_) if self.plain.session().extensions().is_call(line) => {
                return LineAction::Ask(line.to_owned());
            }
            Found::Unknown(why) => return self.refuse(events, Code::BadCommand, &why),
            Found::Command(command, rest) => (command, rest),
        };
        let (mut ui, collected) = Ui::collecting(&self.cx.app.env);
        std::mem::swap(self.cx.ui, &mut ui);
        let next = match command.run_here(self, rest) {
            Ok(Next::Compact(focus)) => {
                self.plain.compact(focus.as_deref(), &self.signals);
                Ok(Next::Done)
            }
            next => next,
        };
        std::mem::swap(self.cx.ui, &mut ui);
        if matches!(next, Ok(Next::Recap)) {
            return self.recap(events);
        }
        // Whether the reader is gone is looked at after each command.
        let _ = events.answer(collected.text().trim_end());
        match next {
            Ok(Next::Quit) => LineAction::Quit,
            Ok(Next::Ask(text)) => LineAction::Ask(text),
            Ok(Next::Lines(text)) if !text.is_empty() => LineAction::Ask(text),
            Ok(Next::Lines(_)) => {
                let why = "`/ml` is for people who type; a prompt may have several lines here";
                self.refuse(events, Code::BadCommand, why)
            }
            Ok(Next::Prompt) => LineAction::Ask(line.to_owned()),
            Ok(
                Next::Done
                | Next::Compact(_)
                | Next::Recap
                | Next::Reopen(_)
                | Next::LogIn(_)
                | Next::Feedback
                | Next::Report(_)
                | Next::Undo(_)
                | Next::WentBack(_),
            ) => LineAction::Done,
            Err(failure) => {
                self.cx.ui.report(&failure);
                self.refuse(events, Code::AgentError, &failure.message)
            }
        }
    }

    /// Sums the session up: an answer with its cost, or an error of its own code.
    fn recap(&mut self, events: &EventWriter) -> LineAction {
        let (text, spent) = self.plain.recap(&self.signals);
        let redactor = self.cx.app.redactor();
        let answer = text.map_err(|why| redactor.redact(&why).into_owned());
        let answer = answer.as_deref().map_err(|why| (Code::RecapError, why.as_str()));
        let session = self.plain.session();
        let _ = events.aside(answer, spent, session.is_saved().then(|| session.id().as_str()));
        LineAction::Done
    }

    fn refuse(&self, events: &EventWriter, code: Code, why: &str) -> LineAction {
        let _ = events.error(code, &self.cx.app.redactor().redact(why));
        LineAction::Done
    }
}
