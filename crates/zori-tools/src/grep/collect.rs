//! Keeps the first matches of all files, in path order, while threads find them in any order.
//!
//! What is kept depends on the files alone, never on which thread was faster: a file stays exactly if the files
//! before it do not fill the bound yet. As soon as they do, later paths need not be searched at all.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::grep::query::{Mode, Page};
use crate::grep::search::FileMatches;

/// How many bytes of lines are kept of all files together.
const MAX_BYTES: usize = 16 << 20;

/// Takes what the threads find.
pub struct Collector {
    bound: usize,
    mode: Mode,
    state: Mutex<State>,
    /// Counts the changes of the cutoff, so that threads ask for the lock only when there was one.
    version: AtomicUsize,
}

/// A thread's copy of the path beyond which nothing is wanted.
#[derive(Default)]
pub struct Cutoff {
    version: usize,
    path: Option<Arc<[u8]>>,
}

#[derive(Default)]
struct State {
    files: BTreeMap<Arc<[u8]>, FileMatches>,
    weight: usize,
    bytes: usize,
    cutoff: Option<Arc<[u8]>>,
}

/// The first files with matches, in path order.
pub struct Collected {
    /// Each file's absolute path and what was found in it.
    pub files: BTreeMap<Arc<[u8]>, FileMatches>,
    /// Whether there was too much text to keep.
    pub overflow: bool,
}

impl Collector {
    /// Keeps as much as a page needs.
    pub fn new(page: &Page, mode: Mode) -> Self {
        Self { bound: page.bound(), mode, state: Mutex::default(), version: AtomicUsize::new(0) }
    }

    /// Returns whether matches in this file could be among the first.
    pub fn wants(&self, path: &[u8], cutoff: &mut Cutoff) -> bool {
        self.refresh(cutoff);
        cutoff.path.as_deref().is_none_or(|last| path < last)
    }

    /// Returns whether matches in files below this directory could be among the first.
    pub fn wants_below(&self, dir: &[u8], cutoff: &mut Cutoff) -> bool {
        self.refresh(cutoff);
        // The smallest path below is the directory's with a separator.
        cutoff.path.as_deref().is_none_or(|last| match last.strip_prefix(dir) {
            Some(rest) => rest.first().is_none_or(|byte| *byte >= b'/'),
            None => dir < last,
        })
    }

    /// Adds a file's matches.
    pub fn add(&self, path: &[u8], found: FileMatches) {
        let mut guard = self.lock();
        let state = &mut *guard;
        state.weight += weight(self.mode, &found);
        state.bytes += found.bytes;
        state.files.insert(path.into(), found);
        while let Some(last) = state.files.last_entry() {
            let (weight, bytes) = (weight(self.mode, last.get()), last.get().bytes);
            if state.weight - weight < self.bound && state.bytes - bytes < MAX_BYTES {
                break;
            }
            last.remove();
            state.weight -= weight;
            state.bytes -= bytes;
        }
        if state.weight >= self.bound || state.bytes >= MAX_BYTES {
            let last = state.files.last_key_value().map(|(path, _)| Arc::clone(path));
            if state.cutoff != last {
                state.cutoff = last;
                self.version.fetch_add(1, Ordering::Release);
            }
        }
    }

    /// Returns what was kept.
    pub fn finish(self) -> Collected {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        Collected { files: state.files, overflow: state.bytes >= MAX_BYTES }
    }

    fn refresh(&self, cutoff: &mut Cutoff) {
        let version = self.version.load(Ordering::Acquire);
        if cutoff.version != version {
            *cutoff = Cutoff { version, path: self.lock().cutoff.clone() };
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns how much of a page a file takes: its matches where they are shown, else one.
pub fn weight(mode: Mode, found: &FileMatches) -> usize {
    if mode == Mode::Content { found.count } else { 1 }
}
