//! What is known before the first turn: from the command line, and from what the client says of itself. The session is
//! made of it when the first prompt comes.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use zori_contract::error::VALIDATION_ERROR;
use zori_contract::failure::Failure;
use zori_core::hook::{HookObserver, Hooks};
use zori_core::input::Input;
use zori_frontends::claude::control::{Initialize, SkillFilter};
use zori_frontends::claude::input::User;
use zori_frontends::claude::sdk::{LastTurn, SdkFacts, SdkRenderer};
use zori_frontends::claude::wire::McpServer;
use zori_frontends::claude::{FrameWriter, ModelFacts, Tally};
use zori_frontends::jsonl::NoticeRenderer;
use zori_host::{
    Answers, FormAnswers, FrontendParts, Host, ModeGate, ModelGate, OpenedSession, PartialReply,
    SessionSettings, SystemClock, SystemIds,
};
use zori_mcp::client::Server;
use zori_policy::Mode;
use zori_policy::mode::Protocol;
use zori_redact::Redactor;
use zori_serve::claude::agents::{self, ReadAgents};
use zori_serve::claude::callbacks::{self, Callbacks, HookSubscription, SessionPaths};
use zori_serve::claude::channel::Channel;
use zori_serve::claude::client::{Facts, Next};
use zori_serve::claude::hook_events::HookEvents;
use zori_serve::claude::mcp::{self, ClientServers, Connected, Offer, PromptTool};
use zori_serve::claude::set_servers::{ClientTools, before_the_session};
use zori_serve::claude::structured::Structured;
use zori_serve::claude::view::{SharedView, ViewRenderer};
use zori_store::SessionDir;
use zori_tools::dialect::CLAUDE;
use zori_tools::toolset::Offered;

use super::Client;
use zori_chat::frontend;
use zori_setup::agent_cx::AgentCx;
use zori_setup::args::LowArgs;
use zori_setup::model_choice::{KeyFound, api_key_source};
use zori_setup::settings::{RunSettings, Settings};
use zori_setup::signals::Signals;
use zori_setup::ui::Ui;
use zori_setup::wire_up;

/// What goes between the client and the session.
#[derive(Clone)]
pub struct ClientWiring {
    /// The way to standard output.
    pub frames: FrameWriter,
    /// What the client is asked.
    pub channel: Arc<Channel>,
    /// Which modes may come to hold.
    pub modes: ModeGate,
    /// What is known of the session while it runs.
    pub view: SharedView,
}

/// What is known before the first turn.
pub struct Start {
    /// What the session is made from.
    pub settings: SessionSettings,
    /// What only this program needs.
    pub run: RunSettings,
    /// What else the command line and the client say.
    pub introduction: Introduction,
}

/// What the command line and the client say beside settings.
pub struct Introduction {
    /// The mode, in the client's word.
    mode: String,
    named: ClientServers,
    connected: Option<Connected>,
    wanted: Vec<HookSubscription>,
    /// What the answer has to look like.
    pub structured: Option<Structured>,
    append: Option<String>,
}

/// Puts together what is known before the client says anything.
pub fn begin(settings: Settings, args: &LowArgs, ui: &mut Ui) -> Result<Start, Failure> {
    let Settings { session: mut settings, run } = settings;
    if args.permission.prompt_tool.is_some() && settings.permission.answers == Answers::Nobody {
        settings.permission.answers = Answers::Client;
    }
    // Whoever does not read lines is asked nothing.
    settings.mcp.forms = FormAnswers::Nobody;
    settings.mcp.grows = args.protocol.stream_input;
    let invalid = |why: String| Failure::new(&VALIDATION_ERROR, why);
    let named = ClientServers::read(&args.protocol.mcp_config).map_err(invalid)?;
    let schema = args.protocol.json_schema.as_deref().map(serde_json::from_str::<Value>).transpose();
    let schema = schema.map_err(|error| invalid(format!("`--json-schema` is no JSON: {error}")))?;
    let word = settings.permission.policy.mode.mode.name_in(Protocol::Claude);
    // The client reads the word it has used.
    let mode = args.permission.mode.clone().filter(|name| name == "auto").unwrap_or_else(|| word.to_owned());
    let introduction = Introduction {
        mode,
        named,
        connected: None,
        wanted: Vec::new(),
        structured: schema.map(|schema| structured(schema, ui)),
        append: args.prompt.append_system.clone(),
    };
    Ok(Start { settings, run, introduction })
}

fn structured(schema: Value, ui: &mut Ui) -> Structured {
    let structured = Structured::new(schema);
    let unchecked = structured.unchecked();
    if !unchecked.is_empty() {
        ui.warn(&format!("of the JSON schema this is not checked: {}", unchecked.join(", ")));
    }
    structured
}

pub fn gate(settings: &SessionSettings, args: &LowArgs) -> ModeGate {
    let yolo = settings.permission.policy.mode.mode == Mode::Yolo
        || args.permission.may_bypass
        || args.permission.bypass;
    ModeGate::new(settings, Protocol::Claude, yolo)
}

pub fn facts(settings: &SessionSettings, modes: ModeGate, view: SharedView) -> Facts {
    let provider = settings.model.facts;
    let windows = settings.model.windows(settings.request.max_tokens);
    let listed = provider
        .models
        .iter()
        .map(|model| json!({"value": model.id, "displayName": model.id, "description": provider.display}));
    Facts {
        modes,
        model: settings.model.name.to_string(),
        models: ModelGate::new(settings),
        window: Box::new(move |model| windows(model).map(|window| window.tokens)),
        listed: listed.collect(),
        agents: settings
            .agents
            .described
            .iter()
            .map(|agent| (agent.name.clone(), agent.about.clone()))
            .collect(),
        commands: settings.extensions.slash_commands(),
        view,
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
    client.servers = start.introduction.named.sdk.iter().map(|name| pending(name)).collect();
    let first = runtime.block_on(async {
        loop {
            match client.next_task().await {
                Next::Initialize(initialize) => {
                    start.introduce(*initialize, client);
                    start.connect(client, channel).await;
                }
                Next::Change(change) => start.change(change, client),
                Next::SetServers(id, servers) => start.set_servers(&id, servers, client, channel).await,
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
    /// Takes what the client says of itself, and what it wants.
    fn introduce(&mut self, initialize: Initialize, client: &mut Client) {
        let (wanted, remarks) = callbacks::wanted(&initialize);
        remarks.iter().for_each(|why| client.warn(why));
        self.introduction.wanted = wanted;
        for name in initialize.sdk_mcp_servers.into_iter().flatten() {
            self.introduction.named.add(name);
        }
        match initialize.skills {
            Some(SkillFilter::Named(names)) => self.keep_skills(&names, client),
            Some(SkillFilter::Word(word)) if word != "all" => {
                client.warn(&format!(
                    "`skills` of `initialize` is `{word}`, neither a list of names nor `all`"
                ));
            }
            Some(SkillFilter::Word(_)) | None => {}
        }
        if let Some(prompt) = initialize.system_prompt {
            self.settings.request.system_parts.own = prompt.text();
        }
        self.introduction.append = initialize.append_system_prompt.or(self.introduction.append.take());
        if let Some(schema) = initialize.json_schema.filter(|schema| !schema.is_null()) {
            self.introduction.structured = Some(Structured::new(schema));
        }
        // What cannot be understood was refused when it was said.
        let described = initialize.agents.as_ref().and_then(|agents| agents::read(agents).ok());
        let ReadAgents { agents, remarks } = described.unwrap_or_default();
        remarks.iter().for_each(|why| client.warn(why));
        self.settings.agents.described.splice(0..0, agents);
        client.servers = self.introduction.named.sdk.iter().map(|name| pending(name)).collect();
    }

    /// Leaves the session these skills alone (SK-9).
    fn keep_skills(&mut self, names: &[String], client: &mut Client) {
        let Some(all) = self.settings.extensions.skills.take() else {
            names.iter().for_each(|name| client.warn(&format!("there is no skill `{name}`")));
            return;
        };
        for name in names.iter().filter(|name| all.get(name).is_none()) {
            client.warn(&format!("there is no skill `{name}`"));
        }
        let (before, kept) = (all.catalogue(), all.only(names));
        let others = &mut self.settings.request.system_parts.others;
        others.retain(|part| *part != before);
        others.extend(kept.iter().map(|skills| skills.catalogue()));
        self.settings.extensions.skills = kept;
    }

    /// Asks the client's servers what they have, once.
    async fn connect(&mut self, client: &mut Client, channel: &Arc<Channel>) {
        if self.introduction.connected.is_some() {
            return;
        }
        let connected = tokio::select! {
            biased;
            connected = mcp::connect(channel, &self.introduction.named) => connected,
            never = client.serve() => match never {},
        };
        connected.remarks().for_each(|why| client.warn(&why));
        client.servers = connected.servers.clone();
        self.introduction.connected = Some(connected);
    }

    /// Takes the servers that the client wants before the session is there.
    async fn set_servers(
        &mut self,
        id: &str,
        servers: Map<String, Value>,
        client: &mut Client,
        channel: &Arc<Channel>,
    ) {
        self.connect(client, channel).await;
        let Introduction { named, connected, .. } = &mut self.introduction;
        let connected = connected.get_or_insert_default();
        let (external, secrets) = (&mut self.settings.mcp.servers, self.settings.model.secrets.clone());
        let answer = tokio::select! {
            biased;
            answer = before_the_session(servers, external, named, connected, channel, &secrets) => answer,
            never = client.serve() => match never {},
        };
        client.servers = connected.servers.clone();
        client.answer_servers(id, answer);
    }

    /// Changes what the session will begin with.
    fn change(&mut self, change: Input, client: &mut Client) {
        match change {
            Input::SetMode(name) => match client.check_mode(&name) {
                Ok((choice, shell)) => {
                    self.settings.tools.child_env.set_mode(choice.mode);
                    self.settings.permission.policy.mode = choice;
                    self.settings.permission.policy.shell = shell;
                    self.introduction.mode = name;
                }
                Err(why) => client.warn(&why.with_hints()),
            },
            Input::SetModel { model, max_tokens } => {
                self.settings.model.name = model.into();
                self.settings.request.max_tokens = max_tokens;
            }
            Input::SetEffort(effort) => self.settings.request.effort = effort,
            _ => {}
        }
    }
}

impl Introduction {
    /// Adds how the servers fare that do not live in the client.
    pub fn external_servers(&mut self, host: &Host) {
        let Some(servers) = host.mcp() else { return };
        let rows = servers.all().into_iter().map(|server| McpServer {
            name: server.config.name.clone(),
            status: server.now().status.as_str(),
        });
        self.connected.get_or_insert_default().servers.extend(rows);
    }

    /// Returns the tools of the client's servers that the session begins with.
    pub fn client_tools(&self) -> ClientTools {
        ClientTools::new(self.connected.as_ref().map(|connected| connected.tools.clone()).unwrap_or_default())
    }

    /// Takes the tool that is asked about calls out of those the model is offered; an error where there is none of that name.
    pub fn prompt_tool(&mut self, args: &LowArgs, host: &Host) -> Result<Option<PromptTool>, Failure> {
        let Some(name) = args.permission.prompt_tool.as_deref().filter(|name| *name != "stdio") else {
            return Ok(None);
        };
        let tools = self.connected.as_mut().map(|connected| &mut connected.tools);
        let found = tools.and_then(|tools| {
            let at = tools.iter().position(|offer| offer.name() == name)?;
            Some(tools.remove(at))
        });
        if let Some(found) = found {
            return Ok(Some(PromptTool::Client(found)));
        }
        let servers = host.mcp();
        let named = |server: Arc<Server>| servers.and_then(|servers| servers.tool(&server, name));
        let external = servers.map(|servers| servers.all()).unwrap_or_default().into_iter().find_map(named);
        if let Some((spec, tool)) = external.filter(|(spec, _)| spec.name == name) {
            return Ok(Some(PromptTool::Server(spec.name, tool)));
        }
        let others = servers.map(|servers| servers.all()).unwrap_or_default();
        let others = others.iter().flat_map(|server| {
            let tools = server.now().tools;
            tools.iter().map(|tool| tool.id(&server.config.name)).collect::<Vec<_>>()
        });
        let known: Vec<_> = self
            .connected
            .iter()
            .flat_map(|connected| &connected.tools)
            .map(Offer::name)
            .chain(others)
            .collect();
        let there = match known.is_empty() {
            true => "no MCP server offers any".to_owned(),
            false => format!("there are {}", known.join(", ")),
        };
        let message = format!("`--permission-prompt-tool`: there is no tool `{name}`; {there}");
        Err(Failure::new(&VALIDATION_ERROR, message).hint("`stdio` asks the program that reads"))
    }
}

/// Returns which tools there are: what `--tools` offers, without what is denied altogether.
fn offered(args: &LowArgs) -> Offered {
    let denied = |name: &str| args.permission.deny.iter().any(|rule| rule == name);
    let all = || CLAUDE.tools.iter().map(|entry| entry.name.to_owned());
    let named: Vec<String> = match args.permission.tools.as_deref() {
        None | Some("default") => all().collect(),
        Some(list) => {
            list.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
        }
    };
    Offered::Named(named.into_iter().filter(|name| !denied(name)).collect())
}

pub fn transcript(settings: &SessionSettings, opened: &OpenedSession) -> Option<PathBuf> {
    let folder = settings.storage.sessions.clone().filter(|_| opened.is_saved())?;
    Some(SessionDir::new(folder).file(&opened.id))
}

/// Puts together what the session gets from this front end.
pub fn frontend_parts(
    cx: &AgentCx<'_>,
    args: &LowArgs,
    start: &mut Introduction,
    settings: &mut SessionSettings,
    key: &KeyFound,
    wires: ClientWiring,
    paths: SessionPaths,
) -> Result<(FrontendParts, LastTurn), Failure> {
    let ClientWiring { frames, channel, modes, view } = wires;
    let model = settings.model.clone();
    let redactor = Redactor::new(model.secrets.clone());
    let Connected { servers, tools, .. } = start.connected.take().unwrap_or_default();
    let sdk = SdkFacts {
        mcp_servers: servers,
        mode: start.mode.clone(),
        slash_commands: settings.extensions.slash_commands().into_iter().map(|entry| entry.name).collect(),
        skills: settings.extensions.skill_names(),
        api_key_source: api_key_source(model.facts, key),
        version: env!("CARGO_PKG_VERSION"),
        max_turns: settings.limits.run.turns,
        partial: args.protocol.partial,
        state: cx.app.env.text("CLAUDE_CODE_SDK_READS_SESSION_STATE") == Some("1"),
    };
    let (pricing, windows) = (model.pricing(), model.windows(settings.request.max_tokens));
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
    let renderer =
        SdkRenderer::new(frames, redactor.clone(), Arc::new(SystemIds::default()), tally, sdk, judge);
    let last = renderer.last_turn();
    let remarks = NoticeRenderer::new(frontend::words(cx)?, frontend::style(cx), redactor);
    let view = ViewRenderer::new(view, channel.clone());
    let denied = |offer: &Offer| {
        let name = offer.name();
        let server = name.rsplit_once("__").map_or("", |(server, _)| server);
        args.permission.deny.iter().any(|rule| *rule == name || rule == server)
    };
    let mut others: Vec<_> =
        tools.into_iter().filter(|offer| !denied(offer)).map(|offer| offer.tool(&channel)).collect();
    let instruction = start.structured.as_ref().map(Structured::instruction);
    for more in start.append.take().into_iter().chain(instruction) {
        settings.request.system_parts.append(&more);
    }
    settings.request.system = settings.request.system_parts.text();
    others.extend(start.structured.as_ref().map(Structured::tool));
    let watch: Option<Arc<dyn HookObserver>> = match args.protocol.hook_events {
        true => Some(HookEvents::new(wires_frames, events_redactor, paths.session.clone())),
        false => None,
    };
    let wanted = std::mem::take(&mut start.wanted);
    let hooks: Vec<Arc<dyn Hooks>> = match wanted.is_empty() {
        true => Vec::new(),
        false => vec![Arc::new(Callbacks::new(channel, wanted, paths, watch.clone()))],
    };
    let parts = FrontendParts {
        renderers: vec![Box::new(renderer), Box::new(remarks), Box::new(view)],
        offered: offered(args),
        tools: others,
        hooks,
        watch,
        partial_reply: PartialReply::Continue,
        ..FrontendParts::new(&CLAUDE, modes)
    };
    Ok((parts, last))
}
