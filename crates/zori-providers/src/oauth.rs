//! Token endpoints: a code or a refresh token for an access token (RFC 6749 with PKCE, RFC 7636), and OpenRouter's own
//! way of giving out a key. The browser's part of a login is the binary's.

use std::future::poll_fn;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use zori_core::failure::ProviderFailure;
use zori_core::secret::{Secret, percent};
use zori_core::time::Timestamp;
use zori_core::transport::{HttpRequest, Method, Redirects, Timeouts, Transport, named_headers};

use crate::failure;
use crate::key::fits;

/// How long each phase may take; the user waits for it.
const LIMITS: Timeouts = Timeouts {
    connect: Some(Duration::from_secs(15)),
    first_byte: Some(Duration::from_secs(20)),
    idle: Some(Duration::from_secs(20)),
    pings: None,
};
/// How much of an answer is read.
const MAX_ANSWER: usize = 64 * 1024;

/// The answer of a token endpoint.
pub struct Tokens {
    /// The token that requests carry.
    pub access: Secret,
    /// The token that renews the other.
    pub refresh: Option<Secret>,
    /// How long the access token is good for.
    pub expires_in: Option<Duration>,
}

/// Who asks an authorization server for tokens, and where.
#[derive(Clone)]
pub struct Client {
    /// The id that the server knows this program by.
    pub client_id: String,
    /// The token endpoint.
    pub token_url: String,
}

impl Client {
    /// Exchanges the code of a login.
    pub async fn exchange(
        &self,
        transport: &dyn Transport,
        code: &Secret,
        verifier: &Secret,
        redirect_uri: &str,
    ) -> Result<Tokens, ProviderFailure> {
        let form = form(&[
            ("grant_type", "authorization_code"),
            ("code", code.reveal()),
            ("redirect_uri", redirect_uri),
            ("client_id", &self.client_id),
            ("code_verifier", verifier.reveal()),
        ]);
        self.ask(transport, form).await.map_err(|f| failure::without(code, failure::without(verifier, f)))
    }

    /// Gets new tokens for old ones. Some servers give out a new refresh token each time.
    pub async fn refresh(
        &self,
        transport: &dyn Transport,
        refresh_token: &Secret,
    ) -> Result<Tokens, ProviderFailure> {
        let form = form(&[
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh_token.reveal()),
            ("client_id", &self.client_id),
        ]);
        let tokens =
            self.ask(transport, form).await.map_err(|failure| failure::without(refresh_token, failure))?;
        Ok(Tokens { refresh: tokens.refresh.or_else(|| Some(refresh_token.clone())), ..tokens })
    }

    async fn ask(&self, transport: &dyn Transport, form: String) -> Result<Tokens, ProviderFailure> {
        let body = post(transport, &self.token_url, "application/x-www-form-urlencoded", form).await?;
        let answer: Answer = serde_json::from_slice(&body).map_err(|_| unreadable())?;
        if !fits(&answer.access_token) {
            return Err(unreadable());
        }
        Ok(Tokens {
            access: answer.access_token.into(),
            refresh: answer.refresh_token.filter(|token| !token.is_empty()).map(Secret::from),
            // Google and others send a number, some servers a string.
            expires_in: answer.expires_in.and_then(|n| match n {
                Number::Number(n) => Duration::try_from_secs_f64(n).ok(),
                Number::Text(text) => text.parse().ok().map(Duration::from_secs),
            }),
        })
    }
}

/// Exchanges the code of a login at OpenRouter, which issues a permanent key.
pub async fn openrouter_key(
    transport: &dyn Transport,
    base_url: &str,
    code: &Secret,
    verifier: &Secret,
) -> Result<Secret, ProviderFailure> {
    let request =
        KeyRequest { code: code.reveal(), code_verifier: verifier.reveal(), code_challenge_method: "S256" };
    let request = serde_json::to_string(&request).expect("strings are JSON");
    let url = format!("{}/auth/keys", base_url.trim_end_matches('/'));
    let body = post(transport, &url, "application/json", request)
        .await
        .map_err(|f| failure::without(code, failure::without(verifier, f)))?;
    let answer: KeyAnswer = serde_json::from_slice(&body).map_err(|_| unreadable())?;
    if !fits(&answer.key) {
        return Err(unreadable());
    }
    Ok(answer.key.into())
}

#[derive(Deserialize)]
struct Answer {
    access_token: String,
    refresh_token: Option<String>,
    expires_in: Option<Number>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Number(f64),
    Text(String),
}

#[derive(Serialize)]
struct KeyRequest<'a> {
    code: &'a str,
    code_verifier: &'a str,
    code_challenge_method: &'static str,
}

#[derive(Deserialize)]
struct KeyAnswer {
    key: String,
}

fn form(fields: &[(&str, &str)]) -> String {
    let fields: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={}", percent(value))).collect();
    fields.join("&")
}

async fn post(
    transport: &dyn Transport,
    url: &str,
    content_type: &str,
    body: String,
) -> Result<Vec<u8>, ProviderFailure> {
    let request = HttpRequest {
        method: Method::Post,
        url: url.to_owned(),
        headers: named_headers([
            ("content-type", content_type.to_owned()),
            ("accept", "application/json".to_owned()),
        ]),
        body: Bytes::from(body),
        limits: LIMITS,
        redirects: Redirects::SameOrigin,
        addresses: Default::default(),
    };
    let mut response = transport.send(request).await.map_err(|f| failure::before_answer(&f))?;
    if !(200..300).contains(&response.status) {
        // Nobody waits for `Retry-After` here, so that any time does.
        return Err(failure::from_response(response, Timestamp(0)).await);
    }
    let mut answer = Vec::new();
    while let Some(bytes) = poll_fn(|cx| response.body.as_mut().poll_next(cx)).await {
        answer.extend_from_slice(&bytes.map_err(|f| failure::mid_answer(&f))?);
        if answer.len() > MAX_ANSWER {
            return Err(unreadable());
        }
    }
    Ok(answer)
}

/// Reports the failure without quoting the answer, which may still hold a token.
fn unreadable() -> ProviderFailure {
    failure::unreadable("the token endpoint's answer cannot be understood", b"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::{Exchange, ReplayTransport};

    fn client() -> Client {
        Client { client_id: "id 1".into(), token_url: "http://auth.test/token".into() }
    }

    async fn refreshed(status: u16, body: &str) -> (String, String) {
        let transport = ReplayTransport::new([Exchange::new(status, "application/json", body.to_owned())]);
        let shown = match client().refresh(&transport, &"old-refresh-token".into()).await {
            Ok(Tokens { access, refresh, expires_in }) => {
                let refresh = refresh.map(|secret| secret.reveal().to_owned());
                format!("{} {refresh:?} {expires_in:?}", access.reveal())
            }
            Err(failure) => format!("{failure} {:?}", failure.details),
        };
        let request = transport.requests().remove(0);
        (shown, String::from_utf8(request.body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn answers_of_token_endpoints() {
        let shown = |status, body| async move { refreshed(status, body).await.0 };
        assert_eq!(
            shown(200, r#"{"access_token":"a","refresh_token":"new","expires_in":3600,"x":1}"#).await,
            r#"a Some("new") Some(3600s)"#
        );
        assert_eq!(
            shown(200, r#"{"access_token":"a","expires_in":"60"}"#).await,
            r#"a Some("old-refresh-token") Some(60s)"#
        );
        assert_eq!(
            shown(200, r#"{"access_token":"a","expires_in":-1}"#).await,
            r#"a Some("old-refresh-token") None"#
        );
        let unreadable = "parse: the token endpoint's answer cannot be understood None";
        for body in ["", "<html>", "{}", r#"{"access_token":""}"#, r#"{"access_token":"a\nb"}"#, "[1]"] {
            assert_eq!(shown(200, body).await, unreadable, "{body}");
        }
        assert_eq!(
            shown(400, r#"{"error":"invalid_grant old-refresh-token"}"#).await,
            r#"http_status: HTTP 400: invalid_grant [REDACTED] Some("{\"error\":\"invalid_grant [REDACTED]\"}")"#
        );
    }

    #[tokio::test]
    async fn a_request_is_a_form() {
        assert_eq!(
            refreshed(500, "").await.1,
            "grant_type=refresh_token&refresh_token=old-refresh-token&client_id=id%201"
        );
        let transport = ReplayTransport::new([Exchange::new(200, "application/json", r#"{"key":"sk-or"}"#)]);
        let key = openrouter_key(&transport, "http://or.test/api/v1/", &"c".into(), &"v".into()).await;
        assert_eq!(key.map(|key| key.reveal().to_owned()), Ok("sk-or".to_owned()));
        let request = transport.requests().remove(0);
        assert_eq!(request.url, "http://or.test/api/v1/auth/keys");
        assert_eq!(request.body, r#"{"code":"c","code_verifier":"v","code_challenge_method":"S256"}"#);
    }
}
