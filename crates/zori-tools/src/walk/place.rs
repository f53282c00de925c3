//! Where a walk starts, how the paths it finds are written, and the failures that walkers share.

use std::borrow::Cow;
use std::path::Path;

use zori_core::tool::{ToolCode, ToolOutput};

use crate::textfile::FileError;

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A directory, or a link to one.
    Directory,
    /// A regular file, or a link to one.
    File,
}

/// Looks at a path the model named; the failure is written for it.
pub fn look(path: &Path) -> Result<Place, ToolOutput> {
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_dir() => Ok(Place::Directory),
        Ok(meta) if meta.is_file() => Ok(Place::File),
        Ok(_) => Err(path_error(format!("{} is neither a file nor a directory", path.display()))),
        Err(error) => Err(FileError::from_io(path, error).output()),
    }
}

/// Looks at a path that has to be a directory.
pub fn look_for_directory(path: &Path) -> Result<(), ToolOutput> {
    match look(path)? {
        Place::Directory => Ok(()),
        Place::File => Err(path_error(format!("{} is a file, not a directory (ENOTDIR)", path.display()))),
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

/// The result of a walk that was stopped.
pub fn cancelled() -> ToolOutput {
    ToolOutput::failure(ToolCode::Canceled, "Stopped before it was done")
}

fn path_error(message: String) -> ToolOutput {
    ToolOutput::failure(ToolCode::PathError, message)
}
