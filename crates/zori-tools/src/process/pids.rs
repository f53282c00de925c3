//! The file that names the process groups of a run while they live, one number a line (F-030): for somebody who finds
//! the machine busy and wants to know why. It lies in the run's private folder and is removed with it; zori itself
//! never reads it.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::group::Group;
use super::spill::SpillFolder;

/// The file. It is made for the first group.
pub struct PidFile {
    folder: Arc<SpillFolder>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    file: Option<(PathBuf, File)>,
    groups: Vec<i32>,
}

impl PidFile {
    /// Makes nothing yet.
    pub fn new(folder: Arc<SpillFolder>) -> Self {
        Self { folder, state: Mutex::default() }
    }

    /// Writes a group down.
    pub fn add(&self, group: Group) {
        self.change(|groups| groups.push(group.id()));
    }

    /// Strikes a group out.
    pub fn remove(&self, group: Group) {
        self.change(|groups| groups.retain(|id| *id != group.id()));
    }

    /// Returns where it is, if there is one.
    pub fn path(&self) -> Option<PathBuf> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.file.as_ref().map(|(path, _)| path.clone())
    }

    fn change(&self, change: impl FnOnce(&mut Vec<i32>)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state.groups);
        // A command must not fail because nobody can be told of it.
        let _ = state.write(&self.folder);
    }
}

impl State {
    fn write(&mut self, folder: &SpillFolder) -> io::Result<()> {
        let mut text = Vec::new();
        for id in &self.groups {
            writeln!(text, "{id}")?;
        }
        if self.file.is_none() {
            self.file = Some(folder.create_only("pids")?);
        }
        let Some((_, file)) = &self.file else { return Ok(()) };
        file.write_all_at(&text, 0)?;
        file.set_len(text.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_live_are_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let spill = Arc::new(SpillFolder::new(folder.path().to_owned()));
        let pids = PidFile::new(spill.clone());
        assert_eq!(pids.path(), None);
        let (one, two) = (Group::new(12_345).unwrap(), Group::new(7).unwrap());
        pids.add(one);
        pids.add(two);
        let path = pids.path().unwrap();
        let read = || std::fs::read_to_string(&path).unwrap();
        assert_eq!(read(), "12345\n7\n");
        pids.remove(one);
        assert_eq!(read(), "7\n");
        pids.remove(two);
        assert_eq!(read(), "");
        spill.remove();
        assert!(!path.exists());
    }
}
