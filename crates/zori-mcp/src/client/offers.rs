//! What the model is offered of all servers: their tools one by one while there is room, else two tools that stand for them
//! (MCP-43, MCP-44).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use zori_core::BoxFuture;
use zori_core::text;
use zori_core::tool::{Effect, StandIn, Tool, ToolCode, ToolCx, ToolKind, ToolOutput, ToolSpec};

use super::config::Defer;
use super::search;
use super::server::{Server, Status};
use super::servers::{McpServers, Shared};
use super::tool::McpTool;
use super::tool_list::{ListedTool, MAX_TOOLS};

/// The names of the tools that stand for others.
pub const FIND: &str = "mcp_find";
/// See [`FIND`].
pub const CALL: &str = "mcp_call";
/// So many bytes of names are said at once.
const MAX_NAMES: usize = 1024;
/// So much is said of a server.
const MAX_LINE: usize = 100;
/// So many tools are found unless more are asked for, and at most.
const FOUND: (usize, usize) = (5, 20);

/// What a session is offered. It stays as it is for the session, so that the beginning of its requests does (MCP-43).
pub struct Offers {
    /// The tools, by name.
    pub tools: Vec<(ToolSpec, Arc<dyn Tool>)>,
    /// What people should know, a sentence each.
    pub warnings: Vec<String>,
}

impl McpServers {
    /// Returns what a session is offered that begins now.
    pub fn offers(&self) -> Offers {
        let servers: Vec<_> =
            self.all().into_iter().filter(|server| server.now().status != Status::Disabled).collect();
        let (mut listed, mut deferred) = (Vec::new(), Vec::new());
        let mut bytes = 0;
        for server in &servers {
            let now = server.now();
            match (now.listed, server.config.defer) {
                (false, _) if matches!(now.status, Status::Failed | Status::NeedsAuth) => {}
                (false, _) | (true, Defer::Always) => deferred.push(server.clone()),
                (true, defer) => {
                    let size: usize = now.tools.iter().map(|tool| tool.bytes(&server.config.name)).sum();
                    bytes += if defer == Defer::Auto { size } else { 0 };
                    listed.push((server.clone(), defer));
                }
            }
        }
        if bytes > self.shared.parts.budget {
            let (auto, never): (Vec<_>, Vec<_>) =
                listed.into_iter().partition(|(_, defer)| *defer == Defer::Auto);
            deferred.extend(auto.into_iter().map(|(server, _)| server));
            listed = never;
        }
        for server in &servers {
            let is_deferred = deferred.iter().any(|other| Arc::ptr_eq(other, server));
            server.deferred.store(is_deferred, Ordering::Relaxed);
        }
        let mut by_id: BTreeMap<String, (String, Arc<McpTool>)> = BTreeMap::new();
        let mut warnings = Vec::new();
        for (server, _) in listed {
            for tool in server.now().tools.iter().take(MAX_TOOLS) {
                let id = tool.id(&server.config.name);
                let shown = format!("`{}` of `{}`", tool.name, server.config.name);
                if let Some((other, _)) = by_id.get(&id) {
                    warnings.push(format!(
                        "the MCP tool {shown} is left out: {other} has the name `{id}` already"
                    ));
                    continue;
                }
                let (server, shared) = (server.clone(), self.shared.clone());
                by_id.insert(id, (shown, Arc::new(McpTool::new(server, shared, tool.clone()))));
            }
        }
        let mut tools: Vec<(ToolSpec, Arc<dyn Tool>)> =
            by_id.into_values().map(|(_, tool)| (tool.spec(), tool as Arc<dyn Tool>)).collect();
        tools.extend(self.resource_tool(&servers));
        if !deferred.is_empty() {
            deferred.sort_by(|a, b| a.config.name.cmp(&b.config.name));
            let deferred = Arc::new(Deferred { servers: deferred, shared: self.shared.clone() });
            tools.push((find_spec(&deferred), Arc::new(FindTool(deferred.clone()))));
            tools.push((call_spec(), Arc::new(CallTool(deferred))));
        }
        Offers { tools, warnings }
    }

    /// Returns a tool by the names that its server has, for whoever calls it without a model.
    pub fn tool(&self, server: &Arc<Server>, name: &str) -> Option<(ToolSpec, Arc<dyn Tool>)> {
        let now = server.now();
        let listed =
            now.tools.iter().find(|tool| tool.name == name || tool.id(&server.config.name) == name)?;
        let tool = McpTool::new(server.clone(), self.shared.clone(), listed.clone());
        Some((tool.spec(), Arc::new(tool)))
    }
}

/// The servers whose tools are not listed one by one. What they have now counts.
struct Deferred {
    servers: Vec<Arc<Server>>,
    shared: Arc<Shared>,
}

impl Deferred {
    fn tools(&self) -> Vec<(Arc<Server>, ListedTool)> {
        let of = |server: &Arc<Server>| {
            let server = server.clone();
            let tools = server.now().tools;
            tools.iter().cloned().map(move |tool| (server.clone(), tool)).collect::<Vec<_>>()
        };
        self.servers.iter().flat_map(of).collect()
    }

    fn find(&self, id: &str) -> Option<Arc<McpTool>> {
        let found = |(server, tool): &(Arc<Server>, ListedTool)| tool.id(&server.config.name) == id;
        let (server, listed) = self.tools().into_iter().find(found)?;
        Some(Arc::new(McpTool::new(server, self.shared.clone(), listed)))
    }
}

fn find_spec(deferred: &Deferred) -> ToolSpec {
    let mut about =
        "Finds tools of MCP servers by words: their ids, descriptions and schemas. Servers:".to_owned();
    for server in &deferred.servers {
        let now = server.now();
        let count = match now.listed {
            true => format!("{} tools", now.tools.len()),
            false => "connecting".to_owned(),
        };
        let said = now.facts.instructions.as_deref().map(|words| text::one_line(words).into_owned());
        let said = said.map_or_else(String::new, |words| format!(": {}", text::prefix(&words, MAX_LINE)));
        about.push_str(&format!("\n- {} ({count}){said}", server.config.name));
    }
    let names: Vec<String> =
        deferred.tools().iter().map(|(server, tool)| tool.id(&server.config.name)).collect();
    let names = names.join(" ");
    if !names.is_empty() && names.len() <= MAX_NAMES {
        about.push_str(&format!("\nTools: {names}"));
    }
    let schema = json!({"type": "object", "required": ["query"], "properties": {
        "query": {"type": "string"}, "server": {"type": "string"}, "limit": {"type": "integer"}}});
    spec(FIND, about, &schema)
}

fn call_spec() -> ToolSpec {
    let about = "Calls a tool of an MCP server, by the id and the schema that mcp_find gives.".to_owned();
    let schema = json!({"type": "object", "required": ["tool", "arguments"], "properties": {
        "tool": {"type": "string", "description": "mcp__SERVER__TOOL"}, "arguments": {"type": "object"}}});
    spec(CALL, about, &schema)
}

fn spec(name: &str, description: String, schema: &Value) -> ToolSpec {
    let schema = serde_json::value::to_raw_value(schema).expect("a value is JSON");
    ToolSpec { name: name.to_owned(), description, schema }
}

/// `mcp_find`.
struct FindTool(Arc<Deferred>);

impl Tool for FindTool {
    fn kind(&self) -> Option<ToolKind> {
        None
    }

    fn effects(&self, _: &RawValue) -> Vec<Effect> {
        vec![Effect::Internal]
    }

    fn run<'a>(&'a self, _: ToolCx, args: &'a RawValue) -> BoxFuture<'a, ToolOutput> {
        Box::pin(std::future::ready(self.found(args)))
    }
}

impl FindTool {
    fn found(&self, args: &RawValue) -> ToolOutput {
        let args: Value = serde_json::from_str(args.get()).unwrap_or_default();
        let query = args["query"].as_str().unwrap_or_default();
        let limit = args["limit"].as_u64().map_or(FOUND.0, |limit| (limit as usize).clamp(1, FOUND.1));
        let server = args["server"].as_str();
        let tools: Vec<_> = self
            .0
            .tools()
            .into_iter()
            .filter(|(of, _)| server.is_none_or(|server| of.config.name == server))
            .collect();
        let texts: Vec<String> = tools
            .iter()
            .map(|(of, tool)| format!("{} {} {}", of.config.name, tool.name, tool.description))
            .collect();
        let ranked = search::ranked(query, &texts);
        let rows: Vec<Value> = ranked
            .into_iter()
            .take(limit)
            .map(|at| {
                let (of, tool) = &tools[at];
                json!({"tool": tool.id(&of.config.name), "description": tool.description, "schema": tool.schema})
            })
            .collect();
        let mut data = json!({ "tools": rows });
        let pending = self.0.servers.iter().filter(|server| server.now().status == Status::Pending);
        let pending: Vec<&str> = pending.map(|server| server.config.name.as_str()).collect();
        if !pending.is_empty() {
            data["still_connecting"] = json!(pending);
        }
        let failed: Vec<Value> = self
            .0
            .servers
            .iter()
            .filter_map(|server| {
                let now = server.now();
                let why = now.reason.filter(|_| matches!(now.status, Status::Failed | Status::NeedsAuth))?;
                Some(json!({"server": server.config.name, "reason": why}))
            })
            .collect();
        if !failed.is_empty() {
            data["failed"] = json!(failed);
        }
        let mut output = ToolOutput::success(&data.to_string());
        output.text = Some(data.to_string().into());
        output
    }
}

/// `mcp_call`: it stands for the tool that it names.
struct CallTool(Arc<Deferred>);

impl Tool for CallTool {
    fn kind(&self) -> Option<ToolKind> {
        None
    }

    fn effects(&self, _: &RawValue) -> Vec<Effect> {
        vec![Effect::Internal]
    }

    fn stands_for(&self, args: &RawValue) -> Option<Result<StandIn, String>> {
        let args: Value = serde_json::from_str(args.get()).unwrap_or_default();
        Some(self.meant(&args))
    }

    fn named(&self, id: &str) -> Option<Arc<dyn Tool>> {
        self.0.find(id).map(|tool| tool as Arc<dyn Tool>)
    }

    fn run<'a>(&'a self, _: ToolCx, _: &'a RawValue) -> BoxFuture<'a, ToolOutput> {
        let message = "`mcp_call` stands for another tool, and does nothing itself";
        Box::pin(std::future::ready(ToolOutput::failure(ToolCode::InvalidInput, message)))
    }
}

impl CallTool {
    fn meant(&self, args: &Value) -> Result<StandIn, String> {
        let id = args["tool"].as_str().ok_or("`tool` is missing: the id that mcp_find gives")?;
        let tool = self.0.find(id).ok_or_else(|| {
            let pending = self.0.servers.iter().any(|server| server.now().status == Status::Pending);
            let wait = if pending { "; a server is still connecting" } else { "" };
            format!("there is no tool `{id}`; mcp_find lists them{wait}")
        })?;
        let arguments = match &args["arguments"] {
            Value::Null => json!({}),
            // Some models write the object as text.
            Value::String(text) => serde_json::from_str(text).map_err(|_| "`arguments` must be an object")?,
            other => other.clone(),
        };
        if !arguments.is_object() {
            return Err("`arguments` must be an object".to_owned());
        }
        if let Some(misfit) = tool.listed.misfit(&arguments) {
            return Err(format!("{misfit}. The schema of `{id}`: {}", tool.listed.schema));
        }
        let args = serde_json::value::to_raw_value(&arguments).expect("a value is JSON");
        Ok(StandIn { name: id.to_owned(), tool, args })
    }
}
