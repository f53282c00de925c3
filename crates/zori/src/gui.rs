//! The GUI behind `start`: one turn for a prompt, or as many as lines on standard input ask for (`stream-json.md` 6, 11).
//!
//! What it says while a turn runs is heard in `gui/talk.rs`; what it reads is written by
//! `zori_frontends::claude::flat`. This file puts the two around a session and goes from turn to turn.

mod talk;

use std::sync::Arc;

use tokio::sync::mpsc;
use zori_contract::error::ALREADY_EXISTS;
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_core::cost::Spent;
use zori_core::ids::{IdSource, SessionId};
use zori_core::input::{Input, Prompt};
use zori_core::outcome::{CancelCause, LimitKind, Outcome};
use zori_core::provider::StopReason;
use zori_engine::engine::{CallOrder, CutAnswer};
use zori_frontends::claude::flat::{AUTH, CallWords, FlatParts, FlatRenderer, Greeting, Words};
use zori_frontends::claude::{Frames, ModelFacts, Tally, Writing, YUME_LINE};
use zori_frontends::jsonl::Remarks;
use zori_policy::mode::Protocol;
use zori_policy::{Choice, Mode};
use zori_redact::Redactor;
use zori_tools::dialect::CLAUDE;
use zori_tools::spelling::Platform;
use zori_tools::toolset::Offered;

use self::talk::{Heard, Talk};
use crate::args::LowArgs;
use crate::asking::{Answers, Asking};
use crate::clock::{SystemClock, SystemIds};
use crate::commands::Cx;
use crate::error::{PROMPT_MISSING, SESSION_NOT_FOUND};
use crate::mode_gate::ModeGate;
use crate::model_choice::Key;
use crate::network::Network;
use crate::outlet::{self, Outlet};
use crate::sandbox::confinement::Confinement;
use crate::settings::{Settings, parse_session};
use crate::signals::Signals;
use crate::stream_json::open::{self, Refused};
use crate::trust::Asks;
use crate::wire_up::{self, Open, Run, Session};
use crate::workers::Workers;
use crate::{secrets, terminal};

/// Runs until there is no more to do. Whatever goes wrong before the first turn is told as one that failed.
pub fn run(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Exit, Failure> {
    let signals = Signals::install(&cx.cancel)?;
    let frames = Frames::new(Box::new(terminal::stdout()?), YUME_LINE, Writing::All);
    let named = args.claude.resume.clone().or(args.claude.session_id.clone());
    let named = named.unwrap_or_else(|| SystemIds.session().as_str().to_owned());
    match serve(cx, args, &frames, &signals) {
        Ok(exit) => Ok(exit),
        Err(failure) if failure.kind.exit == Exit::Interrupted || failure.kind == &PROMPT_MISSING => {
            Err(failure)
        }
        Err(failure) => {
            let parts = parts(frames, secrets::redactor(), Greeting::none());
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

fn serve(cx: &mut Cx<'_>, args: &LowArgs, frames: &Frames, signals: &Signals) -> Result<Exit, Failure> {
    // A lone `-` is standard input, as everywhere.
    let prompt = args.prompt.as_deref().filter(|prompt| *prompt != "-").map(str::trim);
    if prompt.is_some_and(str::is_empty) {
        return Err(missing());
    }
    let settings = Settings::resolve(cx, args, &Asks::Nobody);
    // Looking for a key may have taken a while; a Ctrl-C meanwhile is the answer, whatever was found.
    signals.check()?;
    let mut settings = settings?;
    if let Some(failure) = settings.missing_key(cx.profile.name) {
        return Err(failure);
    }
    let Found { open, previous } = find(args, &settings)?;
    settings.call_order = CallOrder::OneByOne;
    settings.spelling = Some(Platform::HERE);
    if prompt.is_none() && settings.answers == Answers::Nobody {
        settings.answers = Answers::Client;
    }
    let confinement = Confinement::start(&settings)?;
    let saved = wire_up::open(&settings, open, cx.ui)?;
    let network = Network::open(cx, &settings)?;
    let provider = wire_up::provider(&settings, &network);
    let (outlet, talk) = outlet(cx, args, &settings, frames, previous)?;
    let run = Run {
        settings: &settings,
        network: &network,
        provider,
        confinement: confinement.clone(),
        spent_before: Spent::NOTHING,
    };
    let session = Session::start(cx, run, saved, outlet)?;
    let mut served = Served { session, talk, signals, frames };
    let ended = match prompt {
        Some(prompt) => Ok(served.turn(prompt.into())),
        None => served.follow(cx.terminal.stdin),
    };
    signals.leave();
    let closed = served.session.finish(cx.ui);
    if let Some(confinement) = confinement {
        confinement.end(cx.ui);
    }
    network.close(cx.ui);
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
    open: Open,
    previous: Option<SessionId>,
}

/// Finds the session. One that goes on under another name is a copy.
fn find(args: &LowArgs, settings: &Settings) -> Result<Found, Failure> {
    let mut claude = args.claude.clone();
    if claude.resume == claude.session_id {
        claude.session_id = None;
    }
    claude.fork |= claude.resume.is_some() && claude.session_id.is_some();
    let parent = claude.resume.as_deref().filter(|_| claude.fork).map(parse_session).transpose()?;
    match open::choose(&claude, settings) {
        Ok(Open::New) if settings.session.is_some() => Ok(Found { open: Open::ByFlags, previous: None }),
        Ok(open) => Ok(Found { open, previous: parent }),
        Err(Refused::NotFound(why)) => Err(Failure::new(&SESSION_NOT_FOUND, why)
            .hint("leave `--resume` and `--continue` out to start a new session")),
        Err(Refused::Taken(why)) => {
            Err(Failure::new(&ALREADY_EXISTS, why).hint("`--resume ID` goes on with a session"))
        }
    }
}

/// Makes what shows the session to the GUI, and what hears it.
fn outlet(
    cx: &Cx<'_>,
    args: &LowArgs,
    settings: &Settings,
    frames: &Frames,
    previous: Option<SessionId>,
) -> Result<(Outlet, Talk), Failure> {
    let redactor = Redactor::new(settings.choice.secrets.clone());
    let gate = ModeGate::new(settings, Protocol::Yume, true);
    let greeting = Greeting {
        permission_mode: mode_name(args.permission_mode.as_deref(), settings),
        api_key_source: match &settings.choice.key {
            Ok(Some(Key::Variable(_))) => settings.choice.facts.key_var.to_owned(),
            Ok(Some(_) | None) | Err(_) => "none".to_owned(),
        },
        version: env!("CARGO_PKG_VERSION"),
        previous,
    };
    let mut flat = parts(frames.clone(), redactor.clone(), greeting);
    flat.tally = Tally::new(Arc::new(SystemClock::new()), models(settings));
    let workers = Workers::new(settings.bare, &mut crate::ui::Ui::silent());
    let (talk, questions) = Talk::new(talk::Parts {
        frames: frames.clone(),
        redactor: redactor.clone(),
        workers,
        gate: gate.clone(),
        answers: settings.answers,
        patience: settings.approval_timeout,
        quiet: cx.terminal.quiet,
    });
    let remarks = Remarks::new(outlet::words(cx)?, outlet::style(cx), redactor);
    let outlet = Outlet {
        renderers: vec![Box::new(FlatRenderer::new(flat)), Box::new(remarks), Box::new(questions)],
        asking: Asking::nobody(),
        dialect: &CLAUDE,
        offered: Offered::All,
        tools: Vec::new(),
        hooks: Vec::new(),
        watch: None,
        modes: gate,
        // The next prompt of a GUI goes on from what was to be read (`stream-json.md` 13).
        cut: CutAnswer::Kept,
        live_output: false,
    };
    Ok((outlet, talk))
}

fn parts(frames: Frames, redactor: Redactor, greeting: Greeting) -> FlatParts {
    FlatParts {
        frames,
        redactor,
        ids: Arc::new(SystemIds),
        tally: Tally::new(Arc::new(SystemClock::new()), Arc::new(|_| ModelFacts::default())),
        words: Words {
            call: |name, input| {
                let told = CLAUDE.told(name, input);
                CallWords { name: told.name, input: told.input }
            },
            mode: yume_name,
        },
        greeting,
    }
}

/// Returns the mode's name as the GUI said it (`stream-json.md` 12), else as it would.
fn mode_name(said: Option<&str>, settings: &Settings) -> String {
    said.unwrap_or_else(|| settings.policy.mode.mode.name_in(Protocol::Yume)).to_owned()
}

fn yume_name(own: &str) -> &'static str {
    Choice::named(own, Protocol::Own).map_or(Mode::Default, |choice| choice.mode).name_in(Protocol::Yume)
}

fn models(settings: &Settings) -> zori_frontends::claude::Models {
    let (prices, windows) = (settings.choice.pricing(), settings.windows());
    let facts = settings.choice.facts;
    Arc::new(move |model| ModelFacts {
        prices: prices(model),
        context_window: windows(model).map_or(0, |window| window.tokens),
        max_output: facts.model(model).map_or(0, |model| u64::from(model.max_output)),
    })
}

/// A session and its GUI.
struct Served<'a> {
    session: Session,
    talk: Talk,
    signals: &'a Signals,
    frames: &'a Frames,
}

impl Served<'_> {
    /// Does what standard input says: lines, each of which may be a prompt, or one prompt as text.
    fn follow(&mut self, at_terminal: bool) -> Result<Exit, Failure> {
        if at_terminal {
            return Err(missing());
        }
        let mut exit = None;
        while let Some(heard) = self.next() {
            match heard {
                Heard::Prompt(prompt) => exit = Some(self.turn(prompt)),
                Heard::Mode(mode) => self.session.engine.wish(Input::SetMode(mode)),
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
            None if self.talk.spoke_frames() => Ok(Exit::Success),
            None => Err(missing()),
        }
    }

    /// Waits for something to do between turns. A signal ends the program meanwhile.
    fn next(&mut self) -> Option<Heard> {
        let waiting = self.signals.while_editing(|| {});
        let heard = self.session.runtime.block_on(self.talk.next());
        drop(waiting);
        heard
    }

    /// Runs a turn, and listens meanwhile.
    fn turn(&mut self, prompt: Prompt) -> Exit {
        let (sender, mut inputs) = mpsc::channel(16);
        let listening = self.signals.listen(sender.clone());
        let Session { engine, runtime, .. } = &mut self.session;
        let talk = &mut self.talk;
        let (summary, _) = runtime.block_on(async {
            tokio::select! {
                biased;
                over = engine.turn(prompt, &mut inputs) => over,
                never = talk.listen(&sender) => match never {},
            }
        });
        drop(listening);
        let by_client = self.talk.turn_over();
        exit(&summary.outcome, by_client)
    }
}

/// Returns the code of a turn in this protocol: 0 where its `result` is no error, else 1, and the signals (DECISIONS 24).
fn exit(outcome: &Outcome, by_client: bool) -> Exit {
    match outcome {
        Outcome::Completed(StopReason::MaxTokens) => Exit::General,
        Outcome::Completed(_) | Outcome::Limit(LimitKind::Hook | LimitKind::Prompt) => Exit::Success,
        Outcome::Cancelled(CancelCause::User) if !by_client => Exit::Interrupted,
        Outcome::Cancelled(CancelCause::Terminate | CancelCause::Hangup) => Exit::Terminated,
        Outcome::Cancelled(_)
        | Outcome::Limit(_)
        | Outcome::Failed(_)
        | Outcome::NotSaved(_)
        | Outcome::OutputClosed => Exit::General,
    }
}
