//! Which project a folder belongs to, and the name under which the base directory keeps things of it.

use std::path::{Path, PathBuf};

/// Returns the project's root: the nearest folder from `cwd` upwards that holds `.zori/` or `.git`, never above the
/// home directory; without one the folder itself (`docs/contracts/command-line.md`). `cwd` is canonical.
pub fn project_root<'p>(cwd: &'p Path, home: Option<&Path>) -> &'p Path {
    let marked = |folder: &Path| folder.join(".zori").is_dir() || folder.join(".git").exists();
    for folder in cwd.ancestors() {
        if marked(folder) {
            return folder;
        }
        if Some(folder) == home {
            break;
        }
    }
    cwd
}

/// Returns the folder of a project's own files below the base directory: the first 16 hex digits of BLAKE3 of its root.
pub fn project_dir(base: &Path, root: &Path) -> PathBuf {
    let hash = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
    base.join("projects").join(&hash[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_mark_wins_and_home_is_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path();
        for folder in [".git", "home/a/.git", "home/a/b/.zori", "home/a/b/c", "home/plain/x"] {
            std::fs::create_dir_all(top.join(folder)).unwrap();
        }
        std::fs::create_dir_all(top.join("home/worktree/src")).unwrap();
        std::fs::write(top.join("home/worktree/.git"), "gitdir: elsewhere\n").unwrap();
        let home = top.join("home");
        let found = |cwd: &str| {
            let cwd = top.join(cwd);
            project_root(&cwd, Some(&home)).strip_prefix(top).unwrap().to_owned()
        };
        assert_eq!(found("home/a/b/c"), Path::new("home/a/b"));
        assert_eq!(found("home/a"), Path::new("home/a"));
        assert_eq!(found("home/worktree/src"), Path::new("home/worktree"));
        assert_eq!(found("home/plain/x"), Path::new("home/plain/x"), "what is above home is not asked");
    }

    /// The empty text's BLAKE3 is in its specification.
    #[test]
    fn the_key_is_a_prefix_of_blake3() {
        assert_eq!(project_dir(Path::new("/b"), Path::new("")), Path::new("/b/projects/af1349b9f5f9a1a6"));
    }
}
