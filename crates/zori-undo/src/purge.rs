//! Deletes all that is kept of a project, or counts it (UNDO-31). What `project purge` calls.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::UndoError;
use crate::live;
use crate::restore::pending;
use crate::store::check;

/// What a purge deletes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purged {
    /// How many files.
    pub files: u64,
    /// How many bytes they have. Git's objects, to which the store has links, stay where git keeps them and are not counted.
    pub bytes: u64,
}

/// Counts what [`purge`] would delete, and fails where that would. Writes nothing.
pub fn count(dir: &Path) -> Result<Purged, UndoError> {
    check(dir)?;
    if let Some(plan) = pending(dir).into_iter().next() {
        return Err(UndoError::Pending { plan });
    }
    if live::any(dir) {
        return Err(UndoError::InUse);
    }
    let mut purged = Purged::default();
    for folder in [dir, &aside(dir)] {
        add(folder, &mut purged).map_err(UndoError::at(folder))?;
    }
    Ok(purged)
}

/// Deletes the store of a project. It goes under another name first, so that a crash leaves no half of it: what is left then is
/// deleted by the next purge. Fails while an undo that was cut off waits to be finished, or a session captures into it.
pub fn purge(dir: &Path) -> Result<Purged, UndoError> {
    let purged = count(dir)?;
    let aside = aside(dir);
    remove(&aside)?;
    match fs::rename(dir, &aside) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(purged),
        renamed => renamed.map_err(UndoError::at(dir))?,
    }
    remove(&aside)?;
    Ok(purged)
}

fn aside(dir: &Path) -> PathBuf {
    dir.with_extension("purged")
}

/// Removes a folder with all in it. Links are removed, not followed.
fn remove(dir: &Path) -> Result<(), UndoError> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(UndoError::at(dir)),
    }
}

fn add(folder: &Path, purged: &mut Purged) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let facts = entry.metadata()?;
        if facts.is_dir() {
            add(&entry.path(), purged)?;
            continue;
        }
        purged.files += 1;
        if facts.nlink() == 1 {
            purged.bytes += facts.len();
        }
    }
    Ok(())
}
