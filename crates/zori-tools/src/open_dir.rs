//! A directory held open, and names in it (P-3). Whatever happens to its path, everything opened, made and replaced
//! here stays in that directory.
//!
//! No link is followed on the way: a path that was judged has its links resolved already, so one that turns up now was
//! not there then. This is stricter than staying beneath the workspace root, under which a link that was put in place
//! meanwhile could still lead to a protected file. Which path to open is [`crate::target`]'s business.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

/// Why a path was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The path has a link that was not there when it was decided about (DEC-4).
    #[error("it leads elsewhere than when the call was judged")]
    Changed,
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<Errno> for OpenError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::LOOP => Self::Changed,
            other => Self::Io(other.into()),
        }
    }
}

/// A folder that is held open.
#[derive(Clone, Debug)]
pub struct OpenDir(Arc<OwnedFd>);

/// How a path is opened without following links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpenMethod {
    /// In one step, by the kernel.
    #[cfg(target_os = "linux")]
    Kernel,
    /// Name by name.
    Stepwise,
}

#[cfg(target_os = "linux")]
const BEST: OpenMethod = OpenMethod::Kernel;
#[cfg(not(target_os = "linux"))]
const BEST: OpenMethod = OpenMethod::Stepwise;

/// Enough to look up names in a directory; it need not be readable.
#[cfg(target_os = "linux")]
const SEARCH: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const SEARCH: OFlags = OFlags::RDONLY;

const FOLDER: OFlags = SEARCH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opening a pipe or a terminal this way neither waits nor changes anything (P-5).
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

impl OpenDir {
    /// Opens a folder by its absolute path, following no link.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        Ok(Self(Arc::new(open(BEST, path, FOLDER)?)))
    }

    /// Opens a directory and makes its missing parts, which are added to `made`, outermost first.
    pub fn make(path: &Path, made: &mut Vec<NameInDir>) -> Result<Self, OpenError> {
        match Self::open(path) {
            Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return opened,
        }
        let mut here = Self(Arc::new(rustix::fs::open("/", FOLDER, Mode::empty())?));
        for name in names(path) {
            let next = match step(&here.0, name) {
                Err(Errno::NOENT) => {
                    match rustix::fs::mkdirat(&here.0, name, Mode::from_raw_mode(0o777)) {
                        Ok(()) => made.push(here.slot(name)),
                        // Somebody else was quicker.
                        Err(Errno::EXIST) => {}
                        Err(error) => return Err(error.into()),
                    }
                    step(&here.0, name)?
                }
                opened => opened?,
            };
            here = Self(Arc::new(next));
        }
        Ok(here)
    }

    /// A name in the folder; it need not exist.
    pub fn slot(&self, name: &OsStr) -> NameInDir {
        NameInDir { folder: self.clone(), name: name.to_owned() }
    }
}

/// Opens a file for reading by its absolute path, following no link.
pub fn read(path: &Path) -> Result<File, OpenError> {
    Ok(File::from(open(BEST, path, READ)?))
}

fn open(way: OpenMethod, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    match way {
        #[cfg(target_os = "linux")]
        OpenMethod::Kernel => {
            use rustix::fs::ResolveFlags;
            let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            // Without the flag a link at the end is an error like any other.
            match rustix::fs::openat2(CWD, path, flags - OFlags::NOFOLLOW, Mode::empty(), resolve) {
                // An older kernel, or a filter of system calls that does not know this one.
                Err(Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::TOOBIG) => {
                    open(OpenMethod::Stepwise, path, flags)
                }
                opened => opened,
            }
        }
        OpenMethod::Stepwise => {
            let mut here = rustix::fs::openat(CWD, "/", FOLDER, Mode::empty())?;
            let mut names: Vec<&OsStr> = names(path).collect();
            let Some(last) = names.pop() else { return rustix::fs::openat(&here, ".", flags, Mode::empty()) };
            for name in names {
                here = step(&here, name)?;
            }
            rustix::fs::openat(&here, last, flags, Mode::empty()).map_err(|error| at_link(&here, last, error))
        }
    }
}

fn step(here: &impl AsFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(here, name, FOLDER, Mode::empty()).map_err(|error| at_link(here, name, error))
}

/// A link where a folder was expected is reported as "not a directory", which it would be without links too.
fn at_link(here: &impl AsFd, name: &OsStr, error: Errno) -> Errno {
    let is_link = |stat: Stat| FileType::from_raw_mode(stat.st_mode).is_symlink();
    match error {
        Errno::NOTDIR if rustix::fs::statat(here, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(is_link) => {
            Errno::LOOP
        }
        // What the BSDs say instead.
        Errno::MLINK => Errno::LOOP,
        other => other,
    }
}

fn names(path: &Path) -> impl Iterator<Item = &OsStr> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        _ => None,
    })
}

/// A name in a folder that is held open.
#[derive(Clone, Debug)]
pub struct NameInDir {
    folder: OpenDir,
    name: OsString,
}

impl NameInDir {
    /// The place a path names, in a folder that exists.
    pub fn at(path: &Path) -> Result<Self, OpenError> {
        Ok(OpenDir::open(folder_of(path))?.slot(name_of(path)))
    }

    /// The place a path names, in a folder that is made if it is missing.
    pub fn made_at(path: &Path, made: &mut Vec<NameInDir>) -> Result<Self, OpenError> {
        Ok(OpenDir::make(folder_of(path), made)?.slot(name_of(path)))
    }

    /// Another name in the same folder.
    pub fn beside(&self, name: &str) -> Self {
        self.folder.slot(OsStr::new(name))
    }

    /// Opens the folder it is in for reading its names.
    pub fn open_folder(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.folder.0, ".", flags, Mode::empty())?)
    }

    /// Returns its metadata. A link counts as changed and is not followed, since nothing was decided about its target.
    pub fn meta(&self) -> Result<FileMeta, OpenError> {
        let meta = self.own_meta()?;
        if meta.kind.is_symlink() { Err(OpenError::Changed) } else { Ok(meta) }
    }

    /// Returns its metadata, a link's own if it is one.
    pub fn own_meta(&self) -> io::Result<FileMeta> {
        Ok(rustix::fs::statat(&self.folder.0, &self.name, AtFlags::SYMLINK_NOFOLLOW)?.into())
    }

    /// Returns where a link leads, as it says.
    pub fn link_target(&self) -> io::Result<PathBuf> {
        let target = rustix::fs::readlinkat(&self.folder.0, &self.name, Vec::new())?;
        let target: OsString = std::os::unix::ffi::OsStringExt::from_vec(target.into_bytes());
        Ok(target.into())
    }

    /// Opens what is there for reading.
    pub fn read(&self) -> Result<File, OpenError> {
        Ok(File::from(rustix::fs::openat(&self.folder.0, &self.name, READ, Mode::empty())?))
    }

    /// Returns whether we may write to what is there.
    pub fn check_writable(&self) -> io::Result<()> {
        Ok(rustix::fs::accessat(&self.folder.0, &self.name, Access::WRITE_OK, AtFlags::empty())?)
    }

    /// Makes a file that was not there (P-9).
    pub fn create(&self, mode: Mode) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&self.folder.0, &self.name, flags, mode)?))
    }

    /// Renames it, replacing what has that name.
    pub fn rename(&self, to: &Self) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.folder.0, &self.name, &to.folder.0, &to.name)?)
    }

    /// Renames it if the name is free; otherwise fails with `AlreadyExists`.
    pub fn rename_to_free(&self, to: &Self) -> io::Result<()> {
        let (from, name) = (&self.folder.0, &self.name);
        match rustix::fs::renameat_with(from, name, &to.folder.0, &to.name, RenameFlags::NOREPLACE) {
            // Some file systems cannot do it in one step.
            Err(Errno::INVAL | Errno::NOSYS) => {
                rustix::fs::linkat(from, name, &to.folder.0, &to.name, AtFlags::empty())?;
                self.remove()
            }
            renamed => Ok(renamed?),
        }
    }

    /// Removes a file or a link.
    pub fn remove(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.folder.0, &self.name, AtFlags::empty())?)
    }

    /// Removes an empty folder.
    pub fn remove_folder(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.folder.0, &self.name, AtFlags::REMOVEDIR)?)
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

/// Returns the last name of a path; `/` is its own name.
fn name_of(path: &Path) -> &OsStr {
    path.file_name().unwrap_or(OsStr::new("."))
}

/// A file's metadata, read by descriptor or in a directory that is held open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileMeta {
    pub kind: FileType,
    /// How long it is.
    pub len: u64,
    /// Its permission bits.
    pub mode: u32,
    /// Who owns it: user and group.
    pub owner: (u32, u32),
    /// Which file it is: device and number.
    pub inode: (u64, u64),
    /// When it was changed, in seconds and nanoseconds.
    pub modified: (i64, i64),
}

impl FileMeta {
    /// Asks an open file.
    pub fn of(file: &File) -> io::Result<Self> {
        Ok(rustix::fs::fstat(file)?.into())
    }
}

#[allow(
    clippy::unnecessary_cast,
    clippy::useless_conversion,
    reason = "the fields have other types on other systems"
)]
impl From<Stat> for FileMeta {
    fn from(stat: Stat) -> Self {
        Self {
            kind: FileType::from_raw_mode(stat.st_mode),
            len: u64::try_from(stat.st_size).unwrap_or_default(),
            mode: u32::from(stat.st_mode) & 0o7777,
            owner: (stat.st_uid, stat.st_gid),
            inode: (stat.st_dev as u64, stat.st_ino as u64),
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec.try_into().unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests;
