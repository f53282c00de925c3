//! What is known beforehand of providers and models: names, addresses, limits. Values only; prices and the
//! quirks of compatible servers come as further columns. One child file per vendor holds its models.

mod anthropic;
pub(crate) mod gemini;

use reqwest::Url;

/// A provider as configuration, help and error messages speak of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProviderFacts {
    /// What `--provider` takes.
    pub name: &'static str,
    /// The name in sentences.
    pub display: &'static str,
    /// The environment variable that holds the key.
    pub key_var: &'static str,
    /// The environment variable that replaces the address.
    pub base_url_var: &'static str,
    /// The configuration key that replaces the address.
    pub base_url_key: &'static str,
    /// The vendor's address.
    pub default_base_url: &'static str,
    /// The model that is used when none is named (PROV-9).
    pub default_model: &'static str,
    /// Its models, newest first.
    pub models: &'static [Model],
}

/// A model.
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
}

/// Every provider, the default one first.
pub const PROVIDERS: &[ProviderFacts] = &[anthropic::FACTS];

/// The reply limit for a model the catalogue does not know (DECISIONS 15).
pub const FALLBACK_MAX_TOKENS: u32 = 8192;

/// Returns the provider of that name.
pub fn provider(name: &str) -> Option<&'static ProviderFacts> {
    PROVIDERS.iter().find(|p| p.name == name)
}

impl ProviderFacts {
    /// Returns the model of that id or alias; a date (`-20251001`, `@20251001`) or `-latest` behind it is ignored.
    pub fn model(&self, id: &str) -> Option<&'static Model> {
        let bare = undated(id);
        self.models.iter().find(|m| [id, bare].iter().any(|n| m.id == *n || m.aliases.contains(n)))
    }

    /// Returns the upper bound of a reply: what was asked for, else the model's own limit, else 8192.
    pub fn max_tokens(&self, model: &str, asked: Option<u32>) -> u32 {
        asked.unwrap_or_else(|| self.model(model).map_or(FALLBACK_MAX_TOKENS, |m| m.max_output))
    }

    /// Checks a base URL and returns it without blanks around it and slashes behind it.
    pub fn parse_base_url(&self, value: &str) -> Result<String, BadBaseUrl> {
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
            Err(BadBaseUrl { provider: self.display, value: value.to_owned() })
        }
    }
}

/// A base URL that is none (PROV-4).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Invalid {provider} base URL: {value}")]
pub struct BadBaseUrl {
    /// The provider's name in sentences.
    pub provider: &'static str,
    /// What was given.
    pub value: String,
}

fn undated(id: &str) -> &str {
    let is_date = |s: &str| s.len() == 8 && s.bytes().all(|b| b.is_ascii_digit());
    match id.rsplit_once(['-', '@']) {
        Some((bare, tail)) if tail == "latest" || is_date(tail) => bare,
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
        assert_eq!(id("claude-haiku-4-5-2025"), None);
        assert_eq!(id("claude-opus-4-9"), None);
        assert_eq!(id(""), None);
    }

    #[test]
    fn reply_limits() {
        let facts = provider("anthropic").unwrap();
        assert_eq!(facts.max_tokens("claude-opus-4-1", None), 32_000);
        assert_eq!(facts.max_tokens("claude-opus-4-1", Some(5)), 5);
        assert_eq!(facts.max_tokens("local", None), 8192);
    }

    #[test]
    fn tables_are_consistent() {
        for facts in PROVIDERS {
            assert!(facts.model(facts.default_model).is_some(), "{}", facts.name);
            assert_eq!(facts.parse_base_url(facts.default_base_url).as_deref(), Ok(facts.default_base_url));
            let mut names: Vec<_> =
                facts.models.iter().flat_map(|m| m.aliases.iter().chain([&m.id]).copied()).collect();
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count, "{}: a name is listed twice", facts.name);
            assert!(facts.models.iter().all(|m| m.max_output < m.context_window), "{}", facts.name);
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
