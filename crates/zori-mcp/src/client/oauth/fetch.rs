//! Requests of a login: JSON from addresses that a server names, which are looked at before anybody asks there.

use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use zori_core::transport::{
    Addresses, HttpRequest, HttpResponse, Method, Redirects, Timeouts, Transport, named_headers,
};

use super::login::LoginError;
use crate::client::config;

/// How much of an answer is read.
const MAX_ANSWER: usize = 256 << 10;
/// A person waits.
const LIMITS: Timeouts = Timeouts {
    connect: Some(Duration::from_secs(15)),
    first_byte: Some(Duration::from_secs(20)),
    idle: Some(Duration::from_secs(20)),
    pings: None,
};

/// An answer: its status, and its body where that is JSON.
pub struct Answer {
    pub status: u16,
    pub body: Option<Value>,
}

impl Answer {
    /// Returns the body of a success.
    pub fn success(self) -> Option<Value> {
        (200..300).contains(&self.status).then_some(self.body).flatten()
    }

    /// Returns what a server that refuses says, in OAuth's words.
    pub fn refusal(&self) -> String {
        let text = |key: &str| self.body.as_ref().and_then(|body| body[key].as_str()).map(quoted);
        match (text("error"), text("error_description")) {
            (Some(error), Some(why)) => format!("{error}: {why}"),
            (Some(error), None) => error,
            _ => format!("HTTP status {}", self.status),
        }
    }
}

/// Asks for a document.
pub async fn get(transport: &dyn Transport, url: &str) -> Result<Answer, LoginError> {
    send(transport, Method::Get, url, Vec::new(), Bytes::new()).await
}

/// Sends JSON.
pub async fn post_json(transport: &dyn Transport, url: &str, body: &Value) -> Result<Answer, LoginError> {
    let headers = vec![("content-type", "application/json".to_owned())];
    send(transport, Method::Post, url, headers, body.to_string().into()).await
}

/// Sends a form.
pub async fn post_form(
    transport: &dyn Transport,
    url: &str,
    fields: &[(&str, &str)],
    authorization: Option<String>,
) -> Result<Answer, LoginError> {
    let mut headers = vec![("content-type", "application/x-www-form-urlencoded".to_owned())];
    headers.extend(authorization.map(|value| ("authorization", value)));
    send(transport, Method::Post, url, headers, query(fields).into()).await
}

/// Writes parameters as addresses and forms have them.
pub fn query(fields: &[(&str, &str)]) -> String {
    let pair = |(name, value): &(&str, &str)| format!("{name}={}", zori_core::secret::percent(value));
    fields.iter().map(pair).collect::<Vec<_>>().join("&")
}

async fn send(
    transport: &dyn Transport,
    method: Method,
    url: &str,
    mut headers: Vec<(&'static str, String)>,
    body: Bytes,
) -> Result<Answer, LoginError> {
    check(url)?;
    headers.push(("accept", "application/json".to_owned()));
    let request = HttpRequest {
        method,
        url: url.to_owned(),
        headers: named_headers(headers),
        body,
        limits: LIMITS,
        redirects: Redirects::SameOrigin,
        addresses: Addresses::NotLinkLocal,
    };
    let sent = transport.send(request).await;
    let response = sent.map_err(|error| unreachable(url, &error.to_string()))?;
    let status = response.status;
    let bytes = read(url, response).await?;
    Ok(Answer { status, body: serde_json::from_slice(&bytes).ok() })
}

async fn read(url: &str, mut response: HttpResponse) -> Result<Vec<u8>, LoginError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = std::future::poll_fn(|cx| response.body.as_mut().poll_next(cx)).await {
        bytes.extend_from_slice(&chunk.map_err(|error| unreachable(url, &error.to_string()))?);
        if bytes.len() > MAX_ANSWER {
            return Err(LoginError::Refused(format!("the answer of {} is too long", origin(url))));
        }
    }
    Ok(bytes)
}

fn unreachable(url: &str, why: &str) -> LoginError {
    LoginError::Unreachable(format!("{} cannot be reached: {why}", origin(url)))
}

/// Refuses an address that is neither HTTPS nor of this machine, `javascript:` and all others.
pub fn check(url: &str) -> Result<(), LoginError> {
    let control = url.chars().any(|c| c.is_control() || c.is_whitespace());
    match config::bad_address(url) {
        None if !control => Ok(()),
        _ => Err(LoginError::Refused(format!(
            "the server names the address `{}`, which is neither HTTPS nor on this machine",
            quoted(url)
        ))),
    }
}

/// Returns scheme, host and port of an address.
pub fn origin(url: &str) -> &str {
    split(url).0
}

/// Splits an address into its origin and its path, without a query; the path of none is empty.
pub fn split(url: &str) -> (&str, &str) {
    let begin = url.find("://").map_or(0, |at| at + 3);
    let end = url[begin..].find(['/', '?', '#']).map_or(url.len(), |at| begin + at);
    let path = &url[end..];
    (&url[..end], &path[..path.find(['?', '#']).unwrap_or(path.len())])
}

/// Returns a server's words, on one line and not too long.
pub fn quoted(words: &str) -> String {
    zori_core::text::prefix(&zori_core::text::one_line(words), 300).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        assert_eq!(split("https://x.example:8/a/b?c#d"), ("https://x.example:8", "/a/b"));
        assert_eq!(split("https://x.example"), ("https://x.example", ""));
        assert_eq!(split("https://x.example?q"), ("https://x.example", ""));
        for good in ["https://x.example/a", "http://localhost:1/a", "http://127.0.0.1/a"] {
            assert!(check(good).is_ok(), "{good}");
        }
        for bad in [
            "javascript:alert(1)",
            "http://x.example/",
            "file:///etc/passwd",
            "https://x.example/\n",
            "data:,x",
            "",
        ] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }
}
