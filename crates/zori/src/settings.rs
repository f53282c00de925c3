//! What a run means: flags over environment over config file over the profile's defaults (CFG-1), checked before
//! anything happens.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use zori_core::ids::SessionId;
use zori_core::provider::{Delivery, Effort};
use zori_engine::limits::Limits;
use zori_engine::retry::Retry;
use zori_providers::catalog::{self, PROVIDERS, ProviderFacts};
use zori_providers::quirks::KeyNeed;
use zori_store::Durability;

use crate::args::LowArgs;
use crate::base::{self, Base};
use crate::command_error::{CommandError, ErrorCode};
use crate::commands::Cx;
use crate::config::Config;
use crate::instructions::{self, Instructions};
use crate::prices;

/// Everything an agent command needs to know.
pub struct Settings {
    /// The base directory; `None` where there is none to be had, and then nothing is saved.
    pub base: Option<Base>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The working directory of the tools, canonical.
    pub root: PathBuf,
    /// The provider.
    pub provider: &'static ProviderFacts,
    /// The provider's address.
    pub base_url: String,
    /// The provider's key, if there is one.
    pub key: Option<String>,
    /// The model.
    pub model: Arc<str>,
    /// The system prompt, guidelines included.
    pub system: Option<Arc<str>>,
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
    /// Streamed or not.
    pub delivery: Delivery,
    /// How failed requests are repeated.
    pub retry: Retry,
    /// Time limit of a tool call.
    pub tool_timeout: Option<Duration>,
    /// Cap of what the model sees of a command's output.
    pub bash_max_output: usize,
    /// The session that was named.
    pub session: Option<SessionId>,
    /// Whether the session is saved.
    pub save: bool,
    /// What a saved session outlives.
    pub durability: Durability,
    /// Whether a session that cannot be saved ends the run.
    pub session_required: bool,
}

impl Settings {
    /// Gathers and checks. Warnings go out as they are found.
    pub fn resolve(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Self, CommandError> {
        let session = args.session.as_deref().map(parse_session).transpose()?;
        let base = match Base::find(cx.profile) {
            Ok(base) => Some(base),
            Err(error) if error.code == ErrorCode::BaseUnusable => {
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
        check_output(cx, args, &config)?;
        let root = root(args)?;
        let home = base::home();
        let (provider, model) = choose_model(args, &config)?;
        let base_url = base_url(provider, &config)?;
        let limits = limits(args, &config);
        priced(&limits, &model)?;
        let guidelines = instructions::load(base.as_ref().map(Base::guidelines), home.as_deref(), &root);
        for warning in &guidelines.warnings {
            cx.ui.warn(warning);
        }
        let system = system_prompt(args, &config, base.as_ref(), &guidelines)?;
        let count = |key, default| config.count(key).unwrap_or(default);
        let timeout = count("tool_timeout_secs", cx.profile.tool_timeout.as_secs());
        Ok(Self {
            key: std::env::var(provider.key_var).ok().filter(|key| !key.trim().is_empty()),
            save: base.is_some() && !args.no_save,
            base,
            home,
            root,
            provider,
            base_url,
            model,
            system,
            guidelines: guidelines.loaded,
            max_tokens: config.count("max_tokens").map(|n| n as u32),
            temperature: config.number("temperature"),
            effort: args.thinking.or_else(|| Effort::by_name(config.text("thinking")?)),
            limits,
            delivery: match config.flag("stream") {
                Some(false) => Delivery::Whole,
                _ => Delivery::Streamed,
            },
            retry: retry(args, &config),
            tool_timeout: (timeout > 0).then_some(Duration::from_secs(timeout)),
            bash_max_output: count("bash_max_output_bytes", cx.profile.bash_max_output as u64) as usize,
            session,
            durability: match config.text("durability") {
                Some("full") => Durability::Full,
                _ => Durability::Process,
            },
            session_required: config.flag("session_required").unwrap_or(false),
        })
    }

    /// Returns the error for a missing key, which names the ways out (PROV-2, DECISIONS 3).
    pub fn missing_key(&self, name: &str) -> Option<CommandError> {
        let var = self.provider.key_var;
        let needed = self.provider.api.key_need() == KeyNeed::Required;
        (needed && self.key.is_none()).then(|| {
            CommandError::new(ErrorCode::AuthRequired, format!("{var} is not set"))
                .hint(format!("set it to your {} API key", self.provider.display))
                .hint(format!("`{name} demo` shows what this program does without a key"))
        })
    }
}

/// Returns what a run may use: flags over config.
pub fn limits(args: &LowArgs, config: &Config) -> Limits {
    Limits {
        turns: args.max_turns.or_else(|| config.count("max_turns").map(|n| n as u32)),
        budget: args.max_budget.or_else(|| config.money("max_budget_usd")),
        tokens: args.max_tokens_total.or_else(|| config.count("max_tokens_total")),
    }
}

/// Checks that a budget can be kept with a model (`agent-modes.md` 9.10).
pub fn priced(limits: &Limits, model: &str) -> Result<(), CommandError> {
    if limits.budget.is_none() || prices::of(model).is_some() {
        return Ok(());
    }
    let message = format!("the price of `{model}` is not known, so that a budget cannot be kept");
    Err(CommandError::new(ErrorCode::SettingInvalid, message)
        .hint("use another model, or leave `--max-budget-usd` (`max_budget_usd`) out")
        .hint("`--max-tokens-total N` limits tokens instead"))
}

/// Checks a session's name.
pub fn parse_session(text: &str) -> Result<SessionId, CommandError> {
    SessionId::parse(text).map_err(|error| CommandError::new(ErrorCode::Usage, error.to_string()))
}

/// Checks what output is asked for: flag, then variable, then config (DECISIONS 20). Only text can be had so far.
pub fn check_output(cx: &Cx<'_>, args: &LowArgs, config: &Config) -> Result<(), CommandError> {
    let mut asked: Vec<(&str, String)> = args.outputs.clone();
    let variable = std::env::var(cx.profile.output_var).ok().filter(|value| !value.is_empty());
    if asked.is_empty() {
        asked.extend(variable.map(|value| (cx.profile.output_var, value)));
    }
    if asked.is_empty() {
        asked.extend(config.text("output").map(|value| ("output", value.to_owned())));
    }
    for (spelling, value) in asked {
        let plain = if spelling == "--format" { "text" } else { "plain" };
        if value != plain {
            let message = format!("`{spelling}` cannot be `{value}`");
            return Err(CommandError::new(ErrorCode::SettingInvalid, message)
                .hint(format!("this version prints text only: use `{plain}`, or leave it out")));
        }
    }
    Ok(())
}

fn root(args: &LowArgs) -> Result<PathBuf, CommandError> {
    let given = args.root.as_deref().unwrap_or(".");
    let bad = |why: &str| CommandError::new(ErrorCode::Usage, format!("the root `{given}` {why}"));
    let path = Path::new(given).canonicalize().map_err(|error| bad(&format!("cannot be used: {error}")))?;
    if path.is_dir() { Ok(path) } else { Err(bad("is not a directory")) }
}

/// Names of providers that are known, but not part of this version.
const LATER_PROVIDERS: &[&str] = &["gemini", "codex", "agent-zero"];

fn choose_model(args: &LowArgs, config: &Config) -> Result<(&'static ProviderFacts, Arc<str>), CommandError> {
    // `provider:model` counts only where the prefix is a provider's name: model ids may hold a colon themselves.
    let known = |name: &str| catalog::provider(name).is_some() || LATER_PROVIDERS.contains(&name);
    let (prefix, model) = match args.model.as_deref() {
        Some(spec) => match spec.split_once(':') {
            Some((provider, model)) if known(provider) => (Some(provider), Some(model)),
            _ => (None, Some(spec)),
        },
        None => (None, None),
    };
    if let (Some(prefix), Some(flag)) = (prefix, args.provider.as_deref())
        && prefix != flag
    {
        let message = format!("`--provider {flag}` and `--model {prefix}:...` name two providers");
        return Err(CommandError::new(ErrorCode::Usage, message).hint("leave one of them out"));
    }
    let config_provider = config.text("provider").unwrap_or(PROVIDERS[0].name);
    let name = prefix.or(args.provider.as_deref()).unwrap_or(config_provider);
    let facts = catalog::provider(name).ok_or_else(|| {
        let message = match LATER_PROVIDERS.contains(&name) {
            true => format!("the provider `{name}` is not part of this version"),
            false => format!("unknown provider `{name}`"),
        };
        let known: Vec<_> = PROVIDERS.iter().map(|facts| format!("`{}`", facts.name)).collect();
        CommandError::new(ErrorCode::SettingInvalid, message).hint(format!("use {}", known.join(", ")))
    })?;
    // The configured model belongs to the configured provider.
    let configured = config.text("model").filter(|_| config_provider == facts.name);
    let model = model.or(configured).unwrap_or(facts.default_model).trim();
    if model.is_empty() {
        return Err(CommandError::new(ErrorCode::SettingInvalid, "the model's name is empty")
            .hint(format!("for example `{}`", facts.default_model)));
    }
    Ok((facts, model.into()))
}

fn base_url(provider: &ProviderFacts, config: &Config) -> Result<String, CommandError> {
    let variable = std::env::var(provider.base_url_var).ok();
    let given = [variable.as_deref(), config.text(provider.base_url_key)]
        .into_iter()
        .flatten()
        .find(|value| !value.trim().is_empty());
    match given {
        Some(value) => provider
            .parse_base_url(value)
            .map_err(|error| CommandError::new(ErrorCode::SettingInvalid, error.to_string())),
        None => Ok(provider.default_base_url.to_owned()),
    }
}

fn system_prompt(
    args: &LowArgs,
    config: &Config,
    base: Option<&Base>,
    guidelines: &Instructions,
) -> Result<Option<Arc<str>>, CommandError> {
    let own = match (&args.system_prompt, config.text("system_prompt_file")) {
        (Some(flag), _) => flag.clone(),
        (None, Some(file)) if !file.trim().is_empty() => {
            let path = base.map_or_else(|| file.into(), |base| base.dir().join(file));
            std::fs::read_to_string(&path).map_err(|error| {
                let message = format!("cannot read the system prompt file {}: {error}", path.display());
                CommandError::new(ErrorCode::SettingInvalid, message)
            })?
        }
        (None, _) => config.text("system_prompt").unwrap_or_default().to_owned(),
    };
    let parts: Vec<&str> =
        [own.trim(), guidelines.text.as_str()].into_iter().filter(|part| !part.is_empty()).collect();
    Ok((!parts.is_empty()).then(|| parts.join("\n\n").into()))
}

fn retry(args: &LowArgs, config: &Config) -> Retry {
    let per_request = args
        .retries
        .or_else(|| config.count("retries").map(|n| n as u32))
        .unwrap_or(Retry::DEFAULT.per_request);
    let base = args.retry_delay_ms.or_else(|| config.count("retry_delay_ms")).map(Duration::from_millis);
    Retry {
        per_request,
        per_turn: Retry::DEFAULT.per_turn.max(per_request),
        base: base.unwrap_or(Retry::DEFAULT.base),
    }
}
