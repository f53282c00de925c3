//! The Claude protocol for SDKs (`stream-json.md`): `--output-format`, with or without lines on standard input.
//!
//! The lines are `zori_frontends::claude`; here is what reads, asks and answers. [`serve`] is one process of it: the
//! client introduces itself, each of its prompts is a turn, and it goes on until there are no more. `client.rs` is the other
//! end, `channel.rs` what it is asked, `callbacks.rs` its hooks, `mcp.rs` its tools, `structured.rs` answers by a schema.

mod callbacks;
mod channel;
mod client;
mod mcp;
mod open;
mod schema;
mod structured;
mod tap;

use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use zori_contract::error::VALIDATION_ERROR;
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_core::cost::Spent;
use zori_core::hook::Hooks;
use zori_core::input::{Input, Prompt};
use zori_core::outcome::{CancelCause, Outcome};
use zori_core::provider::Effort;
use zori_engine::engine::CutAnswer;
use zori_engine::subagent;
use zori_frontends::claude::control::Initialize;
use zori_frontends::claude::input::User;
use zori_frontends::claude::sdk::{LastTurn, SdkFacts, SdkRenderer};
use zori_frontends::claude::{Ending, Frames, ModelFacts, SDK_LINE, Tally, Writing, uuid};
use zori_frontends::jsonl::Remarks;
use zori_policy::Mode;
use zori_policy::mode::Protocol;
use zori_redact::Redactor;
use zori_tools::dialect::CLAUDE;
use zori_tools::toolset::Offered;

use self::callbacks::{Callbacks, Wanted, Where};
use self::channel::Channel;
use self::client::{Client, Facts, Next, effort};
use self::mcp::{Connected, Named, Offer};
use self::open::Refused;
use self::structured::Structured;
use self::tap::{SharedContext, Tap};
use crate::args::LowArgs;
use crate::asking::{Answers, Asking};
use crate::clock::{SystemClock, SystemIds};
use crate::commands::Cx;
use crate::mode_gate::ModeGate;
use crate::model_choice::Key;
use crate::network::Network;
use crate::outlet::{self, Outlet};
use crate::prompt::{self, Sources};
use crate::sandbox::confinement::Confinement;
use crate::settings::Settings;
use crate::signals::Signals;
use crate::stdin::Lines;
use crate::terminal;
use crate::trust::Asks;
use crate::ui::Ui;
use crate::wire_up::{self, Run, Session};
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

/// What is known before the first turn.
struct Start {
    settings: Settings,
    mode: String,
    named: Named,
    connected: Option<Connected>,
    wanted: Vec<Wanted>,
    structured: Option<Structured>,
    append: Option<String>,
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
    let args = understood(args, cx.ui)?;
    let settings = Settings::resolve(cx, &args, &Asks::Nobody);
    signals.check()?;
    let mut start = begin(settings?, &args, cx.ui)?;
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
    let channel = Channel::new(frames.clone());
    let context = SharedContext::default();
    let lines = Lines::new(Workers::new(start.settings.bare, cx.ui));
    let modes = gate(&start.settings, &args);
    let facts = facts(&start.settings, modes.clone(), context.clone());
    let ui = if cx.terminal.quiet { Ui::silent() } else { Ui::standard() };
    let mut client = Client::new(lines, frames.clone(), channel.clone(), facts, ui);
    if prompt.is_some() {
        client = client.silent();
    }
    let first = match prompt {
        Some(text) => Some(User { prompt: text.into(), left_out: Vec::new(), uuid: None, message: None }),
        None => introduced(&mut start, &mut client, &channel, &signals)?,
    };
    let Some(first) = first else {
        signals.leave();
        signals.die_of_hangup();
        return Ok(signals.ending().unwrap_or(Exit::Success));
    };
    let confinement = Confinement::start(&start.settings)?;
    let opened = match open::choose(claude, &start.settings) {
        Ok(opened) => opened,
        Err(refused) => return Ok(refuse(refused, &frames, output, cx.ui)),
    };
    let saved = wire_up::open(&start.settings, opened, cx.ui)?;
    let network = Network::open(cx, &start.settings)?;
    let provider = wire_up::provider(&start.settings, &network);
    let place = Where {
        session: saved.id.clone(),
        transcript: transcript(&start.settings, &saved),
        root: start.settings.root.clone(),
        home: start.settings.home.clone(),
    };
    let session_id = saved.id.clone();
    let (outlet, last) =
        outlet(cx, &args, &mut start, &frames, &channel, modes, &mut client, place, context)?;
    let run = Run {
        settings: &start.settings,
        network: &network,
        provider,
        confinement: confinement.clone(),
        spent_before: Spent::NOTHING,
    };
    let session = Session::start(cx, run, saved, outlet)?;
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

/// Takes the words of Claude Code's command line for ours, where they mean the same.
fn understood(args: &LowArgs, ui: &mut Ui) -> Result<LowArgs, Failure> {
    let mut args = args.clone();
    let claude = &args.claude;
    if let Some(file) = &claude.system_prompt_file {
        let text = std::fs::read_to_string(file).map_err(|error| {
            Failure::new(&VALIDATION_ERROR, format!("`--system-prompt-file`: cannot read {file}: {error}"))
        })?;
        args.system_prompt = Some(text);
    }
    if args.permission_mode.is_none() && claude.bypass {
        args.permission_mode = Some("bypassPermissions".to_owned());
    }
    match claude.effort.as_deref() {
        None => {}
        Some("xhigh") => args.thinking = Some(Effort::Max),
        Some(level) => match Effort::by_name(level) {
            Some(level) => args.thinking = Some(level),
            None => {
                ui.warn(&format!("`--effort {level}` is not known; the levels are low, medium, high, max"))
            }
        },
    }
    if let Some(tokens) = claude.max_thinking_tokens {
        args.thinking = Some(effort(tokens));
    }
    match claude.prompt_tool.as_deref() {
        None | Some("stdio") => {}
        Some(other) => {
            ui.warn(&format!(
                "`--permission-prompt-tool {other}` is not possible; only `stdio` is. Nobody is asked"
            ));
        }
    }
    Ok(args)
}

/// Puts together what is known before the client says anything.
fn begin(mut settings: Settings, args: &LowArgs, ui: &mut Ui) -> Result<Start, Failure> {
    let claude = &args.claude;
    if claude.prompt_tool.as_deref() == Some("stdio") && settings.answers == Answers::Nobody {
        settings.answers = Answers::Client;
    }
    if let Some(retries) = std::env::var("CLAUDE_CODE_MAX_RETRIES").ok().and_then(|text| text.parse().ok()) {
        settings.retry.per_request = retries;
        settings.retry.per_turn = settings.retry.per_turn.max(retries);
    }
    for folder in &claude.add_dirs {
        match settings.root.join(folder).canonicalize() {
            Ok(folder) if folder.is_dir() => settings.policy.ground.roots.push(folder),
            Ok(_) => ui.warn(&format!("`--add-dir {folder}`: it is no folder, and is not added")),
            Err(error) => ui.warn(&format!("`--add-dir {folder}`: {error}; it is not added")),
        }
    }
    let invalid = |why: String| Failure::new(&VALIDATION_ERROR, why);
    let named = Named::read(&claude.mcp_config).map_err(invalid)?;
    let schema = claude.json_schema.as_deref().map(serde_json::from_str::<Value>).transpose();
    let schema = schema.map_err(|error| invalid(format!("`--json-schema` is no JSON: {error}")))?;
    let word = settings.policy.mode.mode.name_in(Protocol::Claude);
    // The client reads the word it has used.
    let mode = args.permission_mode.clone().filter(|name| name == "auto").unwrap_or_else(|| word.to_owned());
    Ok(Start {
        settings,
        mode,
        named,
        connected: None,
        wanted: Vec::new(),
        structured: schema.map(|schema| structured(schema, ui)),
        append: claude.append_system_prompt.clone(),
    })
}

fn structured(schema: Value, ui: &mut Ui) -> Structured {
    let structured = Structured::new(schema);
    let unchecked = structured.unchecked();
    if !unchecked.is_empty() {
        ui.warn(&format!("of the JSON schema this is not checked: {}", unchecked.join(", ")));
    }
    structured
}

fn gate(settings: &Settings, args: &LowArgs) -> ModeGate {
    let yolo = settings.policy.mode.mode == Mode::Yolo || args.claude.may_bypass || args.claude.bypass;
    ModeGate::new(settings, Protocol::Claude, yolo)
}

fn facts(settings: &Settings, modes: ModeGate, context: SharedContext) -> Facts {
    let (provider, configured) = (settings.choice.facts, settings.max_tokens);
    let windows = settings.windows();
    let listed = provider
        .models
        .iter()
        .map(|model| json!({"value": model.id, "displayName": model.id, "description": provider.display}));
    Facts {
        modes,
        model: settings.choice.model.to_string(),
        bad_model: Box::new(move |model| {
            let (other, _) = model.split_once(':')?;
            let known = zori_providers::catalog::provider(other).is_some() && other != provider.name;
            known.then(|| format!("`{model}` is served by {other}, and this process asks {}", provider.name))
        }),
        reply_limit: Box::new(move |_| configured),
        window: Box::new(move |model| windows(model).map(|window| window.tokens)),
        models: listed.collect(),
        context,
    }
}

/// Waits for the first prompt. What the client says before it shapes the session. `None`: there is no prompt at all.
fn introduced(
    start: &mut Start,
    client: &mut Client,
    channel: &Arc<Channel>,
    signals: &Signals,
) -> Result<Option<User>, Failure> {
    let runtime = wire_up::runtime()?;
    let waiting = signals.while_editing(|| {});
    client.servers = start.named.sdk.iter().map(|name| pending(name)).collect();
    let first = runtime.block_on(async {
        loop {
            match client.next().await {
                Next::Initialize(initialize) => {
                    start.introduce(*initialize, client);
                    start.connect(client, channel).await;
                }
                Next::Wish(wish) => start.wish(wish, client),
                Next::Prompt(user) => {
                    start.connect(client, channel).await;
                    return Some(user);
                }
                Next::End => return None,
            }
        }
    });
    drop(waiting);
    Ok(first)
}

fn pending(name: &str) -> zori_frontends::claude::wire::McpServer {
    zori_frontends::claude::wire::McpServer { name: name.to_owned(), status: "pending" }
}

impl Start {
    /// Takes what the client says of itself and of its wishes.
    fn introduce(&mut self, initialize: Initialize, client: &mut Client) {
        let (wanted, remarks) = callbacks::wanted(&initialize);
        remarks.iter().for_each(|why| client.warn(why));
        self.wanted = wanted;
        for name in initialize.sdk_mcp_servers.into_iter().flatten() {
            self.named.add(name);
        }
        if let Some(prompt) = initialize.system_prompt {
            self.settings.system_parts.own = prompt.text();
        }
        self.append = initialize.append_system_prompt.or(self.append.take());
        if let Some(schema) = initialize.json_schema.filter(|schema| !schema.is_null()) {
            self.structured = Some(Structured::new(schema));
        }
        if initialize.agents.is_some_and(|agents| agents.as_object().is_some_and(|map| !map.is_empty())) {
            client.warn("the sub-agents of `initialize` are not used here");
        }
        client.servers = self.named.sdk.iter().map(|name| pending(name)).collect();
    }

    /// Asks the client's servers what they have, once.
    async fn connect(&mut self, client: &mut Client, channel: &Arc<Channel>) {
        if self.connected.is_some() {
            return;
        }
        let connected = tokio::select! {
            biased;
            connected = mcp::connect(channel, &self.named) => connected,
            never = client.serve(None) => match never {},
        };
        connected.remarks.iter().for_each(|why| client.warn(why));
        client.servers = connected.servers.clone();
        self.connected = Some(connected);
    }

    /// Changes what the session will begin with.
    fn wish(&mut self, wish: Input, client: &mut Client) {
        match wish {
            Input::SetMode(name) => match client.check_mode(&name) {
                Ok((choice, shell)) => {
                    self.settings.child_env.set_mode(choice.mode);
                    self.settings.policy.mode = choice;
                    self.settings.policy.shell = shell;
                    self.mode = name;
                }
                Err(why) => client.warn(&why),
            },
            Input::SetModel { model, max_tokens } => {
                self.settings.choice.model = model.into();
                self.settings.max_tokens = max_tokens;
            }
            Input::SetEffort(effort) => self.settings.effort = effort,
            _ => {}
        }
    }

    /// Returns which tools there are: what `--tools` offers, without what is denied altogether.
    fn offered(&self, args: &LowArgs) -> Offered {
        let denied = |name: &str| args.deny.iter().any(|rule| rule == name);
        let all = || CLAUDE.tools.iter().map(|entry| entry.name.to_owned());
        let named: Vec<String> = match args.claude.tools.as_deref() {
            None | Some("default") => all().collect(),
            Some(list) => {
                list.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
            }
        };
        Offered::Named(named.into_iter().filter(|name| !denied(name)).collect())
    }
}

fn transcript(settings: &Settings, saved: &wire_up::Saved) -> Option<PathBuf> {
    let base = settings.base.as_ref().filter(|_| saved.log.is_some())?;
    Some(base.sessions().join(format!("{}.jsonl", saved.id)))
}

/// Puts together what the session gets from this front end.
#[expect(clippy::too_many_arguments, reason = "one caller; it is what the front end is made of")]
fn outlet(
    cx: &Cx<'_>,
    args: &LowArgs,
    start: &mut Start,
    frames: &Frames,
    channel: &Arc<Channel>,
    modes: ModeGate,
    client: &mut Client,
    place: Where,
    context: SharedContext,
) -> Result<(Outlet, LastTurn), Failure> {
    let redactor = Redactor::new(start.settings.choice.secrets.clone());
    let choice = &start.settings.choice;
    let Connected { servers, tools, .. } = start.connected.take().unwrap_or(Connected {
        servers: Vec::new(),
        tools: Vec::new(),
        remarks: Vec::new(),
    });
    let sdk = SdkFacts {
        mcp_servers: servers,
        mode: start.mode.clone(),
        api_key_source: match &choice.key {
            Ok(Some(Key::Variable(_))) => choice.facts.key_var.to_owned(),
            Ok(Some(Key::Program(_) | Key::Stored(_))) => "login".to_owned(),
            Ok(None) | Err(_) => "none".to_owned(),
        },
        agents: if start.settings.subagents.depth > 0 { subagent::kinds() } else { Vec::new() },
        version: env!("CARGO_PKG_VERSION"),
        partial: args.claude.partial,
        state: std::env::var_os("CLAUDE_CODE_SDK_READS_SESSION_STATE").is_some_and(|value| value == "1"),
    };
    let (pricing, windows) = (choice.pricing(), start.settings.windows());
    let models = move |model: &str| {
        let window = windows(model);
        ModelFacts {
            prices: pricing(model),
            context_window: window.map_or(0, |window| window.tokens),
            max_output: window.map_or(0, |window| window.reply),
        }
    };
    let tally = Tally::new(Arc::new(SystemClock::new()), Arc::new(models));
    let judge = start.structured.as_ref().map(Structured::judge);
    let renderer = SdkRenderer::new(frames.clone(), redactor.clone(), Arc::new(SystemIds), tally, sdk, judge);
    let last = renderer.last_turn();
    let remarks = Remarks::new(outlet::words(cx)?, outlet::style(cx), redactor);
    let (tap, questions) = Tap::new(context);
    client.questions = Some(questions);
    let denied = |offer: &Offer| {
        let name = offer.name();
        let server = name.rsplit_once("__").map_or("", |(server, _)| server);
        args.deny.iter().any(|rule| *rule == name || rule == server)
    };
    let mut others: Vec<_> =
        tools.into_iter().filter(|offer| !denied(offer)).map(|offer| offer.tool(channel)).collect();
    let parts = &mut start.settings.system_parts;
    let instruction = start.structured.as_ref().map(Structured::instruction);
    for more in start.append.take().into_iter().chain(instruction) {
        parts.own =
            if parts.own.trim().is_empty() { more } else { format!("{}\n\n{more}", parts.own.trim_end()) };
    }
    start.settings.system = start.settings.system_parts.text();
    others.extend(start.structured.as_ref().map(Structured::tool));
    let wanted = std::mem::take(&mut start.wanted);
    let hooks: Vec<Arc<dyn Hooks>> = match wanted.is_empty() {
        true => Vec::new(),
        false => vec![Arc::new(Callbacks::new(channel.clone(), wanted, place))],
    };
    let outlet = Outlet {
        renderers: vec![Box::new(renderer), Box::new(remarks), Box::new(tap)],
        asking: Asking::nobody(),
        dialect: &CLAUDE,
        offered: start.offered(args),
        tools: others,
        hooks,
        modes,
        cut: CutAnswer::Kept,
    };
    Ok((outlet, last))
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

/// A session with a client.
struct Conversation {
    session: Session,
    client: Client,
    signals: Signals,
    network: Network,
    frames: Frames,
    last: LastTurn,
    structured: Option<Structured>,
    /// Whether prompts are repeated when their turn begins.
    replay: bool,
    id: String,
    /// Whether Ctrl-C came in the last turn.
    signalled: bool,
    exit: Exit,
}

/// A prompt, said again.
#[derive(Serialize)]
struct Echo<'a> {
    r#type: &'static str,
    message: &'a RawValue,
    parent_tool_use_id: Option<&'a str>,
    session_id: &'a str,
    uuid: String,
    #[serde(rename = "isReplay")]
    is_replay: bool,
}

impl Conversation {
    /// Runs turns until there are no more prompts, or a signal came.
    fn hold(&mut self, first: User, ui: &mut Ui) {
        let mut next = Next::Prompt(first);
        loop {
            match next {
                Next::Prompt(user) => {
                    if !self.prompt(user, ui) {
                        return;
                    }
                }
                Next::Wish(wish) => self.session.engine.wish(wish),
                Next::Initialize(_) => {
                    self.client.warn("`initialize` came after the first prompt; it changes nothing")
                }
                Next::End => return,
            }
            if self.frames.is_closed() {
                return;
            }
            let waiting = self.signals.while_editing(|| {});
            let Self { session, client, .. } = self;
            next = session.runtime.block_on(client.next());
            drop(waiting);
        }
    }

    /// Answers one prompt. Returns whether to go on.
    fn prompt(&mut self, user: User, ui: &mut Ui) -> bool {
        if let Some(structured) = &self.structured {
            structured.begin();
        }
        self.echo(&user);
        let mut prompt = user.prompt;
        loop {
            self.network.prompt(&prompt);
            let outcome = self.turn(prompt);
            self.network.turn_over(ui);
            self.exit = match &outcome {
                Outcome::Cancelled(CancelCause::Terminate | CancelCause::Hangup) => Exit::Terminated,
                Outcome::Cancelled(CancelCause::User) if self.signalled => Exit::Interrupted,
                Outcome::OutputClosed => Exit::General,
                _ => self.ended(),
            };
            if let Some(ending) = self.signals.ending() {
                self.exit = ending;
                return false;
            }
            if matches!(self.exit, Exit::Interrupted | Exit::Terminated) {
                return false;
            }
            match self.structured.as_ref().and_then(Structured::again) {
                Some(again) => prompt = again.into(),
                None => return true,
            }
        }
    }

    /// Returns what the last turn leads to.
    fn ended(&self) -> Exit {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match last.as_ref().is_some_and(|over| over.ending.is_error) {
            true => Exit::General,
            false => Exit::Success,
        }
    }

    fn turn(&mut self, prompt: Prompt) -> Outcome {
        let (sender, mut inputs) = mpsc::channel(16);
        let listening = self.signals.listen(sender.clone());
        let Self { session, client, .. } = self;
        let Session { engine, runtime, .. } = session;
        let (summary, _) = runtime.block_on(async {
            tokio::select! {
                biased;
                over = engine.turn(prompt, &mut inputs) => over,
                never = client.serve(Some(&sender)) => match never {},
            }
        });
        // The client may have ended it as well; a signal ends the program.
        self.signalled = self.signals.check().is_err();
        drop(listening);
        summary.outcome
    }

    fn echo(&self, user: &User) {
        let Some(message) = user.message.as_deref().filter(|_| self.replay) else { return };
        let message = zori_frontends::claude::object(message.get());
        // Whether the reader is gone is looked at after the turn.
        let _ = self.frames.write(&Echo {
            r#type: "user",
            message: &message,
            parent_tool_use_id: None,
            session_id: &self.id,
            uuid: user.uuid.clone().unwrap_or_else(|| uuid(&SystemIds)),
            is_replay: true,
        });
    }
}
