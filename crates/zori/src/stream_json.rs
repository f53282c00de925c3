//! The Claude protocol for SDKs (`docs/contracts/claude-protocol.md`): `--output-format`, with or without lines on
//! standard input.
//!
//! The lines are `zori_frontends::claude`; here is what opens the session and goes from turn to turn. [`serve`] is one process of it: the
//! client introduces itself (`start.rs`), each of its prompts is a turn (`conversation.rs`). The other end is `zori_serve::claude`.

mod conversation;
pub mod open;
mod start;

use std::sync::{Arc, PoisonError};

use zori_contract::error::{LOCK_HELD, VALIDATION_ERROR};
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_core::cost::Spent;
use zori_core::input::Prompt;
use zori_core::message::Message;
use zori_core::time::Clock;
use zori_frontends::claude::input::User;
use zori_frontends::claude::sdk::LastTurn;
use zori_frontends::claude::{FrameMode, FrameWriter, ModelFacts, SDK_LINE, Tally, TurnResult, uuid};
use zori_host::{
    BlockingSession, Force, FormAnswers, SavedSession, SessionSettings, SystemClock, SystemIds, UndoRequest,
    UndoScope, Which,
};
use zori_serve::claude::callbacks::SessionPaths;
use zori_serve::claude::channel::Channel;
use zori_serve::claude::forms::ClientForms;
use zori_serve::claude::rewind_files::{self, Rewind};
use zori_serve::claude::view::SharedView;
use zori_serve::claude::{client, rewind};
use zori_store::SessionDir;

use self::conversation::Conversation;
use self::open::Refused;
use self::start::ClientWiring;
use crate::prompt::{self, Sources};
use zori_chat::attachment::{self, Viewer};
use zori_chat::frontend;
use zori_setup::agent_cx::AgentCx;
use zori_setup::args::{LowArgs, SessionArgs};
use zori_setup::claude_settings;
use zori_setup::settings::Settings;
use zori_setup::signals::Signals;
use zori_setup::stdin::Lines;
use zori_setup::terminal;
use zori_setup::trust::TrustDialog;
use zori_setup::ui::Ui;
use zori_setup::wire_up;
use zori_setup::workers::Workers;

/// The program on standard input.
type Client = client::Client<Lines>;

/// Serves a client until it has no more prompts, or answers one prompt of the command line. The protocol knows few exit
/// codes (DECISIONS 24), so that what cannot be begun is told here.
pub fn serve(cx: &mut AgentCx<'_>, args: &LowArgs) -> Result<Exit, Failure> {
    let exit = talk(cx, args).unwrap_or_else(|failure| cx.ui.report(&failure));
    Ok(match exit {
        Exit::Success | Exit::Usage | Exit::Interrupted | Exit::Terminated => exit,
        _ => Exit::General,
    })
}

fn talk(cx: &mut AgentCx<'_>, args: &LowArgs) -> Result<Exit, Failure> {
    let output = args.protocol.output.as_deref().unwrap_or("text");
    if args.protocol.stream_input && output != "stream-json" {
        let message =
            format!("`--input-format stream-json` needs `--output-format stream-json`, not `{output}`");
        return Err(Failure::new(&VALIDATION_ERROR, message));
    }
    let own = [("--image", !args.prompt.images.is_empty()), ("--input-file", args.prompt.file.is_some())];
    if let Some((flag, _)) = own.iter().find(|(_, given)| *given && args.protocol.stream_input) {
        let message = format!("`{flag}` and `--input-format stream-json` exclude each other");
        return Err(
            Failure::new(&VALIDATION_ERROR, message).hint("prompts of the protocol bring all they need")
        );
    }
    for flag in &args.protocol.without_effect {
        cx.ui.warn(&format!("`--{flag}` has no effect here"));
    }
    let signals = Signals::install(&cx.cancel, &cx.app.record)?;
    let args = claude_settings::understood(args)?;
    let settings = Settings::resolve(cx, &args, &TrustDialog::Nobody);
    signals.check()?;
    let mut start = start::begin(settings?, &args, cx.ui)?;
    let prompt = match args.protocol.stream_input {
        true => None,
        false => {
            let sources = Sources {
                flag: args.prompt.text.as_deref(),
                file: args.prompt.file.as_deref(),
                dash: args.prompt.dash,
                stdin_terminal: cx.terminal.stdin,
            };
            let viewer = Viewer { facts: start.settings.model.facts, model: &start.settings.model.name };
            let images = attachment::load_all(&args.prompt.images, viewer)?;
            let text = prompt::gather(sources, &signals, cx.ui)?;
            Some(Prompt { text, images, uuid: None, scheduled: args.prompt.scheduled.clone() })
        }
    };
    let writing = if output == "stream-json" { FrameMode::All } else { FrameMode::LastOnly };
    let frames = FrameWriter::new(Box::new(terminal::stdout()?), SDK_LINE, writing);
    let channel = Channel::new(frames.clone(), start.run.approval_timeout);
    let view = SharedView::default();
    let lines = Lines::new(Workers::new(start.run.bare, &cx.app, cx.ui));
    let modes = start::gate(&start.settings, &args);
    let facts = start::facts(&start.settings, modes.clone(), view.clone());
    let mut client = Client::new(lines, frames.clone(), channel.clone(), facts, frontend::people(cx));
    match prompt.is_some() {
        true => client = client.silent(),
        false => start.settings.mcp.forms = FormAnswers::Client(Arc::new(ClientForms(channel.clone()))),
    }
    client.secrets = start.settings.model.secrets.clone();
    client.rewind = rewind_before(&args.session, &start.settings);
    let first = match prompt {
        Some(prompt) => Some(User { prompt, left_out: Vec::new(), uuid: None, message: None }),
        None => start::introduced(&mut start, &mut client, &channel, &signals)?,
    };
    let Some(first) = first else {
        signals.leave();
        signals.die_of_hangup();
        return Ok(signals.ending().unwrap_or(Exit::Success));
    };
    // A sandbox that is required and cannot be had is told before a session that cannot be found.
    let mut host = wire_up::host(start.settings)?;
    wire_up::wait_for_servers(&host, cx.ui)?;
    client.prompt_tool = start.introduction.prompt_tool(&args, &host)?;
    client.confined = host.confinement().is_some();
    let which = match open::choose(&args.session, &host.settings) {
        Ok(which) => which,
        Err(refused) => return Ok(refuse(refused, &frames, output, cx.ui)),
    };
    let earlier = match rewound(args.session.resume_at.as_deref(), &which, &host.settings) {
        Ok(earlier) => earlier,
        Err(refused) => return Ok(refuse(refused, &frames, output, cx.ui)),
    };
    let opened = match wire_up::open(&host, which, cx.ui) {
        // Whoever waits for a `result` gets one.
        Err(failure) if failure.kind == &LOCK_HELD => {
            let why = format!("{}; `--fork-session` goes on in a copy", failure.message);
            return Ok(refuse(Refused::NotFound(why), &frames, output, cx.ui));
        }
        opened => opened?,
    };
    let upstream = wire_up::upstream(cx, &host, &start.run)?;
    client.mcp = host.mcp().cloned();
    client.tools = start.introduction.client_tools();
    start.introduction.external_servers(&host);
    let paths = SessionPaths {
        session: opened.id.clone(),
        transcript: start::transcript(&host.settings, &opened),
        root: host.settings.workspace.root.clone(),
        home: host.settings.workspace.home.clone(),
    };
    let id = opened.id.as_str().to_owned();
    let wires = ClientWiring { frames: frames.clone(), channel, modes, view };
    let (mut parts, last) = start::frontend_parts(
        cx,
        &args,
        &mut start.introduction,
        &mut host.settings,
        &start.run.key,
        wires,
        paths,
    )?;
    start.run.dump.follow(&host, &opened.id, &mut parts)?;
    let mut session = wire_up::start(cx, &host, opened, &upstream, parts, Spent::NOTHING)?;
    if let Some(earlier) = earlier {
        session.rewind(earlier);
    }
    client.rewind = session.file_rewinder().map(rewind_files::running);
    let mut conversation = Conversation {
        session: BlockingSession::new(session, wire_up::runtime()?),
        client,
        signals,
        frames,
        last,
        structured: start.introduction.structured,
        replay: args.protocol.replay_prompts,
        id,
        exit: Exit::Success,
    };
    conversation.hold(first, cx.ui);
    let Conversation { session, signals, frames, last, exit, .. } = conversation;
    signals.leave();
    let said = last_word(&frames, &last, output, cx.ui);
    let closed = wire_up::close(session, &host, &upstream, cx.ui);
    signals.die_of_hangup();
    Ok([exit, said, closed].into_iter().find(|exit| *exit != Exit::Success).unwrap_or(Exit::Success))
}

/// Returns what puts files of the session back that is gone on with, until it is opened.
fn rewind_before(wanted: &SessionArgs, settings: &SessionSettings) -> Option<Rewind> {
    let sessions = SessionDir::new(settings.storage.sessions.clone()?);
    let id = open::parent(wanted, settings, Some(&sessions)).ok()??;
    let (undo, workspace) = (settings.undo.clone(), settings.permission.policy.workspace.clone());
    // A copy is made with the first prompt; until then there are only the files of the other.
    (!wanted.fork).then(|| -> Rewind {
        Box::new(move |prompt, dry_run| {
            let saved = SavedSession::new(undo.clone(), sessions.clone(), id.clone(), workspace.clone())?;
            let goal = saved.prompt(prompt)?;
            let (what, force) = (UndoScope::Files, Force::Keep);
            saved.undo(UndoRequest { goal, what, force, dry_run, by: "client" }, SystemClock::new().now())
        })
    })
}

/// Returns the conversation up to the message that `--resume-session-at` names.
fn rewound(
    at: Option<&str>,
    which: &Which,
    settings: &SessionSettings,
) -> Result<Option<Vec<Arc<Message>>>, Refused> {
    let (Some(at), Some(sessions)) = (at, settings.storage.sessions.clone()) else { return Ok(None) };
    let Which::Existing(id) = which else {
        let why = "`--resume-session-at` needs `--resume` or `--continue`".to_owned();
        return Err(Refused::NotFound(why));
    };
    rewind::history(&SessionDir::new(sessions), id, at).map(Some).map_err(Refused::NotFound)
}

/// Says that there is no session to go on with.
fn refuse(refused: Refused, frames: &FrameWriter, output: &str, ui: &mut Ui) -> Exit {
    let why = match refused {
        Refused::Taken(why) => {
            ui.say(&format!("Error: {why}"));
            return Exit::General;
        }
        Refused::NotFound(why) => why,
    };
    ui.say(&format!("Error: {why}"));
    let ending = TurnResult::refused(why);
    let tally = Tally::new(Arc::new(SystemClock::new()), Arc::new(|_| ModelFacts::default()));
    let ids = SystemIds::default();
    let (session, uuid) = (uuid(&ids), uuid(&ids));
    let line = tally.result(&ending, None, &session, &uuid, None);
    let _ = match output {
        "stream-json" => frames.write(&line),
        "json" => frames.write_last(&serde_json::to_string(&line).expect("a result is made of JSON")),
        _ => Ok(()),
    };
    Exit::General
}

/// Prints what `text` and `json` want: the last turn's result.
fn last_word(frames: &FrameWriter, last: &LastTurn, output: &str, ui: &mut Ui) -> Exit {
    let last = last.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(over) = &*last else { return Exit::Success };
    let written = match (output, &over.ending.result) {
        ("json", _) => frames.write_last(over.line.get()),
        ("text", Some(text)) => frames.write_last(text),
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
