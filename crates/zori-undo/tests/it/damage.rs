//! A store that is damaged, foreign or full of lies: it costs what it says, and nothing wrong is written (chapter "Bad input").

use std::fs;
use std::os::unix::fs::PermissionsExt;

use zori_core::cancel::Cancel;
use zori_core::checkpoint::{Checkpoints, PendingCall};
use zori_core::ids::CallId;
use zori_core::tool::Effect;
use zori_testkit::random::{Random, cases};
use zori_undo::capture::Capture;
use zori_undo::plan::Force;
use zori_undo::rewind::Goal;

use crate::project::{Project, settings};

fn ruined() -> Project {
    let project = Project::with(false);
    project.shell("mkdir .git; echo one > a; echo two > b");
    project.turn("echo 1 > a; echo 2 > b");
    project
}

fn only_file(project: &Project, folder: &str) -> std::path::PathBuf {
    let mut entries = fs::read_dir(project.base().join("store").join(folder)).unwrap().flatten();
    entries.next().unwrap().path()
}

/// Every byte of a segment is flipped once, and every end cut off: a content is right, or gone.
#[test]
fn a_damaged_segment() {
    let origin = ruined();
    let segment = only_file(&origin, "seg");
    let name = segment.strip_prefix(origin.base()).unwrap().to_owned();
    let bytes = fs::read(&segment).unwrap();
    for at in 0..bytes.len() {
        for cut in [false, true] {
            let project = origin.copied();
            let mut damaged = bytes.clone();
            if cut {
                damaged.truncate(at);
            } else {
                damaged[at] ^= 0x41;
            }
            fs::write(project.base().join(&name), damaged).unwrap();
            let told = project.undo();
            for (file, before, after) in [("a", "one\n", "1\n"), ("b", "two\n", "2\n")] {
                let now = project.read(file);
                assert!(now == before || now == after, "{at} {cut}: {file} is {now:?}");
                assert_eq!(
                    now == after,
                    told.contains(&format!("kept {file} content_gone")),
                    "{at} {cut}: {told}"
                );
            }
        }
    }
}

#[test]
fn lines_that_are_no_operations() {
    let project = ruined();
    let ops = project.base().join("store/ops/s.jsonl");
    let good = fs::read_to_string(&ops).unwrap();
    let outside = project.base().join("victim");
    fs::write(&outside, "keep\n").unwrap();
    let lies = [
        "{\"op\":",
        &good.replace("\"kind\":\"command\"", "\"kind\":\"frob\""),
        &good.replace("\"path\":\"a\"", "\"path\":\"../victim\""),
        &good.replace("\"path\":\"a\"", "\"path\":\"d/../../victim\""),
        &good.replace("\"path\":\"a\"", "\"path\":\"a\\u0000b\""),
    ];
    fs::write(&ops, lies.join("\n") + "\n" + &good + "{\"op\":9,\"tur").unwrap();
    let report = project.rewind(Goal::LastChange, Force::Keep, false).unwrap();
    assert_eq!((report.restored.len(), report.skipped), (2, 6));
    assert_eq!([project.read("a"), project.read("b")], ["one\n", "two\n"]);
    assert_eq!(fs::read_to_string(outside).unwrap(), "keep\n");
}

/// A path that leads through a link is not followed, whatever the operation says.
#[test]
fn a_link_in_the_way() {
    let project = Project::with(false);
    project.shell("mkdir .git d; echo one > d/a");
    project.turn("echo two > d/a");
    project.shell("mkdir ../elsewhere; cp d/a ../elsewhere/a; rm -r d; ln -s ../elsewhere d");
    assert_eq!(project.undo(), "kept d/a path_moved");
    assert_eq!(fs::read_to_string(project.base().join("elsewhere/a")).unwrap(), "two\n");
}

#[test]
fn a_store_that_is_not_ours_alone() {
    let project = ruined();
    let store = project.base().join("store");
    let opened = || Capture::open(settings(&project.base(), "s", false)).err().map(|error| error.to_string());
    let shown = store.display().to_string();
    fs::set_permissions(&store, fs::Permissions::from_mode(0o770)).unwrap();
    assert_eq!(opened().unwrap(), format!("undo is off: {shown} can be written to by others"));
    fs::set_permissions(&store, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(opened(), None);
    fs::rename(&store, project.base().join("moved")).unwrap();
    std::os::unix::fs::symlink("moved", &store).unwrap();
    assert_eq!(opened().unwrap(), format!("undo is off: {shown} is not a folder"));
}

/// What is over a bound is not taken, and the answer says so; what is known goes back all the same.
#[test]
fn bounds() {
    let project = Project::with(true);
    project.shell("mkdir .git; echo small > small; truncate -s 2G big; truncate -s 300K ignored; echo ignored > .gitignore");
    project.turn("echo x >> big; echo y > small; echo z >> ignored");
    assert_eq!(project.undo(), "restored small +1 -1\nkept big too_large");
    let mut few = Project::with(true);
    few.shell("mkdir .git; for i in 1 2 3 4 5 6; do echo $i > $i; done");
    let mut limits = settings(&few.base(), "s", true);
    limits.limits.max_files = 3;
    few.capture = Capture::open(limits).unwrap();
    let captured = few.turn("echo x > 1");
    assert_eq!(
        captured.notices,
        ["Undo covers only what the file tools change here: the folder has more than 3 files"]
    );
    assert_eq!(few.turn("echo x > 2").notices, [""; 0], "it is said once");
    let mut required = settings(&few.base(), "t", true);
    required.required = true;
    required.home = Some(few.path("below"));
    few.capture = Capture::open(required).unwrap();
    let effects = vec![Effect::Exec { command: "true".into(), cwd: few.root() }];
    let refused = few.capture.begin(&[PendingCall { call: CallId::new("c"), effects }], &Cancel::new());
    assert_eq!(
        refused.unwrap_err().to_string(),
        "checkpoint_failed: the folder is your home directory, or above it, and `undo.required` is set; nothing was executed"
    );
}

/// The store of a session that never ends is bounded: then only file tools are covered, and that is said (case 12).
#[test]
fn a_session_that_never_ends() {
    let mut project = Project::with(true);
    project.shell("mkdir .git");
    let mut bounded = settings(&project.base(), "s", true);
    bounded.limits.max_session = 1 << 20;
    project.capture = Capture::open(bounded).unwrap();
    let mut random = Random::new(7);
    let mut notices = Vec::new();
    let steps = cases(400, 10_000);
    for _ in 0..steps {
        let bytes: Vec<u8> = (0..4096).map(|_| random.below(256) as u8).collect();
        let effect = Effect::Exec { command: String::new(), cwd: project.root() };
        notices.extend(project.call(effect, || fs::write(project.path("a"), bytes).unwrap()).notices);
    }
    let entries = fs::read_dir(project.base().join("store/seg")).unwrap().flatten();
    let stored: u64 = entries.map(|entry| entry.metadata().unwrap().len()).sum();
    assert!(stored < (1 << 20) + 3 * 4096, "{stored} bytes after {steps} steps");
    assert_eq!(
        notices,
        ["Undo covers only what the file tools change here: this session has captured more than 1 MiB"]
    );
    println!("{steps} cases");
}
