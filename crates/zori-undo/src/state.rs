//! What can be at a path: nothing, a file by its content, a link, a folder. And what becomes of it.

use std::path::PathBuf;

use crate::hash::Hash;

/// What is at a path; `None` stands for nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// A regular file.
    File {
        /// What it holds.
        content: Content,
        /// Its permission bits.
        mode: u32,
        /// How long it is.
        len: u64,
    },
    /// A symbolic link.
    Link {
        /// Where it leads, as it says.
        to: Vec<u8>,
    },
    /// A folder; what is in it has paths of its own.
    Dir {
        /// Its permission bits.
        mode: u32,
    },
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Bytes of this BLAKE3, which are in the store unless they were dropped.
    Stored(Hash),
    /// A blob of the project's git repository, by its id in hex.
    Git(Box<str>),
    /// It was not taken: too large, or it could not be read (UNDO-10).
    NotTaken,
}

impl State {
    /// Returns whether it is a folder.
    pub fn is_dir(&self) -> bool {
        matches!(self, Self::Dir { .. })
    }

    /// Returns what a file holds.
    pub fn content(&self) -> Option<&Content> {
        match self {
            Self::File { content, .. } => Some(content),
            Self::Link { .. } | Self::Dir { .. } => None,
        }
    }

    /// Returns the permission bits of a file or folder.
    pub fn mode(&self) -> Option<u32> {
        match self {
            Self::File { mode, .. } | Self::Dir { mode } => Some(*mode),
            Self::Link { .. } => None,
        }
    }
}

/// Returns whether two states are known to be the same. A content that was not taken is like no other.
pub fn same(a: Option<&State>, b: Option<&State>) -> bool {
    a == b && a.and_then(State::content) != Some(&Content::NotTaken)
}

/// One path, before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The absolute path.
    pub path: PathBuf,
    /// What was there.
    pub before: Option<State>,
    /// What is there since.
    pub after: Option<State>,
}

impl Change {
    /// Sorts by path. All that sorts these does it here: a sort is much code, and each caller's would be another one.
    pub(crate) fn sort(all: &mut [Self]) {
        all.sort_by(|a, b| a.path.cmp(&b.path));
    }
}
