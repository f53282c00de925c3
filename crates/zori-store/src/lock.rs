//! One writer per session: an advisory lock on `<id>.lock` beside the session file.
//!
//! It is not on the session file itself, because that may be replaced by rename (LOG-6), and because the lock
//! file says who holds it. The kernel lets go of it when the holder dies, so a lock file that was left behind
//! never blocks anybody (LOG-8). Children do not inherit it: the descriptor is closed on exec.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use zori_core::ids::SessionId;

use crate::dir::{SessionDir, create_private};
use crate::error::StoreError;

/// The lock on a session, held until it is dropped.
#[derive(Debug)]
pub struct SessionLock {
    path: PathBuf,
    /// Holds the lock until it is closed.
    _file: File,
    /// Why it does not hold anybody off, where the file system knows no locks.
    shortcoming: Option<String>,
}

impl SessionLock {
    pub(crate) fn take(dir: &SessionDir, id: &SessionId) -> Result<Self, StoreError> {
        let path = dir.lock_file(id);
        let mut tries = 0;
        loop {
            let mut file = open(dir.path(), &path).map_err(StoreError::at(&path))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let pid = holder(&mut file);
                    // A holder that has not said yet who it is will, within a moment.
                    let patience = if pid.is_some() { DEAD_HOLDER_TRIES } else { NAMELESS_TRIES };
                    if tries < patience && pid.is_none_or(is_dead) {
                        tries += 1;
                        thread::sleep(DEAD_HOLDER_WAIT);
                        continue;
                    }
                    return Err(StoreError::Locked { id: id.clone(), pid });
                }
                Err(TryLockError::Error(error)) if knows_no_locks(&error) => {
                    return Ok(Self { path, _file: file, shortcoming: Some(error.to_string()) });
                }
                Err(TryLockError::Error(error)) => return Err(StoreError::at(&path)(error)),
            }
            // A holder removes the file before it lets go, so we may have locked one that is no longer there.
            if !is_at(&file, &path).map_err(StoreError::at(&path))? {
                continue;
            }
            // For messages only; on a full disk the lock still holds without it.
            let _ = write_holder(&mut file);
            return Ok(Self { path, _file: file, shortcoming: None });
        }
    }
}

impl SessionLock {
    /// Returns why it holds nobody off, once.
    pub fn take_shortcoming(&mut self) -> Option<String> {
        self.shortcoming.take()
    }
}

impl SessionDir {
    /// Returns the sessions that a process has open, and which process that is.
    pub fn open(&self) -> HashMap<String, u32> {
        let entries = fs::read_dir(self.path()).into_iter().flatten().flatten();
        let held = entries.filter_map(|entry| {
            let id = entry.file_name().to_str()?.strip_suffix(".lock")?.to_owned();
            let mut file = File::open(entry.path()).ok()?;
            // A lock that can be had is left behind; ours ends with the file, in a moment.
            let free = file.try_lock_shared().is_ok();
            let pid = holder(&mut file).filter(|_| !free)?;
            Some((id, pid))
        });
        held.collect()
    }
}

/// Some network and FUSE mounts have no locks; saving goes on without.
fn knows_no_locks(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput)
        || error.raw_os_error() == Some(NO_LOCKS)
}

/// `ENOLCK`: a network file system whose lock server does not answer.
const NO_LOCKS: i32 = if cfg!(target_os = "linux") { 37 } else { 77 };

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

/// Writes the holder's process id. A fresh file is not truncated: that would make some file systems write it to the
/// disk when it is closed, which takes milliseconds.
fn write_holder(file: &mut File) -> io::Result<()> {
    if file.metadata()?.len() > 0 {
        file.set_len(0)?;
    }
    file.write_all(std::process::id().to_string().as_bytes())
}

/// How long a lock is awaited whose holder is dead, or dies: the kernel lets go of it on the way, and what it had just forked has its
/// descriptors until it closes them, which takes a moment on a busy machine.
const DEAD_HOLDER_TRIES: u32 = 200;
const NAMELESS_TRIES: u32 = 30;
const DEAD_HOLDER_WAIT: Duration = Duration::from_millis(10);

/// Returns whether a process has ended, reaped or not, or has begun to, as far as the system tells.
pub fn is_dead(pid: u32) -> bool {
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => {
            stat.rsplit_once(") ").is_some_and(|(_, rest)| is_over(rest))
                || fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(|status| must_die(&status))
        }
        Err(_) => Path::new("/proc/self/stat").exists() && !Path::new(&format!("/proc/{pid}")).exists(),
    }
}

/// Reads `STATE PARENT GROUP SESSION TERMINAL FOREGROUND FLAGS ...`: a zombie, or one that is on its way (`PF_EXITING`).
fn is_over(stat: &str) -> bool {
    let flags = stat.split(' ').nth(6).and_then(|flags| flags.parse::<u64>().ok());
    stat.starts_with(['Z', 'X']) || flags.is_some_and(|flags| flags & 0x4 != 0)
}

/// Returns whether SIGKILL waits to be taken.
fn must_die(status: &str) -> bool {
    let pending = status.lines().filter_map(|line| {
        line.strip_prefix("SigPnd:").or_else(|| line.strip_prefix("ShdPnd:")).map(str::trim)
    });
    pending.filter_map(|signals| u64::from_str_radix(signals, 16).ok()).any(|signals| signals & (1 << 8) != 0)
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
        let first = SessionLock::take(&SessionDir::new(dir.path()), &id()).unwrap();
        let refused = SessionLock::take(&SessionDir::new(dir.path()), &id()).unwrap_err();
        assert_eq!(refused.to_string(), format!("session `s` is in use by process {}", std::process::id()));
        drop(first);
        SessionLock::take(&SessionDir::new(dir.path()), &id()).unwrap();
    }

    #[test]
    fn holders_that_die() {
        assert!(is_over("Z 1 2 3 0 -1 4194304 0"));
        assert!(is_over("R 1 2 3 0 -1 4194308 0"));
        assert!(!is_over("S 1 2 3 0 -1 4194304 0"));
        assert!(must_die("Name:\tx\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000100\n"));
        assert!(!must_die("SigPnd:\t0000000000004000\nShdPnd:\t0000000000000000\n"));
        assert!(!is_dead(std::process::id()));
    }

    #[test]
    fn another_session_is_free() {
        let dir = tempfile::tempdir().unwrap();
        let _one = SessionLock::take(&SessionDir::new(dir.path()), &id()).unwrap();
        SessionLock::take(&SessionDir::new(dir.path()), &SessionId::parse("t").unwrap()).unwrap();
    }

    #[test]
    fn a_file_left_behind_does_not_block() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("s.lock"), "4242").unwrap();
        let _lock = SessionLock::take(&SessionDir::new(dir.path()), &id()).unwrap();
        let text = fs::read_to_string(dir.path().join("s.lock")).unwrap();
        assert_eq!(text, std::process::id().to_string());
    }

    #[test]
    fn nothing_is_left_when_let_go() {
        let dir = tempfile::tempdir().unwrap();
        drop(SessionLock::take(&SessionDir::new(dir.path().join("made/here")), &id()).unwrap());
        assert_eq!(fs::read_dir(dir.path().join("made/here")).unwrap().count(), 0);
    }

    /// Removal while others open and lock must never let two in at once.
    #[test]
    fn many_threads_never_hold_it_together() {
        use std::sync::atomic::{AtomicU32, Ordering};
        let dir = tempfile::tempdir().unwrap();
        let (inside, rounds) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while rounds.load(Ordering::SeqCst) < 2_000 {
                        if let Ok(lock) = SessionLock::take(&SessionDir::new(dir.path()), &id()) {
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
