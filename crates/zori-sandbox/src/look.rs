//! What is at a path, for [`crate::layout`].

use std::fs;
use std::path::Path;

use crate::layout::Found;
use crate::spec::PathKind;
use crate::stubs;

/// Looks. A stub of ours counts as missing: it goes away when its last user has ended.
pub fn look(path: &Path) -> Found {
    match fs::symlink_metadata(path) {
        Err(_) => Found::Missing,
        Ok(meta) if meta.is_symlink() => Found::Link(path.canonicalize().ok().and_then(|target| {
            let kind = kind(&fs::metadata(&target).ok()?);
            Some((target, kind))
        })),
        Ok(meta) if stubs::is_stub(path, &meta) => Found::Missing,
        Ok(meta) => Found::Here(kind(&meta)),
    }
}

fn kind(meta: &fs::Metadata) -> PathKind {
    if meta.is_dir() { PathKind::Dir } else { PathKind::File }
}
