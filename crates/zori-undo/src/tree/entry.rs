//! What is known of one path: its stat, and what was there.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use crate::state::State;

/// How a file is recognised without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StatKey {
    pub(super) len: u64,
    pub(super) mtime: i64,
    pub(super) ctime: i64,
    pub(super) inode: u64,
}

impl StatKey {
    pub(super) fn of(meta: &Metadata) -> Self {
        Self {
            len: meta.len(),
            mtime: nanos(meta.mtime(), meta.mtime_nsec()),
            ctime: nanos(meta.ctime(), meta.ctime_nsec()),
            inode: meta.ino(),
        }
    }
}

pub(super) fn nanos(secs: i64, nanos: i64) -> i64 {
    secs.saturating_mul(1_000_000_000).saturating_add(nanos)
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: StatKey,
    pub(super) state: State,
    /// It has to be read again, whatever its stat says.
    pub(super) racy: bool,
}
