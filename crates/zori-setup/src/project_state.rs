//! All that is kept of a project, over all places it is kept in: what `project show` counts and `project purge` deletes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zori_core::ids::SessionId;
use zori_host::{MemoryPlace, Purged, UndoError, begun_in, count_undo};
use zori_index::{Counts, Database, IndexError, Kept, project_key};
use zori_store::{SessionDir, StoreError, project_dir};

use crate::data_dir::DataDir;
use crate::debug_dump;
use crate::drafts::Drafts;
use crate::memory;
use crate::uses;

/// Further tables of the database, and what their rows are called. Tables that are not named are deleted all the same.
const OTHER_ROWS: &[(&str, &str)] = &[
    ("entities", "entities"),
    ("edges", "facts"),
    ("summaries", "summaries"),
    ("plans", "plans"),
    ("channel_preferences", "preferences"),
];

/// What is kept of a project.
pub struct ProjectState {
    pub place: MemoryPlace,
    /// The project's folder below the base directory.
    pub folder: PathBuf,
    /// The folder that notes what the project uses.
    pub notes: PathBuf,
    pub sessions: Vec<SessionId>,
    /// Session files that were put into the trash.
    pub trashed: Vec<PathBuf>,
    /// Session files, also in the trash, that do not say where they were begun: their beginning is damaged.
    pub strays: Vec<PathBuf>,
    /// What is written for GUIs beside the sessions.
    pub transcripts: Vec<PathBuf>,
    /// What was being typed.
    pub drafts: Vec<PathBuf>,
    /// Folders that `/feedback` wrote, each with a copy of a session.
    pub feedback: Vec<PathBuf>,
    /// The files of the project's folder, checkpoints and the audit log aside: prompt history, preferences; and the notes of what it uses.
    pub files: Vec<PathBuf>,
    /// The audit log and what was put aside of it.
    pub audit: Vec<PathBuf>,
    /// Folders of debug dumps in the project itself.
    pub debug: Vec<PathBuf>,
    /// Whether a link stands where debug dumps are.
    pub debug_linked: bool,
    /// Captured contents.
    pub undo: Purged,
    /// Rows of the database.
    pub rows: Counts,
    /// What stays.
    pub kept: Kept,
}

/// Why it cannot be said what is kept.
pub enum Unclear {
    /// What is in a folder cannot be listed: it is not as if nothing were in it.
    Folder(StoreError),
    Database(IndexError),
    Undo(UndoError),
}

impl ProjectState {
    /// Looks at everything, and changes nothing.
    pub fn look(data_dir: &DataDir, folder: &Path, scratch: &Path) -> Result<Self, Unclear> {
        let place = memory::place(data_dir, folder, scratch);
        let own = project_dir(data_dir.dir(), &place.project);
        let (sessions, strays) = place.sessions_and_strays().map_err(Unclear::Folder)?;
        let trash = MemoryPlace { sessions: place.sessions.join("trash"), ..place.clone() };
        let in_trash = SessionDir::new(trash.sessions.clone());
        let store = place.read().map_err(Unclear::Database)?;
        let (rows, kept) = match store {
            Some(store) => store.count_purge().map_err(Unclear::Database)?,
            None => Default::default(),
        };
        let (audit, mut files): (Vec<_>, Vec<_>) = children(&own)?
            .into_iter()
            .filter(|path| !named(path, |name| name == "undo" || name == "undo.purged"))
            .partition(|path| is_audit(path));
        // That something is scheduled stays noted as long as it is.
        let notes = uses::folder(data_dir.dir(), &place.project);
        let gone = |path: &PathBuf| kept.jobs == 0 || !named(path, |name| name == uses::SCHEDULE);
        files.extend(children(&notes)?.into_iter().filter(gone));
        // Whoever writes and reads dumps and drafts goes on without those that cannot be listed; here they would be left in silence.
        children(&place.project.join(debug_dump::FOLDER))?;
        let (debug, debug_linked) = debug_dump::folders(&place.project);
        let (trashed, trashed_strays) = trash.sessions_and_strays().map_err(Unclear::Folder)?;
        let in_sessions = SessionDir::new(place.sessions.clone());
        let strays = strays.iter().map(|id| in_sessions.file(id));
        let names = names(&place, &sessions, &trashed);
        Ok(Self {
            transcripts: transcripts(&place.sessions, &names)?,
            drafts: drafts(data_dir, &place, &names)?,
            feedback: children(&data_dir.feedback())?
                .into_iter()
                .filter(|folder| is_feedback_of(folder, &place))
                .collect(),
            trashed: trashed.iter().map(|id| in_trash.file(id)).collect(),
            strays: strays.chain(trashed_strays.iter().map(|id| in_trash.file(id))).collect(),
            undo: count_undo(&own.join("undo")).map_err(Unclear::Undo)?,
            folder: own,
            notes,
            sessions,
            files,
            audit,
            debug,
            debug_linked,
            rows,
            kept,
            place,
        })
    }

    /// Returns a session that a process has open, with that process.
    pub fn live(&self) -> Option<(&SessionId, u32)> {
        let open = SessionDir::new(self.place.sessions.clone()).open();
        self.sessions.iter().find_map(|id| Some((id, *open.get(id.as_str())?)))
    }

    /// Returns the project's name, which is typed to confirm a purge; `None` for the root directory.
    pub fn name(&self) -> Option<String> {
        Some(self.place.project.file_name()?.to_string_lossy().into_owned())
    }

    /// Returns how much there is of each kind.
    pub fn counts(&self, include_debug: bool) -> Vec<(&'static str, u64)> {
        let len = |paths: &[PathBuf]| paths.len() as u64;
        let mut counts = vec![
            ("sessions", self.sessions.len() as u64),
            ("trashed_sessions", len(&self.trashed)),
            ("transcripts", len(&self.transcripts)),
            ("drafts", len(&self.drafts)),
            ("recallable_messages", self.rows.of("messages")),
            ("embeddings", self.rows.of("vectors") + self.rows.of("embeddings")),
            ("indexed_code_files", self.rows.of("code_files")),
            ("checkpoint_files", self.undo.files),
            ("project_files", len(&self.files)),
            ("audit_files", len(&self.audit)),
            ("debug_dumps", if include_debug { len(&self.debug) } else { 0 }),
        ];
        // What most projects have nothing of is named where there is something.
        let others = OTHER_ROWS.iter().map(|(table, kind)| (*kind, self.rows.of(table)));
        let others = others.chain([("feedback_folders", len(&self.feedback))]);
        counts.extend(others.filter(|(_, count)| *count > 0));
        counts
    }

    /// Returns what a purge leaves, which belongs to the project or might.
    pub fn left(&self, data_dir: &DataDir, include_debug: bool) -> Value {
        json!({
            "jobs": self.kept.jobs,
            "cost_entries": self.kept.usage,
            // They may hold words of any project.
            "damaged_databases": Database::damaged(&self.place.database).len(),
            "damaged_sessions": self.strays.len(),
            "debug_dumps": if include_debug { 0 } else { self.debug.len() },
            // These belong to no project.
            "line_chat_history": data_dir.chat_history().exists(),
            "idempotency_answers": data_dir.dir().join("idempotency").exists(),
            "mcp_server_logs": data_dir.dir().join("logs").join("mcp").exists(),
        })
    }
}

/// Returns counts as words, without what there is nothing of.
pub fn words(counts: &[(&str, u64)]) -> String {
    let words = each(counts);
    if words.is_empty() { "nothing".to_owned() } else { words.join(", ") }
}

/// Returns each count as words, without what there is nothing of.
pub fn each(counts: &[(&str, u64)]) -> Vec<String> {
    let some = counts.iter().filter(|(_, count)| *count > 0);
    let kind = |kind: &str, count| match (count, kind.strip_suffix("ies")) {
        (1, Some(stem)) => format!("{}y", stem.replace('_', " ")),
        (1, None) => kind.trim_end_matches('s').replace('_', " "),
        _ => kind.replace('_', " "),
    };
    some.map(|(name, count)| format!("{count} {}", kind(name, *count))).collect()
}

/// Removes a file or a folder with all in it; links are removed, not followed. What is gone already is fine.
pub fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(facts) if facts.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns the audit log of a project's folder and what was put aside of it, as they are now.
pub fn audit_files(folder: &Path) -> Vec<PathBuf> {
    children(folder).into_iter().flatten().filter(|path| is_audit(path)).collect()
}

fn is_audit(path: &Path) -> bool {
    named(path, |name| name.starts_with("audit.jsonl"))
}

fn named(path: &Path, test: impl Fn(&str) -> bool) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(test)
}

/// Returns what is in a folder. One that is not there has nothing in it.
fn children(folder: &Path) -> Result<Vec<PathBuf>, Unclear> {
    let listed = fs::read_dir(folder).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
    let mut found: Vec<_> = match listed {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Vec::new()
        }
        listed => {
            listed.map_err(|source| Unclear::Folder(StoreError::Io { path: folder.to_owned(), source }))?
        }
    };
    found.sort();
    Ok(found)
}

fn existing(paths: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    paths.filter(|path| fs::symlink_metadata(path).is_ok()).collect()
}

/// Returns the names of the project's sessions, those before the trash among them. A name that a session of another project has by now is that one's.
fn names(place: &MemoryPlace, sessions: &[SessionId], trashed: &[SessionId]) -> Vec<SessionId> {
    let dir = SessionDir::new(place.sessions.clone());
    // In the trash a second one of a name has a number behind it.
    let first = |id: &SessionId| {
        let (name, number) = id.as_str().rsplit_once('.')?;
        number.parse::<u32>().ok().and_then(|_| SessionId::parse(name).ok())
    };
    let before = trashed.iter().flat_map(|id| [Some(id.clone()), first(id)]).flatten();
    sessions.iter().cloned().chain(before.filter(|id| !dir.file(id).exists())).collect()
}

/// `sessions/<provider>/<id>.json`.
fn transcripts(folder: &Path, names: &[SessionId]) -> Result<Vec<PathBuf>, Unclear> {
    let providers: Vec<_> = children(folder)?.into_iter().filter(|path| path.is_dir()).collect();
    let of = |id: &SessionId| providers.iter().map(|dir| dir.join(format!("{id}.json"))).collect::<Vec<_>>();
    Ok(existing(names.iter().flat_map(of)))
}

/// Returns the drafts of sessions, and those that were typed in the project in a session that has no file (any more).
fn drafts(data_dir: &DataDir, place: &MemoryPlace, names: &[SessionId]) -> Result<Vec<PathBuf>, Unclear> {
    let drafts = Drafts::of(data_dir.dir());
    children(&drafts.folder)?;
    let dir = SessionDir::new(place.sessions.clone());
    let has_session = |path: &Path| {
        let id = path.file_stem().and_then(|name| SessionId::parse(name.to_str()?).ok());
        id.is_some_and(|id| names.contains(&id) || dir.file(&id).exists())
    };
    let mut others = drafts.all();
    others.retain(|(path, draft)| {
        let typed_in = draft.root.as_deref().map(|root| place.project_of(root));
        typed_in.is_some_and(|project| project == place.project) && !has_session(path)
    });
    let mut found = existing(names.iter().map(|id| drafts.file(id.as_str())));
    found.extend(others.into_iter().map(|(path, _)| path));
    found.sort();
    Ok(found)
}

/// Returns whether `/feedback` wrote a folder in the project: it says so, or the session in it does.
fn is_feedback_of(folder: &Path, place: &MemoryPlace) -> bool {
    let facts = fs::read_to_string(folder.join("facts.txt")).unwrap_or_default();
    if let Some(key) = facts.lines().find_map(|line| line.strip_prefix("project ")) {
        return key == project_key(&place.project);
    }
    let session = SessionId::parse("session").expect("it is a name");
    let root = begun_in(&SessionDir::new(folder.to_owned()), &session);
    root.is_some_and(|root| place.project_of(&root) == place.project)
}
