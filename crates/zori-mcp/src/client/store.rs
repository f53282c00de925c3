//! The last list of each server, which is remembered between runs (`lists.json` below the base directory, MCP-33), and how such files are
//! read and written.

use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use zori_core::time::Clock;

use super::prompt::ListedPrompt;
use super::resource::ListedResource;
use super::tool_list::ListedTool;

/// How long a list counts at most.
const LIST_AGE: Duration = Duration::from_secs(7 * 24 * 3600);
/// No file of ours is longer.
const MAX_FILE: u64 = 8 << 20;

const FILE: &str = "lists.json";

/// The lists of one base directory.
pub struct ListStore {
    folder: Option<PathBuf>,
    clock: Arc<dyn Clock>,
}

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
    pub tools: Vec<ListedTool>,
    /// How long the list holds, in milliseconds, where the server says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// What the server says of itself.
    pub instructions: Option<String>,
    #[serde(default)]
    pub resources: Vec<ListedResource>,
    #[serde(default)]
    pub prompts: Vec<ListedPrompt>,
}

impl KeptList {
    /// Returns whether it still counts: for a week, or as long as the server said where that is shorter.
    fn counts(&self, now: u64) -> bool {
        let age = now.checked_sub(self.at).map(Duration::from_secs);
        let said = self.list.ttl_ms.map_or(LIST_AGE, Duration::from_millis);
        age.is_some_and(|age| age < said.min(LIST_AGE))
    }
}

impl ListStore {
    /// Keeps the file below this folder; without one nothing is kept.
    pub fn new(folder: Option<PathBuf>, clock: Arc<dyn Clock>) -> Self {
        Self { folder, clock }
    }

    /// Returns the last list of a server, if it is young enough.
    pub fn get(&self, identity: &str) -> Option<CachedList> {
        let mut lists: BTreeMap<String, KeptList> = read_whole(self.folder.as_ref()?, FILE)?;
        lists.remove(identity).filter(|kept| kept.counts(self.now())).map(|kept| kept.list)
    }

    /// Keeps the list of a server. What cannot be kept is learnt again.
    pub fn keep(&self, identity: &str, list: CachedList) {
        let Some(folder) = &self.folder else { return };
        let mut lists: BTreeMap<String, KeptList> = read_whole(folder, FILE).unwrap_or_default();
        let now = self.now();
        lists.retain(|_, kept| kept.counts(now));
        lists.insert(identity.to_owned(), KeptList { at: now, list });
        let _ = write_whole(folder, FILE, &lists);
    }

    /// Returns the time in seconds since 1970; a clock set before that counts as 1970.
    fn now(&self) -> u64 {
        u64::try_from(self.clock.now().0).unwrap_or(0)
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
    zori_atomic::replace_private(&folder.join(name), &serde_json::to_vec(value)?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use zori_core::time::Timestamp;

    use super::*;

    /// A clock that stands at so many seconds.
    struct At(i64);

    impl Clock for At {
        fn now(&self) -> Timestamp {
            Timestamp(self.0)
        }

        fn elapsed(&self) -> Duration {
            Duration::ZERO
        }
    }

    #[test]
    fn lists_are_kept_for_a_week_or_as_long_as_the_server_says() {
        let dir = std::env::temp_dir().join(format!("zori-mcp-lists-{}", std::process::id()));
        let store = |at: i64| ListStore::new(Some(dir.clone()), Arc::new(At(at)));
        let tool = ListedTool::read(&json!({"name": "a"})).unwrap();
        let list = |ttl_ms| CachedList { tools: vec![tool.clone()], ttl_ms, ..CachedList::default() };
        let week = 7 * 24 * 3600;
        for (ttl_ms, last) in [(None, week), (Some(5_000), 5), (Some(0), 0), (Some(u64::MAX), week)] {
            store(1_000_000).keep("id", list(ttl_ms));
            let counts = |age: i64| store(1_000_000 + age).get("id").is_some();
            assert_eq!((counts(last - 1), counts(last)), (last > 0, false), "{ttl_ms:?}");
        }
        // A list of tomorrow is not believed.
        store(1_000_000).keep("id", list(None));
        assert!(store(999_999).get("id").is_none());
        std::fs::remove_dir_all(dir).unwrap();
    }
}
