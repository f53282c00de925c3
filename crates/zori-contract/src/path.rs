//! A path that is absolute: what output shows, so that a caller in another folder can use it.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use serde::{Serialize, Serializer};

/// An absolute path without `.` and `..`. Links in it are not followed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AbsPath(PathBuf);

impl AbsPath {
    /// Returns the path if it is absolute.
    pub fn new(path: &Path) -> Option<Self> {
        path.is_absolute().then(|| Self(tidy(path)))
    }

    /// Returns the path seen from here; an absolute one stays what it is.
    pub fn join(&self, path: impl AsRef<Path>) -> Self {
        Self(tidy(&self.0.join(path)))
    }

    /// Returns it for the functions of the standard library.
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// Returns whether it is `root` or below it.
    pub fn is_below(&self, root: &Self) -> bool {
        self.0.starts_with(&root.0)
    }
}

impl AsRef<Path> for AbsPath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl fmt::Display for AbsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

impl Serialize for AbsPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                tidy.pop();
            }
            part => tidy.push(part),
        }
    }
    tidy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absolute_paths() {
        assert_eq!(AbsPath::new(Path::new("a/b")), None);
        let at = AbsPath::new(Path::new("/a/./b/../c")).unwrap();
        assert_eq!(at.to_string(), "/a/c");
        assert_eq!(at.join("../d/e").to_string(), "/a/d/e");
        assert_eq!(at.join("/x").to_string(), "/x");
        assert_eq!(at.join("../../../..").to_string(), "/");
    }

    #[test]
    fn below_means_whole_names() {
        let root = AbsPath::new(Path::new("/a/b")).unwrap();
        assert!(root.join("c").is_below(&root) && root.is_below(&root));
        assert!(!root.join("../bc").is_below(&root));
    }
}
