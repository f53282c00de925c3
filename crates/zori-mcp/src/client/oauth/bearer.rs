//! The token of one server: looked up when it is first needed, renewed a minute before its end or once it is refused, by one process at a
//! time (MCP-82).

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use zori_core::secret::Secret;
use zori_core::time::Clock;
use zori_core::transport::Transport;

use super::challenge::Challenge;
use super::login::LoginError;
use super::{Login, Logins, OauthSettings, account};
use crate::client::config::{ServerConfig, Way};
use crate::client::known::KnownServers;

/// A token that ends so soon is renewed first, in seconds.
const EARLY: i64 = 60;
/// So long another process may take to renew a token.
const LOCK_WAIT: Duration = Duration::from_secs(30);

/// Where logins are kept, and what tells when they end.
#[derive(Clone)]
pub struct LoginParts {
    /// Where they are kept.
    pub logins: Arc<dyn Logins>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
}

/// The login to one server.
pub struct Bearer {
    identity: String,
    url: String,
    settings: OauthSettings,
    known: KnownServers,
    parts: LoginParts,
    state: Mutex<State>,
    /// One renewal at a time: a server that rotates refresh tokens takes each but once.
    turnstile: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    looked: bool,
    login: Option<Login>,
    challenge: Option<Challenge>,
}

impl Bearer {
    /// Returns the login to a server: one over HTTP whose requests carry no token that somebody configured.
    pub fn of(server: &ServerConfig, known: KnownServers, parts: LoginParts) -> Option<Self> {
        let Way::Http { url, headers, .. } = &server.way else { return None };
        if headers.keys().any(|name| name.eq_ignore_ascii_case("authorization")) {
            return None;
        }
        Some(Self {
            identity: server.identity(),
            url: url.clone(),
            settings: server.oauth.clone(),
            known,
            parts,
            state: Mutex::default(),
            turnstile: tokio::sync::Mutex::default(),
        })
    }

    /// Returns the server's address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns what the config says about logins to it.
    pub fn settings(&self) -> &OauthSettings {
        &self.settings
    }

    /// Returns what the server said when it last wanted a login.
    pub fn challenge(&self) -> Option<Challenge> {
        self.lock().challenge.clone()
    }

    /// Returns what was asked for at the last login, and what it was not good for.
    pub fn scopes(&self) -> Vec<String> {
        let granted = self.stored().ok().flatten().map(|login| login.terms.scope).unwrap_or_default();
        let mut scopes: Vec<String> = granted.split_whitespace().map(str::to_owned).collect();
        for scope in self.known.get(&self.identity).scopes {
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
        scopes
    }

    /// Keeps a login. Blocks.
    pub fn keep(&self, login: &Login) -> Result<(), String> {
        self.parts.logins.set(&account(&self.url, &login.terms.issuer), login)?;
        let before = self.known.get(&self.identity).issuer;
        if let Some(before) = before.filter(|before| *before != login.terms.issuer) {
            // Tokens of somebody who does not give them out any more are of no use to anybody.
            self.parts.logins.erase(&account(&self.url, &before))?;
        }
        self.known.change(&self.identity, |known| {
            known.issuer = Some(login.terms.issuer.clone());
            known.scopes.clear();
        });
        let mut state = self.lock();
        *state = State { looked: true, login: Some(login.clone()), challenge: None };
        Ok(())
    }

    /// Forgets the login. Returns whether there was one. Blocks.
    pub fn forget(&self) -> Result<bool, String> {
        let Some(issuer) = self.known.get(&self.identity).issuer else { return Ok(false) };
        let account = account(&self.url, &issuer);
        let there = self.parts.logins.get(&account)?.is_some();
        self.parts.logins.erase(&account)?;
        self.known.change(&self.identity, |known| {
            known.issuer = None;
            known.scopes.clear();
        });
        *self.lock() = State { looked: true, ..State::default() };
        Ok(there)
    }

    /// Looks for a login anew before the next request: somebody may have logged in beside this program.
    pub fn look_again(&self) {
        *self.lock() = State::default();
    }

    /// Returns what is stored. Nobody is asked where nobody ever logged in.
    fn stored(&self) -> Result<Option<Login>, String> {
        match self.known.get(&self.identity).issuer {
            Some(issuer) => self.parts.logins.get(&account(&self.url, &issuer)),
            None => Ok(None),
        }
    }

    /// Returns the token that a request carries, renewed if it is about to end.
    pub(in crate::client) async fn token(
        self: &Arc<Self>,
        transport: &dyn Transport,
    ) -> Result<Option<Secret>, LoginError> {
        if !self.lock().looked {
            let own = self.clone();
            let found = tokio::task::spawn_blocking(move || own.stored()).await;
            let found = found.unwrap_or_else(|_| Err("the credential store panicked".to_owned()));
            let found = found.map_err(LoginError::Refused)?;
            let mut state = self.lock();
            if !state.looked {
                (state.looked, state.login) = (true, found);
            }
        }
        let Some(login) = self.lock().login.clone() else { return Ok(None) };
        let ends = login.expires_at.is_some_and(|end| end.0 - EARLY <= self.parts.clock.now().0);
        if !ends {
            return Ok(Some(login.access));
        }
        self.renewed(&login, transport).await.map(|login| Some(login.access))
    }

    /// Returns another token than the one that was refused.
    pub(in crate::client) async fn after_refusal(
        self: &Arc<Self>,
        refused: &Secret,
        transport: &dyn Transport,
    ) -> Result<Option<Secret>, LoginError> {
        let login = self.lock().login.clone();
        match login {
            Some(login) if login.access != *refused => Ok(Some(login.access)),
            Some(login) if login.refresh.is_some() => {
                self.renewed(&login, transport).await.map(|login| Some(login.access))
            }
            _ => Ok(None),
        }
    }

    /// Remembers what the server said when it wanted a login, or a better one.
    pub(in crate::client) fn challenged(&self, challenge: Challenge) {
        if challenge.wants_more_scope()
            && let Some(scope) = &challenge.scope
        {
            self.known.change(&self.identity, |known| {
                for word in scope.split_whitespace() {
                    if known.scopes.len() < 64 && !known.scopes.iter().any(|scope| scope == word) {
                        known.scopes.push(word.to_owned());
                    }
                }
            });
        }
        self.lock().challenge = Some(challenge);
    }

    /// Returns a login that is newer than `old`: another process may have renewed it meanwhile.
    async fn renewed(self: &Arc<Self>, old: &Login, transport: &dyn Transport) -> Result<Login, LoginError> {
        let _turn = self.turnstile.lock().await;
        if let Some(login) = self.lock().login.clone().filter(|login| login != old) {
            return Ok(login);
        }
        let own = self.clone();
        let locked = tokio::task::spawn_blocking(move || {
            let lock = own.lock_file();
            (lock, own.stored())
        });
        let (lock, stored) = locked.await.unwrap_or_else(|_| (None, Ok(None)));
        let login = match stored {
            Ok(Some(stored)) if stored != *old => stored,
            _ => {
                let renewed = old.renewed(transport, self.parts.clock.now()).await;
                if matches!(renewed, Err(LoginError::TokenRefused(_))) {
                    self.lock().login = None;
                }
                let login = renewed?;
                let (own, kept) = (self.clone(), login.clone());
                let account = account(&self.url, &login.terms.issuer);
                // A store that fails costs the next run a login. This one has its token.
                let _ = tokio::task::spawn_blocking(move || own.parts.logins.set(&account, &kept)).await;
                login
            }
        };
        drop(lock);
        self.lock().login = Some(login.clone());
        Ok(login)
    }

    /// Waits until no other process renews a login. Without the file, or after too long, it is done all the same.
    fn lock_file(&self) -> Option<File> {
        let folder = self.known.folder()?;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).ok()?;
        let mut options = File::options();
        let file = options
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(folder.join("login.lock"))
            .ok()?;
        match file.try_lock() {
            Ok(()) => Some(file),
            Err(_) => locked_within(file, LOCK_WAIT),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for a lock that somebody else has, on a thread that may wait; `None` after too long. The lock is given up where nobody waits for it any
/// more.
fn locked_within(file: File, limit: Duration) -> Option<File> {
    let (locked, waiting) = mpsc::channel();
    let wait = move || {
        while let Err(error) = file.lock() {
            if error.kind() != ErrorKind::Interrupted {
                return;
            }
        }
        let _ = locked.send(file);
    };
    std::thread::Builder::new().name("mcp-login-lock".into()).spawn(wait).ok()?;
    waiting.recv_timeout(limit).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_waited_for_and_given_up() {
        let path = std::env::temp_dir().join(format!("zori-login-lock-{}", std::process::id()));
        let open = || File::options().write(true).create(true).truncate(false).open(&path).unwrap();
        let held = open();
        held.lock().unwrap();
        assert!(locked_within(open(), Duration::from_millis(20)).is_none());
        let waiting = std::thread::spawn({
            let file = open();
            move || locked_within(file, Duration::from_secs(60)).is_some()
        });
        drop(held);
        assert!(waiting.join().unwrap());
        // Whoever stopped waiting does not keep it.
        assert!(locked_within(open(), Duration::from_secs(60)).is_some());
        std::fs::remove_file(&path).unwrap();
    }
}
