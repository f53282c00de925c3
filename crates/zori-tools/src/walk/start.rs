//! Where a walk starts, how the paths it finds are written, and the failures that walkers share.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use zori_core::permission::PathSnapshot;
use zori_core::tool::{ToolCode, ToolOutput};

use crate::open_dir::{NameInDir, OpenDir};
use crate::target::Target;
use crate::textfile::FileError;

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartKind {
    /// A directory, or a link to one.
    Directory,
    /// A regular file, or a link to one.
    File,
}

/// Returns where a path was judged to lead.
pub fn target(snapshot: &PathSnapshot, path: &Path) -> Result<Target, ToolOutput> {
    Target::from_snapshot(snapshot, path).map_err(|error| FileError::from_open(path, error).output())
}

/// Looks at a path the model named; the failure is written for it.
pub fn look(target: &Target) -> Result<StartKind, ToolOutput> {
    let path = &target.path;
    match NameInDir::at(&target.place).and_then(|slot| slot.meta()) {
        Ok(meta) if meta.kind.is_dir() => Ok(StartKind::Directory),
        Ok(meta) if meta.kind.is_file() => Ok(StartKind::File),
        Ok(_) => Err(path_error(format!("{} is neither a file nor a directory", path.display()))),
        Err(error) => Err(FileError::from_open(path, error).output()),
    }
}

/// Looks at a path that has to be a directory.
pub fn look_for_directory(target: &Target) -> Result<(), ToolOutput> {
    match look(target)? {
        StartKind::Directory => Ok(()),
        StartKind::File => {
            Err(path_error(format!("{} is a file, not a directory (ENOTDIR)", target.path.display())))
        }
    }
}

/// Returns a path below a target's place as it is called below the target's own path.
pub fn renamed<'a>(target: &Target, path: &'a Path) -> Cow<'a, Path> {
    if target.path == target.place {
        return Cow::Borrowed(path);
    }
    match path.strip_prefix(&target.place) {
        Ok(rest) if rest.as_os_str().is_empty() => Cow::Owned(target.path.clone()),
        Ok(rest) => Cow::Owned(target.path.join(rest)),
        Err(_) => Cow::Borrowed(path),
    }
}

/// Looks up names again that a walk found, following no link. A walk opens directories by name, so one that was
/// replaced by a link meanwhile shows names that are not there.
#[derive(Default)]
pub struct Relookup {
    last: Option<(PathBuf, OpenDir)>,
}

impl Relookup {
    /// Returns the name in its folder, if that can be reached.
    pub fn find(&mut self, path: &Path) -> Option<NameInDir> {
        let (folder, name) = (path.parent()?, path.file_name()?);
        if self.last.as_ref().is_none_or(|(last, _)| last != folder) {
            self.last = Some((folder.to_owned(), OpenDir::open(folder).ok()?));
        }
        self.last.as_ref().map(|(_, folder)| folder.slot(name))
    }
}

/// Returns a path as the model reads it: relative to the root where it is inside, else absolute. Bytes that are
/// not UTF-8 are replaced.
pub fn shown<'a>(root: &Path, path: &'a Path) -> Cow<'a, str> {
    match path.strip_prefix(root) {
        Ok(relative) if relative.as_os_str().is_empty() => Cow::Borrowed("."),
        Ok(relative) => relative.to_string_lossy(),
        Err(_) => path.to_string_lossy(),
    }
}

/// The failure for arguments whose values cannot be used.
pub fn invalid(message: impl Into<String>) -> ToolOutput {
    ToolOutput::failure(ToolCode::InvalidInput, message)
}

/// Returns a number argument, or its default; the failure names the range.
pub fn number(
    name: &str,
    value: Option<i64>,
    default: usize,
    range: RangeInclusive<usize>,
) -> Result<usize, ToolOutput> {
    match value.map(usize::try_from) {
        None => Ok(default),
        Some(Ok(value)) if range.contains(&value) => Ok(value),
        Some(_) => Err(invalid(format!("`{name}` must be {} to {}", range.start(), range.end()))),
    }
}

/// The result of a walk that was stopped.
pub fn cancelled() -> ToolOutput {
    ToolOutput::failure(ToolCode::Canceled, "Stopped before it was done")
}

fn path_error(message: String) -> ToolOutput {
    ToolOutput::failure(ToolCode::PathError, message)
}
