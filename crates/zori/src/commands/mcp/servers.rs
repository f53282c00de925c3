//! `mcp list|get|add|remove`: the MCP servers of the config (MCP-90). None is contacted unless that is asked for.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use zori_contract::args::Args;
use zori_contract::command::{Command, Rule};
use zori_contract::error::{IO_ERROR, VALIDATION_ERROR};
use zori_contract::exit::{Danger, Exit};
use zori_contract::failure::Failure;
use zori_contract::flag::{Flag, Positional};
use zori_contract::gate::Preview;
use zori_contract::kind::{Kind, Pattern};
use zori_contract::reply::{Effect, Reply};
use zori_core::confine::Confine;
use zori_core::secret::Secrets;
use zori_core::text::counted;
use zori_host::sandbox::confinement::Confinement;
use zori_host::settings::WorkspaceSettings;
use zori_host::{SystemIds, start_mcp_servers};
use zori_mcp::client::config::is_name;
use zori_mcp::client::{Elicits, McpServers, ServerConfig, Way};
use zori_redact::Redactor;

use crate::commands::{Context, example};
use zori_setup::app::App;
use zori_setup::args::LowArgs;
use zori_setup::config::{Config, server_table};
use zori_setup::error::{MCP_SERVER_EXISTS, MCP_SERVER_NOT_FOUND};
use zori_setup::mcp_servers::{self, ServerSources};
use zori_setup::settings::{self, root};
use zori_setup::trust::project::Project;
use zori_setup::trust::store::{TrustState, TrustStore};
use zori_setup::{audit, host_failure, wire_up};

/// What a server is called.
pub(super) const SERVER_NAME: Pattern =
    Pattern { name: "mcp_server", regex: "^(?!.*__)[A-Za-z0-9_-]{1,32}$", fits: is_name };
pub(super) const NAME: Positional = Positional::required("NAME", Kind::Name(SERVER_NAME), "The server");
const CHECK: Flag = Flag::switch("check", "Connect to each of them, and say how that went");
const URL: Flag = Flag::valued("url", "URL", Kind::Url, "Where it is, for a server over HTTP");
const ENV: Flag = Flag::valued(
    "env",
    "NAME[=VALUE]",
    Kind::Text,
    "A variable it gets: with a value, `vault:ENTRY` for a secret, or without one from the environment; may be repeated",
)
.many();
const HEADER: Flag = Flag::valued(
    "header",
    "NAME=VALUE",
    Kind::Text,
    "A header of every request, `vault:ENTRY` for a secret; may be repeated",
)
.many();
const COMMAND_LINE: Positional =
    Positional::optional("COMMAND", Kind::Text, "The program and its arguments, after `--`").many();

const ROW: &str = r#"{"type":"array","items":{"type":"object","required":["name","type","source","status"],
    "properties":{"name":{"type":"string"},"type":{"enum":["stdio","http","sse"]},"source":{"type":"string"},
    "status":{"type":"string"},"reason":{"type":["string","null"]},"target":{"type":"string"},"newest":{"type":"boolean"},
    "tools":{"type":["integer","null"]}}}}"#;
const CHANGED: &str = r#"{"type":"object","required":["name","effect"],"properties":{"name":{"type":"string"},
    "effect":{"enum":["created","deleted","noop"]}}}"#;
const WRITES: &str = r#"{"filesystem_side_effects":[{"path":"$ZORI_HOME/config.toml","type":"config"}]}"#;
/// What is said where there is none.
pub(super) const NO_SERVERS: &str = "There are no MCP servers; `zori mcp add NAME -- COMMAND` adds one.\n";
/// What commands declare that start servers.
pub(super) const STARTS: &str = r#"{"has_network_io":true,
    "subprocess":{"binary":"*","user_controlled_args":false,"hardcoded_args":[]},"filesystem_side_effects":[
    {"path":"$ZORI_HOME/logs/mcp","type":"log"},{"path":"$ZORI_HOME/mcp","type":"cache"},
    {"path":"$ZORI_HOME/projects","type":"log","clearable_with":"zori project purge"}]}"#;

pub const LIST: Command<App> = Command {
    flags: const { &[CHECK] },
    list: true,
    id_field: Some("name"),
    columns: &["name", "type", "source", "status", "target"],
    examples: &[
        example("which there are", "zori mcp list"),
        example("whether they work", "zori mcp list --check"),
    ],
    timeout_ms: Some(120_000),
    output_schema: ROW,
    declares: STARTS,
    ..Command::new(
        &["mcp", "list"],
        "List the MCP servers of the config and of this folder's `.mcp.json`",
        list,
    )
};

pub const GET: Command<App> = Command {
    args: const { &[NAME] },
    examples: &[
        example("one server", "zori mcp get time"),
        example("as a program sees it", "zori mcp get time --output json"),
    ],
    exits: &[Exit::NotFound],
    output_schema: r#"{"type":"object","required":["name","type","source","target"]}"#,
    ..Command::new(
        &["mcp", "get"],
        "Show how an MCP server is reached, without values of variables or headers",
        get,
    )
};

pub const ADD: Command<App> = Command {
    args: const { &[NAME, COMMAND_LINE] },
    flags: const { &[URL, ENV, HEADER] },
    examples: &[
        example("a program", "zori mcp add time -- uvx mcp-server-time==2026.10.19"),
        example(
            "a server over HTTP",
            "zori mcp add docs --url https://mcp.example/mcp --header Authorization=vault:docs",
        ),
    ],
    rules: &[
        Rule::Excludes { flag: &ENV, other: &URL },
        Rule::Needs { flag: &HEADER, value: None, other: &URL },
    ],
    danger: Danger::Mutating,
    preview: Some(|cx, args| {
        let (name, _) = described(cx, args)?;
        Ok(Preview { verb: "add", items: vec![name], reversible: true })
    }),
    exits: &[Exit::Conflict],
    output_schema: CHANGED,
    declares: WRITES,
    ..Command::new(&["mcp", "add"], "Add an MCP server to the config", add)
};

pub const REMOVE: Command<App> = Command {
    args: const { &[NAME] },
    examples: &[
        example("one server", "zori mcp remove time"),
        example("what that would do", "zori mcp remove time --dry-run"),
    ],
    danger: Danger::Mutating,
    preview: Some(|cx, args| {
        let name = args.text(&NAME).unwrap_or_default();
        let config = cx.app.data_dir()?.read_config()?;
        let there = config.mcp_servers.is_some_and(|servers| servers.contains_key(name));
        let items = there.then(|| name.to_owned()).into_iter().collect();
        Ok(Preview { verb: "remove", items, reversible: true })
    }),
    exits: &[Exit::NotFound],
    output_schema: CHANGED,
    declares: WRITES,
    ..Command::new(&["mcp", "remove"], "Remove an MCP server from the config", remove)
};

/// The servers that commands see, and what they need to be started.
pub(super) struct Configured {
    pub(super) servers: Vec<ServerConfig>,
    pub(super) config: Config,
    root: PathBuf,
    pub(super) secrets: Secrets,
    args: LowArgs,
}

impl Configured {
    /// Reads the config, and the folder's `.mcp.json` as far as it is trusted.
    pub(super) fn read(cx: &mut Context<'_>, args: &Args) -> Result<Self, Failure> {
        let data_dir = cx.app.data_dir()?;
        let config = data_dir.read_config()?;
        let root = root(&LowArgs::new(args))?;
        let project = Project::load(&root)?;
        let entry = TrustStore::load(Some(&data_dir)).effective_entry(&root).cloned();
        let run = entry.filter(|entry| entry.state == TrustState::Trusted && project.insecure.is_none());
        let run = run.map(|entry| entry.run).unwrap_or_default();
        let counting: Vec<String> = project
            .servers()
            .filter(|(_, digest)| run.contains(digest))
            .map(|(name, _)| name.clone())
            .collect();
        // What servers get of the vault is in no answer, whatever they say.
        let secrets = cx.app.env.learned().clone();
        let theirs = project.mcp.as_ref().map(|servers| (servers, &counting[..]));
        let managed = managed_servers(cx)?;
        let sources = ServerSources { own: config.mcp_servers.as_ref(), managed: managed.as_ref() };
        let servers = mcp_servers::configured(cx.app, &config, sources, theirs, &secrets)?.servers;
        Ok(Self { servers, config, root, secrets, args: LowArgs::new(args) })
    }

    /// Returns one server.
    pub(super) fn named(&self, name: &str) -> Result<&ServerConfig, Failure> {
        self.servers.iter().find(|server| server.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.servers.iter().map(|server| server.name.as_str()).collect();
            let there = match names.is_empty() {
                true => "there is none".to_owned(),
                false => format!("there are {}", names.join(", ")),
            };
            Failure::new(&MCP_SERVER_NOT_FOUND, format!("there is no MCP server `{name}`; {there}"))
        })
    }

    /// Starts these servers, and waits for them.
    pub(super) fn start(
        &self,
        cx: &Context<'_>,
        servers: Vec<ServerConfig>,
    ) -> Result<Option<Arc<McpServers>>, Failure> {
        let started = self.begin(cx, servers)?;
        if let Some(servers) = &started {
            let runtime = wire_up::runtime()?;
            for server in servers.all() {
                runtime.block_on(servers.settled(&server));
            }
        }
        Ok(started)
    }

    /// Starts these servers.
    pub(super) fn begin(
        &self,
        cx: &Context<'_>,
        servers: Vec<ServerConfig>,
    ) -> Result<Option<Arc<McpServers>>, Failure> {
        let data_dir = cx.app.data_dir()?;
        let settings =
            mcp_servers::settings(cx.app, &self.config, Some(&data_dir), servers, false, &self.secrets)?;
        let workspace = WorkspaceSettings {
            root: self.root.clone(),
            home: cx.app.env.home(),
            temp: cx.app.env.temp_dir().to_owned(),
        };
        // As in a session: what confines commands confines these.
        let (gathered, _) = settings::policy(cx.app, &self.args)?;
        let (sandbox, places) = (&gathered.sandbox, &gathered.policy.workspace);
        let confinement = Confinement::new(sandbox, places, &workspace.temp, false, &SystemIds::default());
        let confinement = confinement.map_err(host_failure::of_session)?;
        let confine = confinement.map(|confinement| confinement as Arc<dyn Confine>);
        let redactor = Redactor::new(self.secrets.clone());
        let audit = audit::settings(&self.config, Some(&data_dir), &self.root);
        Ok(start_mcp_servers(&settings, &workspace, redactor, Elicits::Nobody, confine, &audit))
    }
}

/// Returns the administrator's servers, by name.
fn managed_servers(cx: &Context<'_>) -> Result<Option<Map<String, Value>>, Failure> {
    Ok(Config::load(cx.app.managed_config(), "")?.mcp_servers)
}

fn is_managed(cx: &Context<'_>, name: &str) -> Result<bool, Failure> {
    Ok(managed_servers(cx)?.is_some_and(|servers| servers.contains_key(name)))
}

fn list(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let configured = Configured::read(cx, args)?;
    let started = match args.has(&CHECK) {
        true => configured.start(cx, configured.servers.clone())?,
        false => None,
    };
    let rows: Vec<Value> = configured
        .servers
        .iter()
        .map(|server| {
            let now = started.as_ref().and_then(|servers| servers.named(&server.name)).map(|live| live.now());
            let (status, reason, tools) = match &now {
                Some(now) => {
                    let why = now.reason.clone().or_else(|| server.broken.clone().filter(|_| !server.enabled));
                    (now.status.as_str(), why, now.listed.then_some(now.tools.len()))
                }
                None if !server.enabled => ("disabled", server.broken.clone(), None),
                None if server.broken.is_some() => ("failed", server.broken.clone(), None),
                None => ("not checked", None, None),
            };
            json!({"name": server.name, "type": server.kind(), "source": server.source.as_str(), "status": status,
                "reason": reason, "target": server.shown(), "newest": server.runs_newest(), "tools": tools})
        })
        .collect();
    if let Some(servers) = started {
        servers.shutdown();
    }
    let line = |row: &Value| {
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let tools = row["tools"].as_u64();
        let tools = tools.map_or_else(String::new, |tools| format!(", {}", counted(tools, "tool")));
        let reason = row["reason"].as_str().map_or_else(String::new, |why| format!(": {why}"));
        let newest = if row["newest"] == true { " (runs whatever is newest)" } else { "" };
        format!(
            "{}  {}  {}  {}{tools}{reason}{newest}\n",
            text("name"),
            text("source"),
            text("target"),
            text("status")
        )
    };
    let text = match rows.is_empty() {
        true => NO_SERVERS.to_owned(),
        false => rows.iter().map(line).collect(),
    };
    Ok(Reply::rows(rows).text(text))
}

fn get(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let configured = Configured::read(cx, args)?;
    let server = configured.named(args.text(&NAME).unwrap_or_default())?;
    let mut data = json!({"name": server.name, "type": server.kind(), "source": server.source.as_str(),
        "target": server.shown(), "enabled": server.enabled, "required": server.required,
        "start_timeout_secs": server.start_timeout.as_secs(), "tool_timeout_secs": server.tool_timeout.as_secs(),
        "sandbox_write": server.sandbox_write, "network": server.network, "reason": server.broken});
    let names = match &server.way {
        Way::Stdio { env, env_pass, .. } => {
            ("variables", env.keys().chain(env_pass).cloned().collect::<Vec<_>>())
        }
        Way::Http { headers, .. } => ("headers", headers.keys().cloned().collect()),
    };
    data[names.0] = json!(names.1);
    let mut text =
        format!("{} ({}, {})\n  {}\n", server.name, server.kind(), server.source.as_str(), server.shown());
    if !names.1.is_empty() {
        text.push_str(&format!("  {}: {}\n", names.0, names.1.join(", ")));
    }
    match &server.broken {
        Some(why) => text.push_str(&format!("  cannot be used: {why}\n")),
        None if !server.enabled => text.push_str("  switched off: `enabled = false`\n"),
        None => {}
    }
    Ok(Reply::one(data).text(text))
}

fn add(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let (name, table) = described(cx, args)?;
    let changed = server_table::add(&cx.app.data_dir()?.config(), &name, &table);
    changed.map_err(|why| Failure::new(&IO_ERROR, format!("the config file was not changed: {why}")))?;
    let text = format!("Added the MCP server {name}");
    Ok(Reply::changed(Effect::Created, json!({ "name": name })).text(text))
}

/// Reads `NAME=VALUE`, or `NAME` alone. What is neither is not said back: somebody may have written a secret as others take it
/// (`Authorization: Bearer ...`).
fn pairs(args: &Args, flag: &Flag) -> Result<Vec<(String, Option<String>)>, String> {
    let pair = |text: &String| {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text.as_str(), None),
        };
        let fits =
            !name.is_empty() && !name.contains(|c: char| c == ':' || c.is_whitespace() || c.is_control());
        match fits {
            true => Ok((name.to_owned(), value)),
            false => {
                Err(format!("`{}` takes `{}`; the name has no blank and no colon", flag.param(), flag.value))
            }
        }
    };
    args.all(flag).iter().map(pair).collect()
}

/// Returns the name and the table of the server that somebody described, if it can be added.
fn described(cx: &Context<'_>, args: &Args) -> Result<(String, Map<String, Value>), Failure> {
    let name = args.text(&NAME).unwrap_or_default().to_owned();
    let invalid = |why: String| Failure::new(&VALIDATION_ERROR, why);
    let mut table = Map::new();
    let words = args.all(&COMMAND_LINE);
    let (env, headers) = (pairs(args, &ENV).map_err(invalid)?, pairs(args, &HEADER).map_err(invalid)?);
    match (words.split_first(), args.text(&URL)) {
        (Some((command, rest)), None) => {
            table.insert("command".to_owned(), command.as_str().into());
            if !rest.is_empty() {
                table.insert("args".to_owned(), json!(rest));
            }
            let (set, passed): (Vec<_>, Vec<_>) = env.into_iter().partition(|(_, value)| value.is_some());
            if !set.is_empty() {
                let set: Map<_, _> = set.into_iter().map(|(name, value)| (name, json!(value))).collect();
                table.insert("env".to_owned(), set.into());
            }
            if !passed.is_empty() {
                let names: Vec<String> = passed.into_iter().map(|(name, _)| name).collect();
                table.insert("env_pass".to_owned(), json!(names));
            }
        }
        (None, Some(url)) => {
            table.insert("url".to_owned(), url.into());
            if headers.iter().any(|(_, value)| value.is_none()) {
                return Err(invalid("`--header` takes `NAME=VALUE`, and one has no value".to_owned()));
            }
            if !headers.is_empty() {
                let headers: Map<_, _> =
                    headers.into_iter().map(|(name, value)| (name, json!(value))).collect();
                table.insert("headers".to_owned(), headers.into());
            }
        }
        (Some(_), Some(_)) => return Err(invalid("a server has a command or `--url`, not both".to_owned())),
        (None, None) => {
            return Err(invalid("a server needs a command after `--`, or `--url`".to_owned())
                .hint("zori mcp add NAME -- COMMAND ARGS"));
        }
    }
    let config = cx.app.data_dir()?.read_config()?;
    if config.mcp_servers.as_ref().is_some_and(|servers| servers.contains_key(&name)) {
        let message = format!("there is an MCP server `{name}` already");
        return Err(Failure::new(&MCP_SERVER_EXISTS, message).hint(format!("zori mcp remove {name}")));
    }
    if is_managed(cx, &name)? {
        let message =
            format!("the administrator's config has an MCP server `{name}`, which would count instead");
        return Err(Failure::new(&MCP_SERVER_EXISTS, message).hint("choose another name"));
    }
    let one: Map<String, Value> = [(name.clone(), Value::Object(table.clone()))].into_iter().collect();
    if let Some(why) = mcp_servers::refusal(&one) {
        return Err(invalid(why));
    }
    Ok((name, table))
}

fn remove(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let name = args.text(&NAME).unwrap_or_default().to_owned();
    let data_dir = cx.app.data_dir()?;
    let config = data_dir.read_config()?;
    if !config.mcp_servers.as_ref().is_some_and(|servers| servers.contains_key(&name)) {
        let failure = Failure::new(&MCP_SERVER_NOT_FOUND, format!("the config has no MCP server `{name}`"));
        return Err(match is_managed(cx, &name)? {
            true => failure.hint(format!(
                "it is the administrator's ({}); `enabled = false` is theirs to set",
                cx.app.managed_config().display()
            )),
            false => failure,
        });
    }
    let changed = server_table::remove(&data_dir.config(), &name);
    changed.map_err(|why| Failure::new(&IO_ERROR, format!("the config file was not changed: {why}")))?;
    Ok(Reply::changed(Effect::Deleted, json!({ "name": name }))
        .text(format!("Removed the MCP server {name}")))
}
