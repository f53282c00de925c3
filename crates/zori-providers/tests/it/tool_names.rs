//! Tools are offered under the names their calls are sent back with: those that every API accepts.

use serde_json::value::RawValue;
use zori_core::provider::Provider;
use zori_core::tool::ToolSpec;
use zori_providers::quirks::ToolStyle;

use crate::chat_ask::chat;
use crate::conversation::Conversation;
use crate::vendor::Vendor;

/// A conversation with a tool whose name no API accepts.
fn with_odd_tool() -> Conversation {
    let schema = RawValue::from_string(r#"{"type":"object"}"#.to_owned()).expect("it is JSON");
    let odd = ToolSpec { name: "mcp.files/größe".to_owned(), description: "Sizes".to_owned(), schema };
    Conversation { tools: [odd].into(), ..Conversation::plain("some-model", "hi") }
}

#[tokio::test]
async fn offered_names_are_accepted_ones() {
    let mut bodies = Vec::new();
    for vendor in Vendor::ALL {
        bodies.push(with_odd_tool().sent(vendor).await.body);
    }
    let openai = |transport| -> Box<dyn Provider> { Box::new(chat("openai", ToolStyle::Native, transport)) };
    bodies.push(with_odd_tool().sent_by(openai).await.body);
    for body in bodies {
        let body = String::from_utf8(body.to_vec()).unwrap();
        assert!(body.contains(r#""name":"mcp_files_gr__e""#), "{body}");
        assert!(!body.contains("mcp.files"), "{body}");
    }
}
