//! Links and folders that are exchanged while tools are at work (P-3, DEC-4). What a call does must be what was decided
//! about, however quick the other side is.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags};
use serde_json::{Value, json};
use zori_core::tool::ToolCode;
use zori_policy::policy::Approver;

use super::{Disk, judge};

/// What must not be seen, and what must not change.
const SECRET: &str = "this is outside";
/// A name that only the folder outside has.
const ELSEWHERE: &str = "an-outer-name";

/// A folder and a file in the workspace, and beside each a link to its like outside, to be exchanged with it.
fn disk() -> Disk {
    let disk = Disk::new();
    disk.put("ws/folder/file", "inside\n");
    disk.put("ws/single", "inside\n");
    disk.put("out/file", &format!("{SECRET}\n"));
    disk.put(&format!("out/{ELSEWHERE}"), &format!("{SECRET}\n"));
    disk.link("ws/other_folder", "../out");
    disk.link("ws/other_single", "../out/file");
    disk
}

fn exchange(disk: &Disk, name: &str) {
    let (one, other) = (disk.at(&format!("ws/{name}")), disk.at(&format!("ws/other_{name}")));
    rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).expect("a scratch disk");
}

/// Every tool that opens something, on the folder and on the file.
fn calls() -> Vec<(&'static str, Value)> {
    let patch = |file: &str| {
        format!(
            "*** Begin Patch\n*** Update File: {file}\n@@\n-inside\n+inside\n*** Add File: {file}.new\n+x\n*** End Patch"
        )
    };
    let unlink = |file: &str| format!("*** Begin Patch\n*** Delete File: {file}\n*** End Patch");
    vec![
        ("read", json!({"path": "folder/file"})),
        ("read", json!({"path": "single"})),
        ("write", json!({"path": "folder/file", "content": "inside\n"})),
        ("write", json!({"path": "folder/made/new", "content": "inside\n"})),
        ("write", json!({"path": "single", "content": "inside\n"})),
        ("edit", json!({"path": "folder/file", "old": "inside", "new": "inside"})),
        ("edit", json!({"path": "single", "old": "inside", "new": "inside"})),
        ("multi_edit", json!({"path": "folder/file", "edits": [{"old": "inside", "new": "inside"}]})),
        ("apply_patch", json!({"patch": patch("folder/file")})),
        ("apply_patch", json!({"patch": patch("single")})),
        ("apply_patch", json!({"patch": unlink("folder/file.new")})),
        ("grep", json!({"path": "folder", "pattern": "is"})),
        ("grep", json!({"path": "folder/file", "pattern": "is"})),
        ("grep", json!({"pattern": "is"})),
        ("ls", json!({"path": "folder"})),
        ("ls", json!({"depth": 3})),
        ("glob", json!({"pattern": "folder/*"})),
        ("glob", json!({"pattern": "**/*"})),
    ]
}

/// Panics if anything came from outside, or got there.
#[track_caller]
fn check(disk: &Disk, call: &(&str, Value), said: &str) {
    let (tool, args) = call;
    assert!(!said.contains(SECRET), "{tool} {args} read what is outside: {said}");
    assert!(!said.contains(ELSEWHERE), "{tool} {args} listed what is outside: {said}");
    let mut names: Vec<_> = fs::read_dir(disk.at("out"))
        .expect("a scratch disk")
        .map(|e| e.expect("a scratch disk").file_name())
        .collect();
    names.sort();
    assert_eq!(names, [ELSEWHERE, "file"], "{tool} {args} changed what is outside");
    assert_eq!(
        fs::read_to_string(disk.at("out/file")).expect("a scratch disk"),
        format!("{SECRET}\n"),
        "{tool} {args}"
    );
}

/// The same every time: judged, exchanged, run.
#[test]
fn what_changed_since_it_was_judged_is_not_opened() {
    for call in calls() {
        for name in ["folder", "single"] {
            let disk = disk();
            let tools = disk.tools();
            let decided = judge(&tools, &disk.policy("acceptEdits", Approver::Absent), call.0, &call.1);
            assert!(decided.allowed(), "{call:?}: {}", decided.decision.reason);
            exchange(&disk, name);
            let output = decided.run();
            check(&disk, &call, output.envelope.get());
            let path = call.1["path"].as_str().unwrap_or_default();
            if path.starts_with(name) && path.contains('/') == (name == "folder") {
                let failure = output.failure.unwrap_or_else(|| panic!("{call:?} ran"));
                assert_eq!(failure.code, ToolCode::PermissionDenied, "{call:?}: {}", failure.message);
                assert!(failure.message.starts_with("changed_since_approval: "), "{}", failure.message);
            }
        }
    }
}

/// What was approved outside the workspace is opened where it was, and not where a link leads that came later.
#[test]
fn what_was_approved_outside_is_bound_too() {
    let disk = disk();
    disk.put("home/notes/file", "notes\n");
    let tools = disk.tools();
    let path = disk.at("home/notes/file");
    let call = ("read", json!({"path": path}));
    let read = || judge(&tools, &disk.policy("yolo", Approver::Absent), call.0, &call.1);
    assert!(read().run().envelope.get().contains(r#""content":"notes\n""#));
    let decided = read();
    fs::rename(disk.at("home/notes"), disk.at("home/moved")).expect("a scratch disk");
    disk.link("home/notes", "../out");
    let output = decided.run();
    check(&disk, &call, output.envelope.get());
    assert_eq!(output.failure.expect("it was refused").code, ToolCode::PermissionDenied);
}

/// In yolo a link out of the workspace is followed: it was judged, with where it leads.
#[test]
fn a_judged_link_is_followed() {
    let disk = disk();
    let tools = disk.tools();
    let policy = disk.policy("yolo", Approver::Absent);
    let read = judge(&tools, &policy, "read", &json!({"path": "other_single"})).run();
    assert!(read.envelope.get().contains(SECRET), "{}", read.envelope.get());
    let args = json!({"path": "other_folder/new", "content": "x"});
    assert!(judge(&tools, &policy, "write", &args).run().ok());
    assert_eq!(fs::read_to_string(disk.at("out/new")).expect("a scratch disk"), "x");
}

/// Exchanges names as fast as it can, while `work` runs.
fn while_exchanging<T>(disk: &Disk, work: impl FnOnce(&AtomicUsize) -> T) -> T {
    let (stop, count) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                exchange(disk, "folder");
                exchange(disk, "single");
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        struct Stop<'a>(&'a AtomicBool);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let _stop = Stop(&stop);
        work(&count)
    })
}

/// P-3: nothing escapes. A tenth of the attempts unless soaked (DECISIONS 34).
#[test]
fn no_race_is_lost() {
    let attempts = if std::env::var_os("ZORI_SOAK").is_some() { 10_000 } else { 1_000 };
    let disk = disk();
    let tools = disk.tools();
    let policy = disk.policy("acceptEdits", Approver::Absent);
    let calls = calls();
    let (mut ran, mut refused) = (0, 0);
    let exchanged = while_exchanging(&disk, |count| {
        for call in calls.iter().cycle().take(attempts) {
            let decided = judge(&tools, &policy, call.0, &call.1);
            // Seen as the link it is at this moment: then it is not allowed, and there is nothing to lose.
            if !decided.allowed() {
                refused += 1;
                continue;
            }
            ran += 1;
            check(&disk, call, decided.run().envelope.get());
        }
        count.load(Ordering::Relaxed)
    });
    assert!(ran > attempts / 10, "only {ran} of {attempts} calls ran");
    assert!(exchanged > attempts / 10, "names were exchanged only {exchanged} times");
    println!("{ran} ran, {refused} were denied, names exchanged {exchanged} times");
    println!("{attempts} cases");
}

/// The race can be won: by whoever judges a path and then opens it by name.
#[test]
fn opening_by_name_loses_the_race() {
    let disk = disk();
    let tools = disk.tools();
    let policy = disk.policy("acceptEdits", Approver::Absent);
    let (call, path) = (json!({"path": "folder/file"}), disk.at("ws/folder/file"));
    let by_name = |path: &Path| fs::read_to_string(path).is_ok_and(|text| text.contains(SECRET));
    let began = Instant::now();
    let lost = while_exchanging(&disk, |_| {
        while began.elapsed() < Duration::from_secs(60) {
            if judge(&tools, &policy, "read", &call).allowed() && by_name(&path) {
                return true;
            }
        }
        false
    });
    assert!(lost, "in a minute the link was never in place at the right moment: these tests show nothing");
}
