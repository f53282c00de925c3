//! Where a folder is not looked at as a whole: the machine, a home directory, a full disk (UNDO-10).

use std::path::Path;

use super::exact::resolved;

/// Returns why a whole folder is not looked at.
pub fn uncovered(root: &Path, home: Option<&Path>) -> Option<String> {
    if root.parent().is_none() {
        return Some("the folder is `/`".to_owned());
    }
    let home = home.map(resolved);
    home.filter(|home| home.starts_with(root))
        .map(|_| "the folder is your home directory, or above it".to_owned())
}

/// The store leaves this much of a disk alone.
const FREE: u64 = 1 << 30;

pub(super) fn little_space(dir: &Path) -> Option<String> {
    let there = dir.ancestors().find(|folder| folder.exists())?;
    let stat = rustix::fs::statvfs(there).ok()?;
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    (free < FREE).then(|| "less than 1 GiB of disk is free".to_owned())
}
