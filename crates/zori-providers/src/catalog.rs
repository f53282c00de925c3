//! What is known beforehand of providers and models: names, addresses, limits, prices, abilities. Values only. One
//! child file per vendor holds its models.

mod agent_zero;
mod anthropic;
mod copilot;
pub(crate) mod gemini;
mod images;
mod listed;
mod local;
mod named;
mod openai;
mod openrouter;
mod own;
mod patching;
mod price_list;
mod vendors;

#[cfg(feature = "http")]
use reqwest::Url;
use zori_core::cost::Prices;
use zori_spelling::nearest;

use crate::quirks::{KeyNeed, Quirks};

pub use images::{ImageLimits, MAX_PROMPT_BYTES};
pub use named::{BadProvider, NamedProvider};
pub use own::{BadModel, Catalog, OwnModel, OwnPrices};
pub use patching::edits_by_patch;
pub use price_list::PriceList;

/// A provider as configuration, help and error messages speak of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProviderFacts {
    /// What `--provider` takes.
    pub name: &'static str,
    /// The name in sentences.
    pub display: &'static str,
    /// How it is spoken to.
    pub api: Api,
    /// The environment variable that holds the key.
    pub key_var: &'static str,
    /// The environment variable that replaces the address.
    pub base_url_var: &'static str,
    /// The configuration key that replaces the address.
    pub base_url_key: &'static str,
    /// The vendor's address; empty where every customer has their own.
    pub default_base_url: &'static str,
    /// The model that is used when none is named (PROV-9); [`SERVED`] where the server has to be asked.
    pub default_model: &'static str,
    /// Its models, newest first; none are known beforehand of a local server.
    pub models: &'static [Model],
    /// What a user adds to every request of a provider of their own.
    pub custom: Option<&'static Custom>,
}

/// What goes with every request to a provider that a user has named (DECISIONS 47).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Custom {
    pub headers: &'static [(&'static str, &'static str)],
    /// The query behind every path, without its question mark; may be empty.
    pub query: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// The id without a date.
    pub id: &'static str,
    /// Other names of the same model.
    pub aliases: &'static [&'static str],
    /// How many tokens prompt and reply may have together.
    pub context_window: u32,
    /// How many tokens a reply may have.
    pub max_output: u32,
    /// What it costs; `None` if unknown, or if one price per kind of token cannot express it.
    pub prices: Option<Prices>,
    /// What it can do.
    pub abilities: Abilities,
    /// Where these facts come from.
    pub origin: Origin,
    /// How long it is served.
    pub lifecycle: Lifecycle,
}

/// How long a model is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifecycle {
    /// Nobody has said that it ends.
    Current,
    /// The vendor has said when it ends.
    Ending {
        /// The day: `2026-12-11`.
        on: &'static str,
        /// The model that takes its place.
        successor: &'static str,
    },
    /// It is no longer served.
    Retired {
        /// The model that took its place.
        successor: &'static str,
    },
}

impl Model {
    /// Says that the vendor ends it on this day.
    const fn ending(self, on: &'static str, successor: &'static str) -> Self {
        Self { lifecycle: Lifecycle::Ending { on, successor }, ..self }
    }

    /// Says that it is no longer served.
    const fn retired(self, successor: &'static str) -> Self {
        Self { lifecycle: Lifecycle::Retired { successor }, ..self }
    }
}

/// Where what is known of a model comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// From the tables here.
    BuiltIn,
    /// From the user's config file, all of it or in parts.
    Config,
    /// From the provider's own list of models, all of it or in parts.
    Listed,
}

/// What a model can do beside reading and writing text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// Calls tools.
    pub tools: bool,
    /// Reads images.
    pub images: bool,
    /// Can think before it answers.
    pub thinking: bool,
}

/// The APIs there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Chat Completions, as this server speaks it.
    OpenAiChat(&'static Quirks),
    /// OpenAI's Responses.
    OpenAiResponses,
    /// Gemini's `generateContent`.
    Gemini,
    /// An agent's server: its loop runs there.
    AgentZero,
}

impl Api {
    /// Returns whether there is an answer without a key.
    pub fn key_need(self) -> KeyNeed {
        match self {
            Self::OpenAiChat(quirks) => quirks.key,
            Self::AgentZero => KeyNeed::Optional,
            Self::Anthropic | Self::OpenAiResponses | Self::Gemini => KeyNeed::Required,
        }
    }
}

/// Stands for the first model that the server lists.
pub const SERVED: &str = "auto";

/// What tokens of a local model cost (D-11).
pub const FREE: Prices = Prices { input: 0, output: 0, cache_read: 0, cache_write: 0, long: None };

/// Every provider, the default one first.
pub const PROVIDERS: &[ProviderFacts] = &[
    anthropic::FACTS,
    openai::FACTS,
    openai::CHAT,
    openai::CODEX,
    gemini::FACTS,
    openrouter::FACTS,
    copilot::FACTS,
    vendors::GROQ,
    vendors::XAI,
    vendors::DEEPSEEK,
    vendors::MISTRAL,
    vendors::CEREBRAS,
    vendors::TOGETHER,
    vendors::BEDROCK,
    vendors::AZURE,
    vendors::VERTEX,
    vendors::VERTEX_CLAUDE,
    local::OLLAMA,
    local::LLAMACPP,
    local::LMSTUDIO,
    local::VLLM,
    local::COMPAT,
    vendors::LITELLM,
    agent_zero::FACTS,
];

/// The reply limit for a model the catalogue does not know (DECISIONS 46).
pub const FALLBACK_MAX_TOKENS: u32 = 32_000;

/// Further variables that a provider's key may be in: looked at behind its own.
pub const OTHER_KEY_VARS: &[(&str, KeyVar)] = &[
    ("anthropic", KeyVar { name: "ANTHROPIC_AUTH_TOKEN", form: KeyForm::Token }),
    ("gemini", KeyVar { name: "GOOGLE_API_KEY", form: KeyForm::Key }),
    ("vertex", KeyVar { name: "VERTEX_ACCESS_TOKEN", form: KeyForm::Token }),
    ("vertex-claude", KeyVar { name: "VERTEX_ACCESS_TOKEN", form: KeyForm::Token }),
];

/// A variable that a key may be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyVar {
    pub name: &'static str,
    pub form: KeyForm,
}

/// How a key is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyForm {
    /// In the vendor's own header.
    Key,
    /// As a bearer's token.
    Token,
}

/// Returns the names of all variables that hold keys.
pub fn key_vars() -> impl Iterator<Item = &'static str> {
    PROVIDERS.iter().map(|facts| facts.key_var).chain(OTHER_KEY_VARS.iter().map(|(_, var)| var.name))
}

/// Returns the provider of that name.
pub fn provider(name: &str) -> Option<&'static ProviderFacts> {
    PROVIDERS.iter().find(|p| p.name == name)
}

/// Returns the provider's name that may have been meant.
pub fn nearest_provider(name: &str) -> Option<&'static str> {
    nearest(name, PROVIDERS.iter().map(|p| p.name))
}

impl ProviderFacts {
    /// Returns the variables that its key may be in, in the order they are looked at.
    pub fn key_variables(&self) -> impl Iterator<Item = KeyVar> {
        let others = OTHER_KEY_VARS.iter().filter(|(of, _)| *of == self.name).map(|(_, var)| *var);
        let is_other = others.clone().any(|var| var.name == self.key_var);
        let own = KeyVar { name: self.key_var, form: KeyForm::Key };
        (!is_other).then_some(own).into_iter().chain(others)
    }

    /// Returns the model of that id or alias; a date (`-20251001`, `@20251001`,
    /// `-2025-10-01`) or `-latest` behind it is ignored.
    pub fn model(&self, id: &str) -> Option<&'static Model> {
        let bare = undated(id);
        self.models.iter().find(|m| [id, bare].iter().any(|n| m.id == *n || m.aliases.contains(n)))
    }

    /// Returns the newest model of a family (`sonnet`), where the word alone is what one of its ids is made of.
    pub fn newest_of(&self, family: &str) -> Option<&'static str> {
        let is_word = !family.is_empty() && family.bytes().all(|b| b.is_ascii_lowercase());
        let of_it = |model: &&Model| model.id.split(['-', '/']).any(|part| part == family);
        self.models
            .iter()
            .find(of_it)
            .map(|model| model.id)
            .filter(|_| is_word && self.model(family).is_none())
    }

    /// Returns the upper bound of a reply: what was asked for, else the model's own limit, else 32,000.
    pub fn max_tokens(&self, model: &str, asked: Option<u32>) -> u32 {
        asked.unwrap_or_else(|| self.model(model).map_or(FALLBACK_MAX_TOKENS, |m| m.max_output))
    }

    /// Returns what a model costs: what the table says, else nothing on this machine.
    pub fn prices(&self, model: &str) -> Option<Prices> {
        let listed = self.model(model).and_then(|m| m.prices);
        listed.or(self.is_local().then_some(FREE))
    }

    /// Returns whether it is a server on this machine, unless its address says otherwise.
    pub fn is_local(&self) -> bool {
        self.default_base_url.starts_with("http://127.0.0.1:")
    }

    /// Returns the name of a model that may have been meant.
    pub fn nearest_model(&self, id: &str) -> Option<&'static str> {
        nearest(id, self.models.iter().flat_map(|m| m.aliases.iter().chain([&m.id]).copied()))
    }

    /// Returns the address that was meant by one with a `/v1` too few or too many; `None` where it can be used as it is.
    pub fn mended_base_url(&self, url: &str) -> Option<String> {
        if let Some(before) = url.strip_suffix("/v1/v1") {
            return Some(format!("{before}/v1"));
        }
        let path =
            url.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(_, path)| path);
        match self.api {
            // The version is part of what is asked for.
            Api::Anthropic => url.strip_suffix("/v1").map(str::to_owned),
            _ if path.is_empty() && self.default_base_url.ends_with("/v1") => Some(format!("{url}/v1")),
            Api::OpenAiChat(_) | Api::OpenAiResponses | Api::Gemini | Api::AgentZero => None,
        }
    }

    /// Checks a base URL and returns it without blanks around it and slashes behind it.
    #[cfg(feature = "http")]
    pub fn parse_base_url(&self, value: &str) -> Result<String, BaseUrlError> {
        let trimmed = value.trim();
        let usable = Url::parse(trimmed).is_ok_and(|url| {
            matches!(url.scheme(), "http" | "https")
                && url.has_host()
                && url.query().is_none()
                && url.fragment().is_none()
        });
        // The parser forgives `http:host` and `http:///host`; a person who wrote that meant something else.
        let absolute = trimmed.split_once("://").is_some_and(|(_, rest)| !rest.starts_with('/'));
        if usable && absolute {
            Ok(trimmed.trim_end_matches('/').to_owned())
        } else {
            Err(BaseUrlError { provider: self.display, value: value.to_owned() })
        }
    }
}

/// A base URL that cannot be used (PROV-4).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Invalid {provider} base URL: {value}")]
pub struct BaseUrlError {
    /// The provider's name in sentences.
    pub provider: &'static str,
    /// What was given.
    pub value: String,
}

fn undated(id: &str) -> &str {
    let digits = |s: &str, n: usize| s.len() == n && s.bytes().all(|b| b.is_ascii_digit());
    let dashed = |s: &str| {
        let parts: Vec<_> = s.split('-').collect();
        matches!(parts[..], [y, m, d] if digits(y, 4) && digits(m, 2) && digits(d, 2))
    };
    // `-2025-10-01`, as OpenAI has it.
    if let Some(at) = id.len().checked_sub(11)
        && id.is_char_boundary(at)
        && id[at..].strip_prefix('-').is_some_and(dashed)
    {
        return &id[..at];
    }
    match id.rsplit_once(['-', '@']) {
        Some((bare, tail)) if tail == "latest" || digits(tail, 8) => bare,
        _ => id,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_found_by_id_alias_and_date() {
        let facts = provider("anthropic").unwrap();
        let id = |name| facts.model(name).map(|m| m.id);
        assert_eq!(id("claude-haiku-4-5"), Some("claude-haiku-4-5"));
        assert_eq!(id("claude-haiku-4-5-20251001"), Some("claude-haiku-4-5"));
        assert_eq!(id("claude-haiku-4-5@20251001"), Some("claude-haiku-4-5"));
        assert_eq!(id("claude-sonnet-4-20250514"), Some("claude-sonnet-4"));
        assert_eq!(id("claude-sonnet-4-0"), Some("claude-sonnet-4"));
        assert_eq!(id("claude-3-5-haiku-latest"), Some("claude-3-5-haiku"));
        let openai = provider("openai").unwrap();
        assert_eq!(openai.model("gpt-4o-2024-11-20").map(|m| m.id), Some("gpt-4o"));
        assert_eq!(openai.model("gpt-4o-2024-11-2x"), None);
        assert_eq!(id("é2025-10-01"), None);
        assert_eq!(id("claude-haiku-4-5-2025"), None);
        assert_eq!(id("claude-opus-4-9"), None);
        assert_eq!(id(""), None);
    }

    #[test]
    fn reply_limits() {
        let facts = provider("anthropic").unwrap();
        assert_eq!(facts.max_tokens("claude-opus-4-1", None), 32_000);
        assert_eq!(facts.max_tokens("claude-opus-4-1", Some(5)), 5);
        assert_eq!(facts.max_tokens("local", None), 32_000);
    }

    #[test]
    fn tables_are_consistent() {
        for facts in PROVIDERS {
            let listed = facts.model(facts.default_model).is_some();
            assert!(listed || (facts.models.is_empty() && facts.default_model == SERVED), "{}", facts.name);
            if !facts.default_base_url.is_empty() {
                let parsed = facts.parse_base_url(facts.default_base_url);
                assert_eq!(parsed.as_deref(), Ok(facts.default_base_url));
            }
            let mut names: Vec<_> =
                facts.models.iter().flat_map(|m| m.aliases.iter().chain([&m.id]).copied()).collect();
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count, "{}: a name is listed twice", facts.name);
            assert!(facts.models.iter().all(|m| m.max_output < m.context_window), "{}", facts.name);
            for model in facts.models {
                let (Lifecycle::Ending { successor, .. } | Lifecycle::Retired { successor }) =
                    model.lifecycle
                else {
                    continue;
                };
                let next = facts.model(successor).map(|next| next.lifecycle);
                assert_eq!(next, Some(Lifecycle::Current), "{}: {}", facts.name, model.id);
            }
        }
    }

    #[test]
    fn providers_have_names_of_their_own() {
        let facts = || PROVIDERS.iter();
        let mut names: Vec<_> = facts().map(|f| f.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), facts().count());
        // Its document names its keys itself.
        for facts in facts().filter(|facts| facts.api != Api::AgentZero) {
            assert!(facts.base_url_key.ends_with("_base_url"), "{}", facts.name);
            assert!(facts.base_url_var.ends_with("_BASE_URL"), "{}", facts.name);
        }
    }

    #[test]
    fn prices() {
        let price = |provider_name: &str, model: &str| provider(provider_name).unwrap().prices(model);
        let haiku = Prices {
            input: 1_000_000,
            output: 5_000_000,
            cache_read: 100_000,
            cache_write: 1_250_000,
            long: None,
        };
        assert_eq!(price("anthropic", "claude-haiku-4-5-20251001"), Some(haiku));
        let long =
            Some(zori_core::cost::LongPrompt { above: 100_000, input_percent: 500, output_percent: 500 });
        let newer =
            Prices { input: 100_000, output: 500_000, cache_read: 10_000, cache_write: 125_000, long };
        assert_eq!(price("anthropic", "claude-haiku-5-5"), Some(newer));
        assert_eq!(price("openai", "unheard-of"), None);
        assert_eq!(price("ollama", "unheard-of"), Some(FREE));
        assert_eq!(price("copilot", "gpt-5-mini"), None);
    }

    #[test]
    fn keys_are_needed_elsewhere_than_here() {
        for facts in PROVIDERS.iter().filter(|facts| facts.api != Api::AgentZero) {
            let optional = facts.api.key_need() == KeyNeed::Optional;
            assert_eq!(optional, facts.is_local(), "{}", facts.name);
        }
    }

    #[test]
    fn names_that_may_have_been_meant() {
        assert_eq!(nearest_provider("antropic"), Some("anthropic"));
        assert_eq!(nearest_provider("open-router"), Some("openrouter"));
        assert_eq!(nearest_provider("OpenAI"), Some("openai"));
        assert_eq!(nearest_provider("watsonx"), None);
        let facts = provider("openai").unwrap();
        assert_eq!(facts.nearest_model("gpt4.1"), Some("gpt-4.1"));
        assert_eq!(facts.nearest_model("llama"), None);
    }

    #[test]
    fn addresses_with_a_version_too_few_or_too_many() {
        let mended = |name: &str, url: &str| provider(name).unwrap().mended_base_url(url);
        for (name, url, expected) in [
            ("anthropic", "https://proxy.example/v1", Some("https://proxy.example")),
            ("anthropic", "https://proxy.example", None),
            ("openai", "https://proxy.example", Some("https://proxy.example/v1")),
            ("openai", "https://proxy.example/v1", None),
            ("openai", "https://proxy.example/v1/v1", Some("https://proxy.example/v1")),
            ("openai", "https://proxy.example/api", None),
            ("ollama", "http://127.0.0.1:11434", Some("http://127.0.0.1:11434/v1")),
            ("gemini", "http://127.0.0.1:1", None),
            ("copilot", "http://127.0.0.1:1", None),
        ] {
            assert_eq!(mended(name, url).as_deref(), expected, "{name} {url}");
        }
    }

    #[test]
    fn base_urls() {
        let parse =
            |value: &str| provider("anthropic").unwrap().parse_base_url(value).map_err(|e| e.to_string());
        for (given, kept) in [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            (" https://proxy.example/anthropic/ ", "https://proxy.example/anthropic"),
            ("http://[::1]:9//", "http://[::1]:9"),
        ] {
            assert_eq!(parse(given), Ok(kept.to_owned()));
        }
        for bad in [
            "not a url",
            "/v1",
            "localhost:8080",
            "ftp://example.com",
            "http://",
            "http:host",
            "http:///host",
            "https://example.com?key=1",
            "",
        ] {
            assert_eq!(parse(bad), Err(format!("Invalid Anthropic base URL: {bad}")));
        }
    }
}
