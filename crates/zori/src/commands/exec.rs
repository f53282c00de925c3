//! `exec`: one prompt, one turn, the exit code of its end.

use tokio::sync::mpsc;
use zori_core::cost::Spent;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::outcome::Outcome;

use super::Cx;
use crate::args::LowArgs;
use crate::command_error::{CommandError, ErrorCode};
use crate::exit::Exit;
use crate::prompt::{self, Sources};
use crate::settings::Settings;
use crate::signals::Signals;
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
    let settings = Settings::resolve(cx, args);
    // Looking for a key may have taken a while; a Ctrl-C meanwhile is the answer, whatever was found.
    signals.check()?;
    let settings = settings?;
    if let Some(error) = settings.missing_key(cx.profile.name) {
        return Err(error);
    }
    let sources = Sources {
        flag: args.prompt.as_deref(),
        dash: args.positionals.iter().any(|arg| arg == "-"),
        stdin_terminal: cx.terminal.stdin,
    };
    let prompt = prompt::gather(sources, &signals, cx.ui)?;
    if !settings.guidelines.is_empty() {
        let paths: Vec<_> = settings.guidelines.iter().map(|path| path.display().to_string()).collect();
        cx.ui.say(&format!("Loaded AGENTS.md from: {}", paths.join(", ")));
    }
    let saved = wire_up::open(&settings, open, cx.ui)?;
    let provider = wire_up::provider(&settings)?;
    let mut session = Session::start(cx, &settings, provider, saved, Spent::NOTHING)?;
    let Ended { exit, refused } = turn(&mut session, prompt, &signals);
    signals.leave();
    let closed = session.finish(cx.ui);
    if refused {
        cx.ui.say(&format!("Hint: {}", settings.choice.advice(cx.profile.name)));
    }
    signals.die_of_hangup();
    // A reader that went away after the turn was over has got everything (DECISIONS 24).
    Ok(if exit == Exit::Success { closed } else { exit })
}

/// How a turn ended.
pub struct Ended {
    /// The exit code it would lead to.
    pub exit: Exit,
    /// Whether it ended because the provider did not take the key.
    pub refused: bool,
}

/// Runs a turn that signals can cancel.
pub fn turn(session: &mut Session, prompt: String, signals: &Signals) -> Ended {
    let (sender, mut inputs) = mpsc::channel(16);
    let listening = signals.listen(sender);
    let (summary, _) = session.runtime.block_on(session.engine.turn(prompt, &mut inputs));
    drop(listening);
    let refused = |failure: &ProviderFailure| {
        failure.status == Some(401) || (failure.status.is_none() && failure.kind == FailureKind::Auth)
    };
    Ended {
        exit: Exit::of(&summary.outcome, summary.effects),
        refused: matches!(&summary.outcome, Outcome::Failed(failure) if refused(failure)),
    }
}
