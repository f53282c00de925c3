//! Puts a run together: the one place that knows all crates.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::runtime::Runtime;
use zori_contract::error::{IO_ERROR, LOCK_HELD};
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_core::compaction::Replaced;
use zori_core::confine::Confine;
use zori_core::cost::Spent;
use zori_core::event::{NoticeLevel, SessionFacts};
use zori_core::files::HeldFiles;
use zori_core::hook::{AllHooks, Hooks, Watch};
use zori_core::ids::{IdSource, SessionId};
use zori_core::log::Log;
use zori_core::message::Message;
use zori_core::provider::Provider;
use zori_core::terminal::Terminals;
use zori_core::time::Clock;
use zori_core::tool::{ToolKind, Toolbox};
use zori_core::transport::{Limits, Transport};
use zori_engine::engine::{self, Engine, Parts};
use zori_engine::subagent::{AgentLimits, WithoutTask};
use zori_frontends::Fanout;
use zori_policy::Policy;
use zori_providers::anthropic::Anthropic;
use zori_providers::catalog::{Api, ProviderFacts};
use zori_providers::endpoint::Endpoint;
use zori_providers::gemini::Gemini;
use zori_providers::key::Credential;
use zori_providers::openai_chat::{OpenAiChat, OpenAiChatOptions};
use zori_providers::openai_responses::OpenAiResponses;
use zori_providers::quirks::{Quirks, ToolStyle};
use zori_store::{Damage, NewSession, SessionDir, StoreError};
use zori_tools::env::ToolEnv;
use zori_tools::hooks::{self, HookPrograms};
use zori_tools::toolset::ToolSet;

use crate::agents;
use crate::asking::Asking;
use crate::audit::{self, Keeping};
use crate::auth::grant::Kind;
use crate::auth::renewing::{self, Renewing};
use crate::base::Base;
use crate::clock::{SystemClock, SystemIds};
use crate::commands::Cx;
use crate::error::BASE_UNUSABLE;
use crate::journal::{self, Level, Noting};
use crate::model_change::ModelGate;
use crate::model_choice::{Choice, Key};
use crate::network::Network;
use crate::outlet::Outlet;
use crate::sandbox::confinement::Confinement;
use crate::settings::Settings;
use crate::ui::Ui;

/// Which session a run goes on with.
pub enum Open {
    /// The one `--session` names, made if it does not exist (SES-7); without that flag a new one.
    ByFlags,
    /// A new one, whatever the flags say.
    New,
    /// A new one of this name.
    Named(SessionId),
    /// One that exists.
    Existing(SessionId),
}

/// A session as it was found, and where it goes on being saved.
pub struct Saved {
    /// Its name.
    pub id: SessionId,
    /// The conversation so far.
    pub history: Vec<Arc<Message>>,
    /// The views of it that compactions replaced.
    pub replaced: Vec<Replaced>,
    /// How many replies of the model its file has.
    pub replies: u64,
    /// Where it is saved; `None` with `--no-save`.
    pub log: Option<Box<dyn Log>>,
}

impl Saved {
    /// A new session that is not saved.
    pub fn nowhere() -> Self {
        Self { id: SystemIds.session(), history: Vec::new(), replaced: Vec::new(), replies: 0, log: None }
    }
}

/// Opens the session: takes its lock, reads its history, prepares to append.
pub fn open(settings: &Settings, open: Open, ui: &mut Ui) -> Result<Saved, Failure> {
    let (named, new) = match open {
        Open::ByFlags => (settings.session.clone(), None),
        Open::New => (None, None),
        Open::Named(id) => (None, Some(id)),
        Open::Existing(id) => (Some(id), None),
    };
    let Some(base) = &settings.base else {
        return Ok(Saved { id: new.unwrap_or_else(|| SystemIds.session()), ..Saved::nowhere() });
    };
    let sessions = SessionDir::new(base.sessions());
    let log = |id: &SessionId, lock| {
        let new = NewSession { root: settings.root.as_path().into(), parent: None };
        let writer = sessions.writer(id, new, settings.durability, lock);
        boxed(writer.without_secrets(settings.choice.secrets.clone()))
    };
    let Some(id) = named else {
        let id = new.unwrap_or_else(|| SystemIds.session());
        let log = settings.save.then(|| log(&id, None));
        return Ok(Saved { id, log, ..Saved::nowhere() });
    };
    let lock = match settings.save.then(|| sessions.lock(&id)).transpose() {
        Ok(lock) => lock,
        Err(ref error @ StoreError::Locked { pid, .. }) => {
            let file = base.sessions().join(format!("{id}.lock"));
            let mut failure = Failure::new(&LOCK_HELD, error.to_string())
                .context("lock_file", file.display().to_string())
                .context("holder_pid", pid)
                .hint("end that process, or leave `--session` out to start another session");
            failure.facts.retry_after_ms = Some(1_000);
            return Err(failure);
        }
        Err(error) if settings.session_required => {
            return Err(Failure::new(&IO_ERROR, format!("Failed to save session: {error}"))
                .hint("`session_required` is set in the config file"));
        }
        Err(error) => {
            // A directory that cannot be written to does not keep the model from answering (FS-3).
            ui.warn(&format!("Failed to save session: {error}"));
            None
        }
    };
    let loaded = sessions
        .load(&id)
        .map_err(|error| Failure::new(&BASE_UNUSABLE, format!("cannot read session `{id}`: {error}")))?;
    let (history, replaced, replies) = match loaded {
        Some(loaded) => {
            for warning in damage(&id, &loaded.damage).into_iter().chain(left_out(&id, loaded.left_out)) {
                ui.warn(&warning);
            }
            (loaded.history, loaded.replaced, loaded.replies)
        }
        None => {
            ui.warn(&format!("Session '{id}' does not exist yet; starting it"));
            (Vec::new(), Vec::new(), 0)
        }
    };
    let log = lock.map(|lock| log(&id, Some(lock)));
    Ok(Saved { id, history, replaced, replies, log })
}

fn boxed(log: impl Log + 'static) -> Box<dyn Log> {
    Box::new(log)
}

/// Says which lines of a session could not be read (LOG-3).
pub fn damage(id: &SessionId, damage: &Damage) -> Option<String> {
    (!damage.is_empty()).then(|| format!("Session '{id}' is damaged and goes on without {damage}"))
}

fn left_out(id: &SessionId, records: u64) -> Option<String> {
    (records > 0).then(|| format!("Session '{id}' is very long: its first {records} records are left out"))
}

/// Returns the model that was chosen.
pub fn provider(settings: &Settings, network: &Network) -> Arc<dyn Provider> {
    let tool_style = settings.tool_style(&settings.choice.model);
    provider_of(&settings.choice, network, settings.http_limits, tool_style)
}

/// Returns the model of a choice.
pub fn provider_of(
    choice: &Choice,
    network: &Network,
    limits: Limits,
    tool_style: ToolStyle,
) -> Arc<dyn Provider> {
    let Choice { facts, base_url, key, secrets, .. } = choice;
    let (transport, clock) = (network.transport.clone(), Arc::new(SystemClock::new()));
    let access = Access { facts, base_url: base_url.clone(), transport, limits, clock, tool_style };
    // Without a key the provider says so when it is asked; commands that cannot go on look before.
    match key.as_ref().ok().and_then(Option::as_ref) {
        None => access.provider(None),
        Some(Key::Variable(key)) => access.provider(Some(Credential::Key(key.clone()))),
        Some(Key::Program(token)) => access.provider(Some(Credential::Token(token.clone()))),
        Some(Key::Stored(stored)) => match stored.grant.kind {
            Kind::ApiKey => access.provider(Some(Credential::Key(stored.grant.access.clone()))),
            Kind::OAuth => Arc::new(Renewing::new(renewing::Parts {
                name: facts.name,
                grant: stored.grant.clone(),
                renewal: stored.renewal.clone(),
                transport: network.private.clone(),
                clock: access.clock.clone(),
                secrets: secrets.clone(),
                make: Box::new(move |token| access.provider(Some(Credential::Token(token)))),
            })),
        },
    }
}

/// What a provider is made from, but for the key.
struct Access {
    facts: &'static ProviderFacts,
    base_url: String,
    transport: Arc<dyn Transport>,
    limits: Limits,
    clock: Arc<dyn Clock>,
    tool_style: ToolStyle,
}

impl Access {
    fn provider(&self, key: Option<Credential>) -> Arc<dyn Provider> {
        let facts = self.facts;
        let endpoint = Endpoint {
            base_url: self.base_url.clone(),
            key,
            transport: self.transport.clone(),
            limits: self.limits,
            clock: self.clock.clone(),
        };
        match facts.api {
            Api::Anthropic => Arc::new(Anthropic::new(endpoint)),
            Api::OpenAiChat(quirks) => {
                let quirks = Quirks { tools: self.tool_style, ..*quirks };
                Arc::new(OpenAiChat::new(OpenAiChatOptions { facts, quirks, endpoint }))
            }
            Api::OpenAiResponses => Arc::new(OpenAiResponses::new(endpoint)),
            Api::Gemini => Arc::new(Gemini::new(endpoint)),
        }
    }
}

/// Makes what futures run on: one thread.
pub fn runtime() -> Result<Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(|error| Failure::new(&IO_ERROR, format!("cannot start the runtime: {error}")))
}

/// What a session runs on, whatever the front end.
pub struct Run<'a> {
    /// What was asked for.
    pub settings: &'a Settings,
    /// What requests go through.
    pub network: &'a Network,
    /// The model.
    pub provider: Arc<dyn Provider>,
    /// What confines commands.
    pub confinement: Option<Arc<Confinement>>,
    /// What the run has used in other sessions.
    pub spent_before: Spent,
}

/// A session under way, with all it runs on.
pub struct Session {
    /// The loop.
    pub engine: Engine<Fanout>,
    /// What the loop runs on.
    pub runtime: Runtime,
    /// What it asks, and who answers.
    pub asking: Asking,
    tools: Arc<ToolSet>,
}

/// What tools find with an editor in place of this machine.
#[derive(Default)]
pub struct Elsewhere {
    /// Files, with changes that are not saved.
    pub files: Option<Arc<dyn HeldFiles>>,
    /// Terminals, for commands that nothing confines.
    pub terminals: Option<Arc<dyn Terminals>>,
}

/// A session's loop and its tools, for those who have something to run it on.
pub struct Loop {
    /// The loop.
    pub engine: Engine<Fanout>,
    /// What it asks, and who answers.
    pub asking: Asking,
    /// The tools.
    pub tools: Arc<ToolSet>,
}

impl Loop {
    /// Starts a session with what the front end brings.
    pub fn start(
        cx: &Cx<'_>,
        run: Run<'_>,
        saved: Saved,
        outlet: Outlet,
        elsewhere: Elsewhere,
    ) -> Result<Self, Failure> {
        let Elsewhere { files, terminals } = elsewhere;
        let Run { settings, network, provider, confinement, spent_before } = run;
        let Outlet {
            mut renderers,
            asking,
            dialect,
            offered,
            tools: others,
            hooks: told,
            watch,
            modes,
            cut,
            live_output,
        } = outlet;
        let env = Arc::new(ToolEnv { files, terminals, ..tool_env(cx, settings, network, confinement) });
        let tools = ToolSet::with(env.clone(), dialect, &offered, others);
        let tools = match settings.spelling {
            Some(here) => tools.any_spelling(here),
            None => tools,
        };
        let (kinds, remarks) = agents::kinds(
            &settings.agents,
            &agents::Session {
                system: &settings.system_parts,
                tools: tools.specs(),
                models: &ModelGate::new(settings),
                model: &settings.choice.model,
            },
        );
        let tools = Arc::new(match kinds.all() {
            [_] => tools,
            kinds => tools.with_agents(kinds.iter().map(|kind| (&*kind.name, kind.about.as_str()))),
        });
        let toolbox: Arc<dyn Toolbox> = match settings.subagents.depth {
            0 => Arc::new(WithoutTask::new(tools.clone())),
            _ => tools.clone(),
        };
        let provider_facts = settings.choice.facts;
        let facts = SessionFacts {
            provider: provider.name().into(),
            model: settings.choice.model.clone(),
            root: settings.root.as_path().into(),
            tools: toolbox.specs().iter().map(|spec| spec.name.clone()).collect(),
            agents: match starts_agents(&tools, settings) {
                true => kinds.all().iter().map(|kind| kind.name.to_string()).collect(),
                false => Vec::new(),
            },
            resumed_messages: saved.history.len(),
            resumed_replies: saved.replies,
            saved: saved.log.is_some(),
        };
        let parts = Parts {
            provider,
            toolbox,
            hooks: hooks(settings, &tools, &saved, env, told, watch),
            modes: modes.for_engine(),
            policy: Policy { asker: settings.answers.asker(), ..settings.policy.clone() },
            clock: Arc::new(SystemClock::new()),
            ids: Arc::new(SystemIds),
            pricing: Arc::new(settings.choice.pricing()),
            eyes: Arc::new(move |model, image| provider_facts.sight(model, image)),
            windows: Arc::new(settings.windows()),
            agents: AgentLimits {
                depth: settings.subagents.depth,
                max: settings.subagents.max,
                reply: Arc::new(settings.choice.reply_limits(settings.max_tokens)),
                kinds,
            },
            spent_before,
            session: saved.id,
            history: saved.history,
            replaced: saved.replaced,
            settings: engine::Settings {
                model: settings.choice.model.clone(),
                fallback: settings.fallback.clone(),
                system: settings.system.clone(),
                max_tokens: settings.choice.reply_limit(&settings.choice.model, settings.max_tokens),
                temperature: settings.temperature,
                effort: settings.effort,
                delivery: settings.delivery,
                retry: settings.retry,
                limits: settings.limits,
                compact_at: settings.compact_at,
                live_output,
                order: settings.call_order,
                cut,
            },
        };
        // A line of the log stands before what it is about.
        renderers.splice(..0, Noting::wanted());
        let mut sink = Fanout::new(saved.log, renderers, settings.session_required);
        if let Some(log) = audit::open(settings)? {
            sink = sink.with_audit(Box::new(log), settings.audit == Keeping::Required);
        }
        let mut engine = Engine::start(parts, sink, facts);
        remarks.into_iter().for_each(|why| engine.remark(NoticeLevel::Warning, "sub_agent", why));
        journal::note(Level::Info, || "session.ready".to_owned());
        Ok(Self { engine, asking, tools })
    }
}

impl Session {
    /// Starts a session with what the front end brings.
    pub fn start(cx: &Cx<'_>, run: Run<'_>, saved: Saved, outlet: Outlet) -> Result<Self, Failure> {
        let runtime = runtime()?;
        let Loop { engine, asking, tools } = Loop::start(cx, run, saved, outlet, Elsewhere::default())?;
        Ok(Self { engine, runtime, asking, tools })
    }

    /// Returns the file that names the processes of the session while they live, if there ever were any.
    pub fn pid_file(&self) -> Option<PathBuf> {
        self.tools.processes().pid_file()
    }

    /// Ends the session: the last bytes written, the last process gone.
    pub fn finish(mut self, ui: &mut Ui) -> Exit {
        self.runtime.block_on(self.engine.leave());
        let report = self.engine.finish().finish();
        self.tools.shutdown();
        // A blocking thread that still reads a slow disk must not keep the program from ending.
        self.runtime.shutdown_background();
        match report.errors.first() {
            Some(error) => {
                ui.warn(&format!("Failed to write the answer: {error}"));
                Exit::General
            }
            None => Exit::Success,
        }
    }
}

/// Returns whether the model is offered the tool that starts sub-agents.
fn starts_agents(tools: &ToolSet, settings: &Settings) -> bool {
    settings.subagents.depth > 0 && tools.offers(ToolKind::Task)
}

/// Returns the session's hooks, if there are any: the programs of this machine, then the front end's. What confines
/// commands confines the programs as well (SB-7).
fn hooks(
    settings: &Settings,
    tools: &ToolSet,
    saved: &Saved,
    env: Arc<ToolEnv>,
    mut told: Vec<Arc<dyn Hooks>>,
    watch: Option<Arc<dyn Watch>>,
) -> Option<Arc<dyn Hooks>> {
    let file = |base: &Base| base.sessions().join(format!("{}.jsonl", saved.id));
    if !settings.hooks.is_empty() {
        let programs = HookPrograms::new(hooks::Parts {
            hooks: settings.hooks.clone(),
            confine: env.confine.clone(),
            env,
            processes: tools.processes(),
            session: saved.id.clone(),
            transcript: settings.base.as_ref().filter(|_| saved.log.is_some()).map(file),
            watch,
        });
        told.insert(0, Arc::new(programs));
    }
    match told.len() {
        0 => None,
        1 => told.pop(),
        _ => Some(Arc::new(AllHooks(told))),
    }
}

fn tool_env(
    cx: &Cx<'_>,
    settings: &Settings,
    network: &Network,
    confinement: Option<Arc<Confinement>>,
) -> ToolEnv {
    let child_env = settings.child_env.clone();
    ToolEnv {
        root: settings.root.clone(),
        home: settings.home.clone(),
        timeout: settings.tool_timeout,
        bash_max_output: settings.bash_max_output,
        // What spills over is where confined commands can read it.
        temp_parent: confinement
            .as_ref()
            .map_or_else(std::env::temp_dir, |confinement| confinement.temp().to_owned()),
        child_env_removed: Box::new(move || child_env.removed()),
        child_env_set: {
            let set = cx.child_env.iter().chain(&settings.child_vars);
            set.map(|(name, value)| (name.into(), value.into())).collect()
        },
        confine: confinement.map(|confinement| confinement as Arc<dyn Confine>),
        files: None,
        terminals: None,
        transport: network.transport.clone(),
    }
}
