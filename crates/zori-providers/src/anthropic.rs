//! Anthropic's Messages API.
//!
//! This file sends. `encode` makes the request body, `effort` says how hard the model should think in its own
//! words, `decode` turns the answer into chunks, `wire` holds the JSON shapes. The fixtures are in
//! `fixtures/anthropic`.

mod decode;
mod effort;
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

use crate::catalog::{self, ProviderFacts};
use crate::key::Credential;
use crate::{answer, failure};

/// The provider's name; also marks the blocks that only it understands.
pub const NAME: &str = "anthropic";

pub(crate) const VERSION: &str = "2023-06-01";

/// What a provider is made from.
#[derive(Clone)]
pub struct AnthropicOptions {
    /// Where the API is, as [`ProviderFacts::parse_base_url`] returned it.
    pub base_url: String,
    /// Who asks; without one every request fails.
    pub key: Option<Credential>,
    /// Who sends.
    pub transport: Arc<dyn Transport>,
    /// How long each phase of a request may take.
    pub limits: Limits,
    /// Reads the dates in `Retry-After`, and counts how long nothing but pings has come.
    pub clock: Arc<dyn Clock>,
}

/// Anthropic's models.
pub struct Anthropic {
    options: AnthropicOptions,
    encoder: Mutex<encode::Encoder>,
}

impl Anthropic {
    /// Returns the provider; nothing is sent yet.
    pub fn new(options: AnthropicOptions) -> Self {
        Self { options, encoder: Mutex::default() }
    }

    fn facts() -> &'static ProviderFacts {
        catalog::provider(NAME).expect("the catalogue lists this provider")
    }

    fn http_request(&self, request: &Request<'_>) -> Result<HttpRequest, ProviderFailure> {
        let facts = Self::facts();
        let key = Credential::usable(self.options.key.as_ref(), facts.key_var)?;
        let max_tokens = facts.max_tokens(request.model, request.max_tokens);
        let body = self.encoder.lock().unwrap_or_else(PoisonError::into_inner).encode(request, max_tokens);
        Ok(HttpRequest {
            method: Method::Post,
            url: format!("{}/v1/messages", self.options.base_url.trim_end_matches('/')),
            headers: vec![
                ("content-type", "application/json".to_owned()),
                ("anthropic-version", VERSION.to_owned()),
                key.header("x-api-key"),
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
        answer::ask(transport, http, decoder, request.delivery, clock, self.secret()).await
    }

    fn secret(&self) -> Secret {
        self.options.key.as_ref().map(|key| key.secret().clone()).unwrap_or_default()
    }
}

impl Provider for Anthropic {
    fn name(&self) -> &str {
        NAME
    }

    fn stream<'a>(&'a self, request: &'a Request<'a>) -> BoxFuture<'a, Result<ChunkStream, ProviderFailure>> {
        Box::pin(async move { self.ask(request).await.map_err(|f| failure::without(&self.secret(), f)) })
    }
}

impl fmt::Debug for Anthropic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Neither the key nor the base URL, which may hold a password.
        f.debug_struct("Anthropic").finish_non_exhaustive()
    }
}
