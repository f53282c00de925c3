//! Paths by their text: joining and normalising without looking at a disk.

use std::path::{Component, Path, PathBuf};

use crate::analysis::{Target, TargetPath};
use crate::arg::{Arg, Rest};

/// Returns `path` seen from `cwd`, without `.` and `..`.
pub fn normalise(cwd: &Path, path: &str) -> PathBuf {
    let mut result = PathBuf::new();
    for component in cwd.join(path).components() {
        match component {
            Component::ParentDir => {
                result.pop();
            }
            Component::CurDir => {}
            other => result.push(other),
        }
    }
    result
}

/// Returns the files `arg` may name, seen from each directory the shell may be in.
pub fn targets(arg: &Arg, cwds: &[PathBuf]) -> Vec<Target> {
    let target = |path| Target { path, shown: arg.shown.clone() };
    if cwds.is_empty() && !arg.text.starts_with('/') {
        return vec![target(TargetPath::Unknown)];
    }
    let root = [PathBuf::from("/")];
    let cwds = if cwds.is_empty() { &root } else { cwds };
    let mut found = Vec::new();
    for cwd in cwds {
        let path = match arg.rest {
            Rest::Nothing => TargetPath::Known(normalise(cwd, &arg.text)),
            Rest::Glob => {
                let directory = arg.text.rfind('/').map_or("", |at| &arg.text[..=at]);
                TargetPath::Within(normalise(cwd, directory))
            }
            Rest::Unknown | Rest::Words => TargetPath::Unknown,
        };
        let target = target(path);
        if !found.contains(&target) {
            found.push(target);
        }
    }
    found
}
