//! Chooses the model: provider, address, key and model, from flags, environment and config file (PROV-1 to PROV-9).
//!
//! Without a choice by the user it takes the provider whose key is set, else a server on this machine, and tells the user
//! (DECISIONS 3 and 35).

use std::path::Path;
use std::sync::Arc;

use zori_auth::grant::Kind;
use zori_auth::{Stored, browser};
use zori_contract::error::VALIDATION_ERROR;
use zori_contract::failure::{AuthMethod, Failure};
use zori_core::secret::{Secret, Secrets};
use zori_core::time::Clock;
use zori_core::transport::Transport;
use zori_host::{ModelSettings, SystemClock, is_loopback};
use zori_providers::catalog::{
    self, Api, KeyForm, KeyVar, Lifecycle, Origin, PROVIDERS, ProviderFacts, SERVED,
};
use zori_providers::http::roots::Roots;
use zori_providers::http::{HttpOptions, HttpTransport, Proxies};
use zori_providers::key::Credential;
use zori_providers::local::{self, Candidate, LocalServer};
use zori_providers::quirks::KeyNeed;
use zori_vault::reference;
use zori_vault::resolver::ResolveError;

use crate::agent_zero;
use crate::args::LowArgs;
use crate::config::Config;
use crate::credentials;
use crate::environment::Environment;
use crate::error::SETTING_INVALID;
use crate::outcome::AuthAdvice;
use crate::profile::Profile;
use crate::ui::Ui;
use crate::vault;

/// The key for a provider, or why there is none.
pub type KeyFound = Result<Option<Key>, String>;

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

/// Returns a hint for a key that the provider refuses (DECISIONS 24). `name` is the program's.
pub fn key_hint(facts: &ProviderFacts, key: &KeyFound, name: &str) -> String {
    let ProviderFacts { name: provider, display, key_var, .. } = facts;
    match key {
        Ok(Some(Key::Variable(_) | Key::Token(_))) => {
            format!("set {key_var} to a key of {display} that is valid")
        }
        Ok(Some(Key::Program(_))) => match *provider {
            "copilot" => "log in again with `gh auth login`".to_owned(),
            _ => format!("log in again with `gcloud auth login`, or set {key_var}"),
        },
        Ok(Some(Key::Vault { name: entry, .. })) => {
            format!("put another key into the vault: `{name} vault set {entry} --force`")
        }
        Ok(Some(Key::Stored(stored))) if stored.grant.kind == Kind::ApiKey => {
            format!("store another key with `{name} auth login --provider {provider} --with-token`")
        }
        Ok(Some(Key::Stored(_))) => format!("log in again with `{name} auth login --provider {provider}`"),
        Ok(None) | Err(_) => format!("set {key_var} to your {display} key"),
    }
}

/// Returns the command that stores another key, or logs in again. It works wherever a key can be given to it, or a person sits.
pub fn reauth_command(facts: &ProviderFacts, program: &str) -> String {
    match browser::open_to_all(facts) {
        true => format!("{program} auth login --provider {}", facts.name),
        false => format!("{program} auth login --provider {} --with-token", facts.name),
    }
}

/// Returns the ways to a key, for programs. `program` is our own name.
pub fn auth_methods(facts: &ProviderFacts, program: &str) -> Vec<AuthMethod> {
    let command = reauth_command(facts, program);
    let how = match browser::open_to_all(facts) {
        true => format!("log in, in a browser: `{command}`"),
        false => format!("store it: `{command}`"),
    };
    vec![
        AuthMethod {
            r#type: "env",
            name: facts.key_var.to_owned(),
            hint: format!("set {}", facts.key_var),
            description: format!("the key of {}", facts.display),
        },
        AuthMethod {
            r#type: "command",
            name: command,
            hint: how,
            description: "a key or a login in the credential store".to_owned(),
        },
    ]
}

/// Returns what to do about a key that was refused, for programs.
pub fn auth_advice(facts: &ProviderFacts, key: &KeyFound, program: &str) -> AuthAdvice {
    let stored = match key {
        Ok(Some(Key::Stored(stored))) => Some(&stored.grant),
        _ => None,
    };
    let ended = stored.and_then(|grant| grant.expires_at);
    let expired = stored.is_some_and(|grant| grant.is_expired(SystemClock::new().now()));
    AuthAdvice {
        methods: auth_methods(facts, program),
        command: reauth_command(facts, program),
        variable: facts.key_var,
        expired,
        expired_at: ended.filter(|_| expired).map(|end| end.to_string()),
    }
}

/// Returns where the key comes from, in the words of the Claude protocol: the name of a variable, or `none`.
pub fn api_key_source(facts: &ProviderFacts, key: &KeyFound) -> String {
    match key {
        Ok(Some(Key::Variable(_))) => facts.key_var.to_owned(),
        Ok(Some(Key::Token(_) | Key::Program(_) | Key::Stored(_) | Key::Vault { .. }) | None) | Err(_) => {
            "none".to_owned()
        }
    }
}

/// A credential, by where it comes from.
pub enum Key {
    /// A key of the API, from the environment.
    Variable(Secret),
    /// An access token, from the environment.
    Token(Secret),
    /// An access token that a program of the vendor printed.
    Program(Secret),
    /// A key or a login from the credential store.
    Stored(Box<Stored>),
    /// A key that the config file refers to.
    Vault {
        /// The entry.
        name: String,
        /// The key.
        secret: Secret,
    },
}

impl Key {
    /// Returns it as it is sent; `None` for a login that has ended, which is renewed where models are asked.
    pub fn credential(&self) -> Option<Credential> {
        Some(match self {
            Self::Variable(key) | Self::Vault { secret: key, .. } => Credential::Key(key.clone()),
            Self::Program(token) | Self::Token(token) => Credential::Token(token.clone()),
            Self::Stored(stored) => match stored.grant.kind {
                Kind::ApiKey => Credential::Key(stored.grant.access.clone()),
                Kind::OAuth if stored.grant.is_expired(SystemClock::new().now()) => return None,
                Kind::OAuth => Credential::Token(stored.grant.access.clone()),
            },
        })
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
    ModelChoice {
        model: ModelSettings { base_url, secrets, price_list, ..ModelSettings::new(facts, model) },
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

/// Returns the provider's key from its environment variable.
pub fn key_from_env(facts: &ProviderFacts, env: &Environment) -> Option<Secret> {
    env.text(facts.key_var).filter(|key| !key.trim().is_empty()).map(Secret::from)
}

/// Returns the provider's key from one of the variables it may be in, with the variable's name.
pub fn key_of_env(facts: &ProviderFacts, env: &Environment) -> Option<(&'static str, Key)> {
    facts.key_variables().find_map(|KeyVar { name, form }| {
        let secret = env.text(name).filter(|key| !key.trim().is_empty()).map(Secret::from)?;
        Some((
            name,
            match form {
                KeyForm::Key => Key::Variable(secret),
                KeyForm::Token => Key::Token(secret),
            },
        ))
    })
}

/// Finds the key, and fails where a reference to it cannot be understood or the vault cannot be used (VLT-6).
fn key_of(
    facts: &ProviderFacts,
    base_url: &str,
    config: &Config,
    env: &Environment,
    profile: &Profile,
) -> Result<KeyFound, Failure> {
    if key_of_env(facts, env).is_none()
        && let Some(found) = referenced_key(facts, config, env)
    {
        return match found {
            Ok(key) => Ok(Ok(Some(key))),
            Err(error) => match vault::reference_failure(&error, profile.name) {
                Some(failure) => Err(failure),
                None => Ok(Err(error.to_string())),
            },
        };
    }
    Ok(find_key(facts, base_url, config, env))
}

/// Returns the key that the config file refers to; `None` if it refers to none.
pub fn referenced_key(
    facts: &ProviderFacts,
    config: &Config,
    env: &Environment,
) -> Option<Result<Key, ResolveError>> {
    let name = key_entry(facts, config)?.to_owned();
    // Whoever uses the key adds it to the secrets of the run.
    let found = vault::resolver(config, env, Secrets::default()).get(&name);
    Some(found.map(|secret| Key::Vault { name, secret }).map_err(ResolveError::from))
}

/// Returns the entry of the vault that the config file names for a provider's key.
pub fn key_entry<'a>(facts: &ProviderFacts, config: &'a Config) -> Option<&'a str> {
    config.key_reference(facts.name, PROVIDERS[0].name).and_then(reference::whole)
}

/// Finds the key: environment, the vault where the config file refers to it, store (AUTH-4), the vendor's program. Each is asked only where those before have none,
/// and only for the provider in use.
pub fn find_key(facts: &ProviderFacts, base_url: &str, config: &Config, env: &Environment) -> KeyFound {
    if let Some((_, key)) = key_of_env(facts, env) {
        return Ok(Some(key));
    }
    match referenced_key(facts, config, env) {
        Some(Ok(key)) => return Ok(Some(key)),
        Some(Err(error)) => return Err(error.to_string()),
        None => {}
    }
    let mut why = format!("{} is not set", facts.key_var);
    // A server on this machine wants none, and a locked store would ask the user for nothing.
    if facts.api.key_need() == KeyNeed::Required || !is_loopback(base_url) {
        match credentials::find(facts, config, env) {
            Ok(Some(stored)) => return Ok(Some(Key::Stored(Box::new(stored)))),
            Ok(None) => {}
            Err(failure) => why = format!("{why}, and {failure}"),
        }
    }
    let programs: &[&[&str]] = match facts.name {
        "gemini" | "vertex" | "vertex-claude" => &[
            &["gcloud", "auth", "print-access-token"],
            &["gcloud", "auth", "application-default", "print-access-token"],
        ],
        "copilot" => &[&["gh", "auth", "token"]],
        _ => &[],
    };
    let helpers = credentials::helper_programs(env);
    for program in programs {
        match helpers.token(program) {
            Ok(token) => return Ok(Some(Key::Program(token))),
            Err(error) => why = format!("{} is not set, and {error}", facts.key_var),
        }
    }
    match facts.api.key_need() {
        KeyNeed::Optional => Ok(None),
        KeyNeed::Required => Err(why),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The Claude protocol knows the name of a variable, or `none`: a login is no variable.
    #[test]
    fn where_the_key_comes_from() {
        let facts = &PROVIDERS[0];
        for (key, source) in [
            (Ok(Some(Key::Variable("k".into()))), facts.key_var),
            (Ok(Some(Key::Program("t".into()))), "none"),
            (Ok(None), "none"),
            (Err("it is not set".to_owned()), "none"),
        ] {
            assert_eq!(api_key_source(facts, &key), source);
        }
    }
}
