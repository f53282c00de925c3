//! Drops contents that are too old or too many, over all projects (UNDO-30). Whole segments go, never parts, so that it
//! needs no space; operations stay as a list.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use crate::live;
use crate::store::session_of;

/// How long and how much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// How long contents are kept after the last was added to their segment.
    pub keep: Duration,
    /// How long those of sensitive files are.
    pub keep_sensitive: Duration,
    /// How many bytes are kept over all projects.
    pub max_total: u64,
}

/// How long it may take.
const BUDGET: Duration = Duration::from_millis(200);

/// What is kept of one session.
#[derive(Default)]
struct Kept {
    files: Vec<PathBuf>,
    bytes: u64,
    last: Duration,
}

/// Once a day, drops what is not to be kept. `projects`: the folder of all projects; `marker`: a file whose date says when
/// that was done; `now`: since 1970; `is_live`: whether a session runs; `clock`: how it knows that it takes too long. Returns how many bytes were dropped; `None` where it was not the time.
pub fn collect(
    projects: &Path,
    marker: &Path,
    retention: Retention,
    now: Duration,
    is_live: &dyn Fn(&str) -> bool,
    clock: &dyn Fn() -> Duration,
) -> Option<u64> {
    let day = Duration::from_secs(24 * 60 * 60);
    if age(marker, now).is_some_and(|age| age < day) {
        return None;
    }
    fs::write(marker, "").ok()?;
    let began = clock();
    // What is left over is for another day; nobody waits longer for it at the end of a session.
    let is_late = || clock().saturating_sub(began) > BUDGET;
    Some(drop_old(projects, retention, now, is_live, &is_late))
}

fn drop_old(
    projects: &Path,
    retention: Retention,
    now: Duration,
    is_live: &dyn Fn(&str) -> bool,
    is_late: &dyn Fn() -> bool,
) -> u64 {
    let mut dropped = 0;
    let mut sessions: BTreeMap<(PathBuf, String), Kept> = BTreeMap::new();
    for project in entries(projects).take_while(|_| !is_late()) {
        let dir = project.join("undo");
        for (shelf, keep) in [("seg", retention.keep), ("sec", retention.keep_sensitive)] {
            for file in entries(&dir.join(shelf)) {
                let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let Some(session) = session_of(&name).filter(|session| !is_live(session)) else { continue };
                let age = age(&file, now).unwrap_or_default();
                if age > keep {
                    dropped += remove(&file);
                    continue;
                }
                let kept = sessions.entry((dir.clone(), session.to_owned())).or_default();
                kept.bytes += fs::metadata(&file).map_or(0, |meta| meta.len());
                kept.last = kept.last.max(now.saturating_sub(age));
                kept.files.push(file);
            }
        }
        // What a crash left half written.
        for file in entries(&dir.join("tmp")) {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !name.rsplit_once('-').is_some_and(|(session, _)| is_live(session)) {
                dropped += remove(&file);
            }
        }
        // They belong to no session, so they stay while any runs here.
        if live::any(&dir) {
            continue;
        }
        for (file, age, bytes) in unshared(&dir.join("git/objects"), now) {
            if age > retention.keep {
                dropped += remove(&file);
                continue;
            }
            let (last, files) = (now.saturating_sub(age), vec![file.clone()]);
            sessions.insert((dir.clone(), file.display().to_string()), Kept { files, bytes, last });
        }
        for file in entries(&dir.join("big")) {
            let age = age(&file, now).unwrap_or_default();
            if age > retention.keep {
                dropped += remove(&file);
                continue;
            }
            // A long content has no session in its name; it counts as one of its own.
            let kept = sessions.entry((dir.clone(), file.display().to_string())).or_default();
            kept.bytes += fs::metadata(&file).map_or(0, |meta| meta.len());
            kept.last = now.saturating_sub(age);
            kept.files.push(file);
        }
    }
    let mut total: u64 = sessions.values().map(|kept| kept.bytes).sum();
    let mut oldest: Vec<_> = sessions.into_values().collect();
    oldest.sort_by_key(|kept| kept.last);
    for kept in oldest {
        if total <= retention.max_total || is_late() {
            break;
        }
        total -= kept.bytes;
        dropped += kept.files.iter().map(|file| remove(file)).sum::<u64>();
    }
    dropped
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Returns the objects that git has dropped and only the store still has, how long ago that was, and their sizes. Those that git has,
/// too, take no space. A link more or less changes the ctime.
fn unshared(objects: &Path, now: Duration) -> Vec<(PathBuf, Duration, u64)> {
    let folders = entries(objects);
    let files = folders.flat_map(|folder| entries(&folder).collect::<Vec<_>>());
    let alone = files.filter_map(|file| {
        let facts = fs::symlink_metadata(&file).ok().filter(|facts| facts.is_file() && facts.nlink() == 1)?;
        // What zori itself wrote there is not git's.
        let is_object = file.parent().is_some_and(|folder| !folder.ends_with("info"));
        let since = Duration::from_secs(u64::try_from(facts.ctime()).unwrap_or_default());
        is_object.then(|| (file, now.saturating_sub(since), facts.len()))
    });
    alone.collect()
}

fn age(file: &Path, now: Duration) -> Option<Duration> {
    let modified = fs::metadata(file).ok()?.modified().ok()?;
    Some(now.saturating_sub(modified.duration_since(UNIX_EPOCH).unwrap_or_default()))
}

fn remove(file: &Path) -> u64 {
    let bytes = fs::metadata(file).map_or(0, |meta| meta.len());
    fs::remove_file(file).map_or(0, |()| bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_first_and_a_live_session_stays() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, bytes: usize, age: u64| {
            let path = dir.path().join("key/undo").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, vec![0; bytes]).unwrap();
            let file = fs::File::options().write(true).open(path).unwrap();
            file.set_modified(UNIX_EPOCH + Duration::from_secs(1_000_000 - age)).unwrap();
        };
        put("seg/old-0.zus", 10, 500_000);
        put("seg/live-0.zus", 10, 500_000);
        put("seg/a-0.zus", 10, 300);
        put("seg/b-b-0.zus", 10, 200);
        put("seg/b-b-1.zus", 10, 100);
        put("sec/b-b-0.zus", 1, 5_000);
        put("big/ff", 10, 50);
        put("ops/old.jsonl", 10, 500_000);
        let retention = Retention {
            keep: Duration::from_secs(100_000),
            keep_sensitive: Duration::from_secs(1_000),
            max_total: 35,
        };
        let now = Duration::from_secs(1_000_000);
        let marker = dir.path().join("key/undo/gc");
        let run = || collect(dir.path(), &marker, retention, now, &|session| session == "live", &|| now);
        assert_eq!(run(), Some(10 + 1 + 10));
        let mut left: Vec<_> = ["seg", "sec", "big", "ops"]
            .iter()
            .flat_map(|name| entries(&dir.path().join("key/undo").join(name)).collect::<Vec<_>>())
            .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        left.sort();
        assert_eq!(left, ["b-b-0.zus", "b-b-1.zus", "ff", "live-0.zus", "old.jsonl"]);
        let file = fs::File::options().write(true).open(&marker).unwrap();
        file.set_modified(UNIX_EPOCH + now).unwrap();
        assert_eq!(run(), None, "once a day");
    }

    /// Links to git's objects cost nothing while git has them, and go when they alone hold them for too long (case 12).
    #[test]
    fn what_git_has_dropped_and_what_was_half_written() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("projects/key/undo");
        let put = |path: PathBuf, bytes: usize| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, vec![0; bytes]).unwrap();
            path
        };
        let shared = put(dir.path().join("repo/pack-a"), 100);
        put(store.join("git/objects/pack/pack-b.pack"), 10);
        fs::hard_link(&shared, store.join("git/objects/pack/pack-a.pack")).unwrap();
        put(store.join("git/objects/ab/cdef"), 10);
        put(store.join("git/objects/info/alternates"), 3);
        put(store.join("tmp/live-ffff"), 5);
        put(store.join("tmp/dead-ffff"), 5);
        let retention = |days: u64, max_total| Retention {
            keep: Duration::from_secs(days * 24 * 60 * 60),
            keep_sensitive: Duration::ZERO,
            max_total,
        };
        let now = std::time::SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let later = now + Duration::from_secs(10 * 24 * 60 * 60);
        let drop = |now, retention| {
            drop_old(&dir.path().join("projects"), retention, now, &|session| session == "live", &|| false)
        };
        assert_eq!(drop(later, retention(14, 1_000)), 5);
        assert!(store.join("tmp/live-ffff").exists());
        assert_eq!(drop(later, retention(14, 10)), 10, "over the bound, as much as needed");
        assert_eq!(drop(later, retention(9, 1_000)), 10, "and what is too old");
        assert!(store.join("git/objects/pack/pack-a.pack").exists());
        assert!(store.join("git/objects/info/alternates").exists());
    }
}
