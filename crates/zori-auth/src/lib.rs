//! Credentials beyond the environment: where they are kept, how one logs in, how a login is renewed (AUTH-1 to AUTH-7).
//!
//! A [`grant::Grant`] is what is kept. A [`store::CredentialStore`] keeps it: the operating system's (`os_store`) or a
//! program of the user's (`helper_store`). [`browser`] is the login in a browser, with `pkce` for its secrets and
//! `listener` for the answer. [`renewing::Renewing`] is a provider whose token is renewed. [`helper_program`] runs
//! programs that print a token. [`Credentials`] looks for a provider's grant.
//!
//! The crate reads no environment, no clock and no random source, and prints nothing: the caller hands in values.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod browser;
pub mod grant;
pub mod helper_program;
mod helper_store;
pub mod listener;
mod os_store;
pub mod pkce;
pub mod renewing;
pub mod store;

use std::sync::Arc;
use std::time::Duration;

use zori_core::time::Clock;
use zori_providers::catalog::{PROVIDERS, ProviderFacts};
use zori_providers::oauth::Client;
use zori_providers::quirks::KeyNeed;

use crate::grant::Grant;
use crate::renewing::Renewal;
use crate::store::{CredentialStore, StoreError};

/// How long a run looks into the store, all told.
pub const LOOKUP: Duration = Duration::from_secs(2);

/// What the user's settings say about the login of one provider. Nothing in it is blank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoginSettings {
    /// The id the vendor granted to the user's own client.
    pub client_id: Option<String>,
    /// Where the browser asks the user.
    pub authorize_url: Option<String>,
    /// Where a code or a refresh token is exchanged for tokens.
    pub token_url: Option<String>,
    /// What the login asks for, separated by blanks.
    pub scopes: Option<String>,
}

/// A grant that was found in the store, and how it is renewed.
pub struct Stored {
    pub grant: Grant,
    /// How it is renewed, where it can be.
    pub renewal: Option<Renewal>,
}

/// Returns the name a provider's grant is kept under. Providers that share a variable share a grant.
pub fn account(facts: &ProviderFacts) -> &'static str {
    let first = PROVIDERS.iter().find(|first| first.key_var == facts.key_var);
    // A provider that the user has named is not in the table.
    first.map_or(facts.name, |first| first.name)
}

/// Returns the providers whose grants are kept, each account once.
pub fn accounts() -> impl Iterator<Item = &'static ProviderFacts> {
    PROVIDERS.iter().filter(|facts| account(facts) == facts.name)
}

/// Looks for grants in a store.
pub struct Credentials<'a> {
    /// Where they are kept.
    pub store: Arc<dyn CredentialStore>,
    /// Returns the login settings of a provider, by its name.
    pub logins: &'a dyn Fn(&str) -> LoginSettings,
    /// Bounds the search.
    pub clock: &'a dyn Clock,
}

impl Credentials<'_> {
    /// Looks for a provider's grant.
    pub fn find(&self, facts: &ProviderFacts) -> Result<Option<Stored>, StoreError> {
        Ok(self.first([facts])?.map(|(_, stored)| stored))
    }

    /// Looks for the grant of the first provider that needs one and has one.
    pub fn find_any(&self) -> Result<Option<(&'static ProviderFacts, Stored)>, StoreError> {
        self.first(accounts().filter(|facts| facts.api.key_need() == KeyNeed::Required))
    }

    fn first<'f>(
        &self,
        providers: impl IntoIterator<Item = &'f ProviderFacts>,
    ) -> Result<Option<(&'f ProviderFacts, Stored)>, StoreError> {
        let start = self.clock.elapsed();
        for facts in providers {
            let left = LOOKUP.saturating_sub(self.clock.elapsed().saturating_sub(start));
            let Some(grant) = self.store.get(account(facts), left)? else { continue };
            return Ok(Some((facts, Stored { grant, renewal: self.renewal(facts) })));
        }
        Ok(None)
    }

    /// Returns how a provider's login is renewed, where the settings say it. Providers of one account share them.
    fn renewal(&self, facts: &ProviderFacts) -> Option<Renewal> {
        let (own, shared) = ((self.logins)(facts.name), (self.logins)(account(facts)));
        let client_id = own.client_id.or(shared.client_id)?;
        let token_url = own.token_url.or(shared.token_url)?;
        let client = Client { client_id, token_url };
        Some(Renewal { account: account(facts), store: self.store.clone(), client })
    }
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
