//! Whether a provider can be reached and takes the key. Its list of models is asked for, which costs nothing.

use bytes::Bytes;
use zori_core::failure::ProviderFailure;
use zori_core::time::Timestamp;
use zori_core::transport::{
    HttpRequest, Method, Redirects, Timeouts, Transport, TransportFailure, named_headers,
};

use crate::catalog::{Api, ProviderFacts};
use crate::failure;
use crate::key::Credential;
use crate::models;

/// Whether a provider can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reachability {
    /// It answered, and takes the key.
    Answers,
    /// It answered, and does not take the key.
    KeyRefused(String),
    /// Something answered whose certificate is not trusted.
    Certificate(String),
    /// No connection was made, or not in time.
    NoConnection(String),
    /// It answered that it is unavailable, or something that cannot be understood.
    Trouble(String),
}

/// Asks the provider. `base_url` is where the API is, as [`ProviderFacts::parse_base_url`] returned it.
pub async fn check(
    transport: &dyn Transport,
    facts: &ProviderFacts,
    base_url: &str,
    credential: Option<&Credential>,
    limits: Timeouts,
) -> Reachability {
    let request = match request(facts, base_url, credential, limits) {
        Ok(request) => request,
        Err(failure) => return Reachability::KeyRefused(failure.message),
    };
    let response = match transport.send(request).await {
        Ok(response) => response,
        Err(failure) => return unsent(&failure),
    };
    let status = response.status;
    if (200..300).contains(&status) {
        return Reachability::Answers;
    }
    // No wait that it asks for is kept here, so the date does not matter.
    let failed = failure::from_response(response, Timestamp(0)).await;
    let failed = match credential {
        Some(credential) => failure::without(credential.secret(), failed),
        None => failed,
    };
    match failed.status.unwrap_or(status) {
        401 | 403 => Reachability::KeyRefused(failed.message),
        // A server may have no such list, or be asked too often; it is there all the same.
        404 | 405 | 429 => Reachability::Answers,
        _ => Reachability::Trouble(failed.message),
    }
}

fn request(
    facts: &ProviderFacts,
    base_url: &str,
    credential: Option<&Credential>,
    limits: Timeouts,
) -> Result<HttpRequest, ProviderFailure> {
    let headers = models::headers(facts, credential)?;
    let base = base_url.trim_end_matches('/');
    let url = match facts.api {
        Api::Anthropic => format!("{base}/v1/models"),
        // Its list is for everybody, so that it says nothing about a key.
        Api::OpenAiChat(_) if facts.name == "openrouter" => format!("{base}/key"),
        // Open to everybody, at the newer route.
        Api::AgentZero => {
            let root = base.strip_suffix("/api_message").unwrap_or(base);
            format!("{}/api/health", root.strip_suffix("/api").unwrap_or(root))
        }
        Api::Gemini | Api::OpenAiResponses | Api::OpenAiChat(_) => format!("{base}/models"),
    };
    let redirects = Redirects::SameOrigin;
    Ok(HttpRequest {
        method: Method::Get,
        url,
        headers: named_headers(headers),
        body: Bytes::new(),
        limits,
        redirects,
        addresses: Default::default(),
    })
}

fn unsent(failure: &TransportFailure) -> Reachability {
    let message = failure.to_string();
    match failure {
        // The client says so in words only.
        TransportFailure::Connect(why) if why.contains("certificate") => Reachability::Certificate(message),
        TransportFailure::Connect(_) | TransportFailure::Timeout(_) => Reachability::NoConnection(message),
        _ => Reachability::Trouble(message),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use zori_core::BoxFuture;
    use zori_core::transport::HttpResponse;

    use super::*;
    use crate::catalog;
    use crate::replay::Exchange;

    /// Gives one answer, and keeps what was asked.
    struct Once {
        answer: Mutex<Option<Result<HttpResponse, TransportFailure>>>,
        asked: Mutex<Vec<String>>,
    }

    impl Transport for Once {
        fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportFailure>> {
            let headers = request.headers.iter().map(|(name, value)| format!("{name}: {value}"));
            self.asked.lock().unwrap().extend(std::iter::once(request.url.clone()).chain(headers));
            let answer = self.answer.lock().unwrap().take().expect("it is asked once");
            Box::pin(async move { answer })
        }
    }

    async fn ask(
        provider: &str,
        answer: Result<HttpResponse, TransportFailure>,
    ) -> (Reachability, Vec<String>) {
        let once = Once { answer: Mutex::new(Some(answer)), asked: Mutex::default() };
        let facts = catalog::provider(provider).unwrap();
        let key = Credential::Key("sk-0123456789".into());
        let check = check(&once, facts, "http://h/", Some(&key), Timeouts::DEFAULT).await;
        (check, once.asked.into_inner().unwrap())
    }

    fn status(status: u16, body: &str) -> Result<HttpResponse, TransportFailure> {
        Ok(Exchange::new(status, "application/json", body.to_owned()).response())
    }

    #[tokio::test]
    async fn each_api_is_asked_in_its_own_way() {
        for (provider, wanted) in [
            (
                "anthropic",
                &["http://h/v1/models", "x-api-key: sk-0123456789", "anthropic-version: 2023-06-01"][..],
            ),
            ("openrouter", &["http://h/key", "authorization: Bearer sk-0123456789", "x-title: zori"]),
            ("gemini", &["http://h/models", "x-goog-api-key: sk-0123456789"]),
            ("openai", &["http://h/models", "authorization: Bearer sk-0123456789"]),
            ("codex", &["http://h/models", "authorization: Bearer sk-0123456789"]),
        ] {
            let (check, asked) = ask(provider, status(200, "{}")).await;
            assert_eq!(
                (check, asked),
                (Reachability::Answers, wanted.iter().map(ToString::to_string).collect())
            );
        }
    }

    #[tokio::test]
    async fn answers_and_what_they_mean() {
        let said = |code: u16, text: &str| status(code, &format!(r#"{{"error":{{"message":"{text}"}}}}"#));
        for (answer, wanted) in [
            (said(401, "not sk-0123456789"), Reachability::KeyRefused("HTTP 401: not [REDACTED]".into())),
            (said(403, "no"), Reachability::KeyRefused("HTTP 403: no".into())),
            (said(404, "no"), Reachability::Answers),
            (said(429, "slow"), Reachability::Answers),
            (said(503, "later"), Reachability::Trouble("HTTP 503: later".into())),
        ] {
            assert_eq!(ask("openai", answer).await.0, wanted);
        }
        let connect = |why: &str| Err(TransportFailure::Connect(why.to_owned()));
        for (answer, wanted) in [
            (
                connect("h: invalid peer certificate: UnknownIssuer"),
                Reachability::Certificate(
                    "Connection failed: h: invalid peer certificate: UnknownIssuer".into(),
                ),
            ),
            (connect("h: refused"), Reachability::NoConnection("Connection failed: h: refused".into())),
            (
                Err(TransportFailure::Timeout("h: late".into())),
                Reachability::NoConnection("Request timed out: h: late".into()),
            ),
            (
                Err(TransportFailure::Broken("h: reset".into())),
                Reachability::Trouble("connection lost: h: reset".into()),
            ),
        ] {
            assert_eq!(ask("openai", answer).await.0, wanted);
        }
    }
}
