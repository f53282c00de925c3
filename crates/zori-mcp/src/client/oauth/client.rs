//! Who this program is to a server that gives out tokens (MCP-80): a client that was registered by hand, a document, or one that is
//! registered now; and how it asks for tokens.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use zori_core::secret::{Secret, percent};
use zori_core::time::Timestamp;
use zori_core::transport::Transport;

use super::discovery::Authority;
use super::fetch::{self, quoted};
use super::login::LoginError;
use super::{ClientIdentity, OauthSettings};

/// What a token endpoint gave out.
pub struct Tokens {
    pub access: Secret,
    pub refresh: Option<Secret>,
    pub expires_at: Option<Timestamp>,
    pub scope: Option<String>,
}

impl ClientIdentity {
    /// Returns who this program is to a server.
    pub async fn establish(
        transport: &dyn Transport,
        authority: &Authority,
        settings: &OauthSettings,
        redirect_uri: &str,
        scope: Option<&str>,
    ) -> Result<Self, LoginError> {
        if let Some(id) = &settings.client_id {
            let method = method(authority, settings.client_secret.is_some(), None);
            return Ok(Self { id: id.clone(), secret: settings.client_secret.clone(), method });
        }
        if let Some(url) = settings.client_metadata_url.as_ref().filter(|_| authority.reads_documents) {
            return Ok(Self { id: url.clone(), secret: None, method: "none".to_owned() });
        }
        match &authority.register {
            Some(place) => Self::registered(transport, authority, place, redirect_uri, scope).await,
            None => Err(LoginError::NoClient { issuer: authority.issuer.clone() }),
        }
    }

    /// Registers a client (RFC 7591).
    async fn registered(
        transport: &dyn Transport,
        authority: &Authority,
        place: &str,
        redirect_uri: &str,
        scope: Option<&str>,
    ) -> Result<Self, LoginError> {
        let mut wanted = json!({
            "client_name": "zori",
            "redirect_uris": [redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "application_type": "native",
            "token_endpoint_auth_method": method(authority, true, Some("none")),
        });
        if let Some(scope) = scope {
            wanted["scope"] = scope.into();
        }
        let answer = fetch::post_json(transport, place, &wanted).await?;
        let refusal = answer.refusal();
        let made = answer.success().ok_or_else(|| {
            LoginError::Refused(format!("`{}` registers no client: {refusal}", quoted(&authority.issuer)))
        })?;
        let id = made["client_id"].as_str().filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| LoginError::Unreadable(authority.issuer.clone()))?;
        let secret = made["client_secret"].as_str().filter(|secret| !secret.is_empty()).map(str::to_owned);
        let given = made["token_endpoint_auth_method"].as_str();
        Ok(Self { id: id.to_owned(), method: method(authority, secret.is_some(), given), secret })
    }

    /// Asks for tokens, and says who asks.
    pub async fn ask(
        &self,
        transport: &dyn Transport,
        token_endpoint: &str,
        mut fields: Vec<(&str, &str)>,
        now: Timestamp,
    ) -> Result<Tokens, LoginError> {
        let secret = self.secret.as_deref().unwrap_or_default();
        let mut authorization = None;
        match self.method.as_str() {
            "client_secret_basic" => {
                let pair = format!("{}:{}", percent(&self.id), percent(secret));
                authorization = Some(format!("Basic {}", STANDARD.encode(pair)));
            }
            "client_secret_post" => {
                fields.extend([("client_id", self.id.as_str()), ("client_secret", secret)])
            }
            _ => fields.push(("client_id", &self.id)),
        }
        let answer = fetch::post_form(transport, token_endpoint, &fields, authorization).await?;
        if matches!(answer.status, 400..=403) {
            return Err(LoginError::TokenRefused(answer.refusal()));
        }
        if answer.status >= 500 || answer.status == 429 {
            let why =
                format!("{} answered with the HTTP status {}", fetch::origin(token_endpoint), answer.status);
            return Err(LoginError::Unreachable(why));
        }
        let unreadable = || LoginError::Unreadable(fetch::origin(token_endpoint).to_owned());
        let body = answer.success().ok_or_else(unreadable)?;
        tokens(&body, now).ok_or_else(unreadable)
    }
}

fn tokens(body: &Value, now: Timestamp) -> Option<Tokens> {
    let access = body["access_token"].as_str().filter(|token| fits(token))?;
    if !body["token_type"].as_str().is_none_or(|kind| kind.eq_ignore_ascii_case("bearer")) {
        return None;
    }
    let expires_in = match &body["expires_in"] {
        Value::String(text) => text.parse::<f64>().ok(),
        number => number.as_f64(),
    };
    Some(Tokens {
        access: access.into(),
        refresh: body["refresh_token"].as_str().filter(|token| !token.is_empty()).map(Secret::from),
        expires_at: expires_in.map(|seconds| Timestamp(now.0.saturating_add(seconds.max(0.0) as i64))),
        scope: body["scope"].as_str().map(str::to_owned),
    })
}

/// Returns whether a token can stand in a header.
fn fits(token: &str) -> bool {
    !token.is_empty() && token.bytes().all(|byte| (0x21..0x7f).contains(&byte))
}

/// Returns how a client proves who it is: as it was told, if there it can; else as the server lets it.
fn method(authority: &Authority, secret: bool, told: Option<&str>) -> String {
    let methods = &authority.methods;
    let known = |method: &str| methods.iter().any(|known| known == method);
    let usual = ["client_secret_basic", "client_secret_post"];
    match told {
        Some(told) if told == "none" && (methods.is_empty() || known("none")) => told,
        Some(told) if usual.contains(&told) && secret => told,
        _ if !secret => "none",
        // A list that is missing means `client_secret_basic` (RFC 8414).
        _ if methods.is_empty() => usual[0],
        _ => usual.into_iter().find(|method| known(method)).unwrap_or("none"),
    }
    .to_owned()
}
