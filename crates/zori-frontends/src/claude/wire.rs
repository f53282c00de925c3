//! The lines that both dialects have: `system` and `result`, as they are on the wire. Borrowed, serialise-only.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;
use zori_core::usage::Usage;

use super::TurnResult;

/// `system` / `init`: what a run starts with.
#[derive(Serialize)]
pub struct Init<'a> {
    /// `system`.
    pub r#type: &'static str,
    /// `init`.
    pub subtype: &'static str,
    pub cwd: &'a str,
    pub session_id: &'a str,
    pub tools: &'a [String],
    pub mcp_servers: &'a [McpServer],
    pub model: &'a str,
    /// The permission mode, in the client's word.
    #[serde(rename = "permissionMode")]
    pub permission_mode: &'a str,
    /// What can be typed with a slash.
    pub slash_commands: &'a [String],
    /// The variable the key comes from, or `none`.
    #[serde(rename = "apiKeySource")]
    pub api_key_source: &'a str,
    /// The level of the protocol.
    pub claude_code_version: &'static str,
    /// `default`.
    pub output_style: &'static str,
    /// Sub-agents that can be started.
    pub agents: &'a [String],
    pub skills: &'a [String],
    pub plugins: &'a [String],
    pub zori_version: &'a str,
    pub provider: &'a str,
    pub uuid: &'a str,
}

/// An MCP server and how it fares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct McpServer {
    pub name: String,
    /// `connected`, `failed`, `pending`.
    pub status: &'static str,
}

/// `result`: the last line of a turn.
#[derive(Serialize)]
pub struct ResultLine<'a> {
    /// `result`.
    pub r#type: &'static str,
    #[serde(flatten)]
    pub ending: &'a TurnResult,
    /// How long the turn took.
    pub duration_ms: u64,
    /// How long model calls took, in the whole run.
    pub duration_api_ms: u64,
    /// How long it took until the model said something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttft_ms: Option<u64>,
    /// 1, and one more for each tool result.
    pub num_turns: u64,
    pub session_id: &'a str,
    /// What the whole run has cost.
    pub total_cost_usd: f64,
    /// What the turn used; `None` where the dialect leaves it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<TurnUsage>,
    /// What each model used in the whole run.
    #[serde(rename = "modelUsage")]
    pub model_usage: &'a BTreeMap<String, ModelUsage>,
    /// The calls of this turn that were denied.
    pub permission_denials: &'a [Denial],
    /// What was asked for by a schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_output: Option<&'a RawValue>,
    pub uuid: &'a str,
}

/// The four counters of a model call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CallUsage {
    input_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
    output_tokens: u64,
}

impl From<Usage> for CallUsage {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: usage.input,
            cache_creation_input_tokens: usage.cache_write,
            cache_read_input_tokens: usage.cache_read,
            output_tokens: usage.output,
        }
    }
}

/// The counters of a turn.
#[derive(Serialize)]
pub struct TurnUsage {
    #[serde(flatten)]
    call: CallUsage,
    server_tool_use: ServerTools,
    service_tier: &'static str,
}

#[derive(Serialize)]
struct ServerTools {
    web_search_requests: u64,
    web_fetch_requests: u64,
}

impl From<Usage> for TurnUsage {
    fn from(usage: Usage) -> Self {
        let server_tool_use = ServerTools { web_search_requests: 0, web_fetch_requests: 0 };
        Self { call: usage.into(), server_tool_use, service_tier: "standard" }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelUsage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Prompt tokens read from a cache.
    pub cache_read_input_tokens: u64,
    /// Prompt tokens written to a cache.
    pub cache_creation_input_tokens: u64,
    pub web_search_requests: u64,
    /// What it cost; 0 where the price is not known.
    #[serde(rename = "costUSD")]
    pub cost_usd: f64,
    /// How much the model takes.
    pub context_window: u64,
    /// How much it writes at most.
    pub max_output_tokens: u64,
}

/// A call that was denied.
#[derive(Serialize)]
pub struct Denial {
    pub tool_name: String,
    pub tool_use_id: String,
    pub tool_input: Box<RawValue>,
}
