//! A file of lines in which each names the SHA-256 of the one before, written by any number of processes at once.
//!
//! A line is appended under a lock on the file, by one write. Whoever has the lock looks whether the file is still the
//! one at the path, since rotation renames it, and whether others have added to it meanwhile. Nothing is synced.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::read::Head;
use crate::dir::create_private;
use crate::lock::is_at;

/// How large a file gets before it is put aside (DECISIONS 30).
pub(crate) const LIMIT: u64 = 100_000_000;
/// How many files that were put aside are kept.
const KEPT: u32 = 5;
/// How long others may hold the lock: they need it for microseconds, unless they were stopped in the middle.
const LOCK_TRIES: u32 = 2_000;
const LOCK_WAIT: Duration = Duration::from_millis(1);
/// The longest line that is looked for at the end of a file; ours have a few kilobytes.
const LONGEST: u64 = 16 << 20;

/// The file, opened with its first line.
#[derive(Debug)]
pub(crate) struct ChainFile {
    path: PathBuf,
    limit: u64,
    open: Option<File>,
    /// What follows at this length of the file, if nobody else has written.
    known: Option<(u64, Place)>,
}

/// What a line has to say about the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its own number.
    pub seq: u64,
    /// The hash of the line before; empty in the first line of a file.
    pub prev: String,
    /// Where the line before was cut off, the hash of the last whole one.
    pub before_torn: Option<String>,
}

impl ChainFile {
    pub(crate) fn new(path: PathBuf, limit: u64) -> Self {
        Self { path, limit, open: None, known: None }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes sure that lines can be written, creating the file.
    pub(crate) fn check(&mut self) -> io::Result<()> {
        self.opened().map(|_| ())
    }

    /// Appends the line that `make` returns for its place, which has no newline.
    pub(crate) fn append(&mut self, make: impl Fn(&Place) -> Vec<u8>) -> io::Result<()> {
        loop {
            self.opened()?;
            let file = self.open.as_ref().expect("it was opened just now");
            let held = Held::take(file)?;
            if !is_at(file, &self.path)? {
                drop(held);
                self.open = None;
                continue;
            }
            let len = file.metadata()?.len();
            let (place, closed) = match self.known.take() {
                Some((end, place)) if end == len => (place, true),
                _ => self.look(file, len)?,
            };
            let line = make(&place);
            if len > 0 && len + line.len() as u64 >= self.limit {
                // Under the lock of the file at the path, so that nobody else rotates.
                rotate(&self.path)?;
                drop(held);
                self.open = None;
                continue;
            }
            let mut bytes = Vec::with_capacity(line.len() + 2);
            if !closed {
                bytes.push(b'\n');
            }
            bytes.extend_from_slice(&line);
            bytes.push(b'\n');
            let mut writer = file;
            if let Err(error) = writer.write_all(&bytes) {
                // What we left half written is ours to take back; if that fails, too, the next one closes the line.
                let _ = file.set_len(len);
                return Err(error);
            }
            let next = Place { seq: place.seq.saturating_add(1), prev: hash(&line), before_torn: None };
            self.known = Some((len + bytes.len() as u64, next));
            return Ok(());
        }
    }

    fn opened(&mut self) -> io::Result<()> {
        if self.open.is_some() {
            return Ok(());
        }
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o600);
        let file = match options.open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                create_private(self.path.parent().unwrap_or(Path::new("/")))?;
                options.open(&self.path)?
            }
            opened => opened?,
        };
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        self.known = None;
        self.open = Some(file);
        Ok(())
    }

    /// Returns what the next line has to say, and whether the last one has its newline.
    fn look(&self, file: &File, len: u64) -> io::Result<(Place, bool)> {
        if len == 0 {
            // Numbers go on from file to file, so that a missing file shows.
            let seq = match File::open(rotated(&self.path, 1)) {
                Ok(before) => Tail::read(&before, before.metadata()?.len())?.seq,
                Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
                Err(error) => return Err(error),
            };
            return Ok((Place { seq, prev: String::new(), before_torn: None }, true));
        }
        let tail = Tail::read(file, len)?;
        Ok((Place { seq: tail.seq, prev: tail.last, before_torn: tail.before_torn }, tail.closed))
    }
}

/// The end of a file that is not empty.
struct Tail {
    /// The number of the next line.
    seq: u64,
    /// The hash of the last line.
    last: String,
    /// The hash of the last record, where the last line is none.
    before_torn: Option<String>,
    /// Whether the last line has its newline.
    closed: bool,
}

impl Tail {
    fn read(file: &File, len: u64) -> io::Result<Self> {
        let mut size = (64 << 10).min(len);
        loop {
            let mut bytes = vec![0; size as usize];
            file.read_exact_at(&mut bytes, len - size)?;
            if let Some(tail) = Self::of(&bytes, size == len) {
                return Ok(tail);
            }
            if size == len || size >= LONGEST {
                return Err(io::Error::other("its last lines are no records"));
            }
            size = (size * 4).min(len);
        }
    }

    /// Reads the end of a file; `None` if more of it is needed. `whole`: the bytes are all there is.
    fn of(bytes: &[u8], whole: bool) -> Option<Self> {
        let closed = bytes.last() == Some(&b'\n');
        let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let mut lines = text.split(|byte| *byte == b'\n').rev().peekable();
        let mut last = None;
        loop {
            let Some(line) = lines.next() else {
                // Not one record in the file: the chain begins behind what is there.
                let last = last?;
                return whole.then_some(Self { seq: 0, last, before_torn: Some(String::new()), closed });
            };
            // The first piece may be the end of a longer line.
            if lines.peek().is_none() && !whole {
                return None;
            }
            let head = Head::parse(line);
            let this = hash(line);
            match (head, last.clone()) {
                (Some(head), None) => {
                    return Some(Self {
                        seq: head.seq.saturating_add(1),
                        last: this,
                        before_torn: None,
                        closed,
                    });
                }
                (Some(head), Some(last)) => {
                    return Some(Self {
                        seq: head.seq.saturating_add(1),
                        last,
                        before_torn: Some(this),
                        closed,
                    });
                }
                (None, None) => last = Some(this),
                (None, Some(_)) => {}
            }
        }
    }
}

/// The lock on a file, as long as this lives.
struct Held<'f>(&'f File);

impl<'f> Held<'f> {
    fn take(file: &'f File) -> io::Result<Self> {
        for _ in 0..LOCK_TRIES {
            match file.try_lock() {
                Ok(()) => return Ok(Self(file)),
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_WAIT),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(io::Error::other("another process has it locked and does not go on"))
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // It goes with the descriptor at the latest.
        let _ = self.0.unlock();
    }
}

/// Returns the files of a log that exist, oldest first.
pub(crate) fn files(path: &Path) -> Vec<PathBuf> {
    let older = (1..=KEPT).rev().map(|age| rotated(path, age));
    older.chain([path.to_owned()]).filter(|path| path.exists()).collect()
}

/// Returns the hash of a line in hex.
pub(crate) fn hash(line: &[u8]) -> String {
    Sha256::digest(line).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn rotated(path: &Path, age: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{age}"));
    name.into()
}

fn rotate(path: &Path) -> io::Result<()> {
    for age in (1..KEPT).rev() {
        match fs::rename(rotated(path, age), rotated(path, age + 1)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    fs::rename(path, rotated(path, 1))
}

/// Reads lines of any bytes, each bounded.
pub(crate) fn read_line(reader: &mut impl io::BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    line.clear();
    io::BufRead::read_until(&mut reader.take(LONGEST), b'\n', line)
}
