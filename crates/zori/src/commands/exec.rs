//! `exec`: one prompt, one turn, the exit code of its end.

use std::collections::VecDeque;

use zori_contract::args::Args;
use zori_contract::command::{Command, Rule, StdinInput};
use zori_contract::error::VALIDATION_ERROR;
use zori_contract::exit::Danger;
use zori_contract::exit::Exit;
use zori_contract::failure::{Failure, Issue, IssueCode};
use zori_contract::flag::framework::{FORMAT, IDEMPOTENCY_KEY, JSON, NO_STREAM, OUTPUT, STREAM, TIMEOUT};
use zori_contract::gate::Preview;
use zori_contract::mode::Class;
use zori_contract::path::AbsPath;
use zori_core::input::Prompt;
use zori_host::{
    Answers, Force, SessionSettings, Track, UndoGoal, UndoRequest, UndoScope, Which, undo_lines,
};
use zori_policy::mode::Protocol;

use super::chat::RECORDING;
use super::{AGENT_EXITS, AGENT_FORMATS, AgentCx, example, failure_event, own_streams};
use crate::gui;
use crate::prompt::{self, Sources};
use crate::stream_json;
use zori_chat::attachment::{self, Viewer};
use zori_chat::chat;
use zori_chat::frontend;
use zori_chat::plain::{Advice, PlainSession};
use zori_chat::prompt_options::{self, Checked, PromptOptions};
use zori_chat::scheduler::Scheduler;
use zori_setup::app::App;
use zori_setup::args::LowArgs;
use zori_setup::args::claude;
use zori_setup::args::flags;
use zori_setup::args::without_effect::WITHOUT_EFFECT;
use zori_setup::claude_settings;
use zori_setup::model_choice;
use zori_setup::outcome::{self, Report};
use zori_setup::settings::{RunSettings, Settings};
use zori_setup::signals::Signals;
use zori_setup::stdin::{Client, Lines};
use zori_setup::which_session;
use zori_setup::wire_up;
use zori_setup::workers::Workers;

pub const COMMAND: Command<App> = Command {
    flags: claude::EXEC,
    args: const { &[flags::DASH] },
    shows: const { &[flags::YES, flags::PERMISSION_MODE, flags::SANDBOX, TIMEOUT] },
    rules: RULES,
    danger: Danger::Mutating,
    class: Class::Agent,
    formats: AGENT_FORMATS,
    exits: AGENT_EXITS,
    timeout_ms: None,
    stdin: Some(StdinInput { max_bytes: prompt::MAX_STDIN, format: "text", required: false }),
    examples: &[
        example("a question", "zori exec \"What does main.rs do?\""),
        example("with what another program says", "git diff | zori exec -p \"Review this change\""),
        example("events for a program", "zori exec --json -p \"What does main.rs do?\""),
        example("with a picture", "zori exec --image screen.png -p \"What is wrong here?\""),
    ],
    output_schema: OUTPUT_SCHEMA,
    declares: DECLARES,
    failure_line: Some(failure_event),
    preview: Some(preview),
    validate: one_prompt,
    ..Command::new(&["exec"], "Run one prompt and print the answer", |cx, args| {
        let speaks = cx.app.profile.speaks.filter(|_| !cx.mode.asked);
        own_streams(cx, args, |cx, args| match speaks.filter(|_| args.protocol.spoken().is_none()) {
            Some(protocol) => one_turn(cx, &args.speaking(protocol), Which::BySettings),
            None => one_turn(cx, args, Which::BySettings),
        })
    })
};

/// What does not go together.
const RULES: &[Rule] = &[
    RECORDING[0],
    RECORDING[1],
    RECORDING[2],
    Rule::Excludes { flag: &claude::SYSTEM_PROMPT_FILE, other: &flags::SYSTEM_PROMPT },
    Rule::Excludes { flag: &claude::SESSION_ID, other: &flags::SESSION },
    Rule::Needs { flag: &flags::SCHEDULED, value: None, other: &flags::PROMPT },
];

/// What a run of a model says of itself, with `--output json`.
pub(super) const OUTPUT_SCHEMA: &str = r#"{"type":"object","required":["effect"],"anyOf":[{"required":["would_affect"]},
    {"required":["session_id","result","usage","cost_usd","num_turns","completed_steps","partial","failed_step","pending_steps",
                 "skipped_steps","denied_steps","resume_from","structured_output","_source","_trusted"]}],
    "properties":{"session_id":{"type":"string"},"result":{"type":"string"},"effect":{"enum":["updated","noop"]},
    "usage":{"type":"object","required":["input_tokens","output_tokens","cache_read_tokens","cache_write_tokens"]},
    "cost_usd":{"type":["number","null"]},"num_turns":{"type":"integer"},
    "completed_steps":{"type":"array","x-ordered":true,"items":{"type":"string"}},"partial":{"type":"boolean"},
    "failed_step":{"type":["string","null"]},"pending_steps":{"type":"array","x-ordered":true,"items":{"type":"string"}},
    "skipped_steps":{"type":"array"},"denied_steps":{"type":"array","x-ordered":true,"items":{"type":"object",
    "required":["step","reason"]}},"resume_from":{"type":["string","null"]},
    "rollback":{"type":["object","null"],"required":["restored","kept","error"]}}}"#;

/// What a run of a model declares.
pub(super) const DECLARES: &str = r#"{
    "requires_auth": true,
    "auth_methods": [
        {"type": "env", "name": "ANTHROPIC_API_KEY", "sensitive": true, "hint": "`zori auth status` names the variables of the others"},
        {"type": "stored", "command": "zori auth login --with-token", "sensitive": true},
        {"type": "browser", "command": "zori auth login", "sensitive": true}
    ],
    "has_network_io": true,
    "resumable": true,
    "preserve_locale": true,
    "subprocess": {"binary": "bash", "user_controlled_args": true, "hardcoded_args": ["-c"]},
    "filesystem_side_effects": [
        {"path": "$ZORI_HOME/sessions", "type": "log", "clearable_with": "zori sessions rm"},
        {"path": "$ZORI_HOME/projects", "type": "log", "clearable_with": "zori project purge"},
        {"path": "$ZORI_HOME/zori.db", "type": "cache", "clearable_with": "zori project purge"},
        {"path": "the workspace", "type": "config"}
    ]
}"#;

/// Says what would be run, without asking anybody.
pub(super) fn preview(_: &super::Context<'_>, args: &Args) -> Result<Preview, Failure> {
    let prompt = args.text(&flags::PROMPT).or(args.text(&flags::DASH)).filter(|prompt| *prompt != "-");
    let prompt = prompt.unwrap_or("the prompt on standard input");
    Ok(Preview { verb: "run", items: vec![prompt.to_owned()], reversible: false })
}

fn one_prompt(args: &Args, _: &AbsPath) -> Vec<Issue> {
    let speaks = claude::SPOKEN.iter().any(|flag| args.has(flag));
    let other = args.text(&flags::DASH).filter(|text| *text != "-" && args.has(&flags::PROMPT));
    // What it says may be a secret that was not meant to be here.
    let issue = |_: &str| {
        Issue::new("PROMPT", IssueCode::ConflictingArguments, "there are two prompts: `-p` and an argument")
            .suggest("leave one of them out; a lone `-` adds standard input to `-p`")
    };
    let outputs = [OUTPUT, FORMAT, JSON, STREAM, NO_STREAM];
    let idle = claude::PROTOCOL_ONLY.iter().chain(WITHOUT_EFFECT.iter().map(|entry| &entry.flag));
    let alone = idle.filter(|flag| !speaks && args.has(*flag)).map(|flag| {
        let message = format!("`{}` is for the Claude protocol, and needs `--output-format`", flag.param());
        Issue::new(&flag.param(), IssueCode::ConflictingArguments, message)
            .suggest("add `--output-format stream-json`, or leave it out")
    });
    let twice = outputs.iter().find(|flag| speaks && args.has(*flag)).map(|flag| {
        let message = format!("`--output-format` and `--{}` both say what to print", flag.long);
        Issue::new("--output-format", IssueCode::ConflictingArguments, message)
            .suggest("leave one of them out")
    });
    let once = args.has(&IDEMPOTENCY_KEY) && (speaks || outputs_events(args));
    let once = once.then(|| {
        let message = "`--idempotency-key` gives an answer again, which a stream of lines cannot do";
        Issue::new("--idempotency-key", IssueCode::ConflictingArguments, message)
            .suggest("leave it out, or ask for `--output json`")
    });
    let nameless = args.text(&flags::SCHEDULED).filter(|job| job.trim().is_empty()).map(|_| {
        Issue::new("--scheduled", IssueCode::InvalidValue, "`--scheduled` is empty")
            .suggest("name the job, or leave it out")
    });
    let tools = if speaks { Vec::new() } else { prompt_options::unknown_tools(args) };
    other.map(issue).into_iter().chain(twice).chain(alone).chain(once).chain(nameless).chain(tools).collect()
}

/// Returns whether the call asks for events.
fn outputs_events(args: &Args) -> bool {
    let says = |flag, value| args.text(flag) == Some(value);
    args.has(&JSON) || args.has(&STREAM) || says(&FORMAT, "json") || says(&OUTPUT, "jsonl")
}

/// Runs one prompt in a session.
pub fn one_turn(cx: &mut AgentCx<'_>, args: &LowArgs, which: Which) -> Result<Exit, Failure> {
    let args = &claude_settings::applied(args, cx.ui)?;
    let only_once = |args: &LowArgs| match args.session.rollback {
        true => Err(Failure::new(
            &VALIDATION_ERROR,
            "`--rollback-on-failure` is for a run of one prompt, not for a conversation",
        )
        .hint("give the prompt with `-p TEXT`, or leave the flag out")),
        false => Ok(()),
    };
    if args.protocol.spoken().is_some() {
        only_once(args)?;
    }
    match args.protocol.spoken() {
        Some(Protocol::Yume) => return gui::run(cx, args),
        Some(_) => return stream_json::serve(cx, args),
        None => {}
    }
    let args = &claude_settings::understood(args)?;
    let asked = args.prompt.text.is_some() || args.prompt.dash || args.prompt.file.is_some();
    if let Some(events) = cx.front.events().cloned().filter(|_| !asked && args.recording.replay.is_none()) {
        only_once(args)?;
        return chat::serve(cx, args, which, events);
    }
    let signals = Signals::install(&cx.cancel, &cx.app.record)?;
    // What is not there is said before a key is looked for.
    let from_stdin =
        args.prompt.text.is_none() && args.recording.replay.is_none() && prompt::is_at_hand(&signals)?;
    let text = if from_stdin { Some(gather(cx, args, &signals)?) } else { None };
    let Settings { mut session, run } = Settings::with_session_and_key(cx, args, &signals)?;
    if let Some(workers) = &run.background {
        workers.for_one_prompt();
    }
    let viewer = Viewer { facts: session.model.facts, model: &session.model.name };
    let images = attachment::load_all(&args.prompt.images, viewer)?;
    let other_images = asked && run.prompts.first().is_some_and(|recorded| recorded.images != images);
    let prompts = match &run.prompts[..] {
        [_, ..] if !asked && !images.is_empty() => {
            return Err(Failure::new(
                &VALIDATION_ERROR,
                "`--image` and `--replay` without `-p` exclude each other: the recording has its prompts' images",
            )
            .hint("leave `--image` out"));
        }
        recorded @ [_, ..] if !asked => recorded.to_vec(),
        _ => {
            let text = match text {
                Some(text) => text,
                None => gather(cx, args, &signals)?,
            };
            vec![Prompt { text, images, uuid: None, scheduled: args.prompt.scheduled.clone() }]
        }
    };
    if !run.guidelines.is_empty() {
        let paths: Vec<_> = run.guidelines.iter().map(|path| path.display().to_string()).collect();
        cx.ui.say(&format!("Loaded AGENTS.md from: {}", paths.join(", ")));
    }
    let wanted = PromptOptions::of(args, &mut session, cx.ui)?;
    let client = attended(cx, args, &mut session, &run);
    let which = which_session::choose_over(which, &args.session, &session, cx.profile)?;
    let prepared = wire_up::prepare(cx, session, &run, which)
        .map_err(|failure| which_session::with_fork_hint(failure, &args.session))?;
    let schedule = prepared.host.settings.schedule.as_ref().filter(|schedule| schedule.always);
    let scheduler = schedule.and_then(|schedule| {
        let workers = Workers::new(run.bare, &cx.app, cx.ui);
        let jobs = schedule.into();
        Scheduler::start(cx, &signals, &workers, move || jobs)
    });
    let parts = wanted.clone();
    let parts = Box::new(move |cx: &AgentCx<'_>, settings: &SessionSettings| {
        frontend::plain_with(cx, settings, &parts)
    });
    let mut plain = PlainSession::start_with(cx, prepared, run, client, parts)?;
    let (mut exit, mut refused, mut unasked) = (Exit::Success, false, false);
    wanted.begin();
    let mut prompts = VecDeque::from(prompts);
    let mut turns = 0;
    while let Some(prompt) = prompts.pop_front() {
        turns += 1;
        let before = plain.session().messages().len();
        let end = plain.turn(prompt, &signals);
        let ended = outcome::exit(&end.summary.outcome, end.summary.effects);
        exit = if ended == Exit::Success { exit } else { ended };
        refused |= end.key_refused();
        unasked |= end.unasked;
        let settings = &plain.host.settings;
        let mut report = cx.report.take().unwrap_or_else(|| {
            let way = cx.app.network.way_to(&settings.model.base_url, cx.profile.name);
            Report::new(plain.session().id(), settings.storage.save, settings.request.retry.per_request, way)
        });
        report.add_turn(&end, plain.session().messages().get(before..).unwrap_or_default());
        let checked = wanted.check(cx, &end, &mut report);
        cx.report = Some(report);
        match checked? {
            Checked::Fine => {}
            Checked::Again(prompt) => prompts.push_front(prompt.into()),
            Checked::Failed(unfit) => exit = unfit,
        }
        cx.ui.notices(&end.notices);
        if end.track == Track::Off && other_images {
            cx.ui.say("Hint: the recorded prompt has other images: give the same ones with `--image`");
        }
        if end.track == Track::Off || signals.ending().is_some() {
            break;
        }
    }
    signals.leave();
    if args.session.rollback
        && exit != Exit::Success
        && let Some(report) = cx.report.as_mut().filter(|report| report.changed_something())
    {
        let request = UndoRequest {
            goal: UndoGoal::Last(turns),
            what: UndoScope::Files,
            force: Force::Keep,
            dry_run: false,
            by: "rollback",
        };
        let undone = plain.session_mut().undo(request);
        match &undone {
            Ok(undone) => undo_lines(undone, plain.session().project_root(), false)
                .iter()
                .for_each(|line| cx.ui.say(line)),
            Err(why) => cx.ui.warn(&format!("nothing was put back: {why}")),
        }
        report.set_rollback(&undone);
    }
    if let Some(report) = &mut cx.report {
        report.set_pid_file(plain.session().pid_file());
        if refused {
            let (facts, key) = (plain.host.settings.model.facts, &plain.run.key);
            report.set_auth(model_choice::auth_advice(facts, key, cx.profile.name));
        }
    }
    let advice = refused
        .then(|| model_choice::key_hint(plain.host.settings.model.facts, &plain.run.key, cx.profile.name));
    drop(scheduler);
    let [closed, replayed] = plain.close(cx.ui, Advice { unasked, key: advice });
    signals.die_of_hangup();
    // A reader that went away after the turn was over has got everything (DECISIONS 24).
    Ok([exit, closed, replayed].into_iter().find(|exit| *exit != Exit::Success).unwrap_or(Exit::Success))
}

/// Lets the program that reads the events answer questions, where it can.
fn attended(
    cx: &mut AgentCx<'_>,
    args: &LowArgs,
    session: &mut SessionSettings,
    run: &RunSettings,
) -> Option<Client> {
    let events = cx.front.events()?.clone();
    let from_stdin = args.prompt.dash || args.prompt.text.as_deref() == Some("-");
    if run.bare || from_stdin || session.permission.answers != Answers::Nobody {
        return None;
    }
    session.permission.answers = Answers::Client;
    Some(Client::new(
        events,
        Lines::new(Workers::new(run.bare, &cx.app, cx.ui)),
        cx.app.redactor(),
        run.bare,
        cx.terminal.stdin,
    ))
}

fn gather(cx: &mut AgentCx<'_>, args: &LowArgs, signals: &Signals) -> Result<String, Failure> {
    // Behind `--json` standard input has the answers to questions, unless the prompt is to come from there (D-3).
    let silent = cx.terminal.stdin || cx.front.events().is_some();
    let sources = Sources {
        flag: args.prompt.text.as_deref(),
        file: args.prompt.file.as_deref(),
        dash: args.prompt.dash,
        stdin_terminal: silent,
    };
    prompt::gather(sources, signals, cx.ui)
}
