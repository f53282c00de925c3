//! The MCP servers of a run: `[mcp.servers.NAME]` of the administrator's and the user's config, the project's `.mcp.json` once it is
//! trusted, and `--mcp-config` (MCP-10 to MCP-14).

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use zori_contract::error::VALIDATION_ERROR;
use zori_contract::failure::Failure;
use zori_core::secret::Secrets;
use zori_core::server_recording::ServerRecording;
use zori_host::{ChildEnvironment, FormAnswers, McpSettings, TOOLS_BUDGET};
use zori_mcp::client::config::{self, Source, Variables};
use zori_mcp::client::{ReadServers, ServerConfig};
use zori_policy::Mode;
use zori_providers::catalog;
use zori_vault::Resolver;

use crate::agent_cx::AgentCx;
use crate::app::App;
use crate::args::LowArgs;
use crate::child_env::{self, ChildEnv};
use crate::config::Config;
use crate::data_dir::DataDir;
use crate::environment::Environment;
use crate::error::CONFIG_INVALID;
use crate::mcp_logins;
use crate::network::NetworkOptions;
use crate::trust::ProjectTrust;
use crate::vault;

/// So long the first request waits for servers whose tools are not known: with a person in front of it, and else.
const FIRST_WAIT_SECS: (u64, u64) = (3, 10);
/// What `config init` writes of them.
pub const EXAMPLE: &str = "
# MCP servers, whose tools the model gets: a program that is started, or an address. Each may also have `env_pass` (variables it
# inherits), `trust` (trusted, untrusted, sandboxed), `tools_allow`, `tools_deny`, `defer` (auto, never, always), `required`, `enabled`,
# `elicitation`, `answers`, `oauth` (for `zori mcp login`: client_id, client_secret, client_metadata_url, scopes, callback_port),
# `start_timeout_secs` and `tool_timeout_secs`; in a sandbox `sandbox_write` (folders it may write) and `network` (true, false).
# mcp.servers.time = { command = \"uvx\", args = [\"mcp-server-time==2026.10.19\"] }
# mcp.servers.docs = { url = \"https://mcp.example/mcp\", headers = { Authorization = \"vault:docs\" } }
";

/// The variables and the vault, as descriptions of servers see them.
struct RunVariables {
    env: Environment,
    /// What a project never gets.
    withheld: Vec<OsString>,
    /// What looks like a secret (SCR-1).
    secret: Vec<OsString>,
    secrets: Secrets,
    vault: Resolver,
}

impl Variables for RunVariables {
    fn variable(&self, name: &str) -> Option<String> {
        let value = self.env.text(name)?;
        if self.secret.iter().any(|secret| secret == name) {
            self.secrets.add(&value.into());
        }
        Some(value.to_owned())
    }

    fn withheld(&self, name: &str) -> bool {
        let key = || catalog::key_vars().any(|key| key == name);
        name.starts_with("ZORI_") || self.withheld.iter().any(|withheld| withheld == name) || key()
    }

    fn hijacks(&self, name: &str) -> bool {
        child_env::is_loader(name)
    }

    fn vault(&self, name: &str) -> Result<String, String> {
        let value = self.vault.expand(&format!("vault:{name}"));
        value.map(|secret| secret.reveal().to_owned()).map_err(|error| error.to_string())
    }
}

/// The tables of servers that config files have.
#[derive(Clone, Copy)]
pub struct ServerSources<'a> {
    /// The user's.
    pub own: Option<&'a Map<String, Value>>,
    /// The administrator's.
    pub managed: Option<&'a Map<String, Value>>,
}

impl ServerSources<'_> {
    /// Reads them. What is wrong with one was said when its file was read.
    fn read(self, variables: &dyn Variables) -> Result<ReadServers, Failure> {
        let mut all = ReadServers::default();
        for (table, source) in [(self.managed, Source::Managed), (self.own, Source::User)] {
            let Some(table) = table else { continue };
            let read = config::read(table, source, variables);
            all.extend(read.map_err(|why| Failure::new(&CONFIG_INVALID, why))?);
        }
        Ok(all)
    }
}

/// Puts the servers of a run together. Nobody is contacted and nothing is started.
#[expect(clippy::too_many_arguments, reason = "each is a source of its own")]
pub fn gather(
    cx: &mut AgentCx<'_>,
    args: &LowArgs,
    config: &Config,
    sources: ServerSources<'_>,
    data_dir: Option<&DataDir>,
    trust: &ProjectTrust,
    person: bool,
    secrets: &Secrets,
) -> Result<McpSettings, Failure> {
    let strict = args.protocol.strict_mcp_config;
    let (servers, warnings) = {
        let sources = if strict { ServerSources { own: None, managed: None } } else { sources };
        let project = trust.project.mcp.as_ref().filter(|_| !strict && !trust.servers.is_empty());
        let configured = sources.own.is_some() || sources.managed.is_some();
        if !configured && project.is_none() && args.protocol.mcp_config.is_empty() {
            // A client may still bring some.
            return settings(&cx.app, config, data_dir, Vec::new(), person, secrets);
        }
        let variables = variables(&cx.app, config, secrets)?;
        let mut all = sources.read(&variables)?;
        if let Some(project) = project {
            let counts = |(name, _): &(&String, &Value)| trust.servers.contains(name);
            let counting: Map<String, Value> =
                project.iter().filter(counts).map(|(name, value)| (name.clone(), value.clone())).collect();
            all.extend(config::read(&counting, Source::Project, &variables).unwrap_or_default());
        }
        all.extend(from_flags(&args.protocol.mcp_config, &variables)?);
        (config::merged(all.servers), all.warnings)
    };
    for warning in &warnings {
        cx.ui.warn(warning);
    }
    known_secrets(&servers, secrets);
    settings(&cx.app, config, data_dir, servers, person, secrets)
}

/// Reads `--mcp-config`: JSON, or a file of it. Servers that live in the client are left to the client.
fn from_flags(configs: &[String], variables: &dyn Variables) -> Result<ReadServers, Failure> {
    let mut all = ReadServers::default();
    for config in configs {
        let servers = described(config).map_err(|why| Failure::new(&VALIDATION_ERROR, why))?;
        let read = config::read(&servers, Source::Flag, variables)
            .map_err(|why| Failure::new(&VALIDATION_ERROR, format!("`--mcp-config`: {why}")))?;
        all.extend(read);
    }
    Ok(all)
}

/// Reads one `--mcp-config`.
fn described(config: &str) -> Result<Map<String, Value>, String> {
    let text = match config.trim_start().starts_with('{') {
        true => config.to_owned(),
        false => std::fs::read_to_string(config)
            .map_err(|error| format!("`--mcp-config`: cannot read {config}: {error}"))?,
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let value: Value =
        serde_json::from_str(text).map_err(|error| format!("`--mcp-config` is not understood: {error}"))?;
    match value.get("mcpServers") {
        Some(Value::Object(servers)) => Ok(servers.clone()),
        None if value.as_object().is_some_and(Map::is_empty) => Ok(Map::new()),
        // Servers of another shape would be left out without a word.
        None => Err("`--mcp-config` is not understood: it has no table `mcpServers`".to_owned()),
        _ => Err("`--mcp-config` is not understood: `mcpServers` is no table".to_owned()),
    }
}

/// Returns what descriptions may refer to.
fn variables(app: &App, config: &Config, secrets: &Secrets) -> Result<RunVariables, Failure> {
    // A project gets what looks like a secret only where the approval showed its name, keys of ours not even then.
    let removed = |mode| Ok::<_, Failure>(ChildEnv::new("ZORI", mode, config, &app.env)?.removed());
    Ok(RunVariables {
        env: app.env.clone(),
        withheld: removed(Mode::Yolo)?,
        secret: removed(Mode::Default)?,
        secrets: secrets.clone(),
        vault: vault::resolver(config, &app.env, secrets.clone()),
    })
}

/// Has values of variables and headers taken out of whatever is printed or logged.
fn known_secrets(servers: &[ServerConfig], secrets: &Secrets) {
    let values = servers.iter().flat_map(ServerConfig::secret_values);
    values.for_each(|value| secrets.add(&value.into()));
}

/// Returns the settings for these servers.
pub fn settings(
    app: &App,
    config: &Config,
    data_dir: Option<&DataDir>,
    servers: Vec<ServerConfig>,
    person: bool,
    secrets: &Secrets,
) -> Result<McpSettings, Failure> {
    let network: NetworkOptions = app.network.clone();
    let env = app.env.clone();
    let wait = if person { FIRST_WAIT_SECS.0 } else { FIRST_WAIT_SECS.1 };
    Ok(McpSettings {
        servers,
        base: data_dir.map(|dir| dir.dir().to_owned()),
        environment: Arc::new(move |name| env.text(name).map(OsString::from)),
        transport: Arc::new(move || network.http().ok()),
        version: env!("CARGO_PKG_VERSION"),
        budget: config.count("mcp.tools_budget_bytes").map_or(TOOLS_BUDGET, |bytes| bytes as usize),
        first_wait: Duration::from_secs(config.count("mcp.first_wait_secs").unwrap_or(wait)),
        login: Some(mcp_logins::parts(config, &app.env, secrets)),
        forms: FormAnswers::AsCalls,
        grows: false,
        recording: ServerRecording::Off,
    })
}

/// Returns the servers of the configs and of `.mcp.json`, for commands that start no session; of a project that is not trusted
/// only the names, as servers that are not used.
pub fn configured(
    app: &App,
    config: &Config,
    sources: ServerSources<'_>,
    trust: Option<(&Map<String, Value>, &[String])>,
    secrets: &Secrets,
) -> Result<ReadServers, Failure> {
    let variables = variables(app, config, secrets)?;
    let mut all = sources.read(&variables)?;
    if let Some((project, counting)) = trust {
        for (name, value) in project {
            let one: Map<String, Value> = [(name.clone(), value.clone())].into_iter().collect();
            if counting.contains(name) {
                all.extend(config::read(&one, Source::Project, &variables).unwrap_or_default());
            } else if let Ok(mut read) = config::read(&one, Source::Project, &Blind { has_entries: false }) {
                // Nothing of it is expanded before the question.
                read.servers.iter_mut().for_each(|server| {
                    (server.enabled, server.broken) = (false, Some("the folder is not trusted".to_owned()));
                });
                all.servers.extend(read.servers);
            }
        }
    }
    all.servers = config::merged(all.servers);
    known_secrets(&all.servers, secrets);
    Ok(all)
}

/// Nothing can be referred to but, where they are taken to be there, entries of the vault: each is empty.
struct Blind {
    has_entries: bool,
}

impl Variables for Blind {
    fn variable(&self, _: &str) -> Option<String> {
        None
    }

    fn withheld(&self, _: &str) -> bool {
        true
    }

    fn hijacks(&self, name: &str) -> bool {
        child_env::is_loader(name)
    }

    fn vault(&self, _: &str) -> Result<String, String> {
        match self.has_entries {
            true => Ok(String::new()),
            false => Err("the vault is not opened for it".to_owned()),
        }
    }
}

/// Checks the table of the config. An error says what is wrong with it.
pub fn check_table(servers: &Map<String, Value>) -> Result<Vec<String>, String> {
    config::read(servers, Source::User, &Blind { has_entries: false }).map(|read| read.warnings)
}

/// Says why a server cannot be added: it is none, or a secret stands in it.
pub fn refusal(server: &Map<String, Value>) -> Option<String> {
    match config::read(server, Source::User, &Blind { has_entries: true }) {
        Err(why) => Some(why),
        Ok(read) => read.servers.into_iter().find_map(|server| server.broken),
    }
}

/// Reads the servers of a `.mcp.json`. An error is the second half of a sentence.
pub fn parse_project(path: &Path, bytes: &[u8]) -> Result<Map<String, Value>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8 text", path.display()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let value: Value = serde_json::from_str(text).map_err(|error| format!("{}: {error}", path.display()))?;
    match value.get("mcpServers") {
        Some(Value::Object(servers)) => Ok(servers.clone()),
        None if value.as_object().is_some_and(Map::is_empty) => Ok(Map::new()),
        // Servers of another shape would be left out without a word.
        None => Err(format!("{}: there is no table `mcpServers`", path.display())),
        Some(_) => Err(format!("{}: `mcpServers` is no table", path.display())),
    }
}
