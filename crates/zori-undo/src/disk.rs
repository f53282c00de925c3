//! The file system as a restore and the store use it: names in folders that are held open, following no link (UNDO-15).
//!
//! Every system call goes through [`Disk::call`], where tests make it fail or end the process.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use crate::hash::Hash;
use crate::state::{Content, State};

/// What tests put between a restore and the system.
pub trait Faults: Send + Sync {
    /// Is told before each call; an error takes the place of the call.
    fn before(&self, call: &'static str) -> io::Result<()>;
    /// Is told after each call that was made.
    fn after(&self, call: &'static str);
    /// Takes the place of a file system in which files can share their blocks; `None` leaves it to the real one.
    fn reflink(&self, _from: &File, _to: &File) -> Option<io::Result<()>> {
        None
    }
}

/// The file system.
#[derive(Clone, Default)]
pub struct Disk {
    faults: Option<Arc<dyn Faults>>,
}

/// A folder that is held open.
#[derive(Clone)]
pub struct Folder(Arc<OwnedFd>);

/// What is at a name.
#[derive(Debug)]
pub enum Found {
    Nothing,
    /// Something that can be captured and put back.
    State(State),
    /// A socket, a pipe or a device.
    Special,
}

/// Where the bytes of a new file come from.
pub enum Bytes<'a> {
    /// From memory.
    Here(&'a [u8]),
    /// From this file, from where it is to its end.
    In(&'a File),
}

impl Found {
    /// Returns the state, where there is one or nothing.
    pub fn state(&self) -> Option<Option<&State>> {
        match self {
            Self::Nothing => Some(None),
            Self::State(state) => Some(Some(state)),
            Self::Special => None,
        }
    }
}

#[cfg(target_os = "linux")]
const SEARCH: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const SEARCH: OFlags = OFlags::RDONLY;

const FOLDER: OFlags = SEARCH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Opening a pipe this way does not wait.
pub(crate) const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

impl Disk {
    /// A file system that fails as a test says.
    pub fn with_faults(faults: Arc<dyn Faults>) -> Self {
        Self { faults: Some(faults) }
    }

    pub(crate) fn call<T>(&self, name: &'static str, make: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.before(name)?;
        let made = make();
        self.after(name);
        made
    }

    /// What is the same for all calls is not compiled into each.
    #[inline(never)]
    fn before(&self, name: &'static str) -> io::Result<()> {
        self.faults.as_ref().map_or(Ok(()), |faults| faults.before(name))
    }

    #[inline(never)]
    fn after(&self, name: &'static str) {
        if let Some(faults) = &self.faults {
            faults.after(name);
        }
    }

    /// Opens a folder by its absolute path. A link on the way is an error with `ELOOP`.
    pub fn folder(&self, path: &Path) -> io::Result<Folder> {
        self.call("open folder", || {
            #[cfg(target_os = "linux")]
            {
                use rustix::fs::ResolveFlags;
                let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
                match rustix::fs::openat2(CWD, path, FOLDER - OFlags::NOFOLLOW, Mode::empty(), resolve) {
                    // An older kernel, or a filter of system calls that does not know this one.
                    Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => {}
                    opened => return Ok(Folder(Arc::new(opened?))),
                }
            }
            let mut here = rustix::fs::openat(CWD, "/", FOLDER, Mode::empty())?;
            for part in path.components() {
                let Component::Normal(name) = part else { continue };
                here = rustix::fs::openat(&here, name, FOLDER, Mode::empty())?;
            }
            Ok(Folder(Arc::new(here)))
        })
    }

    /// Returns what is known of a name without opening it; `None` for nothing.
    pub fn stat(&self, folder: &Folder, name: &OsStr) -> io::Result<Option<Stat>> {
        self.call("stat", || match rustix::fs::statat(&folder.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        })
    }

    /// Opens a file for reading.
    pub fn open(&self, folder: &Folder, name: &OsStr) -> io::Result<File> {
        self.call("open", || Ok(File::from(rustix::fs::openat(&folder.0, name, READ, Mode::empty())?)))
    }

    /// Returns what is at a name, contents included. Files longer than `most` are not read.
    pub fn look(&self, folder: &Folder, name: &OsStr, most: u64) -> io::Result<Found> {
        let Some(stat) = self.stat(folder, name)? else { return Ok(Found::Nothing) };
        let mode = permissions(&stat);
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Ok(Found::State(State::Dir { mode })),
            FileType::Symlink => {
                let to = self.call("read link", || {
                    Ok(rustix::fs::readlinkat(&folder.0, name, Vec::new())?.into_bytes())
                })?;
                Ok(Found::State(State::Link { to }))
            }
            FileType::RegularFile => {
                let len = u64::try_from(stat.st_size).unwrap_or_default();
                if len > most {
                    return Ok(Found::State(State::File { content: Content::NotTaken, mode, len }));
                }
                let (hash, len) = self.hash(&self.open(folder, name)?)?;
                Ok(Found::State(State::File { content: Content::Stored(hash), mode, len }))
            }
            _ => Ok(Found::Special),
        }
    }

    /// Hashes a file from its start, and returns its length, too.
    pub fn hash(&self, file: &File) -> io::Result<(Hash, u64)> {
        self.call("read", || Hash::of_file(file))
    }

    /// Returns whether a file is the beginning of some bytes.
    pub fn begins(&self, part: &File, whole: &mut dyn Read) -> io::Result<bool> {
        self.call("read", || {
            let (mut part, mut here, mut there) = (part, [0; 8192], [0; 8192]);
            loop {
                let read = part.read(&mut here)?;
                if read == 0 {
                    return Ok(true);
                }
                match whole.read_exact(&mut there[..read]) {
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
                    filled => filled?,
                }
                if here[..read] != there[..read] {
                    return Ok(false);
                }
            }
        })
    }

    /// Makes an empty file share the blocks of another. Fails where the file system cannot.
    pub fn reflink(&self, from: &File, to: &File) -> io::Result<()> {
        self.call("reflink", || {
            if let Some(done) = self.faults.as_ref().and_then(|faults| faults.reflink(from, to)) {
                return done;
            }
            #[cfg(target_os = "linux")]
            return Ok(rustix::fs::ioctl_ficlone(to, from)?);
            #[cfg(not(target_os = "linux"))]
            Err(Errno::OPNOTSUPP.into())
        })
    }

    /// Makes a file that was not there, with these bytes and permissions. What comes from a file shares its blocks where the file
    /// system can do so.
    pub fn create(&self, folder: &Folder, name: &OsStr, bytes: Bytes<'_>, mode: u32) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = self.call("create", || {
            Ok(File::from(rustix::fs::openat(&folder.0, name, flags, Mode::from_raw_mode(0o600))?))
        })?;
        self.call("write", || match bytes {
            Bytes::Here(bytes) => file.write_all(bytes),
            Bytes::In(mut from) => io::copy(&mut from, &mut file).map(drop),
        })?;
        self.call("set mode", || Ok(rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?))
    }

    /// Makes a link that was not there.
    pub fn link(&self, folder: &Folder, name: &OsStr, to: &[u8]) -> io::Result<()> {
        self.call("link", || Ok(rustix::fs::symlinkat(OsStr::from_bytes(to), &folder.0, name)?))
    }

    /// Makes a folder that was not there.
    pub fn make_dir(&self, folder: &Folder, name: &OsStr, mode: u32) -> io::Result<()> {
        self.call("make folder", || Ok(rustix::fs::mkdirat(&folder.0, name, Mode::from_raw_mode(0o700))?))?;
        self.set_mode(folder, name, mode)
    }

    /// Sets the permissions of a file or folder, which is not a link.
    pub fn set_mode(&self, folder: &Folder, name: &OsStr, mode: u32) -> io::Result<()> {
        self.call("set mode", || {
            let file = rustix::fs::openat(&folder.0, name, READ, Mode::empty());
            let mode = Mode::from_raw_mode(mode);
            match file {
                Ok(file) => Ok(rustix::fs::fchmod(&file, mode)?),
                // Without the right to read there is no descriptor to use; nobody else can be in the way of our own file.
                Err(Errno::ACCESS) => Ok(rustix::fs::chmodat(&folder.0, name, mode, AtFlags::empty())?),
                Err(error) => Err(error.into()),
            }
        })
    }

    /// Exchanges two names.
    pub fn exchange(&self, folder: &Folder, a: &OsStr, b: &OsStr) -> io::Result<()> {
        self.call("exchange", || {
            Ok(rustix::fs::renameat_with(&folder.0, a, &folder.0, b, RenameFlags::EXCHANGE)?)
        })
    }

    /// Renames if the name is free.
    pub fn rename_to_free(&self, folder: &Folder, from: &OsStr, to: &OsStr) -> io::Result<()> {
        self.call("rename", || {
            match rustix::fs::renameat_with(&folder.0, from, &folder.0, to, RenameFlags::NOREPLACE) {
                // Some file systems cannot do it in one step.
                Err(Errno::INVAL | Errno::NOSYS) => {
                    rustix::fs::linkat(&folder.0, from, &folder.0, to, AtFlags::empty())?;
                    Ok(rustix::fs::unlinkat(&folder.0, from, AtFlags::empty())?)
                }
                renamed => Ok(renamed?),
            }
        })
    }

    /// Removes a file or a link.
    pub fn remove(&self, folder: &Folder, name: &OsStr) -> io::Result<()> {
        self.call("remove", || Ok(rustix::fs::unlinkat(&folder.0, name, AtFlags::empty())?))
    }

    /// Removes an empty folder.
    pub fn remove_dir(&self, folder: &Folder, name: &OsStr) -> io::Result<()> {
        self.call("remove folder", || Ok(rustix::fs::unlinkat(&folder.0, name, AtFlags::REMOVEDIR)?))
    }
}

/// Returns the permission bits.
pub(crate) fn permissions(stat: &Stat) -> u32 {
    #[allow(clippy::useless_conversion, reason = "the field has another type on other systems")]
    let mode = u32::from(stat.st_mode);
    mode & 0o7777
}

/// Returns folder and name of a path.
pub(crate) fn split(path: &Path) -> Option<(&Path, OsString)> {
    Some((path.parent()?, path.file_name()?.to_owned()))
}
