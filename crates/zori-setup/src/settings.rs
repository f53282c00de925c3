//! What a run means: flags over environment over config file over the profile's defaults (CFG-1), checked before
//! anything happens.

mod built_in_prompt;
pub mod limits;
mod policy;
mod recorded;
pub mod system_prompt;
pub mod timeouts;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use zori_auth::browser;
use zori_contract::error::{AUTH_REQUIRED, VALIDATION_ERROR};
use zori_contract::failure::Failure;
use zori_core::input::Prompt;
use zori_core::provider::{Delivery, Effort};
use zori_core::transport;
use zori_host::settings::{
    AgentSettings, LimitSettings, PermissionSettings, RequestSettings, SessionSettings, StorageSettings,
    ToolSettings, WorkspaceSettings,
};
use zori_host::{
    Answers, Background, CallOrder, CompactAt, Extensions, IsSensitive, ModelGate, ModelSettings, Retry,
    check_budget,
};
use zori_policy::Policy;
use zori_providers::catalog;
use zori_providers::quirks::ToolStyle;
use zori_redact::Redactor;
use zori_serve::parse_session;
use zori_store::Durability;
use zori_tools::hooks::Origin;
use zori_tools::toolset::ReadBounds;

use self::policy::{RunFolders, permissions};
pub use self::policy::{policy, policy_of_remote_agent};
use self::recorded::replayed;
use crate::agent_cx::AgentCx;
use crate::agent_zero::preface::{ContextPreface, PrefaceSources};
use crate::agent_zero::project::ActiveNames;
use crate::agent_zero::{self, AgentZeroSetup};
use crate::agents;
use crate::args::LowArgs;
use crate::audit;
use crate::background::{self, Outside, ProjectWorkers, Switch};
use crate::child_env::ChildEnv;
use crate::code_index;
use crate::config::Config;
use crate::data_dir::DataDir;
use crate::debug_dump::DebugDump;
use crate::error::{BASE_UNUSABLE, SETTING_INVALID};
use crate::extensions;
use crate::hooks::HookConfig;
use crate::host_failure::of_model;
use crate::instructions::{self, Instructions, Places};
use crate::mcp_servers::{self, ServerSources};
use crate::memory;
use crate::model_choice::{self, KeyFound, ModelChoice};
use crate::network::{self, RecordingMode};
use crate::permissions::{ResolvedPolicy, folders};
use crate::profile::Profile;
use crate::recap_settings::RecapSettings;
use crate::schedule;
use crate::signals::Signals;
use crate::trust::store::TrustState;
use crate::trust::{self, TrustDialog};
use crate::ui::Ui;
use crate::undo;
use crate::uses::Uses;
use crate::which_session;
use crate::workers::Workers;

/// Everything an agent command needs to know.
pub struct Settings {
    /// What its sessions are made from.
    pub session: SessionSettings,
    /// What only this program needs.
    pub run: RunSettings,
}

/// What a run needs beside its sessions' settings.
pub struct RunSettings {
    /// The base directory; `None` where there is none to be had, and then nothing is saved.
    pub base: Option<DataDir>,
    /// The provider's key, or why there is none.
    pub key: KeyFound,
    /// How long each phase of a request may take.
    pub http_limits: transport::Timeouts,
    /// How an Agent Zero server is spoken to, where that is the provider.
    pub agent_zero: Option<AgentZeroSetup>,
    /// Which of the user's named settings are in force.
    pub names: ActiveNames,
    /// Whether the traffic is recorded, or replayed.
    pub recording_mode: RecordingMode,
    /// Requests, responses and results as files, where somebody asks for them.
    pub dump: DebugDump,
    /// What the user of a replayed run said and showed.
    pub prompts: Vec<Prompt>,
    /// The guidelines' files.
    pub guidelines: Vec<PathBuf>,
    /// Where a rule goes that holds in later sessions too; `None` where it would not count.
    pub rules_file: Option<PathBuf>,
    /// How long the client of a protocol may take to answer for a call.
    pub approval_timeout: Option<Duration>,
    /// Nothing is started in the background, and with `--json` standard input is a stream of commands.
    pub bare: bool,
    /// Whether scheduled jobs of the project may run beside a chat.
    pub may_run_jobs: bool,
    /// What goes on beside the turns, where something may.
    pub background: Option<Arc<ProjectWorkers>>,
    /// The chat is the line chat.
    pub plain: bool,
    /// How the session is summed up.
    pub recap: Arc<RecapSettings>,
}

/// Returns whether something may be kept in the base directory. Where nothing can be, that is said once, for the session and the
/// audit log together, and neither is tried (FS-3). What must be kept is tried all the same: its failure ends the run.
fn can_be_written(cx: &mut AgentCx<'_>, args: &LowArgs, config: &Config, data_dir: &DataDir) -> bool {
    if config.flag("session_required").unwrap_or(false) || config.text("audit") == Some("required") {
        return true;
    }
    let Some(why) = data_dir.unwritable() else { return true };
    cx.app.record.forget();
    let lost: Vec<&str> = [
        (!args.session.no_save).then_some("no session is saved"),
        (config.text("audit") != Some("off")).then_some("no audit log is kept"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !lost.is_empty() {
        let dir = data_dir.dir().display();
        cx.ui.warn(&format!("the base directory {dir} cannot be written to: {why}; {}", lost.join(" and ")));
    }
    false
}

impl Settings {
    /// Gathers and checks; a replay has the settings of its recording. Warnings go out as they are found. Whether the
    /// folder is trusted is settled before anything is started or contacted (TRUST-9).
    pub fn resolve(cx: &mut AgentCx<'_>, args: &LowArgs, asks: &TrustDialog<'_>) -> Result<Self, Failure> {
        let named = args.session.named.as_deref().map(parse_session).transpose()?;
        let data_dir = match cx.app.data_dir() {
            Ok(data_dir) => Some(data_dir),
            Err(error) if error.kind == &BASE_UNUSABLE => {
                cx.ui.warn(&format!("{}; no session is saved", error.message));
                None
            }
            Err(error) => return Err(error),
        };
        let config = match &data_dir {
            Some(data_dir) => data_dir.read_config()?,
            None => Config::default(),
        };
        let config = agent_zero::project::overlaid(config, &cx.app.env, &args.overlay)?;
        for warning in &config.warnings {
            cx.ui.warn(warning);
        }
        let writable = match &data_dir {
            Some(data_dir) => can_be_written(cx, args, &config, data_dir),
            None => false,
        };
        let root = match agent_zero::connection::workspace_root(args, &config, &cx.app.env, cx.profile) {
            Some(given) => root_at(given)?,
            None => root(args)?,
        };
        let home = cx.app.env.home();
        let project_trust = trust::resolve(cx, args, data_dir.as_ref(), &root, asks)?;
        let recording =
            args.recording.replay.as_deref().map(|path| network::load(cx, args, path)).transpose()?;
        let choice = match &recording {
            Some(recording) => replayed(&recording.start)?,
            None => {
                let choice = model_choice::choose(args, &config, &cx.app.env, cx.profile, cx.ui)?;
                match project_trust.text("model").filter(|_| args.model.name.is_none()) {
                    Some(model) => choice.with_model(model),
                    None => choice,
                }
            }
        };
        // A family's name is its newest model's, as clients of the Claude protocol say it.
        let choice = match choice.model.facts.newest_of(&choice.model.name) {
            Some(newest) => choice.with_model(newest),
            None => choice,
        };
        let effort = match &recording {
            Some(recording) => recording.start.shape.effort,
            None => args.model.thinking.or_else(|| Effort::by_name(config.text("thinking")?)),
        };
        if effort.is_some_and(|effort| effort != Effort::Off) {
            choice.warn_if_effort_ignored(cx.ui);
        }
        let limits = limits::of_run(args, &config);
        let ModelChoice { model, key } = choice;
        check_budget(&limits, model.prices(&model.name), &model.name).map_err(of_model)?;
        let daily = limits::of_a_day(&config, data_dir.as_ref(), &root, &cx.app.env)?;
        limits::check_daily(daily.as_ref(), &config, model.prices(&model.name), &model.name)?;
        let guidelines = match &recording {
            Some(_) => Instructions::default(),
            None => {
                let place = RunFolders { data_dir: data_dir.as_ref(), root: &root, home: home.as_deref() };
                let real_home = cx.app.env.real_home();
                instructions::load(&instruction_places(cx, args, &config, &place, real_home))
            }
        };
        for warning in &guidelines.warnings {
            cx.ui.warn(warning);
        }
        let folders = extensions::Folders { data_dir: data_dir.as_ref(), home: home.as_deref(), root: &root };
        let extensions = match cx.profile.built_in_prompt {
            true => {
                let secrets = &model.secrets;
                extensions::gather(args, &config, &cx.app, &folders, &project_trust, secrets, cx.ui)
            }
            // Its document knows AGENTS.md alone (DECISIONS 60).
            false => Extensions::default(),
        };
        let mut system_parts = system_prompt::gather(
            &cx.app,
            &root,
            args,
            &config,
            data_dir.as_ref(),
            &project_trust,
            &guidelines,
        )?;
        system_parts.others.extend(extensions.skills.iter().map(|skills| skills.catalogue()));
        let system = system_parts.text();
        let agents = agents::gather(args, &config, &folders, &project_trust, cx.ui)?;
        let place = RunFolders { data_dir: data_dir.as_ref(), root: &root, home: home.as_deref() };
        let untrusted = project_trust.state == Some(TrustState::Untrusted);
        let remote_agent = agent_zero::is_provider(model.facts);
        let ResolvedPolicy { mut policy, modes, sandbox, mut hooks, managed_servers, mut warnings } =
            permissions(&cx.app, args, &config, place, &project_trust.project, (untrusted, remote_agent))?;
        let person = matches!(asks, TrustDialog::Person(_));
        let sources = ServerSources { own: config.mcp_servers.as_ref(), managed: managed_servers.as_ref() };
        let mcp = mcp_servers::gather(
            cx,
            args,
            &config,
            sources,
            data_dir.as_ref(),
            &project_trust,
            person,
            &model.secrets,
        )?;
        let agent_zero = match remote_agent {
            true => {
                let (setup, remarks) = agent_zero_setup(cx, &config, &root, &policy, &model)?;
                warnings.extend(remarks);
                Some(setup)
            }
            false => None,
        };
        warnings.extend(folders::add(&mut policy, &root, &args.workspace.add_dirs));
        let of_flag = |hook: &HookConfig| hook.hook(Origin::User, Path::new("--settings"), None);
        hooks.extend(args.settings.hooks.iter().map(of_flag));
        hooks.extend(project_trust.hooks);
        for warning in &warnings {
            cx.ui.warn(warning);
        }
        let count = |key, default| config.count(key).unwrap_or(default);
        let timeout = count("tool_timeout_secs", cx.profile.tool_timeout.as_secs());
        let rules_file = if modes.user_rules { data_dir.as_ref().map(DataDir::config) } else { None };
        let child_env = ChildEnv::new(cx.profile.prefix, policy.mode.mode, &config, &cx.app.env)?;
        let usual = timeouts::http_limits(args, &config);
        let limits_of_request = agent_zero.as_ref().map_or(usual, |setup| setup.limits(usual));
        let bare = args.bare || config.flag("cli.bare").unwrap_or(false);
        let index_switch = Switch::of(&config, code_index::KEY);
        let workspace = policy.workspace.clone();
        let sensitive: IsSensitive = Arc::new(move |path: &Path| workspace.is_sensitive(path));
        let own = data_dir.as_ref().filter(|_| writable && cx.profile.built_in_prompt);
        let scratch = cx.app.env.temp_dir();
        let background = own.map(|data_dir| {
            // Whoever reads standard input says that there is no trace.
            let workers = Workers::new(bare, &cx.app, &mut Ui::silent());
            let outside = Outside { env: cx.app.env.clone(), network: cx.app.network.clone() };
            background::of_project(
                workers,
                data_dir.clone(),
                root.clone(),
                outside,
                index_switch,
                sensitive.clone(),
            )
        });
        let may_run_jobs = own.is_some() && schedule::may_run(&config);
        let uses = own.map(|data_dir| Uses::look(data_dir, &data_dir.project_root(&root)));
        let memory = memory::settings(&config, &cx.app.env, own, uses.as_ref(), &root, scratch)?;
        // What `--bare` does without is not offered.
        let mut code_index = own.filter(|_| !bare).and_then(|data_dir| {
            code_index::of_session(index_switch, uses.as_ref(), || {
                code_index::place(data_dir, data_dir.project_root(&root), scratch, sensitive)
            })
        });
        if let (Some(index), Some(data_dir)) = (&mut code_index, own)
            && code_index::wants_vectors(&config)
        {
            let place = memory::place(data_dir, &root, scratch);
            index.vectors = Some(code_index::vectors(&config, &cx.app.env, &place)?);
        }
        let session = SessionSettings {
            model: ModelSettings {
                context_window: config.count("context_window"),
                tool_calls: match config.text("tool_calls") {
                    Some("prose") => Some(ToolStyle::Prose),
                    Some(_) => Some(ToolStyle::Native),
                    None => None,
                },
                ..model
            },
            request: RequestSettings {
                system,
                system_parts,
                max_tokens: config.count("max_tokens").map(|n| n as u32),
                temperature: config.number("temperature"),
                effort,
                delivery: match config.flag("stream") {
                    Some(false) => Delivery::Whole,
                    _ => Delivery::Streamed,
                },
                // A message to an agent is not sent twice: it may have run.
                retry: match remote_agent {
                    true => Retry { per_request: 0, ..Retry::DEFAULT },
                    false => timeouts::retry(args, &config, &cx.app.env),
                },
                waits: limits_of_request,
            },
            storage: StorageSettings {
                sessions: data_dir.as_ref().map(DataDir::sessions),
                named,
                save: writable && !args.session.no_save,
                scratch: false,
                durability: match config.text("durability") {
                    Some("full") => Durability::Full,
                    _ => Durability::Process,
                },
                required: config.flag("session_required").unwrap_or(false),
            },
            audit: audit::settings(&config, data_dir.as_ref().filter(|_| writable), &root),
            memory,
            code_index,
            schedule: schedule::settings(&config, own, uses.as_ref(), &root, &cx.app.env),
            undo: undo::settings(
                &config,
                data_dir.as_ref().filter(|_| writable),
                &root,
                args.session.no_checkpoints
                    || matches!(
                        cx.app.env.text("CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING"),
                        Some("1" | "true")
                    ),
                bare,
            ),
            permission: PermissionSettings {
                policy,
                modes,
                answers: match args.permission.yes || config.flag("cli.auto").unwrap_or(false) {
                    true => Answers::Yes,
                    false => Answers::Nobody,
                },
                told: agent_zero.as_ref().map(AgentZeroSetup::told),
            },
            sandbox,
            limits: LimitSettings {
                run: limits,
                daily,
                compact_at: match config.count("compact_at_percent") {
                    // Such a server keeps the conversation itself (CTX-3).
                    _ if remote_agent => CompactAt { percent: None },
                    Some(0) => CompactAt { percent: None },
                    Some(percent) => CompactAt { percent: Some(percent) },
                    None => CompactAt::DEFAULT,
                },
            },
            agents: AgentSettings {
                depth: count("subagent_depth", AgentSettings::DEFAULT.depth.into()) as u32,
                max: count("subagent_max", AgentSettings::DEFAULT.max.into()) as u32,
                described: agents,
            },
            tools: ToolSettings {
                timeout: (timeout > 0).then_some(Duration::from_secs(timeout)),
                leniency: cx.profile.leniency,
                shell: cx.app.env.shell(cx.profile),
                bash_max_output: count("bash_max_output_bytes", cx.profile.bash_max_output as u64) as usize,
                child_env: Arc::new(child_env),
                child_vars: cx.child_env.iter().chain(&args.settings.env).cloned().collect(),
                hooks,
                order: CallOrder::Together,
                spelling: None,
                remote_bounds: agent_zero
                    .as_ref()
                    .map_or(ReadBounds::DEFAULT, |setup| setup.preface.read_bounds()),
                patch_models: cx
                    .profile
                    .built_in_prompt
                    .then_some(catalog::edits_by_patch as fn(&str) -> bool),
            },
            mcp,
            extensions,
            background: background.clone().map(|workers| workers as Arc<dyn Background>),
            workspace: WorkspaceSettings { root, home, temp: cx.app.env.temp_dir().to_owned() },
        };
        let run = RunSettings {
            base: data_dir,
            key,
            http_limits: limits_of_request,
            agent_zero,
            names: ActiveNames::of(&config),
            recording_mode: RecordingMode::None,
            dump: DebugDump::new(args.recording.dump),
            prompts: Vec::new(),
            guidelines: guidelines.loaded,
            rules_file,
            approval_timeout: timeouts::approval(&config),
            bare,
            may_run_jobs,
            background,
            plain: config.flag("ui.plain").unwrap_or(false),
            recap: Arc::new(RecapSettings::read(&config, &cx.app.env)),
        };
        let settings = Self { session, run };
        let settings = settings.falling_back(args.model.fallback.as_deref())?;
        Ok(match (recording, &args.recording.record) {
            (Some(recording), _) => settings.replaying(recording, args),
            (None, Some(file)) => settings.recording(file.clone()),
            (None, None) => settings,
        })
    }

    /// Takes the model that another one gives way to. It must be one that the session could change to.
    fn falling_back(mut self, name: Option<&str>) -> Result<Self, Failure> {
        let Some(name) = name else { return Ok(self) };
        let current = &self.session.model.name;
        let checked = ModelGate::new(&self.session).check(current, name).map_err(of_model);
        let (model, _) = checked.map_err(|failure| Failure {
            message: format!("`--fallback-model {name}`: {}", failure.message),
            ..failure
        })?;
        if *model == **current {
            let message = format!("`--fallback-model` is the model itself, `{model}`");
            return Err(Failure::new(&SETTING_INVALID, message).hint("name another one, or leave it out"));
        }
        self.session.model.fallback = Some(model.into());
        Ok(self)
    }

    /// Resolves the settings of a run that nobody can be asked about and that cannot go on without a key.
    pub fn with_key(cx: &mut AgentCx<'_>, args: &LowArgs, signals: &Signals) -> Result<Self, Failure> {
        Self::with_key_after(cx, args, signals, |_, _| Ok(()))
    }

    /// Does the same for a run that may go on with a session: that there is none is said before a key is asked for (DECISIONS
    /// 49).
    pub fn with_session_and_key(
        cx: &mut AgentCx<'_>,
        args: &LowArgs,
        signals: &Signals,
    ) -> Result<Self, Failure> {
        let found = |session: &SessionSettings, profile: &Profile| {
            which_session::parent(&args.session, session, profile).map(|_| ())
        };
        Self::with_key_after(cx, args, signals, found)
    }

    fn with_key_after(
        cx: &mut AgentCx<'_>,
        args: &LowArgs,
        signals: &Signals,
        check: impl FnOnce(&SessionSettings, &Profile) -> Result<(), Failure>,
    ) -> Result<Self, Failure> {
        let settings = Self::resolve(cx, args, &TrustDialog::Nobody);
        // Looking for a key may have taken a while; a Ctrl-C meanwhile is the answer, whatever was found.
        signals.check()?;
        let settings = settings?;
        match missing_key(&settings.session.model, &settings.run.key, cx.profile.name) {
            Some(failure) => check(&settings.session, cx.profile).and(Err(failure)),
            None => Ok(settings),
        }
    }
}

/// Returns the error for a missing key, which names the ways out (PROV-2, DECISIONS 3).
pub fn missing_key(model: &ModelSettings, key: &KeyFound, name: &str) -> Option<Failure> {
    let (facts, why) = (model.facts, key.as_ref().err()?);
    let login = model_choice::reauth_command(facts, name);
    let kept = match browser::open_to_all(facts) {
        true => format!("or log in, in a browser: `{login}`"),
        false => format!("or store it: `{login}`"),
    };
    Some(
        Failure::new(&AUTH_REQUIRED, why)
            .field("reason", "UNAUTHENTICATED")
            .field("auth_methods", model_choice::auth_methods(facts, name))
            .field("reauth_command", &login)
            .field("reauth_env_var", facts.key_var)
            .hint(model_choice::key_hint(facts, key, name))
            .hint(kept)
            .hint("a server on this machine (Ollama, llama.cpp, LM Studio, vLLM) needs none: `--provider ollama`")
            .hint(format!("`{name} demo` shows what this program does without a key")),
    )
}

/// Returns how an Agent Zero server is spoken to, with what should be said of the settings.
fn agent_zero_setup(
    cx: &AgentCx<'_>,
    config: &Config,
    root: &Path,
    policy: &Policy,
    model: &ModelSettings,
) -> Result<(AgentZeroSetup, Vec<String>), Failure> {
    let (preface, mut warnings) = ContextPreface::read(PrefaceSources {
        config,
        env: &cx.app.env,
        root: root.to_owned(),
        mode: policy.mode,
        shell: &policy.shell,
        redactor: Redactor::new(model.secrets.clone()),
    })?;
    let (setup, remarks) = agent_zero::connection::read(config, &cx.app.env, Arc::new(preface));
    warnings.extend(remarks);
    if setup.mock {
        warnings.push("`connection.use_mock`: a script inside this program answers, no server".to_owned());
    }
    Ok((setup, warnings))
}

/// Returns where instruction files are looked for (EXT-10).
fn instruction_places<'a>(
    cx: &AgentCx<'_>,
    args: &LowArgs,
    config: &Config,
    place: &RunFolders<'a>,
    real_home: Option<&'a Path>,
) -> Places<'a> {
    let RunFolders { data_dir, root, home } = *place;
    let places = Places::new(data_dir.map(DataDir::guidelines), real_home, root);
    // Of a program's own document, or of a client that wants no settings of the project, only AGENTS.md is known (DECISIONS 60).
    if !cx.profile.built_in_prompt || !args.settings.sources.project {
        return places.agents_only();
    }
    let mut places = match config.list("instructions.names") {
        Some(names) => {
            Places { names: names.into_iter().map(|(name, _)| name.to_owned()).collect(), ..places }
        }
        None if args.protocol.spoken().is_some() => places.claude_first(),
        None => places,
    };
    if args.settings.sources.user {
        let folders = extensions::Folders { data_dir, home, root };
        places.user_files = extensions::paths(config, "instructions.user_files", &folders);
    }
    places
}

/// Returns the folder of `--root`, canonical.
pub fn root(args: &LowArgs) -> Result<PathBuf, Failure> {
    root_at(args.workspace.root.as_deref().unwrap_or("."))
}

/// Returns this folder, canonical.
pub fn root_at(given: &str) -> Result<PathBuf, Failure> {
    let bad = |why: &str| Failure::new(&VALIDATION_ERROR, format!("the root `{given}` {why}"));
    let path = Path::new(given).canonicalize().map_err(|error| bad(&format!("cannot be used: {error}")))?;
    if path.is_dir() { Ok(path) } else { Err(bad("is not a directory")) }
}
