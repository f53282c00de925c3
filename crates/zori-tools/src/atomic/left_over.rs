//! Files that a killed run has left beside their targets: removed by the first write of this process to the same folder. Those in other
//! folders are found by the first look that undo takes. What counts as left over is said in `zori_core::temp_name`.

use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rustix::fs::Dir;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use zori_core::temp_name::{Candidate, stager};

use crate::open_dir::{FileMeta, NameInDir};

/// How many names of a folder are looked at.
const MAX_ENTRIES: usize = 1_000;
/// How many folders are known at most; then all are looked at once more.
const MAX_FOLDERS: usize = 10_000;

/// The folders that were looked at: device, number, and when the folder was made, since numbers are given again.
static LOOKED_AT: Mutex<Option<HashSet<FolderKey>>> = Mutex::new(None);

type FolderKey = (u64, u64, Option<SystemTime>);

/// Removes what is left over in the folder of `target`, once for each folder. `fresh` is a file of now.
pub(super) fn remove(target: &NameInDir, fresh: &File) {
    let Ok(folder) = target.open_folder().map(File::from) else { return };
    if !is_new(&folder) {
        return;
    }
    let (Ok(dir), Ok(now)) = (Dir::read_from(&folder), FileMeta::of(fresh)) else { return };
    for entry in dir.take(MAX_ENTRIES).flatten() {
        let Ok(name) = entry.file_name().to_str() else { continue };
        if stager(name).is_none() {
            continue;
        }
        let slot = target.beside(name);
        let Ok(meta) = slot.own_meta() else { continue };
        let age = u64::try_from(now.modified.0.saturating_sub(meta.modified.0)).ok().map(Duration::from_secs);
        let is_ours = meta.owner.0 == now.owner.0;
        let candidate = Candidate { name, is_file: meta.kind.is_file(), is_ours, age };
        if candidate.is_left_over(is_alive) {
            let _ = slot.remove();
        }
    }
}

/// Returns whether a folder was not looked at yet.
fn is_new(folder: &File) -> bool {
    let Ok(facts) = folder.metadata() else { return false };
    let mut looked_at = LOOKED_AT.lock().unwrap_or_else(PoisonError::into_inner);
    let looked_at = looked_at.get_or_insert_default();
    if looked_at.len() >= MAX_FOLDERS {
        looked_at.clear();
    }
    looked_at.insert((facts.dev(), facts.ino(), facts.created().ok()))
}

fn is_alive(process: i32) -> bool {
    Pid::from_raw(process).is_none_or(|process| test_kill_process(process) != Err(Errno::SRCH))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use zori_core::cancel::Cancel;

    use super::super::StagedFile;
    use super::*;

    #[test]
    fn what_a_killed_run_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let make = |name: &str, age: u64| {
            let file = File::create(path.join(name)).unwrap();
            let now = file.metadata().unwrap().modified().unwrap();
            file.set_modified(now - Duration::from_secs(age)).unwrap();
        };
        // No process has such a number.
        make(".zori-4194305-0.tmp", 3_600);
        make(".zori-4194305-1.tmp", 1);
        make(".zori-4194305-2.old", 3_600);
        make(&format!(".zori-{}-999.tmp", std::process::id()), 3_600);
        make(".zori-undo-1.tmp", 3_600);
        let write = |name: &str| {
            let target = NameInDir::at(&path.join(name)).unwrap();
            StagedFile::new(&target, b"x", None, &Cancel::default()).unwrap().create().unwrap();
        };
        write("file.txt");
        // Once for each folder: whatever comes later is for the next run.
        make(".zori-4194305-3.tmp", 3_600);
        write("other.txt");
        let mut names: Vec<String> = fs::read_dir(&path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let mut expected = vec![
            ".zori-4194305-1.tmp".to_owned(),
            ".zori-4194305-2.old".into(),
            ".zori-4194305-3.tmp".into(),
            format!(".zori-{}-999.tmp", std::process::id()),
            ".zori-undo-1.tmp".into(),
            "file.txt".into(),
            "other.txt".into(),
        ];
        expected.sort();
        assert_eq!(names, expected);
    }
}
