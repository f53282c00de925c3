//! A path as people type it: `~/` is their home directory, and what is relative lies below a folder.

use std::path::{Path, PathBuf};

/// Returns where it is.
pub fn resolve(text: &str, root: &Path, home: Option<&Path>) -> PathBuf {
    match (text.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below),
        _ => root.join(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_paths_are() {
        let at = |text: &str, home: Option<&str>| resolve(text, Path::new("/r"), home.map(Path::new));
        let all = [at("a/b", Some("/h")), at("/x", Some("/h")), at("~/a", Some("/h")), at("~/a", None)];
        assert_eq!(all, ["/r/a/b", "/x", "/h/a", "/r/~/a"].map(PathBuf::from));
    }
}
