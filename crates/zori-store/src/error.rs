//! What goes wrong with session files as a whole. A damaged line is not an error: see [`crate::Damage`].

use std::io;
use std::path::{Path, PathBuf};

use zori_core::ids::SessionId;

/// Why a session cannot be read, listed or opened.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has the session open (LOG-8).
    #[error("session `{id}` is in use by {}", holder(*pid))]
    Locked {
        id: SessionId,
        /// The process that holds it, if known.
        pid: Option<u32>,
    },
    /// The file system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// What was touched.
        path: PathBuf,
        /// Its answer.
        source: io::Error,
    },
}

impl StoreError {
    /// Returns a function that adds the path to an I/O error.
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}
