//! Why the vault cannot be used. No secret is in it.

use std::io;
use std::path::{Path, PathBuf};

/// What is wrong with the vault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VaultError {
    /// Nobody has made a vault.
    #[error("there is no vault at {}", .0.display())]
    Missing(PathBuf),
    /// There is one already.
    #[error("there is a vault already: {}", .0.display())]
    Exists(PathBuf),
    /// The file that opens it is gone.
    #[error("the key of the vault is missing: {}", .0.display())]
    KeyMissing(PathBuf),
    /// Others could open it.
    #[error("the key of the vault can be read by others: {}", .0.display())]
    KeyReadable(PathBuf),
    /// The key does not fit, or one of the files is damaged.
    #[error("{} {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The second half of the sentence.
        why: &'static str,
    },
    /// One of the files cannot be read or written.
    #[error("cannot {what} {}: {why}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        why: String,
    },
    /// A name that no entry can have. It is not repeated: somebody may have typed a value.
    #[error("the name of an entry has 1 to 128 letters, digits, `_`, `-`, `.` and `:`")]
    BadName,
    /// An entry of this name exists.
    #[error("the vault has an entry `{0}` already")]
    EntryExists(String),
    /// No backend has an entry of this name.
    #[error("no secret `{0}` is in the environment, the credential store or the vault")]
    NoEntry(String),
}

impl VaultError {
    pub(crate) fn io(what: &'static str, path: &Path, error: &io::Error) -> Self {
        Self::Io { what, path: path.to_owned(), why: error.to_string() }
    }
}
