//! The login in a browser: OAuth's authorization code with PKCE on a loopback redirect (AUTH-6).
//!
//! OpenRouter does this for every program. The others want a client id, which vendors do not grant to other programs, so
//! that it comes from the config with the addresses.

use std::io;

use zori_core::failure::ProviderFailure;
use zori_core::secret::{Secret, percent};
use zori_core::time::Clock;
use zori_core::transport::Transport;
use zori_providers::catalog::ProviderFacts;
use zori_providers::oauth::{self, Client};

use crate::LoginSettings;
use crate::grant::Grant;
use crate::listener::{CallbackResult, Listener};
use crate::pkce::Pkce;

/// Where OpenRouter asks its users.
const OPENROUTER: &str = "https://openrouter.ai/auth";

/// Why nobody logged in. No secret is in it; what a server said is as it said it.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// The provider lets no program like this one log in, unless the settings name a client.
    #[error("{display} has no login for programs like this one")]
    Unsupported {
        /// What users know the provider by.
        display: &'static str,
    },
    /// The settings name a client but not all that it needs.
    #[error("the login settings lack {}", .missing.join(" and "))]
    Incomplete {
        /// The settings that are not there.
        missing: Vec<&'static str>,
    },
    /// The port that the browser comes back to failed.
    #[error("cannot listen for the browser: {0}")]
    Listen(#[from] io::Error),
    /// The user or the server refused.
    #[error("the login was refused: {0}")]
    Refused(String),
    /// The code was not exchanged for tokens.
    #[error("the login was not completed: {}", .0.message)]
    Exchange(ProviderFailure),
}

/// How a provider's users log in.
pub enum Flow {
    /// OpenRouter's way: no client id, and a key for the code.
    OpenRouter {
        /// Where users are asked.
        authorize_url: String,
        /// Where the code is exchanged, below this.
        base_url: String,
    },
    /// OAuth as the standard has it.
    OAuth {
        /// Where users are asked.
        authorize_url: String,
        /// What is asked for.
        scopes: Option<String>,
        /// Who asks.
        client: Client,
    },
}

impl Flow {
    /// Returns the flow of a provider, if there is one.
    pub fn of(facts: &ProviderFacts, settings: LoginSettings, base_url: &str) -> Result<Self, LoginError> {
        let LoginSettings { client_id, authorize_url, token_url, scopes } = settings;
        if open_to_all(facts) && client_id.is_none() {
            let authorize_url = authorize_url.unwrap_or_else(|| OPENROUTER.to_owned());
            return Ok(Self::OpenRouter { authorize_url, base_url: base_url.to_owned() });
        }
        match (client_id, authorize_url, token_url) {
            (Some(client_id), Some(authorize_url), Some(token_url)) => {
                Ok(Self::OAuth { authorize_url, scopes, client: Client { client_id, token_url } })
            }
            (None, None, None) => Err(LoginError::Unsupported { display: facts.display }),
            (id, authorize, token) => {
                let keys = [("client_id", &id), ("authorize_url", &authorize), ("token_url", &token)];
                let missing = keys.iter().filter(|(_, value)| value.is_none()).map(|(key, _)| *key).collect();
                Err(LoginError::Incomplete { missing })
            }
        }
    }

    /// Returns the address to open.
    fn url(&self, pkce: &Pkce, redirect_uri: &str) -> String {
        let challenge = pkce.challenge();
        let mut query = vec![("code_challenge", challenge.as_str()), ("code_challenge_method", "S256")];
        let address = match self {
            Self::OpenRouter { authorize_url, .. } => {
                query.insert(0, ("callback_url", redirect_uri));
                authorize_url
            }
            Self::OAuth { authorize_url, scopes, client } => {
                query.extend([
                    ("response_type", "code"),
                    ("client_id", client.client_id.as_str()),
                    ("redirect_uri", redirect_uri),
                    ("state", pkce.state.reveal()),
                ]);
                query.extend(scopes.as_deref().map(|scopes| ("scope", scopes)));
                authorize_url
            }
        };
        let query: Vec<_> = query.iter().map(|(name, value)| format!("{name}={}", percent(value))).collect();
        let mark = if address.contains('?') { '&' } else { '?' };
        format!("{address}{mark}{}", query.join("&"))
    }

    async fn exchange(
        &self,
        transport: &dyn Transport,
        code: &Secret,
        pkce: &Pkce,
        redirect_uri: &str,
        clock: &dyn Clock,
    ) -> Result<Grant, ProviderFailure> {
        match self {
            Self::OpenRouter { base_url, .. } => {
                oauth::openrouter_key(transport, base_url, code, &pkce.verifier).await.map(Grant::api_key)
            }
            Self::OAuth { client, .. } => {
                let tokens = client.exchange(transport, code, &pkce.verifier, redirect_uri).await?;
                Ok(Grant::oauth(tokens, clock.now()))
            }
        }
    }
}

/// Returns whether a provider has a login for every program, without a client id.
pub fn open_to_all(facts: &ProviderFacts) -> bool {
    facts.name == "openrouter"
}

/// Logs in. `show` gets the address as soon as somebody can come back from it. Dropping the future gives up.
pub async fn login(
    flow: &Flow,
    pkce: Pkce,
    transport: &dyn Transport,
    clock: &dyn Clock,
    show: impl FnOnce(&str),
) -> Result<Grant, LoginError> {
    let listener = match flow {
        Flow::OpenRouter { .. } => Listener::with_secret_path(&pkce.state).await?,
        Flow::OAuth { .. } => Listener::open(&pkce.state, None).await?,
    };
    let redirect_uri = listener.redirect_uri();
    show(&flow.url(&pkce, &redirect_uri));
    let brought = listener.wait().await?;
    // Nobody else has any business here.
    drop(listener);
    match brought {
        CallbackResult::Code { code, .. } => {
            let exchanged = flow.exchange(transport, &code, &pkce, &redirect_uri, clock).await;
            exchanged.map_err(LoginError::Exchange)
        }
        CallbackResult::Refused(why) => Err(LoginError::Refused(why)),
    }
}
