//! `/mcp`: the MCP servers of the chat, a line each, and what can be done about one (MCP-91).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use zori_contract::failure::Failure;
use zori_mcp::client::{McpServers, Server};

use super::Next;
use crate::chat::Chat;

const USAGE: &str = "/mcp lists the MCP servers, /mcp reconnect|enable|disable NAME changes one, /mcp log NAME says where its log is";

pub(super) fn run(chat: &mut Chat<'_, '_>, rest: &str) -> Result<Next, Failure> {
    let said = Known::of(chat).told(rest);
    said.iter().for_each(|line| chat.cx.ui.say(line));
    Ok(Next::Done)
}

/// What `/mcp` has to know; a turn that runs does not change it.
pub(crate) struct Known {
    servers: Option<Arc<McpServers>>,
    /// What the program is called.
    name: &'static str,
    base: Option<PathBuf>,
}

impl Known {
    pub(crate) fn of(chat: &Chat<'_, '_>) -> Self {
        let servers = chat.plain.session().mcp().cloned();
        let base = chat.plain.run.base.as_ref().map(|base| base.dir().to_owned());
        Self { servers, name: chat.cx.profile.name, base }
    }

    /// Does what is asked about the servers, and returns what to say.
    pub(crate) fn told(&self, rest: &str) -> Vec<String> {
        match &self.servers {
            Some(servers) => told(servers, rest, self.base.as_deref()),
            None => {
                let name = self.name;
                vec![format!("There are no MCP servers; `{name} mcp add NAME -- COMMAND` adds one.")]
            }
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
        (Some("log"), Some(name)) => match base.filter(|_| servers.named(name).is_some()) {
            Some(base) => {
                vec![base.join("logs").join("mcp").join(format!("{name}.log")).display().to_string()]
            }
            None => vec![format!("There is no log of an MCP server {name}.")],
        },
        _ => vec![USAGE.to_owned()],
    }
}

fn changed(known: bool, name: &str, what: &str) -> Vec<String> {
    vec![match known {
        true => format!("The MCP server {name} {what}."),
        false => format!("There is no MCP server `{name}` (/mcp shows them all)"),
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
            format!(", {} tools, {bytes} bytes", now.tools.len())
        }
        false => String::new(),
    };
    let reason = now.reason.map_or_else(String::new, |why| format!(": {why}"));
    format!("{} ({}): {}{tools}{reason}", config.name, config.source.as_str(), now.status.as_str())
}
