//! What is at a path, for [`crate::layout`].

use std::fs;
use std::path::Path;

use crate::layout::PathState;
use crate::spec::PathKind;
use crate::stubs;

/// Looks at a path. A stub of ours counts as missing: it goes away when its last user has ended.
pub fn look_at(path: &Path) -> PathState {
    match fs::symlink_metadata(path) {
        Err(_) => PathState::Missing,
        Ok(meta) if meta.is_symlink() => PathState::Link(path.canonicalize().ok().and_then(|target| {
            let kind = kind(&fs::metadata(&target).ok()?);
            Some((target, kind))
        })),
        Ok(meta) if stubs::is_stub(path, &meta) => PathState::Missing,
        Ok(meta) => PathState::Present(kind(&meta)),
    }
}

fn kind(meta: &fs::Metadata) -> PathKind {
    if meta.is_dir() { PathKind::Dir } else { PathKind::File }
}
