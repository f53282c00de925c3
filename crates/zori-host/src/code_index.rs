//! The code index of a project: where it is, and how it follows the files. A file whose size and time are as they were is not opened; one that
//! has other contents is read, and nothing else.
//!
//! Nothing is looked at before somebody asks: a project that never used its index pays one look for a marker.

mod pass;
mod places;
mod tools;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zori_core::time::Clock;
use zori_index::{Database, IndexError, ProjectStore};

use crate::memory::{StorePlace, VectorSettings};
use crate::use_marker;

pub use pass::{Pass, Progress};
pub use places::{CodeQuery, indexed_so_far, search as search_code, unknown_kind};
pub(crate) use tools::tools;

/// Says of a file whether it may hold secrets.
pub type IsSensitive = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

/// Whether the grammars of the languages are built in.
pub const GRAMMARS: bool = zori_syntax::GRAMMARS;

/// Where the code index of a project is, and what it is made from.
#[derive(Clone)]
pub struct CodeIndexPlace {
    /// The database.
    pub database: PathBuf,
    /// The root of the project, canonical.
    pub project: PathBuf,
    /// Where temporary files go.
    pub scratch: PathBuf,
    /// The file that says that the project uses its index.
    pub marker: PathBuf,
    /// Whether what is written outlives a loss of power (`durability = "full"`).
    pub durable: bool,
    /// Which files are not indexed because of what they may hold.
    pub sensitive: IsSensitive,
    /// What makes vectors of code, where code is found by likeness, too.
    pub vectors: Option<VectorSettings>,
}

impl std::fmt::Debug for CodeIndexPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CodeIndexPlace").field("project", &self.project).finish_non_exhaustive()
    }
}

impl CodeIndexPlace {
    /// Returns whether the project has used its index.
    pub fn is_used(&self) -> bool {
        self.marker.exists()
    }

    /// Notes that the project uses its index.
    pub fn mark_used(&self) -> io::Result<()> {
        use_marker::set(&self.marker)
    }

    /// Notes that the project does not use it any more.
    pub fn mark_unused(&self) -> io::Result<()> {
        use_marker::unset(&self.marker)
    }

    /// Opens it for writing; what is missing is made.
    pub fn open(&self) -> Result<ProjectStore, IndexError> {
        let database = Database::open(&self.database)?;
        ProjectStore::new(if self.durable { database.synced()? } else { database }, &self.project)
    }

    /// Opens it for reading, without a trace; `None` where there is nothing yet.
    pub fn read(&self) -> Result<Option<ProjectStore>, IndexError> {
        let database = Database::read_existing(&self.database, &self.scratch)?;
        database.map(|database| ProjectStore::new(database, &self.project)).transpose()
    }

    /// Brings the index up to date. `go_on` is asked before every file, and may wait; with `false` the pass ends there, and the next one
    /// goes on where it ended.
    pub fn sync(
        &self,
        store: &mut ProjectStore,
        clock: &dyn Clock,
        go_on: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<Pass, IndexError> {
        pass::run(self, store, clock, go_on)
    }
}

impl StorePlace for CodeIndexPlace {
    fn open(&self) -> Result<ProjectStore, IndexError> {
        self.open()
    }
}
