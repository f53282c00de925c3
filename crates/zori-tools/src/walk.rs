//! The one walk over a directory tree that `glob`, `grep` and `ls` share: parallel, ignore files respected, links
//! not followed, and stopped within an entry of being cancelled.
//!
//! Visitors decide what to keep. They see entries in no particular order, so they have to bound and sort what they
//! keep: [`smallest`] does that for most.

pub mod filter;
pub mod smallest;
pub mod start;
#[cfg(test)]
pub mod tree;

use std::any::Any;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use ignore::types::Types;
pub use ignore::{DirEntry, WalkState};
use ignore::{Error, ParallelVisitor, ParallelVisitorBuilder, WalkBuilder};
use zori_core::cancel::Cancel;

/// More threads than this gain nothing on one disk, and each costs a search buffer.
const MAX_THREADS: usize = 8;

pub struct Walk<'a> {
    /// The working directory. Outside a git repository, ignore files above it do not count: a `*` in a home
    /// directory's `.gitignore` must not hide every project below it.
    pub root: &'a Path,
    /// The directory to walk: absolute, normalised, and walked even if it is itself hidden or ignored.
    pub start: &'a Path,
    /// Whether names that begin with a dot are seen.
    pub hidden: Hidden,
    /// How many levels below `start` are seen; `None` is all of them.
    pub max_depth: Option<usize>,
    /// File types to keep, if only some.
    pub types: Option<Types>,
}

/// What happens to names that begin with a dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// They are left out.
    Skip,
    /// They are seen like any other; `.git` is seen but never entered.
    Show,
}

/// Sees the entries that one thread finds.
pub trait Visitor: Send {
    /// Takes an entry below the start and says how the walk goes on.
    fn visit(&mut self, entry: &DirEntry) -> WalkState;

    /// Called for a directory that could not be read.
    fn failed(&mut self) {}
}

/// The walk was cancelled; what the visitors saw is incomplete.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the walk was cancelled")]
pub struct Cancelled;

impl Walk<'_> {
    /// Walks the tree with one visitor per thread and returns the visitors.
    ///
    /// Panics if a visitor did, but only after all threads have ended.
    pub fn run<V: Visitor>(&self, cancel: &Cancel, make: impl FnMut() -> V) -> Result<Vec<V>, Cancelled> {
        let back = Returned { visitors: Mutex::default(), panic: Mutex::default() };
        self.builder().build_parallel().visit(&mut VisitorBuilder { cancel, make, back: &back });
        if let Some(panic) = back.panic.into_inner().unwrap_or_else(PoisonError::into_inner) {
            resume_unwind(panic);
        }
        if cancel.is_cancelled() {
            return Err(Cancelled);
        }
        Ok(back.visitors.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn builder(&self) -> WalkBuilder {
        let mut builder = WalkBuilder::new(self.start);
        builder
            .hidden(self.hidden == Hidden::Skip)
            .max_depth(self.max_depth)
            .threads(threads())
            .require_git(false)
            // The global file is found through the environment, which a library does not read.
            .git_global(false);
        if let Some(types) = &self.types {
            builder.types(types.clone());
        }
        if !in_repository(self.start) {
            builder.parents(false);
            for dir in between(self.root, self.start) {
                builder.current_dir(dir);
                for name in [".gitignore", ".ignore"] {
                    let file = dir.join(name);
                    if file.is_file() {
                        // A line of it that is no glob is skipped, as everywhere else.
                        let _ = builder.add_ignore(file);
                    }
                }
            }
        }
        builder
    }
}

/// How many threads a walk uses.
pub fn threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| std::thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS))
}

fn in_repository(dir: &Path) -> bool {
    dir.ancestors().any(|dir| dir.join(".git").exists())
}

/// Returns the directories from `root` to the parent of `start`, outermost first; none if `start` is not below.
fn between<'a>(root: &Path, start: &'a Path) -> Vec<&'a Path> {
    if !start.starts_with(root) {
        return Vec::new();
    }
    let mut dirs: Vec<_> = start.ancestors().skip(1).take_while(|dir| dir.starts_with(root)).collect();
    dirs.reverse();
    dirs
}

/// What the threads return.
struct Returned<V> {
    visitors: Mutex<Vec<V>>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// Makes the visitors of all threads.
struct VisitorBuilder<'a, V, F> {
    cancel: &'a Cancel,
    make: F,
    back: &'a Returned<V>,
}

impl<'a, V: Visitor + 'a, F: FnMut() -> V> ParallelVisitorBuilder<'a> for VisitorBuilder<'a, V, F> {
    fn build(&mut self) -> Box<dyn ParallelVisitor + 'a> {
        Box::new(Worker { cancel: self.cancel, visitor: Some((self.make)()), back: self.back })
    }
}

/// A visitor at work; it is handed back when the thread ends.
struct Worker<'a, V> {
    cancel: &'a Cancel,
    visitor: Option<V>,
    back: &'a Returned<V>,
}

impl<V: Visitor> ParallelVisitor for Worker<'_, V> {
    fn visit(&mut self, entry: Result<DirEntry, Error>) -> WalkState {
        let Some(visitor) = self.visitor.as_mut().filter(|_| !self.cancel.is_cancelled()) else {
            return WalkState::Quit;
        };
        // The walker's other threads would wait for ever for one that unwound.
        let visited = catch_unwind(AssertUnwindSafe(|| match &entry {
            Ok(entry) if entry.depth() == 0 => WalkState::Continue,
            Ok(entry) => match visitor.visit(entry) {
                WalkState::Continue if entry.file_name() == ".git" => WalkState::Skip,
                state => state,
            },
            Err(error) => {
                // An ignore file with a bad line is a partial error: the walk goes on with the rest of it.
                if !error.is_partial() {
                    visitor.failed();
                }
                WalkState::Continue
            }
        }));
        visited.unwrap_or_else(|panic| {
            *self.back.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
            WalkState::Quit
        })
    }
}

impl<V> Drop for Worker<'_, V> {
    fn drop(&mut self) {
        if let Some(visitor) = self.visitor.take() {
            self.back.visitors.lock().unwrap_or_else(PoisonError::into_inner).push(visitor);
        }
    }
}

#[cfg(test)]
mod tests;
