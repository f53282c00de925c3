//! Which tools of a server were approved, and what they said of themselves then (`pins.json` below the base directory, MCP-42).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use zori_core::tool::McpChange;

use super::store;
use super::tool_list::ListedTool;

const FILE: &str = "pins.json";

/// The file. Without a folder nothing outlives the run.
pub struct PinStore {
    folder: Option<PathBuf>,
    known: Mutex<Option<Pins>>,
}

/// For each server, by identity: its approved tools, by name.
type Pins = BTreeMap<String, BTreeMap<String, PinRecord>>;

/// A tool as it was approved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "WrittenPin")]
struct PinRecord {
    digest: String,
    /// What it said it does, and how many bytes it added to a request; older files have the hash alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
}

/// A pin as files have it.
#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenPin {
    Digest(String),
    Record { digest: String, description: Option<String>, bytes: Option<usize> },
}

impl From<WrittenPin> for PinRecord {
    fn from(written: WrittenPin) -> Self {
        match written {
            WrittenPin::Digest(digest) => Self { digest, description: None, bytes: None },
            WrittenPin::Record { digest, description, bytes } => Self { digest, description, bytes },
        }
    }
}

/// How a tool compares with what was approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pin {
    /// No tool of its server was approved yet.
    None,
    /// It is as it was approved.
    Same,
    /// It came after others of its server were approved.
    New,
    /// It says something else of itself.
    Changed,
    /// It was approved, and its server does not have it any more.
    Gone,
}

impl Pin {
    /// Returns the word people and programs read.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Same => "same",
            Self::New => "new",
            Self::Changed => "changed",
            Self::Gone => "gone",
        }
    }
}

/// A tool beside what it was when it was approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedTool {
    /// Its name on the server.
    pub name: String,
    /// How it compares.
    pub pin: Pin,
    /// What it said it does.
    pub description: Option<String>,
    /// How many bytes it added to a request.
    pub bytes: Option<usize>,
}

impl PinStore {
    /// Keeps the file below this folder.
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self { folder, known: Mutex::new(None) }
    }

    /// Returns whether a tool is the one that was approved. Of a server of which none was, every tool is.
    pub fn change(&self, identity: &str, tool: &ListedTool) -> McpChange {
        self.with(|pins| match pins.get(identity) {
            None => McpChange::None,
            Some(known) => match known.get(&tool.name) {
                None => McpChange::New,
                Some(pin) if pin.digest == tool.digest => McpChange::None,
                Some(_) => McpChange::Changed,
            },
        })
    }

    /// Remembers that a tool was approved as it is. The first one of a server stands for all that it lists now. Returns whether that is
    /// news.
    pub fn approve(&self, identity: &str, server: &str, tool: &ListedTool, all: &[ListedTool]) -> bool {
        let same = |known: &BTreeMap<String, PinRecord>| {
            known.get(&tool.name).map(|pin| &pin.digest) == Some(&tool.digest)
        };
        if self.with(|pins| pins.get(identity).is_some_and(same)) {
            return false;
        }
        let record = |tool: &ListedTool| PinRecord {
            digest: tool.digest.clone(),
            description: Some(tool.description.clone()),
            bytes: Some(tool.bytes(server)),
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Another process may have approved something meanwhile.
        let mut now = self.read();
        match now.get_mut(identity) {
            Some(pins) => drop(pins.insert(tool.name.clone(), record(tool))),
            None => {
                let all = all.iter().chain([tool]).map(|tool| (tool.name.clone(), record(tool)));
                now.insert(identity.to_owned(), all.collect());
            }
        }
        if let Some(folder) = &self.folder {
            // What cannot be kept is asked about again.
            let _ = store::write_whole(folder, FILE, &now);
        }
        *known = Some(now);
        true
    }

    /// Compares the tools of a server with those that were approved; those that are gone come last.
    pub fn compare(&self, identity: &str, tools: &[ListedTool]) -> Vec<PinnedTool> {
        self.with(|pins| {
            let known = pins.get(identity);
            let beside = |name: &str, pin: Pin| {
                let before = known.and_then(|known| known.get(name)).cloned();
                let (description, bytes) = before.map_or((None, None), |pin| (pin.description, pin.bytes));
                PinnedTool { name: name.to_owned(), pin, description, bytes }
            };
            let compared = |tool: &ListedTool| {
                let pin = match known.map(|known| known.get(&tool.name)) {
                    None => Pin::None,
                    Some(None) => Pin::New,
                    Some(Some(pin)) if pin.digest == tool.digest => Pin::Same,
                    Some(Some(_)) => Pin::Changed,
                };
                beside(&tool.name, pin)
            };
            let is_there = |name: &String| tools.iter().any(|tool| tool.name == *name);
            let gone = known.into_iter().flat_map(BTreeMap::keys).filter(|name| !is_there(name));
            tools.iter().map(compared).chain(gone.map(|name| beside(name, Pin::Gone))).collect()
        })
    }

    fn with<T>(&self, look: impl FnOnce(&Pins) -> T) -> T {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        look(known.get_or_insert_with(|| self.read()))
    }

    fn read(&self) -> Pins {
        self.folder.as_ref().and_then(|folder| store::read_whole(folder, FILE)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str, description: &str) -> ListedTool {
        ListedTool::read(&json!({"name": name, "description": description})).unwrap()
    }

    fn scratch(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("zori-mcp-{name}-{}", std::process::id()))
    }

    #[test]
    fn a_changed_tool_is_seen_and_a_new_one_too() {
        let dir = scratch("pins");
        let pins = PinStore::new(Some(dir.clone()));
        let (a, b) = (tool("a", "reads"), tool("b", "reads"));
        assert_eq!(pins.change("id", &a), McpChange::None);
        assert!(pins.approve("id", "s", &a, &[a.clone(), b.clone()]));
        assert!(!pins.approve("id", "s", &a, &[]));
        let pins = PinStore::new(Some(dir.clone()));
        assert_eq!(pins.change("id", &b), McpChange::None);
        let other = tool("a", "sends your mail");
        assert_eq!(pins.change("id", &other), McpChange::Changed);
        assert_eq!(pins.change("id", &tool("c", "new")), McpChange::New);
        assert_eq!(pins.change("other", &a), McpChange::None);
        let compared: Vec<_> = pins
            .compare("id", &[other.clone(), tool("c", "new")])
            .into_iter()
            .map(|tool| (tool.name, tool.pin, tool.description))
            .collect();
        let reads = || Some("reads".to_owned());
        assert_eq!(
            compared,
            [
                ("a".into(), Pin::Changed, reads()),
                ("c".into(), Pin::New, None),
                ("b".into(), Pin::Gone, reads())
            ]
        );
        assert!(pins.approve("id", "s", &other, &[]));
        assert_eq!(pins.change("id", &other), McpChange::None);
        std::fs::remove_dir_all(dir).unwrap();
    }

    /// What an earlier version approved counts.
    #[test]
    fn a_file_with_hashes_alone() {
        let dir = scratch("old-pins");
        let a = tool("a", "reads");
        store::write_whole(&dir, FILE, &json!({"id": {"a": a.digest}})).unwrap();
        let pins = PinStore::new(Some(dir.clone()));
        assert_eq!(pins.change("id", &a), McpChange::None);
        assert_eq!(pins.change("id", &tool("a", "else")), McpChange::Changed);
        std::fs::remove_dir_all(dir).unwrap();
    }
}
