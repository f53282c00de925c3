//! Files for output that is too long for memory, in a private folder of the run.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The folder. It is made with the first file and removed with the run.
#[derive(Debug)]
pub struct SpillFolder {
    parent: PathBuf,
    made: Mutex<Made>,
}

#[derive(Debug, Default)]
struct Made {
    folder: Option<PathBuf>,
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

    /// Creates the file of this name, which there is one of in a run.
    pub fn create_only(&self, name: &str) -> io::Result<(PathBuf, File)> {
        self.create_as(self.lock(), name)
    }

    fn create_as(&self, mut made: MutexGuard<'_, Made>, name: &str) -> io::Result<(PathBuf, File)> {
        let folder = match &made.folder {
            Some(folder) => folder.clone(),
            None => made.folder.insert(make_folder(&self.parent)?).clone(),
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

    /// Returns these bytes as a file that has no name, to be read from its start.
    pub fn unnamed(&self, bytes: &[u8]) -> io::Result<File> {
        let (path, mut file) = self.create("input")?;
        fs::remove_file(path)?;
        file.write_all(bytes)?;
        file.rewind()?;
        Ok(file)
    }

    /// Removes the folder with all files.
    pub fn remove(&self) {
        if let Some(folder) = self.lock().folder.take() {
            let _ = fs::remove_dir_all(folder);
        }
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

/// Makes a folder nobody else can enter. A name that is taken is never used, whoever took it, so it need not be
/// secret.
fn make_folder(parent: &Path) -> io::Result<PathBuf> {
    for n in 0..1000 {
        let folder = parent.join(format!("zori-{}-{n}", process::id()));
        match DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
