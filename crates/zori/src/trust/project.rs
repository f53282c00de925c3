//! What a folder's own `.zori/` says, read without believing any of it (TRUST-2, TRUST-4, TRUST-5, TRUST-8).
//!
//! Only plain files of the folder itself are read: no links, no pipes, nothing large. Nothing is run and nobody is
//! contacted to find out.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use zori_contract::failure::Failure;
use zori_providers::catalog;
use zori_tools::hooks::{Hook, Origin};

use crate::agents::{Description, file, folder};
use crate::config::Config;
use crate::error::CONFIG_INVALID;
use crate::hooks::{self, Table, Written};
use crate::trust::plain::Plain;

/// The folder's own settings.
const FOLDER: &str = ".zori";
/// Where its sub-agents are described; of two of one name the first counts.
const AGENTS: &[&[&str]] = &[&[FOLDER, "agents"], &[".claude", "agents"]];
/// What holds before anybody has said anything: it can only make things stricter.
const TIGHTENS: &[&str] = &["permissions.ask", "permissions.deny", "security.sensitive_paths"];
/// What counts once the folder is trusted. Everything else never does (TRUST-4).
const AFTER_TRUST: &[&str] = &["model", "system_prompt", "hooks"];

/// What a folder says.
#[derive(Debug)]
pub struct Project {
    root: PathBuf,
    /// Where its config is, or would be.
    pub config_path: PathBuf,
    /// Its config.
    pub config: Config,
    /// What it would have run.
    pub hooks: Vec<ProjectHook>,
    /// The sub-agents it describes.
    pub agents: Vec<Description>,
    /// Files that describe none, as a sentence each.
    pub no_agents: Vec<String>,
    /// What it says and may not, by file.
    ignored: Vec<(PathBuf, Vec<String>)>,
    /// Hooks that never run, as a sentence each.
    never: Vec<String>,
    /// Why its hooks cannot be understood.
    pub trouble: Option<String>,
    /// Why it cannot be trusted at all: others than the user can change it.
    pub foreign: Option<String>,
}

/// A program the folder would have run.
#[derive(Clone, Debug)]
pub struct ProjectHook {
    written: Written,
    file: PathBuf,
    /// The hash of it, and of the folder's files it names.
    pub digest: String,
}

/// Something a folder would do, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// What it is.
    pub kind: &'static str,
    /// What it says.
    pub text: String,
    /// Where it stands.
    pub place: String,
}

impl Project {
    /// Looks at a folder. A config that cannot be read is an error, because it may deny something (TM-4).
    pub fn look(root: &Path) -> Result<Self, Failure> {
        let folder = root.join(FOLDER);
        let (config_path, settings_path) = (folder.join("config.toml"), folder.join("settings.json"));
        let mut foreign = None;
        let unusable = |path: &Path, why: &str| {
            Failure::new(&CONFIG_INVALID, format!("{} {why}", path.display()))
                .hint("it may hold rules that deny something, so nothing runs without it; mend or remove it")
        };
        let config =
            match plain(root, "config.toml", &mut foreign).map_err(|why| unusable(&config_path, &why))? {
                Some(bytes) => Config::parse(&bytes, &config_path, "")?,
                None => Config::default(),
            };
        let mut project = Self {
            root: root.to_owned(),
            config,
            hooks: Vec::new(),
            agents: Vec::new(),
            no_agents: Vec::new(),
            ignored: Vec::new(),
            never: Vec::new(),
            trouble: None,
            foreign: None,
            config_path: config_path.clone(),
        };
        let said = project.config.keys().map(str::to_owned).chain(project.config.others.clone());
        let provider = project.config.text("model").is_some_and(names_provider);
        let known = |key: &str| match key {
            "model" => !provider,
            key => TIGHTENS.contains(&key) || AFTER_TRUST.contains(&key),
        };
        let keys: Vec<_> = said.filter(|key| !known(key)).collect();
        if !keys.is_empty() {
            project.ignored.push((config_path.clone(), keys));
        }
        let table = project.config.hooks().unwrap_or_default();
        project.add(table, &config_path);
        match plain(root, "settings.json", &mut foreign)
            .and_then(|b| b.map(|b| hooks::settings(&b)).transpose())
        {
            Ok(None) => {}
            Ok(Some(file)) => {
                project.add(file.table, &settings_path);
                if !file.others.is_empty() {
                    project.ignored.push((settings_path, file.others));
                }
            }
            Err(why) => project.trouble = Some(format!("{}: {why}", settings_path.display())),
        }
        project.add_agents(&mut foreign);
        project.foreign = foreign;
        Ok(project)
    }

    /// Reads the files that describe sub-agents. One that cannot be used costs that one.
    fn add_agents(&mut self, foreign: &mut Option<String>) {
        for names in AGENTS {
            let found = match Plain::open(&self.root, names) {
                Ok(Some(found)) => found,
                Ok(None) => continue,
                Err(why) => {
                    let path: PathBuf = names.iter().collect();
                    self.no_agents.push(format!("{} {why}", self.root.join(path).display()));
                    continue;
                }
            };
            for name in found.names().into_iter().filter(|name| folder::is_one(name)).take(folder::MOST) {
                let path = found.path().join(&name);
                let read = found.read(&name, foreign);
                match read.and_then(|bytes| file::read(&path, &bytes.unwrap_or_default())) {
                    Ok(agent) => self.agents.push(agent),
                    Err(why) => self.no_agents.push(folder::skipped(&path, &why)),
                }
            }
        }
    }

    fn add(&mut self, table: Table, file: &Path) {
        self.never.extend(hooks::never(&table.unknown, file));
        for written in table.hooks {
            let digest = digest(&written, &self.root);
            self.hooks.push(ProjectHook { written, file: file.to_owned(), digest });
        }
    }

    /// Returns the folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns whether trust would change anything.
    pub fn offers(&self) -> bool {
        !self.hooks.is_empty()
            || !self.agents.is_empty()
            || self.trouble.is_some()
            || self.text("model").is_some()
            || self.text("system_prompt").is_some()
    }

    /// Returns a setting that counts once the folder is trusted; blank counts as unset.
    pub fn text(&self, key: &str) -> Option<&str> {
        let text = self.config.text(key).map(str::trim).filter(|text| !text.is_empty())?;
        (key != "model" || !names_provider(text)).then_some(text)
    }

    /// Returns a hook as it would run. Before each run it is looked at again.
    pub fn hook(&self, hook: &ProjectHook) -> Hook {
        let (written, root, digest_then) = (hook.written.clone(), self.root.clone(), hook.digest.clone());
        let unchanged = Arc::new(move || digest(&written, &root) == digest_then);
        hook.written.hook(Origin::Project, &hook.file, Some(unchanged))
    }

    /// Returns all that would become active or is already, in the order of the dialog (TRUST-3).
    pub fn items(&self) -> Vec<Item> {
        let item = |kind, text: String, place: &Path| Item { kind, text, place: self.shown(place) };
        let mut items: Vec<_> = self.hooks.iter().map(|hook| self.item(hook)).collect();
        for (kind, key) in [("model =", "model"), ("system_prompt =", "system_prompt")] {
            items.extend(self.text(key).map(|text| item(kind, text.to_owned(), &self.config_path)));
        }
        for agent in &self.agents {
            let place = agent.file.as_deref().unwrap_or(&self.root);
            items.push(item("sub-agent", format!("{}: {}", agent.name, agent.about), place));
        }
        for (kind, key) in [("ask rule", "permissions.ask"), ("deny rule", "permissions.deny")] {
            for (text, line) in self.config.list(key).unwrap_or_default() {
                let place = format!("{}:{line}, holds already", self.shown(&self.config_path));
                items.push(Item { kind, text: text.to_owned(), place });
            }
        }
        items
    }

    /// Returns one hook, for people.
    pub fn item(&self, hook: &ProjectHook) -> Item {
        let Written { event, pattern, command, .. } = &hook.written;
        let what = if pattern.is_empty() { String::new() } else { format!(" ({pattern})") };
        let text = format!("{}{what}: {command}", event.as_str());
        Item { kind: "hook", text, place: self.shown(&hook.file) }
    }

    /// Returns what is said in vain: one line for each file (TRUST-4), and for each group of hooks that never run.
    pub fn remarks(&self) -> Vec<String> {
        let one = |(file, keys): &(PathBuf, Vec<String>)| {
            let (keys, file) = (keys.join("`, `"), file.display());
            format!("`{keys}` in {file} is ignored: a project cannot set that")
        };
        self.ignored.iter().map(one).chain(self.never.iter().cloned()).collect()
    }

    fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }
}

/// A model's name that has a provider's before it would choose one, which is not for a project.
fn names_provider(model: &str) -> bool {
    let prefix = model.split_once(':').map(|(prefix, _)| prefix.trim());
    prefix.is_some_and(|prefix| catalog::provider(prefix).is_some())
}

/// Reads a file of the folder's `.zori/`, if it is a plain one. An error is the second half of a sentence.
fn plain(root: &Path, name: &str, foreign: &mut Option<String>) -> Result<Option<Vec<u8>>, String> {
    match Plain::open(root, &[FOLDER])? {
        Some(folder) => folder.read(name, foreign),
        None => Ok(None),
    }
}

/// Returns the hash of a hook: of what is written, and of the folder's files that its command names. What those start
/// in turn is not known.
fn digest(written: &Written, root: &Path) -> String {
    let Written { event, pattern, command, timeout, .. } = written;
    let mut hash = Sha256::new();
    for part in [event.as_str(), pattern, command, &timeout.as_millis().to_string()] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    for file in named(command, root) {
        hash.update(file.as_os_str().as_encoded_bytes());
        let content = File::open(&file).and_then(|mut file| std::io::copy(&mut file, &mut hash));
        hash.update(match content {
            Ok(bytes) => bytes.to_le_bytes(),
            Err(_) => u64::MAX.to_le_bytes(),
        });
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the regular files of the folder that a command names, as far as its words are plain.
fn named(command: &str, root: &Path) -> Vec<PathBuf> {
    let mut command = command.replace(['"', '\'', '\\'], "");
    for variable in ["CLAUDE_PROJECT_DIR", "ZORI_PROJECT_DIR", "PWD"] {
        command = command.replace(&format!("${{{variable}}}"), ".").replace(&format!("${variable}"), ".");
    }
    let words = command.split(|c: char| c.is_whitespace() || "|&;()<>=`$".contains(c));
    let file = |word: &str| {
        let path = root.join(word).canonicalize().ok()?;
        (path.starts_with(root) && path.is_file()).then_some(path)
    };
    let mut files: Vec<_> = words.filter(|word| !word.is_empty()).filter_map(file).collect();
    files.sort();
    files.dedup();
    files
}

#[cfg(test)]
mod tests;
