//! OpenAI's API at an address that is not the vendor's (DECISIONS 44): Responses where the server has it, else Chat
//! Completions. Which of them it has is found out with the first request, and remembered.

use std::sync::atomic::{AtomicBool, Ordering};

use zori_core::BoxFuture;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::provider::{ChunkStream, Provider, Request};
use zori_core::search::{SearchAnswer, SearchQuery};

use crate::openai_chat::OpenAiChat;
use crate::openai_responses::OpenAiResponses;

/// A server that speaks one of OpenAI's APIs.
#[derive(Debug)]
pub struct OpenAiCompatible {
    responses: OpenAiResponses,
    chat: OpenAiChat,
    /// Whether the server has said that it knows no Responses.
    only_chat: AtomicBool,
}

impl OpenAiCompatible {
    /// Returns the provider; nothing is sent yet.
    pub fn new(responses: OpenAiResponses, chat: OpenAiChat) -> Self {
        Self { responses, chat, only_chat: AtomicBool::new(false) }
    }

    async fn ask(&self, request: &Request<'_>) -> Result<ChunkStream, ProviderFailure> {
        if !self.only_chat.load(Ordering::Relaxed) {
            match self.responses.stream(request).await {
                Err(failure) if is_missing(&failure) => self.only_chat.store(true, Ordering::Relaxed),
                answer => return answer,
            }
        }
        self.chat.stream(request).await
    }
}

impl Provider for OpenAiCompatible {
    fn name(&self) -> &str {
        self.responses.name()
    }

    fn stream<'a>(&'a self, request: &'a Request<'a>) -> BoxFuture<'a, Result<ChunkStream, ProviderFailure>> {
        Box::pin(self.ask(request))
    }

    fn searches(&self) -> bool {
        self.responses.searches()
    }

    fn search<'a>(
        &'a self,
        model: &'a str,
        search: &'a SearchQuery,
    ) -> BoxFuture<'a, Result<SearchAnswer, ProviderFailure>> {
        self.responses.search(model, search)
    }
}

/// Returns whether the server does not have the API that it was asked by. A model that it does not have is another matter.
fn is_missing(failure: &ProviderFailure) -> bool {
    let about_model = || failure.details.as_deref().is_some_and(|said| said.contains("model_not_found"));
    failure.kind == FailureKind::HttpStatus
        && matches!(failure.status, Some(404 | 405 | 501))
        && !about_model()
}
