//! The files of a workspace, in byte order, and a hash that changes when they do (CB-3, CB-4). `walk` finds them.

use std::fmt::Write;
use std::sync::OnceLock;

use sha2::{Digest, Sha256};

use super::ContextSettings;
use super::walk::Walk;

/// The files of a workspace.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// In the order of their paths' bytes, folder by folder.
    pub files: Vec<FileEntry>,
    /// Whether there are more.
    pub truncated: bool,
    /// How many folders were not entered, since they are too deep.
    pub deeper: usize,
    /// How many folders and files could not be read.
    pub unreadable: usize,
    /// How many links, pipes, sockets and devices there were.
    pub others: usize,
    signature: OnceLock<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// The path below the root; bytes that are no text are replaced.
    pub path: String,
    pub bytes: u64,
    /// Seconds since 1970; 0 where nobody knows.
    pub mtime: u64,
}

impl Tree {
    /// Walks the workspace. Links are not followed; what is no regular file is left out.
    pub fn read(settings: &ContextSettings) -> Self {
        let mut tree = Self::default();
        Walk::new(settings, &mut tree).run();
        tree
    }

    /// Returns how many bytes the files have together.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Takes over the hash of a tree that has the same files: comparing them is cheaper than hashing.
    pub fn take_signature_of(&self, before: &Self) {
        if let Some(signature) = before.signature.get()
            && self.files == before.files
        {
            // It may be there already, and is the same then.
            let _ = self.signature.set(signature.clone());
        }
    }

    /// Returns the hash of what the files are called, how long they are and when they changed.
    pub fn signature(&self) -> &str {
        self.signature.get_or_init(|| self.hash())
    }

    fn hash(&self) -> String {
        if self.files.is_empty() {
            return "empty".to_owned();
        }
        let (mut hash, mut lines) = (Sha256::new(), String::new());
        for (number, file) in self.files.iter().enumerate() {
            let between = if number == 0 { "" } else { "\n" };
            let _ = write!(lines, "{between}{}:{}:{}", file.path, file.mtime, file.bytes);
            if lines.len() > 16 * 1024 {
                hash.update(&lines);
                lines.clear();
            }
        }
        hash.update(&lines);
        let mut hex = String::with_capacity(64);
        for byte in hash.finalize() {
            let _ = write!(hex, "{byte:02x}");
        }
        hex
    }
}
