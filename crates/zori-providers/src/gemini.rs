//! Google's Gemini API.
//!
//! This file sends. `encode` makes the request body, `schema` takes out of a tool's schema what the API refuses,
//! `effort` says how hard the model should think in its own words, `decode` turns the answer into chunks, `wire`
//! holds the JSON shapes. The fixtures are in `fixtures/gemini`.

mod decode;
mod effort;
mod encode;
mod schema;
mod wire;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use zori_core::BoxFuture;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::provider::{ChunkStream, Delivery, Provider, Request};
use zori_core::secret::Secret;
use zori_core::time::Clock;
use zori_core::transport::{HttpRequest, Limits, Method, Redirects, Transport};

use crate::catalog::gemini::FACTS;
use crate::key::Credential;
use crate::{answer, failure};

/// The provider's name; also marks the signatures that only it understands.
pub const NAME: &str = "gemini";

/// What a provider is made from.
#[derive(Clone)]
pub struct GeminiOptions {
    /// Where the API is, with its version: `https://generativelanguage.googleapis.com/v1beta`.
    pub base_url: String,
    /// Who asks; without one every request fails.
    pub credential: Option<Credential>,
    /// Who sends.
    pub transport: Arc<dyn Transport>,
    /// How long each phase of a request may take.
    pub limits: Limits,
    /// Reads the dates in `Retry-After`, and counts how long nothing but signs of life has come.
    pub clock: Arc<dyn Clock>,
}

/// Google's models.
pub struct Gemini {
    options: GeminiOptions,
    encoder: Mutex<encode::Encoder>,
}

impl Gemini {
    /// Returns the provider; nothing is sent yet.
    pub fn new(options: GeminiOptions) -> Self {
        Self { options, encoder: Mutex::default() }
    }

    fn http_request(&self, request: &Request<'_>) -> Result<HttpRequest, ProviderFailure> {
        let credential = Credential::usable(self.options.credential.as_ref(), FACTS.key_var)?;
        let max_tokens = FACTS.max_tokens(request.model, request.max_tokens);
        let body = self.encoder.lock().unwrap_or_else(PoisonError::into_inner).encode(request, max_tokens);
        Ok(HttpRequest {
            method: Method::Post,
            url: self.url(request)?,
            headers: vec![
                ("content-type", "application/json".to_owned()),
                credential.header("x-goog-api-key"),
            ],
            body: Bytes::from(body),
            limits: self.options.limits,
            redirects: Redirects::SameOrigin,
        })
    }

    /// Returns where a request goes. The model is part of the path, so a name that would leave it is refused.
    fn url(&self, request: &Request<'_>) -> Result<String, ProviderFailure> {
        let model = request.model.strip_prefix("models/").unwrap_or(request.model);
        let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        if model.is_empty() || model.starts_with('.') || !model.bytes().all(fits) {
            let message = format!("`{}` is no name of a Gemini model", request.model);
            return Err(ProviderFailure {
                status: Some(404),
                ..ProviderFailure::new(FailureKind::HttpStatus, message)
            });
        }
        let base = self.options.base_url.trim_end_matches('/');
        let method = match request.delivery {
            Delivery::Streamed => "streamGenerateContent?alt=sse",
            Delivery::Whole => "generateContent",
        };
        Ok(format!("{base}/models/{model}:{method}"))
    }

    async fn ask(&self, request: &Request<'_>) -> Result<ChunkStream, ProviderFailure> {
        let http = self.http_request(request)?;
        let (transport, clock) = (&*self.options.transport, &self.options.clock);
        let decoder = decode::Decoder::default();
        answer::ask(transport, http, decoder, request.delivery, clock, self.secret()).await
    }

    fn secret(&self) -> Secret {
        self.options.credential.as_ref().map(|credential| credential.secret().clone()).unwrap_or_default()
    }
}

impl Provider for Gemini {
    fn name(&self) -> &str {
        NAME
    }

    fn stream<'a>(&'a self, request: &'a Request<'a>) -> BoxFuture<'a, Result<ChunkStream, ProviderFailure>> {
        Box::pin(async move { self.ask(request).await.map_err(|f| failure::without(&self.secret(), f)) })
    }
}

impl fmt::Debug for Gemini {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Neither the credential nor the base URL, which may hold a password.
        f.debug_struct("Gemini").finish_non_exhaustive()
    }
}
