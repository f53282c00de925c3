//! Reads files of an untrusted folder: regular files below the folder itself, no links, no pipes, nothing large.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Dir, Mode, OFlags, openat};
use rustix::io::Errno;

/// The size of the largest file that is read.
const MAX_BYTES: u64 = 1 << 20;

/// Opening neither follows a link nor waits for a pipe.
const OPEN_FLAGS: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// A folder below a root, reached without following a link.
pub struct PlainDir {
    path: PathBuf,
    folder: OwnedFd,
    /// Why others than the user can change it.
    insecure: Option<String>,
}

impl PlainDir {
    /// Opens a folder, by its names from the root on; `None` where there is none. An error is the second half of a sentence.
    pub fn open(root: &Path, names: &[&str]) -> Result<Option<Self>, String> {
        let folder = openat(CWD, root, OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        let mut here = Self { path: root.to_owned(), folder: folder.map_err(failed)?, insecure: None };
        for name in names {
            let path = here.path.join(name);
            let folder = match openat(&here.folder, *name, OFlags::DIRECTORY | OPEN_FLAGS, Mode::empty()) {
                Ok(folder) => folder,
                Err(Errno::NOENT) => return Ok(None),
                // Linux says the same of a link that must be a directory; a plain file of that name is nobody's settings.
                Err(Errno::NOTDIR) if !path.is_symlink() => return Ok(None),
                Err(Errno::NOTDIR) => return Err(failed(Errno::LOOP)),
                Err(error) => return Err(failed(error)),
            };
            let folder = File::from(folder);
            let theirs =
                folder.metadata().ok().and_then(|meta| insecure_permissions(&path, meta.uid(), meta.mode()));
            here = Self { path, folder: folder.into(), insecure: here.insecure.or(theirs) };
        }
        Ok(Some(here))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the names of its entries, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = Dir::read_from(&self.folder).into_iter().flatten().flatten();
        let mut names: Vec<_> =
            entries.filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned)).collect();
        names.sort_unstable();
        names
    }

    /// Reads a file, if it is a plain one, and says who else can change it. An error is the second half of a sentence.
    pub fn read(&self, name: &str, insecure: &mut Option<String>) -> Result<Option<Vec<u8>>, String> {
        let file = match openat(&self.folder, name, OPEN_FLAGS, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let meta = file.metadata().map_err(|error| format!("cannot be read: {error}"))?;
        if !meta.is_file() {
            return Err("is not a regular file".into());
        }
        if meta.len() > MAX_BYTES {
            return Err(format!("is larger than {MAX_BYTES} bytes"));
        }
        let theirs = || {
            self.insecure
                .clone()
                .or_else(|| insecure_permissions(&self.path.join(name), meta.uid(), meta.mode()))
        };
        *insecure = insecure.take().or_else(theirs);
        // Room for all of it, so that it is not read in small pieces.
        let mut bytes = Vec::with_capacity(meta.len() as usize + 1);
        match file.take(MAX_BYTES + 1).read_to_end(&mut bytes) {
            Ok(_) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::IsADirectory => Err("is not a regular file".into()),
            Err(error) => Err(format!("cannot be read: {error}")),
        }
    }
}

fn failed(error: Errno) -> String {
    match error {
        Errno::LOOP => "is a link; a project's settings are plain files".to_owned(),
        error => format!("cannot be read: {}", std::io::Error::from(error)),
    }
}

/// Explains how others than the user can change a file (TRUST-8). Root may own it: root can change any file.
pub fn insecure_permissions(path: &Path, owner: u32, mode: u32) -> Option<String> {
    let user = rustix::process::geteuid().as_raw();
    if owner != user && owner != 0 {
        return Some(format!("{} belongs to another user", path.display()));
    }
    (mode & 0o002 != 0).then(|| format!("{} is writable by others", path.display()))
}
