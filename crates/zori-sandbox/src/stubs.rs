//! Stubs where a protected path is missing while commands run: an empty file or directory, because nothing can be
//! mounted on a missing path (SB-2).
//!
//! Removing a mount point removes the mount in every other sandbox, so a stub goes only with its last user: each holds
//! a shared lock on it, in any process. An unusual file mode marks it, so that a stub left behind by a killed program
//! is recognised and removed with the next command.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::spec::PathKind;

/// The mark: the sticky bit, and no write permission. Both kinds are made with it in one call, whatever the umask is.
const MARK: u32 = 0o1000;
const MARK_MASK: u32 = 0o1222;
/// How often to try again when others remove the same stub at the same moment.
const TRIES: usize = 64;

/// A stub in use. When dropped, it is removed unless others use it.
#[derive(Debug)]
pub struct Stub {
    path: PathBuf,
    file: File,
}

/// Returns whether this is a stub of ours.
pub fn is_stub(path: &Path, meta: &Metadata) -> bool {
    let marked = meta.mode() & MARK_MASK == MARK && meta.uid() == geteuid().as_raw();
    let empty = || match meta.is_dir() {
        true => fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none()),
        // One that was just made has its text not yet.
        false => meta.is_file() && [0, text(path).len() as u64].contains(&meta.len()),
    };
    marked && empty()
}

impl Stub {
    /// Makes a stub, or shares the one that is there. Returns `None` if it is no longer a stub, or if neither we nor
    /// our commands can write to its directory.
    pub fn take(path: &Path, kind: PathKind) -> io::Result<Option<Self>> {
        for _ in 0..TRIES {
            match make(path, kind) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => return Ok(None),
                Err(errno) => return Err(errno.into()),
            }
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let file = match openat(CWD, path, flags, Mode::empty()) {
                Ok(fd) => File::from(fd),
                Err(Errno::NOENT) => continue,
                Err(_) => return Ok(None),
            };
            if !is_stub(path, &file.metadata()?) {
                return Ok(None);
            }
            file.lock_shared()?;
            let stub = Self { path: path.to_owned(), file };
            if stub.in_place() {
                return Ok(Some(stub));
            }
        }
        Err(io::Error::other("others keep removing it"))
    }

    /// Returns whether the path still leads to the stub we hold.
    fn in_place(&self) -> bool {
        let Ok((held, there)) = self.file.metadata().and_then(|m| Ok((m, fs::symlink_metadata(&self.path)?)))
        else {
            return false;
        };
        (held.dev(), held.ino()) == (there.dev(), there.ino()) && is_stub(&self.path, &there)
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        if self.file.try_lock().is_ok() && self.in_place() {
            // One that cannot be removed now is recognised the next time.
            let _ = fs::remove_dir(&self.path).or_else(|_| fs::remove_file(&self.path));
        }
    }
}

/// Returns the content of a file stub: empty, except for a file that git cannot read empty, which gets git's default.
fn text(path: &Path) -> &'static str {
    if path.ends_with(".git/commondir") { ".\n" } else { "" }
}

fn make(path: &Path, kind: PathKind) -> rustix::io::Result<()> {
    match kind {
        PathKind::Dir => mkdirat(CWD, path, Mode::from_raw_mode(MARK | 0o555)),
        PathKind::File => {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            let fd = openat(CWD, path, flags, Mode::from_raw_mode(MARK | 0o444))?;
            // A disk without room for two bytes leaves it empty, and git says so.
            rustix::io::write(fd, text(path).as_bytes()).map(drop)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn the_last_user_removes_it() {
        let dir = tempfile::tempdir().unwrap();
        let (file, folder) = (dir.path().join("AGENTS.md"), dir.path().join(".git"));
        let first = [Stub::take(&file, PathKind::File), Stub::take(&folder, PathKind::Dir)];
        let second = [Stub::take(&file, PathKind::File), Stub::take(&folder, PathKind::Dir)];
        assert!(first.iter().chain(&second).all(|stub| matches!(stub, Ok(Some(_)))));
        drop(first);
        assert_eq!(listing(dir.path()), [".git", "AGENTS.md"]);
        drop(second);
        assert_eq!(listing(dir.path()), [""; 0]);
    }

    #[test]
    fn what_a_killed_program_left_is_removed_by_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".git");
        make(&path, PathKind::Dir).unwrap();
        assert!(is_stub(&path, &fs::symlink_metadata(&path).unwrap()));
        drop(Stub::take(&path, PathKind::Dir).unwrap());
        assert_eq!(listing(dir.path()), [""; 0]);
    }

    #[test]
    fn what_somebody_made_meanwhile_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("AGENTS.md");
        fs::write(&path, "").unwrap();
        assert!(Stub::take(&path, PathKind::File).unwrap().is_none());
        let other = dir.path().join("CLAUDE.md");
        let stub = Stub::take(&other, PathKind::File).unwrap();
        fs::remove_file(&other).unwrap();
        fs::write(&other, "mine").unwrap();
        drop(stub);
        assert_eq!(listing(dir.path()), ["AGENTS.md", "CLAUDE.md"]);
    }
}
