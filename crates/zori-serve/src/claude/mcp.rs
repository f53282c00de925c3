//! MCP servers that live in the client: JSON-RPC in `mcp_message` requests. All others are `zori-mcp`'s.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use zori_core::BoxFuture;
use zori_core::confine::Consent;
use zori_core::ids::CallId;
use zori_core::image::Image;
use zori_core::tool::{Effect, McpChange, Tool, ToolCode, ToolCx, ToolKind, ToolOutput, ToolSpec};
use zori_frontends::claude::wire::McpServer;
use zori_tools::toolset::ExternalTool;

use super::channel::{Body, Channel, Kind};

/// So long a server may take to say what it has.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// The version of MCP that is spoken.
const VERSION: &str = "2025-06-18";

/// The servers a client names, before anything is known of them.
#[derive(Default)]
pub struct ClientServers {
    /// Those that live in the client.
    pub sdk: Vec<String>,
    /// Those that do not.
    pub external: Vec<String>,
}

#[derive(Deserialize)]
struct Config {
    #[serde(rename = "mcpServers", default)]
    servers: BTreeMap<String, Value>,
}

impl ClientServers {
    /// Reads `--mcp-config`: JSON, or a file of it. An error says what is wrong with it.
    pub fn read(configs: &[String]) -> Result<Self, String> {
        let mut named = Self::default();
        for config in configs {
            let text = match config.trim_start().starts_with('{') {
                true => config.clone(),
                false => std::fs::read_to_string(config)
                    .map_err(|error| format!("`--mcp-config`: cannot read {config}: {error}"))?,
            };
            let config: Config = serde_json::from_str(&text)
                .map_err(|error| format!("`--mcp-config` is not understood: {error}"))?;
            for (name, server) in config.servers {
                if server["type"] == "sdk" {
                    named.add(name);
                } else {
                    named.external.push(name);
                }
            }
        }
        Ok(named)
    }

    /// Adds one that lives in the client.
    pub fn add(&mut self, name: String) {
        if !self.sdk.contains(&name) {
            self.sdk.push(name);
        }
    }
}

/// What came of asking the servers.
#[derive(Default)]
pub struct Connected {
    /// How each fares.
    pub servers: Vec<McpServer>,
    /// What they offer.
    pub tools: Vec<Offer>,
    /// Those that failed, with why.
    pub failed: Vec<(String, String)>,
}

impl Connected {
    /// Returns what the user should know, a sentence each.
    pub fn remarks(&self) -> impl Iterator<Item = String> {
        self.failed.iter().map(|(name, why)| format!("the MCP server `{name}` failed: {why}"))
    }

    /// Adds what came of asking others.
    pub fn add(&mut self, more: Self) {
        self.servers.extend(more.servers);
        self.tools.extend(more.tools);
        self.failed.extend(more.failed);
    }
}

/// A tool of a server.
#[derive(Clone)]
pub struct Offer {
    server: String,
    tool: String,
    description: String,
    schema: Box<RawValue>,
    reads_only: bool,
}

#[derive(Serialize)]
struct McpMessage<'a> {
    subtype: &'static str,
    server_name: &'a str,
    message: Value,
}

/// Asks every server what it has. One that does not answer is `failed`, and the session goes on without it.
pub async fn connect(channel: &Arc<Channel>, named: &ClientServers) -> Connected {
    let mut connected = Connected::default();
    for name in &named.sdk {
        let found = tokio::time::timeout(HANDSHAKE, handshake(channel, name)).await;
        let found =
            found.unwrap_or_else(|_| Err(format!("no answer within {} seconds", HANDSHAKE.as_secs())));
        let status = match found {
            Ok(tools) => {
                connected.tools.extend(tools);
                "connected"
            }
            Err(why) => {
                connected.failed.push((name.clone(), why));
                "failed"
            }
        };
        connected.servers.push(McpServer { name: name.clone(), status });
    }
    connected
}

async fn handshake(channel: &Arc<Channel>, server: &str) -> Result<Vec<Offer>, String> {
    let client = json!({"name": "zori", "version": env!("CARGO_PKG_VERSION")});
    let hello = json!({"protocolVersion": VERSION, "capabilities": {}, "clientInfo": client});
    call(channel, server, "initialize", hello).await?;
    rpc(channel, server, None, "notifications/initialized", json!({})).await?;
    let mut offers = Vec::new();
    let mut cursor = Value::Null;
    // A server that goes on and on is believed for so many pages.
    for _ in 0..50 {
        let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
        let listed = call(channel, server, "tools/list", params).await?;
        for tool in listed["tools"].as_array().into_iter().flatten() {
            offers.extend(offer(server, tool));
        }
        cursor = listed["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    Ok(offers)
}

fn offer(server: &str, tool: &Value) -> Option<Offer> {
    let mut schema = tool["inputSchema"].clone();
    if !schema.is_object() {
        schema = json!({"type": "object"});
    }
    Some(Offer {
        server: server.to_owned(),
        tool: tool["name"].as_str()?.to_owned(),
        description: tool["description"].as_str().unwrap_or_default().to_owned(),
        schema: serde_json::value::to_raw_value(&schema).ok()?,
        reads_only: tool["annotations"]["readOnlyHint"] == true,
    })
}

/// Calls a method of a server.
async fn call(channel: &Arc<Channel>, server: &str, method: &str, params: Value) -> Result<Value, String> {
    rpc(channel, server, Some(channel.number()), method, params).await
}

/// Sends one message of JSON-RPC, and returns its result. A notification has no id and no result.
async fn rpc(
    channel: &Arc<Channel>,
    server: &str,
    id: Option<u64>,
    method: &str,
    params: Value,
) -> Result<Value, String> {
    let mut message = json!({"jsonrpc": "2.0", "method": method, "params": params});
    if let Some(id) = id {
        message["id"] = id.into();
    }
    let request = McpMessage { subtype: "mcp_message", server_name: server, message };
    let answer = channel.ask(Kind::Other, request).await?;
    let answer: Value = match answer {
        Some(raw) => serde_json::from_str(raw.get())
            .map_err(|error| format!("its answer is not understood: {error}"))?,
        None => Value::Null,
    };
    let response = &answer["mcp_response"];
    match (&response["error"], id) {
        (Value::Null, None) => Ok(Value::Null),
        (Value::Null, Some(_)) if response["result"].is_null() => Err(format!("`{method}` has no result")),
        (Value::Null, Some(_)) => Ok(response["result"].clone()),
        (_, None) => Ok(Value::Null),
        (error, Some(_)) => Err(error["message"].as_str().unwrap_or("it gave no reason").to_owned()),
    }
}

impl Offer {
    /// Asks it about a call, and returns its answer: what `can_use_tool` would be answered, as its text.
    pub async fn permits(&self, channel: &Arc<Channel>, name: &str, input: &RawValue, call_id: &str) -> Body {
        let arguments = json!({"tool_name": name, "input": input, "tool_use_id": call_id});
        let params = json!({"name": self.tool, "arguments": arguments});
        let result = call(channel, &self.server, "tools/call", params).await?;
        let texts =
            result["content"].as_array().into_iter().flatten().filter_map(|block| block["text"].as_str());
        let text: String = texts.collect();
        if result["isError"] == true {
            return Err(format!("`{}` failed: {text}", self.name()));
        }
        RawValue::from_string(text)
            .map(Some)
            .map_err(|error| format!("the answer of `{}` is no JSON: {error}", self.name()))
    }

    /// Returns the name of its server.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Returns the name models and rules know it by.
    pub fn name(&self) -> String {
        format!("mcp__{}__{}", self.server, self.tool)
    }

    /// Makes a tool of it.
    pub fn tool(self, channel: &Arc<Channel>) -> ExternalTool {
        let spec = ToolSpec {
            name: self.name(),
            description: self.description.clone(),
            schema: self.schema.clone(),
        };
        ExternalTool { spec, tool: Arc::new(ClientTool { channel: channel.clone(), offer: self }) }
    }
}

/// The tool that is asked about calls, in place of the client.
#[derive(Clone)]
pub enum PromptTool {
    /// One of a server that lives in the client.
    Client(Offer),
    /// One of another server, with its name.
    Server(String, Arc<dyn Tool>),
}

impl PromptTool {
    /// Asks it about a call, and returns its answer: what `can_use_tool` would be answered, as its text.
    pub async fn permits(&self, channel: &Arc<Channel>, name: &str, input: &RawValue, call_id: &str) -> Body {
        let (id, tool) = match self {
            Self::Client(offer) => return offer.permits(channel, name, input, call_id).await,
            Self::Server(id, tool) => (id, tool),
        };
        let arguments = json!({"tool_name": name, "input": input, "tool_use_id": call_id});
        let args = serde_json::value::to_raw_value(&arguments).expect("a value is JSON");
        // The user named it on the command line.
        let cx = ToolCx::alone(CallId::new(call_id), Consent::Person);
        let output = tool.run(cx, &args).await;
        let text = output.text.as_deref().unwrap_or_default().to_owned();
        if let Some(failure) = output.failure {
            return Err(format!("`{id}` failed: {}", failure.message));
        }
        RawValue::from_string(text)
            .map(Some)
            .map_err(|error| format!("the answer of `{id}` is no JSON: {error}"))
    }
}

/// A tool that runs in the client.
struct ClientTool {
    channel: Arc<Channel>,
    offer: Offer,
}

impl Tool for ClientTool {
    fn kind(&self) -> Option<ToolKind> {
        None
    }

    fn effects(&self, _: &RawValue) -> Vec<Effect> {
        let Offer { server, tool, reads_only, .. } = &self.offer;
        // It is part of the program that drives this one, which is trusted with more than this.
        vec![Effect::Mcp {
            server: server.clone(),
            tool: tool.clone(),
            trusted_reader: *reads_only,
            change: McpChange::None,
        }]
    }

    fn run<'a>(&'a self, _: ToolCx, args: &'a RawValue) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let arguments: Value = serde_json::from_str(args.get()).unwrap_or_default();
            let params = json!({"name": self.offer.tool, "arguments": arguments});
            match call(&self.channel, &self.offer.server, "tools/call", params).await {
                Ok(result) => laid_out(&result),
                Err(why) => plain(ToolOutput::failure(ToolCode::ExecError, why.clone()), why),
            }
        })
    }
}

/// Lays a result out: its texts for the model, its images beside them.
fn laid_out(result: &Value) -> ToolOutput {
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    for block in result["content"].as_array().into_iter().flatten() {
        match (block["type"].as_str(), block["text"].as_str(), block["data"].as_str()) {
            (_, Some(text), _) => texts.push(text.to_owned()),
            (Some("image"), _, Some(data)) => match Image::from_base64(data) {
                Ok(image) => images.push(image),
                Err(bad) => texts.push(format!("(an image that {bad})")),
            },
            (kind, ..) => {
                let resource = block["resource"]["text"].as_str().map(str::to_owned);
                texts.push(
                    resource.unwrap_or_else(|| format!("(content of the type {})", kind.unwrap_or("none"))),
                );
            }
        }
    }
    if texts.is_empty() && images.is_empty() {
        texts.extend(result.get("structuredContent").map(Value::to_string));
    }
    let text = texts.join("\n");
    if result["isError"] == true {
        let message = if text.is_empty() { "the tool failed and said nothing".to_owned() } else { text };
        return plain(ToolOutput::failure(ToolCode::ExecError, message.clone()), message);
    }
    let text = if text.is_empty() && images.is_empty() { "(no output)".to_owned() } else { text };
    let mut output = plain(ToolOutput::success(&json!({ "content": text }).to_string()), text);
    output.images = images;
    output
}

fn plain(mut output: ToolOutput, text: String) -> ToolOutput {
    output.text = Some(text.into());
    output
}
