//! When files were changed, asked cheaply: files of one directory are looked up from it, not from the root.
//!
//! Resolving a whole path for each of 50,000 files costs as much as walking to them does.

use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};

/// Seconds and nanoseconds since 1970.
pub type Time = (i64, i64);

/// Looks files up, best in groups of one directory.
#[derive(Default)]
pub struct Times {
    parent: Vec<u8>,
    /// Open from the second file on: for a lone one it would not pay.
    dir: Option<OwnedFd>,
}

impl Times {
    /// Returns when a file was changed; `None` if the path leads to no regular file. A link counts as what it
    /// leads to. The path is absolute.
    pub fn changed(&mut self, path: &Path) -> Option<Time> {
        let path = path.as_os_str().as_bytes();
        let end = path.iter().rposition(|byte| *byte == b'/')?;
        let (parent, name) = (&path[..end], &path[end + 1..]);
        if self.parent != parent {
            parent.clone_into(&mut self.parent);
            self.dir = None;
            return changed(rustix::fs::statat(CWD, path, AtFlags::empty()));
        }
        if self.dir.is_none() {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            // The parent of `/x` is empty, and not worth a special case.
            self.dir = rustix::fs::open(parent, flags, Mode::empty()).ok();
        }
        changed(match &self.dir {
            Some(dir) => rustix::fs::statat(dir, name, AtFlags::empty()),
            None => rustix::fs::statat(CWD, path, AtFlags::empty()),
        })
    }
}

fn changed(stat: rustix::io::Result<rustix::fs::Stat>) -> Option<Time> {
    let stat = stat.ok().filter(|stat| FileType::from_raw_mode(stat.st_mode).is_file())?;
    Some((stat.st_mtime, stat.st_mtime_nsec.try_into().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::walk::tree::Tree;

    #[test]
    fn files_of_one_directory_and_of_others() {
        let tree = Tree::new(&[("a/1", ""), ("a/2", ""), ("a/3", ""), ("b/1", "")]);
        for (path, seconds) in [("a/1", 11), ("a/2", 12), ("a/3", 13), ("b/1", 21)] {
            tree.touch(path, seconds);
        }
        let mut times = Times::default();
        let changed = ["a/1", "a/2", "a/3", "a/4", "b/1", "b/2", "a", "a/3"]
            .map(|path| times.changed(&tree.root.join(path)));
        assert_eq!(
            changed,
            [Some((11, 0)), Some((12, 0)), Some((13, 0)), None, Some((21, 0)), None, None, Some((13, 0))]
        );
    }
}
