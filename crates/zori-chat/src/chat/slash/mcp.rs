//! `/mcp`: the MCP servers of the chat, a line each, and what can be done about one (MCP-91).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use zori_contract::failure::Failure;
use zori_core::text::counted;
use zori_mcp::client::{McpServers, Server, Source};

use super::Next;
use crate::chat::Chat;

const USAGE: &str = "/mcp lists the MCP servers, /mcp reconnect|enable|disable|login|logout NAME changes one, /mcp log NAME says where its log is";

pub(super) fn run(chat: &mut Chat<'_, '_>, rest: &str) -> Result<Next, Failure> {
    match Known::of(chat).run(rest) {
        McpOutcome::LogIn(login) => Ok(Next::LogIn(login)),
        McpOutcome::Lines(lines) => {
            lines.iter().for_each(|line| chat.cx.ui.say(line));
            Ok(Next::Done)
        }
    }
}

pub enum McpOutcome {
    /// Lines to say.
    Lines(Vec<String>),
    /// Somebody is to log in.
    LogIn(ServerLogin),
}

/// A login to a server of the chat.
pub struct ServerLogin {
    servers: Arc<McpServers>,
    name: String,
}

impl ServerLogin {
    /// Returns the name of the server.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Uses the login from now on, and says so.
    pub fn done(&self) -> String {
        let name = &self.name;
        self.servers.reconnect(name);
        format!("Logged in to the MCP server {name}; it is being connected to.")
    }

    /// Says how it is done where the chat cannot let the terminal go.
    pub fn by_hand(&self, program: &str) -> String {
        let name = &self.name;
        format!(
            "Run `{program} mcp login {name}` in another terminal; `/mcp reconnect {name}` uses the login then."
        )
    }
}

/// What `/mcp` has to know; a turn that runs does not change it.
pub struct Known {
    servers: Option<Arc<McpServers>>,
    /// What the program is called.
    name: &'static str,
    base: Option<PathBuf>,
}

impl Known {
    pub fn of(chat: &Chat<'_, '_>) -> Self {
        let servers = chat.plain.session().mcp().cloned();
        let base = chat.plain.run.base.as_ref().map(|base| base.dir().to_owned());
        Self { servers, name: chat.cx.profile.name, base }
    }

    /// Does what is asked about the servers, and returns what to say.
    pub fn run(&self, rest: &str) -> McpOutcome {
        let name = self.name;
        let Some(servers) = &self.servers else {
            let none = format!("There are no MCP servers; `{name} mcp add NAME -- COMMAND` adds one.");
            return McpOutcome::Lines(vec![none]);
        };
        let login = rest.trim().strip_prefix("login").filter(|rest| rest.starts_with(char::is_whitespace));
        match login.map(str::trim).filter(|server| !server.is_empty()) {
            None => McpOutcome::Lines(told(servers, rest, self.base.as_deref())),
            Some(server) => match login_refusal(servers, server) {
                Some(why) => McpOutcome::Lines(vec![why]),
                None => McpOutcome::LogIn(ServerLogin { servers: servers.clone(), name: server.to_owned() }),
            },
        }
    }
}

fn told(servers: &Arc<McpServers>, rest: &str, base: Option<&Path>) -> Vec<String> {
    let mut words = rest.split_whitespace();
    let (verb, name) = (words.next(), words.next());
    match (verb, name) {
        (None, _) => lines(servers),
        (Some("reconnect"), Some(name)) => changed(servers.reconnect(name), name, "is being connected to"),
        (Some("enable"), Some(name)) => changed(servers.enable(name, true), name, "is being connected to"),
        (Some("disable"), Some(name)) => changed(servers.enable(name, false), name, "is not used any more"),
        (Some("logout"), Some(name)) => vec![logged_out(servers, name)],
        (Some("log"), Some(name)) => match base.filter(|_| servers.named(name).is_some()) {
            Some(base) => {
                vec![base.join("logs").join("mcp").join(format!("{name}.log")).display().to_string()]
            }
            None => vec![format!("There is no log of an MCP server {name}.")],
        },
        _ => vec![USAGE.to_owned()],
    }
}

/// Says why nobody can log in to a server.
fn login_refusal(servers: &McpServers, name: &str) -> Option<String> {
    let Some(server) = servers.named(name) else { return Some(unknown(name)) };
    match server.config.source {
        // The command that logs in reads the config, and these are in none.
        Source::Flag | Source::Client => Some(format!(
            "The MCP server {name} was brought along for this session; only one of the config or of `.mcp.json` can be logged in to."
        )),
        Source::Managed | Source::User | Source::Project => {
            server.config.login_refusal().map(|why| format!("Nobody can log in: {why}."))
        }
    }
}

/// Forgets the login to a server.
fn logged_out(servers: &McpServers, name: &str) -> String {
    match servers.log_out(name) {
        None => unknown(name),
        Some(Ok(true)) => format!("Forgot the login to the MCP server {name}."),
        Some(Ok(false)) => format!("Nobody is logged in to the MCP server {name}."),
        Some(Err(why)) => format!("The login to the MCP server {name} is still there: {why}"),
    }
}

fn unknown(name: &str) -> String {
    format!("There is no MCP server `{name}` (/mcp shows them all)")
}

fn changed(known: bool, name: &str, what: &str) -> Vec<String> {
    vec![match known {
        true => format!("The MCP server {name} {what}."),
        false => unknown(name),
    }]
}

fn lines(servers: &McpServers) -> Vec<String> {
    servers.all().iter().map(|server| line(server)).collect()
}

fn line(server: &Server) -> String {
    let (config, now) = (&server.config, server.now());
    let tools = match now.listed {
        true => {
            let bytes: usize = now.tools.iter().map(|tool| tool.bytes(&config.name)).sum();
            let deferred = if server.is_deferred() { ", deferred" } else { "" };
            format!(", {}, {bytes} bytes{deferred}", counted(now.tools.len(), "tool"))
        }
        false => String::new(),
    };
    let reason = now.reason.map_or_else(String::new, |why| format!(": {why}"));
    format!("{} ({}): {}{tools}{reason}", config.name, config.source.as_str(), now.status.as_str())
}
