//! The GUI behind `start`: one turn for a prompt, or as many as lines on standard input ask for
//! (`docs/contracts/claude-protocol.md`).
//!
//! What it says while a turn runs is heard in `zori_serve::gui`; what it reads is written by
//! `zori_frontends::claude::flat`. This file puts the two around a session and goes from turn to turn.

mod history;

pub use history::forget;

use std::sync::Arc;

use zori_contract::error::{ALREADY_EXISTS, ErrorKind};
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_core::cost::Spent;
use zori_core::ids::SessionId;
use zori_core::input::{Input, Prompt};
use zori_core::outcome::{LimitKind, Outcome};
use zori_frontends::claude::flat::{AUTH, ClientCall, ClientNames, FlatParts, FlatRenderer, InitFacts};
use zori_frontends::claude::{FrameBuffer, FrameMode, FrameWriter, ModelFacts, Tally, YUME_LINE};
use zori_frontends::jsonl::NoticeRenderer;
use zori_host::{
    Answers, BlockingSession, CallOrder, FrontendParts, ModeGate, PartialReply, SessionSettings, SystemClock,
    SystemIds, Which, session_id,
};
use zori_policy::mode::Protocol;
use zori_policy::{Mode, ModeChoice};
use zori_redact::Redactor;
use zori_serve::gui::{self, GuiPeer, Task};
use zori_serve::parse_session;
use zori_tools::dialect::CLAUDE;
use zori_tools::spelling::Platform;

use crate::stream_json::open::{self, Refused};
use zori_chat::frontend;
use zori_setup::agent_cx::AgentCx;
use zori_setup::args::LowArgs;
use zori_setup::error::{PROMPT_MISSING, SESSION_NOT_FOUND};
use zori_setup::model_choice::api_key_source;
use zori_setup::settings::{RunSettings, Settings};
use zori_setup::signals::Signals;
use zori_setup::stdin::Lines;
use zori_setup::ui::Ui;
use zori_setup::wire_up::{self, Prepared};
use zori_setup::workers::Workers;
use zori_setup::{outcome, terminal};

/// Runs until there is no more to do. Whatever goes wrong before the first turn is told as one that failed.
pub fn run(cx: &mut AgentCx<'_>, args: &LowArgs) -> Result<Exit, Failure> {
    let signals = Signals::install(&cx.cancel, &cx.app.record)?;
    let frames = FrameWriter::new(Box::new(terminal::stdout()?), YUME_LINE, FrameMode::All);
    let named = args.session.resume.clone().or(args.session.new_id.clone());
    let named = named.unwrap_or_else(|| session_id().as_str().to_owned());
    match serve(cx, args, &frames, &signals) {
        Ok(exit) => Ok(exit),
        Err(failure) if failure.kind.exit == Exit::Interrupted || failure.kind == &PROMPT_MISSING => {
            Err(failure)
        }
        Err(failure) => {
            let parts = parts(frames, cx.app.redactor(), InitFacts::none());
            let code = if failure.kind.exit == Exit::AuthRequired { AUTH } else { failure.kind.code };
            // A reader that is gone is told nothing.
            let _ = FlatRenderer::refuse(&parts, &named, code, &failure.message);
            match cx.ui.report(&failure) {
                Exit::Usage => Ok(Exit::Usage),
                _ => Ok(Exit::General),
            }
        }
    }
}

/// Returns a run that could not begin as the GUI reads it: why, a `result`, and the end.
pub fn failure_lines(kind: &'static ErrorKind, message: &str) -> String {
    let lines = FrameBuffer::default();
    let frames = FrameWriter::new(Box::new(lines.clone()), YUME_LINE, FrameMode::All);
    let parts = parts(frames, Redactor::default(), InitFacts::none());
    // Memory takes whatever is written.
    let _ = FlatRenderer::refuse(&parts, session_id().as_str(), kind.code, message);
    drop(parts);
    lines.text()
}

fn serve(
    cx: &mut AgentCx<'_>,
    args: &LowArgs,
    frames: &FrameWriter,
    signals: &Signals,
) -> Result<Exit, Failure> {
    // A lone `-` is standard input, as everywhere.
    let prompt = args.prompt.text.as_deref().filter(|prompt| *prompt != "-").map(str::trim);
    if prompt.is_some_and(str::is_empty) {
        return Err(missing());
    }
    let settings = Settings::with_key(cx, args, signals)?;
    let Found { which, previous } = find(args, &settings.session, cx.ui)?;
    let brought = args.protocol.history_file.as_deref().map(history::read).transpose()?;
    let Settings { mut session, run } = settings;
    session.tools.order = CallOrder::OneByOne;
    session.tools.spelling = Some(Platform::HERE);
    if prompt.is_none() && session.permission.answers == Answers::Nobody {
        session.permission.answers = Answers::Client;
    }
    let Prepared { host, opened, upstream } = wire_up::prepare(cx, session, &run, which)?;
    let runtime = wire_up::runtime()?;
    let (parts, peer) = frontend(cx, args, &host.settings, &run, frames, previous)?;
    let mut session = wire_up::start(cx, &host, opened, &upstream, parts, Spent::NOTHING)?;
    if let Some(messages) = brought.filter(|_| session.messages().is_empty()) {
        session.rewind(messages);
    }
    let session = BlockingSession::new(session, runtime);
    let mirror = history::Mirror::of(&host.settings);
    let mut served = GuiRun { session, peer, signals, frames, mirror };
    let ended = match prompt {
        Some(prompt) => {
            let prompt = Prompt { scheduled: args.prompt.scheduled.clone(), ..prompt.into() };
            Ok(served.turn(prompt, cx.ui))
        }
        None => served.follow(cx),
    };
    signals.leave();
    let closed = wire_up::close(served.session, &host, &upstream, cx.ui);
    signals.die_of_hangup();
    let exit = ended?;
    Ok(if exit == Exit::Success { closed } else { exit })
}

fn missing() -> Failure {
    Failure::new(&PROMPT_MISSING, "there is no prompt")
        .hint("give one with `--prompt TEXT`, or on standard input as text or as JSON lines")
}

/// A session to go on with, and the one it is a copy of.
struct Found {
    which: Which,
    previous: Option<SessionId>,
}

/// Finds the session. One that goes on under another name is a copy.
fn find(args: &LowArgs, settings: &SessionSettings, ui: &mut Ui) -> Result<Found, Failure> {
    let mut wanted = args.session.clone();
    if wanted.resume == wanted.new_id {
        wanted.new_id = None;
    }
    wanted.fork |= wanted.resume.is_some() && wanted.new_id.is_some();
    let parent = wanted.resume.as_deref().filter(|_| wanted.fork).map(parse_session).transpose()?;
    match open::choose(&wanted, settings) {
        Ok(which) => Ok(Found { which, previous: parent }),
        // The GUI remembers sessions that are gone, or were never kept: it begins anew under the same name.
        Err(Refused::NotFound(why)) => {
            let named = wanted.new_id.as_deref().or(wanted.resume.as_deref());
            let id = named.map(parse_session).transpose()?.ok_or_else(|| {
                Failure::new(&SESSION_NOT_FOUND, why.clone())
                    .hint("leave `--continue` out to start a new session")
            })?;
            ui.warn(&format!("{why}; a new session begins"));
            Ok(Found { which: Which::Named(id), previous: None })
        }
        Err(Refused::Taken(why)) => {
            Err(Failure::new(&ALREADY_EXISTS, why).hint("`--resume ID` goes on with a session"))
        }
    }
}

/// Makes what shows the session to the GUI, and what hears it.
fn frontend(
    cx: &AgentCx<'_>,
    args: &LowArgs,
    settings: &SessionSettings,
    run: &RunSettings,
    frames: &FrameWriter,
    previous: Option<SessionId>,
) -> Result<(FrontendParts, GuiPeer<Lines>), Failure> {
    let redactor = Redactor::new(settings.model.secrets.clone());
    let gate = ModeGate::new(settings, Protocol::Yume, true);
    let greeting = InitFacts {
        permission_mode: mode_name(args.permission.mode.as_deref(), settings),
        api_key_source: api_key_source(settings.model.facts, &run.key),
        version: env!("CARGO_PKG_VERSION"),
        previous,
    };
    let mut flat = parts(frames.clone(), redactor.clone(), greeting);
    flat.tally = Tally::new(Arc::new(SystemClock::new()), models(settings));
    let workers = Workers::new(run.bare, &cx.app, &mut Ui::silent());
    let peer = GuiPeer::new(gui::Parts {
        frames: frames.clone(),
        redactor: redactor.clone(),
        lines: Lines::new(workers),
        gate: gate.clone(),
        answers: settings.permission.answers,
        approval_timeout: run.approval_timeout,
        people: frontend::people(cx),
    });
    let remarks = NoticeRenderer::new(frontend::words(cx)?, frontend::style(cx), redactor);
    let parts = FrontendParts {
        renderers: vec![Box::new(FlatRenderer::new(flat)), Box::new(remarks)],
        listens_for: gui::listens_for,
        // The next prompt of a GUI goes on from what was to be read (`docs/contracts/claude-protocol.md`).
        partial_reply: PartialReply::Keep,
        ..FrontendParts::new(&CLAUDE, gate)
    };
    Ok((parts, peer))
}

fn parts(frames: FrameWriter, redactor: Redactor, init: InitFacts) -> FlatParts {
    FlatParts {
        frames,
        redactor,
        ids: Arc::new(SystemIds::default()),
        tally: Tally::new(Arc::new(SystemClock::new()), Arc::new(|_| ModelFacts::default())),
        names: ClientNames {
            call: |name, input| {
                let told = CLAUDE.render_call(name, input);
                ClientCall { name: told.name, input: told.input }
            },
            mode: yume_name,
        },
        init,
    }
}

/// Returns the mode's name as the GUI said it (`docs/contracts/claude-protocol.md`), else as it would.
fn mode_name(said: Option<&str>, settings: &SessionSettings) -> String {
    said.unwrap_or_else(|| settings.permission.policy.mode.mode.name_in(Protocol::Yume)).to_owned()
}

fn yume_name(own: &str) -> &'static str {
    ModeChoice::named(own, Protocol::Own).map_or(Mode::Default, |choice| choice.mode).name_in(Protocol::Yume)
}

fn models(settings: &SessionSettings) -> zori_frontends::claude::Models {
    let model = &settings.model;
    let (prices, windows) = (model.pricing(), model.windows(settings.request.max_tokens));
    let facts = model.facts;
    Arc::new(move |model| ModelFacts {
        prices: prices(model),
        context_window: windows(model).map_or(0, |window| window.tokens),
        max_output: facts.model(model).map_or(0, |model| u64::from(model.max_output)),
    })
}

/// A session and its GUI.
struct GuiRun<'a> {
    session: BlockingSession,
    peer: GuiPeer<Lines>,
    signals: &'a Signals,
    frames: &'a FrameWriter,
    mirror: Option<history::Mirror>,
}

impl GuiRun<'_> {
    /// Does what standard input says: lines, each of which may be a prompt, or one prompt as text.
    fn follow(&mut self, cx: &mut AgentCx<'_>) -> Result<Exit, Failure> {
        if cx.terminal.stdin {
            return Err(missing());
        }
        let mut exit = None;
        while let Some(task) = self.next() {
            match task {
                Task::Prompt(prompt) => exit = Some(self.turn(prompt, cx.ui)),
                Task::Mode(mode) => self.session.session.apply(Input::SetMode(mode)),
            }
            match self.signals.ending() {
                Some(Exit::Terminated) => return Ok(Exit::Terminated),
                Some(_) => return Ok(Exit::General),
                None => {}
            }
            // Whoever presses Ctrl-C does not mean the first of many prompts.
            if exit == Some(Exit::Interrupted) || self.frames.is_closed() {
                break;
            }
        }
        match exit {
            Some(exit) => Ok(exit),
            // Nothing was wanted, so that nothing is missing.
            None => Ok(Exit::Success),
        }
    }

    /// Waits for something to do between turns. A signal ends the program meanwhile.
    fn next(&mut self) -> Option<Task> {
        let waiting = self.signals.while_editing(|| {});
        let task = self.session.block_on(self.peer.next_task());
        drop(waiting);
        task
    }

    /// Runs a turn, and listens meanwhile.
    fn turn(&mut self, prompt: Prompt, ui: &mut Ui) -> Exit {
        let Self { session, peer, signals, .. } = self;
        let end = signals.during(peer, |peer| session.turn(prompt, peer));
        ui.notices(&end.notices);
        if let Some(why) = self.mirror.as_mut().and_then(|mirror| mirror.write(&self.session.session).err()) {
            ui.warn(&format!("the history for the GUI cannot be written: {why}"));
            self.mirror = None;
        }
        let by_client = self.peer.turn_over();
        let outcome = &end.summary.outcome;
        outcome::protocol_exit(outcome, !by_client, is_error(outcome))
    }
}

/// Returns whether the `result` of a turn is an error in this dialect.
fn is_error(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Completed(_) | Outcome::Limit(LimitKind::Hook | LimitKind::Prompt) => false,
        Outcome::Cancelled(_)
        | Outcome::Limit(_)
        | Outcome::Failed(_)
        | Outcome::NotSaved(_)
        | Outcome::OutputClosed => true,
    }
}
