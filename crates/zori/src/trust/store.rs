//! What the user said about folders: `<base>/trust.json`, private, replaced in one step (TRUST-1, LOG-10).
//!
//! A folder is known by its canonical path, what it may run by the hash of its content. A file that cannot be read
//! trusts nobody, and one of a newer version is never rewritten (FS-9).

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use zori_contract::failure::Failure;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::Base;
use crate::error::BASE_UNUSABLE;

/// The version of the format.
const SCHEMA: u32 = 1;

/// What somebody decided about a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decided {
    /// Its settings count.
    Trusted,
    /// They do not, and changes are asked about.
    Untrusted,
}

impl Decided {
    /// Returns the name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Untrusted => "untrusted",
        }
    }
}

/// A folder, with what was decided about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its canonical path.
    pub path: String,
    /// The decision.
    pub state: Decided,
    /// Whether it holds for the folders below, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub below: bool,
    /// The hashes of what may be run.
    #[serde(default)]
    pub run: Vec<String>,
    /// The hashes of what was seen, and shall not be run.
    #[serde(default)]
    pub skip: Vec<String>,
    /// What a later version has to say.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl Entry {
    /// A decision about one folder.
    pub fn new(path: &Path, state: Decided) -> Option<Self> {
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

/// The decisions.
#[derive(Debug, Default)]
pub struct Store {
    document: Document,
    /// Why the file counts for nothing, if it does not.
    pub trouble: Option<String>,
}

impl Store {
    /// Reads the file; one that is not there has nothing to say.
    pub fn load(base: Option<&Base>) -> Self {
        let Some(path) = base.map(Base::trust) else { return Self::default() };
        match read(&path) {
            Ok(document) => Self { document: document.unwrap_or_default(), trouble: None },
            Err(why) => {
                let trouble = format!("{} {why}; no folder is trusted", path.display());
                Self { document: Document::default(), trouble: Some(trouble) }
            }
        }
    }

    /// Returns every decision.
    pub fn entries(&self) -> &[Entry] {
        &self.document.folders
    }

    /// Returns the decision about this very folder.
    pub fn of(&self, folder: &Path) -> Option<&Entry> {
        self.document.folders.iter().find(|entry| Path::new(&entry.path) == folder)
    }

    /// Returns the decision that holds for a folder: its own, else that of the nearest one above that reaches down.
    /// Distrust always does.
    pub fn holds(&self, folder: &Path) -> Option<&Entry> {
        let reaches = |entry: &&Entry| entry.below || entry.state == Decided::Untrusted;
        let above = || folder.ancestors().skip(1).find_map(|dir| self.of(dir).filter(reaches));
        self.of(folder).or_else(above)
    }
}

/// Changes the decision about a folder; `None` forgets it. Nobody else can change the file meanwhile.
pub fn change(
    base: &Base,
    folder: &Path,
    change: impl FnOnce(Option<Entry>) -> Option<Entry>,
) -> Result<(), Failure> {
    let path = base.trust();
    let failed = |why: &dyn std::fmt::Display| {
        Failure::new(&BASE_UNUSABLE, format!("cannot write {}: {why}", path.display()))
    };
    DirBuilder::new().recursive(true).mode(0o700).create(base.dir()).map_err(|e| failed(&e))?;
    let lock = base.dir().join("trust.lock");
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
    document.folders.extend(change(old));
    document.folders.sort_by(|a, b| a.path.cmp(&b.path));
    document.schema = SCHEMA;
    replace(base.dir(), &path, &document).map_err(|e| failed(&e))
}

fn replace(dir: &Path, path: &Path, document: &Document) -> std::io::Result<()> {
    let temp: PathBuf = dir.join(format!("trust.json.{}", std::process::id()));
    // Left by a process of the same number that was killed; whoever holds the lock is alone.
    let _ = fs::remove_file(&temp);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temp)?;
    let text = serde_json::to_string_pretty(document).expect("strings and lists are JSON") + "\n";
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if let Err(error) = written.and_then(|()| fs::rename(&temp, path)) {
        let _ = fs::remove_file(&temp);
        return Err(error);
    }
    File::open(dir)?.sync_all()
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
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn base() -> (tempfile::TempDir, Base) {
        let dir = tempfile::tempdir().unwrap();
        let base = Base::at(dir.path().join("base"));
        (dir, base)
    }

    fn trust(base: &Base, folder: &str, below: bool) {
        let folder = Path::new(folder);
        change(base, folder, |_| Some(Entry { below, ..Entry::new(folder, Decided::Trusted).unwrap() }))
            .unwrap();
    }

    #[test]
    fn decisions_are_kept_privately_and_forgotten() {
        let (_dir, base) = base();
        assert_eq!(Store::load(Some(&base)).entries(), []);
        trust(&base, "/b", false);
        trust(&base, "/a", true);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(base.dir()), mode(&base.trust())), (0o700, 0o600));
        let store = Store::load(Some(&base));
        let paths: Vec<_> = store.entries().iter().map(|entry| entry.path.as_str()).collect();
        assert_eq!(paths, ["/a", "/b"]);
        change(&base, Path::new("/b"), |_| None).unwrap();
        assert!(Store::load(Some(&base)).of(Path::new("/b")).is_none());
        let names: Vec<_> = fs::read_dir(base.dir()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names.len(), 2, "the file and its lock, and nothing half-written: {names:?}");
    }

    /// A parent's trust reaches down only where that was said, and the nearest word counts.
    #[test]
    fn this_folder_and_below() {
        let (_dir, base) = base();
        trust(&base, "/a", true);
        trust(&base, "/b", false);
        let no = Path::new("/a/b");
        change(&base, no, |_| Entry::new(no, Decided::Untrusted)).unwrap();
        let store = Store::load(Some(&base));
        let state = |path: &str| store.holds(Path::new(path)).map(|entry| entry.state.as_str());
        assert_eq!(
            ["/a", "/a/x/y", "/a/b", "/b", "/b/x", "/ax", "/"].map(state),
            [Some("trusted"), Some("trusted"), Some("untrusted"), Some("trusted"), None, None, None,]
        );
        assert_eq!(state("/a/b/c"), Some("untrusted"), "distrust reaches down by itself");
    }

    /// TM-4, FS-9: whatever is wrong with the file, it trusts nobody and is left as it is.
    #[test]
    fn a_file_that_cannot_be_used() {
        let (_dir, base) = base();
        trust(&base, "/a", true);
        let good = fs::read_to_string(base.trust()).unwrap();
        for (text, mode, why) in [
            ("{", 0o600, "cannot be read: EOF"),
            (&*good.replace("\"schema\": 1", "\"schema\": 2"), 0o600, "was written by a newer version"),
            (&*good.replace("\"trusted\"", "\"everything\""), 0o600, "cannot be read: unknown variant"),
            (&*good, 0o622, "can be written by others"),
        ] {
            fs::write(base.trust(), text).unwrap();
            fs::set_permissions(base.trust(), fs::Permissions::from_mode(mode)).unwrap();
            let store = Store::load(Some(&base));
            assert!(store.trouble.as_ref().is_some_and(|t| t.contains(why)), "{:?} {why}", store.trouble);
            assert_eq!(store.holds(Path::new("/a")), None);
            let refused = change(&base, Path::new("/b"), |_| None).unwrap_err();
            assert!(refused.message.contains(why), "{}", refused.message);
            assert_eq!(fs::read_to_string(base.trust()).unwrap(), text);
        }
        fs::remove_file(base.trust()).unwrap();
        std::os::unix::fs::symlink("/dev/null", base.trust()).unwrap();
        assert!(Store::load(Some(&base)).trouble.is_some());
    }

    #[test]
    fn what_a_later_version_added_stays() {
        let (_dir, base) = base();
        trust(&base, "/a", false);
        let text = fs::read_to_string(base.trust()).unwrap();
        fs::write(base.trust(), text.replace("\"state\"", "\"since\": 5, \"state\"")).unwrap();
        trust(&base, "/b", false);
        assert!(fs::read_to_string(base.trust()).unwrap().contains("\"since\": 5"));
    }
}
