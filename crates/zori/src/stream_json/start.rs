//! What is known before the first turn: from the command line, and from what the client says of itself. The session is
//! made of it when the first prompt comes.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use zori_contract::error::VALIDATION_ERROR;
use zori_contract::failure::Failure;
use zori_core::hook::{Hooks, Watch};
use zori_core::input::Input;
use zori_core::provider::Effort;
use zori_engine::engine::CutAnswer;
use zori_frontends::claude::control::Initialize;
use zori_frontends::claude::input::User;
use zori_frontends::claude::sdk::{LastTurn, SdkFacts, SdkRenderer};
use zori_frontends::claude::wire::McpServer;
use zori_frontends::claude::{Frames, ModelFacts, Tally};
use zori_frontends::jsonl::Remarks;
use zori_policy::Mode;
use zori_policy::mode::Protocol;
use zori_redact::Redactor;
use zori_tools::dialect::CLAUDE;
use zori_tools::toolset::Offered;

use super::callbacks::{self, Callbacks, Wanted, Where};
use super::channel::Channel;
use super::client::{Client, Facts, Next, effort};
use super::hook_events::HookEvents;
use super::mcp::{self, Connected, Named, Offer};
use super::structured::Structured;
use super::tap::{SharedContext, Tap};
use crate::agents::json::{self, Described};
use crate::args::LowArgs;
use crate::asking::{Answers, Asking};
use crate::clock::{SystemClock, SystemIds};
use crate::commands::Cx;
use crate::mode_gate::ModeGate;
use crate::model_change::ModelGate;
use crate::model_choice::Key;
use crate::outlet::{self, Outlet};
use crate::sandbox::Use;
use crate::settings::Settings;
use crate::signals::Signals;
use crate::ui::Ui;
use crate::wire_up;

/// What goes between the client and the session.
#[derive(Clone)]
pub struct Wires {
    /// The way to standard output.
    pub frames: Frames,
    /// What the client is asked.
    pub channel: Arc<Channel>,
    /// Which modes may come to hold.
    pub modes: ModeGate,
    /// How full the conversation is.
    pub context: SharedContext,
}

/// What is known before the first turn.
pub struct Start {
    /// What was asked for.
    pub settings: Settings,
    /// The mode, in the client's word.
    mode: String,
    named: Named,
    connected: Option<Connected>,
    wanted: Vec<Wanted>,
    /// What the answer has to look like.
    pub structured: Option<Structured>,
    append: Option<String>,
}

/// Takes the words of Claude Code's command line for ours, where they mean the same.
pub fn understood(args: &LowArgs, ui: &mut Ui) -> Result<LowArgs, Failure> {
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
    Ok(args)
}

/// Puts together what is known before the client says anything.
pub fn begin(mut settings: Settings, args: &LowArgs, ui: &mut Ui) -> Result<Start, Failure> {
    let claude = &args.claude;
    if claude.prompt_tool.is_some() && settings.answers == Answers::Nobody {
        settings.answers = Answers::Client;
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

pub fn gate(settings: &Settings, args: &LowArgs) -> ModeGate {
    let yolo = settings.policy.mode.mode == Mode::Yolo || args.claude.may_bypass || args.claude.bypass;
    ModeGate::new(settings, Protocol::Claude, yolo)
}

pub fn facts(settings: &Settings, modes: ModeGate, context: SharedContext) -> Facts {
    let provider = settings.choice.facts;
    let windows = settings.windows();
    let listed = provider
        .models
        .iter()
        .map(|model| json!({"value": model.id, "displayName": model.id, "description": provider.display}));
    Facts {
        modes,
        model: settings.choice.model.to_string(),
        models: ModelGate::new(settings),
        window: Box::new(move |model| windows(model).map(|window| window.tokens)),
        listed: listed.collect(),
        agents: settings.agents.iter().map(|agent| (agent.name.clone(), agent.about.clone())).collect(),
        context,
        confined: settings.sandbox.used != Use::Off,
    }
}

/// Waits for the first prompt. What the client says before it shapes the session. `None`: there is no prompt at all.
pub fn introduced(
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

fn pending(name: &str) -> McpServer {
    McpServer { name: name.to_owned(), status: "pending" }
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
        // What cannot be understood was refused when it was said.
        let described = initialize.agents.as_ref().and_then(|agents| json::read(agents).ok());
        let Described { agents, remarks } = described.unwrap_or_default();
        remarks.iter().for_each(|why| client.warn(why));
        self.settings.agents.splice(0..0, agents);
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

    /// Takes the tool that is asked about calls out of those the model is offered; an error where there is none of that name.
    pub fn prompt_tool(&mut self, args: &LowArgs) -> Result<Option<Offer>, Failure> {
        let Some(name) = args.claude.prompt_tool.as_deref().filter(|name| *name != "stdio") else {
            return Ok(None);
        };
        let tools = self.connected.as_mut().map(|connected| &mut connected.tools);
        let found = tools.and_then(|tools| {
            let at = tools.iter().position(|offer| offer.name() == name)?;
            Some(tools.remove(at))
        });
        if found.is_some() {
            return Ok(found);
        }
        let known: Vec<_> =
            self.connected.iter().flat_map(|connected| &connected.tools).map(Offer::name).collect();
        let there = match known.is_empty() {
            true => "no MCP server offers any".to_owned(),
            false => format!("there are {}", known.join(", ")),
        };
        let message = format!("`--permission-prompt-tool`: there is no tool `{name}`; {there}");
        Err(Failure::new(&VALIDATION_ERROR, message).hint("`stdio` asks the program that reads"))
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

pub fn transcript(settings: &Settings, saved: &wire_up::Saved) -> Option<PathBuf> {
    let base = settings.base.as_ref().filter(|_| saved.log.is_some())?;
    Some(base.sessions().join(format!("{}.jsonl", saved.id)))
}

/// Puts together what the session gets from this front end.
pub fn outlet(
    cx: &Cx<'_>,
    args: &LowArgs,
    start: &mut Start,
    wires: Wires,
    client: &mut Client,
    place: Where,
) -> Result<(Outlet, LastTurn), Failure> {
    let Wires { frames, channel, modes, context } = wires;
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
        version: env!("CARGO_PKG_VERSION"),
        max_turns: start.settings.limits.turns,
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
    let (wires_frames, events_redactor) = (frames.clone(), redactor.clone());
    let renderer = SdkRenderer::new(frames, redactor.clone(), Arc::new(SystemIds), tally, sdk, judge);
    let last = renderer.last_turn();
    let remarks = Remarks::new(outlet::words(cx)?, outlet::style(cx), redactor);
    let (tap, questions) = Tap::new(context, channel.clone());
    client.questions = Some(questions);
    let denied = |offer: &Offer| {
        let name = offer.name();
        let server = name.rsplit_once("__").map_or("", |(server, _)| server);
        args.deny.iter().any(|rule| *rule == name || rule == server)
    };
    let mut others: Vec<_> =
        tools.into_iter().filter(|offer| !denied(offer)).map(|offer| offer.tool(&channel)).collect();
    let parts = &mut start.settings.system_parts;
    let instruction = start.structured.as_ref().map(Structured::instruction);
    for more in start.append.take().into_iter().chain(instruction) {
        parts.own =
            if parts.own.trim().is_empty() { more } else { format!("{}\n\n{more}", parts.own.trim_end()) };
    }
    start.settings.system = start.settings.system_parts.text();
    others.extend(start.structured.as_ref().map(Structured::tool));
    let watch: Option<Arc<dyn Watch>> = match args.claude.hook_events {
        true => Some(HookEvents::new(wires_frames, events_redactor, place.session.clone())),
        false => None,
    };
    let wanted = std::mem::take(&mut start.wanted);
    let hooks: Vec<Arc<dyn Hooks>> = match wanted.is_empty() {
        true => Vec::new(),
        false => vec![Arc::new(Callbacks::new(channel, wanted, place, watch.clone()))],
    };
    let outlet = Outlet {
        renderers: vec![Box::new(renderer), Box::new(remarks), Box::new(tap)],
        asking: Asking::nobody(),
        dialect: &CLAUDE,
        offered: start.offered(args),
        tools: others,
        hooks,
        watch,
        modes,
        cut: CutAnswer::GoneOnWith,
        live_output: false,
    };
    Ok((outlet, last))
}
