//! Replaces a file in one step: whoever looks sees the old content or the new one, also after a crash.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::path::AbsPath;

/// Writes the file, readable for its owner alone if it is new; an existing one keeps its mode.
pub fn atomic_write(path: &AbsPath, content: &[u8]) -> io::Result<()> {
    let path = path.as_path();
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut staged = Staged::beside(folder)?;
    staged.file.write_all(content)?;
    if let Ok(old) = fs::metadata(path) {
        staged.file.set_permissions(old.permissions())?;
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
                Ok(file) => return Ok(Self { path, file }),
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
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        atomic_write(&path, b"two").unwrap();
        assert_eq!((fs::read(&path).unwrap(), mode()), (b"two".to_vec(), 0o640));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
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
