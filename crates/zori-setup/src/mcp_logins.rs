//! Logins to MCP servers, kept where the program keeps logins: the credential store, else a vault that the user made (MCP-82).

use std::sync::{Arc, Mutex, PoisonError};

use zori_auth::LOOKUP;
use zori_auth::grant::{Grant, Kind};
use zori_auth::store::{CredentialStore, StoreError};
use zori_core::secret::{Secret, Secrets};
use zori_host::SystemClock;
use zori_mcp::client::oauth::bearer::LoginParts;
use zori_mcp::client::oauth::{Login, Logins};

use crate::config::Config;
use crate::credentials;
use crate::environment::Environment;

/// The logins of a run. Nothing is opened before one is wanted.
pub struct StoredLogins {
    config: Config,
    env: Environment,
    secrets: Secrets,
    opened: Mutex<Option<Arc<dyn CredentialStore>>>,
}

/// Returns where logins to servers are kept. What is read there is taken out of whatever is printed.
pub fn parts(config: &Config, env: &Environment, secrets: &Secrets) -> LoginParts {
    let logins = StoredLogins {
        config: config.clone(),
        env: env.clone(),
        secrets: secrets.clone(),
        opened: Mutex::new(None),
    };
    LoginParts { logins: Arc::new(logins), clock: Arc::new(SystemClock::new()) }
}

impl StoredLogins {
    fn store(&self) -> Result<Arc<dyn CredentialStore>, StoreError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        match &*opened {
            Some(store) => Ok(store.clone()),
            None => Ok(opened.insert(credentials::open(&self.config, &self.env)?).clone()),
        }
    }

    fn tell(&self, login: &Login) {
        self.secrets.add(&login.access);
        login.refresh.iter().for_each(|secret| self.secrets.add(secret));
        login.terms.client.secret.iter().for_each(|secret| self.secrets.add(&secret.as_str().into()));
    }

    fn read(&self, account: &str) -> Result<Option<Login>, StoreError> {
        let unreadable = |why| StoreError::Entry { account: account.to_owned(), why };
        let Some(grant) = self.store()?.get(account, LOOKUP)? else { return Ok(None) };
        let more = grant.more.ok_or_else(|| unreadable("it is no login to an MCP server"))?;
        let terms = serde_json::from_str(more.reveal())
            .map_err(|_| unreadable("it does not say who got its tokens"))?;
        let login =
            Login { access: grant.access, refresh: grant.refresh, expires_at: grant.expires_at, terms };
        self.tell(&login);
        Ok(Some(login))
    }
}

impl Logins for StoredLogins {
    fn get(&self, account: &str) -> Result<Option<Login>, String> {
        self.read(account).map_err(|error| error.to_string())
    }

    fn set(&self, account: &str, login: &Login) -> Result<(), String> {
        self.tell(login);
        let terms = serde_json::to_string(&login.terms).expect("texts are JSON");
        let grant = Grant {
            kind: Kind::OAuth,
            access: login.access.clone(),
            refresh: login.refresh.clone(),
            expires_at: login.expires_at,
            more: Some(Secret::from(terms)),
        };
        self.store().and_then(|store| store.set(account, &grant)).map_err(|error| error.to_string())
    }

    fn erase(&self, account: &str) -> Result<(), String> {
        self.store().and_then(|store| store.erase(account)).map_err(|error| error.to_string())
    }
}
