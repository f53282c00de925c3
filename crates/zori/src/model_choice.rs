//! Which model answers: provider, address, key and model, from flags, environment and config file (PROV-1 to PROV-9).
//!
//! When nobody chose, the provider whose key is set is used, else a server on this machine, and that is said
//! (DECISIONS 3 and 35).

use std::path::Path;
use std::sync::Arc;

use zori_contract::error::VALIDATION_ERROR;
use zori_contract::failure::Failure;
use zori_core::cost::Prices;
use zori_core::secret::{Secret, Secrets};
use zori_core::transport::Transport;
use zori_providers::catalog::{self, Api, Origin, PROVIDERS, ProviderFacts};
use zori_providers::http::roots::Roots;
use zori_providers::http::{HttpOptions, HttpTransport, Proxies};
use zori_providers::local::{self, Found, Place};
use zori_providers::quirks::KeyNeed;

use crate::args::LowArgs;
use crate::auth::grant::Kind;
use crate::auth::{self, Stored};
use crate::config::Config;
use crate::error::SETTING_INVALID;
use crate::helper_program;
use crate::ui::Ui;

/// Who answers, and how it is asked.
pub struct Choice {
    /// The provider.
    pub facts: &'static ProviderFacts,
    /// Its address.
    pub base_url: String,
    /// The model.
    pub model: Arc<str>,
    /// The key, or why there is none.
    pub key: Result<Option<Key>, String>,
    /// What must not get into files and messages.
    pub secrets: Secrets,
}

impl Choice {
    /// Returns what a model costs, if that is known. A local server's are free only as long as it is local.
    pub fn prices(&self, model: &str) -> Option<Prices> {
        prices(self.facts, &self.base_url, model)
    }

    /// Returns the same as a function that outlives the choice.
    pub fn pricing(&self) -> impl Fn(&str) -> Option<Prices> + Send + Sync + 'static {
        let (facts, base_url) = (self.facts, self.base_url.clone());
        move |model| prices(facts, &base_url, model)
    }

    /// Returns the bound of a reply that requests should ask for: what was configured, else what the user says of the
    /// model. The providers know the limits of the others.
    pub fn reply_limit(&self, model: &str, configured: Option<u32>) -> Option<u32> {
        self.reply_limits(configured)(model)
    }

    /// Returns the same for any model, for whoever outlives this.
    pub fn reply_limits(
        &self,
        configured: Option<u32>,
    ) -> impl Fn(&str) -> Option<u32> + Send + Sync + 'static {
        let facts = self.facts;
        move |model| {
            let own = facts.model(model).filter(|model| model.origin == Origin::Config);
            let own = own.filter(|_| matches!(facts.api, Api::Anthropic | Api::Gemini));
            configured.or(own.map(|model| model.max_output))
        }
    }

    /// Says that a model is not in the catalogue where its name is almost that of one that is. It is used all the
    /// same: providers have new models before we know them.
    fn remark(&self, ui: &mut Ui) {
        if self.facts.model(&self.model).is_none()
            && let Some(near) = self.facts.nearest_model(&self.model)
        {
            ui.warn(&format!("the catalogue has no model `{}`; did you mean `{near}`?", self.model));
        }
    }

    /// Says that a thinking level was asked for that cannot be told to the model.
    pub fn remark_effort(&self, ui: &mut Ui) {
        let reaches = match self.facts.api {
            Api::OpenAiChat(quirks) => quirks.effort.reaches(&self.model),
            Api::Anthropic | Api::OpenAiResponses | Api::Gemini => true,
        };
        let (model, name) = (&self.model, self.facts.display);
        if self.facts.model(model).is_some_and(|model| !model.abilities.thinking) {
            ui.warn(&format!("the model `{model}` does not think; the level has no effect"));
        } else if !reaches && self.facts.name == "openai" {
            ui.warn(&format!(
                "over this API `{model}` takes no thinking level beside tools; `--provider codex` has another API"
            ));
        } else if !reaches {
            ui.warn(&format!("{name} cannot be told how much to think; the level has no effect"));
        }
    }

    /// Says what to do about a key that is refused (DECISIONS 24). `name` is the program's.
    pub fn advice(&self, name: &str) -> String {
        let ProviderFacts { name: provider, display, key_var, .. } = self.facts;
        match &self.key {
            Ok(Some(Key::Variable(_))) => format!("set {key_var} to a key of {display} that is valid"),
            Ok(Some(Key::Program(_))) => match *provider {
                "copilot" => "log in again with `gh auth login`".to_owned(),
                _ => format!("log in again with `gcloud auth login`, or set {key_var}"),
            },
            Ok(Some(Key::Stored(stored))) if stored.grant.kind == Kind::ApiKey => {
                format!("store another key with `{name} auth login --provider {provider} --with-token`")
            }
            Ok(Some(Key::Stored(_))) => {
                format!("log in again with `{name} auth login --provider {provider}`")
            }
            Ok(None) | Err(_) => format!("set {key_var} to your {display} key"),
        }
    }
}

fn prices(facts: &ProviderFacts, base_url: &str, model: &str) -> Option<Prices> {
    if facts.is_local() && !is_loopback(base_url) { facts.model(model)?.prices } else { facts.prices(model) }
}

/// Returns whether a URL leads to this machine, and not just looks like it.
pub fn is_loopback(url: &str) -> bool {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")).unwrap_or_default();
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let port =
        |rest: &str| rest.is_empty() || rest.strip_prefix(':').is_some_and(|n| n.parse::<u16>().is_ok());
    ["127.0.0.1", "localhost", "[::1]"].iter().any(|host| authority.strip_prefix(host).is_some_and(port))
}

/// What proves who asks, by where it comes from.
pub enum Key {
    /// A key of the API, from the environment.
    Variable(Secret),
    /// An access token that a program of the vendor printed.
    Program(Secret),
    /// A key or a login from the credential store.
    Stored(Box<Stored>),
}

/// Chooses. What was found without being asked for is said.
pub fn choose(args: &LowArgs, config: &Config, ui: &mut Ui) -> Result<Choice, Failure> {
    let asked = Asked::read(args, config)?;
    let Some(name) = asked.provider else {
        return nobody_chose(args, asked.model, config, ui);
    };
    let facts = config.catalog.provider(name).ok_or_else(|| unknown(name))?;
    // The configured model belongs to the configured provider.
    let configured = config.text("model").filter(|_| config_provider(config) == facts.name);
    let model = asked.model.or(configured).unwrap_or(facts.default_model).trim();
    if model.is_empty() {
        return Err(Failure::new(&SETTING_INVALID, "the model's name is empty")
            .hint(format!("for example `{}`", facts.default_model)));
    }
    let address = address(facts, args, config)?;
    let key = key_of(facts, &address, config);
    let choice = chosen(facts, address, model, key);
    choice.remark(ui);
    Ok(choice)
}

/// Puts a choice together, with all that is secret about it.
fn chosen(
    facts: &'static ProviderFacts,
    base_url: String,
    model: &str,
    key: Result<Option<Key>, String>,
) -> Choice {
    let secrets = Secrets::default();
    PROVIDERS.iter().filter_map(variable).for_each(|key| secrets.add(&key));
    match &key {
        Ok(Some(Key::Variable(key) | Key::Program(key))) => secrets.add(key),
        Ok(Some(Key::Stored(stored))) => stored.grant.tell(&secrets),
        Ok(None) | Err(_) => {}
    }
    Choice { facts, base_url, model: model.into(), key, secrets }
}

/// What flags and config ask for.
struct Asked<'a> {
    provider: Option<&'a str>,
    model: Option<&'a str>,
}

impl<'a> Asked<'a> {
    fn read(args: &'a LowArgs, config: &'a Config) -> Result<Self, Failure> {
        // `provider:model` counts only where the prefix is a provider's name: model ids may hold a colon themselves.
        let (prefix, model) = match args.model.as_deref() {
            Some(spec) => match spec.split_once(':') {
                Some((provider, model)) if catalog::provider(provider).is_some() => {
                    (Some(provider), Some(model))
                }
                _ => (None, Some(spec)),
            },
            None => (None, None),
        };
        let flag = args.provider.as_deref();
        if let (Some(prefix), Some(flag)) = (prefix, flag)
            && prefix != flag
        {
            let message = format!("`--provider {flag}` and `--model {prefix}:...` name two providers");
            return Err(Failure::new(&VALIDATION_ERROR, message).hint("leave one of them out"));
        }
        let chosen = config.text("provider").is_some() || config.text("model").is_some() || model.is_some();
        let provider = prefix.or(flag).or(chosen.then(|| config_provider(config)));
        Ok(Self { provider, model })
    }
}

fn config_provider(config: &Config) -> &str {
    config.text("provider").unwrap_or(PROVIDERS[0].name)
}

/// Takes the first provider whose key is set, else a local server, else the default one without a key.
fn nobody_chose(
    args: &LowArgs,
    model: Option<&str>,
    config: &Config,
    ui: &mut Ui,
) -> Result<Choice, Failure> {
    let keyed =
        PROVIDERS.iter().find(|facts| facts.api.key_need() == KeyNeed::Required && variable(facts).is_some());
    let own = |facts: &'static ProviderFacts| config.catalog.provider(facts.name).unwrap_or(facts);
    let (facts, key, because) = match keyed {
        Some(facts) => (own(facts), variable(facts).map(Key::Variable), format!("{} is set", facts.key_var)),
        // A store that fails is told where its key is missed.
        None => match auth::find_any(config).ok().flatten() {
            Some((facts, stored)) => {
                let key = Key::Stored(Box::new(stored));
                (own(facts), Some(key), "its key is in the credential store".to_owned())
            }
            // Whoever names an address has no use for a server elsewhere.
            None => match local_servers(config).into_iter().next().filter(|_| args.api_base.is_none()) {
                Some(found) => return Ok(use_local(found, config, ui)),
                None => (own(&PROVIDERS[0]), None, String::new()),
            },
        },
    };
    let model = model.unwrap_or(facts.default_model);
    if facts.name != PROVIDERS[0].name {
        ui.say(&format!("Using {} with the model `{model}`, because {because}", facts.display));
    }
    let address = address(facts, args, config)?;
    let key = match key {
        Some(known) => Ok(Some(known)),
        None => key_of(facts, &address, config),
    };
    Ok(chosen(facts, address, model, key))
}

fn use_local(found: Found, config: &Config, ui: &mut Ui) -> Choice {
    let Found { facts, base_url, models } = found;
    let facts = config.catalog.provider(facts.name).unwrap_or(facts);
    let model = models.into_iter().next().unwrap_or_else(|| facts.default_model.to_owned());
    ui.say(&format!(
        "Using {} at {base_url} with the model `{model}`: no provider was chosen and no key is set",
        facts.display
    ));
    chosen(facts, base_url, &model, Ok(None))
}

/// Looks for servers on this machine, where they usually are or where their settings say. Takes 300 ms at most.
pub fn local_servers(config: &Config) -> Vec<Found> {
    let places: Vec<Place> = local::usual_places()
        .into_iter()
        .map(|place| Place { port: configured_port(place.facts, config).unwrap_or(place.port), ..place })
        .collect();
    let options = HttpOptions { roots: Roots::embedded(), proxies: Proxies::None };
    let transport: Arc<dyn Transport> = Arc::new(HttpTransport::new(options));
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build() else {
        return Vec::new();
    };
    let uid = rustix::process::getuid().as_raw();
    let search = local::discover(&transport, &places, Path::new("/proc/net"), uid, local::MAX_SEARCH);
    runtime.block_on(search)
}

fn configured_port(facts: &ProviderFacts, config: &Config) -> Option<u16> {
    let url = base_url(facts, config).ok()?;
    url.strip_prefix("http://127.0.0.1:")?.split('/').next()?.parse().ok()
}

/// Returns the address of this run: the one that was named, else the provider's.
fn address(facts: &ProviderFacts, args: &LowArgs, config: &Config) -> Result<String, Failure> {
    match &args.api_base {
        Some(url) => facts.parse_base_url(url).map_err(|error| {
            Failure::new(&VALIDATION_ERROR, error.to_string()).hint("`--api-base` names the address")
        }),
        None => base_url(facts, config),
    }
}

/// Returns a provider's address: variable, then config, then the vendor's (PROV-3).
pub fn base_url(facts: &ProviderFacts, config: &Config) -> Result<String, Failure> {
    let variable = std::env::var(facts.base_url_var).ok();
    let given = [variable.as_deref(), config.text(facts.base_url_key)]
        .into_iter()
        .flatten()
        .find(|value| !value.trim().is_empty());
    match given {
        Some(value) => {
            facts.parse_base_url(value).map_err(|error| Failure::new(&SETTING_INVALID, error.to_string()))
        }
        None => Ok(facts.default_base_url.to_owned()),
    }
}

/// Returns the key that the environment has.
pub fn variable(facts: &ProviderFacts) -> Option<Secret> {
    std::env::var(facts.key_var).ok().filter(|key| !key.trim().is_empty()).map(Secret::from)
}

/// Finds the key: environment, store (AUTH-4), the vendor's program. Each is asked only where those before have none,
/// and only for the provider in use.
fn key_of(facts: &ProviderFacts, base_url: &str, config: &Config) -> Result<Option<Key>, String> {
    if let Some(key) = variable(facts) {
        return Ok(Some(Key::Variable(key)));
    }
    let mut why = format!("{} is not set", facts.key_var);
    // A server on this machine wants none, and a locked store would ask the user for nothing.
    if facts.api.key_need() == KeyNeed::Required || !is_loopback(base_url) {
        match auth::find(facts, config) {
            Ok(Some(stored)) => return Ok(Some(Key::Stored(Box::new(stored)))),
            Ok(None) => {}
            Err(failure) => why = format!("{why}, and {failure}"),
        }
    }
    let programs: &[&[&str]] = match facts.name {
        "gemini" => &[
            &["gcloud", "auth", "print-access-token"],
            &["gcloud", "auth", "application-default", "print-access-token"],
        ],
        "copilot" => &[&["gh", "auth", "token"]],
        _ => &[],
    };
    for program in programs {
        match helper_program::ask(program) {
            Ok(token) => return Ok(Some(Key::Program(token))),
            Err(error) => why = format!("{} is not set, and {error}", facts.key_var),
        }
    }
    match facts.api.key_need() {
        KeyNeed::Optional => Ok(None),
        KeyNeed::Required => Err(why),
    }
}

/// Returns the error for a provider that is none.
pub fn unknown(name: &str) -> Failure {
    let known: Vec<_> = PROVIDERS.iter().map(|facts| format!("`{}`", facts.name)).collect();
    let error = Failure::new(&SETTING_INVALID, format!("unknown provider `{name}`"));
    match catalog::nearest_provider(name) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint(format!("use one of {}", known.join(", "))),
    }
}
