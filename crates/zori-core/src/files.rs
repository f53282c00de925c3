//! Text files that a client provides: an editor, whose buffers may have unsaved changes.

use std::path::Path;

/// The text files of a client. Calls come on threads that may block, after the policy has judged the path, and with the
/// place that the path leads to.
pub trait ClientFiles: Send + Sync {
    /// Returns a file's text as the client has it; `None` if the client does not have it and the disk counts.
    fn read(&self, path: &Path) -> Option<String>;

    /// Returns whether the client can write files.
    fn writes(&self) -> bool;

    /// Writes a file's text, in the client and on disk; `None` if the client cannot write.
    fn write(&self, path: &Path, text: &str) -> Option<Result<(), String>>;
}
