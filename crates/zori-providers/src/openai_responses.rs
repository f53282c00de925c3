//! OpenAI's Responses API, and servers that speak it too.
//!
//! This file sends. `encode` makes the request body, `effort` says how hard the model should think in its own
//! words, `decode` turns the answer into chunks, `wire` holds the JSON shapes. Nothing is stored at the provider:
//! reasoning comes encrypted and goes back with the history. The fixtures are in `fixtures/openai_responses`.

mod decode;
pub(crate) mod effort;
mod encode;
mod wire;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use zori_core::BoxFuture;
use zori_core::failure::ProviderFailure;
use zori_core::provider::{ChunkStream, Provider, Request};
use zori_core::secret::Secret;
use zori_core::time::Clock;
use zori_core::transport::{HttpRequest, Limits, Method, Redirects, Transport};

use crate::{answer, failure, key};

/// The provider's name; also marks the reasoning that only it understands.
pub const NAME: &str = "openai";

const KEY_VAR: &str = "OPENAI_API_KEY";

/// What a provider is made from.
#[derive(Clone)]
pub struct OpenAiResponsesOptions {
    /// Where the API is, with its version: `https://api.openai.com/v1`.
    pub base_url: String,
    /// The key; without one every request fails.
    pub key: Option<Secret>,
    /// Who sends.
    pub transport: Arc<dyn Transport>,
    /// How long each phase of a request may take.
    pub limits: Limits,
    /// Reads the dates in `Retry-After`, and counts how long nothing but signs of life has come.
    pub clock: Arc<dyn Clock>,
}

/// OpenAI's models behind the Responses API.
pub struct OpenAiResponses {
    options: OpenAiResponsesOptions,
    encoder: Mutex<encode::Encoder>,
}

impl OpenAiResponses {
    /// Returns the provider; nothing is sent yet.
    pub fn new(options: OpenAiResponsesOptions) -> Self {
        Self { options, encoder: Mutex::default() }
    }

    fn http_request(&self, request: &Request<'_>) -> Result<HttpRequest, ProviderFailure> {
        let key = key::usable(self.options.key.as_ref(), KEY_VAR)?;
        let body = self.encoder.lock().unwrap_or_else(PoisonError::into_inner).encode(request);
        Ok(HttpRequest {
            method: Method::Post,
            url: format!("{}/responses", self.options.base_url.trim_end_matches('/')),
            headers: vec![
                ("content-type", "application/json".to_owned()),
                ("authorization", key::bearer(key)),
            ],
            body: Bytes::from(body),
            limits: self.options.limits,
            redirects: Redirects::SameOrigin,
        })
    }

    async fn ask(&self, request: &Request<'_>) -> Result<ChunkStream, ProviderFailure> {
        let http = self.http_request(request)?;
        let (transport, clock) = (&*self.options.transport, &self.options.clock);
        let decoder = decode::Decoder::default();
        answer::ask(transport, http, decoder, request.delivery, clock, self.key()).await
    }

    fn key(&self) -> Secret {
        self.options.key.clone().unwrap_or_default()
    }
}

impl Provider for OpenAiResponses {
    fn name(&self) -> &str {
        NAME
    }

    fn stream<'a>(&'a self, request: &'a Request<'a>) -> BoxFuture<'a, Result<ChunkStream, ProviderFailure>> {
        Box::pin(async move { self.ask(request).await.map_err(|f| failure::without(&self.key(), f)) })
    }
}

impl fmt::Debug for OpenAiResponses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Neither the key nor the base URL, which may hold a password.
        f.debug_struct("OpenAiResponses").finish_non_exhaustive()
    }
}
