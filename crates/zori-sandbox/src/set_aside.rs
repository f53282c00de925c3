//! What commands made in protected places that were missing: moved beside them, where no program looks for it (SB-2).
//!
//! Nothing can be mounted on a missing path, and a stub in its place would be seen inside. So such a path is not closed
//! while a command runs; it is looked at when the command has ended. Nothing is removed: it may be the user's, who saved a
//! file meanwhile.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::layout::GuardedPath;
use crate::stubs;

/// What the names of such files end in.
const ENDING: &str = ".set-aside";
/// How many of one name there may be.
const MAX: usize = 1000;

/// What was set aside and not told yet. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct SetAside(Arc<Mutex<Vec<(PathBuf, PathBuf)>>>);

impl SetAside {
    /// Moves away what is at the guarded paths now.
    pub fn move_away(&self, guarded: &[GuardedPath]) {
        for guarded in guarded {
            let Some(there) = appeared(guarded) else { continue };
            let Some(moved) = aside(&there) else { continue };
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push((there, moved));
        }
    }

    /// Returns a sentence about what was set aside since it was last asked for.
    pub fn take_sentence(&self) -> Option<String> {
        let moved = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let name = |path: &Path| {
            path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let one = |(from, to): &(PathBuf, PathBuf)| format!("`{}` (now `{}`)", from.display(), name(to));
        let named: Vec<String> = moved.iter().map(one).collect();
        (!named.is_empty()).then(|| {
            format!(
                "the sandbox keeps protected places as they are, so what was made there was set aside: {}; it takes the \
                 user's consent and another tool to make it",
                named.join(", ")
            )
        })
    }
}

/// Returns what leads to something at a guarded path: itself, or a link in place of one of its missing parents.
fn appeared(guarded: &GuardedPath) -> Option<PathBuf> {
    let mut parts: Vec<&Path> =
        guarded.path.ancestors().take_while(|path| path.starts_with(&guarded.missing)).collect();
    parts.reverse();
    for part in parts {
        let meta = fs::symlink_metadata(part).ok()?;
        if stubs::is_stub(part, &meta) {
            // Left behind by an earlier program that was killed.
            let _ = fs::remove_dir(part).or_else(|_| fs::remove_file(part));
            return None;
        }
        if meta.is_symlink() || part == guarded.path {
            return Some(part.to_owned());
        }
    }
    None
}

/// Gives a file another name, which nothing has; returns the name.
fn aside(path: &Path) -> Option<PathBuf> {
    let base = path.file_name()?.to_owned();
    (1..=MAX).find_map(|number| {
        let mut name = base.clone();
        name.push(ENDING);
        if number > 1 {
            name.push(format!("-{number}"));
        }
        let moved = path.with_file_name(name);
        let renamed = renameat_with(CWD, path, CWD, &moved, RenameFlags::NOREPLACE);
        // Some file systems know no such flag.
        let renamed = renamed.is_ok() || (!moved.exists() && fs::rename(path, &moved).is_ok());
        renamed.then_some(moved)
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn guarded(root: &Path, path: &str, missing: &str) -> GuardedPath {
        GuardedPath { path: root.join(path), missing: root.join(missing) }
    }

    fn listing(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_appears_is_moved_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let all = [guarded(root, "AGENTS.md", "AGENTS.md"), guarded(root, ".cargo/config.toml", ".cargo")];
        let set_aside = SetAside::default();
        set_aside.move_away(&all);
        assert_eq!((listing(root), set_aside.take_sentence()), (Vec::new(), None));
        for round in ["one", "two"] {
            fs::write(root.join("AGENTS.md"), round).unwrap();
            set_aside.move_away(&all);
        }
        assert_eq!(listing(root), ["AGENTS.md.set-aside", "AGENTS.md.set-aside-2"]);
        assert_eq!(fs::read_to_string(root.join("AGENTS.md.set-aside-2")).unwrap(), "two");
        assert!(set_aside.take_sentence().unwrap().contains("(now `AGENTS.md.set-aside-2`)"));
        assert_eq!(set_aside.take_sentence(), None);
    }

    #[test]
    fn a_folder_or_a_link_on_the_way() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let all = [guarded(root, ".cargo/config.toml", ".cargo")];
        fs::create_dir(root.join(".cargo")).unwrap();
        fs::write(root.join(".cargo/config.toml"), "").unwrap();
        fs::write(root.join(".cargo/other"), "").unwrap();
        SetAside::default().move_away(&all);
        assert_eq!(listing(&root.join(".cargo")), ["config.toml.set-aside", "other"]);
        fs::remove_dir_all(root.join(".cargo")).unwrap();
        fs::create_dir(root.join("evil")).unwrap();
        symlink("evil", root.join(".cargo")).unwrap();
        SetAside::default().move_away(&all);
        assert_eq!(listing(root), [".cargo.set-aside", "evil"]);
    }
}
