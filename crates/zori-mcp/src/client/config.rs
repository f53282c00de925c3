//! What is known of a server before it is contacted: how it is reached, whose it is, and what it may do (MCP-10 to MCP-14).

mod debugging;
mod expand;
pub mod literal;
mod oauth;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

pub use self::expand::{Variables, references};
use super::oauth::OauthSettings;

/// How long a server may take to start, unless it says otherwise.
pub const START_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a call may take, unless the server says otherwise.
pub const TOOL_TIMEOUT: Duration = Duration::from_secs(120);
/// So many servers there may be (EXT-62).
pub const MAX_SERVERS: usize = 64;

/// A server, as somebody described it.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerConfig {
    /// Its name: `[A-Za-z0-9_-]{1,32}` without `__`.
    pub name: String,
    /// Whose it is.
    pub source: Source,
    /// How it is reached.
    pub way: Way,
    /// Its command line or address as it is written, where that is another: before variables were put in, and without secrets.
    pub written: Option<String>,
    /// Whether it is used at all.
    pub enabled: bool,
    /// Whether a run fails without it.
    pub required: bool,
    /// How far it is trusted.
    pub trust: Trust,
    /// The only tools that count; `None` for all.
    pub tools_allow: Option<Vec<String>>,
    /// Tools that do not count.
    pub tools_deny: Vec<String>,
    /// Whether its tools are listed one by one.
    pub defer: Defer,
    /// Whether it may ask the user.
    pub elicitation: bool,
    /// What its forms are answered with under `-y`.
    pub answers: BTreeMap<String, Value>,
    /// How one logs in to it.
    pub oauth: OauthSettings,
    /// How long it may take to start.
    pub start_timeout: Duration,
    /// How long a call may take.
    pub tool_timeout: Duration,
    /// Folders that its program may write in a sandbox, beside what commands may: from `/` or `~/`.
    pub sandbox_write: Vec<String>,
    /// Whether its program has the network in a sandbox; `None` leaves that to whose it is.
    pub network: Option<bool>,
    /// Why it cannot be used, where that is known before it is contacted.
    pub broken: Option<String>,
}

/// How a server is reached.
#[derive(Clone, PartialEq)]
pub enum Way {
    /// A program that is started, by its arguments and never by a shell.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables it gets.
        env: BTreeMap<String, String>,
        /// Variables it inherits, beside `PATH`, `HOME` and `LANG`.
        env_pass: Vec<String>,
        /// Where it runs; the root, unless it says otherwise.
        cwd: Option<PathBuf>,
    },
    /// A server over HTTP.
    Http {
        /// Its address.
        url: String,
        /// Whether it speaks the older form of events.
        sse: bool,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
    },
}

impl Way {
    /// Returns the command line, or the address.
    fn line(&self) -> String {
        match self {
            Self::Stdio { command, args, .. } => {
                std::iter::once(command).chain(args).map(String::as_str).collect::<Vec<_>>().join(" ")
            }
            Self::Http { url, .. } => url.clone(),
        }
    }
}

/// Whose a server is; the earlier wins (MCP-12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The command line.
    Flag,
    /// The client of a protocol.
    Client,
    /// The administrator's config.
    Managed,
    /// The user's config.
    User,
    /// The project's `.mcp.json`.
    Project,
}

impl Source {
    /// Returns the word people and clients read.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Client => "client",
            Self::Managed => "managed",
            Self::User => "user",
            Self::Project => "project",
        }
    }

    /// Returns whether the user wrote it into a file of this program's own.
    fn is_own(self) -> bool {
        matches!(self, Self::Managed | Self::User)
    }
}

/// How far a server is trusted (MCP-41).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// What a tool says of itself counts: one that only reads is a reader.
    Trusted,
    /// What it says of itself counts for nothing.
    #[default]
    Untrusted,
    /// Only the tools that are named, in a sandbox, and it asks nobody.
    Sandboxed,
}

/// Whether the tools of a server are listed one by one (MCP-43).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Defer {
    /// While there is room.
    #[default]
    Auto,
    /// Always listed.
    Never,
    /// Never listed.
    Always,
}

/// What a description of servers says.
#[derive(Debug, Default)]
pub struct ReadServers {
    /// The servers, in the order of their names.
    pub servers: Vec<ServerConfig>,
    /// The names of those that live in the client.
    pub sdk: Vec<String>,
    /// What people should know, a sentence each.
    pub warnings: Vec<String>,
}

impl ReadServers {
    /// Adds those of another source.
    pub fn extend(&mut self, more: Self) {
        self.servers.extend(more.servers);
        self.sdk.extend(more.sdk);
        self.warnings.extend(more.warnings);
    }
}

/// The keys that every description may have.
const SHARED_KEYS: &[&str] = &["type", "command", "args", "env", "cwd", "url", "headers"];
/// The keys that only the user's own config, the command line and clients may have.
const OWN_KEYS: &[&str] = &[
    "env_pass",
    "transport",
    "enabled",
    "required",
    "trust",
    "tools_allow",
    "tools_deny",
    "defer",
    "elicitation",
    "answers",
    "oauth",
    "start_timeout_secs",
    "tool_timeout_secs",
    "sandbox_write",
    "network",
];

/// Returns whether a command runs whatever version of a package is newest (EXT-61).
pub fn runs_newest<'a>(command: &str, mut args: impl Iterator<Item = &'a str>) -> bool {
    let program = command.rsplit('/').next().unwrap_or(command);
    match (program, args.find(|arg| !arg.starts_with('-'))) {
        ("npx", Some(package)) => is_newest(package.get(1..).unwrap_or_default(), &["@"]),
        ("uvx", Some(package)) => is_newest(package, &["@", "=="]),
        _ => false,
    }
}

/// Returns whether a package is named without a version, or with a word for the newest one.
fn is_newest(package: &str, signs: &[&str]) -> bool {
    let version = signs.iter().find_map(|sign| package.split_once(sign));
    version.is_none_or(|(_, version)| version == "latest")
}

/// Reads the servers of one source, by name. An error is a sentence that names the server.
pub fn read(
    servers: &Map<String, Value>,
    source: Source,
    variables: &dyn Variables,
) -> Result<ReadServers, String> {
    let mut read = ReadServers::default();
    if servers.len() > MAX_SERVERS {
        read.warnings
            .push(format!("only the first {MAX_SERVERS} MCP servers are used, of {}", servers.len()));
    }
    for (given, value) in servers.iter().take(MAX_SERVERS) {
        let Some(table) = value.as_object() else {
            return Err(format!("the MCP server `{given}` is no table"));
        };
        if table.get("type").and_then(Value::as_str) == Some("sdk") {
            match source {
                Source::Flag | Source::Client => read.sdk.push(given.clone()),
                _ => return Err(format!("the MCP server `{given}`: the type `sdk` is for clients only")),
            }
            continue;
        }
        let name = match is_name(given) {
            true => given.clone(),
            false if source.is_own() => {
                return Err(format!(
                    "`{given}` cannot be the name of an MCP server: 1 to 32 of A-Z, a-z, 0-9, `_` and `-`, without `__`"
                ));
            }
            false => folded_name(given),
        };
        let unknown = table.keys().filter(|key| {
            let known = SHARED_KEYS.contains(&key.as_str());
            !known && (source == Source::Project || !OWN_KEYS.contains(&key.as_str()))
        });
        for key in unknown {
            let why = if OWN_KEYS.contains(&key.as_str()) { ": a project cannot set it" } else { "" };
            read.warnings.push(format!("the key `{key}` of the MCP server `{name}` is ignored{why}"));
        }
        match server(&name, table, source, variables) {
            Ok((server, warning)) => {
                read.warnings.extend(warning);
                read.servers.push(server);
            }
            // What others wrote costs that one server.
            Err(why) if source == Source::Project => {
                let way = Way::Stdio {
                    command: String::new(),
                    args: Vec::new(),
                    env: BTreeMap::new(),
                    env_pass: Vec::new(),
                    cwd: None,
                };
                read.servers.push(ServerConfig { broken: Some(why), ..ServerConfig::new(name, source, way) });
            }
            Err(why) => return Err(format!("the MCP server `{name}`: {why}")),
        }
    }
    Ok(read)
}

impl ServerConfig {
    /// Returns a server with the defaults of everything else.
    pub fn new(name: String, source: Source, way: Way) -> Self {
        Self {
            name,
            source,
            way,
            written: None,
            enabled: true,
            required: false,
            trust: Trust::default(),
            tools_allow: None,
            tools_deny: Vec::new(),
            defer: Defer::default(),
            elicitation: source != Source::Project,
            answers: BTreeMap::new(),
            oauth: OauthSettings::default(),
            start_timeout: START_TIMEOUT,
            tool_timeout: TOOL_TIMEOUT,
            sandbox_write: Vec::new(),
            network: None,
            broken: None,
        }
    }

    /// Returns what makes it the same server as before: its name, how it is reached, and the names of its variables, but none of
    /// their values (MCP-1).
    pub fn identity(&self) -> String {
        let mut hash = blake3::Hasher::new();
        let mut add = |part: &str| {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        };
        add(&self.name);
        match &self.way {
            Way::Stdio { command, args, env, env_pass, cwd } => {
                add("stdio");
                add(command);
                args.iter().for_each(|arg| add(arg));
                add("env");
                env.keys().chain(env_pass).for_each(|name| add(name));
                add(&cwd.as_ref().map_or_else(String::new, |cwd| cwd.display().to_string()));
            }
            Way::Http { url, sse, headers } => {
                add(if *sse { "sse" } else { "http" });
                add(url);
                headers.keys().for_each(|name| add(name));
            }
        }
        hash.finalize().to_hex()[..32].to_owned()
    }

    /// Returns how it is reached, in a line for people, as it is written: no values of variables or headers.
    pub fn shown(&self) -> String {
        self.written.clone().unwrap_or_else(|| self.way.line())
    }

    /// Returns whether it runs whatever version is newest (EXT-61).
    pub fn runs_newest(&self) -> bool {
        match &self.way {
            Way::Stdio { command, args, .. } => runs_newest(command, args.iter().map(String::as_str)),
            Way::Http { .. } => false,
        }
    }

    /// Returns the values of headers, of variables whose names tell a secret, and secrets that stand anywhere in its description.
    pub fn secret_values(&self) -> Vec<&str> {
        let is_secret = |name: &str| {
            let name = name.to_ascii_lowercase();
            ["key", "token", "secret", "passw", "credential"].iter().any(|part| name.contains(part))
        };
        let mut values: Vec<&str> = match &self.way {
            Way::Stdio { env, .. } => {
                env.iter().filter(|(name, _)| is_secret(name)).map(|(_, value)| value.as_str()).collect()
            }
            Way::Http { headers, .. } => headers.values().map(String::as_str).collect(),
        };
        // A word would garble every text that contains it.
        let is_word = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase());
        values.extend(
            literal::of(&self.way).into_iter().map(|(_, secret)| secret).filter(|secret| !is_word(secret)),
        );
        values
    }

    /// Returns whether a tool of it counts.
    pub fn takes(&self, tool: &str) -> bool {
        let allowed = self.tools_allow.as_ref().is_none_or(|names| names.iter().any(|name| name == tool));
        allowed && !self.tools_deny.iter().any(|name| name == tool)
    }

    /// Returns the name of its kind, as clients say it.
    pub fn kind(&self) -> &'static str {
        match &self.way {
            Way::Stdio { .. } => "stdio",
            Way::Http { sse: true, .. } => "sse",
            Way::Http { .. } => "http",
        }
    }
}

/// Puts the servers of all sources together: of one name the strongest source's whole definition counts (MCP-12).
pub fn merged(mut all: Vec<ServerConfig>) -> Vec<ServerConfig> {
    all.sort_by(|a, b| (&a.name, a.source).cmp(&(&b.name, b.source)));
    all.dedup_by(|later, first| later.name == first.name);
    all
}

/// Returns whether a text can be a server's name.
pub fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=32).contains(&name.len()) && name.chars().all(fits) && !name.contains("__")
}

/// Folds a foreign name to one of ours.
pub fn folded_name(name: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let mut folded: String = name.chars().map(fits).take(32).collect();
    while folded.contains("__") {
        folded = folded.replace("__", "_");
    }
    if folded.is_empty() { "_".to_owned() } else { folded }
}

/// Reads one server. Also returns a warning about it.
fn server(
    name: &str,
    table: &Map<String, Value>,
    source: Source,
    variables: &dyn Variables,
) -> Result<(ServerConfig, Option<String>), String> {
    let text = |key: &str| match table.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("`{key}` must be text")),
    };
    let list = |key: &str| match table.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let words = value.as_array().and_then(|words| {
                words.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
            });
            words.map(Some).ok_or_else(|| format!("`{key}` must be a list of texts"))
        }
    };
    let texts = |key: &str| match table.get(key) {
        None | Some(Value::Null) => Ok(BTreeMap::new()),
        Some(value) => {
            let pair = |(name, value): (&String, &Value)| match value {
                Value::String(text) => Some((name.clone(), text.clone())),
                Value::Number(number) => Some((name.clone(), number.to_string())),
                Value::Bool(flag) => Some((name.clone(), flag.to_string())),
                _ => None,
            };
            let pairs = value.as_object().and_then(|pairs| pairs.iter().map(pair).collect::<Option<_>>());
            pairs.ok_or_else(|| format!("`{key}` must be a table of texts"))
        }
    };
    let flag = |key: &str| match table.get(key) {
        None => Ok(None),
        Some(value) => value.as_bool().map(Some).ok_or_else(|| format!("`{key}` must be true or false")),
    };
    let seconds = |key: &str, default: Duration| match table.get(key) {
        None => Ok(default),
        Some(value) => match value.as_u64() {
            Some(n @ 1..=86_400) => Ok(Duration::from_secs(n)),
            _ => Err(format!("`{key}` must be a whole number from 1 to 86400")),
        },
    };
    let mut sse = false;
    for key in ["type", "transport"] {
        match text(key)?.as_deref() {
            None | Some("stdio" | "http" | "streamable-http" | "streamableHttp") => {}
            Some("sse") => sse = true,
            Some(other) => return Err(format!("`{key}` is `{other}`, not one of stdio, http, sse")),
        }
    }
    let (command, url) = (text("command")?, text("url")?);
    let mut way = match (command, url) {
        (Some(_), Some(_)) => return Err("it has both a `command` and a `url`".to_owned()),
        (None, None) => return Err("it has neither a `command` nor a `url`".to_owned()),
        (Some(command), None) => Way::Stdio {
            command,
            args: list("args")?.unwrap_or_default(),
            env: texts("env")?,
            env_pass: if source == Source::Project {
                Vec::new()
            } else {
                list("env_pass")?.unwrap_or_default()
            },
            cwd: text("cwd")?.map(PathBuf::from),
        },
        (None, Some(url)) => Way::Http { url, sse, headers: texts("headers")? },
    };
    let (mut warning, mut broken) = (None, None);
    let secrets = literal::of(&way);
    if let Some((place, _)) = secrets.first() {
        match source.is_own() {
            true => broken = Some(why_not_written_out(place)),
            false => {
                warning = Some(format!("the MCP server `{name}` has a secret in its description (`{place}`)"))
            }
        }
    }
    let line = literal::hidden(way.line(), &secrets);
    if broken.is_none() {
        broken = expand::expand(&mut way, source, variables).err();
    }
    let written = Some(line).filter(|line| *line != way.line());
    if let Way::Http { url, .. } = &way
        && broken.is_none()
    {
        broken = bad_address(url);
    }
    let own = source != Source::Project;
    let mut server = ServerConfig { broken, written, ..ServerConfig::new(name.to_owned(), source, way) };
    if own {
        server.enabled = flag("enabled")?.unwrap_or(true);
        server.required = flag("required")?.unwrap_or(false);
        server.trust = match text("trust")?.as_deref() {
            None | Some("untrusted") => Trust::Untrusted,
            Some("trusted") => Trust::Trusted,
            Some("sandboxed") => Trust::Sandboxed,
            Some(other) => {
                return Err(format!("`trust` is `{other}`, not one of trusted, untrusted, sandboxed"));
            }
        };
        server.defer = match table.get("defer") {
            None => Defer::Auto,
            Some(value) => match value.as_str() {
                Some("auto") => Defer::Auto,
                Some("never") => Defer::Never,
                Some("always") => Defer::Always,
                _ => return Err("`defer` must be one of auto, never, always".to_owned()),
            },
        };
        server.tools_allow = list("tools_allow")?;
        server.tools_deny = list("tools_deny")?.unwrap_or_default();
        server.elicitation = flag("elicitation")?.unwrap_or(true);
        server.answers = match table.get("answers") {
            None => BTreeMap::new(),
            Some(value) => value
                .as_object()
                .ok_or("`answers` must be a table")?
                .iter()
                .map(|(field, value)| (field.clone(), value.clone()))
                .collect(),
        };
        let (oauth, unusable) = oauth::read(table.get("oauth"), source, variables)?;
        (server.oauth, server.broken) = (oauth, server.broken.or(unusable));
        for answer in server.answers.values_mut() {
            let Some(text) = answer.as_str().filter(|text| expand::refers_to_vault(text)) else { continue };
            match expand::resolved(text, source, variables) {
                Ok(value) => *answer = value.into(),
                Err(why) => drop(server.broken.get_or_insert(why)),
            }
        }
        server.start_timeout = seconds("start_timeout_secs", START_TIMEOUT)?;
        server.tool_timeout = seconds("tool_timeout_secs", TOOL_TIMEOUT)?;
        server.sandbox_write = list("sandbox_write")?.unwrap_or_default();
        if let Some(folder) = server.sandbox_write.iter().find(|folder| !is_absolute(folder)) {
            return Err(format!(
                "`sandbox_write` cannot have `{folder}`: it is relative (a folder such as `~/notes`, or from `/`)"
            ));
        }
        server.network = flag("network")?;
    }
    if server.trust == Trust::Sandboxed {
        if server.tools_allow.is_none() {
            return Err(
                "with `trust = \"sandboxed\"` the tools it may have must stand in `tools_allow`".to_owned()
            );
        }
        server.elicitation = false;
    }
    Ok((server, warning))
}

/// Returns whether a folder is one from the root or from the home directory.
fn is_absolute(folder: &str) -> bool {
    folder.starts_with('/') || folder.starts_with("~/")
}

/// Returns why an address may not be contacted (MCP-23).
pub(super) fn bad_address(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match host.strip_prefix('[') {
        Some(six) => six.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let loopback = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    match scheme {
        _ if authority.contains('@') => Some("its address must not hold a user or a password".to_owned()),
        "https" if !host.is_empty() => None,
        "http" if loopback => None,
        _ => Some(format!("`{url}` is neither HTTPS nor on this machine")),
    }
}

/// Says what to do about a secret that stands in a file of ours.
fn why_not_written_out(place: &str) -> String {
    let vault = "keep it in the vault (`zori vault set NAME`)";
    match place {
        "args" => format!(
            "there is a secret in its command line (`args`), which others see; {vault} and give it by a variable: `env = {{ KEY = \"vault:NAME\" }}`"
        ),
        "url" => format!(
            "there is a secret in its address (`url`), which others see; {vault} and give it by a header"
        ),
        _ => format!(
            "`{place}` holds a secret; {vault} and write `vault:NAME`, or name a variable in `env_pass`"
        ),
    }
}

#[cfg(test)]
mod tests;
