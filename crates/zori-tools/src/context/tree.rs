//! The files of a workspace, in byte order, and a hash that changes when they do (CB-3, CB-4).

use std::fmt::Write;
use std::time::UNIX_EPOCH;

use ignore::WalkBuilder;
use sha2::{Digest, Sha256};

use super::ContextSettings;

/// The files of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// In the order of their paths' bytes, folder by folder.
    pub files: Vec<FileEntry>,
    /// Whether there are more.
    pub truncated: bool,
    /// How many folders and files could not be read.
    pub unreadable: usize,
    /// How many links, pipes, sockets and devices there were.
    pub others: usize,
}

/// One file.
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
        let ignored = settings.ignore_dirs.clone();
        let walk = WalkBuilder::new(&settings.root)
            .hidden(false)
            .follow_links(false)
            .max_depth(Some(settings.max_depth + 1))
            .git_global(false)
            .require_git(false)
            .ignore(settings.respect_gitignore)
            .git_ignore(settings.respect_gitignore)
            .git_exclude(settings.respect_gitignore)
            .parents(false)
            .sort_by_file_name(|a, b| a.as_encoded_bytes().cmp(b.as_encoded_bytes()))
            .filter_entry(move |entry| {
                let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
                !(is_dir
                    && entry.depth() > 0
                    && ignored.iter().any(|name| entry.file_name() == name.as_str()))
            })
            .build();
        let mut tree = Self::default();
        for entry in walk {
            let Ok(entry) = entry else {
                tree.unreadable += 1;
                continue;
            };
            match entry.file_type() {
                Some(kind) if kind.is_file() => {}
                kind => {
                    tree.others += usize::from(!kind.is_some_and(|kind| kind.is_dir()));
                    continue;
                }
            }
            if tree.files.len() == settings.max_files {
                tree.truncated = true;
                break;
            }
            let Ok(meta) = entry.metadata() else {
                tree.unreadable += 1;
                continue;
            };
            let path = entry.path().strip_prefix(&settings.root).unwrap_or(entry.path());
            let mtime = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            tree.files.push(FileEntry {
                path: path.to_string_lossy().into_owned(),
                bytes: meta.len(),
                mtime: mtime.map_or(0, |since| since.as_secs()),
            });
        }
        tree
    }

    /// Returns how many bytes the files have together.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Returns the hash of what the files are called, how long they are and when they changed.
    pub fn signature(&self) -> String {
        if self.files.is_empty() {
            return "empty".to_owned();
        }
        let (mut hash, mut line) = (Sha256::new(), String::new());
        for (number, file) in self.files.iter().enumerate() {
            line.clear();
            let between = if number == 0 { "" } else { "\n" };
            let _ = write!(line, "{between}{}:{}:{}", file.path, file.mtime, file.bytes);
            hash.update(&line);
        }
        let mut hex = String::with_capacity(64);
        for byte in hash.finalize() {
            let _ = write!(hex, "{byte:02x}");
        }
        hex
    }
}
