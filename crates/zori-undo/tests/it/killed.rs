//! A restore whose process is killed before or after any of its system calls, and again while the next one finishes it:
//! nothing is lost, and the one after that finds its work done (UNDO-18).
//!
//! The process is a fork of the test, traced: it stops at every entry and every exit of a system call, and is killed there
//! by SIGKILL. A call that it is killed at the entry of is not made.

use std::fs;
use std::time::{Duration, SystemTime};

use zori_core::cancel::Cancel;
use zori_core::checkpoint::{Checkpoints, PendingCall};
use zori_core::ids::CallId;
use zori_core::tool::Effect;
use zori_testkit::random::cases;
use zori_undo::capture::Capture;
use zori_undo::gc::{self, Retention};
use zori_undo::plan::Force;
use zori_undo::rewind::Goal;

use crate::faults::ruined;
use crate::project::{Project, call, settings};

/// Says that a stop is one of a system call, and no signal.
const AT_CALL: i32 = libc::SIGTRAP | 0x80;

/// Runs something in a process of its own and kills it at its n-th stop. Returns how many stops there were, up to that.
#[expect(
    unsafe_code,
    reason = "a process is forked, traced and killed by system calls that have no safe form"
)]
fn killed_at(stop: usize, act: impl FnOnce()) -> usize {
    let trace = |request: libc::c_uint, pid: libc::pid_t, data: libc::c_long| {
        // SAFETY: the process is our own child, which has stopped; these requests take numbers.
        let done = unsafe { libc::ptrace(request, pid, std::ptr::null_mut::<libc::c_void>(), data) };
        assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
    };
    // SAFETY: the child has this thread alone; it makes no use of what other threads hold, and ends without destructors.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "{}", std::io::Error::last_os_error());
    if pid == 0 {
        trace(libc::PTRACE_TRACEME, 0, 0);
        // SAFETY: it stops this process, and the parent lets it go on.
        unsafe { libc::raise(libc::SIGSTOP) };
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
        // SAFETY: nothing runs after it.
        unsafe { libc::_exit(if done.is_ok() { 0 } else { 101 }) };
    }
    let wait = || {
        let mut status = 0;
        // SAFETY: the status is ours.
        let waited = unsafe { libc::waitpid(pid, &mut status, libc::__WALL) };
        assert_eq!(waited, pid, "{}", std::io::Error::last_os_error());
        status
    };
    assert!(libc::WIFSTOPPED(wait()), "it has stopped itself");
    let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_EXITKILL;
    trace(libc::PTRACE_SETOPTIONS, pid, libc::c_long::from(options));
    let (mut seen, mut signal) = (0, 0);
    loop {
        trace(libc::PTRACE_SYSCALL, pid, libc::c_long::from(signal));
        let status = wait();
        if libc::WIFEXITED(status) {
            assert_eq!(libc::WEXITSTATUS(status), 0, "the restore itself has failed");
            return seen;
        }
        assert!(libc::WIFSTOPPED(status), "{status:x}");
        signal = 0;
        if libc::WSTOPSIG(status) != AT_CALL {
            signal = libc::WSTOPSIG(status);
            continue;
        }
        if seen == stop {
            // SAFETY: the process is our own child.
            unsafe { libc::kill(pid, libc::SIGKILL) };
            assert!(libc::WIFSIGNALED(wait()), "it is dead");
            return seen;
        }
        seen += 1;
    }
}

#[test]
fn a_process_killed_at_every_system_call() {
    let (origin, before, _) = ruined();
    let undo = |project: &Project| drop(project.rewind(Goal::LastChange, Force::Keep, false));
    let whole = origin.copied();
    let stops = killed_at(usize::MAX, || undo(&whole));
    assert_eq!(whole.files(), before, "nobody was killed");
    assert!(stops > 400, "a restore of 20 paths has more calls than {stops}");
    // All of them in a soak, every so many-th otherwise.
    let count = cases(120, stops);
    for case in 0..count {
        let at = case * stops / count;
        let project = origin.copied();
        killed_at(at, || undo(&project));
        // The process that finishes it is killed, too.
        let twin = project.copied();
        let stops = killed_at(usize::MAX, || drop(twin.recover()));
        killed_at(case * 7919 % stops.max(1), || drop(project.recover()));
        project.recover();
        // A kill while the plan was made has left nothing to finish.
        undo(&project);
        let files = project.files();
        assert!(!files.contains(".zori-"), "killed at {at} of {stops}: {files}");
        assert_eq!(files, before, "killed at {at} of {stops}");
        assert_eq!(project.recover(), [], "nothing is left to finish");
    }
    println!("{count} cases");
}

/// A process that is killed while it looks at what a call has changed: what was captured before goes back, what was not is kept, and
/// the next process captures as ever.
#[test]
fn a_process_killed_while_it_captures() {
    let origin = Project::with(false);
    origin.shell("mkdir .git d; echo one > a; echo b > b");
    origin.turn("echo two > a");
    let work = |project: &Project| {
        project.capture.start_turn();
        project.call(Effect::Exec { command: String::new(), cwd: project.root() }, || {
            fs::write(project.path("a"), "three\n").unwrap();
            fs::remove_file(project.path("b")).unwrap();
        });
    };
    let whole = origin.copied();
    let stops = killed_at(usize::MAX, || work(&whole));
    let count = cases(60, stops);
    for case in 0..count {
        let at = case * stops / count;
        let mut project = origin.copied();
        killed_at(at, || work(&project));
        project.reopen(2, false);
        let told = project.told(project.rewind(Goal::Turn(1), Force::Keep, false));
        let (a, b) = (project.read("a"), project.read("b"));
        let is_whole = |text: &str, before: &str, kept: &str| text == before || told.contains(kept);
        assert!(is_whole(&a, "one\n", "kept a changed_since"), "killed at {at} of {stops}: {a:?}\n{told}");
        assert!(["b\n", "-"].contains(&b.as_str()), "killed at {at} of {stops}: {b:?}\n{told}");
        let before = project.files();
        project.turn("echo new > c; rm -r d");
        assert!(!project.undo().contains("kept"), "killed at {at} of {stops}");
        assert_eq!(project.files(), before, "killed at {at} of {stops}");
    }
    println!("{count} cases");
}

/// A process that is killed in its first look at a repository: nothing of the project is touched, and the next one captures as
/// ever.
#[test]
fn a_process_killed_in_its_first_look() {
    let origin = Project::with(false);
    origin.shell(
        "git init -q; echo one > a; mkdir d; echo x > d/x; git add -A; git commit -qm 1; echo dirty >> a; echo new > new;
         seq 200000 > long; echo KEY > .env",
    );
    // A copy has other times than the index says.
    let copied = || {
        let project = origin.copied();
        project.shell("git update-index -q --refresh || true");
        project
    };
    let before = origin.files();
    let work = |project: &Project| {
        project.capture.start_turn();
        let calls = [PendingCall {
            call: CallId::new("c"),
            effects: vec![Effect::Exec { command: String::new(), cwd: project.root() }],
        }];
        project.capture.begin(&calls, &Cancel::new()).unwrap();
    };
    let whole = copied();
    let stops = killed_at(usize::MAX, || work(&whole));
    assert!(stops > 100, "{stops}");
    let count = cases(40, stops);
    for case in 0..count {
        let at = case * stops / count;
        let mut project = copied();
        killed_at(at, || work(&project));
        assert_eq!(project.files(), before, "killed at {at} of {stops}");
        project.reopen(1, false);
        project.turn("echo two > a; rm -r d new long .env; git commit -qam 2");
        let told = project.undo();
        assert!(!told.contains("kept"), "killed at {at} of {stops}: {told}");
        assert_eq!(project.files(), before, "killed at {at} of {stops}");
    }
    println!("{count} cases");
}

/// A process that is killed while it drops old contents: those of a session that runs are all there, of another each is right
/// or gone, and the next day's run drops the rest.
#[test]
fn a_process_killed_while_it_drops_old_contents() {
    let origin = Project::with(false);
    origin.shell("mkdir .git; echo one > a; echo KEY > .env; echo b > b");
    let old = Capture::open(settings(&origin.base(), "old", false)).unwrap();
    old.start_turn();
    let effect = || Effect::Exec { command: String::new(), cwd: origin.root() };
    call(&old, effect(), || origin.shell("echo old > b"));
    origin.turn("echo two > a; echo K > .env");
    drop(old);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let day = Duration::from_secs(24 * 60 * 60);
    let retention = Retention { keep: 30 * day, keep_sensitive: day, max_total: 1 << 30 };
    let collect = |project: &Project, days: u32| {
        let projects = project.base().join("projects");
        fs::create_dir_all(projects.join("key")).unwrap();
        let _ = std::os::unix::fs::symlink(project.base().join("store"), projects.join("key/undo"));
        let (marker, now) = (projects.join("gc"), now + days * day);
        gc::collect(&projects, &marker, retention, now, &|session| session == "s", &|| now)
    };
    let left = |project: &Project| {
        let store = project.base().join("store");
        let folders = ["ops", "seg", "sec", "tmp"].map(|name| fs::read_dir(store.join(name)));
        let files = folders.into_iter().flatten().flatten().flatten().map(|file| file.file_name());
        let mut files: Vec<_> = files.map(|name| name.to_string_lossy().into_owned()).collect();
        files.sort();
        files
    };
    let prepared = |project: &Project| {
        let store = project.base().join("store");
        fs::create_dir_all(store.join("tmp")).unwrap();
        fs::write(store.join("tmp/dead-ffff"), "half").unwrap();
    };
    prepared(&origin);
    let whole = origin.copied();
    // The segments of the dead session are 20 days older than the bound.
    let stops = killed_at(usize::MAX, || {
        collect(&whole, 50);
    });
    let rest = left(&whole);
    assert!(rest.iter().all(|name| !name.contains("old-") && !name.contains("dead")), "{rest:?}");
    let count = cases(40, stops);
    for case in 0..count {
        let at = case * stops / count;
        let mut project = origin.copied();
        killed_at(at, || {
            collect(&project, 50);
        });
        let undone = project.undo();
        assert_eq!(project.read("a"), "one\n", "killed at {at} of {stops}: {undone}");
        assert_eq!(project.read(".env"), "KEY\n", "killed at {at} of {stops}: {undone}");
        project.capture = Capture::open(settings(&project.base(), "old", false)).unwrap();
        let told = project.undo();
        let gone = told == "kept b content_gone";
        assert!(gone || told == "restored b +1 -1", "killed at {at} of {stops}: {told}");
        assert_eq!(project.read("b"), if gone { "old\n" } else { "b\n" }, "killed at {at} of {stops}");
        collect(&project, 52);
        assert_eq!(left(&project), rest, "killed at {at} of {stops}");
    }
    println!("{count} cases");
}
