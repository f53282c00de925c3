//! `exec`: one prompt, one turn, the exit code of its end.

use tokio::sync::mpsc;
use zori_core::cost::Spent;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::input::Prompt;
use zori_core::outcome::Outcome;

use super::Cx;
use crate::args::LowArgs;
use crate::asking;
use crate::attachment::{self, Viewer};
use crate::command_error::{CommandError, ErrorCode};
use crate::exit::Exit;
use crate::network::Network;
use crate::prompt::{self, Sources};
use crate::settings::Settings;
use crate::signals::Signals;
use crate::trust::Asks;
use crate::wire_up::{self, Open, Session};

/// Runs one prompt in a new session, or in the one `--session` names.
pub fn run(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Exit, CommandError> {
    if let Some(text) = args.positionals.first().filter(|text| *text != "-") {
        return Err(CommandError::new(ErrorCode::Usage, format!("unexpected argument `{text}`"))
            .hint("give the prompt with `-p TEXT`; a lone `-` reads standard input"));
    }
    one_turn(cx, args, Open::ByFlags)
}

/// Runs one prompt in a session.
pub fn one_turn(cx: &mut Cx<'_>, args: &LowArgs, open: Open) -> Result<Exit, CommandError> {
    let signals = Signals::install(cx.timeout.as_ref())?;
    let settings = Settings::resolve(cx, args, &Asks::Nobody);
    // Looking for a key may have taken a while; a Ctrl-C meanwhile is the answer, whatever was found.
    signals.check()?;
    let settings = settings?;
    if let Some(error) = settings.missing_key(cx.profile.name) {
        return Err(error);
    }
    let viewer = Viewer { facts: settings.choice.facts, model: &settings.choice.model };
    let images = attachment::load_all(&args.images, viewer)?;
    let asked = args.prompt.is_some() || args.positionals.iter().any(|arg| arg == "-");
    let other_images = asked && settings.prompts.first().is_some_and(|recorded| recorded.images != images);
    let prompts = match &settings.prompts[..] {
        [_, ..] if !asked && !images.is_empty() => {
            return Err(CommandError::new(
                ErrorCode::Usage,
                "`--image` and `--replay` without `-p` exclude each other: the recording has its prompts' images",
            )
            .hint("leave `--image` out"));
        }
        recorded @ [_, ..] if !asked => recorded.to_vec(),
        _ => vec![Prompt { text: gather(cx, args, &signals)?, images }],
    };
    if !settings.guidelines.is_empty() {
        let paths: Vec<_> = settings.guidelines.iter().map(|path| path.display().to_string()).collect();
        cx.ui.say(&format!("Loaded AGENTS.md from: {}", paths.join(", ")));
    }
    let saved = wire_up::open(&settings, open, cx.ui)?;
    let network = Network::open(cx, &settings)?;
    let provider = wire_up::provider(&settings, &network);
    let mut session = Session::start(cx, &settings, &network, provider, saved, Spent::NOTHING)?;
    let (mut exit, mut refused, mut unasked) = (Exit::Success, false, false);
    for prompt in prompts {
        network.prompt(&prompt);
        let ended = turn(&mut session, prompt, &signals);
        exit = if ended.exit == Exit::Success { exit } else { ended.exit };
        refused |= ended.refused;
        unasked |= ended.unasked;
        let on_track = network.turn_over(cx.ui);
        if !on_track && other_images {
            cx.ui.say("Hint: the recorded prompt has other images: give the same ones with `--image`");
        }
        if !on_track || signals.ending().is_some() {
            break;
        }
    }
    signals.leave();
    let closed = session.finish(cx.ui);
    if unasked {
        cx.ui.say(asking::WAYS_OUT);
    }
    if refused {
        cx.ui.say(&format!("Hint: {}", settings.choice.advice(cx.profile.name)));
    }
    let replayed = network.close(cx.ui);
    signals.die_of_hangup();
    // A reader that went away after the turn was over has got everything (DECISIONS 24).
    Ok([exit, closed, replayed].into_iter().find(|exit| *exit != Exit::Success).unwrap_or(Exit::Success))
}

fn gather(cx: &mut Cx<'_>, args: &LowArgs, signals: &Signals) -> Result<String, CommandError> {
    let sources = Sources {
        flag: args.prompt.as_deref(),
        dash: args.positionals.iter().any(|arg| arg == "-"),
        stdin_terminal: cx.terminal.stdin,
    };
    prompt::gather(sources, signals, cx.ui)
}

/// Compacts the conversation, unless signals cancel it.
pub fn compact(session: &mut Session, focus: Option<&str>, signals: &Signals) {
    let (sender, mut inputs) = mpsc::channel(16);
    let listening = signals.listen(sender);
    session.runtime.block_on(session.engine.compact(focus, &mut inputs));
    drop(listening);
}

/// How a turn ended.
pub struct Ended {
    /// The exit code it would lead to.
    pub exit: Exit,
    /// Whether it ended because the provider did not take the key.
    pub refused: bool,
    /// Whether a call was denied because nobody could be asked about it.
    pub unasked: bool,
}

/// Runs a turn that signals can cancel.
pub fn turn(session: &mut Session, prompt: Prompt, signals: &Signals) -> Ended {
    let (sender, mut inputs) = mpsc::channel(16);
    let listening = signals.listen(sender.clone());
    let Session { engine, runtime, asking, .. } = session;
    let (summary, _) = runtime.block_on(async {
        tokio::select! {
            biased;
            over = engine.turn(prompt, &mut inputs) => over,
            never = asking.answer(&sender) => match never {},
        }
    });
    drop(listening);
    let refused = |failure: &ProviderFailure| {
        failure.status == Some(401) || (failure.status.is_none() && failure.kind == FailureKind::Auth)
    };
    Ended {
        exit: Exit::of(&summary.outcome, summary.effects),
        unasked: asking.take_unasked(),
        refused: matches!(&summary.outcome, Outcome::Failed(failure) if refused(failure)),
    }
}
