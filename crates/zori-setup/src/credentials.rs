//! The credential store as config and environment say it, for `zori_auth`, which knows neither.

use std::sync::Arc;

use zori_auth::helper_program::HelperPrograms;
use zori_auth::store::{self, CredentialStore, DesktopSession, StoreError};
use zori_auth::{Credentials, LoginSettings, Stored};
use zori_host::{ChildEnvironment, SystemClock};
use zori_providers::catalog::ProviderFacts;

use crate::child_env::ChildEnv;
use crate::config::Config;
use crate::environment::Environment;
use crate::vault::VaultStore;

/// Opens where logins are kept: a store, or where there is none a vault that the user made (DECISIONS 65).
pub fn open(config: &Config, env: &Environment) -> Result<Arc<dyn CredentialStore>, StoreError> {
    match open_store(config, env) {
        Err(StoreError::Missing) => match VaultStore::find(config) {
            Some(vault) => Ok(Arc::new(vault)),
            None => Err(StoreError::Missing),
        },
        opened => opened,
    }
}

/// Opens the store: the program of `credential_helper`, else the operating system's.
pub fn open_store(config: &Config, env: &Environment) -> Result<Arc<dyn CredentialStore>, StoreError> {
    store::open(config.text("credential_helper"), &helper_programs(env), &desktop_session(env))
}

/// Looks for a provider's grant. A machine without a store has none.
pub fn find(facts: &ProviderFacts, config: &Config, env: &Environment) -> Result<Option<Stored>, StoreError> {
    search(config, env, |credentials| credentials.find(facts))
}

/// Looks for the grant of the first provider that needs one and has one.
pub fn find_any(
    config: &Config,
    env: &Environment,
) -> Result<Option<(&'static ProviderFacts, Stored)>, StoreError> {
    search(config, env, |credentials| credentials.find_any())
}

/// Returns what `[auth.PROVIDER]` of the config file says.
pub fn login_settings(config: &Config, provider: &str) -> LoginSettings {
    let text = |key| config.login(provider, key).map(str::to_owned);
    LoginSettings {
        client_id: text("client_id"),
        authorize_url: text("authorize_url"),
        token_url: text("token_url"),
        scopes: text("scopes"),
    }
}

/// Returns the way to start programs that know secrets themselves: they get no provider's key and none of our settings.
pub fn helper_programs(env: &Environment) -> HelperPrograms {
    HelperPrograms::new(ChildEnv::keys_only(env).removed())
}

fn search<T>(
    config: &Config,
    env: &Environment,
    find: impl FnOnce(&Credentials<'_>) -> Result<Option<T>, StoreError>,
) -> Result<Option<T>, StoreError> {
    let store = match open(config, env) {
        Err(StoreError::Missing) => return Ok(None),
        opened => opened?,
    };
    let logins = |provider: &str| login_settings(config, provider);
    find(&Credentials { store, logins: &logins, clock: &SystemClock::new() })
}

fn desktop_session(env: &Environment) -> DesktopSession {
    DesktopSession {
        bus_named: env.path("DBUS_SESSION_BUS_ADDRESS").is_some(),
        runtime_dir: env.path("XDG_RUNTIME_DIR"),
    }
}
