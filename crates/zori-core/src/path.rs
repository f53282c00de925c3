//! Paths by their text. Nothing here looks at the disk: where links lead is for whoever opens the path.

use std::path::{Component, Path, PathBuf};

/// Returns a path without its `.` and `..` parts, by its text alone. At the top `..` stays there, as the kernel sees it: `/..` is `/`.
pub fn normalise(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_up_are_taken_by_the_text() {
        for (path, expected) in [
            ("/a/b", "/a/b"),
            ("/a/./b/../c/", "/a/c"),
            ("/../..", "/"),
            ("/a//b/..", "/a"),
            ("a/../../b", "b"),
            ("./a", "a"),
            ("..", ""),
        ] {
            assert_eq!(normalise(Path::new(path)), Path::new(expected), "{path}");
        }
    }
}
