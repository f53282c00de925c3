//! Text files as somebody else holds them: an editor, whose buffers may have changes that are not saved.

use std::path::Path;

/// An editor's files. Reading and writing are called on threads that may wait, after the path was judged, and with the place it leads to.
pub trait HeldFiles: Send + Sync {
    /// Returns a file's text as it is there; `None` where it cannot be had from there, and then the disk has it.
    fn read(&self, path: &Path) -> Option<String>;

    /// Returns whether files can be stored there.
    fn writes(&self) -> bool;

    /// Stores a file's text there, and with that on disk; `None` where that is not offered.
    fn write(&self, path: &Path, text: &str) -> Option<Result<(), String>>;
}
