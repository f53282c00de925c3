//! One at a time: an advisory lock on a file of its own, waited for up to a bound.
//!
//! The kernel lets go of it when the holder dies, so a file that was left behind blocks nobody. The file says who holds it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use crate::cancel::Cancel;
use crate::error;
use crate::failure::Failure;
use crate::path::AbsPath;

/// How long a lock is waited for.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// How often it is tried.
const STEP: Duration = Duration::from_millis(50);

/// A lock that is held until the value is dropped.
#[derive(Debug)]
pub struct Lock {
    /// Holds it: closing it lets go.
    _file: File,
}

/// Who holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockHolder {
    /// The process.
    pub pid: Option<u32>,
    /// For how long.
    pub age_ms: Option<u64>,
}

impl Lock {
    /// Takes the lock, waiting up to `timeout`. `unix_ms` is the time now; it ends early when the run should end.
    pub fn take(path: &AbsPath, timeout: Duration, unix_ms: u64, cancel: &Cancel) -> Result<Self, Failure> {
        let failed =
            |error: io::Error| Failure::new(&error::IO_ERROR, format!("cannot lock {path}: {error}"));
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map_err(failed)?;
        let mut waited = Duration::ZERO;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => return Err(failed(error)),
                Err(TryLockError::WouldBlock) if waited >= timeout => {
                    let now = unix_ms + waited.as_millis() as u64;
                    return Err(Failure::lock_held(path, &holder(&mut file, now)));
                }
                Err(TryLockError::WouldBlock) => {
                    cancel.wait(STEP)?;
                    waited += STEP;
                }
            }
        }
        // For messages only; on a full disk the lock still holds without it.
        let now = unix_ms + waited.as_millis() as u64;
        let _ = file.set_len(0).and_then(|()| write!(file, "{} {now}", std::process::id()));
        Ok(Self { _file: file })
    }
}

fn holder(file: &mut File, now: u64) -> LockHolder {
    let mut text = String::new();
    let _ = file.take(64).read_to_string(&mut text);
    let mut words = text.split_ascii_whitespace();
    let pid = words.next().and_then(|word| word.parse().ok());
    let since: Option<u64> = words.next().and_then(|word| word.parse().ok());
    LockHolder { pid, age_ms: since.map(|since| now.saturating_sub(since)) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_held_lock_is_named_after_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = AbsPath::new(&folder.path().join("l")).unwrap();
        let cancel = Cancel::default();
        let held = Lock::take(&path, Duration::ZERO, 1_000, &cancel).unwrap();
        let failure = Lock::take(&path, Duration::ZERO, 3_500, &cancel).unwrap_err();
        assert_eq!(failure.kind.code, "LOCK_HELD");
        assert_eq!(
            failure.facts.fields["context"],
            json!({"lock_file": path, "holder_pid": std::process::id(), "holder_age_ms": 2_500})
        );
        drop(held);
        Lock::take(&path, Duration::ZERO, 4_000, &cancel).unwrap();
    }

    #[test]
    fn waiting_is_rewarded_or_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = AbsPath::new(&folder.path().join("l")).unwrap();
        let cancel = Cancel::default();
        let held = Lock::take(&path, PATIENCE, 0, &cancel).unwrap();
        let (other, patient) = (path.clone(), cancel.clone());
        let waiter = std::thread::spawn(move || Lock::take(&other, PATIENCE, 0, &patient).map(|_| ()));
        drop(held);
        waiter.join().unwrap().unwrap();
        let _held = Lock::take(&path, PATIENCE, 0, &cancel).unwrap();
        cancel.cancel(crate::cancel::Cause::Interrupt);
        assert_eq!(Lock::take(&path, PATIENCE, 0, &cancel).unwrap_err().kind.code, "CANCELLED");
    }
}
