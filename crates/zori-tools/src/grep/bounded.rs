//! A search of no more files than the call wants, and of none that is too long. Which ones depends on the files alone: the first in the
//! order of paths.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ignore::{DirEntry, WalkState};
use serde::Serialize;
use zori_core::cancel::Cancel;
use zori_core::tool::ToolOutput;

use crate::grep::GrepVisitor;
use crate::grep::query::Query;
use crate::walk::smallest::SmallestN;
use crate::walk::start::{cancelled, number};
use crate::walk::{Visitor, Walk};

/// The most that may be asked for.
pub const MOST_FILES: i64 = 100_000;
pub const MOST_BYTES: i64 = 1 << 30;

/// How many files are searched, and how long they may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileBounds {
    files: Option<usize>,
    bytes: Option<u64>,
}

/// What was searched, for the result; nothing is said of a search without bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FilesSearched {
    /// How many.
    #[serde(rename = "files_searched", skip_serializing_if = "Option::is_none")]
    pub count: Option<usize>,
    /// Whether there are more files than that.
    #[serde(rename = "more_files", skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// How many were too long.
    #[serde(skip_serializing_if = "is_none")]
    pub too_long: usize,
}

impl FileBounds {
    /// Checks what the call says.
    pub fn new(files: Option<i64>, bytes: Option<i64>) -> Result<Self, ToolOutput> {
        let checked = |name: &str, value: Option<i64>, most: i64| {
            value.map(|value| number(name, Some(value), 0, 1..=most as usize)).transpose()
        };
        let bytes = checked("max_file_bytes", bytes, MOST_BYTES)?.map(|bytes| bytes as u64);
        Ok(Self { files: checked("max_files", files, MOST_FILES)?, bytes })
    }

    /// Returns whether there are any.
    pub fn is_set(&self) -> bool {
        *self != Self::default()
    }

    /// Returns whether a file is too long; one that cannot be looked at is found out by searching it.
    pub fn is_too_long(&self, path: &Path) -> bool {
        let Some(most) = self.bytes else { return false };
        path.symlink_metadata().is_ok_and(|meta| meta.len() > most)
    }
}

/// Searches the first files below the start of a walk.
pub(super) fn run(
    walk: &Walk<'_>,
    query: &Query,
    cancel: &Cancel,
    mut search: GrepVisitor<'_>,
) -> Result<FilesSearched, ToolOutput> {
    let bound = query.bounds.files.unwrap_or(MOST_FILES as usize);
    let cut = search.cut;
    let make = || Finder { query, cut, first: SmallestN::new(bound), too_long: 0, failed: 0 };
    let mut found = make();
    for other in walk.run(cancel, make).map_err(|_| cancelled())? {
        found.first.merge(other.first);
        found.too_long += other.too_long;
        found.failed += other.failed;
    }
    (0..found.failed).for_each(|_| search.failed());
    let more = found.first.seen() > bound;
    let mut count = 0;
    for path in found.first.into_sorted() {
        if !search.collector.wants(&path, &mut search.cutoff) {
            break;
        }
        count += 1;
        if search.take(Path::new(OsStr::from_bytes(&path))) == WalkState::Quit {
            return Err(cancelled());
        }
    }
    Ok(FilesSearched { count: Some(count), more, too_long: found.too_long })
}

/// Finds the first files that one thread sees.
struct Finder<'a> {
    query: &'a Query,
    cut: usize,
    first: SmallestN<Vec<u8>>,
    too_long: usize,
    failed: usize,
}

impl Visitor for Finder<'_> {
    fn visit(&mut self, entry: &DirEntry) -> WalkState {
        let path = entry.path();
        let bytes = path.as_os_str().as_bytes();
        if entry.file_type().is_some_and(|kind| kind.is_file()) && self.query.wants_name(&bytes[self.cut..]) {
            match self.query.bounds.is_too_long(path) {
                true => self.too_long += 1,
                false if self.first.worst().is_some_and(|worst| worst.as_slice() < bytes) => {
                    self.first.pass()
                }
                false => self.first.push(bytes.to_owned()),
            }
        }
        WalkState::Continue
    }

    fn failed(&mut self) {
        self.failed += 1;
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none(count: &usize) -> bool {
    *count == 0
}
