//! Files for output that is too long for memory, in a private folder of the run.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, test_kill_process};

/// The folder. It is made with the first file and removed with the run.
#[derive(Debug)]
pub struct SpillFolder {
    parent: PathBuf,
    made: Mutex<Made>,
}

#[derive(Debug, Default)]
struct Made {
    folder: Option<PathBuf>,
    /// Held as long as the folder is in use, so that nobody takes it for left over.
    lock: Option<File>,
    files: u32,
}

impl SpillFolder {
    /// Makes nothing yet.
    pub fn new(parent: PathBuf) -> Self {
        Self { parent, made: Mutex::default() }
    }

    /// Creates a file that only we can read; its name has a number of its own.
    pub fn create(&self, name: &str) -> io::Result<(PathBuf, File)> {
        let mut made = self.lock();
        made.files += 1;
        let name = format!("{}-{name}.txt", made.files);
        self.create_as(made, &name)
    }

    /// Creates the only file of this name in a run.
    pub fn create_only(&self, name: &str) -> io::Result<(PathBuf, File)> {
        self.create_as(self.lock(), name)
    }

    fn create_as(&self, mut made: MutexGuard<'_, Made>, name: &str) -> io::Result<(PathBuf, File)> {
        let folder = match &made.folder {
            Some(folder) => folder.clone(),
            None => {
                let (folder, lock) = make_folder(&self.parent)?;
                made.lock = Some(lock);
                made.folder.insert(folder).clone()
            }
        };
        let path = folder.join(name);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&path)?;
        Ok((path, file))
    }

    /// Creates files for the output of a job that outlives the run, in a folder of their own, which stays. Returns their paths; standard
    /// output comes first.
    pub fn staying(&self) -> io::Result<[(PathBuf, File); 2]> {
        for n in 0..1000 {
            let folder = self.parent.join(format!("zori-job-{}-{n}", process::id()));
            match DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => {
                    let file = |name: &str| {
                        let path = folder.join(name);
                        let mut options = OpenOptions::new();
                        options.append(true).create_new(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
                        options.open(&path).map(|file| (path, file))
                    };
                    return Ok([file("stdout.txt")?, file("stderr.txt")?]);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Returns an unnamed file with these bytes, positioned at its start.
    pub fn unnamed(&self, bytes: &[u8]) -> io::Result<File> {
        let (path, mut file) = self.create("input")?;
        fs::remove_file(path)?;
        file.write_all(bytes)?;
        file.rewind()?;
        Ok(file)
    }

    /// Removes the folder with all files.
    pub fn remove(&self) {
        let mut made = self.lock();
        if let Some(folder) = made.folder.take() {
            let _ = fs::remove_dir_all(folder);
        }
        made.lock = None;
    }

    fn lock(&self) -> MutexGuard<'_, Made> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for SpillFolder {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Makes a folder nobody else can enter, and locks it. A name that is already taken is never used, so it need not be secret.
fn make_folder(parent: &Path) -> io::Result<(PathBuf, File)> {
    for n in 0..1000 {
        let folder = parent.join(format!("zori-{}-{n}", process::id()));
        match DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => {
                let lock = File::open(&folder)?;
                // Where there are no locks, nothing is taken for left over either.
                let _ = lock.try_lock();
                remove_left_over(parent, &lock);
                return Ok((folder, lock));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// How many entries of the parent are looked at.
const MAX_ENTRIES: usize = 10_000;
/// A folder that is younger than this may be about to be locked.
const SETTLED: Duration = Duration::from_secs(60);

/// Removes folders of runs that were killed: ours, locked by nobody, of a process that is gone. `fresh` is a folder of now.
fn remove_left_over(parent: &Path, fresh: &File) {
    let Ok(now) = fresh.metadata() else { return };
    for entry in fs::read_dir(parent).into_iter().flatten().flatten().take(MAX_ENTRIES) {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(owner) else { continue };
        let Ok(facts) = entry.metadata() else { continue };
        let age = now
            .modified()
            .ok()
            .zip(facts.modified().ok())
            .and_then(|(now, then)| now.duration_since(then).ok());
        let candidate = facts.is_dir() && facts.uid() == now.uid() && age.is_some_and(|age| age > SETTLED);
        if !candidate || test_kill_process(pid).is_ok() {
            continue;
        }
        if File::open(entry.path()).is_ok_and(|folder| folder.try_lock().is_ok()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Returns the process in the name of a folder.
fn owner(name: &str) -> Option<Pid> {
    let (pid, n) = name.strip_prefix("zori-")?.split_once('-')?;
    n.parse::<u32>().ok()?;
    Pid::from_raw(pid.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a killed run left goes with the next; what is in use, young, or somebody else's stays.
    #[test]
    fn folders_left_over() {
        let parent = tempfile::tempdir().unwrap();
        let make = |name: &str, age: u64| {
            let path = parent.path().join(name);
            DirBuilder::new().mode(0o700).create(&path).unwrap();
            fs::write(path.join("1-stdout.txt"), "x").unwrap();
            let folder = File::open(&path).unwrap();
            let now = folder.metadata().unwrap().modified().unwrap();
            folder.set_modified(now - Duration::from_secs(age)).unwrap();
            folder
        };
        // No process has such a number.
        make("zori-4194305-0", 3_600);
        make("zori-4194305-1", 1);
        make(&format!("zori-{}-7", process::id()), 3_600);
        make("zori-notes", 3_600);
        let held = make("zori-4194306-0", 3_600);
        held.try_lock().unwrap();
        let spill = SpillFolder::new(parent.path().to_owned());
        spill.create("stdout").unwrap();
        let mut names: Vec<String> = fs::read_dir(parent.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let ours = process::id();
        let mut expected = vec![
            "zori-4194305-1".to_owned(),
            "zori-4194306-0".into(),
            format!("zori-{ours}-0"),
            format!("zori-{ours}-7"),
            "zori-notes".into(),
        ];
        expected.sort();
        assert_eq!(names, expected);
    }
}
