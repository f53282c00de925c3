//! Chooses the model: provider, address, key and model, from flags, environment and config file (PROV-1 to PROV-9).
//!
//! Without a choice by the user it takes the provider whose key is set, else a server on this machine, and tells the user
//! (DECISIONS 3 and 35).

mod key;

use std::path::Path;
use std::sync::Arc;

use zori_contract::error::VALIDATION_ERROR;
use zori_contract::failure::Failure;
use zori_core::secret::{Secret, Secrets};
use zori_core::time::Clock;
use zori_core::transport::Transport;
use zori_host::{ModelSettings, SystemClock};
use zori_providers::catalog::{self, Api, Lifecycle, Origin, PROVIDERS, ProviderFacts, SERVED};
use zori_providers::http::roots::Roots;
use zori_providers::http::{HttpOptions, HttpTransport, Proxies};
use zori_providers::local::{self, Candidate, LocalServer};
use zori_providers::quirks::KeyNeed;

use self::key::key_of;
pub use self::key::{
    Key, KeyFound, api_key_source, auth_advice, auth_methods, find_key, key_entry, key_from_env, key_hint,
    key_of_env, reauth_command, referenced_key,
};
use crate::agent_zero;
use crate::args::LowArgs;
use crate::config::Config;
use crate::credentials;
use crate::environment::Environment;
use crate::error::SETTING_INVALID;
use crate::profile::Profile;
use crate::ui::Ui;

/// A model and the key for its provider.
pub struct ModelChoice {
    pub model: ModelSettings,
    pub key: KeyFound,
}

impl ModelChoice {
    /// Takes another model of the same provider.
    pub fn with_model(self, name: &str) -> Self {
        Self { model: ModelSettings { name: name.into(), ..self.model }, ..self }
    }

    /// Warns if the catalogue lacks the model but has one of a similar name. The model is used all the same: providers
    /// have new models before we know them.
    fn warn_if_misspelt(&self, ui: &mut Ui) {
        let ModelSettings { facts, name, .. } = &self.model;
        if facts.model(name).is_none()
            && let Some(near) = facts.nearest_model(name)
        {
            ui.warn(&format!("the catalogue has no model `{name}`; did you mean `{near}`?"));
        }
    }

    /// Refuses a model that is no longer served, and warns of one that ends (DECISIONS 43).
    fn check_served(&self, ui: &mut Ui) -> Result<(), Failure> {
        let ModelSettings { facts, name, base_url, .. } = &self.model;
        if **name == *SERVED && !matches!(facts.api, Api::OpenAiChat(_)) {
            let message = format!("{} cannot be asked which model it has", facts.display);
            return Err(Failure::new(&SETTING_INVALID, message).hint("name one with `--model`"));
        }
        let known = facts.model(name);
        // What another server has under the same name is its own matter, unless it has said so itself.
        let vendor = *base_url == facts.default_base_url && facts.custom.is_none();
        if !vendor && known.is_none_or(|model| model.origin != Origin::Listed) {
            return Ok(());
        }
        match known.map(|model| model.lifecycle) {
            Some(Lifecycle::Retired { successor }) => {
                let message = format!("{} no longer serves the model `{name}`", facts.display);
                Err(Failure::new(&SETTING_INVALID, message).hint(format!("use its successor: `{successor}`")))
            }
            Some(Lifecycle::Ending { on, successor }) => {
                ui.warn(&format!(
                    "{} serves the model `{name}` until {on}; its successor is `{successor}`",
                    facts.display
                ));
                Ok(())
            }
            Some(Lifecycle::Current) | None => Ok(()),
        }
    }

    /// Warns that the requested thinking level cannot reach the model.
    pub fn warn_if_effort_ignored(&self, ui: &mut Ui) {
        let ModelSettings { facts, name: model, .. } = &self.model;
        let reaches = match facts.api {
            Api::OpenAiChat(quirks) => quirks.effort.reaches(model),
            Api::Anthropic | Api::OpenAiResponses | Api::Gemini => true,
            Api::AgentZero => false,
        };
        let name = facts.display;
        if facts.model(model).is_some_and(|model| !model.abilities.thinking) {
            ui.warn(&format!("the model `{model}` does not think; the level has no effect"));
        } else if !reaches && facts.name == "openai-chat" {
            ui.warn(&format!(
                "over this API `{model}` takes no thinking level beside tools; `--provider openai` has another API"
            ));
        } else if !reaches {
            ui.warn(&format!("{name} cannot be told how much to think; the level has no effect"));
        }
    }
}

/// Chooses the model, and tells the user about a choice that nobody asked for.
pub fn choose(
    args: &LowArgs,
    config: &Config,
    env: &Environment,
    profile: &Profile,
    ui: &mut Ui,
) -> Result<ModelChoice, Failure> {
    let choice = chosen(args, config, env, profile, ui)?;
    choice.check_served(ui)?;
    Ok(choice)
}

fn chosen(
    args: &LowArgs,
    config: &Config,
    env: &Environment,
    profile: &Profile,
    ui: &mut Ui,
) -> Result<ModelChoice, Failure> {
    let requested = RequestedModel::read(args, config, profile)?;
    let Some(name) = requested.provider else {
        return default_choice(args, requested.model, config, env, profile, ui);
    };
    let facts = config.catalog.provider(name).ok_or_else(|| unknown_in(name, config))?;
    // The configured model belongs to the configured provider.
    let configured = config.text("model").filter(|_| config_provider(config) == facts.name);
    let model = requested.model.or(configured).unwrap_or_else(|| profile.default_model(facts)).trim();
    if model.is_empty() {
        return Err(Failure::new(&SETTING_INVALID, "the model's name is empty")
            .hint(format!("for example `{}`", facts.default_model)));
    }
    let address = address(facts, args, config, env, ui)?;
    let key = key_of(facts, &address, config, env, profile)?;
    let choice = assemble(facts, address, model, key, config, env);
    choice.warn_if_misspelt(ui);
    Ok(choice)
}

/// Returns the model that a setting names, as PROVIDER or PROVIDER:MODEL.
pub fn of_setting(name: &str, config: &Config, env: &Environment) -> Result<ModelChoice, Failure> {
    let (provider, model) = name.split_once(':').unwrap_or((name, ""));
    let facts = config.catalog.provider(provider).ok_or_else(|| unknown_in(provider, config))?;
    let address = usual_address(facts, config, env)?;
    let key = find_key(facts, &address, config, env);
    let model = match model.trim() {
        "" => facts.default_model,
        model => model,
    };
    Ok(assemble(facts, address, model, key, config, env))
}

/// Assembles a choice, and collects its secrets for redaction.
fn assemble(
    facts: &'static ProviderFacts,
    base_url: String,
    model: &str,
    key: KeyFound,
    config: &Config,
    env: &Environment,
) -> ModelChoice {
    let facts = config.model_lists.applied(facts, &base_url, SystemClock::new().now());
    let secrets = Secrets::default();
    let keys = catalog::key_vars().filter_map(|name| env.text(name)).filter(|key| !key.trim().is_empty());
    keys.for_each(|key| secrets.add(&Secret::from(key)));
    if let Some(custom) = facts.custom {
        custom.headers.iter().for_each(|(_, value)| secrets.add(&Secret::from(*value)));
    }
    match &key {
        Ok(Some(Key::Variable(key) | Key::Token(key) | Key::Program(key))) => secrets.add(key),
        Ok(Some(Key::Vault { secret, .. })) => secrets.add_vault_value(secret),
        Ok(Some(Key::Stored(stored))) => stored.grant.tell(&secrets),
        Ok(None) | Err(_) => {}
    }
    let price_list = config.prices.clone();
    let named = config.catalog.named().to_vec();
    ModelChoice {
        model: ModelSettings { base_url, secrets, price_list, named, ..ModelSettings::new(facts, model) },
        key,
    }
}

/// The provider and model that flags and config name.
struct RequestedModel<'a> {
    provider: Option<&'a str>,
    model: Option<&'a str>,
}

impl<'a> RequestedModel<'a> {
    fn read(args: &'a LowArgs, config: &'a Config, profile: &Profile) -> Result<Self, Failure> {
        // `provider:model` counts only where the prefix is a provider's name: model ids may hold a colon themselves.
        let (prefix, model) = match args.model.name.as_deref() {
            Some(spec) => match spec.split_once(':') {
                Some((provider, model)) if config.catalog.provider(provider).is_some() => {
                    (Some(provider), Some(model))
                }
                _ => (None, Some(spec)),
            },
            None => (None, None),
        };
        let flag = args.model.provider.as_deref();
        if let (Some(prefix), Some(flag)) = (prefix, flag)
            && prefix != flag
        {
            let message = format!("`--provider {flag}` and `--model {prefix}:...` name two providers");
            return Err(Failure::new(&VALIDATION_ERROR, message).hint("leave one of them out"));
        }
        let configured = |key: &str| config.text(key).is_some();
        let chosen = ["provider", "model", "api_key"].into_iter().any(configured) || model.is_some();
        let provider = prefix.or(flag).or(profile.provider).or(chosen.then(|| config_provider(config)));
        Ok(Self { provider, model })
    }
}

fn config_provider(config: &Config) -> &str {
    config.text("provider").unwrap_or(PROVIDERS[0].name)
}

/// Takes the first provider whose key is set, else a local server, else the default one without a key.
fn default_choice(
    args: &LowArgs,
    model: Option<&str>,
    config: &Config,
    env: &Environment,
    profile: &Profile,
    ui: &mut Ui,
) -> Result<ModelChoice, Failure> {
    let has_address =
        |facts: &ProviderFacts| !facts.default_base_url.is_empty() || base_url(facts, config, env).is_ok();
    let keyed = PROVIDERS.iter().find_map(|facts| {
        let needed = facts.api.key_need() == KeyNeed::Required && has_address(facts);
        needed.then(|| Some((facts, key_of_env(facts, env)?))).flatten()
    });
    let own = |facts: &'static ProviderFacts| config.catalog.provider(facts.name).unwrap_or(facts);
    let (facts, key, because) = match keyed {
        Some((facts, (name, key))) => (own(facts), Some(key), format!("{name} is set")),
        // A store that fails is told where its key is missed.
        None => match credentials::find_any(config, env).ok().flatten() {
            Some((facts, stored)) => {
                let key = Key::Stored(Box::new(stored));
                (own(facts), Some(key), "its key is in the credential store".to_owned())
            }
            // Whoever names an address has no use for a server elsewhere.
            None => {
                match local_servers(config, env).into_iter().next().filter(|_| args.model.api_base.is_none())
                {
                    Some(found) => return Ok(use_local(found, config, env, ui)),
                    None => (own(&PROVIDERS[0]), None, String::new()),
                }
            }
        },
    };
    let model = model.unwrap_or_else(|| profile.default_model(facts));
    if facts.name != PROVIDERS[0].name {
        ui.say(&format!("Using {} with the model `{model}`, because {because}", facts.display));
    }
    let address = address(facts, args, config, env, ui)?;
    let key = match key {
        Some(known) => Ok(Some(known)),
        None => key_of(facts, &address, config, env, profile)?,
    };
    Ok(assemble(facts, address, model, key, config, env))
}

fn use_local(found: LocalServer, config: &Config, env: &Environment, ui: &mut Ui) -> ModelChoice {
    let LocalServer { facts, base_url, models } = found;
    let facts = config.catalog.provider(facts.name).unwrap_or(facts);
    let model = models.into_iter().next().unwrap_or_else(|| facts.default_model.to_owned());
    ui.say(&format!(
        "Using {} at {base_url} with the model `{model}`: no provider was chosen and no key is set",
        facts.display
    ));
    assemble(facts, base_url, &model, Ok(None), config, env)
}

/// Looks for servers on this machine, where they usually are or where their settings say. Takes 300 ms at most.
pub fn local_servers(config: &Config, env: &Environment) -> Vec<LocalServer> {
    let places: Vec<Candidate> = local::usual_candidates()
        .into_iter()
        .map(|place| Candidate {
            port: configured_port(place.facts, config, env).unwrap_or(place.port),
            ..place
        })
        .collect();
    // On a thread of its own: a server of sessions asks from within its runtime, in which nobody may wait for another.
    std::thread::scope(|scope| {
        let searching = std::thread::Builder::new().spawn_scoped(scope, || search(&places));
        searching.ok().and_then(|searching| searching.join().ok()).unwrap_or_default()
    })
}

fn search(places: &[Candidate]) -> Vec<LocalServer> {
    let options = HttpOptions { roots: Roots::embedded(), proxies: Proxies::None };
    let transport: Arc<dyn Transport> = Arc::new(HttpTransport::new(options));
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build() else {
        return Vec::new();
    };
    let uid = rustix::process::getuid().as_raw();
    let search = local::discover(&transport, places, Path::new("/proc/net"), uid, local::MAX_SEARCH);
    runtime.block_on(search)
}

fn configured_port(facts: &ProviderFacts, config: &Config, env: &Environment) -> Option<u16> {
    let url = base_url(facts, config, env).ok()?;
    url.strip_prefix("http://127.0.0.1:")?.split('/').next()?.parse().ok()
}

/// Returns the address of this run: the one that was named, else the provider's.
fn address(
    facts: &ProviderFacts,
    args: &LowArgs,
    config: &Config,
    env: &Environment,
    ui: &mut Ui,
) -> Result<String, Failure> {
    let url = match &args.model.api_base {
        Some(url) => facts.parse_base_url(url).map_err(|error| {
            Failure::new(&VALIDATION_ERROR, error.to_string()).hint("`--api-base` names the address")
        })?,
        None => base_url(facts, config, env)?,
    };
    match facts.mended_base_url(&url) {
        Some(mended) => {
            ui.warn(&format!("the address `{url}` of {} is taken for `{mended}`", facts.display));
            Ok(mended)
        }
        None => Ok(url),
    }
}

/// Returns the address that a run without `--api-base` uses.
pub fn usual_address(facts: &ProviderFacts, config: &Config, env: &Environment) -> Result<String, Failure> {
    let url = base_url(facts, config, env)?;
    Ok(facts.mended_base_url(&url).unwrap_or(url))
}

/// Returns a provider's address: variable, then config, then the vendor's (PROV-3).
pub fn base_url(facts: &ProviderFacts, config: &Config, env: &Environment) -> Result<String, Failure> {
    let given = [env.text(facts.base_url_var), config.text(facts.base_url_key)]
        .into_iter()
        .flatten()
        .find(|value| !value.trim().is_empty())
        // The script inside the program has no other address.
        .filter(|_| !(agent_zero::is_provider(facts) && config.flag("connection.use_mock") == Some(true)));
    match given {
        Some(value) => {
            facts.parse_base_url(value).map_err(|error| Failure::new(&SETTING_INVALID, error.to_string()))
        }
        None if agent_zero::is_provider(facts) => match agent_zero::connection::address(config) {
            Some(url) => {
                facts.parse_base_url(&url).map_err(|error| Failure::new(&SETTING_INVALID, error.to_string()))
            }
            None => Err(agent_zero::connection::no_address()),
        },
        None if facts.default_base_url.is_empty() => {
            let ProviderFacts { display, base_url_var, base_url_key, .. } = facts;
            let example = match facts.name {
                "vertex" => {
                    "https://aiplatform.googleapis.com/v1/projects/NAME/locations/global/publishers/google"
                }
                "vertex-claude" => {
                    "https://aiplatform.googleapis.com/v1/projects/NAME/locations/global/publishers/anthropic"
                }
                _ => "https://NAME.openai.azure.com/openai/v1",
            };
            let message = format!("{display} has no common address, and none is set");
            Err(Failure::new(&SETTING_INVALID, message)
                .hint(format!("set {base_url_var}, or `{base_url_key}` in the config file, to `{example}`")))
        }
        None => Ok(facts.default_base_url.to_owned()),
    }
}

/// Returns the error for a provider that neither the catalogue nor the config file has.
pub fn unknown_in(name: &str, config: &Config) -> Failure {
    let own: Vec<_> =
        config.catalog.providers().filter(|facts| facts.custom.is_some()).map(|facts| facts.name).collect();
    match zori_spelling::nearest(name, own.iter().copied()) {
        Some(near) => Failure::new(&SETTING_INVALID, format!("unknown provider `{name}`"))
            .hint(format!("did you mean `{near}`?")),
        None => unknown_provider(name).hint(format!(
            "or describe it in the config file: `[providers.{name}]` with `api`, `base_url` and `key_env`"
        )),
    }
}

/// Returns the error for a provider that does not exist.
pub fn unknown_provider(name: &str) -> Failure {
    let known: Vec<_> = PROVIDERS.iter().map(|facts| format!("`{}`", facts.name)).collect();
    let error = Failure::new(&SETTING_INVALID, format!("unknown provider `{name}`"));
    match catalog::nearest_provider(name) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint(format!("use one of {}", known.join(", "))),
    }
}
