//! Answers of any length that are never in memory as a whole: a beginning, one block of deltas again and again, an
//! end, in each vendor's shape.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use futures_core::Stream;
use zori_core::BoxFuture;
use zori_core::provider::Provider;
use zori_core::time::{Clock, Timestamp};
use zori_core::transport::{HttpRequest, HttpResponse, Timeouts, Transport, TransportFailure};
use zori_providers::agent_zero::{AgentZero, AgentZeroOptions};
use zori_providers::anthropic::Anthropic;
use zori_providers::catalog::{self, Api};
use zori_providers::endpoint::Endpoint;
use zori_providers::gemini::Gemini;
use zori_providers::key::Credential;
use zori_providers::openai_chat::{OpenAiChat, OpenAiChatOptions};
use zori_providers::openai_responses::OpenAiResponses;

/// How many deltas come in one piece, as a network read brings them.
const BLOCK: usize = 100;

/// A provider, and how its answers begin, go on and end. The text of each delta is `word `.
pub struct Vendor {
    /// What `--provider` takes.
    pub name: &'static str,
    start: &'static str,
    delta: &'static str,
    end: &'static str,
}

/// One vendor per API.
pub const VENDORS: &[Vendor] = &[
    Vendor {
        name: "anthropic",
        start: concat!(
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",",
            "\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n",
            "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,",
            "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
        ),
        delta: concat!(
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,",
            "\"delta\":{\"type\":\"text_delta\",\"text\":\"word \"}}\n\n",
        ),
        end: concat!(
            "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
            "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n",
            "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        ),
    },
    Vendor {
        name: "openai-chat",
        start: "",
        delta: concat!(
            "data: {\"id\":\"chatcmpl-example\",\"object\":\"chat.completion.chunk\",\"created\":1794776918,",
            "\"model\":\"gpt-5.4-mini-2026-03-17\",\"service_tier\":\"default\",\"system_fingerprint\":null,",
            "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"},\"logprobs\":null,\"finish_reason\":null}]}\n\n",
        ),
        end: concat!(
            "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
            "data: [DONE]\n\n",
        ),
    },
    Vendor {
        name: "codex",
        start: concat!(
            "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"model\":\"m\"}}\n\n",
            "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"output_index\":0,",
            "\"item\":{\"id\":\"msg_0\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[]}}\n\n",
        ),
        delta: concat!(
            "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"item_id\":\"msg_0\",",
            "\"output_index\":0,\"content_index\":0,\"delta\":\"word \",\"logprobs\":[],\"obfuscation\":\"aXq3\"}\n\n",
        ),
        end: concat!(
            "event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"output_index\":0,",
            "\"item\":{\"id\":\"msg_0\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[]}}\n\n",
            "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n",
        ),
    },
    Vendor {
        name: "gemini",
        start: "",
        delta: concat!(
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"word \"}],\"role\":\"model\"},\"index\":0}],",
            "\"usageMetadata\":{\"promptTokenCount\":12,\"totalTokenCount\":12,",
            "\"promptTokensDetails\":[{\"modality\":\"TEXT\",\"tokenCount\":12}]},",
            "\"modelVersion\":\"gemini-3.8-flash\",\"responseId\":\"r-1\"}\r\n\r\n",
        ),
        end: concat!(
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"end\"}],\"role\":\"model\"},",
            "\"finishReason\":\"STOP\",\"index\":0}]}\r\n\r\n",
        ),
    },
];

impl Vendor {
    /// Returns the vendor of that name.
    pub fn by_name(name: &str) -> Result<&'static Self> {
        VENDORS.iter().find(|vendor| vendor.name == name).with_context(|| format!("no stream of `{name}`"))
    }

    /// Returns how many deltas make a stream of so many bytes, in whole blocks.
    pub fn deltas_in(&self, bytes: usize) -> usize {
        bytes / (self.delta.len() * BLOCK) * BLOCK
    }

    /// Returns the provider, whose every answer has so many deltas (in whole blocks).
    pub fn provider(&self, deltas: usize) -> Result<Box<dyn Provider>> {
        let facts = catalog::provider(self.name).context("the catalogue lists it")?;
        let transport: Arc<dyn Transport> = Arc::new(LongAnswer {
            start: self.start,
            block: Bytes::from(self.delta.repeat(BLOCK)),
            times: deltas / BLOCK,
            end: self.end,
        });
        let (base_url, key) = ("http://api.test".to_owned(), Some(Credential::Key("sk-test-key".into())));
        let (limits, clock) = (Timeouts::DEFAULT, Arc::new(FixedClock));
        let endpoint = Endpoint { base_url, key, transport, limits, clock };
        Ok(match facts.api {
            Api::Anthropic => Box::new(Anthropic::new(endpoint)),
            Api::OpenAiChat(quirks) => {
                let quirks = *quirks;
                Box::new(OpenAiChat::new(OpenAiChatOptions { facts, quirks, endpoint }))
            }
            Api::OpenAiResponses => Box::new(OpenAiResponses::new(endpoint)),
            Api::Gemini => Box::new(Gemini::new(endpoint)),
            Api::AgentZero => Box::new(AgentZero::new(endpoint, AgentZeroOptions::default(), None)),
        })
    }
}

struct LongAnswer {
    start: &'static str,
    block: Bytes,
    times: usize,
    end: &'static str,
}

impl Transport for LongAnswer {
    fn send(&self, _: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportFailure>> {
        let body = Body {
            start: Some(Bytes::from_static(self.start.as_bytes())),
            block: self.block.clone(),
            left: self.times,
            end: Some(Bytes::from_static(self.end.as_bytes())),
        };
        let headers = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
        let response = HttpResponse { status: 200, headers, url: String::new(), body: Box::pin(body) };
        Box::pin(std::future::ready(Ok(response)))
    }
}

struct Body {
    start: Option<Bytes>,
    block: Bytes,
    left: usize,
    end: Option<Bytes>,
}

impl Stream for Body {
    type Item = Result<Bytes, TransportFailure>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(start) = self.start.take() {
            return Poll::Ready(Some(Ok(start)));
        }
        if self.left > 0 {
            self.left -= 1;
            return Poll::Ready(Some(Ok(self.block.clone())));
        }
        Poll::Ready(self.end.take().map(Ok))
    }
}

struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp(0)
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}
