//! The first words with a server: `initialize`, and `server/discover` where that is not understood (MCP-22).

use std::sync::Arc;

use serde_json::{Map, Value, json};
use zori_core::text;

use super::peer::{Peer, RpcFailure};
use super::tool_list::{ListedTool, MAX_TOOLS};

/// What is asked for first.
const VERSION: &str = "2025-11-25";
/// What a server that knows no `initialize` is asked for.
const NEWER: &str = "2026-07-28";
/// What is understood of older servers.
const KNOWN: &[&str] = &["2024-11-05", "2025-03-26", "2025-06-18", VERSION, NEWER];
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
}

/// Greets a server over a line that has no other way to say which protocol is spoken.
pub async fn greet(peer: &Arc<Peer>, version: &str) -> Result<ServerFacts, RpcFailure> {
    let elicits = if peer.may_elicit { json!({"elicitation": {"form": {}}}) } else { json!({}) };
    let client = json!({"name": "zori", "version": version});
    let hello = json!({"protocolVersion": VERSION, "capabilities": elicits, "clientInfo": client});
    match peer.call("initialize", hello, None).await {
        Ok(welcome) => {
            let spoken = welcome["protocolVersion"].as_str().unwrap_or_default();
            if !KNOWN.contains(&spoken) {
                let why = format!("it speaks the version `{}` of the protocol", text::prefix(spoken, 40));
                return Err(RpcFailure::Closed(why));
            }
            peer.notify("notifications/initialized", json!({}));
            Ok(facts(&welcome, welcome["serverInfo"].clone()))
        }
        Err(RpcFailure::Error { code, message }) => {
            let mut meta = Map::new();
            meta.insert("io.modelcontextprotocol/protocolVersion".to_owned(), NEWER.into());
            meta.insert("io.modelcontextprotocol/clientInfo".to_owned(), client);
            meta.insert("io.modelcontextprotocol/clientCapabilities".to_owned(), elicits);
            peer.say_always(meta);
            let found =
                peer.call("server/discover", json!({}), None).await.map_err(|failure| match failure {
                    // What it said first says more.
                    RpcFailure::Error { .. } => RpcFailure::Error { code, message },
                    other => other,
                })?;
            Ok(facts(&found, found["_meta"]["io.modelcontextprotocol/serverInfo"].clone()))
        }
        Err(failure) => Err(failure),
    }
}

fn facts(said: &Value, info: Value) -> ServerFacts {
    let instructions = said["instructions"].as_str().map(|words| {
        let visible: String = words.chars().filter(|c| !text::invisible(*c)).collect();
        text::prefix(visible.trim(), MAX_INSTRUCTIONS).to_owned()
    });
    ServerFacts { info, instructions: instructions.filter(|words| !words.is_empty()) }
}

/// Asks a server for all its tools. Also returns what was left out, a sentence each.
pub async fn list_tools(peer: &Arc<Peer>) -> Result<(Vec<ListedTool>, Vec<String>), RpcFailure> {
    let (mut tools, mut left_out) = (Vec::new(), Vec::new());
    let mut cursor = Value::Null;
    for _ in 0..MAX_PAGES {
        let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
        let listed = match peer.call("tools/list", params, None).await {
            // It has none.
            Err(RpcFailure::Error { code: -32601, .. }) => break,
            listed => listed?,
        };
        for tool in listed["tools"].as_array().into_iter().flatten() {
            match ListedTool::read(tool) {
                Ok(tool) => tools.push(tool),
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
    Ok((tools, left_out))
}
