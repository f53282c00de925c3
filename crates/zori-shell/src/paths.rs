//! Paths by their text: joining and normalising without looking at a disk.

use std::path::{Component, Path, PathBuf};

use crate::analysis::{Target, TargetPath, Tree};
use crate::arg::{Arg, Rest};

/// Returns `path` seen from `cwd`, without `.` and `..`, as the shell itself takes `cd`.
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

/// Returns `path` seen from `cwd`. Steps upwards stay: the kernel follows a link before it takes one, so only who looks at
/// the disk can tell where they lead (P-1).
pub fn joined(cwd: &Path, path: &str) -> PathBuf {
    cwd.join(path).components().collect()
}

/// Writes text so that a pattern means only itself.
pub fn escaped_pattern(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
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
            Rest::Nothing => TargetPath::Known(joined(cwd, &arg.text)),
            Rest::Glob => {
                let cut = arg.text.rfind('/').map_or(0, |at| at + 1);
                let (directory, start) = arg.text.split_at(cut);
                TargetPath::Glob {
                    folder: joined(cwd, directory),
                    pattern: escaped_pattern(start) + &arg.pattern,
                }
            }
            Rest::Found { hidden, follows } => {
                let directory = arg.text.rfind('/').map_or("", |at| &arg.text[..=at]);
                let name = (!arg.pattern.is_empty()).then(|| arg.pattern.clone());
                TargetPath::Tree(Tree { folder: joined(cwd, directory), hidden, name, follows, deep: true })
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
