//! The change of a file for front ends: its text before and after.

use std::path::Path;

use zori_core::tool::FileChange;

/// Texts longer than this are not kept for display; nobody reads such a diff.
const MAX_SHOWN: usize = 1 << 20;

/// Returns the change, unless one side is too long.
pub fn file_change(path: &Path, before: Option<&str>, after: Option<&str>) -> Option<FileChange> {
    let short = |text: Option<&str>| text.is_none_or(|t| t.len() <= MAX_SHOWN);
    (short(before) && short(after)).then(|| FileChange {
        path: path.to_owned(),
        before: before.map(Into::into),
        after: after.map(Into::into),
    })
}
