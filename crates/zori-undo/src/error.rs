//! Why something of undo cannot be done.

use std::io;
use std::path::PathBuf;

/// Why something of undo cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// The store is not ours alone, so nothing in it is trusted.
    #[error("undo is off: {path} {why}")]
    Unsafe {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Whoever had to be told first could not be.
    #[error("nothing was put back: {0}")]
    Untold(String),
    /// Another restore runs in this project.
    #[error("another undo runs in this project")]
    Busy,
    /// An undo was cut off and is not finished yet.
    #[error("an undo in this project was cut off and is not finished: {plan}")]
    Pending { plan: PathBuf },
    /// A session captures into the store.
    #[error("a session runs in this project")]
    InUse,
}

impl UndoError {
    /// Returns what turns a system's refusal about a path into an error.
    pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
