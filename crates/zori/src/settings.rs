//! What a run means: flags over environment over config file over the profile's defaults (CFG-1), checked before
//! anything happens.

pub mod limits;
pub mod patience;
pub mod system_prompt;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use zori_contract::error::{AUTH_REQUIRED, VALIDATION_ERROR};
use zori_contract::failure::{AuthMethod, Failure};
use zori_core::ids::SessionId;
use zori_core::input::Prompt;
use zori_core::provider::{Delivery, Effort};
use zori_core::secret::Secrets;
use zori_core::transport;
use zori_engine::compact::CompactAt;
use zori_engine::context::Window;
use zori_engine::engine::CallOrder;
use zori_engine::limits::Limits;
use zori_engine::retry::{Retry, Waits};
use zori_policy::Policy;
use zori_providers::catalog::{self, Api, PROVIDERS};
use zori_providers::quirks::ToolStyle;
use zori_providers::recording::player::{Folders, Strictness};
use zori_providers::recording::{Recording, Shape, Start};
use zori_store::Durability;
use zori_tools::hooks::{Hook, Origin};
use zori_tools::spelling::Platform;

use crate::agents::{self, Description};
use crate::args::LowArgs;
use crate::asking::Answers;
use crate::audit::Keeping;
use crate::auth::browser;
use crate::base::{self, Base};
use crate::child_env::ChildEnv;
use crate::commands::Cx;
use crate::config::Config;
use crate::error::{BASE_UNUSABLE, SETTING_INVALID};
use crate::hooks::Written;
use crate::instructions::{self, Instructions};
use crate::model_change;
use crate::model_choice::{self, Choice, Key};
use crate::network::{self, Tape};
use crate::permissions::{self, Gathered, Modes, Sources, folders};
use crate::profile::Profile;
use crate::sandbox;
use crate::settings::system_prompt::SystemParts;
use crate::trust::project::Project;
use crate::trust::store::Decided;
use crate::trust::{self, Asks};

/// Everything an agent command needs to know.
pub struct Settings {
    /// The base directory; `None` where there is none to be had, and then nothing is saved.
    pub base: Option<Base>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The working directory of the tools, canonical.
    pub root: PathBuf,
    /// Who answers.
    pub choice: Choice,
    /// The model a turn goes on with when the other one is not available.
    pub fallback: Option<Arc<str>>,
    /// The system prompt, guidelines included.
    pub system: Option<Arc<str>>,
    /// What of it is the user's own, and what the project adds.
    pub system_parts: SystemParts,
    /// The guidelines' files.
    pub guidelines: Vec<PathBuf>,
    /// Upper bound of a reply.
    pub max_tokens: Option<u32>,
    /// Sent only if set.
    pub temperature: Option<f64>,
    /// How much the model should think.
    pub effort: Option<Effort>,
    /// What the run may use.
    pub limits: Limits,
    /// How far sub-agents may go.
    pub subagents: Subagents,
    /// The sub-agents that somebody described; of two of one name the first counts.
    pub agents: Vec<Description>,
    /// How many tokens the model takes, where the user knows better than the catalogue.
    pub context_window: Option<u64>,
    /// When the conversation is compacted.
    pub compact_at: CompactAt,
    /// Streamed or not.
    pub delivery: Delivery,
    /// How failed requests are repeated.
    pub retry: Retry,
    /// How long each phase of a request may take.
    pub http_limits: transport::Limits,
    /// Time limit of a tool call.
    pub tool_timeout: Option<Duration>,
    /// How a server that speaks Chat Completions is offered tools, if not as the catalogue says.
    pub tool_calls: Option<ToolStyle>,
    /// Cap of what the model sees of a command's output.
    pub bash_max_output: usize,
    /// Whether the traffic is recorded, or replayed.
    pub tape: Tape,
    /// What the user of a replayed run said and showed.
    pub prompts: Vec<Prompt>,
    /// What may run.
    pub policy: Policy,
    /// Where a rule goes that holds in later sessions too; `None` where it would not count.
    pub rules_file: Option<PathBuf>,
    /// Where the permission mode comes from.
    pub modes: Modes,
    /// What commands inherit of the environment.
    pub child_env: ChildEnv,
    /// What commands and hooks get on top.
    pub child_vars: Vec<(String, String)>,
    /// Who is told what happens, and may object.
    pub hooks: Vec<Hook>,
    /// Who answers questions about calls.
    pub answers: Answers,
    /// How long the client of a protocol may take for that.
    pub approval_timeout: Option<Duration>,
    /// What confines the commands that may.
    pub sandbox: sandbox::Setting,
    /// Which calls of a reply go together.
    pub call_order: CallOrder,
    /// Whose spelling of paths the tools get, where clients may have another.
    pub spelling: Option<Platform>,
    /// Nothing is started in the background, and with `--json` standard input is a stream of commands.
    pub bare: bool,
    /// The session that was named.
    pub session: Option<SessionId>,
    /// Whether the session is saved.
    pub save: bool,
    /// What a saved session outlives.
    pub durability: Durability,
    /// Whether a session that cannot be saved ends the run.
    pub session_required: bool,
    /// Whether there is an audit log.
    pub audit: Keeping,
}

/// How far sub-agents may go.
#[derive(Clone, Copy, Debug)]
pub struct Subagents {
    /// How deep they may be nested; with 0 there are none.
    pub depth: u32,
    /// How many one prompt may start.
    pub max: u32,
}

impl Subagents {
    /// What holds when nobody says anything.
    pub const DEFAULT: Self = Self { depth: 1, max: 16 };
}

impl Settings {
    /// Gathers and checks; a replay has the settings of its recording. Warnings go out as they are found. Whether the
    /// folder is trusted is settled before anything is started or contacted (TRUST-9).
    pub fn resolve(cx: &mut Cx<'_>, args: &LowArgs, asks: &Asks<'_>) -> Result<Self, Failure> {
        let session = args.session.as_deref().map(parse_session).transpose()?;
        let base = match Base::find(cx.profile) {
            Ok(base) => Some(base),
            Err(error) if error.kind == &BASE_UNUSABLE => {
                cx.ui.warn(&format!("{}; no session is saved", error.message));
                None
            }
            Err(error) => return Err(error),
        };
        let default_key_var = PROVIDERS[0].key_var;
        let config = match &base {
            Some(base) => Config::load(&base.config(), default_key_var)?,
            None => Config::default(),
        };
        for warning in &config.warnings {
            cx.ui.warn(warning);
        }
        let root = root(args)?;
        let home = base::home();
        let standing = trust::settle(cx, args, base.as_ref(), &root, asks)?;
        let recording = args.replay.as_deref().map(|path| network::load(cx, args, path)).transpose()?;
        let choice = match &recording {
            Some(recording) => replayed(&recording.start)?,
            None => {
                let choice = model_choice::choose(args, &config, cx.ui)?;
                match standing.text("model").filter(|_| args.model.is_none()) {
                    Some(model) => Choice { model: model.into(), ..choice },
                    None => choice,
                }
            }
        };
        // A family's name is its newest model's, as clients of the Claude protocol say it.
        let choice = match choice.facts.newest_of(&choice.model) {
            Some(newest) => Choice { model: newest.into(), ..choice },
            None => choice,
        };
        let effort = match &recording {
            Some(recording) => recording.start.shape.effort,
            None => args.thinking.or_else(|| Effort::by_name(config.text("thinking")?)),
        };
        if effort.is_some_and(|effort| effort != Effort::Off) {
            choice.remark_effort(cx.ui);
        }
        let limits = limits::of_run(args, &config);
        limits::priced(&limits, choice.prices(&choice.model), &choice.model)?;
        let guidelines = match &recording {
            Some(_) => Instructions::default(),
            None => instructions::load(base.as_ref().map(Base::guidelines), home.as_deref(), &root),
        };
        for warning in &guidelines.warnings {
            cx.ui.warn(warning);
        }
        let system_parts = system_prompt::gather(args, &config, base.as_ref(), &standing, &guidelines)?;
        let system = system_parts.text();
        let agents = agents::gather(args, base.as_ref(), &standing, cx.ui)?;
        let place = Place { base: base.as_ref(), root: &root, home: home.as_deref() };
        let untrusted = standing.decided == Some(Decided::Untrusted);
        let Gathered { mut policy, modes, sandbox, mut hooks, mut warnings } =
            permissions(cx.profile, args, &config, place, &standing.project, untrusted)?;
        warnings.extend(folders::add(&mut policy, &root, &args.claude.add_dirs));
        let of_flag = |hook: &Written| hook.hook(Origin::User, Path::new("--settings"), None);
        hooks.extend(args.claude.hooks.iter().map(of_flag));
        hooks.extend(standing.hooks);
        for warning in &warnings {
            cx.ui.warn(warning);
        }
        let count = |key, default| config.count(key).unwrap_or(default);
        let timeout = count("tool_timeout_secs", cx.profile.tool_timeout.as_secs());
        let rules_file = if modes.user_rules { base.as_ref().map(Base::config) } else { None };
        let settings = Self {
            tape: args.record.clone().map_or(Tape::None, Tape::Record),
            prompts: Vec::new(),
            save: base.is_some() && !args.no_save,
            base,
            home,
            root,
            choice,
            fallback: None,
            system,
            system_parts,
            guidelines: guidelines.loaded,
            max_tokens: config.count("max_tokens").map(|n| n as u32),
            temperature: config.number("temperature"),
            effort,
            limits,
            subagents: Subagents {
                depth: count("subagent_depth", Subagents::DEFAULT.depth.into()) as u32,
                max: count("subagent_max", Subagents::DEFAULT.max.into()) as u32,
            },
            agents,
            context_window: config.count("context_window"),
            compact_at: match config.count("compact_at_percent") {
                Some(0) => CompactAt { percent: None },
                Some(percent) => CompactAt { percent: Some(percent) },
                None => CompactAt::DEFAULT,
            },
            delivery: match config.flag("stream") {
                Some(false) => Delivery::Whole,
                _ => Delivery::Streamed,
            },
            retry: patience::retry(args, &config),
            http_limits: patience::http_limits(args, &config),
            tool_timeout: (timeout > 0).then_some(Duration::from_secs(timeout)),
            tool_calls: match config.text("tool_calls") {
                Some("prose") => Some(ToolStyle::Prose),
                Some(_) => Some(ToolStyle::Native),
                None => None,
            },
            bash_max_output: count("bash_max_output_bytes", cx.profile.bash_max_output as u64) as usize,
            child_env: ChildEnv::new(cx.profile.program.prefix, policy.mode.mode, &config)?,
            child_vars: args.claude.env.clone(),
            rules_file,
            policy,
            modes,
            hooks,
            sandbox,
            answers: match args.yes || config.flag("cli.auto").unwrap_or(false) {
                true => Answers::Yes,
                false => Answers::Nobody,
            },
            approval_timeout: patience::approval(&config),
            call_order: CallOrder::Together,
            spelling: None,
            bare: args.bare || config.flag("cli.bare").unwrap_or(false),
            session,
            durability: match config.text("durability") {
                Some("full") => Durability::Full,
                _ => Durability::Process,
            },
            session_required: config.flag("session_required").unwrap_or(false),
            audit: Keeping::of(&config),
        };
        let settings = settings.falling_back(args.claude.fallback.as_deref())?;
        Ok(match recording {
            Some(recording) => settings.replaying(recording, args),
            None => settings,
        })
    }

    /// Takes the model that another one gives way to. It must be one that the session could change to.
    fn falling_back(self, name: Option<&str>) -> Result<Self, Failure> {
        let Some(name) = name else { return Ok(self) };
        let (model, _) = model_change::check(&self, &self.choice.model, name).map_err(|failure| Failure {
            message: format!("`--fallback-model {name}`: {}", failure.message),
            ..failure
        })?;
        if *model == *self.choice.model {
            let message = format!("`--fallback-model` is the model itself, `{model}`");
            return Err(Failure::new(&SETTING_INVALID, message).hint("name another one, or leave it out"));
        }
        Ok(Self { fallback: Some(model.into()), ..self })
    }

    /// Takes what shapes requests from a recording. Nobody waits before a request is sent again.
    fn replaying(self, recording: Recording, args: &LowArgs) -> Self {
        let Recording { start, prompts, traffic } = recording;
        let Shape { system, max_tokens, temperature, effort, delivery, tool_style } = start.shape;
        let folders = Folders { recorded: start.root, present: self.root.display().to_string() };
        let strictness = if args.replay_lenient { Strictness::Lenient } else { Strictness::Strict };
        Self {
            system: system.map(Into::into),
            max_tokens,
            temperature,
            effort,
            delivery,
            tool_calls: tool_style,
            retry: Retry { waits: Waits::Skipped, ..self.retry },
            tape: Tape::Replay(traffic, folders, strictness),
            prompts,
            ..self
        }
    }

    /// Returns how tools are offered to a model over Chat Completions.
    pub fn tool_style(&self, model: &str) -> ToolStyle {
        self.tool_styles()(model)
    }

    /// Returns the same as a function that outlives the settings.
    pub fn tool_styles(&self) -> impl Fn(&str) -> ToolStyle + Send + Sync + 'static {
        let (facts, configured) = (self.choice.facts, self.tool_calls);
        let usual = match facts.api {
            Api::OpenAiChat(quirks) => quirks.tools,
            Api::Anthropic | Api::OpenAiResponses | Api::Gemini => ToolStyle::Native,
        };
        move |model| {
            let without =
                || facts.model(model).filter(|model| !model.abilities.tools).map(|_| ToolStyle::Prose);
            configured.or_else(without).unwrap_or(usual)
        }
    }

    /// Returns what a model takes, as a function that outlives the settings.
    pub fn windows(&self) -> impl Fn(&str) -> Option<Window> + Send + Sync + 'static {
        let (facts, asked, known) = (self.choice.facts, self.max_tokens, self.context_window);
        move |model| {
            let tokens = known.or_else(|| facts.model(model).map(|model| model.context_window.into()))?;
            Some(Window { tokens, reply: facts.max_tokens(model, asked).into() })
        }
    }

    /// Returns the error for a missing key, which names the ways out (PROV-2, DECISIONS 3).
    pub fn missing_key(&self, name: &str) -> Option<Failure> {
        let why = self.choice.key.as_ref().err()?;
        let login = format!("{name} auth login --provider {}", self.choice.facts.name);
        let kept = match browser::open_to_all(self.choice.facts) {
            true => format!("or log in, in a browser: `{login}`"),
            false => format!("or store it: `{login} --with-token`"),
        };
        let facts = self.choice.facts;
        let methods = [
            AuthMethod {
                r#type: "env",
                name: facts.key_var.to_owned(),
                hint: format!("set {}", facts.key_var),
                description: format!("the key of {}", facts.display),
            },
            AuthMethod {
                r#type: "command",
                name: login.clone(),
                hint: kept.clone(),
                description: "a key or a login in the credential store".to_owned(),
            },
        ];
        Some(
            Failure::new(&AUTH_REQUIRED, why)
                .field("reason", "UNAUTHENTICATED")
                .field("auth_methods", methods)
                .field("reauth_command", &login)
                .field("reauth_env_var", facts.key_var)
                .hint(self.choice.advice(name))
                .hint(kept)
                .hint("a server on this machine (Ollama, llama.cpp, LM Studio, vLLM) needs none: `--provider ollama`")
                .hint(format!("`{name} demo` shows what this program does without a key")),
        )
    }
}

/// Returns who answered a recorded run. The key is needed by nobody, and too short to be taken for a secret.
fn replayed(start: &Start) -> Result<Choice, Failure> {
    let facts = catalog::provider(&start.provider).ok_or_else(|| model_choice::unknown(&start.provider))?;
    Ok(Choice {
        facts,
        base_url: start.base_url.clone(),
        model: start.model.as_str().into(),
        key: Ok(Some(Key::Variable("replay".into()))),
        secrets: Secrets::default(),
    })
}

/// Returns the policy of this machine and folder, for commands that run nothing, and the home directory.
pub fn policy(profile: &Profile, args: &LowArgs) -> Result<(Gathered, Option<PathBuf>), Failure> {
    let base = Base::find(profile).ok();
    let config = match &base {
        Some(base) => Config::load(&base.config(), PROVIDERS[0].key_var)?,
        None => Config::default(),
    };
    let (home, root) = (base::home(), root(args)?);
    let (project, decided) = trust::look(base.as_ref(), &root)?;
    let place = Place { base: base.as_ref(), root: &root, home: home.as_deref() };
    let untrusted = decided == Some(Decided::Untrusted);
    let gathered = permissions(profile, args, &config, place, &project, untrusted)?;
    Ok((gathered, home))
}

/// Where a run is.
struct Place<'a> {
    base: Option<&'a Base>,
    root: &'a Path,
    home: Option<&'a Path>,
}

fn permissions(
    profile: &Profile,
    args: &LowArgs,
    config: &Config,
    place: Place<'_>,
    project: &Project,
    untrusted: bool,
) -> Result<Gathered, Failure> {
    let Place { base, root, home } = place;
    permissions::gather(Sources {
        args,
        config,
        managed: Path::new(profile.managed_config),
        base,
        root,
        project,
        untrusted,
        home,
        mode_variable: permissions::mode_variable(),
        programs: permissions::programs(),
    })
}

/// Checks a session's name.
pub fn parse_session(text: &str) -> Result<SessionId, Failure> {
    SessionId::parse(text).map_err(|error| Failure::new(&VALIDATION_ERROR, error.to_string()))
}

/// Returns the folder of `--root`, canonical.
pub fn root(args: &LowArgs) -> Result<PathBuf, Failure> {
    let given = args.root.as_deref().unwrap_or(".");
    let bad = |why: &str| Failure::new(&VALIDATION_ERROR, format!("the root `{given}` {why}"));
    let path = Path::new(given).canonicalize().map_err(|error| bad(&format!("cannot be used: {error}")))?;
    if path.is_dir() { Ok(path) } else { Err(bad("is not a directory")) }
}
