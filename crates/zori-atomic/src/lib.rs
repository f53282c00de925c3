//! A file that is replaced in one step: whoever looks sees the old content or the new one, never half of it.
//!
//! One way for all files that zori keeps for itself. What is replaced is written beside the file first, under a name that says which process
//! did, so that whoever comes after one that was killed can clear up.

#![deny(clippy::print_stdout, clippy::print_stderr)]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// Who may read a file that was replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Its owner alone, whatever it was before.
    Owner,
    /// Who could read it before; its owner alone if it is new.
    AsBefore,
}

/// What the new content outlives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlives {
    /// The process: for what can be had again.
    Process,
    /// A loss of power, too: it is on the disk before this returns.
    PowerLoss,
}

/// Replaces a file by what `write` writes. Where anything fails the file is as it was.
pub fn replace(
    path: &Path,
    readers: Readers,
    outlives: Outlives,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mode = match readers {
        Readers::Owner => None,
        Readers::AsBefore => fs::metadata(path).ok().map(|old| old.permissions()),
    };
    let mut staged = Staged::beside(folder)?;
    write(&mut staged.file)?;
    if let Some(mode) = mode {
        staged.file.set_permissions(mode)?;
    }
    if outlives == Outlives::PowerLoss {
        staged.file.sync_all()?;
    }
    fs::rename(&staged.path, path)?;
    match outlives {
        Outlives::Process => Ok(()),
        // The name is in the folder: without this a crash may bring the old one back.
        Outlives::PowerLoss => File::open(folder)?.sync_all(),
    }
}

/// Replaces a file that only its owner may read, and that can be had again.
pub fn replace_private(path: &Path, content: &[u8]) -> io::Result<()> {
    replace(path, Readers::Owner, Outlives::Process, |file| file.write_all(content))
}

/// A temporary file; removed unless it has been renamed.
struct Staged {
    path: PathBuf,
    file: File,
}

impl Staged {
    fn beside(folder: &Path) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        loop {
            let n = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!(".{}-{n}.tmp", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => {
                    remove_left_over(folder, &file);
                    return Ok(Self { path, file });
                }
                // Left behind by a process that had our number and was killed.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // After a rename there is nothing left to remove.
        let _ = fs::remove_file(&self.path);
    }
}

/// How many names of a folder are looked at.
const MAX_ENTRIES: usize = 10_000;
/// A file that is younger than this may be on its way.
const SETTLED: Duration = Duration::from_secs(60);

/// Removes such files of runs that were killed: ours, of a process that is gone. `fresh` is a file of now.
fn remove_left_over(folder: &Path, fresh: &File) {
    let Ok(now) = fresh.metadata() else { return };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_ENTRIES) {
        let Some(process) = entry.file_name().to_str().and_then(stager) else { continue };
        let Ok(facts) = entry.metadata() else { continue };
        let age = now.modified().ok().zip(facts.modified().ok());
        let old = age.and_then(|(now, then)| now.duration_since(then).ok()).is_some_and(|age| age > SETTLED);
        let ours = facts.is_file() && facts.uid() == now.uid();
        if ours && old && test_kill_process(process) == Err(Errno::SRCH) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Returns the process that wrote a file with such a name.
fn stager(name: &str) -> Option<Pid> {
    let (process, number) = name.strip_prefix('.')?.strip_suffix(".tmp")?.split_once('-')?;
    number.parse::<u64>().ok()?;
    Pid::from_raw(process.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn old_or_new_and_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let write = |readers, content: &[u8]| {
            replace(&path, readers, Outlives::PowerLoss, |file| file.write_all(content))
        };
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        write(Readers::AsBefore, b"one").unwrap();
        assert_eq!((fs::read(&path).unwrap(), mode()), (b"one".to_vec(), 0o600));
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        write(Readers::AsBefore, b"two").unwrap();
        assert_eq!((fs::read(&path).unwrap(), mode()), (b"two".to_vec(), 0o640));
        write(Readers::Owner, b"three").unwrap();
        assert_eq!((fs::read(&path).unwrap(), mode()), (b"three".to_vec(), 0o600));
        let failed = replace(&path, Readers::Owner, Outlives::Process, |file| {
            file.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read(&path).unwrap(), b"three");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    /// Sessions of one process keep files of one folder: none writes into what another one stages.
    #[test]
    fn many_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::thread::scope(|scope| {
            for letter in [b'a', b'b', b'c', b'd'] {
                let path = &path;
                scope.spawn(move || {
                    for _ in 0..50 {
                        replace_private(path, &[letter; 4096]).unwrap();
                        let seen = fs::read(path).unwrap();
                        assert!(seen.len() == 4096 && seen.iter().all(|byte| *byte == seen[0]));
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_a_killed_run_left_goes_with_the_next_write() {
        let folder = tempfile::tempdir().unwrap();
        // No process has such a number.
        for (name, age) in [(".4194305-0.tmp", 3_600), (".4194305-1.tmp", 1), (".notes-1.tmp", 3_600)] {
            let file = File::create(folder.path().join(name)).unwrap();
            let now = file.metadata().unwrap().modified().unwrap();
            file.set_modified(now - Duration::from_secs(age)).unwrap();
        }
        replace_private(&folder.path().join("f"), b"x").unwrap();
        let mut left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".4194305-1.tmp", ".notes-1.tmp", "f"]);
    }

    #[test]
    fn what_cannot_be_replaced_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dir");
        fs::create_dir(&path).unwrap();
        assert!(replace_private(&path, b"x").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "the temporary file is gone");
    }
}

// The examples of the README compile, and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
