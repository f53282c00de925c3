//! One pass over the files of a project: a walk, then one file after another, written in batches.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use rustix::fs::FileType;
use zori_core::cancel::Cancel;
use zori_core::time::Clock;
use zori_index::{
    CodeChange, CodeChunk, CodeContent, CodeFile, CodeSymbol, IndexError, KnownFile, ProjectStore,
};
use zori_syntax::unfit::{self, Unfit};
use zori_syntax::{Language, Outline, Reader, words};
use zori_tools::open_dir::{self, FileMeta};
use zori_tools::walk::{DirEntry, Hidden, Visitor, Walk, WalkState};

use super::CodeIndexPlace;

/// How many files, and bytes of them, are written in one transaction: whoever else writes waits for no more.
const BATCH_FILES: usize = 200;
const BATCH_BYTES: u64 = 8 << 20;
/// How many files a project has at most. What is above is left out, and said.
const MOST_FILES: usize = 500_000;
/// How long a parser may take for one file.
const PARSING: Duration = Duration::from_secs(2);
/// How much of a hash is kept.
const HASH_BYTES: usize = 16;

/// What a pass came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    /// How many files there are that could be indexed.
    pub found: u64,
    /// How many were read and have other contents than before.
    pub changed: u64,
    /// How many are gone.
    pub gone: u64,
    /// How many folders could not be read.
    pub unread_folders: u64,
    /// How many files were left out because there are too many.
    pub left_out: u64,
    /// Whether it came to its end.
    pub finished: bool,
}

/// How far a pass is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Files that were looked at.
    pub done: u64,
    /// Files that there are.
    pub found: u64,
}

/// A file, as the walk sees it.
struct Seen {
    path: String,
    language: Language,
    size: u64,
    mtime_ns: i64,
}

pub(super) fn run(
    place: &CodeIndexPlace,
    store: &mut ProjectStore,
    clock: &dyn Clock,
    go_on: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Pass, IndexError> {
    let Found { seen, unread_folders, left_out } = files(&place.project, MOST_FILES);
    let mut known = store.code_files()?;
    let now = clock.now().0;
    let mut pass = Pass { found: seen.len() as u64, unread_folders, left_out, ..Pass::default() };
    let mut progress = Progress { done: 0, found: pass.found };
    let mut batch = Batch::default();
    let mut reader = Reader::new();
    let mut begun = false;
    for seen in &seen {
        let before = known.remove(&seen.path);
        progress.done += 1;
        let same = |known: &KnownFile| known.size == seen.size && known.mtime_ns == seen.mtime_ns;
        if before.as_ref().is_some_and(same) {
            continue;
        }
        if !go_on(&progress) {
            batch.write(store, now)?;
            return Ok(pass);
        }
        if !begun {
            store.begin_code_pass(pass.found, now)?;
            begun = true;
        }
        let change = look(place, seen, before.as_ref(), &mut reader, clock);
        pass.changed += u64::from(matches!(change, CodeChange::Put(_)));
        batch.add(change, seen.size, store, now)?;
    }
    for path in known.into_keys() {
        pass.gone += 1;
        batch.add(CodeChange::Gone(path), 0, store, now)?;
    }
    batch.write(store, now)?;
    // Nothing is written where nothing changed.
    if pass.changed > 0 || pass.gone > 0 || !store.code_progress()?.is_whole {
        store.begin_code_pass(pass.found, now)?;
        store.end_code_pass(now)?;
    }
    pass.finished = true;
    Ok(pass)
}

/// Changes that are written together.
#[derive(Default)]
struct Batch {
    changes: Vec<CodeChange>,
    bytes: u64,
}

impl Batch {
    fn add(
        &mut self,
        change: CodeChange,
        bytes: u64,
        store: &mut ProjectStore,
        now: i64,
    ) -> Result<(), IndexError> {
        self.changes.push(change);
        self.bytes += bytes.min(unfit::MOST_BYTES);
        match self.changes.len() >= BATCH_FILES || self.bytes >= BATCH_BYTES {
            true => self.write(store, now),
            false => Ok(()),
        }
    }

    fn write(&mut self, store: &mut ProjectStore, now: i64) -> Result<(), IndexError> {
        store.change_code(std::mem::take(&mut self.changes), now)?;
        self.bytes = 0;
        Ok(())
    }
}

/// Looks at a file whose size or time is another one.
fn look(
    place: &CodeIndexPlace,
    seen: &Seen,
    before: Option<&KnownFile>,
    reader: &mut Reader,
    clock: &dyn Clock,
) -> CodeChange {
    let path = place.project.join(&seen.path);
    let read = match (place.sensitive)(&path) {
        true => Err(Unfit::Sensitive),
        false => bytes(&path, seen.size),
    };
    let (hash, content) = match read {
        Err(why) => (Vec::new(), Err(why)),
        Ok(bytes) => {
            let hash = blake3::hash(&bytes).as_bytes()[..HASH_BYTES].to_vec();
            if before.is_some_and(|before| before.hash == hash) {
                let Seen { path, size, mtime_ns, .. } = seen;
                return CodeChange::Touched { path: path.clone(), size: *size, mtime_ns: *mtime_ns };
            }
            let until = clock.elapsed() + PARSING;
            let outline = unfit::text(bytes)
                .and_then(|text| reader.read(&text, seen.language, &mut || clock.elapsed() > until));
            (hash, outline)
        }
    };
    CodeChange::Put(Box::new(CodeFile {
        path: seen.path.clone(),
        size: seen.size,
        mtime_ns: seen.mtime_ns,
        hash,
        lang: seen.language.name(),
        content: content.map(kept).map_err(Unfit::name),
    }))
}

/// Reads a regular file, following no link and waiting for nobody at its other end.
fn bytes(path: &Path, size: u64) -> Result<Vec<u8>, Unfit> {
    if size > unfit::MOST_BYTES {
        return Err(Unfit::TooLarge);
    }
    let file = open_dir::read(path).map_err(|_| Unfit::Unreadable)?;
    let is_file = |file: &File| FileMeta::of(file).is_ok_and(|meta| meta.kind == FileType::RegularFile);
    if !is_file(&file) {
        return Err(Unfit::Unreadable);
    }
    let mut bytes = Vec::with_capacity(size as usize + 1);
    file.take(unfit::MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|_| Unfit::Unreadable)?;
    Ok(bytes)
}

fn kept(outline: Outline) -> CodeContent {
    let symbols = outline.symbols.into_iter().map(|symbol| CodeSymbol {
        parts: words::parts(&symbol.name),
        name: symbol.name,
        kind: symbol.kind.to_owned(),
        signature: symbol.signature,
        start: symbol.start,
        end: symbol.end,
        parent: symbol.parent,
    });
    let chunks = outline.chunks.into_iter().map(|chunk| CodeChunk {
        start: chunk.start,
        end: chunk.end,
        parts: words::parts(&chunk.text),
        text: chunk.text,
    });
    CodeContent { symbols: symbols.collect(), chunks: chunks.collect() }
}

/// What a walk finds.
struct Found {
    /// The files that could be indexed, by path.
    seen: Vec<Seen>,
    unread_folders: u64,
    left_out: u64,
}

/// Returns the files below a root that could be indexed, `most` of them.
fn files(root: &Path, most: usize) -> Found {
    let walk = Walk { root, start: root, hidden: Hidden::Skip, max_depth: None, types: None };
    let found = walk.run(&Cancel::new(), || Finder { root, seen: Vec::new(), failed: 0 });
    let finders = found.expect("nobody cancels it");
    let unread_folders = finders.iter().map(|finder| finder.failed).sum();
    let mut seen: Vec<Seen> = finders.into_iter().flat_map(|finder| finder.seen).collect();
    seen.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    let left_out = seen.len().saturating_sub(most) as u64;
    seen.truncate(most);
    Found { seen, unread_folders, left_out }
}

/// Keeps the files that one thread of the walk finds.
struct Finder<'a> {
    root: &'a Path,
    seen: Vec<Seen>,
    failed: u64,
}

impl Visitor for Finder<'_> {
    fn visit(&mut self, entry: &DirEntry) -> WalkState {
        // Neither links nor pipes nor devices.
        if entry.file_type().is_some_and(|kind| kind.is_file())
            && let Some(language) = Language::of(entry.path())
            && let Some(path) = entry.path().strip_prefix(self.root).ok().and_then(Path::to_str)
            && let Ok(facts) = entry.metadata()
        {
            let time = facts.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            self.seen.push(Seen {
                path: path.to_owned(),
                language,
                size: facts.len(),
                mtime_ns: time.map_or(0, |time| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)),
            });
        }
        WalkState::Continue
    }

    fn failed(&mut self) {
        self.failed += 1;
    }
}

#[cfg(test)]
mod tests;
