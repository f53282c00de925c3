//! `--debug`: every request is said on standard error before it goes out, and what came back of it. What lets us in is not.

use std::sync::Arc;
use std::time::Instant;

use zori_contract::mask::REDACTED;
use zori_contract::redact;
use zori_core::BoxFuture;
use zori_core::transport::{HttpRequest, HttpResponse, Transport, TransportFailure};

use crate::environment::Environment;
use crate::ui::Ui;

/// A transport that says what it does.
pub struct LoggingTransport {
    inner: Arc<dyn Transport>,
    env: Environment,
}

impl LoggingTransport {
    /// Says what this transport does, without the keys of this environment.
    pub fn new(inner: Arc<dyn Transport>, env: Environment) -> Self {
        Self { inner, env }
    }
}

impl Transport for LoggingTransport {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportFailure>> {
        // Each line finds its own way: whoever sends may be on any thread.
        asked(&request).iter().for_each(|line| Ui::standard(&self.env).say(line));
        let began = Instant::now();
        let url = shown(&request.url);
        Box::pin(async move {
            let sent = self.inner.send(request).await;
            let came = match &sent {
                Ok(response) => format!("HTTP {}", response.status),
                Err(failure) => failure.to_string(),
            };
            Ui::standard(&self.env)
                .say(&format!("Debug: {came} from {url} after {} ms", began.elapsed().as_millis()));
            sent
        })
    }
}

/// Returns the lines about a request.
fn asked(request: &HttpRequest) -> Vec<String> {
    let method = request.method.as_str();
    let first = format!("Debug: {method} {} with {} bytes", shown(&request.url), request.body.len());
    let headers = request.headers.iter().map(|(name, value)| {
        let value = if redact::is_secret(name) { REDACTED } else { value.as_str() };
        format!("Debug: {name}: {value}")
    });
    std::iter::once(first).chain(headers).collect()
}

/// Returns an address without user, password and query: some servers are told the key there.
fn shown(url: &str) -> String {
    redact::address(url.split(['?', '#']).next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use zori_core::transport::{Method, Redirects, Timeouts, named_headers};

    use super::*;

    /// F-051.
    #[test]
    fn what_lets_us_in_is_not_said() {
        let request = HttpRequest {
            method: Method::Post,
            url: "https://me:hunter2@api.example/v1?key=hunter2".into(),
            headers: named_headers([
                ("content-type", "application/json".into()),
                ("authorization", "Bearer hunter2".into()),
                ("x-api-key", "hunter2".into()),
                ("cookie", "hunter2".into()),
            ]),
            body: "{}".into(),
            limits: Timeouts::DEFAULT,
            redirects: Redirects::SameOrigin,
            addresses: Default::default(),
        };
        assert_eq!(
            asked(&request),
            [
                "Debug: POST https://[REDACTED]@api.example/v1 with 2 bytes",
                "Debug: content-type: application/json",
                "Debug: authorization: [REDACTED]",
                "Debug: x-api-key: [REDACTED]",
                "Debug: cookie: [REDACTED]",
            ]
        );
    }
}
