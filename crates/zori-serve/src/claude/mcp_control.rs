//! How MCP servers fare, as clients of the Claude protocol are told (MCP-93): no values of variables or headers.

use serde_json::{Map, Value, json};
use zori_frontends::claude::wire::McpServer;
use zori_mcp::client::{ListedTool, McpServers, Server, Source, Way};

/// Returns a row for each server: those that live in the client, then the others.
pub(super) fn rows(own: &[McpServer], servers: Option<&McpServers>) -> Vec<Value> {
    let own = own.iter().filter_map(|server| serde_json::to_value(server).ok());
    let others = servers.map(McpServers::all).unwrap_or_default();
    let named = |name: &Value| others.iter().any(|server| *name == server.config.name);
    own.filter(|row| !named(&row["name"])).chain(others.iter().map(|server| row(server))).collect()
}

fn row(server: &Server) -> Value {
    let (config, now) = (&server.config, server.now());
    let mut row = json!({"name": config.name, "status": now.status.as_str()});
    if !now.facts.info.is_null() {
        row["serverInfo"] = now.facts.info.clone();
    }
    if let Some(why) = &now.reason {
        row["error"] = why.as_str().into();
    }
    let mut reached = Map::new();
    reached.insert("type".to_owned(), config.kind().into());
    match &config.way {
        Way::Stdio { command, args, .. } => {
            reached.insert("command".to_owned(), command.as_str().into());
            reached.insert("args".to_owned(), json!(args));
        }
        Way::Http { url, .. } => drop(reached.insert("url".to_owned(), url.as_str().into())),
    }
    row["config"] = reached.into();
    // The protocol's word for what the command line and the client bring.
    let source = match config.source {
        Source::Flag | Source::Client => "dynamic",
        other => other.as_str(),
    };
    row["scope"] = source.into();
    row["source"] = source.into();
    if now.listed {
        let tool = |tool: &ListedTool| {
            let mut listed = json!({"name": tool.name, "description": tool.description});
            if tool.reads_only {
                listed["annotations"] = json!({"readOnly": true});
            }
            listed
        };
        row["tools"] = now.tools.iter().map(tool).collect();
    }
    row
}
