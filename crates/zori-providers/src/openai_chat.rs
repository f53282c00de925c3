//! Chat Completions: OpenAI's older API, which everybody else speaks too.
//!
//! This file sends. `encode` makes the request body, `decode` turns the answer into chunks, `wire` holds the JSON
//! shapes, and [`quirks`](crate::quirks) says where servers differ. The fixtures are in `fixtures/openai_chat`,
//! `fixtures/openrouter` and `fixtures/compat`.

mod decode;
mod encode;
mod wire;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use zori_core::BoxFuture;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::provider::{ChunkStream, Provider, Request};
use zori_core::secret::Secret;
use zori_core::time::Clock;
use zori_core::transport::{HttpRequest, Limits, Method, Redirects, Transport};

use crate::catalog::{ProviderFacts, SERVED};
use crate::quirks::{KeyNeed, Quirks, ToolStyle};
use crate::text_tools::Scanner;
use crate::{answer, failure, key, models};

/// What a provider is made from.
#[derive(Clone)]
pub struct OpenAiChatOptions {
    /// Who it is: the name, the models and their limits.
    pub facts: &'static ProviderFacts,
    /// How it wants to be spoken to: what the catalogue says, or a variation of it.
    pub quirks: Quirks,
    /// Where the API is, as [`ProviderFacts::parse_base_url`] returned it.
    pub base_url: String,
    /// The key; without one, servers that need it are not asked.
    pub key: Option<Secret>,
    /// Who sends.
    pub transport: Arc<dyn Transport>,
    /// How long each phase of a request may take.
    pub limits: Limits,
    /// Reads the dates in `Retry-After`, and counts how long nothing but comments has come.
    pub clock: Arc<dyn Clock>,
}

/// Models behind Chat Completions.
pub struct OpenAiChat {
    options: OpenAiChatOptions,
    encoder: Mutex<encode::Encoder>,
    /// The model that stands behind [`SERVED`], once the server was asked.
    served: Mutex<Option<String>>,
}

impl OpenAiChat {
    /// Returns the provider; nothing is sent yet.
    pub fn new(options: OpenAiChatOptions) -> Self {
        let encoder = encode::Encoder::new(options.facts.name, options.quirks);
        Self { options, encoder: Mutex::new(encoder), served: Mutex::default() }
    }

    fn headers(&self) -> Result<Vec<(&'static str, String)>, ProviderFailure> {
        let OpenAiChatOptions { facts, quirks, key, .. } = &self.options;
        let mut headers = vec![("content-type", "application/json".to_owned())];
        if key.is_some() || quirks.key == KeyNeed::Required {
            let key = key::usable(key.as_ref(), facts.key_var)?;
            headers.push(("authorization", key::bearer(key)));
        }
        headers.extend(quirks.headers.iter().map(|(name, value)| (*name, (*value).to_owned())));
        Ok(headers)
    }

    /// Returns the first model that the server lists; it is asked once.
    async fn first_served(&self) -> Result<String, ProviderFailure> {
        let OpenAiChatOptions { base_url, transport, limits, clock, .. } = &self.options;
        if let Some(model) = self.served.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            return Ok(model);
        }
        let listed = models::list(&**transport, base_url, self.headers()?, *limits, clock.now()).await?;
        let none = || ProviderFailure::new(FailureKind::ApiError, "the server has no model; load one first");
        let first = listed.into_iter().next().ok_or_else(none)?;
        *self.served.lock().unwrap_or_else(PoisonError::into_inner) = Some(first.clone());
        Ok(first)
    }

    async fn ask(&self, request: &Request<'_>) -> Result<ChunkStream, ProviderFailure> {
        if request.model == SERVED && self.options.facts.default_model == SERVED {
            let model = self.first_served().await?;
            return self.send(&Request { model: &model, ..request.clone() }).await;
        }
        self.send(request).await
    }

    async fn send(&self, request: &Request<'_>) -> Result<ChunkStream, ProviderFailure> {
        let OpenAiChatOptions { facts, quirks, base_url, transport, limits, clock, .. } = &self.options;
        let mut headers = self.headers()?;
        if request.messages.iter().any(|message| message.images().next().is_some()) {
            headers.extend(quirks.image_headers.iter().map(|(name, value)| (*name, (*value).to_owned())));
        }
        let limit = facts.max_tokens(request.model, None);
        let body = self.encoder.lock().unwrap_or_else(PoisonError::into_inner).encode(request, limit);
        let http = HttpRequest {
            method: Method::Post,
            url: format!("{}/chat/completions", base_url.trim_end_matches('/')),
            headers,
            body: Bytes::from(body),
            limits: *limits,
            redirects: Redirects::SameOrigin,
        };
        let decoder = decode::Decoder::new(decode::Reading {
            provider: facts.name,
            reasoning_replay: quirks.reasoning_replay,
            end_mark: quirks.end_mark,
            prose: (quirks.tools == ToolStyle::Prose).then(|| Scanner::new(request.tools)),
        });
        answer::ask(&**transport, http, decoder, request.delivery, clock, self.key()).await
    }

    fn key(&self) -> Secret {
        self.options.key.clone().unwrap_or_default()
    }
}

impl Provider for OpenAiChat {
    fn name(&self) -> &str {
        self.options.facts.name
    }

    fn stream<'a>(&'a self, request: &'a Request<'a>) -> BoxFuture<'a, Result<ChunkStream, ProviderFailure>> {
        Box::pin(async move { self.ask(request).await.map_err(|f| failure::without(&self.key(), f)) })
    }
}

impl fmt::Debug for OpenAiChat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Neither the key nor the base URL, which may hold a password.
        f.debug_struct("OpenAiChat").field("provider", &self.options.facts.name).finish_non_exhaustive()
    }
}
