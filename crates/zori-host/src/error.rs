//! Why a session cannot be opened.

use std::path::PathBuf;

use zori_core::ids::SessionId;
use zori_store::StoreError;

/// Why a session cannot be opened. The caller chooses the advice: a command line has other ways out than an editor.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// Another process writes to the session.
    #[error("{source}")]
    Locked {
        /// The process that holds it, if it has said so.
        pid: Option<u32>,
        /// The lock.
        lock_file: PathBuf,
        /// What the store says.
        source: StoreError,
    },
    /// The session must be saved, and cannot be.
    #[error("Failed to save session: {0}")]
    CannotSave(StoreError),
    /// The session's file cannot be read.
    #[error("cannot read session `{id}`: {source}")]
    Unreadable {
        /// The session.
        id: SessionId,
        /// What the store says.
        source: StoreError,
    },
    /// A sandbox is required, and there is none.
    #[error("{why}")]
    NoSandbox {
        /// What is missing.
        why: String,
        /// What could be done about it.
        advice: Option<String>,
    },
    /// The audit log is required, and cannot be written.
    #[error("the audit log cannot be written: {0}")]
    NoAudit(String),
}
