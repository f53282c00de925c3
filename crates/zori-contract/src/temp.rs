//! A folder for what a run needs only while it runs: nobody else can look into it, and it goes with the run.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};

use crate::path::AbsPath;

/// The folder of a run. Dropped, it is removed with all that is in it.
#[derive(Debug)]
pub struct SessionTemp {
    path: AbsPath,
    /// Held as long as the run lives; the kernel lets go of it when the run dies.
    _alive: File,
}

impl SessionTemp {
    /// Makes the folder below `parent`, named after the program and the run, and removes what dead runs left there.
    pub fn create(parent: &AbsPath, program: &str, request_id: &str) -> io::Result<Self> {
        prune(parent, program);
        let path = parent.join(format!("{program}-{request_id}"));
        DirBuilder::new().mode(0o700).create(&path)?;
        // The mode above is subject to the umask.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
        let alive = new_file(&path.join(".alive"))?;
        alive.try_lock().map_err(io::Error::from)?;
        Ok(Self { path, _alive: alive })
    }

    /// Returns where it is.
    pub fn path(&self) -> &AbsPath {
        &self.path
    }

    /// Makes a file in it that only its owner can read and write.
    pub fn file(&self, name: &str) -> io::Result<File> {
        new_file(&self.path.join(name))
    }
}

impl Drop for SessionTemp {
    fn drop(&mut self) {
        // What cannot be removed now is removed by a later run.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn new_file(path: &AbsPath) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    Ok(file)
}

/// Removes the folders of runs that are dead. Nothing here is worth failing for.
fn prune(parent: &AbsPath, program: &str) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    let begins = format!("{program}-");
    for entry in entries.flatten() {
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(&begins));
        let Ok(alive) = OpenOptions::new().write(true).open(entry.path().join(".alive")) else { continue };
        if ours && alive.try_lock().is_ok() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_private_and_goes_with_the_run() {
        let parent = tempfile::tempdir().unwrap();
        let at = AbsPath::new(parent.path()).unwrap();
        let mode = |path: &AbsPath| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let (one, two) = (
            SessionTemp::create(&at, "notes", "1").unwrap(),
            SessionTemp::create(&at, "notes", "2").unwrap(),
        );
        one.file("f").unwrap();
        assert_eq!((mode(one.path()), mode(&one.path().join("f"))), (0o700, 0o600));
        assert!(
            one.path().as_path().exists() && two.path().as_path().exists(),
            "a living run keeps its folder"
        );
        drop((one, two));
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_dead_runs_left_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let at = AbsPath::new(parent.path()).unwrap();
        for name in ["notes-dead", "other-dead"] {
            fs::create_dir(at.join(name)).unwrap();
            fs::write(at.join(name).join(".alive"), "").unwrap();
        }
        drop(SessionTemp::create(&at, "notes", "1").unwrap());
        assert!(!at.join("notes-dead").as_path().exists());
        assert!(at.join("other-dead").as_path().exists());
    }
}
