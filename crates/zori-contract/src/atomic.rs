//! Replaces a file in one step: whoever looks sees the old content or the new one, also after a crash.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::path::AbsPath;

/// Writes the file, readable for its owner alone if it is new; an existing one keeps its mode.
pub fn atomic_write(path: &AbsPath, content: &[u8]) -> io::Result<()> {
    atomic_write_with(path, |file| file.write_all(content))
}

/// The same for content that is too long to be held in memory.
pub fn atomic_write_with(path: &AbsPath, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    replace(path, write, fs::metadata(path).ok().map(|old| old.permissions()))
}

/// Writes the file, readable for its owner alone whatever it was before.
pub fn private_write(path: &AbsPath, content: &[u8]) -> io::Result<()> {
    replace(path, |file| file.write_all(content), None)
}

fn replace(
    path: &AbsPath,
    write: impl FnOnce(&mut File) -> io::Result<()>,
    mode: Option<Permissions>,
) -> io::Result<()> {
    let path = path.as_path();
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut staged = Staged::beside(folder)?;
    write(&mut staged.file)?;
    if let Some(mode) = mode {
        staged.file.set_permissions(mode)?;
    }
    staged.file.sync_all()?;
    fs::rename(&staged.path, path)?;
    // The name is in the folder: without this a crash may bring the old one back.
    File::open(folder)?.sync_all()
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

impl Drop for Staged {
    fn drop(&mut self) {
        // After a rename there is nothing left to remove.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn old_or_new_and_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = AbsPath::new(&folder.path().join("f")).unwrap();
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        atomic_write(&path, b"one").unwrap();
        assert_eq!((fs::read(&path).unwrap(), mode()), (b"one".to_vec(), 0o600));
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        atomic_write(&path, b"two").unwrap();
        assert_eq!((fs::read(&path).unwrap(), mode()), (b"two".to_vec(), 0o640));
        private_write(&path, b"three").unwrap();
        assert_eq!((fs::read(&path).unwrap(), mode()), (b"three".to_vec(), 0o600));
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
        atomic_write(&AbsPath::new(&folder.path().join("f")).unwrap(), b"x").unwrap();
        let mut left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".4194305-1.tmp", ".notes-1.tmp", "f"]);
    }

    #[test]
    fn what_cannot_be_replaced_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = AbsPath::new(&folder.path().join("dir")).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(atomic_write(&path, b"x").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "the temporary file is gone");
    }
}
