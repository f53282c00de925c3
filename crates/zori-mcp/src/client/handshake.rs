//! The first words with a server: `initialize`, or `server/discover` of the newer protocol, each where the other is not understood (MCP-22).

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use zori_core::text;

use super::http::headers;
use super::peer::{Peer, RpcFailure};
use super::tool_list::{ListedTool, MAX_TOOLS};

/// What is asked for first.
const VERSION: &str = "2025-11-25";
/// What a server that knows no `initialize` is asked for.
const NEWER: &str = "2026-07-28";
/// What is understood of older servers.
const KNOWN: &[&str] = &["2024-11-05", "2025-03-26", "2025-06-18", VERSION, NEWER];
/// The field of a request that says in which version it is meant.
pub const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The error of a server that speaks another version.
const OTHER_VERSION: i64 = -32022;
/// So long the newer greeting may take before the older one is tried.
const DISCOVER: Duration = Duration::from_secs(10);
/// So many pages of tools are asked for.
const MAX_PAGES: usize = 50;
/// So much of what a server says of itself is kept.
const MAX_INSTRUCTIONS: usize = 2 << 10;

/// What a server says of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerFacts {
    /// Its name and version, as it says them.
    pub info: Value,
    /// How it wants to be used.
    pub instructions: Option<String>,
    /// Whether it completes what its prompts take.
    pub completes: bool,
}

/// How a server is greeted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Opening {
    /// With `initialize`.
    Initialize,
    /// With `server/discover`, as the newer protocol has it.
    Discover,
}

/// What came of a greeting.
pub struct Greeting {
    /// What the server says of itself.
    pub facts: ServerFacts,
    /// What it can do.
    pub capabilities: Value,
    /// The greeting that it understood.
    pub opening: Opening,
}

/// Greets a server: first as it is likely to understand, then in the other way.
pub async fn greet(peer: &Arc<Peer>, version: &str, first: Opening) -> Result<Greeting, RpcFailure> {
    match first {
        Opening::Initialize => match initialize(peer, version).await {
            Err(RpcFailure::Error { code, message }) => {
                discover(peer, version).await.map_err(|failure| match failure {
                    // What it said first says more.
                    RpcFailure::Error { .. } => RpcFailure::Error { code, message },
                    other => other,
                })
            }
            greeted => greeted,
        },
        Opening::Discover => match tokio::time::timeout(DISCOVER, discover(peer, version)).await {
            Err(_) | Ok(Err(RpcFailure::Error { .. })) => {
                peer.say_always(Map::new());
                initialize(peer, version).await
            }
            Ok(greeted) => greeted,
        },
    }
}

fn client(peer: &Peer, version: &str) -> (Value, Value) {
    let elicits = if peer.may_elicit { json!({"elicitation": {"form": {}}}) } else { json!({}) };
    (elicits, json!({"name": "zori", "version": version}))
}

async fn initialize(peer: &Arc<Peer>, version: &str) -> Result<Greeting, RpcFailure> {
    let (elicits, client) = client(peer, version);
    let hello = json!({"protocolVersion": VERSION, "capabilities": elicits, "clientInfo": client});
    let welcome = peer.call("initialize", hello, None).await?;
    let spoken = welcome["protocolVersion"].as_str().unwrap_or_default();
    if !KNOWN.contains(&spoken) {
        let why = format!("it speaks the version `{}` of the protocol", text::prefix(spoken, 40));
        return Err(RpcFailure::Closed(why));
    }
    peer.notify("notifications/initialized", json!({}));
    let facts = facts(&welcome, welcome["serverInfo"].clone());
    Ok(Greeting { facts, capabilities: welcome["capabilities"].clone(), opening: Opening::Initialize })
}

async fn discover(peer: &Arc<Peer>, version: &str) -> Result<Greeting, RpcFailure> {
    let (elicits, client) = client(peer, version);
    let mut meta = Map::new();
    meta.insert(META_VERSION.to_owned(), NEWER.into());
    meta.insert("io.modelcontextprotocol/clientInfo".to_owned(), client);
    meta.insert("io.modelcontextprotocol/clientCapabilities".to_owned(), elicits);
    peer.say_always(meta);
    let mut found = peer.call("server/discover", json!({}), None).await;
    if let Err(RpcFailure::Error { code: OTHER_VERSION, .. }) = found {
        // It may have been asked in the version of somebody else's session.
        found = peer.call("server/discover", json!({}), None).await;
    }
    let found = match found {
        Ok(found) if found["supportedVersions"].as_array().is_some_and(|all| all.contains(&NEWER.into())) => {
            found
        }
        Ok(_) => {
            peer.say_always(Map::new());
            let message = format!("it does not speak the version {NEWER} of the protocol");
            return Err(RpcFailure::Error { code: -32601, message });
        }
        Err(failure) => {
            peer.say_always(Map::new());
            return Err(failure);
        }
    };
    let info = match &found["_meta"]["io.modelcontextprotocol/serverInfo"] {
        Value::Null => found["serverInfo"].clone(),
        info => info.clone(),
    };
    Ok(Greeting {
        facts: facts(&found, info),
        capabilities: found["capabilities"].clone(),
        opening: Opening::Discover,
    })
}

fn facts(said: &Value, info: Value) -> ServerFacts {
    let instructions = said["instructions"].as_str().map(|words| {
        let visible: String = words.chars().filter(|c| !text::invisible(*c)).collect();
        text::prefix(visible.trim(), MAX_INSTRUCTIONS).to_owned()
    });
    let completes = said["capabilities"]["completions"].is_object();
    ServerFacts { info, instructions: instructions.filter(|words| !words.is_empty()), completes }
}

/// Asks a server for all it has of a kind; what cannot be read is left out, and a server that fails has no more.
pub async fn listed<T>(
    peer: &Arc<Peer>,
    method: &str,
    field: &str,
    read: impl Fn(&Value) -> Option<T>,
) -> Vec<T> {
    let (mut all, mut cursor) = (Vec::new(), Value::Null);
    for _ in 0..MAX_PAGES {
        let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
        let Ok(page) = peer.call(method, params, None).await else { break };
        all.extend(page[field].as_array().into_iter().flatten().filter_map(&read));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() || all.len() > MAX_TOOLS {
            break;
        }
    }
    all.truncate(MAX_TOOLS);
    all
}

/// The tools of a server.
pub struct ToolList {
    /// Those that can be used.
    pub tools: Vec<ListedTool>,
    /// What was left out, a sentence each.
    pub left_out: Vec<String>,
    /// How long the list holds, in milliseconds, where the server says so: the shortest of its pages.
    pub ttl_ms: Option<u64>,
}

/// Asks a server for all its tools.
pub async fn list_tools(peer: &Arc<Peer>, over_http: bool) -> Result<ToolList, RpcFailure> {
    let (mut tools, mut left_out) = (Vec::new(), Vec::new());
    let (mut cursor, mut ttl_ms) = (Value::Null, None::<u64>);
    for _ in 0..MAX_PAGES {
        let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
        let listed = match peer.call("tools/list", params, None).await {
            // It has none.
            Err(RpcFailure::Error { code: -32601, .. }) => break,
            listed => listed?,
        };
        if let Some(page) = listed["ttlMs"].as_u64() {
            ttl_ms = Some(ttl_ms.map_or(page, |shortest| shortest.min(page)));
        }
        for tool in listed["tools"].as_array().into_iter().flatten() {
            match ListedTool::read(tool) {
                Ok(tool) => match headers::misuse(&tool.schema).filter(|_| over_http) {
                    None => tools.push(tool),
                    Some(why) => left_out.push(format!("the tool `{}`: {why}", tool.name)),
                },
                Err(why) => left_out.push(why),
            }
        }
        cursor = listed["nextCursor"].clone();
        if cursor.is_null() || tools.len() > MAX_TOOLS {
            cursor = Value::Null;
            break;
        }
    }
    if !cursor.is_null() {
        left_out.push(format!("its list goes on after {MAX_PAGES} pages"));
    }
    if tools.len() > MAX_TOOLS {
        left_out.push(format!("only its first {MAX_TOOLS} tools count"));
        tools.truncate(MAX_TOOLS);
    }
    Ok(ToolList { tools, left_out, ttl_ms })
}
