//! What the sessions of one folder share, and how one of them is put together.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use zori_core::checkpoint::Checkpoints;
use zori_core::confine::{Confine, Holding};
use zori_core::cost::Spent;
use zori_core::event::{NoticeLevel, SessionFacts};
use zori_core::files::ClientFiles;
use zori_core::hook::{AllHooks, HookObserver, Hooks};
use zori_core::ids::{IdSource, SessionId};
use zori_core::permission::Verdict;
use zori_core::provider::Provider;
use zori_core::time::Clock;
use zori_core::tool::{Effect, Leniency, ToolKind, Toolbox};
use zori_engine::engine::Engine;
use zori_engine::parts::{ModelInfo, Parts, SavedSession, SavedViews, SessionState};
use zori_engine::settings::Settings as EngineSettings;
use zori_engine::subagent::{AgentLimits, WithoutTask};
use zori_engine::system::{SystemClock, SystemIds};
use zori_frontends::Fanout;
use zori_mcp::client::McpServers;
use zori_policy::{Call, Mode, Policy, decide};
use zori_providers::catalog::Api;
use zori_redact::Redactor;
use zori_store::{Durability, SessionDir};
use zori_tools::dialect::A0;
use zori_tools::env::{ShellProgram, ToolEnv};
use zori_tools::hooks::{self, HookPrograms};
use zori_tools::toolset::{ExternalTool, ToolSet};
use zori_undo::error::UndoError;

use crate::agents;
use crate::audit::{self, AuditKeeping};
use crate::code_index;
use crate::error::HostError;
use crate::frontend::{ClientIo, FrontendParts};
use crate::ledger;
use crate::mcp;
use crate::memory::{self, AutoRecall, Vectors};
use crate::model::ModelGate;
use crate::network::Network;
use crate::notice::Notice;
use crate::peer::Answers;
use crate::sandbox::confinement::Confinement;
use crate::schedule;
use crate::session::{LeftBehind, LeftRunning, Session};
use crate::settings::SessionSettings;
use crate::storage::{self, OpenedSession, Which};
use crate::tap::EventTap;
use crate::undo::{self, CaptureFacts, RecoveredUndo, SessionUndo};

/// A command that still runs after this goes on as a job (FOR-12).
const JOB_AFTER: Duration = Duration::from_secs(30);

/// The clock and the source of ids.
#[derive(Clone)]
pub struct Machine {
    /// The clock of every session of this host.
    pub clock: Arc<dyn Clock>,
    /// Where ids and random numbers come from.
    pub ids: Arc<dyn IdSource>,
}

impl Machine {
    /// This machine's own.
    pub fn system() -> Self {
        Self { clock: Arc::new(SystemClock::new()), ids: Arc::new(SystemIds::default()) }
    }
}

/// Who answers, and what requests go through.
#[derive(Clone)]
pub struct Upstream {
    /// What requests go through, those of the tools included.
    pub network: Network,
    /// The model.
    pub provider: Arc<dyn Provider>,
}

/// What the sessions of one folder share.
pub struct Host {
    /// What they are made from. A change holds for sessions that are opened after it.
    pub settings: SessionSettings,
    machine: Machine,
    confinement: Option<Arc<Confinement>>,
    mcp: Option<Arc<McpServers>>,
    /// What commands of closed sessions had left running.
    left_behind: LeftBehind,
}

impl Host {
    /// Prepares the sandbox. One that is required and cannot be had is an error.
    pub fn new(settings: SessionSettings, machine: Machine) -> Result<Self, HostError> {
        let confinement = Confinement::start(&settings, &*machine.ids)?;
        let confine = confinement.clone().map(|confinement| confinement as Arc<dyn Confine>);
        let mcp = mcp::start(&settings, confine);
        Ok(Self { settings, machine, confinement, mcp, left_behind: LeftBehind::default() })
    }

    /// Returns the MCP servers, if there are any.
    pub fn mcp(&self) -> Option<&Arc<McpServers>> {
        self.mcp.as_ref()
    }

    /// Returns what confines commands in every mode, if anything does.
    pub fn confinement(&self) -> Option<&Confinement> {
        self.confinement.as_deref().filter(|confinement| !confinement.stands_by())
    }

    /// Returns what confines commands in a mode that wants this, if anything does.
    pub fn confinement_of(&self, mode: Mode) -> Option<(&Confinement, Holding)> {
        let holding = match mode {
            Mode::Yolo => Holding::Loose,
            Mode::Plan => Holding::ReadOnly,
            _ => Holding::Usual,
        };
        let confines = |confinement: &&Confinement| holding != Holding::Loose || !confinement.stands_by();
        self.confinement.as_deref().filter(confines).map(|confinement| (confinement, holding))
    }

    /// Returns what takes secrets out of text.
    pub fn redactor(&self) -> Redactor {
        Redactor::new(self.settings.model.secrets.clone())
    }

    /// Takes a session's lock and reads its history. `notices`: what people should know of it, whether or not it works.
    pub fn open(&self, which: Which, notices: &mut Vec<Notice>) -> Result<OpenedSession, HostError> {
        storage::open(&self.settings, &*self.machine.ids, which, notices)
    }

    /// Returns a new session that is not saved, whatever the settings say.
    pub fn unsaved(&self) -> OpenedSession {
        OpenedSession::unsaved(self.machine.ids.session())
    }

    /// Returns whether the model may search the web without a question.
    fn may_search(&self) -> bool {
        let policy = &self.settings.permission.policy;
        let effects = [Effect::Net { url: "search:".to_owned() }];
        let call = Call::new("web_search", Some(ToolKind::WebSearch), &effects, &policy.workspace);
        decide(policy, &call).verdict == Verdict::Allow
    }

    /// Starts a session. `spent_before`: what the run has used in other sessions, which counts towards the limits.
    pub fn start(
        &self,
        opened: OpenedSession,
        upstream: &Upstream,
        frontend: FrontendParts,
        spent_before: Spent,
    ) -> Result<Session, HostError> {
        let settings = &self.settings;
        let FrontendParts {
            mut renderers,
            listens_for,
            dialect,
            offered,
            tools: others,
            hooks: further,
            watch,
            modes,
            partial_reply,
            live_output,
            client_io,
        } = frontend;
        let env = Arc::new(self.tool_env(&upstream.network, client_io));
        let vectors = self.vectors(&upstream.network);
        let mut others = self.with_memory(others, vectors.as_ref(), &upstream.network, &opened);
        others.extend(schedule::tool(settings.schedule.as_ref(), &self.machine.clock));
        others.extend(settings.extensions.skills.iter().map(|skills| skills.tool()));
        // An agent on a server has names of its own for the tools, and may not leave the workspace.
        let remote_agent = settings.model.facts.api == Api::AgentZero;
        let dialect = if remote_agent { &A0 } else { dialect };
        let tools = ToolSet::with(env.clone(), dialect, &offered, others);
        let tools = if remote_agent { tools.confined(settings.tools.remote_bounds) } else { tools };
        let somebody = matches!(settings.permission.answers, Answers::Person | Answers::Client);
        let tools = tools.answered(somebody);
        let tools = tools.searching(upstream.provider.searches() && self.may_search());
        let tools = match settings.tools.spelling {
            Some(here) => tools.any_spelling(here),
            None => tools,
        };
        let (kinds, remarks) = agents::kinds(
            &settings.agents.described,
            &agents::SessionFacts {
                system: &settings.request.system_parts,
                tools: tools.specs(),
                models: &ModelGate::new(settings),
                model: &settings.model.name,
            },
        );
        let tools = match kinds.all() {
            [_] => tools,
            kinds => tools.with_agents(kinds.iter().map(|kind| (&*kind.name, kind.description.as_str()))),
        };
        let tools = Arc::new(match settings.tools.patch_models {
            Some(models) => tools.patching(models),
            None => tools,
        });
        let mcp_warnings =
            self.mcp.as_ref().map(|servers| mcp::add_known(servers, &tools)).unwrap_or_default();
        let toolbox: Arc<dyn Toolbox> = match settings.agents.depth {
            0 => Arc::new(WithoutTask::new(tools.clone())),
            _ => tools.clone(),
        };
        let has_file = opened.log.is_some();
        let is_saved = has_file && !settings.storage.scratch;
        let starts_agents = settings.agents.depth > 0 && tools.offers(ToolKind::Task);
        let facts = SessionFacts {
            provider: upstream.provider.name().into(),
            model: settings.model.name.clone(),
            root: settings.workspace.root.as_path().into(),
            tools: toolbox.specs().iter().map(|spec| spec.name.clone()).collect(),
            agents: match starts_agents {
                true => kinds.all().iter().map(|kind| kind.name.to_string()).collect(),
                false => Vec::new(),
            },
            resumed_messages: opened.history.len(),
            resumed_replies: opened.replies,
            saved: is_saved,
        };
        let (id, provider_facts) = (opened.id, settings.model.facts);
        let model = &settings.model;
        // What the last one left undone comes first; also in a session of which nothing is captured.
        let recovered = self.recover_undos();
        let (undo, undo_warning) = match self.undo(&id, opened.turns, has_file, env.files.clone()) {
            Ok(undo) => (undo, None),
            Err(error) => (None, Some(error.to_string())),
        };
        let mut policy =
            Policy { approver: settings.permission.answers.approver(), ..settings.permission.policy.clone() };
        // An editor's terminal may have another shell.
        if env.shell == ShellProgram::Bash && env.terminals.is_none() {
            policy.workspace.commands_run_by_bash();
        }
        let parts = Parts {
            ledger: ledger::of(settings, id.as_str(), is_saved, &self.machine.clock),
            checkpoints: undo.as_ref().map(|undo| undo.capture.clone() as Arc<dyn Checkpoints>),
            provider: upstream.provider.clone(),
            toolbox,
            hooks: self.hooks(&tools, &id, is_saved, env, further, watch),
            modes: modes.for_engine(),
            policy,
            clock: self.machine.clock.clone(),
            ids: self.machine.ids.clone(),
            models: ModelInfo {
                prices: Arc::new(model.pricing()),
                image_support: Arc::new(move |model, image| provider_facts.image_support(model, image)),
                windows: Arc::new(model.windows(settings.request.max_tokens)),
                reply_limits: Arc::new(model.reply_limits(settings.request.max_tokens)),
            },
            agents: AgentLimits { depth: settings.agents.depth, max: settings.agents.max, kinds },
            session: SessionState {
                id: id.clone(),
                history: opened.history,
                replaced: opened.replaced,
                spent_before,
                saved: saved_session(settings, &id).filter(|_| has_file),
            },
            settings: EngineSettings {
                model: model.name.clone(),
                fallback: model.fallback.clone(),
                system: settings.request.system.clone(),
                max_tokens: model.reply_limit(&model.name, settings.request.max_tokens),
                temperature: settings.request.temperature,
                effort: settings.request.effort,
                delivery: settings.request.delivery,
                retry: settings.request.retry,
                waits: settings.request.waits,
                limits: settings.limits.run,
                compact_at: settings.limits.compact_at,
                live_output,
                order: settings.tools.order,
                partial_reply,
                leniency: settings.tools.leniency,
            },
        };
        let (tap, events) = EventTap::new(listens_for);
        renderers.push(Box::new(tap));
        let mut sink = Fanout::new(opened.log, renderers, settings.storage.required);
        if let Some(log) = audit::open(settings)? {
            sink = sink.with_audit(Box::new(log), settings.audit.keeping == AuditKeeping::Required);
        }
        let mut engine = Engine::start(parts, sink, facts);
        remarks.into_iter().for_each(|why| engine.notice(NoticeLevel::Warning, "sub_agent", why));
        mcp_warnings.into_iter().for_each(|why| engine.notice(NoticeLevel::Warning, "mcp_server", why));
        for undo in recovered {
            engine.notice(NoticeLevel::Warning, "undo_recovered", undo.words(&settings.undo.root));
            if undo.session == id {
                engine.add_note(undo::files_note(undo.restored.iter()));
            }
        }
        undo_warning.into_iter().for_each(|why| engine.notice(NoticeLevel::Warning, "undo_off", why));
        let answers = settings.permission.answers;
        let recall = AutoRecall::new(settings.memory.as_ref(), vectors, &id, &self.machine.clock);
        let left_behind = self.left_behind.clone();
        Ok(Session::new(
            id,
            engine,
            tools,
            events,
            upstream.network.clone(),
            answers,
            is_saved,
            left_behind,
            undo,
            self.mcp.clone(),
        )
        .with_extensions(settings.extensions.clone())
        .recalling(recall)
        .scheduled_before(opened.scheduled)
        .telling(settings.permission.told.clone())
        .beside(settings.background.clone()))
    }

    /// Adds the tools of the project's memory and code index, where they are in use.
    fn with_memory(
        &self,
        mut tools: Vec<ExternalTool>,
        vectors: Option<&Arc<Vectors>>,
        network: &Network,
        opened: &OpenedSession,
    ) -> Vec<ExternalTool> {
        let SessionSettings { memory, code_index, workspace, .. } = &self.settings;
        tools.extend(memory::tools(memory.as_ref(), vectors, &opened.id, &self.machine.clock));
        let of_code = code_index.as_ref().and_then(|place| place.vectors.as_ref());
        let of_code = of_code
            .filter(|_| !network.is_replayed())
            .map(|settings| Vectors::of_code(settings, &network.private, self.machine.clock.clone()));
        tools.extend(code_index::tools(code_index.as_ref(), &workspace.root, of_code, &self.machine.clock));
        tools
    }

    /// Returns what makes vectors for the project's memory, where that is not this process alone. A replay has no answers for it.
    fn vectors(&self, network: &Network) -> Option<Arc<Vectors>> {
        let memory = self.settings.memory.as_ref().filter(|_| !network.is_replayed())?;
        Vectors::new(&memory.vectors, &memory.place, &network.private, self.machine.clock.clone())
    }

    /// Finishes undos that were cut off in the project. What cannot be finished is told by the next undo.
    fn recover_undos(&self) -> Vec<RecoveredUndo> {
        let SessionSettings { undo, storage, permission, .. } = &self.settings;
        let Some(sessions) = &storage.sessions else { return Vec::new() };
        let sessions = SessionDir::new(sessions.clone());
        undo::recover_undos(undo, &sessions, &permission.policy.workspace).unwrap_or_default()
    }

    /// Returns what captures the changes of a session, where that is wanted and the session has a file.
    fn undo(
        &self,
        id: &SessionId,
        turns: u32,
        has_file: bool,
        client: Option<Arc<dyn ClientFiles>>,
    ) -> Result<Option<SessionUndo>, UndoError> {
        let SessionSettings { undo, storage, permission, workspace, tools, .. } = &self.settings;
        let (Some(dir), Some(sessions), true) = (&undo.dir, &storage.sessions, has_file) else {
            return Ok(None);
        };
        let sessions = SessionDir::new(sessions.clone());
        let facts = CaptureFacts {
            workspace: &permission.policy.workspace,
            home: workspace.home.as_deref(),
            parents: if turns > 0 { undo::parents(&sessions, id) } else { Default::default() },
            turns,
            durable: storage.durability == Durability::Full,
            hooks: !tools.hooks.is_empty(),
            client,
        };
        SessionUndo::open(undo, dir.clone(), sessions, id.clone(), facts).map(Some)
    }

    /// Removes what the sandbox left, and returns warnings: of what commands had left running and was ended with the
    /// sessions, of jobs that go on, and if nothing confined the commands that ran.
    pub fn close(&self) -> Vec<Notice> {
        if let Some(servers) = &self.mcp {
            servers.shutdown();
        }
        let SessionSettings { undo, storage, .. } = &self.settings;
        // Where nothing was ever captured there is nothing to look through.
        if let (Some(dir), Some(sessions)) = (&undo.dir, &storage.sessions)
            && dir.is_dir()
        {
            undo::collect(undo, &SessionDir::new(sessions.clone()));
        }
        let LeftRunning { ended, staying } =
            std::mem::take(&mut *self.left_behind.lock().unwrap_or_else(PoisonError::into_inner));
        let ended = (!ended.is_empty())
            .then(|| format!("Ended what commands had left running: {}", ended.join(", ")));
        let stays =
            (!staying.is_empty()).then(|| format!("Goes on, as it was asked to: {}", staying.join(", ")));
        let ended = ended.into_iter().chain(stays);
        let unconfined = self.confinement.iter().filter_map(|confinement| confinement.end());
        ended.into_iter().chain(unconfined).map(Notice::Warning).collect()
    }

    /// Returns the session's hooks, if there are any: the programs of this machine, then the front end's. What confines
    /// commands confines the programs as well (SB-7).
    fn hooks(
        &self,
        tools: &ToolSet,
        session: &SessionId,
        is_saved: bool,
        env: Arc<ToolEnv>,
        mut all: Vec<Arc<dyn Hooks>>,
        watch: Option<Arc<dyn HookObserver>>,
    ) -> Option<Arc<dyn Hooks>> {
        let SessionSettings { tools: settings, storage, .. } = &self.settings;
        if !settings.hooks.is_empty() {
            let folder = storage.sessions.as_ref().filter(|_| is_saved);
            let programs = HookPrograms::new(hooks::Parts {
                hooks: settings.hooks.clone(),
                confine: env.confine.clone(),
                env,
                processes: tools.processes(),
                session: session.clone(),
                transcript: folder.map(|folder| SessionDir::new(folder.clone()).file(session)),
                watch,
            });
            all.insert(0, Arc::new(programs));
        }
        match all.len() {
            0 => None,
            1 => all.pop(),
            _ => Some(Arc::new(AllHooks(all))),
        }
    }

    fn tool_env(&self, network: &Network, client_io: ClientIo) -> ToolEnv {
        let SessionSettings { workspace, tools, .. } = &self.settings;
        let child_env = tools.child_env.clone();
        let confinement = self.confinement.clone();
        ToolEnv {
            root: workspace.root.clone(),
            home: workspace.home.clone(),
            timeout: tools.timeout,
            leniency: tools.leniency,
            shell: tools.shell,
            job_after: (tools.leniency == Leniency::Forgiving).then_some(JOB_AFTER),
            bash_max_output: tools.bash_max_output,
            // What spills over is where confined commands can read it.
            temp_parent: confinement
                .as_ref()
                .filter(|confinement| !confinement.stands_by())
                .map_or_else(|| workspace.temp.clone(), |confinement| confinement.temp().to_owned()),
            child_env_removed: Box::new(move || child_env.removed()),
            child_env_set: tools.child_vars.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            confine: confinement.map(|confinement| confinement as Arc<dyn Confine>),
            files: client_io.files,
            terminals: client_io.terminals,
            transport: network.transport.clone(),
        }
    }
}

/// Returns where a session is saved, and how its views are made again from there.
fn saved_session(settings: &SessionSettings, id: &SessionId) -> Option<SavedSession> {
    let sessions = SessionDir::new(settings.storage.sessions.clone()?);
    let (file, id) = (sessions.file(id), id.clone());
    let load = move || {
        let loaded = sessions.load(&id).ok()??;
        Some(SavedViews { history: loaded.history, replaced: loaded.replaced })
    };
    Some(SavedSession { file, load: Box::new(load) })
}
