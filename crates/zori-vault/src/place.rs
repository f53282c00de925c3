//! Where the vault is: two files and a lock beside each other (VLT-1).

use std::path::{Path, PathBuf};

/// The files of a vault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaultPlace {
    /// The secrets, encrypted.
    pub file: PathBuf,
    /// What opens them.
    pub key: PathBuf,
}

impl VaultPlace {
    /// Returns the vault of a folder.
    pub fn in_dir(dir: &Path) -> Self {
        Self { file: dir.join("vault.age"), key: dir.join("vault.key") }
    }

    /// Returns whether somebody has made a vault here. Nothing is opened to find out.
    pub fn is_made(&self) -> bool {
        self.file.symlink_metadata().is_ok()
    }

    /// Returns the copy of a file that is kept when it is replaced.
    pub fn backup(path: &Path) -> PathBuf {
        with_suffix(path, "bak")
    }

    pub(crate) fn lock(&self) -> PathBuf {
        with_suffix(&self.file, "lock")
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(suffix);
    path.with_file_name(name)
}
