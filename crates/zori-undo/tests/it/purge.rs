//! All that is kept of a project is deleted, and nothing else (case 11, UNDO-31).

use std::fs;
use std::path::Path;

use zori_core::checkpoint::Checkpoints;
use zori_undo::capture::Capture;
use zori_undo::purge::{Purged, count, purge};

use crate::project::{Project, settings};

const CANARY: &str = "canary-7f3a";

/// Returns whether any file below a folder has the canary.
fn sings(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().flatten().any(|entry| match entry.file_type().unwrap() {
        kind if kind.is_dir() => sings(&entry.path()),
        kind if kind.is_file() => String::from_utf8_lossy(&fs::read(entry.path()).unwrap()).contains(CANARY),
        _ => false,
    })
}

/// A project with contents in every part of the store: segments, sensitive ones, long ones, links to git's objects.
fn filled() -> Project {
    let project = Project::with(false);
    project.shell(&format!(
        "git init -q; echo {CANARY} > a; git add -A; git commit -qm 1; echo {CANARY} > .env; seq 400000 > long; echo {CANARY} >> long"
    ));
    project.turn("sed -i s/canary/bird/ a .env; : > long; echo x > canary-7f3a");
    project
}

/// Ends the session that captured; another one has captured nothing yet.
fn end(project: &mut Project) {
    project.capture = Capture::open(settings(&project.base(), "other", false)).unwrap();
}

#[test]
fn nothing_of_a_project_is_left() {
    let mut project = filled();
    let store = project.base().join("store");
    let link = project.base().join("outside");
    fs::write(&link, "stays").unwrap();
    std::os::unix::fs::symlink(&link, store.join("big/link")).unwrap();
    assert!(sings(&store));
    for part in ["ops", "seg", "sec", "big", "git"] {
        assert!(store.join(part).is_dir(), "{part}");
    }
    // A session that captures has the store.
    assert_eq!(purge(&store).unwrap_err().to_string(), "a session runs in this project");
    end(&mut project);
    // So has an undo that was cut off.
    let plan = store.join("restore/s-9.json");
    fs::create_dir_all(store.join("restore")).unwrap();
    fs::write(&plan, "{}").unwrap();
    let why = format!("an undo in this project was cut off and is not finished: {}", plan.display());
    assert_eq!(count(&store).unwrap_err().to_string(), why);
    assert_eq!(purge(&store).unwrap_err().to_string(), why);
    fs::remove_file(plan).unwrap();
    let counted = count(&store).unwrap();
    assert!(counted.files > 5 && counted.bytes > 100, "{counted:?}");
    assert!(sings(&store), "counting deletes nothing");
    assert_eq!(purge(&store).unwrap(), counted);
    let left: Vec<_> =
        fs::read_dir(project.base()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("store")), "{left:?}");
    assert_eq!(fs::read_to_string(link).unwrap(), "stays");
    project.shell("git fsck --strict >/dev/null 2>&1 && git cat-file -p HEAD:a | grep -q canary");
    assert_eq!(purge(&store).unwrap(), Purged::default(), "a second time there is nothing");
    // The project goes on as one of which nothing was ever captured.
    project.capture.start_turn();
    project.command("echo again > a");
    assert_eq!(project.undo(), "restored a +1 -1");
}

/// What a purge that was killed left behind goes with the next.
#[test]
fn a_purge_that_was_cut_off() {
    let mut project = filled();
    end(&mut project);
    let store = project.base().join("store");
    let whole = || count(&store).unwrap().files;
    let before = whole();
    fs::rename(&store, store.with_extension("purged")).unwrap();
    assert_eq!(whole(), before);
    purge(&store).unwrap();
    assert!(!store.with_extension("purged").exists());
}

#[test]
fn a_store_that_is_a_link() {
    let mut project = filled();
    end(&mut project);
    let store = project.base().join("store");
    let moved = project.base().join("moved");
    fs::rename(&store, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &store).unwrap();
    assert_eq!(
        purge(&store).unwrap_err().to_string(),
        format!("undo is off: {} is not a folder", store.display())
    );
    assert!(moved.join("ops").is_dir());
}
