//! Chat Completions: OpenAI's older API, which most other servers speak too.
//!
//! This file sends. `encode` makes the request body, `decode` turns the answer into chunks, `window` asks how much fits, `wire` holds the
//! JSON shapes, and [`quirks`](crate::quirks) says where servers differ. The fixtures are in `fixtures/openai_chat`,
//! `fixtures/openrouter` and `fixtures/compat`.

mod decode;
mod encode;
pub(crate) mod window;
mod wire;

use std::sync::{Mutex, PoisonError};

use zori_core::BoxFuture;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::provider::{ChunkStream, Provider, Request};

use crate::catalog::{ProviderFacts, SERVED};
use crate::endpoint::{Endpoint, Headers};
use crate::models;
use crate::quirks::{KeyNeed, Quirks, ToolStyle};
use crate::text_tools::Scanner;

/// What a provider is made from.
#[derive(Clone, Debug)]
pub struct OpenAiChatOptions {
    /// The provider's name, models and limits.
    pub facts: &'static ProviderFacts,
    /// Its quirks: what the catalogue says, or a variation of it.
    pub quirks: Quirks,
    /// Where it is, and who asks.
    pub endpoint: Endpoint,
}

/// Models behind Chat Completions.
#[derive(Debug)]
pub struct OpenAiChat {
    options: OpenAiChatOptions,
    encoder: Mutex<encode::Encoder>,
    /// The model that [`SERVED`] means, once the server was asked.
    served: Mutex<Option<String>>,
    /// The window of the model that was asked last, once the server said it.
    window: Mutex<Option<(String, u32)>>,
}

impl OpenAiChat {
    /// Returns the provider; nothing is sent yet.
    pub fn new(options: OpenAiChatOptions) -> Self {
        let encoder = encode::Encoder::new(options.facts.name, options.quirks);
        Self { options, encoder: Mutex::new(encoder), served: Mutex::default(), window: Mutex::default() }
    }

    fn headers(&self) -> Result<Headers, ProviderFailure> {
        let OpenAiChatOptions { facts, quirks, endpoint } = &self.options;
        let mut headers = Headers::new();
        if endpoint.key.is_some() || quirks.key == KeyNeed::Required {
            headers.push(endpoint.bearer(facts.key_var)?);
        }
        headers.extend(quirks.headers.iter().map(|(name, value)| (*name, (*value).to_owned())));
        Ok(headers)
    }

    /// Returns the first model that the server lists; it is asked once.
    async fn first_served(&self) -> Result<String, ProviderFailure> {
        let Endpoint { base_url, transport, limits, clock, .. } = &self.options.endpoint;
        if let Some(model) = self.served.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            return Ok(model);
        }
        let listed = models::list(&**transport, base_url, self.headers()?, *limits, clock.now()).await?;
        let none = || ProviderFailure::new(FailureKind::ApiError, "the server has no model; load one first");
        let first = listed.into_iter().next().ok_or_else(none)?;
        *self.served.lock().unwrap_or_else(PoisonError::into_inner) = Some(first.clone());
        Ok(first)
    }

    /// Returns the window of a model, if the server says it; it is asked until it does.
    async fn window(&self, model: &str) -> Option<u32> {
        let known = self.window.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, window)) = known.filter(|(of, _)| of == model) {
            return Some(window);
        }
        let Endpoint { base_url, transport, .. } = &self.options.endpoint;
        let window = window::loaded(&**transport, base_url, model).await?;
        *self.window.lock().unwrap_or_else(PoisonError::into_inner) = Some((model.to_owned(), window));
        Some(window)
    }

    async fn ask(&self, request: &Request<'_>) -> Result<ChunkStream, ProviderFailure> {
        if request.model == SERVED && self.options.facts.default_model == SERVED {
            let model = self.first_served().await?;
            return self.send(&Request { model: &model, ..request.clone() }).await;
        }
        self.send(request).await
    }

    async fn send(&self, request: &Request<'_>) -> Result<ChunkStream, ProviderFailure> {
        let OpenAiChatOptions { facts, quirks, endpoint } = &self.options;
        let mut headers = self.headers()?;
        if request.messages.iter().any(|message| message.images().next().is_some()) {
            headers.extend(quirks.image_headers.iter().map(|(name, value)| (*name, (*value).to_owned())));
        }
        let limit = facts.max_tokens(request.model, None);
        let body = self.encoder.lock().unwrap_or_else(PoisonError::into_inner).encode(request, limit);
        if quirks.cuts_unsaid
            && body.len() > window::ALWAYS_FITS
            && let Some(window) = self.window(request.model).await
            && let Some(failure) = window::too_small(request.model, window, body.len())
        {
            return Err(failure);
        }
        let http = endpoint.post("/chat/completions", headers, body);
        let decoder = decode::Decoder::new(decode::DecodeOptions {
            provider: facts.name,
            reasoning_replay: quirks.reasoning_replay,
            end_mark: quirks.end_mark,
            prose: (quirks.tools == ToolStyle::Prose).then(|| Scanner::new(request.tools)),
        });
        endpoint.ask(http, decoder, request.delivery).await
    }
}

impl Provider for OpenAiChat {
    fn name(&self) -> &str {
        self.options.facts.name
    }

    fn stream<'a>(&'a self, request: &'a Request<'a>) -> BoxFuture<'a, Result<ChunkStream, ProviderFailure>> {
        Box::pin(async move { self.ask(request).await.map_err(|f| self.options.endpoint.without_key(f)) })
    }
}
