//! Which sessions of a project run commands, and when: what two of them changed at the same time cannot be told apart
//! (UNDO-6).

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::store::Store;

/// The windows of this session's commands, for others to read. The file is locked for as long as the session runs.
pub(crate) struct Live {
    file: File,
}

impl Live {
    /// Announces the session; `None` if that cannot be.
    pub(crate) fn open(store: &Store) -> Option<Self> {
        let path = own_file(store)?;
        let mut options = OpenOptions::new();
        let file = options.create(true).append(true).read(true).mode(0o600).open(path).ok()?;
        file.try_lock().ok()?;
        // What an earlier process of the session has left there is over, also a command that it was killed in.
        file.set_len(0).ok()?;
        Some(Self { file })
    }

    /// Commands begin.
    pub(crate) fn begin(&mut self, at: i64) {
        // Who cannot say so is not seen by others, and loses nothing.
        let _ = self.file.write_all(format!("B {at}\n").as_bytes());
    }

    /// Commands have ended.
    pub(crate) fn end(&mut self, at: i64) {
        let _ = self.file.write_all(format!("E {at}\n").as_bytes());
    }
}

fn own_file(store: &Store) -> Option<PathBuf> {
    Some(store.folder("live").ok()?.join(store.session().as_str()))
}

/// How long the file of a session that is over stays for others, whose commands may have begun before its last one ended.
const OVER_NS: i64 = 60 * 60 * 1_000_000_000;

/// Returns whether another session had a command within these times, whether it still runs or not. Files of sessions that have long
/// been over are removed.
pub(crate) fn overlaps(store: &Store, window: (i64, i64)) -> bool {
    let entries = fs::read_dir(store.dir().join("live")).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name() != store.session().as_str()) {
        let Ok(file) = File::open(entry.path()) else { continue };
        let runs = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        // A command in which a session was killed ended with it, and nobody has written down when.
        let windows = || {
            windows(&text).map(|(began, ended)| (began, if runs || ended < i64::MAX { ended } else { began }))
        };
        if windows().any(|(began, ended)| began <= window.1 && window.0 <= ended) {
            return true;
        }
        if !runs && windows().all(|(_, ended)| ended < window.1.saturating_sub(OVER_NS)) {
            let _ = fs::remove_file(entry.path());
        }
    }
    false
}

/// Returns whether a session was killed in a command, and has run none since. What that command changed nobody has looked at.
pub(crate) fn was_cut_off(store: &Store) -> bool {
    let path = store.dir().join("live").join(store.session().as_str());
    let Ok(file) = File::open(&path) else { return false };
    !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
        && windows(&fs::read_to_string(&path).unwrap_or_default()).any(|(_, ended)| ended == i64::MAX)
}

/// Returns whether any session of a store runs.
pub(crate) fn any(dir: &Path) -> bool {
    let entries = fs::read_dir(dir.join("live")).into_iter().flatten().flatten();
    let mut files = entries.filter_map(|entry| File::open(entry.path()).ok());
    files.any(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Returns the times between which commands ran; the last may not have ended.
fn windows(text: &str) -> impl Iterator<Item = (i64, i64)> {
    let mut found: Vec<(i64, i64)> = Vec::new();
    for line in text.lines() {
        match line.split_once(' ').and_then(|(word, at)| Some((word, at.parse::<i64>().ok()?))) {
            Some(("B", at)) => found.push((at, i64::MAX)),
            Some(("E", at)) => {
                if let Some(last) = found.last_mut() {
                    last.1 = at;
                }
            }
            _ => {}
        }
    }
    found.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lines_say() {
        assert_eq!(windows("B 1\nE 3\nB 5\n").collect::<Vec<_>>(), [(1, 3), (5, i64::MAX)]);
        assert_eq!(windows("E 3\nnothing\nB x\n").count(), 0);
    }

    #[test]
    fn commands_at_the_same_time() {
        let dir = tempfile::tempdir().unwrap();
        let store = |session: &str| {
            let session = zori_core::ids::SessionId::parse(session).unwrap();
            Store::open(dir.path().join("store"), dir.path().into(), session, Default::default(), false)
                .unwrap()
        };
        let (one, two) = (store("one"), store("two"));
        let mut live = Live::open(&one).unwrap();
        live.begin(10);
        live.end(20);
        assert!(overlaps(&two, (15, 30)) && overlaps(&two, (5, 10)));
        assert!(!overlaps(&two, (21, 30)) && !overlaps(&one, (15, 30)), "not with itself");
        live.begin(40);
        assert!(overlaps(&two, (50, 60)), "it has not ended");
        drop(live);
        assert!(overlaps(&two, (15, 30)), "it is over, but it was not then");
        assert!(!overlaps(&two, (50, 60)), "it was killed in its last command");
        let file = dir.path().join("store/live/one");
        assert!(file.exists());
        assert!(!overlaps(&two, (OVER_NS + 50, OVER_NS + 60)));
        assert!(!file.exists(), "it has long been over");
        Live::open(&one).unwrap().begin(40);
        let live = Live::open(&one).unwrap();
        assert!(
            !overlaps(&two, (50, 60)),
            "the next process of a session that was killed has no command yet"
        );
        drop(live);
    }
}
