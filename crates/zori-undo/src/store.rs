//! What is kept on disk, in a folder of the project's own (`docs/contracts/undo.md`): operations, contents, restores
//! under way. Nothing is made before there is something to keep.

mod segment;

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{AtFlags, CWD};
use rustix::io::Errno;
use zori_core::ids::SessionId;

use self::segment::Position;
use crate::disk::Disk;
use crate::error::UndoError;
use crate::hash::Hash;
use crate::op::Op;

/// Contents longer than this are files of their own.
const SEGMENT_LEN: u64 = 1 << 20;

/// A segment that is longer is not appended to.
const SEGMENT_BYTES: u64 = 64 << 20;

/// The contents and operations of one session; those of the sessions it was forked from can be read.
pub struct Store {
    dir: PathBuf,
    root: PathBuf,
    session: SessionId,
    parents: Parents,
    durable: bool,
    disk: Disk,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    contents: HashMap<Hash, StoredAt>,
    /// The segments that were looked into, and their files.
    files: Vec<(PathBuf, File)>,
    scanned: bool,
    /// By shelf.
    open: [Option<OpenSegment>; 2],
    /// How many bytes this process has added.
    added: u64,
}

#[derive(Clone, Copy)]
enum StoredAt {
    Segment(usize, Position),
    Big,
}

struct OpenSegment {
    index: usize,
    len: u64,
    number: u32,
}

/// The sessions that one was forked from.
#[derive(Clone, Debug, Default)]
pub struct Parents {
    /// The nearest first.
    pub sessions: Vec<SessionId>,
    /// The operations that were made before the fork, by their numbers.
    pub ops: BTreeSet<u64>,
}

/// Where contents are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shelf {
    /// For as long as the session's.
    Plain,
    /// Contents of sensitive files, for hours (UNDO-32).
    Sensitive,
}

impl Shelf {
    fn folder(self) -> &'static str {
        match self {
            Self::Plain => "seg",
            Self::Sensitive => "sec",
        }
    }
}

/// The operations of a session, and how many lines could not be read.
#[derive(Debug, Default)]
pub struct ReadOps {
    /// In the order they were made, those of the sessions it was forked from first.
    pub ops: Vec<Op>,
    /// Lines that are torn, unknown or refused.
    pub skipped: u64,
}

impl Store {
    /// Names the store of a project's session. `dir` need not exist; what is there must be ours alone.
    pub fn open(
        dir: PathBuf,
        root: PathBuf,
        session: SessionId,
        parents: Parents,
        durable: bool,
    ) -> Result<Self, UndoError> {
        check(&dir)?;
        Ok(Self { dir, root, session, parents, durable, disk: Disk::default(), inner: Mutex::default() })
    }

    /// Writes to this file system.
    #[must_use]
    pub fn on(self, disk: Disk) -> Self {
        Self { disk, ..self }
    }

    /// Returns the project's root, to which the paths of operations are relative.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Keeps a content, and returns its name.
    pub fn put(&self, bytes: &[u8], shelf: Shelf) -> Result<Hash, UndoError> {
        let hash = Hash::of(bytes);
        let mut inner = self.lock();
        if inner.contents.contains_key(&hash) {
            return Ok(hash);
        }
        // Sensitive contents have no files of their own, which would stay longer.
        if bytes.len() as u64 > SEGMENT_LEN && shelf == Shelf::Plain {
            self.put_big(&hash, bytes)?;
            inner.added += bytes.len() as u64;
            inner.contents.insert(hash, StoredAt::Big);
            return Ok(hash);
        }
        let record = segment::encode(&hash, bytes);
        let (index, at) = self.append(&mut inner, shelf, &record)?;
        let position = segment::position(at, &record, bytes.len());
        inner.added += record.len() as u64;
        inner.contents.insert(hash, StoredAt::Segment(index, position));
        Ok(hash)
    }

    /// Returns a content; `None` if it was dropped or damaged.
    pub fn get(&self, hash: &Hash) -> Option<Vec<u8>> {
        let mut inner = self.lock();
        if !inner.contents.contains_key(hash) {
            self.scan(&mut inner);
        }
        match inner.contents.get(hash) {
            Some(StoredAt::Segment(index, position)) => {
                segment::read(&inner.files[*index].1, hash, *position)
            }
            Some(StoredAt::Big) | None => self.get_big(hash),
        }
    }

    /// Returns whether a content is there and undamaged.
    pub fn is_whole(&self, hash: &Hash) -> bool {
        self.open_big(hash).is_some() || self.get(hash).is_some()
    }

    /// Keeps the content of a file by sharing its blocks, and returns its name and length; `None` where the file system cannot.
    /// `counts`: it will soon be all that has these blocks, so that it takes space of its own.
    pub fn put_reflink(&self, file: &File, counts: bool) -> Result<Option<(Hash, u64)>, UndoError> {
        let mut inner = self.lock();
        let temp = self.folder("tmp")?.join(format!("{}-reflink", self.session));
        let new = private(OpenOptions::new().read(true).write(true).create(true).truncate(true))
            .open(&temp)
            .map_err(UndoError::at(&temp))?;
        let stored = self.disk.reflink(file, &new).and_then(|()| {
            if self.durable {
                new.sync_data()?;
            }
            Hash::of_file(&new)
        });
        let (hash, len) = match stored {
            Ok(stored) => stored,
            Err(error) => {
                let _ = fs::remove_file(&temp);
                return match cannot_share(&error) {
                    true => Ok(None),
                    false => Err(UndoError::at(temp)(error)),
                };
            }
        };
        let path = self.folder("big")?.join(hash.to_string());
        let kept = match renewed(&path, len) {
            true => fs::remove_file(&temp),
            false => {
                inner.added += if counts { len } else { 0 };
                fs::rename(&temp, &path)
            }
        };
        kept.map_err(UndoError::at(&path))?;
        inner.contents.insert(hash, StoredAt::Big);
        Ok(Some((hash, len)))
    }

    /// Returns the file of a content that has one, at its beginning; `None` if it has none, or its bytes are not those of its name.
    pub fn open_big(&self, hash: &Hash) -> Option<File> {
        let mut file = private(OpenOptions::new().read(true)).open(self.big(hash)).ok()?;
        let (found, _) = Hash::of_file(&file).ok()?;
        file.rewind().ok()?;
        (found == *hash).then_some(file)
    }

    /// Returns whether a content is there, without reading it.
    pub fn has(&self, hash: &Hash) -> bool {
        let mut inner = self.lock();
        if !inner.contents.contains_key(hash) {
            self.scan(&mut inner);
        }
        inner.contents.contains_key(hash) || self.big(hash).exists()
    }

    /// Returns how many bytes this process has added.
    pub fn added(&self) -> u64 {
        self.lock().added
    }

    /// Appends an operation by one write.
    pub fn append_op(&self, op: &Op) -> Result<(), UndoError> {
        if self.durable {
            let inner = self.lock();
            for open in inner.open.iter().flatten() {
                let (path, file) = &inner.files[open.index];
                file.sync_data().map_err(UndoError::at(path))?;
            }
        }
        let folder = self.folder("ops")?;
        let path = folder.join(format!("{}.jsonl", self.session));
        let mut file = private(OpenOptions::new().append(true).create(true).read(true))
            .open(&path)
            .map_err(UndoError::at(&path))?;
        let mut line = Vec::new();
        if !ends_with_newline(&file).map_err(UndoError::at(&path))? {
            // A torn tail stays a line of its own.
            line.push(b'\n');
        }
        line.extend(op.encode(&self.root));
        self.disk.call("store operation", || file.write_all(&line)).map_err(UndoError::at(&path))?;
        if self.durable {
            file.sync_data().map_err(UndoError::at(&path))?;
        }
        Ok(())
    }

    /// Reads the operations.
    pub fn read_ops(&self) -> Result<ReadOps, UndoError> {
        let mut read = ReadOps::default();
        let mut inherited = 0;
        for session in self.parents.sessions.iter().rev().chain([&self.session]) {
            let path = self.dir.join("ops").join(format!("{session}.jsonl"));
            let bytes = match fs::read(&path) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(UndoError::at(path)(error)),
            };
            for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                match Op::decode(line, &self.root) {
                    Some(op) => read.ops.push(op),
                    None => read.skipped += 1,
                }
            }
            if *session != self.session {
                inherited = read.ops.len();
            }
        }
        // What a parent did after the fork is its own, whatever number it has.
        let mut own = BTreeSet::new();
        own.extend(read.ops[inherited..].iter().map(|op| op.id));
        let mut at = 0;
        read.ops.retain(|op| {
            at += 1;
            at > inherited || (self.parents.ops.contains(&op.id) && !own.contains(&op.id))
        });
        Ok(read)
    }

    /// Returns a folder of the store, which is made if it is missing.
    pub fn folder(&self, name: &str) -> Result<PathBuf, UndoError> {
        let path = self.dir.join(name);
        let made =
            self.disk.call("store folder", || DirBuilder::new().recursive(true).mode(0o700).create(&path));
        made.map_err(UndoError::at(&path))?;
        Ok(path)
    }

    fn append(&self, inner: &mut Inner, shelf: Shelf, record: &[u8]) -> Result<(usize, u64), UndoError> {
        let open = &inner.open[shelf as usize];
        if open.as_ref().is_none_or(|open| open.len >= SEGMENT_BYTES) {
            let number = open.as_ref().map_or(0, |open| open.number + 1);
            inner.open[shelf as usize] = Some(self.new_segment(inner, shelf, number)?);
        }
        let open = inner.open[shelf as usize].as_mut().expect("there is an open one");
        let (path, file) = &mut inner.files[open.index];
        let at = open.len;
        if let Err(error) = self.disk.call("store content", || file.write_all(record)) {
            // What was written of it is skipped by readers only if nothing follows.
            let _ = file.set_len(at);
            return Err(UndoError::at(path.clone())(error));
        }
        open.len += record.len() as u64;
        Ok((open.index, at))
    }

    /// Makes the next segment whose name is free; another process may have written for this session before.
    fn new_segment(&self, inner: &mut Inner, shelf: Shelf, from: u32) -> Result<OpenSegment, UndoError> {
        let folder = self.folder(shelf.folder())?;
        let mut number = from;
        loop {
            let path = folder.join(format!("{}-{number}.zus", self.session));
            match private(OpenOptions::new().read(true).append(true).create_new(true)).open(&path) {
                Ok(mut file) => {
                    let begun = self.disk.call("store segment", || file.write_all(segment::MAGIC));
                    begun.map_err(UndoError::at(&path))?;
                    let index = inner.files.len();
                    inner.files.push((path, file));
                    return Ok(OpenSegment { index, len: segment::MAGIC.len() as u64, number });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(UndoError::at(path)(error)),
            }
        }
    }

    /// Looks through the segments of this session and its parents, once.
    fn scan(&self, inner: &mut Inner) {
        if std::mem::replace(&mut inner.scanned, true) {
            return;
        }
        for shelf in [Shelf::Plain, Shelf::Sensitive] {
            let Ok(entries) = fs::read_dir(self.dir.join(shelf.folder())) else { continue };
            for entry in entries.flatten() {
                let name = entry.file_name();
                let ours = name.to_str().and_then(session_of).is_some_and(|session| {
                    session == self.session.as_str()
                        || self.parents.sessions.iter().any(|p| p.as_str() == session)
                });
                let path = entry.path();
                if !ours || inner.files.iter().any(|(known, _)| *known == path) {
                    continue;
                }
                let Ok(file) = private(OpenOptions::new().read(true)).open(&path) else { continue };
                let index = inner.files.len();
                for (hash, position) in segment::scan(&file).unwrap_or_default() {
                    inner.contents.entry(hash).or_insert(StoredAt::Segment(index, position));
                }
                inner.files.push((path, file));
            }
        }
    }

    fn big(&self, hash: &Hash) -> PathBuf {
        self.dir.join("big").join(hash.to_string())
    }

    fn put_big(&self, hash: &Hash, bytes: &[u8]) -> Result<(), UndoError> {
        let path = self.folder("big")?.join(hash.to_string());
        if renewed(&path, bytes.len() as u64) {
            return Ok(());
        }
        let temp = self.folder("tmp")?.join(format!("{}-{hash}", self.session));
        let mut file = private(OpenOptions::new().write(true).create(true).truncate(true))
            .open(&temp)
            .map_err(UndoError::at(&temp))?;
        let written = self.disk.call("store file", || file.write_all(bytes));
        let written = written.and_then(|()| if self.durable { file.sync_data() } else { Ok(()) });
        written.and_then(|()| fs::rename(&temp, &path)).map_err(|error| {
            let _ = fs::remove_file(&temp);
            UndoError::at(path)(error)
        })
    }

    fn get_big(&self, hash: &Hash) -> Option<Vec<u8>> {
        let bytes = fs::read(self.big(hash)).ok()?;
        (Hash::of(&bytes) == *hash).then_some(bytes)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic between two changes of the index leaves it whole.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives the file of a content that is there already a new date, so that it goes with the last session that wants it. Returns
/// whether it is.
fn renewed(path: &Path, len: u64) -> bool {
    if !fs::metadata(path).is_ok_and(|meta| meta.len() == len) {
        return false;
    }
    let now = rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
    let times = rustix::fs::Timestamps { last_access: now, last_modification: now };
    let _ = rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW);
    true
}

/// Returns whether it is not in the file system, or in the nature of the file, to share blocks with another.
fn cannot_share(error: &io::Error) -> bool {
    let never =
        [Errno::OPNOTSUPP, Errno::XDEV, Errno::INVAL, Errno::NOTTY, Errno::NOSYS, Errno::PERM, Errno::TXTBSY];
    Errno::from_io_error(error).is_some_and(|errno| never.contains(&errno))
}

/// Returns the session in the name of a segment.
pub(crate) fn session_of(name: &str) -> Option<&str> {
    let (session, number) = name.strip_suffix(".zus")?.rsplit_once('-')?;
    number.bytes().all(|b| b.is_ascii_digit()).then_some(session)
}

/// Checks that a folder, if it exists, is one, is ours, and nobody else can write to it.
pub(crate) fn check(dir: &Path) -> Result<(), UndoError> {
    let meta = match fs::symlink_metadata(dir) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(UndoError::at(dir)(error)),
    };
    let why = if !meta.is_dir() {
        "is not a folder"
    } else if meta.uid() != rustix::process::geteuid().as_raw() {
        "belongs to another user"
    } else if meta.mode() & 0o022 != 0 {
        "can be written to by others"
    } else {
        return Ok(());
    };
    Err(UndoError::Unsafe { path: dir.to_owned(), why })
}

/// Files for the owner only, never through a link.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::CLOEXEC).bits();
    options.mode(0o600).custom_flags(flags as i32)
}

fn ends_with_newline(file: &File) -> io::Result<bool> {
    use std::os::unix::fs::FileExt;
    let len = file.metadata()?.len();
    let mut last = [b'\n'];
    if len > 0 {
        file.read_exact_at(&mut last, len - 1)?;
    }
    Ok(last == *b"\n")
}
