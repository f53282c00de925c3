//! One writer per session: an advisory lock on `<id>.lock` beside the session file.
//!
//! It is not on the session file itself, because that may be replaced by rename (LOG-6), and because the lock
//! file says who holds it. The kernel lets go of it when the holder dies, so a lock file that was left behind
//! never blocks anybody (LOG-8). Children do not inherit it: the descriptor is closed on exec.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use zori_core::ids::SessionId;

use crate::dir::create_private;
use crate::error::StoreError;

/// A session that belongs to this process until the value is dropped.
#[derive(Debug)]
pub struct SessionLock {
    path: PathBuf,
    /// Holds the lock: closing it lets go.
    _file: File,
}

impl SessionLock {
    pub(crate) fn take(dir: &Path, id: &SessionId) -> Result<Self, StoreError> {
        let path = dir.join(format!("{id}.lock"));
        loop {
            let mut file = open(dir, &path).map_err(StoreError::at(&path))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(StoreError::Locked { id: id.clone(), pid: holder(&mut file) });
                }
                Err(TryLockError::Error(error)) => return Err(StoreError::at(&path)(error)),
            }
            // A holder removes the file before it lets go, so we may have locked one that is no longer there.
            if !is_at(&file, &path).map_err(StoreError::at(&path))? {
                continue;
            }
            // For messages only; on a full disk the lock still holds without it.
            let _ = sign(&mut file);
            return Ok(Self { path, _file: file });
        }
    }
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        // Ours to remove: whoever opened it meanwhile finds, once locked, that it is not at the path any more.
        let _ = fs::remove_file(&self.path);
    }
}

fn open(dir: &Path, path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_private(dir)?;
            options.open(path)
        }
        opened => opened,
    }
}

/// Returns whether the file is the one at the path.
pub(crate) fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((ours.dev(), ours.ino()) == (there.dev(), there.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Writes down who holds the lock. A fresh file is not truncated: that would make some file systems write it to
/// the disk when it is closed, which takes milliseconds.
fn sign(file: &mut File) -> io::Result<()> {
    if file.metadata()?.len() > 0 {
        file.set_len(0)?;
    }
    file.write_all(std::process::id().to_string().as_bytes())
}

fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(16).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> SessionId {
        SessionId::parse("s").unwrap()
    }

    #[test]
    fn the_second_is_told_who_holds_it() {
        let dir = tempfile::tempdir().unwrap();
        let first = SessionLock::take(dir.path(), &id()).unwrap();
        let refused = SessionLock::take(dir.path(), &id()).unwrap_err();
        assert_eq!(refused.to_string(), format!("session `s` is in use by process {}", std::process::id()));
        drop(first);
        SessionLock::take(dir.path(), &id()).unwrap();
    }

    #[test]
    fn another_session_is_free() {
        let dir = tempfile::tempdir().unwrap();
        let _one = SessionLock::take(dir.path(), &id()).unwrap();
        SessionLock::take(dir.path(), &SessionId::parse("t").unwrap()).unwrap();
    }

    #[test]
    fn a_file_left_behind_does_not_block() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("s.lock"), "4242").unwrap();
        let _lock = SessionLock::take(dir.path(), &id()).unwrap();
        let text = fs::read_to_string(dir.path().join("s.lock")).unwrap();
        assert_eq!(text, std::process::id().to_string());
    }

    #[test]
    fn nothing_is_left_when_let_go() {
        let dir = tempfile::tempdir().unwrap();
        drop(SessionLock::take(&dir.path().join("made/here"), &id()).unwrap());
        assert_eq!(fs::read_dir(dir.path().join("made/here")).unwrap().count(), 0);
    }

    /// Removal while others open and lock must never let two in at once.
    #[test]
    fn many_threads_never_hold_it_together() {
        use std::sync::atomic::{AtomicU32, Ordering};
        let dir = tempfile::tempdir().unwrap();
        let (inside, rounds) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while rounds.load(Ordering::SeqCst) < 2_000 {
                        if let Ok(lock) = SessionLock::take(dir.path(), &id()) {
                            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                            rounds.fetch_add(1, Ordering::SeqCst);
                            inside.fetch_sub(1, Ordering::SeqCst);
                            drop(lock);
                        }
                    }
                });
            }
        });
    }
}
