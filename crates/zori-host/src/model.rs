//! The model of a session: what is known of it, and whether the session may go on with another one.

use std::sync::Arc;

use zori_core::cost::Prices;
use zori_core::secret::Secrets;
use zori_engine::context::ContextWindow;
use zori_engine::limits::{Limits, Unpriced};
use zori_providers::catalog::{self, Api, Origin, PriceList, ProviderFacts};
use zori_providers::quirks::ToolStyle;

use crate::settings::SessionSettings;

/// What clients of the Claude protocol call models by, whoever the provider is.
const CLAUDE_FAMILIES: &[&str] = &["sonnet", "opus", "haiku"];

/// Who answers.
#[derive(Clone)]
pub struct ModelSettings {
    /// The provider.
    pub facts: &'static ProviderFacts,
    /// Its address.
    pub base_url: String,
    /// The model's id.
    pub name: Arc<str>,
    /// The model a turn goes on with when the other one is not available.
    pub fallback: Option<Arc<str>>,
    /// How many tokens the model takes, where the user knows better than the catalogue.
    pub context_window: Option<u64>,
    /// How a server that speaks Chat Completions is offered tools, if not as the catalogue says.
    pub tool_calls: Option<ToolStyle>,
    /// What must not get into files and messages.
    pub secrets: Secrets,
    /// What the user says that models cost.
    pub price_list: PriceList,
    /// The providers that the user has named, beside those of the catalogue (DECISIONS 47).
    pub named: Vec<&'static ProviderFacts>,
}

impl ModelSettings {
    /// Returns a model at its provider's usual address, with nothing said of it beside who it is.
    pub fn new(facts: &'static ProviderFacts, name: &str) -> Self {
        Self {
            facts,
            base_url: facts.default_base_url.to_owned(),
            name: name.into(),
            fallback: None,
            context_window: None,
            tool_calls: None,
            secrets: Secrets::default(),
            price_list: PriceList::default(),
            named: Vec::new(),
        }
    }

    /// Returns the provider with this name, be it one of the catalogue or one that the user has named.
    pub fn provider(&self, name: &str) -> Option<&'static ProviderFacts> {
        catalog::provider(name).or_else(|| self.named.iter().copied().find(|facts| facts.name == name))
    }

    /// Returns what a model costs, if that is known. A local server's are free only as long as it is local.
    pub fn prices(&self, model: &str) -> Option<Prices> {
        prices(self.facts, &self.base_url, &self.price_list, model)
    }

    /// Returns the same as a function that outlives the settings. It knows the models of other providers, too, as `PROVIDER:MODEL`.
    pub fn pricing(&self) -> impl Fn(&str) -> Option<Prices> + Send + Sync + 'static {
        let settings = Self { secrets: Secrets::default(), ..self.clone() };
        move |model| {
            settings.prices(model).or_else(|| {
                let (provider, id) = model.split_once(':')?;
                settings.price_list.prices(settings.provider(provider)?, id)
            })
        }
    }

    /// Returns the bound of a reply that requests should ask for: what was configured, else what the user or the
    /// server says of the model. The providers know the limits of the others.
    pub fn reply_limit(&self, model: &str, configured: Option<u32>) -> Option<u32> {
        self.reply_limits(configured)(model)
    }

    /// Returns the same for any model, as a function that outlives the settings.
    pub fn reply_limits(
        &self,
        configured: Option<u32>,
    ) -> impl Fn(&str) -> Option<u32> + Send + Sync + 'static {
        let facts = self.facts;
        move |model| {
            let own = facts.model(model).filter(|model| model.origin != Origin::BuiltIn);
            let own = own.filter(|_| matches!(facts.api, Api::Anthropic | Api::Gemini));
            configured.or(own.map(|model| model.max_output))
        }
    }

    /// Returns how tools are offered to a model over Chat Completions.
    pub fn tool_style(&self, model: &str) -> ToolStyle {
        self.tool_styles()(model)
    }

    /// Returns the same as a function that outlives the settings.
    pub fn tool_styles(&self) -> impl Fn(&str) -> ToolStyle + Send + Sync + 'static {
        let (facts, configured) = (self.facts, self.tool_calls);
        let usual = match facts.api {
            Api::OpenAiChat(quirks) => quirks.tools,
            Api::Anthropic | Api::OpenAiResponses | Api::Gemini | Api::AgentZero => ToolStyle::Native,
        };
        move |model| {
            let without =
                || facts.model(model).filter(|model| !model.abilities.tools).map(|_| ToolStyle::Prose);
            configured.or_else(without).unwrap_or(usual)
        }
    }

    /// Returns how much a model takes, as a function that outlives the settings. `max_tokens`: the configured bound of a
    /// reply.
    pub fn windows(
        &self,
        max_tokens: Option<u32>,
    ) -> impl Fn(&str) -> Option<ContextWindow> + Send + Sync + 'static {
        let (facts, known) = (self.facts, self.context_window);
        move |model| {
            let tokens = known.or_else(|| facts.model(model).map(|model| model.context_window.into()))?;
            Some(ContextWindow { tokens, reply: facts.max_tokens(model, max_tokens).into() })
        }
    }
}

/// Returns what a model costs at an address, if that is known.
pub(crate) fn prices(facts: &ProviderFacts, base_url: &str, own: &PriceList, model: &str) -> Option<Prices> {
    own.stated(facts, model).or_else(|| match facts.is_local() && !is_loopback(base_url) {
        true => facts.model(model)?.prices,
        false => facts.prices(model),
    })
}

/// Returns whether a URL leads to this machine, and not just looks like it.
pub fn is_loopback(url: &str) -> bool {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")).unwrap_or_default();
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let port =
        |rest: &str| rest.is_empty() || rest.strip_prefix(':').is_some_and(|n| n.parse::<u16>().is_ok());
    ["127.0.0.1", "localhost", "[::1]"].iter().any(|host| authority.strip_prefix(host).is_some_and(port))
}

/// Why a session cannot use a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// It is another provider's, and what one provider's models said cannot be sent to all others.
    #[error("this session is with `{provider}`")]
    OtherProvider {
        /// The session's provider.
        provider: &'static str,
        /// The name that was asked for.
        name: String,
    },
    /// The name is empty.
    #[error("the model's name is empty")]
    Empty,
    /// The provider has no such family.
    #[error("`{name}` is no model of `{provider}`")]
    UnknownFamily {
        /// The family.
        name: String,
        /// The session's provider.
        provider: &'static str,
    },
    /// There is a budget, and the model's price is not known.
    #[error("the price of `{0}` is not known, so that a budget cannot be kept")]
    Unpriced(String),
    /// Tools would have to be offered in another way than before.
    #[error("`{name}` is offered tools in another way than `{current}`")]
    OtherToolStyle {
        /// The model that was asked for.
        name: String,
        /// The model in use.
        current: String,
        /// The session's provider.
        provider: &'static str,
    },
}

impl ModelError {
    /// Returns what could be done about it.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::OtherProvider { name, .. } => vec![format!("start another one with `--model {name}`")],
            Self::OtherToolStyle { name, provider, .. } => {
                vec![format!("start another session with `--model {provider}:{name}`")]
            }
            Self::Unpriced(_) => [
                "use another model, or leave the budget out (`--max-budget-usd`, `max_budget_usd`, `cost.max_daily_usd`)",
                "say what it costs in a table `[models.\"PROVIDER:MODEL\"]` of the config file or in `prices.toml`, or set `allow_unpriced`",
                "`--max-tokens-total N` limits tokens instead",
            ]
            .map(str::to_owned)
            .to_vec(),
            Self::Empty | Self::UnknownFamily { .. } => Vec::new(),
        }
    }

    /// Returns whether another session could use the model.
    pub fn is_of_this_session(&self) -> bool {
        matches!(self, Self::OtherProvider { .. } | Self::OtherToolStyle { .. })
    }
}

/// Checks that a budget can be kept with a model (`docs/contracts/providers.md`).
pub fn check_budget(limits: &Limits, prices: Option<Prices>, model: &str) -> Result<(), ModelError> {
    match limits.budget.is_none() || prices.is_some() || limits.unpriced == Unpriced::Allowed {
        true => Ok(()),
        false => Err(ModelError::Unpriced(model.to_owned())),
    }
}

/// A function of a model's id.
type OfModel<T> = Box<dyn Fn(&str) -> T>;

/// Decides about a change of the model; it outlives the settings it was made from.
pub struct ModelGate {
    facts: &'static ProviderFacts,
    /// The providers that the user has named.
    named: Vec<&'static ProviderFacts>,
    limits: Limits,
    prices: OfModel<Option<Prices>>,
    reply: OfModel<Option<u32>>,
    style: OfModel<ToolStyle>,
}

impl ModelGate {
    /// Returns the gate for a session with these settings.
    pub fn new(settings: &SessionSettings) -> Self {
        let model = &settings.model;
        Self {
            facts: model.facts,
            named: model.named.clone(),
            limits: Limits {
                budget: settings.limits.run.budget.or(settings.limits.daily.as_ref().map(|daily| daily.max)),
                ..settings.limits.run
            },
            prices: Box::new(model.pricing()),
            reply: Box::new(model.reply_limits(settings.request.max_tokens)),
            style: Box::new(model.tool_styles()),
        }
    }

    /// Returns the model's id and the bound of its replies, or why it cannot be used. `provider:model` is the same as the
    /// model where that is the session's provider. A family's name is its newest model's.
    pub fn check(&self, current: &str, name: &str) -> Result<(String, Option<u32>), ModelError> {
        let provider = self.facts.name;
        let known = |named: &str| {
            catalog::provider(named).is_some() || self.named.iter().any(|facts| facts.name == named)
        };
        let name = match name.split_once(':') {
            Some((named, rest)) if named == provider => rest,
            Some((named, _)) if known(named) => {
                return Err(ModelError::OtherProvider { provider, name: name.to_owned() });
            }
            _ => name,
        };
        if name.trim().is_empty() {
            return Err(ModelError::Empty);
        }
        let name = match self.facts.newest_of(name) {
            Some(newest) => newest,
            None if CLAUDE_FAMILIES.contains(&name) => {
                return Err(ModelError::UnknownFamily { name: name.to_owned(), provider });
            }
            None => name,
        };
        check_budget(&self.limits, (self.prices)(name), name)?;
        if (self.style)(name) != (self.style)(current) {
            let (name, current) = (name.to_owned(), current.to_owned());
            return Err(ModelError::OtherToolStyle { name, current, provider });
        }
        Ok((name.to_owned(), (self.reply)(name)))
    }
}
