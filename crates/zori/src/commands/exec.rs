//! `exec`: one prompt, one turn, the exit code of its end.

use tokio::sync::mpsc;
use zori_contract::args::Args;
use zori_contract::command::{Command, Place};
use zori_contract::error::VALIDATION_ERROR;
use zori_contract::exit::Danger;
use zori_contract::exit::Exit;
use zori_contract::failure::{Failure, Issue};
use zori_contract::flag::Positional;
use zori_contract::kind::Kind;
use zori_contract::mode::Class;
use zori_core::cost::Spent;
use zori_core::event::TurnSummary;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::input::Prompt;
use zori_core::outcome::Outcome;
use zori_policy::mode::Protocol;

use super::chat::RECORDING;
use super::{AGENT_EXITS, AGENT_FORMATS, Cx, example, failure_event, own_streams};
use crate::args::LowArgs;
use crate::args::claude;
use crate::asking::{self, Answers};
use crate::attachment::{self, Viewer};
use crate::chat;
use crate::claude_settings;
use crate::client::Client;
use crate::gui;
use crate::network::{self, Network};
use crate::outcome::{self, Report};
use crate::outlet::Outlet;
use crate::program::App;
use crate::prompt::{self, Sources};
use crate::sandbox::confinement::Confinement;
use crate::settings::Settings;
use crate::signals::Signals;
use crate::stream_json;
use crate::trust::Asks;
use crate::wire_up::{self, Open, Run, Session};
use crate::workers::Workers;

/// The entry.
pub const COMMAND: Command<App> = Command {
    flags: claude::EXEC,
    args: const { &[Positional::optional("-", Kind::Text, "Wait for standard input, however long it takes")] },
    rules: RECORDING,
    danger: Danger::Mutating,
    class: Class::Agent,
    formats: AGENT_FORMATS,
    exits: AGENT_EXITS,
    timeout_ms: None,
    examples: &[
        example("a question", "zori exec -p \"What does main.rs do?\""),
        example("with what another program says", "git diff | zori exec -p \"Review this change\""),
        example("events for a program", "zori exec --json -p \"What does main.rs do?\""),
        example("with a picture", "zori exec --image screen.png -p \"What is wrong here?\""),
    ],
    output_schema: OUTPUT_SCHEMA,
    declares: DECLARES,
    failure_line: Some(failure_event),
    validate: only_a_dash,
    ..Command::new(&["exec"], "Run one prompt and print the answer", |cx, args| {
        let speaks = cx.app.profile.speaks.filter(|_| !cx.mode.asked);
        own_streams(cx, args, |cx, args| match speaks.filter(|_| !args.claude.speaks()) {
            Some(protocol) => one_turn(cx, &args.speaking(protocol), Open::ByFlags),
            None => one_turn(cx, args, Open::ByFlags),
        })
    })
};

/// What a run of a model says of itself, with `--output json`.
pub(super) const OUTPUT_SCHEMA: &str = r#"{"type":"object",
    "required":["session_id","result","effect","usage","cost_usd","num_turns","completed_steps","_source","_trusted"],
    "properties":{"session_id":{"type":"string"},"result":{"type":"string"},"effect":{"enum":["updated","noop"]},
    "usage":{"type":"object","required":["input_tokens","output_tokens","cache_read_tokens","cache_write_tokens"]},
    "cost_usd":{"type":["number","null"]},"num_turns":{"type":"integer"},
    "completed_steps":{"type":"array","x-ordered":true,"items":{"type":"string"}}}}"#;

/// What a run of a model declares.
pub(super) const DECLARES: &str = r#"{
    "requires_auth": true,
    "has_network_io": true,
    "resumable": true,
    "preserve_locale": true,
    "subprocess": {"binary": "bash", "user_controlled_args": true, "hardcoded_args": ["-c"]},
    "filesystem_side_effects": [
        {"path": "$ZORI_HOME/sessions", "type": "log", "clearable_with": "zori sessions rm"},
        {"path": "$ZORI_HOME/audit.jsonl", "type": "log"}
    ]
}"#;

fn only_a_dash(args: &Args, _: &Place) -> Vec<Issue> {
    // Claude Code takes the prompt as an argument.
    let speaks = ["output-format", "input-format", "protocol-version"].iter().any(|name| args.has(name));
    let other = args.text("-").filter(|text| *text != "-" && !speaks);
    let issue = |text| {
        Issue::new("-", "UNEXPECTED_ARGUMENT", format!("`{text}` is one argument too many"))
            .value(text)
            .suggest("give the prompt with `-p TEXT`; a lone `-` reads standard input")
    };
    let outputs = ["output", "format", "json", "stream", "no-stream"];
    let twice = outputs.iter().find(|name| speaks && args.has(name)).map(|name| {
        let message = format!("`--output-format` and `--{name}` both say what to print");
        Issue::new("--output-format", "CONFLICTING_ARGUMENTS", message).suggest("leave one of them out")
    });
    other.map(issue).into_iter().chain(twice).collect()
}

/// Runs one prompt in a session.
pub fn one_turn(cx: &mut Cx<'_>, args: &LowArgs, open: Open) -> Result<Exit, Failure> {
    let args = &claude_settings::applied(args, cx.ui)?;
    match args.claude.protocol() {
        Some(Protocol::Yume) => return gui::run(cx, args),
        Some(_) => return stream_json::serve(cx, args),
        None => {
            for flag in &args.claude.of_protocol {
                cx.ui.warn(&format!("`--{flag}` has no effect without `--output-format`"));
            }
        }
    }
    let asked = args.prompt.is_some() || args.dash;
    if let Some(events) = cx.front.events().cloned().filter(|_| !asked && args.replay.is_none()) {
        return chat::serve(cx, args, open, events);
    }
    let signals = Signals::install(&cx.cancel)?;
    let settings = Settings::resolve(cx, args, &Asks::Nobody);
    // Looking for a key may have taken a while; a Ctrl-C meanwhile is the answer, whatever was found.
    signals.check()?;
    let mut settings = settings?;
    if let Some(error) = settings.missing_key(cx.profile.name) {
        return Err(error);
    }
    let viewer = Viewer { facts: settings.choice.facts, model: &settings.choice.model };
    let images = attachment::load_all(&args.images, viewer)?;
    let other_images = asked && settings.prompts.first().is_some_and(|recorded| recorded.images != images);
    let prompts = match &settings.prompts[..] {
        [_, ..] if !asked && !images.is_empty() => {
            return Err(Failure::new(
                &VALIDATION_ERROR,
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
    let client = attended(cx, args, &mut settings);
    let confinement = Confinement::start(&settings)?;
    let saved = wire_up::open(&settings, open, cx.ui)?;
    let id = saved.id.clone();
    let network = Network::open(cx, &settings)?;
    let provider = wire_up::provider(&settings, &network);
    let outlet = Outlet::plain(cx, &settings)?;
    let run = Run {
        settings: &settings,
        network: &network,
        provider,
        confinement: confinement.clone(),
        spent_before: Spent::NOTHING,
    };
    let mut session = Session::start(cx, run, saved, outlet)?;
    session.asking.attend(client);
    let (mut exit, mut refused, mut unasked) = (Exit::Success, false, false);
    for prompt in prompts {
        network.prompt(&prompt);
        let before = session.engine.messages().len();
        let ended = turn(&mut session, prompt, &signals);
        exit = if ended.exit == Exit::Success { exit } else { ended.exit };
        refused |= ended.refused;
        cx.report
            .get_or_insert_with(|| {
                let way = network::way_to(&settings.choice.base_url, cx.profile.name);
                Report::new(&id, settings.retry.per_request, way)
            })
            .turn(&ended.summary, session.engine.messages().get(before..).unwrap_or_default());
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
    if let Some(report) = &mut cx.report {
        report.pids(session.pid_file());
    }
    let closed = session.finish(cx.ui);
    if unasked {
        cx.ui.say(asking::WAYS_OUT);
    }
    if let Some(confinement) = confinement {
        confinement.end(cx.ui);
    }
    if refused {
        cx.ui.say(&format!("Hint: {}", settings.choice.advice(cx.profile.name)));
    }
    let replayed = network.close(cx.ui);
    signals.die_of_hangup();
    // A reader that went away after the turn was over has got everything (DECISIONS 24).
    Ok([exit, closed, replayed].into_iter().find(|exit| *exit != Exit::Success).unwrap_or(Exit::Success))
}

/// Lets the program that reads the events answer questions, where it can.
fn attended(cx: &mut Cx<'_>, args: &LowArgs, settings: &mut Settings) -> Option<Client> {
    let events = cx.front.events()?.clone();
    let from_stdin = args.dash || args.prompt.as_deref() == Some("-");
    if settings.bare || from_stdin || settings.answers != Answers::Nobody {
        return None;
    }
    settings.answers = Answers::Client;
    Some(Client::new(events, Workers::new(settings.bare, cx.ui), settings.bare, cx.terminal.stdin))
}

fn gather(cx: &mut Cx<'_>, args: &LowArgs, signals: &Signals) -> Result<String, Failure> {
    // Behind `--json` standard input has the answers to questions, unless the prompt is to come from there (D-3).
    let silent = cx.terminal.stdin || cx.front.events().is_some();
    let sources = Sources { flag: args.prompt.as_deref(), dash: args.dash, stdin_terminal: silent };
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
    /// All that is known of it.
    pub summary: TurnSummary,
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
        exit: outcome::exit(&summary.outcome, summary.effects),
        unasked: asking.take_unasked(),
        refused: matches!(&summary.outcome, Outcome::Failed(failure) if refused(failure)),
        summary,
    }
}
