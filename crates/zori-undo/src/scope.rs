//! What is looked at: the roots without git's own folder, ignored folders and caches (UNDO-9).

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Folders that are never entered.
const NEVER: &[&str] = &[".git", "node_modules", ".venv", "__pycache__"];

/// Ignored files are taken up to this length.
pub(crate) const MAX_IGNORED: u64 = 256 << 10;

/// The ignore files of the folders that were entered.
#[derive(Default)]
pub(crate) struct Scope {
    ignores: HashMap<PathBuf, Arc<Gitignore>>,
    /// Folders that hold files of git's index, though they are ignored.
    tracked: std::collections::HashSet<PathBuf>,
}

impl Scope {
    /// Reads the ignore file of a folder that is entered. `top`: it is a root, whose repository may have one more.
    pub(crate) fn enter(&mut self, folder: &Path, top: bool) {
        self.ignores.remove(folder);
        let mut builder = GitignoreBuilder::new(folder);
        let mut any = false;
        for file in [folder.join(".git/info/exclude"), folder.join(".gitignore")] {
            let exclude = file.ends_with("exclude");
            if (!exclude || top) && file.is_file() {
                // What cannot be parsed of it ignores nothing.
                let _ = builder.add(&file);
                any = true;
            }
        }
        if any && let Ok(ignore) = builder.build() {
            self.ignores.insert(folder.to_owned(), Arc::new(ignore));
        }
    }

    /// Forgets a folder that is gone.
    pub(crate) fn leave(&mut self, folder: &Path) {
        self.ignores.retain(|known, _| !known.starts_with(folder));
    }

    /// Folders that are entered although they are ignored.
    pub(crate) fn track(&mut self, folder: &Path) {
        self.tracked.insert(folder.to_owned());
    }

    /// Returns whether a folder is entered.
    pub(crate) fn enters(&self, folder: &Path, name: &OsStr) -> bool {
        if NEVER.iter().any(|never| *never == name) {
            return false;
        }
        if self.tracked.contains(folder) {
            return true;
        }
        !self.ignored(folder, true) && !is_cache(folder)
    }

    /// Returns whether an ignore file names a path.
    pub(crate) fn ignored(&self, path: &Path, is_dir: bool) -> bool {
        if self.ignores.is_empty() {
            return false;
        }
        for folder in path.ancestors().skip(1) {
            let Some(ignore) = self.ignores.get(folder) else { continue };
            match ignore.matched(path, is_dir) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }
}

/// A folder that says of itself that it can be made again.
fn is_cache(folder: &Path) -> bool {
    folder.join("CACHEDIR.TAG").is_file()
}
