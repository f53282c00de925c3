//! Providers that a user names in their config file (DECISIONS 47).

#[cfg(feature = "http")]
use super::own::leak;
#[cfg(feature = "http")]
use super::{Api, Custom, ProviderFacts, SERVED, anthropic, gemini, openai, provider};
#[cfg(feature = "http")]
use crate::quirks;

/// What a user says of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedProvider {
    /// What `--provider` takes.
    pub name: String,
    /// Which API it speaks: `anthropic`, `openai`, `openai-chat` or `gemini`.
    pub api: String,
    /// Its address, perhaps with a query.
    pub base_url: String,
    /// The environment variable that holds its key; `None` where it needs none.
    pub key_env: Option<String>,
    /// Headers beside the key.
    pub headers: Vec<(String, String)>,
    /// Its models; the first is the default.
    pub models: Vec<String>,
}

/// Why what a user says of a provider cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadProvider {
    /// The name would not do as a flag's value.
    #[error("a name has lower-case letters, digits and dashes")]
    Name,
    /// It is the name of a provider that there is.
    #[error("the name is taken: `{0}` is built in")]
    Taken(String),
    /// There is no such API.
    #[error("`api` must be one of `anthropic`, `openai`, `openai-chat` and `gemini`, not `{0}`")]
    Api(String),
    /// The address cannot be used.
    #[error("`base_url` must be an address like `https://example.com/v1`, not `{0}`")]
    BaseUrl(String),
    /// The variable's name cannot be one.
    #[error("`key_env` must be the name of an environment variable, not `{0}`")]
    KeyEnv(String),
    /// A header's name or value cannot be sent.
    #[error("the header `{0}` cannot be sent")]
    Header(String),
}

impl NamedProvider {
    /// Returns the provider as the catalogue lists it. It lives as long as the program, and is made once.
    #[cfg(feature = "http")]
    pub fn resolve(&self) -> Result<&'static ProviderFacts, BadProvider> {
        let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if self.name.is_empty() || !self.name.bytes().all(fits) {
            return Err(BadProvider::Name);
        }
        if provider(&self.name).is_some() {
            return Err(BadProvider::Taken(self.name.clone()));
        }
        let needs_key = self.key_env.is_some();
        let like = match self.api.as_str() {
            "anthropic" => anthropic::FACTS,
            "openai" => openai::FACTS,
            "openai-chat" => {
                let quirks = if needs_key { &quirks::VENDOR } else { &quirks::COMPAT };
                ProviderFacts { api: Api::OpenAiChat(quirks), ..openai::CHAT }
            }
            "gemini" => gemini::FACTS,
            other => return Err(BadProvider::Api(other.to_owned())),
        };
        let bad_url = || BadProvider::BaseUrl(self.base_url.clone());
        let (address, query) = self.base_url.trim().split_once('?').unwrap_or((self.base_url.trim(), ""));
        let base_url = like.parse_base_url(address).map_err(|_| bad_url())?;
        if query.contains(['#', ' ']) {
            return Err(bad_url());
        }
        let upper = self.name.to_uppercase().replace('-', "_");
        let key_var = self.key_env.clone().unwrap_or_else(|| format!("{upper}_API_KEY"));
        let is_variable = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if key_var.is_empty() || !is_variable(&key_var) {
            return Err(BadProvider::KeyEnv(key_var));
        }
        for (name, value) in &self.headers {
            let named = !name.is_empty()
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
            if !named || !value.bytes().all(|b| b == b' ' || b.is_ascii_graphic()) {
                return Err(BadProvider::Header(name.clone()));
            }
        }
        let headers: Vec<_> =
            self.headers.iter().map(|(name, value)| (leak(&name.to_lowercase()), leak(value))).collect();
        let custom = Custom { headers: headers.leak(), query: leak(query) };
        // What is known of a model of the same name and API is likely to hold.
        let facts = ProviderFacts {
            name: leak(&self.name),
            display: leak(&self.name),
            key_var: leak(&key_var),
            base_url_var: leak(&format!("{upper}_BASE_URL")),
            base_url_key: "",
            default_base_url: leak(&base_url),
            default_model: self.models.first().map_or(SERVED, |model| leak(model)),
            custom: Some(Box::leak(Box::new(custom))),
            ..like
        };
        Ok(Box::leak(Box::new(facts)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named() -> NamedProvider {
        NamedProvider {
            name: "acme".into(),
            api: "openai-chat".into(),
            base_url: "https://llm.acme.example/v1/?api-version=2".into(),
            key_env: Some("ACME_KEY".into()),
            headers: vec![("X-Team".into(), "tools".into())],
            models: vec!["acme-large".into(), "acme-small".into()],
        }
    }

    #[test]
    fn a_provider_of_ones_own() {
        let facts = named().resolve().unwrap();
        assert_eq!(
            (facts.name, facts.key_var, facts.default_base_url, facts.default_model),
            ("acme", "ACME_KEY", "https://llm.acme.example/v1", "acme-large")
        );
        let custom = Custom { headers: &[("x-team", "tools")], query: "api-version=2" };
        assert_eq!(facts.custom, Some(&custom));
        let local = NamedProvider { key_env: None, models: Vec::new(), ..named() }.resolve().unwrap();
        assert_eq!((local.default_model, local.key_var), (SERVED, "ACME_API_KEY"));
        assert_eq!(local.api.key_need(), quirks::KeyNeed::Optional);
    }

    #[test]
    fn what_cannot_be() {
        let said = |named: NamedProvider| named.resolve().unwrap_err().to_string();
        assert_eq!(
            said(NamedProvider { name: "A b".into(), ..named() }),
            "a name has lower-case letters, digits and dashes"
        );
        assert_eq!(
            said(NamedProvider { name: "openai".into(), ..named() }),
            "the name is taken: `openai` is built in"
        );
        assert_eq!(
            said(NamedProvider { api: "grpc".into(), ..named() }),
            "`api` must be one of `anthropic`, `openai`, `openai-chat` and `gemini`, not `grpc`"
        );
        assert_eq!(
            said(NamedProvider { base_url: "llm.example".into(), ..named() }),
            "`base_url` must be an address like `https://example.com/v1`, not `llm.example`"
        );
        assert_eq!(
            said(NamedProvider { key_env: Some("sk-123".into()), ..named() }),
            "`key_env` must be the name of an environment variable, not `sk-123`"
        );
        let headers = vec![("a b".to_owned(), "x".to_owned())];
        assert_eq!(said(NamedProvider { headers, ..named() }), "the header `a b` cannot be sent");
    }
}
