//! Logins to servers by OAuth (MCP-80 to MCP-82): who gives out tokens for a server, what is kept of a login, and how it is renewed.
//!
//! [`login::LoginRequest`] finds out where a user is asked and makes the address to open; [`login::PendingLogin`] turns what comes back
//! into a [`Login`]. [`bearer`] puts the token into requests, and renews it. Browsers, ports and stores are the caller's.

pub mod bearer;
pub mod challenge;
mod client;
mod discovery;
mod fetch;
pub mod login;

use serde::{Deserialize, Serialize};
use zori_core::secret::Secret;
use zori_core::time::Timestamp;

pub use self::challenge::Challenge;
pub use self::login::{LoginError, LoginRequest, PendingLogin};

/// What the user's config says about logins to a server.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OauthSettings {
    /// The id of a client that was registered by hand.
    pub client_id: Option<String>,
    /// Its secret, where it has one.
    pub client_secret: Option<String>,
    /// Where a document says who this client is, for servers that read such documents.
    pub client_metadata_url: Option<String>,
    /// What is asked for, instead of what the server says.
    pub scopes: Option<String>,
    /// The port that the browser comes back to.
    pub callback_port: Option<u16>,
}

/// A login: its tokens, and what renews them.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// What requests carry.
    pub access: Secret,
    /// What is exchanged for the next access token.
    pub refresh: Option<Secret>,
    /// When the access token ends.
    pub expires_at: Option<Timestamp>,
    /// Who got the tokens, and where. It holds the client's secret.
    pub terms: LoginTerms,
}

/// Who got the tokens of a login, where, and for what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginTerms {
    /// Who gave the tokens out.
    pub issuer: String,
    /// Where they are renewed.
    pub token_endpoint: String,
    /// What they are for.
    pub resource: String,
    /// What was asked for, and what was granted, in words separated by blanks.
    pub scope: String,
    /// Who asked.
    pub client: ClientIdentity,
}

/// A client, as a server that gives out tokens knows it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientIdentity {
    /// Its name there.
    pub id: String,
    /// Its secret, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// How it proves who it is: `none`, `client_secret_basic` or `client_secret_post`.
    pub method: String,
}

impl std::fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientIdentity")
            .field("id", &self.id)
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

/// Where logins are kept. Calls block; an error is a sentence without a secret.
pub trait Logins: Send + Sync {
    /// Returns the login of an account, if there is one.
    fn get(&self, account: &str) -> Result<Option<Login>, String>;

    /// Keeps a login in place of the one before.
    fn set(&self, account: &str, login: &Login) -> Result<(), String>;

    /// Forgets a login; one that is not there is no failure.
    fn erase(&self, account: &str) -> Result<(), String>;
}

/// Returns the name under which a login is kept (MCP-82).
pub fn account(server_url: &str, issuer: &str) -> String {
    format!("mcp:{}#{issuer}", fetch::origin(server_url))
}
