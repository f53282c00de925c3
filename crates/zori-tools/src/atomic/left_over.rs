//! Files that a killed run has left beside their targets: removed by the next write to the same folder. Those in other folders are found
//! by the first look that undo takes.

use std::fs::File;

use rustix::fs::Dir;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use zori_core::temp_name;

use crate::open_dir::{FileMeta, NameInDir};

/// How many names of a folder are looked at: few, since every write looks.
const MAX_ENTRIES: usize = 1_000;
/// A file that is younger than this, in seconds, may be on its way.
const SETTLED: i64 = 60;

/// Removes what is left over in the folder of `target`: ours, of a process that is gone. `fresh` is a file of now.
pub(super) fn remove(target: &NameInDir, fresh: &File) {
    let Ok(folder) = target.open_folder() else { return };
    let (Ok(dir), Ok(now)) = (Dir::read_from(&folder), FileMeta::of(fresh)) else { return };
    for entry in dir.take(MAX_ENTRIES).flatten() {
        let Ok(name) = entry.file_name().to_str() else { continue };
        let Some(process) = temp_name::stager(name).and_then(Pid::from_raw) else { continue };
        let slot = target.beside(name);
        let Ok(meta) = slot.own_meta() else { continue };
        let ours = meta.kind.is_file() && meta.owner.0 == now.owner.0;
        let old = now.modified.0.saturating_sub(meta.modified.0) > SETTLED;
        if ours && old && test_kill_process(process) == Err(Errno::SRCH) {
            let _ = slot.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

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
        let target = NameInDir::at(&path.join("file.txt")).unwrap();
        StagedFile::new(&target, b"x", None, &Cancel::default()).unwrap().create().unwrap();
        let mut names: Vec<String> = fs::read_dir(&path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let mut expected = vec![
            ".zori-4194305-1.tmp".to_owned(),
            ".zori-4194305-2.old".into(),
            format!(".zori-{}-999.tmp", std::process::id()),
            ".zori-undo-1.tmp".into(),
            "file.txt".into(),
        ];
        expected.sort();
        assert_eq!(names, expected);
    }
}
