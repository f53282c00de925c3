//! Reads a folder's own settings without trusting it (TRUST-2, TRUST-4, TRUST-5, TRUST-8).
//!
//! Only plain files of the folder itself are read: no links, no pipes, nothing large. Nothing is run and nobody is
//! contacted to find out.

mod foreign;

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use zori_contract::failure::Failure;
use zori_extensions::command::CustomCommand;
use zori_extensions::skill::Skill;
use zori_extensions::{command_folder, skill_folder};
use zori_mcp::client::config::{references, runs_newest};
use zori_providers::catalog;
use zori_tools::hooks::{Hook, Origin};

use zori_core::permission::Verdict;
use zori_host::AgentDescription;

pub use self::foreign::ForeignRule;
use crate::agents::{file, folder};
use crate::config::Config;
use crate::error::CONFIG_INVALID;
use crate::hooks::{self, HookConfig, HookTable};
use crate::mcp_servers;
use crate::trust::plain_dir::PlainDir;

/// The directory that holds a folder's own settings.
const FOLDER: &str = ".zori";
/// Where a folder names MCP servers.
const MCP_FILE: &str = ".mcp.json";
/// The size of the largest one.
const MAX_MCP_BYTES: usize = 64 << 10;
/// Where its sub-agents are described; of two of one name the first counts.
const AGENTS: &[&[&str]] = &[&[FOLDER, "agents"], &[".claude", "agents"]];
/// Keys that apply before the folder is trusted: they can only restrict.
const RESTRICTING_KEYS: &[&str] = &["permissions.ask", "permissions.deny", "security.sensitive_paths"];
/// Keys that apply once the folder is trusted. All other keys never apply (TRUST-4).
const TRUSTED_KEYS: &[&str] = &["model", "system_prompt", "hooks"];

/// A folder's own settings.
#[derive(Debug)]
pub struct Project {
    root: PathBuf,
    /// Where its config is, or would be.
    pub config_path: PathBuf,
    pub config: Config,
    /// The hooks it declares.
    pub hooks: Vec<ProjectHook>,
    /// Rules that ask or deny of Claude Code's settings.
    pub rules: Vec<ForeignRule>,
    /// Keys of those files that never count, by file.
    foreign_ignored: Vec<(PathBuf, Vec<String>)>,
    /// A warning for each of those files that cannot be read.
    foreign_warnings: Vec<String>,
    /// Its sub-agents, each with the hash it is approved by.
    pub agents: Vec<(AgentDescription, String)>,
    /// A warning for each agent file that is skipped.
    pub agent_warnings: Vec<String>,
    /// Its custom commands, each with the hash it is approved by.
    pub commands: Vec<(CustomCommand, String)>,
    /// Its skills, each with the hash of its folder.
    pub skills: Vec<(Skill, String)>,
    /// A warning for each custom command that is skipped, and what is said of hooks of other programs.
    pub extension_warnings: Vec<String>,
    /// A warning for each skill that is skipped or odd.
    pub skill_warnings: Vec<String>,
    /// The MCP servers of its `.mcp.json`.
    pub mcp: Option<Map<String, Value>>,
    /// Why that file cannot be used.
    pub mcp_error: Option<String>,
    /// Keys that a project must not set, by file.
    ignored: Vec<(PathBuf, Vec<String>)>,
    /// A warning for each group of hooks that never run.
    hook_warnings: Vec<String>,
    /// Why its hooks cannot be parsed.
    pub hooks_error: Option<String>,
    /// Why it cannot be trusted at all: others than the user can change its files.
    pub insecure: Option<String>,
}

/// Which of the places there are that a folder keeps settings in. Most folders have none of them, and pay one look for each.
struct Present {
    zori: bool,
    claude: bool,
    agents: bool,
    servers: bool,
}

impl Present {
    fn look(root: &Path) -> Self {
        // A link is there, too: it is refused where it would be read. So is what cannot be looked at.
        let there = |name: &str| match root.join(name).symlink_metadata() {
            Err(error) => error.kind() != ErrorKind::NotFound,
            Ok(_) => true,
        };
        Self {
            zori: there(FOLDER),
            claude: there(".claude"),
            agents: there(".agents"),
            servers: there(MCP_FILE),
        }
    }
}

/// A hook that the folder declares.
#[derive(Clone, Debug)]
pub struct ProjectHook {
    config: HookConfig,
    file: PathBuf,
    /// The hash of it, and of the folder's files it names.
    pub digest: String,
}

/// One setting of a folder, as the dialog shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub kind: &'static str,
    pub text: String,
    /// The file, and the line if it is known.
    pub location: String,
}

impl Project {
    /// Reads a folder's settings. A config that cannot be read is an error, because it may deny something (TM-4).
    pub fn load(root: &Path) -> Result<Self, Failure> {
        let folder = root.join(FOLDER);
        let (config_path, settings_path) = (folder.join("config.toml"), folder.join("settings.json"));
        let present = Present::look(root);
        let mut insecure = None;
        let unusable = |path: &Path, why: &str| {
            Failure::new(&CONFIG_INVALID, format!("{} {why}", path.display()))
                .hint("it may hold rules that deny something, so nothing runs without it; mend or remove it")
        };
        let config = match present.zori {
            true => read_plain(root, "config.toml", &mut insecure),
            false => Ok(None),
        };
        let config = match config.map_err(|why| unusable(&config_path, &why))? {
            Some(bytes) => Config::parse(&bytes, &config_path, "")?,
            None => Config::default(),
        };
        let mut project = Self {
            root: root.to_owned(),
            config,
            hooks: Vec::new(),
            rules: Vec::new(),
            foreign_ignored: Vec::new(),
            foreign_warnings: Vec::new(),
            agents: Vec::new(),
            agent_warnings: Vec::new(),
            commands: Vec::new(),
            skills: Vec::new(),
            extension_warnings: Vec::new(),
            skill_warnings: Vec::new(),
            mcp: None,
            mcp_error: None,
            ignored: Vec::new(),
            hook_warnings: Vec::new(),
            hooks_error: None,
            insecure: None,
            config_path: config_path.clone(),
        };
        let keys_set = project.config.keys().map(str::to_owned).chain(project.config.others.clone());
        let provider = project.config.text("model").is_some_and(names_provider);
        let known = |key: &str| match key {
            "model" => !provider,
            key => RESTRICTING_KEYS.contains(&key) || TRUSTED_KEYS.contains(&key),
        };
        let keys: Vec<_> = keys_set.filter(|key| !known(key)).collect();
        if !keys.is_empty() {
            project.ignored.push((config_path.clone(), keys));
        }
        let table = project.config.hooks().unwrap_or_default();
        project.add(table, &config_path);
        if present.zori {
            project.add_settings(settings_path, &mut insecure);
        }
        if present.claude {
            project.add_foreign(&mut insecure);
        }
        if present.zori || present.claude {
            project.add_agents(&mut insecure);
        }
        if present.servers {
            project.add_servers(&mut insecure);
        }
        if present.zori || present.claude || present.agents {
            project.add_extensions(&mut insecure);
        }
        project.insecure = insecure;
        Ok(project)
    }

    /// Reads the hooks of `settings.json`.
    fn add_settings(&mut self, path: PathBuf, insecure: &mut Option<String>) {
        let read = read_plain(&self.root, "settings.json", insecure);
        match read.and_then(|bytes| bytes.map(|bytes| hooks::parse_settings(&bytes)).transpose()) {
            Ok(None) => {}
            Ok(Some(file)) => {
                self.add(file.table, &path);
                if !file.others.is_empty() {
                    self.ignored.push((path, file.others));
                }
            }
            Err(why) => self.hooks_error = Some(format!("{}: {why}", path.display())),
        }
    }

    /// Reads Claude Code's settings. A file that cannot be used costs that one.
    fn add_foreign(&mut self, insecure: &mut Option<String>) {
        let folder = match PlainDir::open(&self.root, &[foreign::FOLDER]) {
            Ok(Some(folder)) => folder,
            Ok(None) => return,
            Err(why) => {
                let path = self.root.join(foreign::FOLDER);
                self.foreign_warnings.push(format!("{} {why}", path.display()));
                return;
            }
        };
        for name in foreign::FILES {
            let path = folder.path().join(name);
            let read = folder.read(name, insecure);
            let settings = match read.and_then(|bytes| bytes.map(|bytes| foreign::read(&bytes)).transpose()) {
                Ok(Some(settings)) => settings,
                Ok(None) => continue,
                Err(why) => {
                    let warning = format!("{} {why}; its rules and hooks are not used", path.display());
                    self.foreign_warnings.push(warning);
                    continue;
                }
            };
            let rules = settings.rules.into_iter();
            self.rules.extend(rules.map(|(verdict, text)| ForeignRule { verdict, text, file: path.clone() }));
            let remark = |why: String| format!("{} {why}", path.display());
            self.extension_warnings.extend(settings.hook_remarks.into_iter().map(remark));
            // Events that there are none of here are that program's own affair.
            self.add(HookTable { unknown: Vec::new(), ..settings.hooks }, &path);
            if !settings.ignored.is_empty() {
                self.foreign_ignored.push((path, settings.ignored));
            }
        }
    }

    /// Forgets what Claude Code's settings say: whoever started the run does not want them.
    pub fn without_foreign(&mut self) {
        let folder = self.root.join(foreign::FOLDER);
        self.hooks.retain(|hook| !hook.file.starts_with(&folder));
        (self.rules, self.foreign_ignored, self.foreign_warnings) = Default::default();
    }

    /// Reads the files that describe sub-agents. One that cannot be used costs that one.
    fn add_agents(&mut self, insecure: &mut Option<String>) {
        for names in AGENTS {
            let found = match PlainDir::open(&self.root, names) {
                Ok(Some(found)) => found,
                Ok(None) => continue,
                Err(why) => {
                    let path: PathBuf = names.iter().collect();
                    self.agent_warnings.push(format!("{} {why}", self.root.join(path).display()));
                    continue;
                }
            };
            for name in
                found.names().into_iter().filter(|name| folder::is_agent_file(name)).take(folder::MAX_FILES)
            {
                let path = found.path().join(&name);
                let read = found.read(&name, insecure);
                let bytes = read.map(Option::unwrap_or_default);
                match bytes.and_then(|bytes| Ok((file::read(&path, &bytes)?, text_digest("agent", &bytes)))) {
                    Ok(agent) => self.agents.push(agent),
                    Err(why) => self.agent_warnings.push(folder::skip_warning(&path, &why)),
                }
            }
        }
    }

    /// Reads `.mcp.json`. One that cannot be used costs its servers.
    fn add_servers(&mut self, insecure: &mut Option<String>) {
        let read = PlainDir::open(&self.root, &[]).and_then(|folder| match folder {
            Some(folder) => folder.read(MCP_FILE, insecure),
            None => Ok(None),
        });
        let path = self.root.join(MCP_FILE);
        match read.map_err(|why| format!("{} {why}", path.display())) {
            Ok(None) => {}
            Ok(Some(bytes)) if bytes.len() > MAX_MCP_BYTES => {
                self.mcp_error = Some(format!("{} is larger than {MAX_MCP_BYTES} bytes", path.display()));
            }
            Ok(Some(bytes)) => match mcp_servers::parse_project(&path, &bytes) {
                Ok(servers) => self.mcp = Some(servers).filter(|servers| !servers.is_empty()),
                Err(why) => self.mcp_error = Some(why),
            },
            Err(why) => self.mcp_error = Some(why),
        }
    }

    /// Returns the MCP servers with the hash of what is written of each.
    pub fn servers(&self) -> impl Iterator<Item = (&String, String)> {
        self.mcp.iter().flatten().map(|(name, value)| {
            let mut hash = Sha256::new();
            // What was approved before its variables were shown is asked about again.
            hash.update(if references(value).is_empty() { "mcp\0" } else { "mcp, with what it gets\0" });
            hash.update(name);
            hash.update("\0");
            hash.update(value.to_string());
            // A script of the folder is what it was when it was approved (MCP-1).
            hash_files(&mut hash, &files_in_server(value, &self.root));
            (name, hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
        })
    }

    /// Reads its custom commands and skills.
    fn add_extensions(&mut self, insecure: &mut Option<String>) {
        let found = command_folder::of_project(&self.root, insecure);
        let digested = |command: CustomCommand| {
            let digest = command_folder::digest(&command);
            (command, digest)
        };
        self.commands = found.commands.into_iter().map(digested).collect();
        self.extension_warnings.extend(found.warnings);
        let (found, digests) = skill_folder::of_project(&self.root, insecure);
        self.skills = found.skills.into_iter().zip(digests).collect();
        self.skill_warnings = found.warnings;
    }

    /// Returns all that counts only as it was when somebody approved it: hash and words.
    pub fn approvables(&self) -> Vec<(String, Item)> {
        let hooks = self.hooks.iter().map(|hook| (hook.digest.clone(), self.item(hook)));
        let servers = self.servers().map(|(name, digest)| {
            let value = self.mcp.as_ref().and_then(|servers| servers.get(name)).unwrap_or(&Value::Null);
            let text = format!("{name}: {}", shown_server(value));
            (digest, Item { kind: "MCP server", text, location: MCP_FILE.to_owned() })
        });
        let commands = self.commands.iter().map(|(command, digest)| {
            let text = format!("/{}: {}", command.name, command.about);
            (digest.clone(), Item { kind: "command", text, location: self.shown(&command.file) })
        });
        let skills = self.skills.iter().map(|(skill, digest)| {
            let text = format!("{}: {}", skill.name, skill.description);
            (digest.clone(), Item { kind: "skill", text, location: self.shown(&skill.file()) })
        });
        let agents = self.agents.iter().map(|(agent, digest)| (digest.clone(), self.agent_item(agent)));
        hooks.chain(servers).chain(commands).chain(skills).chain(agents).collect()
    }

    /// Returns the hashes of all that counts only as it was approved.
    pub fn digests(&self) -> Vec<String> {
        self.approvables().into_iter().map(|(digest, _)| digest).collect()
    }

    fn add(&mut self, table: HookTable, file: &Path) {
        self.hook_warnings.extend(hooks::unknown_events_warning(&table.unknown, file));
        for config in table.hooks {
            let digest = digest(&config, &self.root);
            self.hooks.push(ProjectHook { config, file: file.to_owned(), digest });
        }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns whether trust would change anything.
    pub fn needs_trust(&self) -> bool {
        !self.hooks.is_empty()
            || !self.agents.is_empty()
            || !self.commands.is_empty()
            || !self.skills.is_empty()
            || self.mcp.is_some()
            || self.hooks_error.is_some()
            || self.text("model").is_some()
            || self.text("system_prompt").is_some()
    }

    /// Returns a setting that counts once the folder is trusted; blank counts as unset.
    pub fn text(&self, key: &str) -> Option<&str> {
        let text = self.config.text(key).map(str::trim).filter(|text| !text.is_empty())?;
        (key != "model" || !names_provider(text)).then_some(text)
    }

    /// Returns a hook that checks before each run that it is still the one that was trusted.
    pub fn hook(&self, hook: &ProjectHook) -> Hook {
        let (config, root, digest_then) = (hook.config.clone(), self.root.clone(), hook.digest.clone());
        let unchanged = Arc::new(move || digest(&config, &root) == digest_then);
        hook.config.hook(Origin::Project, &hook.file, Some(unchanged))
    }

    /// Returns all that would become active or is already, in the order of the dialog (TRUST-3).
    pub fn items(&self) -> Vec<Item> {
        let item = |kind, text: String, location: &Path| Item { kind, text, location: self.shown(location) };
        let mut items: Vec<_> = self.hooks.iter().map(|hook| self.item(hook)).collect();
        for (kind, key) in [("model =", "model"), ("system_prompt =", "system_prompt")] {
            items.extend(self.text(key).map(|text| item(kind, text.to_owned(), &self.config_path)));
        }
        items.extend(self.agents.iter().map(|(agent, _)| self.agent_item(agent)));
        for (name, value) in self.mcp.iter().flatten() {
            items.push(item(
                "MCP server",
                format!("{name}: {}", shown_server(value)),
                &self.root.join(MCP_FILE),
            ));
        }
        let brought = |item: &Item| matches!(item.kind, "command" | "skill");
        items.extend(self.approvables().into_iter().map(|(_, item)| item).filter(brought));
        for (kind, key) in [("ask rule", "permissions.ask"), ("deny rule", "permissions.deny")] {
            for (text, line) in self.config.list(key).unwrap_or_default() {
                let location = format!("{}:{line}, holds already", self.shown(&self.config_path));
                items.push(Item { kind, text: text.to_owned(), location });
            }
        }
        for ForeignRule { verdict, text, file } in &self.rules {
            let kind = if *verdict == Verdict::Ask { "ask rule" } else { "deny rule" };
            let location = format!("{}, holds already", self.shown(file));
            items.push(Item { kind, text: text.clone(), location });
        }
        for (file, keys) in &self.foreign_ignored {
            let location = format!("{}, a project cannot set that", self.shown(file));
            items.push(Item { kind: "never used:", text: format!("`{}`", keys.join("`, `")), location });
        }
        items
    }

    fn agent_item(&self, agent: &AgentDescription) -> Item {
        let location = self.shown(agent.file.as_deref().unwrap_or(&self.root));
        Item { kind: "sub-agent", text: format!("{}: {}", agent.name, agent.about), location }
    }

    /// Returns one hook, as the dialog shows it.
    pub fn item(&self, hook: &ProjectHook) -> Item {
        let HookConfig { event, pattern, command, .. } = &hook.config;
        let what = if pattern.is_empty() { String::new() } else { format!(" ({pattern})") };
        let text = format!("{}{what}: {command}", event.as_str());
        Item { kind: "hook", text, location: self.shown(&hook.file) }
    }

    /// Returns a warning for each file with ignored keys (TRUST-4), and for each group of hooks that never run.
    pub fn warnings(&self) -> Vec<String> {
        let one = |(file, keys): &(PathBuf, Vec<String>)| {
            let (keys, file) = (keys.join("`, `"), file.display());
            format!("`{keys}` in {file} is ignored: a project cannot set that")
        };
        let mcp = self.mcp_error.iter().map(|why| format!("{why}; its MCP servers are not used"));
        let foreign = self.foreign_warnings.iter().cloned();
        self.ignored
            .iter()
            .map(one)
            .chain(self.hook_warnings.iter().cloned())
            .chain(mcp)
            .chain(foreign)
            .collect()
    }

    fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }
}

/// Returns how a server of the file is reached, as it is written there: nothing of it is expanded.
fn shown_server(value: &Value) -> String {
    let text = |key: &str| value[key].as_str().unwrap_or_default();
    let wanted = references(value).join(", ");
    let wanted = if wanted.is_empty() { wanted } else { format!(", and asks for your {wanted}") };
    if !text("url").is_empty() {
        return format!("{}{wanted}", text("url"));
    }
    let args = || value["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let line: Vec<&str> = std::iter::once(text("command")).chain(args()).collect();
    let names: Vec<&str> =
        value["env"].as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let newest = runs_newest(text("command"), args());
    let variables = if names.is_empty() { String::new() } else { format!(" with {}", names.join(", ")) };
    let newest = if newest { ", which runs whatever is newest" } else { "" };
    // `./run` is another program in another folder.
    let cwd = value["cwd"].as_str().map_or_else(String::new, |cwd| format!(" in {cwd}"));
    format!("{}{cwd}{variables}{newest}{wanted}", line.join(" "))
}

/// A model's name that has a provider's before it would choose one, which is not for a project.
fn names_provider(model: &str) -> bool {
    let prefix = model.split_once(':').map(|(prefix, _)| prefix.trim());
    prefix.is_some_and(|prefix| catalog::provider(prefix).is_some())
}

/// Reads a file of the folder's `.zori/`, if it is a plain one. An error is the second half of a sentence.
fn read_plain(root: &Path, name: &str, insecure: &mut Option<String>) -> Result<Option<Vec<u8>>, String> {
    match PlainDir::open(root, &[FOLDER])? {
        Some(folder) => folder.read(name, insecure),
        None => Ok(None),
    }
}

/// Returns the hash of a hook: of what is written, and of the folder's files that its command names. What those start
/// in turn is not known.
fn digest(config: &HookConfig, root: &Path) -> String {
    let HookConfig { event, pattern, command, timeout, .. } = config;
    let mut hash = Sha256::new();
    for part in [event.as_str(), pattern, command, &timeout.as_millis().to_string()] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash_files(&mut hash, &files_in_command(command, root));
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns what a text is approved by, which is nobody's program.
fn text_digest(kind: &str, bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    format!("{kind}:{}", hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

/// Adds files by their names and what is in them.
fn hash_files(hash: &mut Sha256, files: &[PathBuf]) {
    for file in files {
        hash.update(file.as_os_str().as_encoded_bytes());
        let content = File::open(file).and_then(|mut file| std::io::copy(&mut file, hash));
        hash.update(match content {
            Ok(bytes) => bytes.to_le_bytes(),
            Err(_) => u64::MAX.to_le_bytes(),
        });
    }
}

/// Returns the regular files of the folder that the command line of a server names, also behind `--option=`.
fn files_in_server(value: &Value, root: &Path) -> Vec<PathBuf> {
    let args = value["args"].as_array().into_iter().flatten();
    let words = std::iter::once(&value["command"]).chain(args).filter_map(Value::as_str);
    let words = words.flat_map(|word| [Some(word), word.split_once('=').map(|(_, path)| path)]).flatten();
    let cwd = root.join(value["cwd"].as_str().unwrap_or_default());
    files_in(words, &cwd, root)
}

/// Returns the regular files of the folder that a command names, as far as its words are plain.
fn files_in_command(command: &str, root: &Path) -> Vec<PathBuf> {
    let mut command = command.replace(['"', '\'', '\\'], "");
    for variable in ["CLAUDE_PROJECT_DIR", "ZORI_PROJECT_DIR", "PWD"] {
        command = command.replace(&format!("${{{variable}}}"), ".").replace(&format!("${variable}"), ".");
    }
    let words = command.split(|c: char| c.is_whitespace() || "|&;()<>=`$".contains(c));
    files_in(words, root, root)
}

fn files_in<'w>(words: impl Iterator<Item = &'w str>, cwd: &Path, root: &Path) -> Vec<PathBuf> {
    let file = |word: &str| {
        let path = cwd.join(word).canonicalize().ok()?;
        (path.starts_with(root) && path.is_file()).then_some(path)
    };
    let mut files: Vec<_> = words.filter(|word| !word.is_empty()).filter_map(file).collect();
    files.sort();
    files.dedup();
    files
}

#[cfg(test)]
mod tests;
