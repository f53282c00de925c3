//! `mcp tools` and `mcp call`: what MCP servers offer, and one call without a model (MCP-90).

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::oneshot;
use zori_contract::args::Args;
use zori_contract::cancel::Ends;
use zori_contract::command::Command;
use zori_contract::error::{PERMISSION_DENIED, TIMEOUT, VALIDATION_ERROR};
use zori_contract::exit::{Danger, Exit};
use zori_contract::failure::Failure;
use zori_contract::flag::{Flag, Positional};
use zori_contract::gate::Preview;
use zori_contract::kind::Kind;
use zori_contract::reply::{Effect, Reply};
use zori_core::confine::Consent;
use zori_core::ids::CallId;
use zori_core::permission::Verdict;
use zori_core::text::one_line;
use zori_core::tool::{ToolCode, ToolCx, ToolOutput};
use zori_mcp::client::{ListedTool, McpServers, Pin, PinnedTool, Status, tool_id};
use zori_policy::policy::Policy;
use zori_policy::{Approver, Call, explain};

use super::servers::{Configured, NAME, NO_SERVERS, SERVER_NAME, STARTS};
use crate::commands::{Context, example};
use zori_setup::app::App;
use zori_setup::args::LowArgs;
use zori_setup::error::{MCP_LOGIN_MISSING, MCP_SERVER_NOT_FOUND, MCP_TOOL_FAILED, MCP_UNAVAILABLE};
use zori_setup::settings;
use zori_setup::wire_up;

const SERVER: Positional =
    Positional::optional("NAME", Kind::Name(SERVER_NAME), "The server; without it, every one");
const TOOL: Positional = Positional::required("TOOL", Kind::Text, "The tool, by its name on the server");
const DIFF: Flag =
    Flag::switch("diff", "Show only tools that are not as they were approved, with what they said then");
const INPUT: Flag =
    Flag::valued("input", "JSON", Kind::Json, "Its arguments, as a JSON object").default("{}");

pub const LIST: Command<App> = Command {
    args: const { &[SERVER] },
    flags: const { &[DIFF] },
    list: true,
    id_field: Some("id"),
    columns: &["id", "bytes", "pin", "description"],
    examples: &[
        example("of every server", "zori mcp tools"),
        example("of one", "zori mcp tools time --output table"),
        example("what changed since it was approved", "zori mcp tools time --diff"),
    ],
    exits: &[Exit::NotFound, Exit::AuthRequired, Exit::Unavailable],
    timeout_ms: Some(120_000),
    output_schema: r#"{"type":"array","items":{"type":"object","required":["id","server","tool","bytes","pin","reads_only"],
        "properties":{"bytes":{"type":["integer","null"]},"pin":{"enum":["none","same","new","changed","gone"]},
        "approved":{"type":["object","null"]}}}}"#,
    declares: STARTS,
    ..Command::new(
        &["mcp", "tools"],
        "Connect to MCP servers, and list their tools with what each costs a request",
        list,
    )
};

pub const CALL: Command<App> = Command {
    args: const { &[NAME, TOOL] },
    flags: const { &[INPUT] },
    examples: &[
        example("without arguments", "zori mcp call time get_current_time"),
        example(
            "with some",
            "zori mcp call time get_current_time --input '{\"timezone\":\"Europe/Berlin\"}'",
        ),
    ],
    danger: Danger::Mutating,
    preview: Some(|_, args| {
        let item =
            format!("{} {}", args.text(&NAME).unwrap_or_default(), args.text(&TOOL).unwrap_or_default());
        Ok(Preview { verb: "call", items: vec![item], reversible: false })
    }),
    exits: &[Exit::NotFound, Exit::PermissionDenied, Exit::AuthRequired, Exit::Unavailable],
    timeout_ms: Some(600_000),
    output_schema: r#"{"type":"object","required":["tool","effect"],"properties":{"tool":{"type":"string"},
        "result":{},"_trusted":{"const":false}}}"#,
    declares: STARTS,
    ..Command::new(&["mcp", "call"], "Call a tool of an MCP server, as the policy lets it", call)
};

fn list(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let configured = Configured::read(cx, args)?;
    let wanted = match args.text(&SERVER) {
        Some(name) => vec![configured.named(name)?.clone()],
        None => configured.servers.clone(),
    };
    let only = args.text(&SERVER).is_some();
    let Some(servers) = configured.start(cx, wanted)? else {
        return Ok(Reply::rows(Vec::<Value>::new()).text(NO_SERVERS.to_owned()));
    };
    let only_differing = args.has(&DIFF);
    let mut rows = Vec::new();
    let mut text = String::new();
    for server in servers.all() {
        let (now, name) = (server.now(), &server.config.name);
        if now.status != Status::Connected {
            if only {
                let failure = unavailable(name, &now);
                servers.shutdown();
                return Err(failure);
            }
            let why = now.reason.unwrap_or_default();
            text.push_str(&format!("{name}: {}: {why}\n", now.status.as_str()));
            continue;
        }
        for pinned in servers.pins(&server) {
            if only_differing && matches!(pinned.pin, Pin::None | Pin::Same)
                || !only_differing && pinned.pin == Pin::Gone
            {
                continue;
            }
            let tool = now.tools.iter().find(|tool| tool.name == pinned.name);
            text.push_str(&line(name, &pinned, tool, only_differing));
            rows.push(row(name, &pinned, tool));
        }
    }
    servers.shutdown();
    if text.is_empty() {
        text = match only_differing {
            true => "Every tool is as it was approved.\n".to_owned(),
            false => "There are no tools.\n".to_owned(),
        };
    }
    Ok(Reply::rows(rows).text(text))
}

/// Returns a tool as programs read it. One that is gone has only what was approved of it.
fn row(server: &str, pinned: &PinnedTool, tool: Option<&ListedTool>) -> Value {
    let approved = (pinned.description.is_some() || pinned.bytes.is_some())
        .then(|| json!({"description": pinned.description, "bytes": pinned.bytes}));
    json!({"id": tool_id(server, &pinned.name), "server": server, "tool": pinned.name,
        "bytes": tool.map(|tool| tool.bytes(server)), "pin": pinned.pin.as_str(), "approved": approved,
        "reads_only": tool.is_some_and(|tool| tool.reads_only),
        "description": tool.map(|tool| &tool.description), "schema": tool.map(|tool| &tool.schema)})
}

/// Returns a tool as people read it: one that differs beside what it was.
fn line(server: &str, pinned: &PinnedTool, tool: Option<&ListedTool>, differing: bool) -> String {
    let id = tool_id(server, &pinned.name);
    let (says, said) = (tool.map(|tool| tool.description.as_str()), pinned.description.as_deref());
    let bytes = match (tool.map(|tool| tool.bytes(server)), pinned.bytes.filter(|_| differing)) {
        (Some(now), Some(before)) if now != before => format!("{now} bytes, {before} before"),
        (Some(bytes), _) | (None, Some(bytes)) => format!("{bytes} bytes"),
        (None, None) => "size unknown".to_owned(),
    };
    if !differing {
        let pin = match pinned.pin {
            Pin::None | Pin::Same => String::new(),
            pin => format!("  {}", pin.as_str()),
        };
        return format!("{id}  {bytes}{pin}  {}\n", one_line(says.unwrap_or_default()));
    }
    let mut text = format!("{id}  {}  {bytes}\n", pinned.pin.as_str());
    match (said, says) {
        (Some(said), Some(says)) if said == says => {
            text.push_str("  its schema or what it says it changes is another\n");
        }
        (said, says) => {
            said.iter().for_each(|said| text.push_str(&format!("  - {}\n", one_line(said))));
            says.iter().for_each(|says| text.push_str(&format!("  + {}\n", one_line(says))));
        }
    }
    text
}

fn unavailable(name: &str, now: &zori_mcp::client::ServerState) -> Failure {
    let why = now.reason.clone().unwrap_or_else(|| format!("it is {}", now.status.as_str()));
    let kind = if now.status == Status::NeedsAuth { &MCP_LOGIN_MISSING } else { &MCP_UNAVAILABLE };
    Failure::new(kind, format!("the MCP server `{name}`: {why}"))
}

fn call(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let configured = Configured::read(cx, args)?;
    let server = configured.named(args.text(&NAME).unwrap_or_default())?.clone();
    let input = args.text(&INPUT).unwrap_or("{}");
    let input: Value = serde_json::from_str(input)
        .ok()
        .filter(Value::is_object)
        .ok_or_else(|| Failure::new(&VALIDATION_ERROR, "`--input` must be a JSON object"))?;
    let (gathered, _) = settings::policy(cx.app, &LowArgs::new(args))?;
    // Whoever types the call is asked by it.
    let policy = Policy { approver: Approver::Present, ..gathered.policy };
    let Some(servers) = configured.begin(cx, vec![server])? else {
        return Err(Failure::new(&MCP_UNAVAILABLE, "the servers could not be started"));
    };
    let called = perform(cx, &servers, &policy, args, &input);
    servers.shutdown();
    let (id, output) = called?;
    if let Some(failure) = &output.failure {
        // It may have done its work all the same.
        let kind = if failure.code == ToolCode::Timeout { &TIMEOUT } else { &MCP_TOOL_FAILED };
        return Err(Failure::new(kind, failure.message.clone()));
    }
    let envelope: Value = serde_json::from_str(output.envelope.get()).unwrap_or_default();
    let text = output.text.as_deref().unwrap_or_default().to_owned();
    let data = json!({"tool": id, "result": envelope["data"], "_trusted": false});
    Ok(Reply::changed(Effect::Updated, data).text(format!("{text}\n")))
}

fn perform(
    cx: &Context<'_>,
    servers: &Arc<McpServers>,
    policy: &Policy,
    args: &Args,
    input: &Value,
) -> Result<(String, ToolOutput), Failure> {
    let server = servers.all().into_iter().next().expect("one was started");
    unless_told(cx, servers.settled(&server))?;
    let (now, name) = (server.now(), server.config.name.clone());
    if now.status != Status::Connected {
        return Err(unavailable(&name, &now));
    }
    let wanted = args.text(&TOOL).unwrap_or_default();
    let Some((spec, tool)) = servers.tool(&server, wanted) else {
        let names: Vec<&str> = now.tools.iter().map(|tool| tool.name.as_str()).collect();
        let message = format!("the MCP server `{name}` has no tool `{wanted}`; it has {}", names.join(", "));
        return Err(Failure::new(&MCP_SERVER_NOT_FOUND, message));
    };
    let raw = serde_json::value::to_raw_value(input).expect("a value is JSON");
    let effects = tool.effects(&raw);
    let call = Call::new(&spec.name, None, &effects, &policy.workspace);
    let decision = explain(policy, &call).decision;
    if decision.verdict == Verdict::Deny {
        return Err(Failure::new(&PERMISSION_DENIED, decision.reason));
    }
    let alone = ToolCx::alone(CallId::new("call"), Consent::Person);
    Ok((spec.name, unless_told(cx, tool.run(alone, &raw))?))
}

/// Waits for something, unless the command is told to end: what is dropped then tells its server (MCP-52).
fn unless_told<T>(cx: &Context<'_>, work: impl Future<Output = T>) -> Result<T, Failure> {
    let (told, stop) = oneshot::channel();
    cx.cancel.on_cancel(move |cause| {
        let _ = told.send(cause);
        Ends::ByItself
    });
    wire_up::runtime()?.block_on(async {
        tokio::select! {
            biased;
            done = work => Ok(done),
            Ok(cause) = stop => Err(cause.failure()),
        }
    })
}
