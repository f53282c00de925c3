//! Google's Gemini API.
//!
//! This file sends. `encode` makes the request body, `effort` says how hard the model should think in its own words, `decode` turns the answer into chunks, `wire`
//! holds the JSON shapes. The fixtures are in `fixtures/gemini`.

mod decode;
mod effort;
mod encode;
mod wire;

use std::sync::{Mutex, PoisonError};

use zori_core::BoxFuture;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::provider::{ChunkStream, Delivery, Provider, Request};
use zori_core::search::{SearchAnswer, SearchQuery};

use crate::catalog::ProviderFacts;
use crate::catalog::gemini::FACTS;
use crate::endpoint::Endpoint;
use crate::key::Credential;
use crate::web_search;

/// The provider's name; also marks the signatures that only it understands.
pub const NAME: &str = "gemini";

/// Google's models.
#[derive(Debug)]
pub struct Gemini {
    facts: ProviderFacts,
    endpoint: Endpoint,
    encoder: Mutex<encode::Encoder>,
}

impl Gemini {
    /// Returns the provider; nothing is sent yet.
    pub fn new(endpoint: Endpoint) -> Self {
        Self::of(&FACTS, endpoint)
    }

    /// Returns the same for another server of this API.
    pub fn of(facts: &ProviderFacts, endpoint: Endpoint) -> Self {
        Self { facts: *facts, endpoint, encoder: Mutex::default() }
    }

    async fn ask(&self, request: &Request<'_>) -> Result<ChunkStream, ProviderFailure> {
        let key = Credential::usable(self.endpoint.key.as_ref(), self.facts.key_var)?;
        let max_tokens = self.facts.max_tokens(request.model, request.max_tokens);
        let body = self.encoder.lock().unwrap_or_else(PoisonError::into_inner).encode(request, max_tokens);
        let http = self.endpoint.post(
            &path(request.model, request.delivery)?,
            vec![key.header("x-goog-api-key")],
            body,
        );
        self.endpoint.ask(http, decode::Decoder::default(), request.delivery).await
    }
}

impl Provider for Gemini {
    fn name(&self) -> &str {
        NAME
    }

    fn searches(&self) -> bool {
        // Other servers of this API may not have the tool.
        self.facts.name == NAME
    }

    fn search<'a>(
        &'a self,
        model: &'a str,
        search: &'a SearchQuery,
    ) -> BoxFuture<'a, Result<SearchAnswer, ProviderFailure>> {
        Box::pin(async move {
            let key = Credential::usable(self.endpoint.key.as_ref(), self.facts.key_var)?;
            let headers = vec![key.header("x-goog-api-key")];
            let http =
                self.endpoint.post(&path(model, Delivery::Whole)?, headers, web_search::gemini_body(search));
            web_search::ask(&self.endpoint, http, web_search::gemini_answer).await
        })
    }

    fn stream<'a>(&'a self, request: &'a Request<'a>) -> BoxFuture<'a, Result<ChunkStream, ProviderFailure>> {
        Box::pin(async move { self.ask(request).await.map_err(|f| self.endpoint.without_key(f)) })
    }
}

/// Returns where a request goes. The model is part of the path, so a name that would leave it is refused.
fn path(asked: &str, delivery: Delivery) -> Result<String, ProviderFailure> {
    let model = asked.strip_prefix("models/").unwrap_or(asked);
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    if model.is_empty() || model.starts_with('.') || !model.bytes().all(fits) {
        let message = format!("`{asked}` is no name of a Gemini model");
        return Err(ProviderFailure {
            status: Some(404),
            ..ProviderFailure::new(FailureKind::HttpStatus, message)
        });
    }
    let method = match delivery {
        Delivery::Streamed => "streamGenerateContent?alt=sse",
        Delivery::Whole => "generateContent",
    };
    Ok(format!("/models/{model}:{method}"))
}
