//! Replaces a file in one step: a temporary file beside it, then a rename. Whoever looks sees the old content or
//! the new one (WRITE-5, CAN-4, FS-2).
//!
//! Nothing is synced: durability against loss of power is promised for our own records, not for a user's files.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Access, CWD, RenameFlags, XattrFlags};
use zori_core::cancel::Cancel;

/// How many symbolic links are followed; the kernel's own limit.
const MAX_LINKS: usize = 40;

/// Content that is on disk beside its target and not yet in its place. Dropped, it is removed.
#[derive(Debug)]
pub struct Staged {
    temp: PathBuf,
    target: PathBuf,
}

/// Why a file was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteFailure {
    /// Nobody wants it any more.
    #[error("the call was cancelled")]
    Cancelled,
    /// The system said no.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Staged {
    /// Writes `content` beside `target`, which is no symbolic link (see [`follow`]). With `like`, the file that is
    /// there now, mode, owner and extended attributes are taken over as far as the system lets us.
    pub fn new(
        target: &Path,
        content: &[u8],
        like: Option<&Metadata>,
        cancel: &Cancel,
    ) -> Result<Self, WriteFailure> {
        if like.is_some() {
            // A rename would also replace a file that is not writable; its owner said no to that.
            rustix::fs::access(target, Access::WRITE_OK).map_err(io::Error::from)?;
        }
        let mode = if like.is_some() { 0o600 } else { 0o666 };
        let (temp, mut file) = create_beside(target, mode)?;
        let staged = Self { temp, target: target.to_owned() };
        for chunk in content.chunks(1 << 20) {
            if cancel.is_cancelled() {
                return Err(WriteFailure::Cancelled);
            }
            file.write_all(chunk)?;
        }
        if let Some(meta) = like {
            take_over(target, meta, &file)?;
        }
        if cancel.is_cancelled() {
            return Err(WriteFailure::Cancelled);
        }
        Ok(staged)
    }

    /// Gives the content the mode of another file, the one it is moved from.
    pub fn set_mode(&self, like: &Metadata) -> io::Result<()> {
        fs::set_permissions(&self.temp, fs::Permissions::from_mode(like.mode() & 0o7777))
    }

    /// Puts the content in its place, over whatever is there.
    pub fn replace(self) -> io::Result<()> {
        fs::rename(&self.temp, &self.target)
    }

    /// Puts the content in its place if nothing is there; otherwise fails with `AlreadyExists`.
    pub fn create(self) -> io::Result<()> {
        match rustix::fs::renameat_with(CWD, &self.temp, CWD, &self.target, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(()),
            // Some file systems cannot do it in one step.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
                fs::hard_link(&self.temp, &self.target)
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // After a rename there is nothing left to remove.
        let _ = fs::remove_file(&self.temp);
    }
}

/// Returns the path that writing to `path` changes: symbolic links are followed to their end, which need not exist.
pub fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(link) => {
                let parent = path.parent().unwrap_or(Path::new("/"));
                path = parent.join(link);
            }
            // Not a link, or not there.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOENT)) => {
                return match fs::canonicalize(&path) {
                    Ok(real) => Ok(real),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(path),
                    Err(error) => Err(error),
                };
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::from_raw_os_error(libc::ELOOP))
}

/// Moves a file aside, under a name nobody uses, and returns that name.
pub fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let (aside, _) = create_beside(path, 0o600)?;
    fs::rename(path, &aside).inspect_err(|_| {
        let _ = fs::remove_file(&aside);
    })?;
    Ok(aside)
}

/// Creates a file that did not exist in the folder of `target`. The name is short, so that it fits wherever the
/// target's does.
fn create_beside(target: &Path, mode: u32) -> io::Result<(PathBuf, File)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let folder = target.parent().unwrap_or(Path::new("/"));
    loop {
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let temp = folder.join(format!(".zori-{}-{n}.tmp", process::id()));
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&temp);
        match file {
            Ok(file) => return Ok((temp, file)),
            // Left behind by a process that had our number and was killed.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// Gives a new file the attributes of the old one. Only the mode must succeed: owner and attributes need rights
/// or support that may be missing.
fn take_over(old: &Path, meta: &Metadata, new: &File) -> io::Result<()> {
    let mine = new.metadata()?;
    if (mine.uid(), mine.gid()) != (meta.uid(), meta.gid()) {
        let _ = fchown(new, Some(meta.uid()), Some(meta.gid()));
    }
    copy_attributes(old, new);
    // Last, because a change of owner clears the set-id bits.
    new.set_permissions(fs::Permissions::from_mode(meta.mode() & 0o7777))
}

fn copy_attributes(old: &Path, new: &File) {
    let mut names = vec![0; 4096];
    let Ok(len) = rustix::fs::listxattr(old, &mut names) else { return };
    let mut value = vec![0; 65536];
    for name in names[..len].split(|&b| b == 0).filter(|name| !name.is_empty()) {
        if let Ok(len) = rustix::fs::getxattr(old, name, &mut value) {
            let _ = rustix::fs::fsetxattr(new, name, &value[..len], XattrFlags::empty());
        }
    }
}
