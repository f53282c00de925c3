//! A restore that is killed before or after any system call, or in which any call fails: nothing is lost, and the next
//! command finishes it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::io::Errno;
use zori_undo::disk::{Disk, Faults};
use zori_undo::plan::Force;
use zori_undo::rewind::Goal;

use crate::project::Project;

/// What happens at the n-th call.
#[derive(Clone, Copy)]
pub enum Fault {
    KillBefore,
    KillAfter,
    Fail(Errno),
}

struct At {
    fault: Fault,
    at: usize,
    seen: AtomicUsize,
}

impl Faults for At {
    fn before(&self, _: &'static str) -> io::Result<()> {
        let now = self.seen.fetch_add(1, Ordering::Relaxed);
        match self.fault {
            Fault::KillBefore if now == self.at => std::panic::resume_unwind(Box::new("killed")),
            Fault::Fail(errno) if now == self.at => Err(errno.into()),
            _ => Ok(()),
        }
    }

    fn after(&self, _: &'static str) {
        if matches!(self.fault, Fault::KillAfter) && self.seen.load(Ordering::Relaxed) == self.at + 1 {
            std::panic::resume_unwind(Box::new("killed"));
        }
    }
}

/// Files of all kinds, and a turn that changes each in its own way.
pub fn ruined() -> (Project, String, String) {
    let project = Project::with(false);
    project.shell(
        "mkdir .git src empty gone; echo a > a; echo b > b; echo c > src/c; echo d > d; ln -s a link; ln -s b other;
         echo exe > exe; chmod 755 exe; echo g > gone/g; echo f > file; mkdir dir; echo x > dir/x; echo keep > keep",
    );
    let before = project.files();
    project.turn(
        "echo A > a; rm b; echo C >> src/c; chmod 600 d; rm link; ln -s b link; rm other; chmod 644 exe; rm -r gone;
         rm file; mkdir file; echo y > file/y; rm -r dir; echo dir > dir; mkdir -p made/deep; echo n > made/deep/n;
         echo new > new; chmod 700 empty; ln -s a another",
    );
    let after = project.files();
    (project, before, after)
}

/// Runs the restore with one fault. Returns whether the fault was reached.
pub fn run(project: &mut Project, fault: Fault, at: usize, goal: Goal) -> bool {
    let faults = Arc::new(At { fault, at, seen: AtomicUsize::new(0) });
    project.disk = Disk::with_faults(faults.clone());
    let run = std::panic::AssertUnwindSafe(|| {
        project.rewind(goal, Force::Keep, false);
    });
    let killed = std::panic::catch_unwind(run).is_err();
    project.disk = Disk::default();
    killed || faults.seen.load(Ordering::Relaxed) > at
}

fn no_temp_files(files: &str) {
    assert!(!files.contains(".zori-"), "{files}");
}

/// A kill is an unwinding here, which every system has; `killed.rs` kills processes.
#[test]
fn given_up_at_every_call() {
    let mut cases = 0;
    let (origin, before, _) = ruined();
    for fault in [Fault::KillBefore, Fault::KillAfter] {
        for at in 0.. {
            let mut project = origin.copied();
            let reached = run(&mut project, fault, at, Goal::LastChange);
            project.recover();
            // A kill while the plan was made has left nothing to finish.
            project.rewind(Goal::LastChange, Force::Keep, false);
            let files = project.files();
            no_temp_files(&files);
            assert_eq!(files, before, "killed at {at}");
            cases += 1;
            if !reached {
                break;
            }
        }
    }
    println!("{cases} cases");
}

/// Whatever fails, each path is as it was or as it should be, and a second undo finishes what can be finished.
#[test]
fn every_call_fails_once() {
    let errors = [Errno::NOSPC, Errno::IO, Errno::ACCESS, Errno::XDEV, Errno::EXIST, Errno::NOENT];
    let mut cases = 0;
    let (origin, before, _) = ruined();
    for &errno in &errors[..zori_testkit::random::cases(3, errors.len())] {
        for at in 0.. {
            let mut project = origin.copied();
            let reached = run(&mut project, Fault::Fail(errno), at, Goal::LastChange);
            no_temp_files(&project.files());
            project.rewind(Goal::Turn(1), Force::Replace, false);
            let files = project.files();
            no_temp_files(&files);
            assert_eq!(files, before, "{errno:?} at {at}");
            cases += 1;
            if !reached {
                break;
            }
        }
    }
    println!("{cases} cases");
}
