//! Conversations that requests are made from.

use std::sync::Arc;

use serde_json::value::RawValue;
use zori_core::ids::CallId;
use zori_core::message::{Block, IdOrigin, Message, Opaque, Role, Thinking, ToolCall, ToolInput, ToolResult};
use zori_core::provider::{Delivery, Effort, Provider, Request};
use zori_core::tool::ToolSpec;
use zori_core::transport::{HttpRequest, Transport};
use zori_providers::replay::{Exchange, ReplayTransport};

use crate::vendor::Vendor;

/// What a request is made from.
pub struct Conversation {
    pub model: &'static str,
    pub system: Option<Arc<str>>,
    pub tools: Arc<[ToolSpec]>,
    pub messages: Vec<Arc<Message>>,
    pub effort: Option<Effort>,
    pub delivery: Delivery,
}

impl Conversation {
    /// One question, without system prompt and tools.
    pub fn plain(model: &'static str, text: &str) -> Self {
        Self {
            model,
            system: None,
            tools: Arc::default(),
            messages: vec![Arc::new(Message::user(text))],
            effort: None,
            delivery: Delivery::Streamed,
        }
    }

    /// One question to an agent.
    pub fn equipped(model: &'static str, text: &str) -> Self {
        Self {
            system: Some("You are a coding agent. Be brief.".into()),
            tools: tools(),
            ..Self::plain(model, text)
        }
    }

    /// Sends it and returns the request that went out.
    pub async fn sent(&self, vendor: Vendor) -> HttpRequest {
        self.sent_by(|transport| vendor.provider(transport)).await
    }

    /// Sends it through this provider and returns the request that went out.
    pub async fn sent_by(
        &self,
        provider: impl FnOnce(Arc<dyn Transport>) -> Box<dyn Provider>,
    ) -> HttpRequest {
        let transport = Arc::new(ReplayTransport::new([Exchange::json("{}")]));
        let provider = provider(transport.clone());
        let request = Request {
            model: self.model,
            system: self.system.as_ref(),
            tools: &self.tools,
            messages: &self.messages,
            max_tokens: None,
            temperature: None,
            effort: self.effort,
            delivery: self.delivery,
        };
        // The answer is nonsense; only the request is of interest.
        assert!(provider.stream(&request).await.is_err());
        transport.requests().remove(0)
    }
}

fn tools() -> Arc<[ToolSpec]> {
    let tool = |name: &str, description: &str, parameter: &str| ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        schema: raw(&format!(
            r#"{{"type":"object","properties":{{"{parameter}":{{"type":"string"}}}},"required":["{parameter}"],"additionalProperties":false}}"#
        )),
    };
    Arc::new([tool("read", "Reads a text file.", "path"), tool("bash", "Runs a shell command.", "command")])
}

/// A step of a turn: the model said these blocks, and each call has its result.
pub fn step(messages: &mut Vec<Arc<Message>>, blocks: Vec<Block>) {
    let reply = Message { role: Role::Assistant, blocks };
    let results = reply.calls().map(|call| {
        Block::ToolResult(ToolResult {
            call: call.id.clone(),
            name: call.name.clone(),
            ok: true,
            envelope: raw(r#"{"ok":true,"data":{"content":"15\n"}}"#).into(),
            text: None,
            images: Vec::new(),
        })
    });
    let results = Message { role: Role::User, blocks: results.collect() };
    messages.push(Arc::new(reply));
    if !results.blocks.is_empty() {
        messages.push(Arc::new(results));
    }
}

/// A call whose id the provider issued, or we made up.
pub fn call(id: &str, id_origin: IdOrigin, name: &str, input: &str, replay: Option<Opaque>) -> Block {
    let input = ToolInput::parse(input.to_owned());
    Block::ToolCall(ToolCall { id: CallId::new(id), name: name.to_owned(), input, id_origin, replay })
}

/// Thinking with what its provider wants back.
pub fn thinking(text: &str, provider: &str, json: &str) -> Block {
    Block::Thinking(Thinking { text: text.to_owned(), replay: Some(opaque(provider, json)) })
}

pub fn opaque(provider: &str, json: &str) -> Opaque {
    Opaque::new(provider, raw(json))
}

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).expect("test data is JSON")
}
