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
use zori_core::provider::{ChunkStream, Delivery, Provider, Request};
use zori_core::search::{SearchAnswer, SearchQuery};

use self::encode::Names;
use crate::catalog::{self, ProviderFacts};
use crate::endpoint::Endpoint;
use crate::key::Credential;
use crate::web_search;

/// The provider's name; also marks the blocks that only it understands.
pub const NAME: &str = "anthropic";

pub(crate) const VERSION: &str = "2023-06-01";

/// What Vertex AI wants in the body in place of the model, which is part of the address there.
const VERTEX_VERSION: &str = "vertex-2023-10-16";

/// Returns whether the address is that of Anthropic's models on Vertex AI.
fn is_vertex(base_url: &str) -> bool {
    base_url.trim_end_matches('/').ends_with("/publishers/anthropic")
}

/// Anthropic's models.
#[derive(Debug)]
pub struct Anthropic {
    facts: ProviderFacts,
    endpoint: Endpoint,
    encoder: Mutex<encode::Encoder>,
}

impl Anthropic {
    /// Returns the provider; nothing is sent yet.
    pub fn new(endpoint: Endpoint) -> Self {
        Self::of(catalog::provider(NAME).expect("the catalogue lists this provider"), endpoint)
    }

    /// Returns the same for another server of this API.
    pub fn of(facts: &ProviderFacts, endpoint: Endpoint) -> Self {
        Self { facts: *facts, endpoint, encoder: Mutex::default() }
    }

    async fn ask(&self, request: &Request<'_>) -> Result<ChunkStream, ProviderFailure> {
        let key = Credential::usable(self.endpoint.key.as_ref(), self.facts.key_var)?;
        let max_tokens = self.facts.max_tokens(request.model, request.max_tokens);
        let vertex = is_vertex(&self.endpoint.base_url);
        let names = if vertex { Names::Version(VERTEX_VERSION) } else { Names::Model };
        let body = {
            let mut encoder = self.encoder.lock().unwrap_or_else(PoisonError::into_inner);
            encoder.encode(request, max_tokens, names)
        };
        let http = match vertex {
            false => {
                let headers = vec![("anthropic-version", VERSION.to_owned()), key.header("x-api-key")];
                self.endpoint.post("/v1/messages", headers, body)
            }
            true => {
                let method = match request.delivery {
                    Delivery::Streamed => "streamRawPredict",
                    Delivery::Whole => "rawPredict",
                };
                let path = format!("/models/{}:{method}", request.model);
                self.endpoint.post(&path, vec![key.bearer()], body)
            }
        };
        self.endpoint.ask(http, decode::Decoder::default(), request.delivery).await
    }
}

impl Provider for Anthropic {
    fn name(&self) -> &str {
        NAME
    }

    fn searches(&self) -> bool {
        // Other servers of this API may not have the tool.
        self.facts.name == NAME && !is_vertex(&self.endpoint.base_url)
    }

    fn search<'a>(
        &'a self,
        model: &'a str,
        search: &'a SearchQuery,
    ) -> BoxFuture<'a, Result<SearchAnswer, ProviderFailure>> {
        Box::pin(async move {
            let key = Credential::usable(self.endpoint.key.as_ref(), self.facts.key_var)?;
            let headers = vec![("anthropic-version", VERSION.to_owned()), key.header("x-api-key")];
            let http = self.endpoint.post("/v1/messages", headers, web_search::anthropic_body(model, search));
            web_search::ask(&self.endpoint, http, web_search::anthropic_answer).await
        })
    }

    fn stream<'a>(&'a self, request: &'a Request<'a>) -> BoxFuture<'a, Result<ChunkStream, ProviderFailure>> {
        Box::pin(async move { self.ask(request).await.map_err(|f| self.endpoint.without_key(f)) })
    }
}
