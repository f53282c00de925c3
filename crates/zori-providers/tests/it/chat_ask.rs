//! How the tests ask a server of Chat Completions: the one place that knows which provider a fixture is of.

use std::sync::Arc;

use zori_core::provider::Delivery;
use zori_core::transport::{Timeouts, Transport};
use zori_providers::catalog::{self, Api};
use zori_providers::endpoint::Endpoint;
use zori_providers::key::Credential;
use zori_providers::openai_chat::{OpenAiChat, OpenAiChatOptions};
use zori_providers::quirks::{Quirks, ToolStyle};
use zori_providers::replay::{Exchange, ReplayTransport};

use crate::ask::{StoppedClock, ask, fixture, streams};

/// Returns the provider of that name on this transport, with a key if it needs one.
pub fn chat(name: &str, tools: ToolStyle, transport: Arc<dyn Transport>) -> OpenAiChat {
    // The vendor's own name is that of its newer API.
    let name = if name == "openai" { "openai-chat" } else { name };
    let facts = catalog::provider(name).expect("the catalogue lists it");
    let Api::OpenAiChat(quirks) = facts.api else { panic!("{name} speaks something else") };
    OpenAiChat::new(OpenAiChatOptions {
        facts,
        quirks: Quirks { tools, ..*quirks },
        endpoint: Endpoint {
            base_url: "http://api.test/v1".to_owned(),
            key: Some(Credential::Key("sk-test-key".into())),
            transport,
            limits: Timeouts::DEFAULT,
            clock: Arc::new(StoppedClock),
        },
    })
}

/// Returns whose stream a fixture is, and how its model calls tools.
pub fn asked(fixture: &str) -> (&str, ToolStyle) {
    let (folder, file) = fixture.split_once('/').expect("fixtures are in folders");
    let name = match folder {
        "openai_chat" => "openai",
        "openrouter" => "openrouter",
        _ if file.starts_with("llama-server/") => "llamacpp",
        _ => file.split_once('_').expect("the name begins with the provider").0,
    };
    (name, if file.contains("prose") { ToolStyle::Prose } else { ToolStyle::Native })
}

/// Asks whom this fixture is of, who answers so.
pub async fn chat_reply(name: &str, exchange: Exchange, delivery: Delivery) -> String {
    let (provider, tools) = asked(name);
    ask(&chat(provider, tools, Arc::new(ReplayTransport::new([exchange]))), delivery).await
}

/// Returns every stream with its name.
pub fn all_chats() -> Vec<(String, Vec<u8>)> {
    let recorded = streams("compat/llama-server").into_iter().filter(|name| name.contains("/chat_"));
    let written = ["openai_chat", "openrouter", "compat"].into_iter().flat_map(streams);
    written.chain(recorded).map(|name| (name.clone(), fixture(&format!("{name}.sse")))).collect()
}
