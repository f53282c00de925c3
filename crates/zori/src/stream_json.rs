//! The Claude protocol for SDKs (`stream-json.md`): `--output-format`, with or without lines on standard input.
//!
//! The lines are `zori_frontends::claude`; here is what reads, asks and answers. [`serve`] is one process of it: the
//! client introduces itself (`start.rs`), each of its prompts is a turn (`conversation.rs`). `client.rs` is the other end, `channel.rs` what it is asked, `callbacks.rs` its hooks, `hook_events.rs` what it is told of all hooks, `mcp.rs` its tools, `structured.rs` answers by a schema.

mod callbacks;
mod channel;
pub mod client;
mod conversation;
mod hook_events;
mod mcp;
pub mod open;
mod rewind;
mod schema;
mod start;
mod structured;
mod tap;

use std::sync::{Arc, PoisonError};

use zori_contract::error::VALIDATION_ERROR;
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_core::cost::Spent;
use zori_core::message::Message;
use zori_frontends::claude::input::User;
use zori_frontends::claude::sdk::LastTurn;
use zori_frontends::claude::{Ending, Frames, ModelFacts, SDK_LINE, Tally, Writing, uuid};

use zori_store::SessionDir;

use self::callbacks::Where;
use self::channel::Channel;
use self::client::Client;
use self::conversation::Conversation;
use self::open::Refused;
use self::start::Wires;
use self::tap::SharedContext;
use crate::args::LowArgs;
use crate::clock::{SystemClock, SystemIds};
use crate::commands::Cx;
use crate::network::Network;
use crate::prompt::{self, Sources};
use crate::sandbox::confinement::Confinement;
use crate::settings::Settings;
use crate::signals::Signals;
use crate::stdin::Lines;
use crate::terminal;
use crate::trust::Asks;
use crate::ui::Ui;
use crate::wire_up::{self, Open, Run, Session};
use crate::workers::Workers;

/// Serves a client until it has no more prompts, or answers one prompt of the command line. The protocol knows few exit
/// codes (DECISIONS 24), so that what cannot be begun is told here.
pub fn serve(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Exit, Failure> {
    let exit = talk(cx, args).unwrap_or_else(|failure| cx.ui.report(&failure));
    Ok(match exit {
        Exit::Success | Exit::Usage | Exit::Interrupted | Exit::Terminated => exit,
        _ => Exit::General,
    })
}

fn talk(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Exit, Failure> {
    let claude = &args.claude;
    let output = claude.output.as_deref().unwrap_or("text");
    if claude.stream_input && output != "stream-json" {
        let message =
            format!("`--input-format stream-json` needs `--output-format stream-json`, not `{output}`");
        return Err(Failure::new(&VALIDATION_ERROR, message));
    }
    for flag in &claude.without_effect {
        cx.ui.warn(&format!("`--{flag}` has no effect here"));
    }
    let signals = Signals::install(&cx.cancel)?;
    let args = start::understood(args, cx.ui)?;
    let settings = Settings::resolve(cx, &args, &Asks::Nobody);
    signals.check()?;
    let mut start = start::begin(settings?, &args, cx.ui)?;
    let prompt = match claude.stream_input {
        true => None,
        false => {
            let sources =
                Sources { flag: args.prompt.as_deref(), dash: args.dash, stdin_terminal: cx.terminal.stdin };
            Some(prompt::gather(sources, &signals, cx.ui)?)
        }
    };
    let writing = if output == "stream-json" { Writing::All } else { Writing::Nothing };
    let frames = Frames::new(Box::new(terminal::stdout()?), SDK_LINE, writing);
    let channel = Channel::new(frames.clone(), start.settings.approval_timeout);
    let context = SharedContext::default();
    let lines = Lines::new(Workers::new(start.settings.bare, cx.ui));
    let modes = start::gate(&start.settings, &args);
    let facts = start::facts(&start.settings, modes.clone(), context.clone());
    let ui = if cx.terminal.quiet { Ui::silent() } else { Ui::standard() };
    let mut client = Client::new(lines, frames.clone(), channel.clone(), facts, ui);
    if prompt.is_some() {
        client = client.silent();
    }
    let first = match prompt {
        Some(text) => Some(User { prompt: text.into(), left_out: Vec::new(), uuid: None, message: None }),
        None => start::introduced(&mut start, &mut client, &channel, &signals)?,
    };
    let Some(first) = first else {
        signals.leave();
        signals.die_of_hangup();
        return Ok(signals.ending().unwrap_or(Exit::Success));
    };
    client.prompt_tool = start.prompt_tool(&args)?;
    let confinement = Confinement::start(&start.settings)?;
    client.confined = confinement.is_some();
    let opened = match open::choose(claude, &start.settings) {
        Ok(opened) => opened,
        Err(refused) => return Ok(refuse(refused, &frames, output, cx.ui)),
    };
    let earlier = match rewound(claude.resume_at.as_deref(), &opened, &start.settings) {
        Ok(earlier) => earlier,
        Err(refused) => return Ok(refuse(refused, &frames, output, cx.ui)),
    };
    let saved = wire_up::open(&start.settings, opened, cx.ui)?;
    let network = Network::open(cx, &start.settings)?;
    let provider = wire_up::provider(&start.settings, &network);
    let place = Where {
        session: saved.id.clone(),
        transcript: start::transcript(&start.settings, &saved),
        root: start.settings.root.clone(),
        home: start.settings.home.clone(),
    };
    let session_id = saved.id.clone();
    let wires = Wires { frames: frames.clone(), channel, modes, context };
    let (outlet, last) = start::outlet(cx, &args, &mut start, wires, &mut client, place)?;
    let run = Run {
        settings: &start.settings,
        network: &network,
        provider,
        confinement: confinement.clone(),
        spent_before: Spent::NOTHING,
    };
    let mut session = Session::start(cx, run, saved, outlet)?;
    if let Some(earlier) = earlier {
        session.engine.rewind(earlier);
    }
    let mut conversation = Conversation {
        session,
        client,
        signals,
        network,
        frames,
        last,
        structured: start.structured,
        replay: claude.replay_prompts,
        id: session_id.as_str().to_owned(),
        signalled: false,
        exit: Exit::Success,
    };
    conversation.hold(first, cx.ui);
    let Conversation { session, signals, network, frames, last, exit, .. } = conversation;
    signals.leave();
    let said = last_word(&frames, &last, output, cx.ui);
    let closed = session.finish(cx.ui);
    if let Some(confinement) = confinement {
        confinement.end(cx.ui);
    }
    network.close(cx.ui);
    signals.die_of_hangup();
    Ok([exit, said, closed].into_iter().find(|exit| *exit != Exit::Success).unwrap_or(Exit::Success))
}

/// Returns the conversation up to the message that `--resume-session-at` names.
fn rewound(
    at: Option<&str>,
    opened: &Open,
    settings: &Settings,
) -> Result<Option<Vec<Arc<Message>>>, Refused> {
    let (Some(at), Some(base)) = (at, &settings.base) else { return Ok(None) };
    let Open::Existing(id) = opened else {
        let why = "`--resume-session-at` needs `--resume` or `--continue`".to_owned();
        return Err(Refused::NotFound(why));
    };
    let sessions = SessionDir::new(base.sessions());
    rewind::history(&sessions, id, at).map(Some).map_err(Refused::NotFound)
}

/// Says that there is no session to go on with.
fn refuse(refused: Refused, frames: &Frames, output: &str, ui: &mut Ui) -> Exit {
    let why = match refused {
        Refused::Taken(why) => {
            ui.say(&format!("Error: {why}"));
            return Exit::General;
        }
        Refused::NotFound(why) => why,
    };
    ui.say(&format!("Error: {why}"));
    let ending = Ending::refused(why);
    let tally = Tally::new(Arc::new(SystemClock::new()), Arc::new(|_| ModelFacts::default()));
    let (session, uuid) = (uuid(&SystemIds), uuid(&SystemIds));
    let line = tally.result(&ending, None, &session, &uuid, None);
    let _ = match output {
        "stream-json" => frames.write(&line),
        "json" => frames.last_word(&serde_json::to_string(&line).expect("a result is made of JSON")),
        _ => Ok(()),
    };
    Exit::General
}

/// Prints what `text` and `json` want: the last turn's result.
fn last_word(frames: &Frames, last: &LastTurn, output: &str, ui: &mut Ui) -> Exit {
    let last = last.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(over) = &*last else { return Exit::Success };
    let written = match (output, &over.ending.result) {
        ("json", _) => frames.last_word(over.line.get()),
        ("text", Some(text)) => frames.last_word(text),
        ("text", None) => {
            over.ending.errors.iter().for_each(|why| ui.say(&format!("Error: {why}")));
            Ok(())
        }
        _ => Ok(()),
    };
    match written {
        Ok(()) => Exit::Success,
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Exit::Success,
        Err(error) => {
            ui.warn(&format!("Failed to write the answer: {error}"));
            Exit::General
        }
    }
}
