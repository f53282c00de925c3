//! Resources of servers (MCP-60): listed when a server connects, read when a prompt or the model names one. A resource is never followed by
//! itself.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use zori_core::BoxFuture;
use zori_core::image::Image;
use zori_core::text;
use zori_core::tool::{AskUser, Effect, McpChange, Tool, ToolCode, ToolCx, ToolKind, ToolOutput, ToolSpec};

use super::config::Trust;
use super::content;
use super::handshake::listed;
use super::input_rounds;
use super::peer::Peer;
use super::server::Server;
use super::servers::{McpServers, Shared};
use super::tool::{Registered, within};

/// The tool that reads resources.
pub const RESOURCE: &str = "mcp_resource";
/// So much is said of a resource in a list.
const MAX_ABOUT: usize = 200;

/// A resource as its server lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedResource {
    /// Its address on the server.
    pub uri: String,
    /// What it is called.
    pub name: String,
    /// What it says it is.
    pub about: String,
}

/// A resource that was read.
pub struct ReadResource {
    /// Its text, with what became of anything else.
    pub text: String,
    pub images: Vec<Image>,
}

/// Asks a server for its resources; one that has none, or fails at it, has none.
pub async fn list(peer: &Arc<Peer>) -> Vec<ListedResource> {
    let read = |value: &Value| {
        let uri =
            value["uri"].as_str().filter(|uri| !uri.is_empty() && !uri.contains(char::is_whitespace))?;
        let name = value["title"].as_str().or(value["name"].as_str()).unwrap_or(uri);
        let about = value["description"].as_str().unwrap_or_default();
        let short = |words: &str| text::prefix(&text::one_line(words), MAX_ABOUT).to_owned();
        Some(ListedResource { uri: uri.to_owned(), name: short(name), about: short(about) })
    };
    listed(peer, "resources/list", "resources", read).await
}

impl McpServers {
    /// Returns the resource that a word of a prompt names: `@SERVER:URI`. What ends a sentence or stands in brackets is not part of it, unless the
    /// server lists it so.
    pub fn named_resource<'w>(&self, word: &'w str) -> Option<(Arc<Server>, &'w str)> {
        let (server, uri) = word.trim_start_matches('(').strip_prefix('@')?.split_once(':')?;
        let server = self.named(server)?;
        let now = server.now();
        let known = |uri: &str| now.resources.iter().any(|resource| resource.uri == uri);
        let uri = if known(uri) { uri } else { without_punctuation(uri) };
        (known(uri) || uri.contains("://")).then_some((server, uri))
    }

    /// Reads a resource; what the server asks meanwhile is put to `asker`. An error says why it cannot be read.
    pub async fn read_resource(
        &self,
        server: &Server,
        uri: &str,
        asker: Option<Arc<dyn AskUser>>,
    ) -> Result<ReadResource, String> {
        let _asked = asker.map(|asker| Registered::new(server, asker));
        let output = read(server, &self.shared, uri).await;
        match output.failure {
            Some(failure) => Err(failure.message.to_string()),
            None => Ok(ReadResource {
                text: output.text.as_deref().unwrap_or_default().to_owned(),
                images: output.images,
            }),
        }
    }

    /// Returns the tool that reads resources, if there are any.
    pub(super) fn resource_tool(&self, servers: &[Arc<Server>]) -> Option<(ToolSpec, Arc<dyn Tool>)> {
        let having: Vec<_> =
            servers.iter().filter(|server| !server.now().resources.is_empty()).cloned().collect();
        let names: Vec<&str> = having.iter().map(|server| server.config.name.as_str()).collect();
        if names.is_empty() {
            return None;
        }
        let description = format!(
            "Reads a resource of an MCP server; without `uri` lists them. Servers: {}",
            names.join(", ")
        );
        let schema = json!({"type": "object", "required": ["server"], "properties": {
            "server": {"type": "string"}, "uri": {"type": "string"}}});
        let schema = serde_json::value::to_raw_value(&schema).expect("a value is JSON");
        let spec = ToolSpec { name: RESOURCE.to_owned(), description, schema };
        Some((spec, Arc::new(ResourceTool { servers: having, shared: self.shared.clone() })))
    }
}

/// Returns an address without what ends a sentence behind it; a bracket that was opened in it belongs to it.
fn without_punctuation(uri: &str) -> &str {
    let end = uri.trim_end_matches(['.', ',', ';', ':', '!', '?']);
    match end.strip_suffix(')') {
        Some(inside) if !inside.contains('(') => without_punctuation(inside),
        _ => end,
    }
}

async fn read(server: &Server, shared: &Shared, uri: &str) -> ToolOutput {
    let name = &server.config.name;
    let lost =
        |why: String| content::failed(format!("the resource `{uri}` of the MCP server `{name}`: {why}"));
    let late = AtomicBool::new(false);
    let asked = async {
        let peer = server.connected().await?;
        let read = ("resources/read", json!({ "uri": uri }));
        input_rounds::request(server, shared, &peer, read, &late).await
    };
    let limit = server.config.start_timeout + server.config.tool_timeout;
    let read = match within(limit, &shared.form_clock, &late, asked).await {
        Some(Ok(read)) => read,
        Some(Err(why)) => return lost(why),
        None => return lost(format!("it did not answer within {} seconds", limit.as_secs())),
    };
    let blocks: Vec<Value> = read["contents"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|resource| json!({"type": "resource", "resource": resource}))
        .collect();
    content::laid_out(&json!({ "content": blocks }), &shared.files)
}

/// `mcp_resource`.
struct ResourceTool {
    servers: Vec<Arc<Server>>,
    shared: Arc<Shared>,
}

impl ResourceTool {
    fn server(&self, args: &Value) -> Result<&Arc<Server>, String> {
        let wanted = args["server"].as_str().unwrap_or_default();
        self.servers.iter().find(|server| server.config.name == wanted).ok_or_else(|| {
            let names: Vec<&str> = self.servers.iter().map(|server| server.config.name.as_str()).collect();
            format!("there is no server `{wanted}` with resources; there are {}", names.join(", "))
        })
    }

    async fn answer(&self, cx: &ToolCx, args: &Value) -> ToolOutput {
        let server = match self.server(args) {
            Ok(server) => server,
            Err(why) => return ToolOutput::failure(ToolCode::InvalidInput, why),
        };
        if let Some(uri) = args["uri"].as_str().filter(|uri| !uri.is_empty()) {
            let _asked = cx.ask.clone().map(|asker| Registered::new(server, asker));
            return read(server, &self.shared, uri).await;
        }
        let rows: Vec<Value> = server
            .now()
            .resources
            .iter()
            .map(
                |resource| json!({"uri": resource.uri, "name": resource.name, "description": resource.about}),
            )
            .collect();
        let told = json!({ "resources": rows }).to_string();
        content::laid_out(&json!({"content": [{"type": "text", "text": told}]}), &self.shared.files)
    }
}

impl Tool for ResourceTool {
    fn kind(&self) -> Option<ToolKind> {
        None
    }

    fn effects(&self, args: &RawValue) -> Vec<Effect> {
        let args: Value = serde_json::from_str(args.get()).unwrap_or_default();
        match self.server(&args) {
            Ok(server) if args["uri"].is_string() => vec![Effect::Mcp {
                server: server.config.name.clone(),
                tool: "resources/read".to_owned(),
                trusted_reader: server.config.trust == Trust::Trusted,
                change: McpChange::None,
            }],
            _ => vec![Effect::Internal],
        }
    }

    fn run<'a>(&'a self, cx: ToolCx, args: &'a RawValue) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let args: Value = serde_json::from_str(args.get()).unwrap_or_default();
            self.answer(&cx, &args).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_in_sentences() {
        for (word, uri) in [
            ("note://one,", "note://one"),
            ("note://one).", "note://one"),
            ("note://one?!", "note://one"),
            ("note://a.md", "note://a.md"),
            ("note://wiki/A_(b)", "note://wiki/A_(b)"),
            ("note://wiki/A_(b),", "note://wiki/A_(b)"),
        ] {
            assert_eq!(without_punctuation(word), uri);
        }
    }
}
