//! One login: from a server's challenge to the address that a user opens, and from what the browser brings back to tokens
//! (authorization code with PKCE, RFC 6749, 7636, 8707, 9207).

use zori_core::secret::Secret;
use zori_core::time::Timestamp;
use zori_core::transport::Transport;

use super::challenge::Challenge;
use super::discovery::{self, Authority};
use super::fetch::{self, quoted};
use super::{ClientIdentity, Login, LoginTerms, OauthSettings};

/// Asked for so that a login can be renewed while nobody is there.
const OFFLINE: &str = "offline_access";

/// Why nobody logged in. No secret is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginError {
    /// The server does not say how to log in.
    NotOffered,
    /// What a server says cannot be trusted, or it said no.
    Refused(String),
    /// The token endpoint said no.
    TokenRefused(String),
    /// Nobody can register there, and no client is configured.
    NoClient {
        /// Who gives out tokens.
        issuer: String,
    },
    /// A server did not answer.
    Unreachable(String),
    /// A server answered with something else than tokens.
    Unreadable(String),
}

impl std::fmt::Display for LoginError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotOffered => f.write_str("the server offers no login"),
            Self::Refused(why) | Self::TokenRefused(why) => write!(f, "the login was refused: {why}"),
            Self::NoClient { issuer } => {
                write!(f, "`{}` knows only clients that were registered by hand", quoted(issuer))
            }
            Self::Unreachable(why) => f.write_str(why),
            Self::Unreadable(who) => write!(f, "the answer of {} cannot be understood", quoted(who)),
        }
    }
}

impl std::error::Error for LoginError {}

/// A login that is to begin.
pub struct LoginRequest<'a> {
    /// The server's address.
    pub server: &'a str,
    /// What it said when it wanted a login.
    pub challenge: &'a Challenge,
    /// What the config says.
    pub settings: &'a OauthSettings,
    /// What was asked for before, and is not to be lost.
    pub scopes: &'a [String],
    /// Where the browser comes back to.
    pub redirect_uri: &'a str,
    /// What the verifier will be compared with (S256).
    pub code_challenge: &'a str,
    /// What the browser has to bring back.
    pub state: &'a Secret,
}

/// A login whose user is being asked.
pub struct PendingLogin {
    /// The address to open.
    pub url: String,
    authority: Authority,
    client: ClientIdentity,
    resource: String,
    scope: Option<String>,
    redirect_uri: String,
}

impl LoginRequest<'_> {
    /// Finds out where to log in, and as whom.
    pub async fn begin(&self, transport: &dyn Transport) -> Result<PendingLogin, LoginError> {
        let found = discovery::discover(transport, self.server, self.challenge).await?;
        let scope = self.scope(found.scopes.as_deref(), &found.authority.scopes);
        let client = ClientIdentity::establish(
            transport,
            &found.authority,
            self.settings,
            self.redirect_uri,
            scope.as_deref(),
        )
        .await?;
        let mut fields = vec![
            ("response_type", "code"),
            ("client_id", client.id.as_str()),
            ("redirect_uri", self.redirect_uri),
            ("state", self.state.reveal()),
            ("code_challenge", self.code_challenge),
            ("code_challenge_method", "S256"),
            ("resource", found.resource.as_str()),
        ];
        if let Some(scope) = &scope {
            fields.push(("scope", scope));
            if scope.split(' ').any(|word| word == OFFLINE) {
                // OpenID's servers give no refresh token without it.
                fields.push(("prompt", "consent"));
            }
        }
        let place = &found.authority.authorize;
        let mark = if place.contains('?') { '&' } else { '?' };
        let url = format!("{place}{mark}{}", fetch::query(&fields));
        Ok(PendingLogin {
            url,
            client,
            resource: found.resource,
            scope,
            redirect_uri: self.redirect_uri.to_owned(),
            authority: found.authority,
        })
    }

    /// Returns what is asked for: what the config or the challenge says, else all that the server has; with what was asked for before.
    fn scope(&self, supported: Option<&str>, of_authority: &[String]) -> Option<String> {
        let base = self.settings.scopes.as_deref().or(self.challenge.scope.as_deref()).or(supported);
        let mut words: Vec<&str> = Vec::new();
        let before = self.scopes.iter().map(String::as_str);
        for word in before.chain(base.unwrap_or_default().split_whitespace()) {
            if !words.contains(&word) {
                words.push(word);
            }
        }
        let offline = of_authority.iter().any(|scope| scope == OFFLINE);
        if offline && !words.is_empty() && !words.contains(&OFFLINE) && self.settings.scopes.is_none() {
            words.push(OFFLINE);
        }
        (!words.is_empty()).then(|| words.join(" "))
    }
}

impl PendingLogin {
    /// Returns who gives out the tokens.
    pub fn issuer(&self) -> &str {
        &self.authority.issuer
    }

    /// Exchanges the code that the browser brought, unless somebody else than the asked one sent it.
    pub async fn finish(
        self,
        transport: &dyn Transport,
        code: &Secret,
        from: Option<&str>,
        verifier: &Secret,
        now: Timestamp,
    ) -> Result<Login, LoginError> {
        let issuer = &self.authority.issuer;
        match from {
            // Compared letter by letter (RFC 9207).
            Some(from) if from != issuer => {
                let why = format!("`{}` answered in place of `{}`", quoted(from), quoted(issuer));
                return Err(LoginError::Refused(why));
            }
            None if self.authority.says_issuer => {
                let why = format!("the answer does not say that it is from `{}`", quoted(issuer));
                return Err(LoginError::Refused(why));
            }
            _ => {}
        }
        let fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code.reveal()),
            ("redirect_uri", &self.redirect_uri),
            ("code_verifier", verifier.reveal()),
            ("resource", &self.resource),
        ];
        let tokens = self.client.ask(transport, &self.authority.token, fields, now).await?;
        let scope = union(self.scope.as_deref(), tokens.scope.as_deref());
        Ok(Login {
            access: tokens.access,
            refresh: tokens.refresh,
            expires_at: tokens.expires_at,
            terms: LoginTerms {
                issuer: self.authority.issuer,
                token_endpoint: self.authority.token,
                resource: self.resource,
                scope,
                client: self.client,
            },
        })
    }
}

fn union(asked: Option<&str>, granted: Option<&str>) -> String {
    let mut words: Vec<&str> = Vec::new();
    for word in [asked, granted].into_iter().flatten().flat_map(str::split_whitespace) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words.join(" ")
}

impl Login {
    /// Gets new tokens for old ones; some servers give out a new refresh token each time.
    pub async fn renewed(&self, transport: &dyn Transport, now: Timestamp) -> Result<Self, LoginError> {
        let Some(refresh) = &self.refresh else {
            return Err(LoginError::TokenRefused(
                "it has ended, and nothing is known to renew it with".to_owned(),
            ));
        };
        let fields = vec![
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh.reveal()),
            ("resource", &self.terms.resource),
        ];
        let tokens = self.terms.client.ask(transport, &self.terms.token_endpoint, fields, now).await?;
        Ok(Self {
            access: tokens.access,
            refresh: tokens.refresh.or_else(|| self.refresh.clone()),
            expires_at: tokens.expires_at,
            terms: self.terms.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes() {
        let of = |config: Option<&str>,
                  challenge: Option<&str>,
                  before: &[&str],
                  supported: Option<&str>,
                  authority: &[&str]| {
            let settings = OauthSettings { scopes: config.map(str::to_owned), ..OauthSettings::default() };
            let challenge = Challenge { scope: challenge.map(str::to_owned), ..Challenge::default() };
            let before: Vec<String> = before.iter().map(|&word| word.to_owned()).collect();
            let request = LoginRequest {
                server: "https://x.example",
                challenge: &challenge,
                settings: &settings,
                scopes: &before,
                redirect_uri: "",
                code_challenge: "",
                state: &"".into(),
            };
            let authority: Vec<String> = authority.iter().map(|&word| word.to_owned()).collect();
            request.scope(supported, &authority).unwrap_or_default()
        };
        assert_eq!(of(None, None, &[], None, &["offline_access"]), "");
        assert_eq!(of(None, None, &[], Some("a b"), &[]), "a b");
        assert_eq!(of(None, Some("w"), &[], Some("a b"), &["offline_access"]), "w offline_access");
        assert_eq!(of(None, Some("w"), &["a", "w"], None, &[]), "a w");
        assert_eq!(of(Some("own"), Some("w"), &[], Some("a"), &["offline_access"]), "own");
    }
}
