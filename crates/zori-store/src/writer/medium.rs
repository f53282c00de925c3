//! The file a session is appended to, behind a trait so that tests can make each call fail.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;

use zori_core::ids::SessionId;

use crate::dir::{SessionDir, create_private_listed};
use crate::error::StoreError;
use crate::lock::SessionLock;

/// Something that is only ever appended to.
pub(super) trait Medium: Send {
    /// Opens it, creating it if need be; called again after a failure.
    fn open(&mut self) -> Result<Opened, StoreError>;
    /// Writes some of the bytes at the end.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Syncs what was written to disk.
    fn sync(&mut self) -> io::Result<()>;
    /// Replaces it by its first `keep` bytes and `tail`, safely on the disk; on failure it is as it was.
    fn rewrite(&mut self, keep: u64, tail: &[u8]) -> io::Result<()>;
}

/// What it looks like when it is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Opened {
    pub(super) len: u64,
    /// Whether the last byte is a newline, or there is none (SES-9).
    pub(super) at_line_start: bool,
    /// Whether there is a complete first line, which is the meta record.
    pub(super) has_first_line: bool,
    /// What cannot be had where it is; saving goes on without it.
    pub(super) shortcoming: Option<Shortcoming>,
}

/// What some network and FUSE mounts cannot do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Shortcoming {
    #[error(
        "the folder cannot be synced ({0}); saving goes on, and a loss of power may take the session's name away"
    )]
    NoDirSync(String),
    #[error("the session cannot be locked here ({0}); saving goes on, so use it from one process at a time")]
    NoLock(String),
}

/// The session's file.
pub(super) struct SessionFile {
    dir: SessionDir,
    id: SessionId,
    lock: Option<SessionLock>,
    file: Option<File>,
    /// Whether a created file's name has to be on the disk at once (LOG-5).
    sync_dir: bool,
}

/// A first line is shorter than this: it is a path and little else.
const FIRST_LINE: usize = 32 << 10;

impl SessionFile {
    pub(super) fn new(dir: SessionDir, id: SessionId, lock: Option<SessionLock>, sync_dir: bool) -> Self {
        Self { dir, id, lock, file: None, sync_dir }
    }

    fn file(&self) -> io::Result<&File> {
        self.file.as_ref().ok_or_else(|| io::Error::other("not open"))
    }
}

impl Medium for SessionFile {
    fn open(&mut self) -> Result<Opened, StoreError> {
        if self.lock.is_none() {
            self.lock = Some(SessionLock::take(&self.dir, &self.id)?);
        }
        let unlocked = self.lock.as_mut().and_then(SessionLock::take_shortcoming);
        let path = self.dir.file(&self.id);
        let (file, mut opened) =
            open(&path, self.dir.path(), self.sync_dir).map_err(StoreError::at(&path))?;
        self.file = Some(file);
        opened.shortcoming = unlocked.map(Shortcoming::NoLock).or(opened.shortcoming);
        Ok(opened)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file()?.write(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        match self.file()?.sync_data() {
            // There is nothing to sync on a device or a file system that cannot; the bytes have been taken.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) =>
            {
                Ok(())
            }
            outcome => outcome,
        }
    }

    fn rewrite(&mut self, keep: u64, tail: &[u8]) -> io::Result<()> {
        let (path, copy_path) = (self.dir.file(&self.id), self.dir.copy_file(&self.id));
        let copied = copy(&path, &copy_path, keep, tail).and_then(|()| {
            let file = append_options().open(&copy_path)?;
            fs::rename(&copy_path, &path)?;
            Ok(file)
        });
        match copied {
            Ok(file) => {
                self.file = Some(file);
                // The copy is on the disk and in its place. Should its name not be, the old file comes back
                // after a loss of power, which the user is warned of in any case.
                let _ = File::open(self.dir.path()).and_then(|dir| dir.sync_all());
                Ok(())
            }
            Err(error) => {
                let _ = fs::remove_file(&copy_path);
                Err(error)
            }
        }
    }
}

fn append_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).append(true);
    options
}

fn open(path: &Path, dir: &Path, sync_dir: bool) -> io::Result<(File, Opened)> {
    // Nobody may ever read from a pipe, and who does is not reading a session.
    if fs::metadata(path).is_ok_and(|facts| facts.file_type().is_fifo()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a pipe, not a file"));
    }
    let mut options = append_options();
    options.create(true).mode(0o600);
    let mut grown = Vec::new();
    let file = match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            grown = create_private_listed(dir)?;
            options.open(path)?
        }
        opened => opened?,
    };
    let len = file.metadata()?.len();
    if len == 0 {
        let mut shortcoming = None;
        if sync_dir {
            grown.insert(0, dir.to_owned());
            let synced = grown.iter().try_for_each(|dir| File::open(dir)?.sync_all());
            shortcoming = synced.err().map(|error| Shortcoming::NoDirSync(error.to_string()));
        }
        return Ok((file, Opened { len, at_line_start: true, has_first_line: false, shortcoming }));
    }
    let mut last = [0];
    file.read_exact_at(&mut last, len - 1)?;
    let at_line_start = last == *b"\n";
    let has_first_line = at_line_start || len > FIRST_LINE as u64 || has_newline(&file, len as usize)?;
    Ok((file, Opened { len, at_line_start, has_first_line, shortcoming: None }))
}

fn has_newline(file: &File, len: usize) -> io::Result<bool> {
    let mut bytes = vec![0; len];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes.contains(&b'\n'))
}

fn copy(from: &Path, to: &Path, keep: u64, tail: &[u8]) -> io::Result<()> {
    let mut copy = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(to)?;
    let kept = io::copy(&mut File::open(from)?.take(keep), &mut copy)?;
    if kept != keep {
        return Err(io::Error::other("the file has become shorter"));
    }
    copy.write_all(tail)?;
    copy.sync_all()
}
