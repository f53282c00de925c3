//! The vendors' APIs as one list, for tests that hold for each of them.

use std::sync::Arc;

use zori_core::provider::{Delivery, Provider};
use zori_core::time::Clock;
use zori_core::transport::{Timeouts, Transport};
use zori_providers::endpoint::Endpoint;
use zori_providers::gemini::Gemini;
use zori_providers::key::Credential;
use zori_providers::openai_responses::OpenAiResponses;
use zori_providers::replay::{Exchange, ReplayTransport};

use crate::ask::{StoppedClock, anthropic, ask, fixture, streams};

/// An API with a decoder of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vendor {
    Anthropic,
    Responses,
    Gemini,
}

impl Vendor {
    pub const ALL: [Self; 3] = [Self::Anthropic, Self::Responses, Self::Gemini];

    /// Returns the provider on this transport, with a clock that stands still.
    pub fn provider(self, transport: Arc<dyn Transport>) -> Box<dyn Provider> {
        self.provider_at(transport, Arc::new(StoppedClock))
    }

    /// Returns the provider on this transport.
    pub fn provider_at(self, transport: Arc<dyn Transport>, clock: Arc<dyn Clock>) -> Box<dyn Provider> {
        let base_url = "http://api.test/v1".to_owned();
        let key = Some(Credential::Key("sk-test-key".into()));
        let endpoint =
            Endpoint { base_url, key, transport: transport.clone(), limits: Timeouts::DEFAULT, clock };
        match self {
            Self::Anthropic => Box::new(anthropic(transport)),
            Self::Responses => Box::new(OpenAiResponses::new(endpoint)),
            Self::Gemini => Box::new(Gemini::new(endpoint)),
        }
    }

    /// Asks `hi` and returns the answer as text.
    pub async fn reply(self, exchange: Exchange) -> String {
        self.reply_as(exchange, Delivery::Streamed).await
    }

    /// Asks `hi` for this delivery and returns the answer as text.
    pub async fn reply_as(self, exchange: Exchange, delivery: Delivery) -> String {
        ask(&*self.provider(Arc::new(ReplayTransport::new([exchange]))), delivery).await
    }

    /// Returns every stream of the API with its name.
    pub fn streams(self) -> Vec<(String, Vec<u8>)> {
        let folders: &[&str] = match self {
            Self::Anthropic => &["anthropic", "compat/llama-server"],
            Self::Responses => &["openai_responses", "openai_responses/recorded"],
            Self::Gemini => &["gemini"],
        };
        let names = folders.iter().flat_map(|folder| streams(folder));
        let anthropic_only = |name: &String| self != Self::Anthropic || name.contains("anthropic");
        names.filter(anthropic_only).map(|name| (name.clone(), fixture(&format!("{name}.sse")))).collect()
    }

    /// Returns whether bytes could hold an end of the answer at all.
    pub fn may_end(self, stream: &str) -> bool {
        let ends: &[&str] = match self {
            Self::Anthropic => &["message_stop"],
            Self::Responses => &["response.completed", "response.incomplete"],
            Self::Gemini => &["finishReason", "blockReason"],
        };
        ends.iter().any(|end| stream.contains(end))
    }
}
