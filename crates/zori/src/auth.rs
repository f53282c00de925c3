//! Credentials beyond the environment: where they are kept, how they are had, how they are renewed (AUTH-1 to AUTH-7).
//!
//! `grant` is what is kept; `store` keeps it, in the operating system's store (`os_store`) or behind a program of the
//! user's (`helper_store`). A login in the browser is `browser`, with `pkce` for its secrets and `listener` for the
//! answer. `renewing` is a provider whose token is renewed. The commands are in `commands/auth.rs`.

pub mod browser;
pub mod grant;
mod helper_store;
mod listener;
mod os_store;
mod pkce;
pub mod renewing;
pub mod store;
pub mod token_input;

use std::time::{Duration, Instant};

use zori_providers::catalog::{PROVIDERS, ProviderFacts};
use zori_providers::oauth::Client;
use zori_providers::quirks::KeyNeed;

use crate::auth::grant::Grant;
use crate::auth::renewing::Renewal;
use crate::auth::store::StoreFailure;
use crate::config::Config;

/// How long a run looks into the store, all told.
pub const LOOKUP: Duration = Duration::from_secs(2);

/// A grant that was found in the store, and how it is renewed.
pub struct Stored {
    /// The grant.
    pub grant: Grant,
    /// How it is renewed, where it can be.
    pub renewal: Option<Renewal>,
}

/// Returns the name a provider's grant is kept under. Providers that share a variable share a grant.
pub fn account(facts: &ProviderFacts) -> &'static str {
    let first = PROVIDERS.iter().find(|first| first.key_var == facts.key_var);
    first.expect("a provider of the catalogue is in it").name
}

/// Returns the providers whose grants are kept, each account once.
pub fn accounts() -> impl Iterator<Item = &'static ProviderFacts> {
    PROVIDERS.iter().filter(|facts| account(facts) == facts.name)
}

/// Looks for a provider's grant.
pub fn find(facts: &ProviderFacts, config: &Config) -> Result<Option<Stored>, StoreFailure> {
    Ok(first([facts], config)?.map(|(_, stored)| stored))
}

/// Looks for the grant of the first provider that needs one and has one.
pub fn find_any(config: &Config) -> Result<Option<(&'static ProviderFacts, Stored)>, StoreFailure> {
    first(accounts().filter(|facts| facts.api.key_need() == KeyNeed::Required), config)
}

fn first<'a>(
    providers: impl IntoIterator<Item = &'a ProviderFacts>,
    config: &Config,
) -> Result<Option<(&'a ProviderFacts, Stored)>, StoreFailure> {
    let Some(store) = store::open(config) else { return Ok(None) };
    let until = Instant::now() + LOOKUP;
    for facts in providers {
        let left = until.saturating_duration_since(Instant::now());
        let Some(grant) = store.get(account(facts), left)? else { continue };
        let setting = |key| config.login(facts.name, key).or_else(|| config.login(account(facts), key));
        let renewal = setting("client_id").zip(setting("token_url")).map(|(id, url)| Renewal {
            account: account(facts),
            store: store.clone(),
            client: Client { client_id: id.to_owned(), token_url: url.to_owned() },
        });
        return Ok(Some((facts, Stored { grant, renewal })));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use zori_providers::catalog;

    use super::*;

    #[test]
    fn providers_with_one_key_have_one_account() {
        let names = |facts: &[&str]| facts.iter().map(|n| account(catalog::provider(n).unwrap())).collect();
        let got: Vec<_> = names(&["openai", "codex", "anthropic"]);
        assert_eq!(got, ["openai", "openai", "anthropic"]);
        assert!(accounts().all(|facts| facts.name != "codex"));
    }
}
