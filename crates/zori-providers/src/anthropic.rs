//! Anthropic's Messages API.
//!
//! This file sends. `encode` makes the request body, `effort` says how hard the model should think in its own
//! words, `decode` turns the answer into chunks, `wire` holds the JSON shapes. The fixtures are in
//! `fixtures/anthropic`.

mod decode;
mod effort;
mod encode;
mod wire;

use std::sync::{Mutex, PoisonError};

use zori_core::BoxFuture;
use zori_core::failure::ProviderFailure;
use zori_core::provider::{ChunkStream, Provider, Request};

use crate::catalog;
use crate::endpoint::Endpoint;
use crate::key::Credential;

/// The provider's name; also marks the blocks that only it understands.
pub const NAME: &str = "anthropic";

pub(crate) const VERSION: &str = "2023-06-01";

/// Anthropic's models.
#[derive(Debug)]
pub struct Anthropic {
    endpoint: Endpoint,
    encoder: Mutex<encode::Encoder>,
}

impl Anthropic {
    /// Returns the provider; nothing is sent yet.
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, encoder: Mutex::default() }
    }

    async fn ask(&self, request: &Request<'_>) -> Result<ChunkStream, ProviderFailure> {
        let facts = catalog::provider(NAME).expect("the catalogue lists this provider");
        let key = Credential::usable(self.endpoint.key.as_ref(), facts.key_var)?;
        let max_tokens = facts.max_tokens(request.model, request.max_tokens);
        let body = self.encoder.lock().unwrap_or_else(PoisonError::into_inner).encode(request, max_tokens);
        let headers = vec![("anthropic-version", VERSION.to_owned()), key.header("x-api-key")];
        let http = self.endpoint.post("/v1/messages", headers, body);
        self.endpoint.ask(http, decode::Decoder::default(), request.delivery).await
    }
}

impl Provider for Anthropic {
    fn name(&self) -> &str {
        NAME
    }

    fn stream<'a>(&'a self, request: &'a Request<'a>) -> BoxFuture<'a, Result<ChunkStream, ProviderFailure>> {
        Box::pin(async move { self.ask(request).await.map_err(|f| self.endpoint.without_key(f)) })
    }
}
