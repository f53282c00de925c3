//! The user's decisions about folders: `<base>/trust.json`, private, replaced atomically (TRUST-1, LOG-10).
//!
//! A folder is known by its canonical path, what it may run by the hash of its content. A file that cannot be read
//! trusts nobody, and one of a newer version is never rewritten (FS-9).

use std::fs::{DirBuilder, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use zori_contract::atomic::private_write;
use zori_contract::failure::Failure;
use zori_contract::path::AbsPath;

use crate::data_dir::DataDir;
use crate::error::BASE_UNUSABLE;

/// The version of the format.
const SCHEMA: u32 = 1;

/// The user's decision about a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrustState {
    /// Its settings count.
    Trusted,
    /// They do not, and changes are asked about.
    Untrusted,
}

impl TrustState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Untrusted => "untrusted",
        }
    }
}

/// A folder and the decision about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its canonical path.
    pub path: String,
    pub state: TrustState,
    /// Whether it holds for the folders below, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub below: bool,
    /// The hashes of the hooks that may run.
    #[serde(default)]
    pub run: Vec<String>,
    /// The hashes of the hooks that the user declined.
    #[serde(default)]
    pub skip: Vec<String>,
    /// Fields that a later version added.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl Entry {
    /// A decision about one folder.
    pub fn new(path: &Path, state: TrustState) -> Option<Self> {
        let path = path.to_str()?.to_owned();
        Some(Self { path, state, below: false, run: Vec::new(), skip: Vec::new(), rest: Map::new() })
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Document {
    schema: u32,
    #[serde(default)]
    folders: Vec<Entry>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// All decisions, as the file holds them.
#[derive(Debug, Default)]
pub struct TrustStore {
    document: Document,
    /// Why the file cannot be used.
    pub load_error: Option<String>,
}

impl TrustStore {
    /// Reads the file; a missing file holds no decisions.
    pub fn load(data_dir: Option<&DataDir>) -> Self {
        let Some(path) = data_dir.map(DataDir::trust) else { return Self::default() };
        match read(&path) {
            Ok(document) => Self { document: document.unwrap_or_default(), load_error: None },
            Err(why) => {
                let load_error = format!("{} {why}; no folder is trusted", path.display());
                Self { document: Document::default(), load_error: Some(load_error) }
            }
        }
    }

    pub fn entries(&self) -> &[Entry] {
        &self.document.folders
    }

    /// Returns the decision about exactly this folder.
    pub fn entry(&self, folder: &Path) -> Option<&Entry> {
        self.document.folders.iter().find(|entry| Path::new(&entry.path) == folder)
    }

    /// Returns the decision that holds for a folder: its own, else that of the nearest one above that reaches down.
    /// Distrust always does.
    pub fn effective_entry(&self, folder: &Path) -> Option<&Entry> {
        let reaches = |entry: &&Entry| entry.below || entry.state == TrustState::Untrusted;
        let above = || folder.ancestors().skip(1).find_map(|dir| self.entry(dir).filter(reaches));
        self.entry(folder).or_else(above)
    }
}

/// Changes the decision about a folder; `None` forgets it. Nobody else can change the file meanwhile.
pub fn update(
    data_dir: &DataDir,
    folder: &Path,
    update: impl FnOnce(Option<Entry>) -> Option<Entry>,
) -> Result<(), Failure> {
    let path = data_dir.trust();
    let failed = |why: &dyn std::fmt::Display| {
        Failure::new(&BASE_UNUSABLE, format!("cannot write {}: {why}", path.display()))
    };
    DirBuilder::new().recursive(true).mode(0o700).create(data_dir.dir()).map_err(|e| failed(&e))?;
    let lock = data_dir.dir().join("trust.lock");
    let lock = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(lock);
    let lock = lock.map_err(|e| failed(&e))?;
    lock.lock().map_err(|e| failed(&e))?;
    let mut document = match read(&path) {
        Ok(document) => document.unwrap_or_default(),
        Err(why) => {
            return Err(failed(&format!("it {why}")).hint("look at it, and move it away if it is not yours"));
        }
    };
    let at = document.folders.iter().position(|entry| Path::new(&entry.path) == folder);
    let old = at.map(|at| document.folders.remove(at));
    document.folders.extend(update(old));
    document.folders.sort_by(|a, b| a.path.cmp(&b.path));
    document.schema = SCHEMA;
    let text = serde_json::to_string_pretty(&document).expect("strings and lists are JSON") + "\n";
    let target = AbsPath::new(&path).ok_or_else(|| failed(&"its path is not absolute"))?;
    private_write(&target, text.as_bytes()).map_err(|e| failed(&e))
}

/// Reads the file; the error is the second half of a sentence.
fn read(path: &Path) -> Result<Option<Document>, String> {
    let file = match OpenOptions::new().read(true).custom_flags(NO_LINK).open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(format!("cannot be read: {error}")),
    };
    let meta = file.metadata().map_err(|error| format!("cannot be read: {error}"))?;
    if !meta.is_file() {
        return Err("is not a regular file".into());
    }
    if meta.mode() & 0o022 != 0 {
        return Err("can be written by others".into());
    }
    let text = std::io::read_to_string(file).map_err(|error| format!("cannot be read: {error}"))?;
    let document: Document =
        serde_json::from_str(&text).map_err(|error| format!("cannot be read: {error}"))?;
    if document.schema > SCHEMA {
        return Err("was written by a newer version of this program".into());
    }
    Ok(Some(document))
}

/// Neither a link nor a pipe that nobody writes to.
const NO_LINK: i32 = (rustix::fs::OFlags::NOFOLLOW.bits() | rustix::fs::OFlags::NONBLOCK.bits()) as i32;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn data_dir() -> (tempfile::TempDir, DataDir) {
        let dir = tempfile::tempdir().unwrap();
        let data_dir = DataDir::at(dir.path().join("base"));
        (dir, data_dir)
    }

    fn trust(data_dir: &DataDir, folder: &str, below: bool) {
        let folder = Path::new(folder);
        update(data_dir, folder, |_| {
            Some(Entry { below, ..Entry::new(folder, TrustState::Trusted).unwrap() })
        })
        .unwrap();
    }

    #[test]
    fn decisions_are_kept_privately_and_forgotten() {
        let (_dir, data_dir) = data_dir();
        assert_eq!(TrustStore::load(Some(&data_dir)).entries(), []);
        trust(&data_dir, "/b", false);
        trust(&data_dir, "/a", true);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(data_dir.dir()), mode(&data_dir.trust())), (0o700, 0o600));
        let store = TrustStore::load(Some(&data_dir));
        let paths: Vec<_> = store.entries().iter().map(|entry| entry.path.as_str()).collect();
        assert_eq!(paths, ["/a", "/b"]);
        update(&data_dir, Path::new("/b"), |_| None).unwrap();
        assert!(TrustStore::load(Some(&data_dir)).entry(Path::new("/b")).is_none());
        let names: Vec<_> = fs::read_dir(data_dir.dir()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names.len(), 2, "the file and its lock, and nothing half-written: {names:?}");
    }

    /// A parent's trust reaches down only where that was said, and the nearest word counts.
    #[test]
    fn this_folder_and_below() {
        let (_dir, data_dir) = data_dir();
        trust(&data_dir, "/a", true);
        trust(&data_dir, "/b", false);
        let no = Path::new("/a/b");
        update(&data_dir, no, |_| Entry::new(no, TrustState::Untrusted)).unwrap();
        let store = TrustStore::load(Some(&data_dir));
        let state = |path: &str| store.effective_entry(Path::new(path)).map(|entry| entry.state.as_str());
        assert_eq!(
            ["/a", "/a/x/y", "/a/b", "/b", "/b/x", "/ax", "/"].map(state),
            [Some("trusted"), Some("trusted"), Some("untrusted"), Some("trusted"), None, None, None,]
        );
        assert_eq!(state("/a/b/c"), Some("untrusted"), "distrust reaches down by itself");
    }

    /// TM-4, FS-9: whatever is wrong with the file, it trusts nobody and is left as it is.
    #[test]
    fn a_file_that_cannot_be_used() {
        let (_dir, data_dir) = data_dir();
        trust(&data_dir, "/a", true);
        let good = fs::read_to_string(data_dir.trust()).unwrap();
        for (text, mode, why) in [
            ("{", 0o600, "cannot be read: EOF"),
            (&*good.replace("\"schema\": 1", "\"schema\": 2"), 0o600, "was written by a newer version"),
            (&*good.replace("\"trusted\"", "\"everything\""), 0o600, "cannot be read: unknown variant"),
            (&*good, 0o622, "can be written by others"),
        ] {
            fs::write(data_dir.trust(), text).unwrap();
            fs::set_permissions(data_dir.trust(), fs::Permissions::from_mode(mode)).unwrap();
            let store = TrustStore::load(Some(&data_dir));
            assert!(
                store.load_error.as_ref().is_some_and(|t| t.contains(why)),
                "{:?} {why}",
                store.load_error
            );
            assert_eq!(store.effective_entry(Path::new("/a")), None);
            let refused = update(&data_dir, Path::new("/b"), |_| None).unwrap_err();
            assert!(refused.message.contains(why), "{}", refused.message);
            assert_eq!(fs::read_to_string(data_dir.trust()).unwrap(), text);
        }
        fs::remove_file(data_dir.trust()).unwrap();
        std::os::unix::fs::symlink("/dev/null", data_dir.trust()).unwrap();
        assert!(TrustStore::load(Some(&data_dir)).load_error.is_some());
    }

    #[test]
    fn what_a_later_version_added_stays() {
        let (_dir, data_dir) = data_dir();
        trust(&data_dir, "/a", false);
        let text = fs::read_to_string(data_dir.trust()).unwrap();
        fs::write(data_dir.trust(), text.replace("\"state\"", "\"since\": 5, \"state\"")).unwrap();
        trust(&data_dir, "/b", false);
        assert!(fs::read_to_string(data_dir.trust()).unwrap().contains("\"since\": 5"));
    }
}
