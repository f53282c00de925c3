//! A file of lines in which each names the SHA-256 of the one before, written by any number of processes at once.
//!
//! A line is appended under a lock on the file, by one write. The holder of the lock checks whether the file is still
//! the one at the path, since rotation renames it, and whether others have added to it meanwhile. Lines are synced where
//! records must survive a loss of power.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::read::Head;
use crate::dir::create_private;
use crate::lock::is_at;

/// How large a file gets before it is rotated (DECISIONS 30).
pub(crate) const MAX_FILE_BYTES: u64 = 100_000_000;
/// How many rotated files are kept.
const KEPT_FILES: u32 = 5;
/// How long others may hold the lock: they need it for microseconds, unless they were stopped in the middle.
const LOCK_TRIES: u32 = 2_000;
const LOCK_WAIT: Duration = Duration::from_millis(1);
/// The longest line that is looked for at the end of a file; ours have a few kilobytes.
const MAX_LINE: u64 = 16 << 20;

/// The file, opened with its first line.
#[derive(Debug)]
pub(crate) struct ChainFile {
    path: PathBuf,
    limit: u64,
    /// Whether each line has to be on the disk before what it allows happens.
    synced: bool,
    open: Option<File>,
    /// The next link, at this length of the file, if nobody else has written.
    known: Option<(u64, ChainLink)>,
}

/// How a line refers to the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChainLink {
    /// Its own number.
    pub seq: u64,
    /// The hash of the line before; empty in the first line of a file.
    pub prev: String,
    /// Where the line before was cut off, the hash of the last whole one.
    pub before_torn: Option<String>,
}

impl ChainFile {
    pub(crate) fn new(path: PathBuf, limit: u64) -> Self {
        Self { path, limit, synced: false, open: None, known: None }
    }

    /// Syncs every line.
    pub(crate) fn sync_lines(&mut self) {
        self.synced = true;
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes sure that lines can be written, creating the file.
    pub(crate) fn check(&mut self) -> io::Result<()> {
        self.opened().map(|_| ())
    }

    /// Appends the line that `make` returns for its link, without a newline.
    pub(crate) fn append(&mut self, make: impl Fn(&ChainLink) -> Vec<u8>) -> io::Result<()> {
        loop {
            self.opened()?;
            let file = self.open.as_ref().expect("it was opened just now");
            let held = HeldLock::take(file)?;
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
            if self.synced {
                if len == 0 {
                    // The name, too. A folder that cannot be synced does not keep the line from being.
                    let folder = self.path.parent().unwrap_or(Path::new("/"));
                    let _ = File::open(folder).and_then(|folder| folder.sync_all());
                }
                match file.sync_data() {
                    Err(error)
                        if matches!(
                            error.kind(),
                            io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
                        ) => {}
                    synced => synced?,
                }
            }
            let next = ChainLink { seq: place.seq.saturating_add(1), prev: hash(&line), before_torn: None };
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

    /// Returns the link for the next line, and whether the last line has its newline.
    fn look(&self, file: &File, len: u64) -> io::Result<(ChainLink, bool)> {
        if len == 0 {
            // Numbers go on from file to file, so that a missing file shows.
            let seq = match File::open(rotated(&self.path, 1)) {
                Ok(before) => Tail::read(&before, before.metadata()?.len())?.seq,
                Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
                Err(error) => return Err(error),
            };
            return Ok((ChainLink { seq, prev: String::new(), before_torn: None }, true));
        }
        let tail = Tail::read(file, len)?;
        Ok((ChainLink { seq: tail.seq, prev: tail.last, before_torn: tail.before_torn }, tail.closed))
    }
}

/// The end of a file that is not empty.
struct Tail {
    /// The number of the next line.
    seq: u64,
    /// The hash of the last line.
    last: String,
    /// The hash of the last record, if the last line is not a record.
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
            if size == len || size >= MAX_LINE {
                return Err(io::Error::other("its last lines are no records"));
            }
            size = (size * 4).min(len);
        }
    }

    /// Reads the end of a file; `None` if more of it is needed. `whole`: the bytes are the whole file.
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

/// Holds the lock on a file until it is dropped.
struct HeldLock<'f>(&'f File);

impl<'f> HeldLock<'f> {
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

impl Drop for HeldLock<'_> {
    fn drop(&mut self) {
        // It goes with the descriptor at the latest.
        let _ = self.0.unlock();
    }
}

/// Returns the files of a log that exist, oldest first.
pub(crate) fn files(path: &Path) -> Vec<PathBuf> {
    let older = (1..=KEPT_FILES).rev().map(|age| rotated(path, age));
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
    for age in (1..KEPT_FILES).rev() {
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
    io::BufRead::read_until(&mut reader.take(MAX_LINE), b'\n', line)
}
