//! What is remembered of servers between runs, below the base directory: which tools were approved (`pins.json`, MCP-42), and the
//! last list of each (`lists.json`, MCP-33).

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use zori_core::tool::McpChange;

use super::prompt::ListedPrompt;
use super::resource::ListedResource;
use super::tool_list::ListedTool;

/// How long a list counts.
const LIST_AGE: Duration = Duration::from_secs(7 * 24 * 3600);
/// No file of ours is longer.
const MAX_FILE: u64 = 8 << 20;

/// The files of one base directory.
pub struct McpStore {
    folder: Option<PathBuf>,
    pins: Mutex<Option<Pins>>,
    now: fn() -> u64,
}

/// For each server, by identity: its approved tools and their hashes.
type Pins = BTreeMap<String, BTreeMap<String, String>>;

/// A list as it is kept.
#[derive(Serialize, Deserialize)]
struct KeptList {
    /// When it was made, in seconds.
    at: u64,
    #[serde(flatten)]
    list: CachedList,
}

/// What a server has, as it was kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CachedList {
    /// The tools.
    pub tools: Vec<ListedTool>,
    /// What the server says of itself.
    pub instructions: Option<String>,
    /// Its resources.
    #[serde(default)]
    pub resources: Vec<ListedResource>,
    /// Its prompts.
    #[serde(default)]
    pub prompts: Vec<ListedPrompt>,
}

impl McpStore {
    /// Keeps everything below this folder; without one nothing is kept.
    pub fn new(folder: Option<PathBuf>) -> Self {
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self { folder, pins: Mutex::new(None), now }
    }

    /// Returns whether a tool is the one that was approved. Of a server of which none was, every tool is.
    pub fn change(&self, identity: &str, tool: &ListedTool) -> McpChange {
        self.with_pins(|pins| match pins.get(identity) {
            None => McpChange::None,
            Some(known) => match known.get(&tool.name) {
                None => McpChange::New,
                Some(digest) if *digest == tool.digest => McpChange::None,
                Some(_) => McpChange::Changed,
            },
        })
    }

    /// Remembers that a tool was approved as it is. The first one of a server stands for all that it lists now.
    pub fn approve(&self, identity: &str, tool: &ListedTool, all: &[ListedTool]) {
        if self.with_pins(|pins| pins.get(identity).is_some_and(|k| k.get(&tool.name) == Some(&tool.digest)))
        {
            return;
        }
        let mut pins = self.pins.lock().unwrap_or_else(PoisonError::into_inner);
        // Another process may have approved something meanwhile.
        let mut now: Pins = self.read("pins.json").unwrap_or_default();
        match now.get_mut(identity) {
            Some(known) => drop(known.insert(tool.name.clone(), tool.digest.clone())),
            None => {
                let all = all.iter().chain([tool]).map(|tool| (tool.name.clone(), tool.digest.clone()));
                now.insert(identity.to_owned(), all.collect());
            }
        }
        self.write("pins.json", &now);
        *pins = Some(now);
    }

    fn with_pins<T>(&self, look: impl FnOnce(&Pins) -> T) -> T {
        let mut pins = self.pins.lock().unwrap_or_else(PoisonError::into_inner);
        look(pins.get_or_insert_with(|| self.read("pins.json").unwrap_or_default()))
    }

    /// Returns the last list of a server, if it is young enough.
    pub fn list(&self, identity: &str) -> Option<CachedList> {
        let mut lists: BTreeMap<String, KeptList> = self.read("lists.json")?;
        let kept = lists.remove(identity)?;
        let age = (self.now)().checked_sub(kept.at)?;
        (age <= LIST_AGE.as_secs()).then_some(kept.list)
    }

    /// Keeps the list of a server.
    pub fn keep_list(&self, identity: &str, list: CachedList) {
        let mut lists: BTreeMap<String, KeptList> = self.read("lists.json").unwrap_or_default();
        let now = (self.now)();
        lists.retain(|_, kept| now.saturating_sub(kept.at) <= LIST_AGE.as_secs());
        lists.insert(identity.to_owned(), KeptList { at: now, list });
        self.write("lists.json", &lists);
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        read_whole(self.folder.as_ref()?, name)
    }

    /// Writes a file whole, or leaves the old one. What cannot be kept is learnt again.
    fn write(&self, name: &str, value: &impl Serialize) {
        let Some(folder) = &self.folder else { return };
        let _ = write_whole(folder, name, value);
    }
}

/// Reads a file of ours; one that is missing, too long or damaged is none.
pub(super) fn read_whole<T: DeserializeOwned>(folder: &Path, name: &str) -> Option<T> {
    let path = folder.join(name);
    let facts = std::fs::symlink_metadata(&path).ok()?;
    if !facts.is_file() || facts.len() > MAX_FILE {
        return None;
    }
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// Writes a file of ours, whole or not at all.
pub(super) fn write_whole(folder: &Path, name: &str, value: &impl Serialize) -> std::io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let made = folder.join(format!(".{name}.{}", std::process::id()));
    let mut file =
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&made)?;
    file.write_all(&serde_json::to_vec(value)?)?;
    drop(file);
    std::fs::rename(made, folder.join(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str, description: &str) -> ListedTool {
        ListedTool::read(&json!({"name": name, "description": description})).unwrap()
    }

    #[test]
    fn a_changed_tool_is_seen_and_a_new_one_too() {
        let dir = std::env::temp_dir().join(format!("zori-mcp-pins-{}", std::process::id()));
        let store = McpStore::new(Some(dir.clone()));
        let (a, b) = (tool("a", "reads"), tool("b", "reads"));
        assert_eq!(store.change("id", &a), McpChange::None);
        store.approve("id", &a, &[a.clone(), b.clone()]);
        let store = McpStore::new(Some(dir.clone()));
        assert_eq!(store.change("id", &b), McpChange::None);
        assert_eq!(store.change("id", &tool("a", "sends your mail")), McpChange::Changed);
        assert_eq!(store.change("id", &tool("c", "new")), McpChange::New);
        assert_eq!(store.change("other", &a), McpChange::None);
        store.approve("id", &tool("a", "sends your mail"), &[]);
        assert_eq!(store.change("id", &tool("a", "sends your mail")), McpChange::None);
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn lists_are_kept_for_a_week() {
        let dir = std::env::temp_dir().join(format!("zori-mcp-lists-{}", std::process::id()));
        let mut store = McpStore::new(Some(dir.clone()));
        store.now = || 1_000_000;
        let list = CachedList { tools: vec![tool("a", "x")], ..CachedList::default() };
        store.keep_list("id", list);
        assert_eq!(store.list("id").unwrap().tools, [tool("a", "x")]);
        store.now = || 1_000_000 + 8 * 24 * 3600;
        assert!(store.list("id").is_none());
        std::fs::remove_dir_all(dir).unwrap();
    }
}
