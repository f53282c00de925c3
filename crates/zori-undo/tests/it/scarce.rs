//! Too little of what capturing needs: watches, disk, a lock that is free. Nothing wrong is written, and what is not covered is
//! said.

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::io::Errno;
use zori_core::tool::Effect;
use zori_undo::capture::{Capture, CaptureSettings, Watching};
use zori_undo::disk::{Disk, Faults};
use zori_undo::plan::Force;
use zori_undo::rewind::Goal;

use crate::project::{Project, settings};

/// The contract's fault table: a machine on which a user may have 10 watches. A quarter of them is taken, the rest is found by
/// walks, whether the bound is met in the first look, by a command or by a file tool.
#[test]
fn ten_watches() {
    for folders in ["a", "a b", "a b c d e f g h i j k l"] {
        let mut project = Project::with(false);
        project.shell(&format!("mkdir .git; for d in {folders}; do mkdir $d; echo one > $d/x; done"));
        let watch = Watching::On { limit: Some(10) };
        let few = CaptureSettings { watch, ..settings(&project.base(), "s", false) };
        project.capture = Capture::open(few).unwrap();
        let before = project.files();
        assert_eq!(project.turn("echo two > a/x").notices, [""; 0], "walks cover all");
        // A file tool makes folders beyond the bound; what a command does in them is seen.
        let deep = project.path("made/deep/file");
        project.call(Effect::Write(deep.clone()), || {
            fs::create_dir_all(deep.parent().unwrap()).unwrap();
            fs::write(&deep, "tool\n").unwrap();
        });
        project.command("true");
        project.turn(
            "echo more > made/deep/more; echo command >> made/deep/file; mkdir -p n/e/w; echo 1 > n/e/w/1",
        );
        project.turn("echo 2 > n/e/w/2; rm a/x; echo last > made/deep/last");
        let told = project.told(project.rewind(Goal::Turn(1), Force::Keep, false));
        assert_eq!(project.files(), before, "{folders}: {told}");
        assert!(!told.contains("kept"), "{folders}: {told}");
    }
}

/// A disk on which the store's writes fail, from one of them on, until it has space again.
struct Full {
    from: usize,
    seen: AtomicUsize,
}

impl Faults for Full {
    fn before(&self, call: &'static str) -> io::Result<()> {
        if !call.starts_with("store") || self.seen.fetch_add(1, Ordering::Relaxed) < self.from {
            return Ok(());
        }
        Err(Errno::NOSPC.into())
    }

    fn after(&self, _: &'static str) {}
}

/// A disk that gets full at any write of a capture: no call is held up, what cannot be undone is said, and what goes back is
/// byte for byte what was there.
#[test]
fn a_disk_that_gets_full_while_capturing() {
    let origin = Project::with(false);
    // A long content is a file of its own, a sensitive one has its own segment.
    origin.shell("mkdir .git; echo one > a; echo b > b; seq 200000 > long; echo KEY > .env; echo t > tool");
    let before = origin.files();
    for from in 0.. {
        let full = Arc::new(Full { from, seen: AtomicUsize::new(0) });
        let mut project = origin.copied();
        let disk = Disk::with_faults(full.clone());
        let short = CaptureSettings { disk, ..settings(&project.base(), "s", false) };
        project.capture = Capture::open(short).unwrap();
        let mut notices =
            project.turn("echo two > a; rm b; echo new > c; echo x >> long; echo K > .env").notices;
        let tool = project.path("tool");
        let write = || fs::write(&tool, "changed\n").unwrap();
        notices.extend(project.call(Effect::Write(tool.clone()), write).notices);
        let after = project.files();
        let reached = full.seen.load(Ordering::Relaxed) > from;
        project.reopen(1, false);
        let told = project.told(project.rewind(Goal::Turn(1), Force::Keep, false));
        let files = project.files();
        // Every path is as it was before or as the calls left it.
        for line in files.lines() {
            assert!(before.contains(line) || after.contains(line), "from {from}: {line}\n{told}");
        }
        assert!(!files.contains(".zori-"), "from {from}: {files}");
        match reached {
            true => {
                assert_ne!(notices, [""; 0], "from {from}: {told}");
                let says = |notice: &String| notice.contains("No space left on device");
                assert!(notices.iter().all(says), "from {from}: {notices:?}");
                let untouched = project.read("tool") == "changed\n" && !told.contains("kept tool");
                let lost = notices.iter().any(|notice| notice.contains("cannot be undone"));
                assert!(!untouched || lost, "from {from}: a file tool's change is lost: {notices:?}\n{told}");
            }
            false => assert_eq!((files.as_str(), notices.len()), (before.as_str(), 0), "{told}"),
        }
        // With space again, the session captures as ever.
        let before = project.files();
        project.turn("echo again > a; rm -f c long");
        assert!(!project.undo().contains("kept"), "from {from}");
        assert_eq!(project.files(), before, "from {from}");
        if !reached {
            println!("{from} cases");
            break;
        }
    }
}

/// A process that another thread has just forked holds the lock's descriptor for a moment: an undo waits for it. One that holds
/// on is an undo that runs.
#[cfg(target_os = "linux")]
#[test]
fn a_lock_that_is_held_for_a_moment() {
    let project = Project::with(false);
    project.shell("mkdir .git; echo one > a");
    project.turn("echo two > a");
    let path = project.base().join("store/restore/lock");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let held = fs::File::create(&path).unwrap();
    held.lock().unwrap();
    let opened = || {
        let fds = fs::read_dir("/proc/self/fd").unwrap().flatten();
        fds.filter(|fd| fs::read_link(fd.path()).is_ok_and(|to| to == path)).count()
    };
    let told = std::thread::scope(|scope| {
        let undo = scope.spawn(|| project.undo());
        while opened() < 2 && !undo.is_finished() {
            std::thread::yield_now();
        }
        drop(held);
        undo.join()
    });
    assert_eq!(told.expect("it waits"), "restored a +1 -1");
}
