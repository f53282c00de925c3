//! The files this session has read or written, so that a change by another program is noticed (FS-7).
//!
//! Where an editor holds the files, its text is read and written (`zori_core::files`).
//!
//! A file read whole is known by its content; of one read in part only size and time can be compared.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use zori_core::cancel::Cancel;
use zori_core::files::ClientFiles;

use crate::open_dir::FileMeta;

/// The files this session has seen, by canonical path.
#[derive(Default)]
pub struct SeenFiles {
    marks: Mutex<HashMap<PathBuf, SeenState>>,
    /// Writes that were refused once: the file, and what it would have held.
    warnings: Mutex<HashMap<PathBuf, SeenState>>,
    held: Option<Arc<dyn ClientFiles>>,
}

/// What is remembered of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeenState {
    /// All of it was seen.
    Whole {
        /// How long it was.
        len: u64,
        /// What it held.
        hash: u64,
    },
    /// Only a part was seen.
    Part {
        /// Which file it was.
        inode: (u64, u64),
        /// How long it was.
        len: u64,
        /// When it had been changed, in seconds and nanoseconds.
        modified: (i64, i64),
    },
}

impl SeenState {
    /// The mark of a file whose whole content is known.
    pub fn whole(content: &[u8]) -> Self {
        // Not cryptographic on purpose: it notices accidents, and nobody gains by faking it.
        let mut hasher = DefaultHasher::new();
        hasher.write(content);
        Self::Whole { len: content.len() as u64, hash: hasher.finish() }
    }

    /// The mark of a file of which only a part was read.
    pub fn part(meta: &FileMeta) -> Self {
        Self::Part { inode: meta.inode, len: meta.len, modified: meta.modified }
    }

    /// Returns whether the file may be unchanged, without reading it.
    pub fn plausible(&self, meta: &FileMeta) -> bool {
        match self {
            Self::Whole { len, .. } => *len == meta.len,
            Self::Part { .. } => *self == Self::part(meta),
        }
    }

    /// Returns whether the file with this content is unchanged.
    pub fn holds(&self, content: &[u8], meta: &FileMeta) -> bool {
        match self {
            Self::Whole { .. } => *self == Self::whole(content),
            Self::Part { .. } => *self == Self::part(meta),
        }
    }
}

impl SeenFiles {
    /// Starts with no files; `held` is the editor that holds them.
    pub fn of(held: Option<Arc<dyn ClientFiles>>) -> Self {
        Self { marks: Mutex::default(), warnings: Mutex::default(), held }
    }

    /// Returns a file's text as an editor holds it, if one does.
    pub fn held(&self, path: &Path) -> Option<String> {
        self.held.as_ref()?.read(path)
    }

    /// Returns whether an editor stores files.
    pub fn stores(&self) -> bool {
        self.held.as_ref().is_some_and(|held| held.writes())
    }

    /// Stores a file's text with the editor that holds it; `None` where none does.
    ///
    /// A call that was cancelled while it waited for the editor stores nothing any more.
    pub fn store(&self, path: &Path, text: &str, cancel: &Cancel) -> Option<Result<(), String>> {
        let held = self.held.as_ref().filter(|held| held.writes())?;
        match cancel.is_cancelled() {
            true => Some(Err("the call was cancelled".to_owned())),
            false => held.write(path, text),
        }
    }

    /// Remembers a file.
    pub fn remember(&self, path: &Path, mark: SeenState) {
        self.lock().insert(path.to_owned(), mark);
    }

    /// Returns whether a write of this content to this file was refused before, and remembers it for the next time.
    pub fn warned(&self, path: &Path, content: &[u8]) -> bool {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        warnings.insert(path.to_owned(), SeenState::whole(content)) == Some(SeenState::whole(content))
    }

    /// Forgets a file that is gone.
    pub fn forget(&self, path: &Path) {
        self.lock().remove(path);
    }

    /// Returns what is remembered of a file.
    pub fn mark(&self, path: &Path) -> Option<SeenState> {
        self.lock().get(path).copied()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, SeenState>> {
        // A panicking tool leaves a map that is still whole.
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
