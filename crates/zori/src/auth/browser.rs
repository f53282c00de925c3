//! The login in a browser: OAuth's authorization code with PKCE on a loopback redirect (AUTH-6).
//!
//! OpenRouter does this for every program. The others want a client id, which vendors do not grant to other programs, so
//! that it comes from the config with the addresses.

use std::process::{Command, Stdio};

use zori_contract::error::IO_ERROR;
use zori_contract::failure::Failure;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::secret::{Secret, percent};
use zori_core::text;
use zori_core::time::Clock;
use zori_core::transport::Transport;
use zori_providers::catalog::ProviderFacts;
use zori_providers::oauth::{self, Client};

use crate::auth::grant::Grant;
use crate::auth::listener::{Brought, Listener};
use crate::auth::pkce::Pkce;
use crate::child_env::ChildEnv;
use crate::config::Config;
use crate::error::{LOGIN_FAILED, LOGIN_UNAVAILABLE, LOGIN_UNREADABLE, SETTING_INVALID};

/// Where OpenRouter asks its users.
const OPENROUTER: &str = "https://openrouter.ai/auth";
/// How much of a server's own words is repeated.
const MAX_TOLD: usize = 300;

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
    /// Returns the flow of a provider, if there is one. `program` is our own name, for advice.
    pub fn of(
        facts: &ProviderFacts,
        config: &Config,
        base_url: &str,
        program: &str,
    ) -> Result<Self, Failure> {
        let setting = |key| config.login(facts.name, key).map(str::to_owned);
        if open_to_all(facts) && setting("client_id").is_none() {
            let authorize_url = setting("authorize_url").unwrap_or_else(|| OPENROUTER.to_owned());
            return Ok(Self::OpenRouter { authorize_url, base_url: base_url.to_owned() });
        }
        let (name, display) = (facts.name, facts.display);
        match (setting("client_id"), setting("authorize_url"), setting("token_url")) {
            (Some(client_id), Some(authorize_url), Some(token_url)) => Ok(Self::OAuth {
                authorize_url,
                scopes: setting("scopes"),
                client: Client { client_id, token_url },
            }),
            (None, None, None) => {
                let message = format!("{display} has no login for programs like this one");
                Err(Failure::new(&SETTING_INVALID, message)
                    .hint(format!("`{program} auth login --provider {name} --with-token` takes a key from standard input"))
                    .hint(format!(
                        "with a client id of your own: `client_id`, `authorize_url` and `token_url` in [auth.{name}] of the config file"
                    ))
                    .hint(format!("`{program} auth login --provider openrouter` needs neither")))
            }
            (id, authorize, token) => {
                let keys = [("client_id", &id), ("authorize_url", &authorize), ("token_url", &token)];
                let missing: Vec<_> = keys
                    .iter()
                    .filter(|(_, value)| value.is_none())
                    .map(|(key, _)| format!("`{key}`"))
                    .collect();
                let message = format!("[auth.{name}] in the config file lacks {}", missing.join(" and "));
                Err(Failure::new(&SETTING_INVALID, message).hint(format!(
                    "`{program} auth login --provider {name} --with-token` takes a key from standard input"
                )))
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
    transport: &dyn Transport,
    clock: &dyn Clock,
    show: impl FnOnce(&str),
) -> Result<Grant, Failure> {
    let pkce = Pkce::new();
    let port =
        |error: std::io::Error| Failure::new(&IO_ERROR, format!("cannot listen for the browser: {error}"));
    let listener =
        Listener::open(&pkce.state, matches!(flow, Flow::OpenRouter { .. })).await.map_err(port)?;
    let redirect_uri = listener.redirect_uri();
    show(&flow.url(&pkce, &redirect_uri));
    let brought = listener.wait().await.map_err(port)?;
    // Nobody else has any business here.
    drop(listener);
    match brought {
        Brought::Code(code) => {
            flow.exchange(transport, &code, &pkce, &redirect_uri, clock).await.map_err(|f| failed(&f))
        }
        Brought::Refused(why) => {
            let message = format!("the login was refused: {}", told(&why));
            Err(Failure::new(&LOGIN_FAILED, message).hint("nothing was stored; try again to allow it"))
        }
    }
}

/// Says why a code was not exchanged.
fn failed(failure: &ProviderFailure) -> Failure {
    let code = match (failure.status, failure.kind) {
        (Some(400..=403), _) => &LOGIN_FAILED,
        (Some(408 | 429 | 500..), _) | (None, FailureKind::Timeout | FailureKind::Transport) => {
            &LOGIN_UNAVAILABLE
        }
        _ => &LOGIN_UNREADABLE,
    };
    Failure::new(code, format!("the login was not completed: {}", told(&failure.message)))
        .hint("nothing was stored")
}

fn told(words: &str) -> String {
    text::prefix(&text::one_line(words), MAX_TOLD).to_owned()
}

/// Tries to open the address in the user's browser; whether that works, the user sees.
pub fn open(url: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    ChildEnv::keys_only().apply(&mut command);
    if let Ok(mut child) = command.spawn() {
        // Reaped when it ends, which may be after us.
        std::thread::spawn(move || child.wait());
    }
}
