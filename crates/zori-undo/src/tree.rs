//! What is known of the files in scope, and what changed since the last look (UNDO-4).
//!
//! With a watcher only what it names is looked at; without one the tree is walked and compared by stat.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use zori_core::temp_name::{self, Candidate};

mod entries;
mod entry;
mod run;
mod sorting;
mod varint;

use self::entries::Entries;
use self::entry::{Entry, StatKey, nanos};
pub(crate) use self::sorting::{Sorting, Window};
use crate::disk::READ;
use crate::error::UndoError;
use crate::git::CleanFiles;
use crate::scope::{MAX_IGNORED, Scope};
use crate::state::{Change, Content, State};
use crate::store::{Shelf, Store};
use crate::watch::{Drained, Watch, Watching};

/// The beginning of the names under which a restore works.
const OWN_TEMP: &str = ".zori-undo-";

/// What changed so shortly before it was read may have changed again within the same tick of the file system's clock.
const RACY_NS: i64 = 20_000_000;

/// A file that is too long to be copied is taken up to this length where the file system lets files share their blocks (UNDO-10).
pub(crate) const MAX_REFLINK: u64 = 1 << 30;

/// What files are taken, and where they go.
pub(crate) struct Taker<'a> {
    pub(crate) store: &'a Store,
    pub(crate) sensitive: &'a (dyn Fn(&Path) -> bool + Send + Sync),
    pub(crate) limits: TreeLimits,
    /// Files that git has already, while the baseline is made.
    pub(crate) clean: Option<&'a CleanFiles>,
    pub(crate) stop: &'a AtomicBool,
    /// When the command ran whose changes are looked for.
    pub(crate) window: Option<Window>,
    /// Now, in nanoseconds since 1970.
    pub(crate) now: i64,
}

/// How much a tree may come to (UNDO-10).
#[derive(Clone, Copy, Debug)]
pub struct TreeLimits {
    /// Longer files are not copied.
    pub max_file: u64,
    /// More files than this are not looked at.
    pub max_files: usize,
    /// More copies than this are not made by the first look.
    pub max_copied: u64,
    /// A session that has added more than this captures no more commands.
    pub max_session: u64,
}

/// Why a tree cannot be looked at.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TreeError {
    #[error("the folder has more than {0} files")]
    TooManyFiles(usize),
    #[error("more than {0} MiB would have to be copied")]
    TooMuch(u64),
    #[error("this session has captured more than {0} MiB")]
    Full(u64),
    #[error("it was stopped")]
    Stopped,
    #[error("{0}")]
    Failed(String),
}

/// The files in scope as they were at the last look.
pub(crate) struct Tree {
    roots: Vec<PathBuf>,
    scope: Scope,
    watch: Option<Watch>,
    known: Entries,
    /// What is out of scope: folders that are not entered, ignored files that are too long. It stays so for as long as it is there,
    /// whatever becomes of the ignore files and of its length: nothing is known of what it was before, so it is never taken for
    /// something that a call has made.
    skipped: Entries,
    copied: u64,
    /// Whether this is the first look.
    first: bool,
}

/// What changed since the last look.
#[derive(Debug, Default)]
pub(crate) struct Refreshed {
    pub(crate) sorted: Sorting,
    /// Folders that were not looked at and are gone.
    pub(crate) removed_folders: u64,
    /// Files that were not looked at and are gone.
    pub(crate) removed_files: u64,
}

impl Refreshed {
    /// Counts what was out of scope and is gone.
    fn count(&mut self, skipped: &Entry) {
        match skipped.state.is_dir() {
            true => self.removed_folders += 1,
            false => self.removed_files += 1,
        }
    }
}

impl Tree {
    /// Looks at everything for the first time. Folders are watched where that is asked for and the system can.
    pub(crate) fn baseline(
        roots: Vec<PathBuf>,
        watching: Watching,
        tracked: &[PathBuf],
        taker: &Taker<'_>,
    ) -> Result<Self, TreeError> {
        let watch = match (watching, roots.first()) {
            (Watching::On { limit }, Some(root)) => Watch::new(root, limit),
            _ => None,
        };
        let mut tree = Self {
            roots,
            scope: Scope::default(),
            watch,
            known: Entries::default(),
            skipped: Entries::default(),
            copied: 0,
            first: true,
        };
        tracked.iter().for_each(|folder| tree.scope.track(folder));
        tree.known = tree.list_all(&Entries::default(), taker)?;
        tree.first = false;
        Ok(tree)
    }

    /// Returns what changed since the last look, ordered by path.
    pub(crate) fn refresh(&mut self, taker: &Taker<'_>) -> Result<Refreshed, TreeError> {
        let sorted = Sorting { window: taker.window, ..Sorting::default() };
        let mut refreshed = Refreshed { sorted, ..Refreshed::default() };
        let (paths, ended) = match self.watch.as_mut().map(Watch::drain) {
            Some(Drained::Paths { changed, ended }) => (changed, ended),
            Some(Drained::Overflow) | None => {
                let old = std::mem::take(&mut self.known);
                self.known = match self.list_all(&old, taker) {
                    Ok(known) => known,
                    Err(error) => {
                        self.known = old;
                        return Err(error);
                    }
                };
                refreshed.sorted.diff(&old, &self.known);
                self.forget_skipped(&mut refreshed);
                return Ok(refreshed);
            }
        };
        // What is below a folder comes right behind it.
        let mut rescanned: Option<PathBuf> = None;
        for path in paths {
            if rescanned.as_ref().is_some_and(|done| path.starts_with(done)) {
                continue;
            }
            if self.skipped.get(&path).is_some_and(|skipped| !is_still(&path, &skipped))
                && let Some(gone) = self.skipped.remove(&path)
            {
                refreshed.count(&gone);
            }
            if path.file_name().is_some_and(|name| name == ".gitignore") {
                // What is in scope may be another set of files; nothing that was known is forgotten.
                if let Some(folder) = path.parent() {
                    let top = self.roots.iter().any(|root| root == folder);
                    self.scope.enter(folder, top);
                }
            }
            if self.visit(&path, ended.contains(&path), &mut refreshed, taker)? {
                rescanned = Some(path);
            }
        }
        refreshed.sorted.sort();
        Ok(refreshed)
    }

    /// Looks at everything that is known, whether the watcher has told of it or not: what is written through a mapping has no
    /// event, only another time. `None` without a watcher, where every look is such a one.
    pub(crate) fn sweep(&mut self, taker: &Taker<'_>) -> Option<Vec<(Change, i64)>> {
        self.watch.as_ref()?;
        let old = std::mem::take(&mut self.known);
        let listed = self.list_all(&old, taker);
        let Ok(new) = listed else {
            self.known = old;
            return None;
        };
        let mut sorted = Sorting::default();
        sorted.diff(&old, &new);
        let time = |path: &Path| new.get(path).map_or(0, |entry| entry.key.ctime);
        let changes = sorted.changes.into_iter().map(|change| (time(&change.path), change));
        let changes = changes.map(|(at, change)| (change, at)).collect();
        self.known = new;
        Some(changes)
    }

    /// Takes a change that is known from elsewhere: the path is what it is now.
    pub(crate) fn note(&mut self, path: &Path, state: Option<&State>) {
        self.skipped.remove(path);
        match (state, fs::symlink_metadata(path)) {
            (Some(state), Ok(meta)) if self.in_scope(path) => {
                let entry = Entry { key: StatKey::of(&meta), state: state.clone(), racy: true };
                self.known.insert(path, &entry);
                if state.is_dir()
                    && let Some(watch) = &mut self.watch
                {
                    self.scope.enter(path, false);
                    if watch.add(path).is_err() {
                        // What happens in it would not be told.
                        self.watch = None;
                    }
                }
            }
            _ => {
                self.known.remove(path);
            }
        }
    }

    fn in_scope(&self, path: &Path) -> bool {
        path.parent().is_some_and(|parent| {
            self.roots.iter().any(|root| root == parent)
                || self.known.get(parent).is_some_and(|entry| entry.state.is_dir())
        })
    }

    /// Looks at one path. `another`: a folder that is there is not the one that was. Returns whether all below it was looked
    /// at, too.
    fn visit(
        &mut self,
        path: &Path,
        another: bool,
        refreshed: &mut Refreshed,
        taker: &Taker<'_>,
    ) -> Result<bool, TreeError> {
        if !self.in_scope(path) || is_own(path) {
            return Ok(false);
        }
        let meta = fs::symlink_metadata(path).ok();
        let is_dir = meta.as_ref().is_some_and(Metadata::is_dir);
        let old = self.known.get(path);
        if let (Some(meta), Some(Entry { key, state: State::Dir { mode }, .. })) = (&meta, &old)
            && is_dir
            && key.inode == meta.ino()
            && !another
        {
            // The same folder; what is in it has events of its own.
            let now = State::Dir { mode: meta.mode() & 0o7777 };
            if *mode != meta.mode() & 0o7777 {
                let before = Some(State::Dir { mode: *mode });
                let change = Change { path: path.to_owned(), before, after: Some(now.clone()) };
                refreshed.sorted.changes.push(change);
            }
            let entry = Entry { key: StatKey::of(meta), state: now, racy: false };
            self.known.insert(path, &entry);
            return Ok(false);
        }
        if !is_dir && old.as_ref().is_none_or(|entry| !entry.state.is_dir()) {
            if let Some(meta) = &meta
                && meta.is_file()
                && self.known.has_file(path, StatKey::of(meta), meta.mode() & 0o7777)
            {
                return Ok(false);
            }
            let after = match &meta {
                Some(meta) => self.take(path, meta, old, taker)?,
                None => None,
            };
            let before = match &after {
                Some(entry) => self.known.insert(path, entry),
                None => self.known.remove(path),
            };
            refreshed.sorted.push(|| path.to_owned(), before.as_ref(), after.as_ref());
            return Ok(false);
        }
        // A folder comes, goes, or is another one.
        let old = self.known.take_below(path);
        self.forget_skipped_below(path, refreshed);
        if let Some(watch) = &mut self.watch {
            watch.forget(path);
        }
        self.scope.leave(path);
        let mut new = Entries::default();
        if let Some(meta) = &meta {
            self.list_entry(path, meta, &old, &mut new, taker)?;
        }
        refreshed.sorted.diff(&old, &new);
        self.known.extend(&new);
        Ok(true)
    }

    fn list_all(&mut self, old: &Entries, taker: &Taker<'_>) -> Result<Entries, TreeError> {
        let mut new = Entries::default();
        for root in self.roots.clone() {
            self.list(&root, true, old, &mut new, taker)?;
        }
        Ok(new)
    }

    /// Watches a folder, then lists it: what comes meanwhile is listed or told.
    fn list(
        &mut self,
        folder: &Path,
        top: bool,
        old: &Entries,
        new: &mut Entries,
        taker: &Taker<'_>,
    ) -> Result<(), TreeError> {
        if taker.stop.load(Ordering::Relaxed) {
            return Err(TreeError::Stopped);
        }
        if let Some(watch) = &mut self.watch
            && watch.add(folder).is_err()
        {
            self.watch = None;
        }
        self.scope.enter(folder, top);
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if top => {
                return Err(TreeError::Failed(format!("{} cannot be read: {error}", folder.display())));
            }
            // Gone again, or not ours to read.
            Err(_) => return Ok(()),
        };
        // In the order in which they are kept, so that each comes behind the last.
        let mut entries: Vec<_> = entries.flatten().map(|entry| (entry.file_name(), entry)).collect();
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        for (_, entry) in entries {
            let path = entry.path();
            if is_own(&path) {
                if self.first {
                    remove_left_over(&path, taker.now);
                }
                continue;
            }
            let Ok(meta) = entry.metadata() else { continue };
            self.list_entry(&path, &meta, old, new, taker)?;
        }
        Ok(())
    }

    fn list_entry(
        &mut self,
        path: &Path,
        meta: &Metadata,
        old: &Entries,
        new: &mut Entries,
        taker: &Taker<'_>,
    ) -> Result<(), TreeError> {
        if meta.is_dir() {
            // A folder that is known stays in scope; only one that is new to it is judged.
            let is_known = old.get(path).is_some_and(|entry| entry.state.is_dir());
            let name = path.file_name().unwrap_or_default();
            let is_out = self.is_out(path, true);
            if !is_known && (is_out || !self.scope.enters(path, name)) {
                if !path.ends_with(".git") {
                    let state = State::Dir { mode: meta.mode() & 0o7777 };
                    self.skipped.insert(path, &Entry { key: StatKey::of(meta), state, racy: false });
                }
                return Ok(());
            }
            let state = State::Dir { mode: meta.mode() & 0o7777 };
            new.insert(path, &Entry { key: StatKey::of(meta), state, racy: false });
            self.count(new, taker)?;
            return self.list(path, false, old, new, taker);
        }
        if meta.is_file() && new.keep(old, path, StatKey::of(meta), meta.mode() & 0o7777) {
            return self.count(new, taker);
        }
        if let Some(entry) = self.take(path, meta, old.get(path), taker)? {
            new.insert(path, &entry);
            self.count(new, taker)?;
        }
        Ok(())
    }

    fn count(&self, new: &Entries, taker: &Taker<'_>) -> Result<(), TreeError> {
        match new.len() > taker.limits.max_files {
            true => Err(TreeError::TooManyFiles(taker.limits.max_files)),
            false => Ok(()),
        }
    }

    /// Takes a file or link; `None` for what is not taken at all.
    fn take(
        &mut self,
        path: &Path,
        meta: &Metadata,
        old: Option<Entry>,
        taker: &Taker<'_>,
    ) -> Result<Option<Entry>, TreeError> {
        let key = StatKey::of(meta);
        let mode = meta.mode() & 0o7777;
        if meta.is_symlink() {
            let Ok(to) = fs::read_link(path) else { return Ok(None) };
            let state = State::Link { to: to.into_os_string().into_vec() };
            return Ok(Some(Entry { key, state, racy: false }));
        }
        if !meta.is_file() {
            return Ok(None);
        }
        let is_tracked = || taker.clean.is_some_and(|clean| clean.tracks(path));
        let is_long = || meta.len() > MAX_IGNORED && self.scope.ignored(path, false) && !is_tracked();
        if old.is_none() && (self.is_out(path, false) || is_long()) {
            let state = State::File { content: Content::NotTaken, mode, len: key.len };
            self.skipped.insert(path, &Entry { key, state, racy: false });
            return Ok(None);
        }
        let racy = taker.now.saturating_sub(key.ctime.max(key.mtime)) < RACY_NS;
        if let Some(id) = taker.clean.and_then(|clean| clean.get(path, meta)) {
            let state = State::File { content: Content::Git(id), mode, len: key.len };
            return Ok(Some(Entry { key, state, racy: false }));
        }
        let content = match meta.len() > taker.limits.max_file {
            true => self.reflink(path, key.len, taker)?,
            false => self.copy(path, old.as_ref(), taker)?,
        };
        Ok(Some(Entry { key, state: State::File { content, mode, len: key.len }, racy }))
    }

    fn copy(&mut self, path: &Path, old: Option<&Entry>, taker: &Taker<'_>) -> Result<Content, TreeError> {
        let Ok(bytes) = read(path, taker.limits.max_file) else { return Ok(Content::NotTaken) };
        let hash = crate::hash::Hash::of(&bytes);
        if old.and_then(|old| old.state.content()) == Some(&Content::Stored(hash)) {
            return Ok(Content::Stored(hash));
        }
        if taker.store.added() > taker.limits.max_session {
            return Err(TreeError::Full(taker.limits.max_session >> 20));
        }
        let shelf = if (taker.sensitive)(path) { Shelf::Sensitive } else { Shelf::Plain };
        let hash = taker.store.put(&bytes, shelf).map_err(|error| TreeError::Failed(error.to_string()))?;
        self.copied += bytes.len() as u64;
        // Only the first look is bounded; later changes are what an undo is for.
        if self.first && self.copied > taker.limits.max_copied {
            return Err(TreeError::TooMuch(taker.limits.max_copied >> 20));
        }
        Ok(Content::Stored(hash))
    }

    /// Takes a file that is too long to be copied, if its blocks can be shared.
    fn reflink(&self, path: &Path, len: u64, taker: &Taker<'_>) -> Result<Content, TreeError> {
        let TreeLimits { max_session, .. } = taker.limits;
        if len > max_session || (taker.sensitive)(path) {
            return Ok(Content::NotTaken);
        }
        if taker.store.added() > max_session {
            return Err(TreeError::Full(max_session >> 20));
        }
        // What the first look finds is still the file's own.
        let taken = reflink(path, len, taker.store, !self.first);
        let taken = taken.map_err(|error| TreeError::Failed(error.to_string()))?;
        Ok(taken.map_or(Content::NotTaken, |(hash, _)| Content::Stored(hash)))
    }

    /// Forgets what was out of scope and is gone.
    fn forget_skipped(&mut self, refreshed: &mut Refreshed) {
        self.forget_skipped_below(Path::new("/"), refreshed);
    }

    /// The same below a folder that is gone, or another one.
    fn forget_skipped_below(&mut self, folder: &Path, refreshed: &mut Refreshed) {
        for (path, skipped) in self.skipped.below(folder) {
            if !is_still(&path, &skipped) {
                self.skipped.remove(&path);
                refreshed.count(&skipped);
            }
        }
    }

    fn is_out(&self, path: &Path, is_dir: bool) -> bool {
        self.skipped.get(path).is_some_and(|skipped| skipped.state.is_dir() == is_dir)
    }
}

/// Returns whether what is out of scope is still there.
fn is_still(path: &Path, skipped: &Entry) -> bool {
    let is_dir = skipped.state.is_dir();
    fs::symlink_metadata(path).is_ok_and(|meta| if is_dir { meta.is_dir() } else { meta.is_file() })
}

/// Opens a file, not through a link.
fn open(path: &Path) -> io::Result<File> {
    File::options().read(true).custom_flags(READ.bits() as i32).open(path)
}

/// Has the store share the blocks of a regular file; `None` where that cannot be, or the file is too long for it.
pub(crate) fn reflink(
    path: &Path,
    len: u64,
    store: &Store,
    counts: bool,
) -> Result<Option<(crate::hash::Hash, u64)>, UndoError> {
    match open(path) {
        Ok(file) if len <= MAX_REFLINK => store.put_reflink(&file, counts),
        _ => Ok(None),
    }
}

/// Reads a regular file, not through a link.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(io::ErrorKind::FileTooLarge.into()),
        false => Ok(bytes),
    }
}

fn is_own(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.as_encoded_bytes().starts_with(OWN_TEMP.as_bytes()) || stager(path).is_some()
}

/// Returns the process that wrote a file on its way to its place, by its name.
fn stager(path: &Path) -> Option<i32> {
    temp_name::stager(path.file_name()?.to_str()?)
}

/// Removes such a file of a process that was killed.
fn remove_left_over(path: &Path, now: i64) {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return };
    let Ok(meta) = fs::symlink_metadata(path) else { return };
    let is_ours = meta.uid() == rustix::process::geteuid().as_raw();
    let age = now.saturating_sub(nanos(meta.mtime(), meta.mtime_nsec()));
    let age = u64::try_from(age).ok().map(Duration::from_nanos);
    let is_alive =
        |process| Pid::from_raw(process).is_none_or(|pid| test_kill_process(pid) != Err(Errno::SRCH));
    if (Candidate { name, is_file: meta.is_file(), is_ours, age }).is_left_over(is_alive) {
        let _ = fs::remove_file(path);
    }
}
