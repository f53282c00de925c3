//! The one resolver of tool paths (PATH-5): relative to the root, `~` and `$HOME` expanded, lexically normalised.
//!
//! Nothing here touches the disk, so a permission can be given for exactly the path that is used later. Symbolic links
//! are handled where the file is opened (see [`crate::textfile`] and [`crate::atomic`]).

use std::path::{Path, PathBuf};

use zori_core::path::normalise;

use crate::env::ToolEnv;

/// Returns the absolute path a tool argument means, without `.` and `..` parts.
pub fn resolve(env: &ToolEnv, path: &str) -> PathBuf {
    resolve_at(&env.root, env.home.as_deref(), path)
}

/// The same without a whole [`ToolEnv`].
pub fn resolve_at(root: &Path, home: Option<&Path>, path: &str) -> PathBuf {
    normalise(&root.join(expand(path, home)))
}

/// Returns a path as results show it; bytes that are not UTF-8 become replacement characters.
pub fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Expands a leading `~`, `$HOME` or `${HOME}`; other variables would need the environment, which a library
/// does not read (L-19).
fn expand(path: &str, home: Option<&Path>) -> PathBuf {
    let Some(home) = home else { return path.into() };
    for name in ["~", "$HOME", "${HOME}"] {
        match path.strip_prefix(name) {
            Some("") => return home.into(),
            Some(rest) if rest.starts_with('/') => return home.join(rest.trim_start_matches('/')),
            _ => {}
        }
    }
    path.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_become_absolute_paths() {
        let env = crate::testing::env(Path::new("/root/dir"));
        let cases = [
            ("a.txt", "/root/dir/a.txt"),
            ("./a/../b", "/root/dir/b"),
            ("../../../x", "/x"),
            ("/etc//hosts", "/etc/hosts"),
            ("~", "/home/someone"),
            ("~/x", "/home/someone/x"),
            ("$HOME//x", "/home/someone/x"),
            ("${HOME}/x", "/home/someone/x"),
            ("~x", "/root/dir/~x"),
            ("$HOMER/x", "/root/dir/$HOMER/x"),
            ("$OTHER/x", "/root/dir/$OTHER/x"),
            ("", "/root/dir"),
        ];
        for (argument, path) in cases {
            assert_eq!(resolve(&env, argument), Path::new(path), "{argument}");
        }
    }
}
