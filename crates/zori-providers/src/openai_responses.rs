//! OpenAI's Responses API, and servers that speak it too.
//!
//! This file sends. `encode` makes the request body, `effort` says how hard the model should think in its own
//! words, `decode` turns the answer into chunks, `wire` holds the JSON shapes. Nothing is stored at the provider:
//! reasoning comes encrypted and goes back with the history. The fixtures are in `fixtures/openai_responses`.

mod decode;
pub(crate) mod effort;
mod encode;
mod wire;

use std::sync::{Mutex, PoisonError};

use zori_core::BoxFuture;
use zori_core::failure::ProviderFailure;
use zori_core::provider::{ChunkStream, Provider, Request};
use zori_core::search::{SearchAnswer, SearchQuery};

use crate::catalog::ProviderFacts;
use crate::endpoint::Endpoint;
use crate::web_search;

/// The provider's name; also marks the reasoning that only it understands.
pub const NAME: &str = "openai";

const KEY_VAR: &str = "OPENAI_API_KEY";

/// OpenAI's models behind the Responses API.
#[derive(Debug)]
pub struct OpenAiResponses {
    key_var: &'static str,
    endpoint: Endpoint,
    encoder: Mutex<encode::Encoder>,
}

impl OpenAiResponses {
    /// Returns the provider; nothing is sent yet.
    pub fn new(endpoint: Endpoint) -> Self {
        Self { key_var: KEY_VAR, endpoint, encoder: Mutex::default() }
    }

    /// Returns the same for another server of this API.
    pub fn of(facts: &ProviderFacts, endpoint: Endpoint) -> Self {
        Self { key_var: facts.key_var, ..Self::new(endpoint) }
    }

    async fn ask(&self, request: &Request<'_>) -> Result<ChunkStream, ProviderFailure> {
        let headers = vec![self.endpoint.bearer(self.key_var)?];
        let body = self.encoder.lock().unwrap_or_else(PoisonError::into_inner).encode(request);
        let http = self.endpoint.post("/responses", headers, body);
        self.endpoint.ask(http, decode::Decoder::default(), request.delivery).await
    }
}

impl Provider for OpenAiResponses {
    fn name(&self) -> &str {
        NAME
    }

    fn searches(&self) -> bool {
        // Other servers of this API may not have the tool.
        self.key_var == KEY_VAR
    }

    fn search<'a>(
        &'a self,
        model: &'a str,
        search: &'a SearchQuery,
    ) -> BoxFuture<'a, Result<SearchAnswer, ProviderFailure>> {
        Box::pin(async move {
            let headers = vec![self.endpoint.bearer(self.key_var)?];
            let http = self.endpoint.post("/responses", headers, web_search::responses_body(model, search));
            web_search::ask(&self.endpoint, http, web_search::responses_answer).await
        })
    }

    fn stream<'a>(&'a self, request: &'a Request<'a>) -> BoxFuture<'a, Result<ChunkStream, ProviderFailure>> {
        Box::pin(async move { self.ask(request).await.map_err(|f| self.endpoint.without_key(f)) })
    }
}
