use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use zori_engine::system::SystemClock;
use zori_index::{CodeStatus, database_path};

use super::*;
use crate::code_index::{CodeIndexPlace, CodeQuery, search_code};

struct World {
    _dir: TempDir,
    place: CodeIndexPlace,
}

impl World {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = TempDir::new().unwrap();
        let root = dir.path().canonicalize().unwrap().join("project");
        fs::create_dir(&root).unwrap();
        let place = CodeIndexPlace {
            database: database_path(&dir.path().join("base")),
            project: root,
            scratch: dir.path().to_owned(),
            marker: dir.path().join("base/projects/x/index"),
            durable: false,
            vectors: None,
            sensitive: Arc::new(|path: &Path| path.ends_with("secrets.json")),
        };
        let world = Self { _dir: dir, place };
        files.iter().for_each(|(path, text)| world.write(path, text));
        world
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.place.project.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn sync(&self, most: usize) -> (Pass, CodeStatus) {
        let mut store = self.place.open().unwrap();
        let mut left = most;
        let mut go_on = |_: &Progress| {
            let more = left > 0;
            left = left.saturating_sub(1);
            more
        };
        let pass = self.place.sync(&mut store, &SystemClock::new(), &mut go_on).unwrap();
        let status = store.code_status().unwrap();
        assert_eq!(store.code_progress().unwrap(), status.progress());
        (pass, status)
    }

    fn found(&self, text: &str) -> Vec<String> {
        let store = self.place.open().unwrap();
        let query = CodeQuery { text, kind: None, path: None, likeness: None, limit: 10 };
        let hits = search_code(&store, &query).unwrap();
        hits.into_iter().map(|hit| format!("{}:{}", hit.path, hit.start)).collect()
    }
}

#[test]
fn only_what_changed_is_read() {
    let world = World::new(&[("a.rs", "fn heron() {}\n"), ("sub/b.py", "def stork():\n    pass\n")]);
    assert_eq!(world.sync(99).0, Pass { found: 2, changed: 2, finished: true, ..Pass::default() });
    assert_eq!(
        world.sync(0).0,
        Pass { found: 2, finished: true, ..Pass::default() },
        "nothing is asked about"
    );
    world.write("a.rs", "fn heron() {}\nfn crane() {}\n");
    fs::remove_file(world.place.project.join("sub/b.py")).unwrap();
    assert_eq!(world.sync(99).0, Pass { found: 1, changed: 1, gone: 1, finished: true, ..Pass::default() });
    assert_eq!(world.found("crane").len(), 1);
    assert!(world.found("stork").is_empty());
    // The same bytes at another time are the same file.
    let file = File::options().append(true).open(world.place.project.join("a.rs")).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_secs(1_000)).unwrap();
    assert_eq!(world.sync(99).0, Pass { found: 1, finished: true, ..Pass::default() });
    assert_eq!(world.sync(0).0.changed, 0);
}

/// A pass that is stopped keeps what it has, and says how much that is; the next one goes on.
#[test]
fn a_pass_goes_on_where_it_was_stopped() {
    let world = World::new(&[("a.rs", "fn a() {}"), ("b.rs", "fn b() {}"), ("c.rs", "fn c() {}")]);
    let (pass, status) = world.sync(2);
    assert!(!pass.finished && !status.is_whole());
    assert_eq!((status.looked_at(), status.found), (2, 3));
    let (pass, status) = world.sync(1);
    assert!(pass.finished && status.is_whole());
    assert_eq!((pass.changed, status.files), (1, 3));
}

/// Of too many files the first are indexed, and how many were left out is told.
#[test]
fn too_many_files() {
    let world = World::new(&[("a.rs", ""), ("b.rs", ""), ("c.rs", "")]);
    let Found { seen, left_out, .. } = files(&world.place.project, 2);
    let paths: Vec<&str> = seen.iter().map(|seen| seen.path.as_str()).collect();
    assert_eq!((&paths[..], left_out), (&["a.rs", "b.rs"][..], 1));
    assert_eq!(files(&world.place.project, 3).left_out, 0);
}

/// Hostile files are skipped and counted; nothing hangs, nothing is followed out of the project.
#[test]
fn hostile_files() {
    let world = World::new(&[
        ("good.rs", "fn good() {}"),
        ("deep.json", &"[\n".repeat(5_000)),
        ("minified.js", &"x".repeat(50_000)),
        ("binary.c", "\0\0\0"),
        ("secrets.json", "{\"token\": \"canary\"}"),
        (".gitignore", "ignored.rs\n"),
        ("ignored.rs", "fn ignored() {}"),
        ("empty.rs", ""),
        ("sub/locked.rs", "fn locked() {}"),
    ]);
    let root = &world.place.project;
    // A hole of 100 MB costs nothing to make, and nothing to skip.
    File::create(root.join("huge.rs")).unwrap().set_len(100 << 20).unwrap();
    symlink(root, root.join("loop")).unwrap();
    symlink("/etc/passwd", root.join("link.rs")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, root.join("pipe.rs"), rustix::fs::Mode::from_raw_mode(0o600))
        .unwrap();
    let (pass, status) = world.sync(99);
    assert!(pass.finished);
    assert_eq!(
        status.skipped,
        [("binary", 1), ("long_lines", 1), ("sensitive", 1), ("too_deep", 1), ("too_large", 1)]
            .map(|(why, count)| (why.to_owned(), count))
    );
    assert_eq!(status.files, 3, "good, empty and locked");
    assert!(world.found("canary").is_empty());
    assert!(world.found("ignored").is_empty());
    assert_eq!(world.found("good"), ["good.rs:1"]);
}
