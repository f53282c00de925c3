//! Forms of MCP servers, put to a client of the Claude protocol: `elicitation` (MCP-72).

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use zori_core::BoxFuture;
use zori_mcp::client::{Form, Forms};

use super::channel::{Channel, Kind};

/// The client, as whoever fills forms in.
pub struct ClientForms(pub Arc<Channel>);

#[derive(Serialize)]
struct Elicitation<'a> {
    subtype: &'static str,
    mcp_server_name: &'a str,
    message: &'a str,
    mode: &'static str,
    requested_schema: &'a Value,
    /// The names of the fields in the server's order, for clients whose objects have none.
    property_order: Vec<&'a str>,
}

impl Forms for ClientForms {
    fn fill_in<'a>(&'a self, form: Form<'a>) -> BoxFuture<'a, Result<Value, String>> {
        let properties = form.schema["properties"].as_object();
        let asked = Elicitation {
            subtype: "elicitation",
            mcp_server_name: form.server,
            message: form.message,
            mode: "form",
            requested_schema: form.schema,
            property_order: properties
                .into_iter()
                .flat_map(|fields| fields.keys())
                .map(String::as_str)
                .collect(),
        };
        Box::pin(async move {
            let answer = self.0.ask(Kind::Form, asked).await?.ok_or("the answer is empty")?;
            serde_json::from_str(answer.get()).map_err(|error| error.to_string())
        })
    }
}
