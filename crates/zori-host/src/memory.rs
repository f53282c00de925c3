//! What is known of earlier sessions of a project: where it is kept, and how the copy in the database follows the session files.
//!
//! The session files are the truth. Nothing is written while a turn runs: whoever searches brings the copy up to date first, so that a
//! project that never used its memory pays one look for a file.

mod copy;
mod recall;
mod tools;
mod vectors;

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use zori_core::ids::SessionId;
use zori_index::{Database, IndexError, ProjectStore, Recalled, SessionFile, Synced};
use zori_store::{RecordKind, SessionDir, StoreError, project_root};

use crate::use_marker;

pub(crate) use recall::{AutoRecall, Recollection};
pub(crate) use tools::tools;
pub use vectors::{AskedBy, EmbedderSettings, QdrantSettings, StorePlace, VectorSettings, Vectors};

/// How the memory of a project is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recall {
    /// Not at all.
    Off,
    /// When the model asks, by its tools.
    #[default]
    Manual,
    /// Also by itself: what fits a prompt goes with it.
    Auto,
}

/// The memory of a session's project.
#[derive(Clone, Debug)]
pub struct MemorySettings {
    /// Where it is.
    pub place: MemoryPlace,
    /// How it is used.
    pub recall: Recall,
    /// What likeness is by.
    pub vectors: VectorSettings,
}

/// Where the memory of a project is, and what it is made from.
#[derive(Clone, Debug)]
pub struct MemoryPlace {
    /// The database.
    pub database: PathBuf,
    /// The folder of the session files.
    pub sessions: PathBuf,
    /// The root of the project, canonical.
    pub project: PathBuf,
    /// The home directory, above which no project is looked for.
    pub home: Option<PathBuf>,
    /// Where temporary files go.
    pub scratch: PathBuf,
    /// The file that says that the project uses its memory.
    pub marker: PathBuf,
    /// Whether what is written outlives a loss of power (`durability = "full"`).
    pub durable: bool,
}

impl MemoryPlace {
    /// Returns whether the project has used its memory.
    pub fn is_used(&self) -> bool {
        self.marker.exists()
    }

    /// Notes that the project uses its memory.
    pub fn mark_used(&self) -> io::Result<()> {
        use_marker::set(&self.marker)
    }

    /// Opens it for writing; what is missing is made.
    pub fn open(&self) -> Result<ProjectStore, IndexError> {
        let database = Database::open(&self.database)?;
        ProjectStore::new(if self.durable { database.synced()? } else { database }, &self.project)
    }

    /// Returns what an error means for whoever goes on without memory. A damaged database is put aside, so that the next use begins anew (DB-4).
    pub fn explain(&self, error: &IndexError, now: i64) -> String {
        let aside = match error {
            IndexError::Damaged { .. } => Database::set_aside(&self.database, now).ok().flatten(),
            _ => None,
        };
        match aside {
            Some(aside) => format!(
                "{error}; it was put aside as {}, and the next search makes a new one from the session files; scheduled jobs have to be added again",
                aside.display()
            ),
            None => format!("{error}; {}", error.way_on()),
        }
    }

    /// Opens it for reading, without a trace; `None` where there is nothing yet.
    pub fn read(&self) -> Result<Option<ProjectStore>, IndexError> {
        let database = Database::read_existing(&self.database, &self.scratch)?;
        database.map(|database| ProjectStore::new(database, &self.project)).transpose()
    }

    /// Returns the sessions that were begun in the project.
    pub fn sessions(&self) -> Result<Vec<SessionId>, StoreError> {
        Ok(self.sessions_and_strays()?.0)
    }

    /// Returns the sessions that were begun in the project, and those that have words but do not say where they were begun.
    pub fn sessions_and_strays(&self) -> Result<(Vec<SessionId>, Vec<SessionId>), StoreError> {
        let sessions = SessionDir::new(self.sessions.clone());
        // Many sessions are begun in few folders, each of which is looked for once.
        let mut known: HashMap<PathBuf, bool> = HashMap::new();
        let (mut own, mut strays) = (Vec::new(), Vec::new());
        for id in sessions.list()?.into_iter().map(|entry| entry.id) {
            if let Some(root) = begun_in(&sessions, &id) {
                let is_own =
                    known.entry(root).or_insert_with_key(|root| self.project_of(root) == self.project);
                own.extend(is_own.then_some(id));
            } else if fs::metadata(sessions.file(&id)).is_ok_and(|facts| facts.len() > 0) {
                strays.push(id);
            }
        }
        Ok((own, strays))
    }

    /// Returns the project that a folder belongs to.
    pub fn project_of<'p>(&self, folder: &'p Path) -> &'p Path {
        project_root(folder, self.home.as_deref())
    }

    /// Returns the files of the project's sessions, as they are now.
    pub fn files(&self) -> Result<Vec<SessionFile>, IndexError> {
        let sessions = SessionDir::new(self.sessions.clone());
        let file = |id: SessionId| {
            let facts = fs::metadata(sessions.file(&id)).ok()?;
            let time = facts.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
            let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            Some(SessionFile { name: id.as_str().to_owned(), len: facts.len(), time })
        };
        let own = self.sessions().map_err(|error| match error {
            StoreError::Io { path, source } => IndexError::Failed { path, why: source.to_string() },
            locked @ StoreError::Locked { .. } => {
                IndexError::Failed { path: self.sessions.clone(), why: locked.to_string() }
            }
        })?;
        let mut files: Vec<_> = own.into_iter().filter_map(file).collect();
        // Oldest first, so that what was said later has the higher number.
        files.sort_by(|a, b| (a.time, &a.name).cmp(&(b.time, &b.name)));
        Ok(files)
    }

    /// Brings the copy up to date, or makes all of it anew. `now`: seconds since 1970.
    pub fn sync(&self, store: &mut ProjectStore, anew: bool, now: i64) -> Result<Synced, IndexError> {
        self.sync_while(store, anew, now, || true)
    }

    /// Does the same as long as `go_on` says so; what was read until then stays.
    pub fn sync_while(
        &self,
        store: &mut ProjectStore,
        anew: bool,
        now: i64,
        go_on: impl FnMut() -> bool,
    ) -> Result<Synced, IndexError> {
        let sessions = SessionDir::new(self.sessions.clone());
        let read = |name: &str| copy::of(&sessions, &SessionId::parse(name).ok()?);
        store.sync_while(&self.files()?, anew, now, read, go_on)
    }
}

impl StorePlace for MemoryPlace {
    fn open(&self) -> Result<ProjectStore, IndexError> {
        self.open()
    }
}

/// Returns the folder that a session was begun in, as its first record has it.
pub fn begun_in(sessions: &SessionDir, id: &SessionId) -> Option<PathBuf> {
    match sessions.records(id).ok()??.next()?.ok()?.kind {
        RecordKind::Meta(meta) => meta.root,
        _ => None,
    }
}

/// Returns the numbers of messages that were recalled.
fn numbers(found: &[Recalled]) -> Vec<i64> {
    found.iter().map(|recalled| recalled.message.id).collect()
}
