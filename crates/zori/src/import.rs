//! What other agents left behind, as a plan: nothing is written, and nobody is contacted (EXT-31 to EXT-33).
//!
//! `import/servers.rs` reads MCP servers of each format, `import/homes.rs` knows where each agent keeps its things.

pub mod homes;
mod servers;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use zori_core::secret::Secret;

use crate::config::Config;

/// What can be taken over, by the names of `--only`.
pub const GROUPS: &[&str] = &["servers", "instructions", "skills", "commands", "rules"];
/// From whom, by the names of `--from`.
pub const AGENTS: &[&str] = &["claude", "codex", "gemini"];

/// What would be taken over.
#[derive(Default)]
pub struct Plan {
    /// MCP servers, each a table of our config.
    pub servers: Vec<PlannedServer>,
    /// Entries of lists of our config: the key, and what is added.
    pub entries: Vec<PlannedEntry>,
    /// What is left behind, and why. No value of a secret is in it.
    pub notes: Vec<String>,
}

/// An MCP server.
pub struct PlannedServer {
    /// Its name with us.
    pub name: String,
    /// Where it was found.
    pub from: PathBuf,
    /// Its table.
    pub table: Map<String, Value>,
    /// What stands in the file it was found in and belongs into the vault: the entry, and the value.
    pub secrets: Vec<(String, Secret)>,
}

/// An entry of a list in the config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedEntry {
    /// The group it belongs to.
    pub group: &'static str,
    /// The key of the list, such as `skills.paths`.
    pub key: &'static str,
    pub value: String,
}

impl Plan {
    /// Returns one line for each thing that would be taken over, without values.
    pub fn lines(&self) -> Vec<String> {
        let server = |server: &PlannedServer| {
            let secret = match server.secrets.len() {
                0 => "",
                _ => ", with a secret that belongs into the vault",
            };
            format!("MCP server {} from {}{secret}", server.name, server.from.display())
        };
        let entry = |entry: &PlannedEntry| format!("{} += {}", entry.key, entry.value);
        self.servers.iter().map(server).chain(self.entries.iter().map(entry)).collect()
    }

    /// Keeps what belongs to one of the groups.
    pub fn only(mut self, groups: &[&str]) -> Self {
        if !groups.contains(&"servers") {
            self.servers.clear();
        }
        self.entries.retain(|entry| groups.contains(&entry.group));
        self
    }

    /// Leaves out what the config has already, so that a second import changes nothing.
    pub fn without_known(mut self, config: &Config) -> Self {
        let has = |name: &str| config.mcp_servers.as_ref().is_some_and(|servers| servers.contains_key(name));
        self.servers.retain(|server| !has(&server.name));
        self.entries.retain(|entry| {
            !config.list(entry.key).unwrap_or_default().iter().any(|(known, _)| *known == entry.value)
        });
        self
    }

    fn add_entry(&mut self, group: &'static str, key: &'static str, value: &str) {
        let entry = PlannedEntry { group, key, value: value.to_owned() };
        if !self.entries.contains(&entry) {
            self.entries.push(entry);
        }
    }

    /// Adds a server; of two of one name the first is taken.
    fn add_server(
        &mut self,
        agent: &str,
        name: &str,
        from: &Path,
        described: Result<servers::Described, String>,
    ) {
        let folded = servers::folded(name);
        match described {
            Err(why) => self.notes.push(format!("MCP server {name} of {agent} is left out: {why}")),
            Ok(_) if self.servers.iter().any(|known| known.name == folded) => {
                self.notes
                    .push(format!("MCP server {name} of {agent} is left out: another one has its name"));
            }
            Ok(servers::Described { table, secrets }) => {
                let secrets = secrets.into_iter();
                let secrets = secrets.map(|(key, value)| (servers::entry(&folded, &key), value)).collect();
                self.servers.push(PlannedServer { name: folded, from: from.to_owned(), table, secrets });
            }
        }
    }
}
