//! What other agents left behind, as a plan: nothing is written, and nobody is contacted (EXT-31 to EXT-33).
//!
//! `import/servers.rs` reads MCP servers of each format, `import/homes.rs` knows where each agent keeps its things, and `import/editors.rs`
//! where editors do.

mod editors;
pub mod homes;
mod jsonc;
mod servers;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use zori_core::permission::{Layer, Verdict};
use zori_core::secret::Secret;
use zori_mcp::client::config::{folded_name, runs_newest};
use zori_policy::rules::{OwnedAnchors, Rules, UnparsedRule};

use crate::config::Config;
use crate::mcp_servers::refusal;

/// What can be taken over, by the names of `--only`.
pub const GROUPS: &[&str] = &["servers", "instructions", "skills", "commands", "agents", "rules"];
/// From whom, by the names of `--from`.
pub const AGENTS: &[&str] = &["claude", "codex", "gemini", "opencode", "cursor", "vscode"];
/// Their folders below the home directory, by which a chat knows that there is something to take over.
pub const TRACES: &[&[&str]] =
    &[&[".claude", ".codex", ".gemini", ".config/opencode", ".cursor"], editors::VSCODE];
/// The file in the base directory that says that a chat need not speak of it any more.
pub const TOLD: &str = "import-told";

/// What would be taken over.
#[derive(Default)]
pub struct Plan {
    /// MCP servers, each a table of our config.
    pub servers: Vec<PlannedServer>,
    /// Servers that an earlier import switched off, because their secrets were not stored.
    pub waiting: Vec<PlannedServer>,
    /// Entries of lists of our config: the key, and what is added.
    pub entries: Vec<PlannedEntry>,
    /// Rules that let something run: each is taken only if somebody says yes to it.
    pub allow: Vec<String>,
    /// What is left behind, and why. No value of a secret is in it.
    pub notes: Vec<String>,
}

/// An MCP server.
pub struct PlannedServer {
    /// Its name with us.
    pub name: String,
    /// Where it was found.
    pub from: PathBuf,
    pub table: Map<String, Value>,
    /// What stands in the file it was found in and belongs into the vault: the entry, and the value.
    pub secrets: Vec<(String, Secret)>,
}

impl PlannedServer {
    fn line(&self) -> String {
        let secret = match self.secrets.len() {
            0 => "",
            _ => ", with a secret that belongs into the vault",
        };
        format!("MCP server {} from {}{secret}", self.name, self.from.display())
    }

    /// Says what would become of one that waits for its secrets.
    pub fn stored_line(&self) -> String {
        format!(
            "the secrets of the MCP server {} from {}, which is switched on",
            self.name,
            self.from.display()
        )
    }

    /// Returns whether a table of our config is what an import made of it without its secrets: the same, and switched off.
    fn waits_as(&self, ours: &Value) -> bool {
        let off = ours.get("enabled") == Some(&Value::Bool(false)) && !self.is_off();
        let mut ours = ours.as_object().cloned().unwrap_or_default();
        ours.remove("enabled");
        off && !self.secrets.is_empty() && ours == self.table
    }

    /// Returns what it is: its command line, or its address.
    pub fn shown(&self) -> String {
        let words = self.table.get("args").and_then(Value::as_array).into_iter().flatten();
        let text = |key: &str| self.table.get(key).and_then(Value::as_str);
        let first = text("command").or_else(|| text("url")).unwrap_or_default();
        std::iter::once(first).chain(words.filter_map(Value::as_str)).collect::<Vec<_>>().join(" ")
    }

    /// Returns what belongs to it beside its command line or address: where it runs, and the names of its variables or headers.
    pub fn details(&self) -> Vec<String> {
        let names = |key: &str| {
            let table = self.table.get(key)?.as_object()?;
            let names: Vec<&str> = table.keys().map(String::as_str).collect();
            Some(format!("{key}: {}", names.join(", ")))
        };
        let cwd = self.table.get("cwd").and_then(Value::as_str).map(|cwd| format!("runs in {cwd}"));
        cwd.into_iter().chain(names("env")).chain(names("headers")).collect()
    }

    /// Returns whether somebody switched it off where it was found.
    pub fn is_off(&self) -> bool {
        self.table.get("enabled") == Some(&Value::Bool(false))
    }

    /// Returns whether it runs whatever version is newest (EXT-61).
    pub fn runs_newest(&self) -> bool {
        let words = self.table.get("args").and_then(Value::as_array).into_iter().flatten();
        let command = self.table.get("command").and_then(Value::as_str).unwrap_or_default();
        runs_newest(command, words.filter_map(Value::as_str))
    }

    /// Returns the entries of the vault that it refers to, beside those whose values stand in the file it was found in.
    pub fn references(&self) -> Vec<String> {
        let tables = ["env", "headers"].into_iter().filter_map(|key| self.table.get(key)?.as_object());
        let values = tables.flat_map(Map::values).filter_map(Value::as_str);
        let names = values.flat_map(zori_vault::reference::names).map(str::to_owned);
        let own = |name: &String| self.secrets.iter().any(|(entry, _)| entry == name);
        names.filter(|name| !own(name)).collect()
    }
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

impl PlannedEntry {
    fn line(&self) -> String {
        format!("{} += {}", self.key, self.value)
    }
}

impl Plan {
    /// Returns whether there is nothing that could be done.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty() && self.waiting.is_empty() && self.entries.is_empty() && self.allow.is_empty()
    }

    /// Returns one line for each thing that would be taken over, without values.
    pub fn lines(&self) -> Vec<String> {
        let entries = self.entries.iter().map(PlannedEntry::line);
        self.servers.iter().map(PlannedServer::line).chain(entries).collect()
    }

    /// Keeps what belongs to one of the groups.
    pub fn only(mut self, groups: &[&str]) -> Self {
        if !groups.contains(&"servers") {
            self.servers.clear();
        }
        if !groups.contains(&"rules") {
            self.allow.clear();
        }
        self.entries.retain(|entry| groups.contains(&entry.group));
        self
    }

    /// Leaves out what the config has already, so that a second import changes nothing, and servers that the administrator has. One that waits
    /// for its secrets, which are not in the vault, may get them. `vault` says what is there.
    pub fn without_known(
        mut self,
        config: &Config,
        managed: Option<&Map<String, Value>>,
        vault: impl Fn(&str) -> bool,
    ) -> Self {
        let known = config.mcp_servers.as_ref();
        for server in std::mem::take(&mut self.servers) {
            let mut leave_out = |why: &str| {
                let from = server.from.display();
                self.notes.push(format!("MCP server {} from {from} is left out: {why}", server.name));
            };
            if managed.is_some_and(|servers| servers.contains_key(&server.name)) {
                leave_out("the administrator's config has one of that name");
                continue;
            }
            let Some(ours) = known.and_then(|servers| servers.get(&server.name)) else {
                self.servers.push(server);
                continue;
            };
            if ["command", "args", "url"].iter().any(|key| ours.get(*key) != server.table.get(*key)) {
                leave_out("the config has one of that name");
            } else if server.waits_as(ours) && server.secrets.iter().any(|(entry, _)| !vault(entry)) {
                self.waiting.push(server);
            }
        }
        let knows = |key: &str, value: &str| {
            config.list(key).unwrap_or_default().iter().any(|(known, _)| *known == value)
        };
        self.entries.retain(|entry| !knows(entry.key, &entry.value));
        self.allow.retain(|rule| !knows("permissions.allow", rule));
        self
    }

    /// Leaves out rules that mean nothing here, and says so.
    pub fn without_bad_rules(mut self, anchors: &OwnedAnchors) -> Self {
        let mut bad = Vec::new();
        let mut is_good = |key: &str, text: &str| {
            let verdict = match key {
                "permissions.allow" => Verdict::Allow,
                "permissions.ask" => Verdict::Ask,
                _ => Verdict::Deny,
            };
            let rule =
                UnparsedRule { verdict, text: text.to_owned(), layer: Layer::User, source: key.into() };
            let (mut rules, mut warnings) = (Rules::default(), Vec::new());
            rules.add(&rule, anchors, &mut warnings);
            let parsed = [rules.allow, rules.ask, rules.deny].concat().len() == 1;
            let good = parsed && (warnings.is_empty() || verdict == Verdict::Allow);
            if let Some(why) = warnings.first().filter(|_| !good) {
                // What comes of it last is what would come of it in our config.
                let why = why.text.rsplit_once("; ").map_or(why.text.as_str(), |(why, _)| why);
                bad.push(format!("a rule is left out: {why}"));
            }
            good
        };
        self.entries.retain(|entry| entry.group != "rules" || is_good(entry.key, &entry.value));
        self.allow.retain(|rule| is_good("permissions.allow", rule));
        self.notes.extend(bad);
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
        let folded = folded_name(name);
        // What is written has to work: no address that nobody may contact, no secret in the open.
        let described = described.and_then(|described| {
            let one = Map::from_iter([(folded.clone(), Value::Object(described.table.clone()))]);
            refusal(&one).map_or(Ok(described), Err)
        });
        let described = described.and_then(|described| {
            let is_name =
                |(key, _): &(String, Secret)| zori_vault::file::is_name(&servers::entry(&folded, key));
            match described.secrets.iter().all(is_name) {
                true => Ok(described),
                false => Err("the name of a variable is too long for an entry of the vault".to_owned()),
            }
        });
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
