//! Files that are too long to be copied: taken where the file system lets files share their blocks, and told where it does not (UNDO-10).

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::sync::Arc;

use rustix::io::Errno;
use zori_core::checkpoint::Checkpoints;
use zori_core::tool::Effect;
use zori_undo::capture::Capture;
use zori_undo::disk::{Disk, Faults};
use zori_undo::plan::Force;
use zori_undo::rewind::Goal;

use crate::faults::{Fault, run};
use crate::project::{Project, settings};

/// A file system that shares blocks, as far as one can tell from outside, or says why not.
struct Sharing(Result<(), Errno>);

impl Faults for Sharing {
    fn before(&self, _: &'static str) -> io::Result<()> {
        Ok(())
    }

    fn after(&self, _: &'static str) {}

    fn reflink(&self, mut from: &File, mut to: &File) -> Option<io::Result<()>> {
        Some(self.0.map_err(io::Error::from).and_then(|()| io::copy(&mut from, &mut to).map(drop)))
    }
}

/// A project on such a file system, with a file of 17 MiB and three letters.
fn project(sharing: Result<(), Errno>) -> Project {
    let mut project = Project::with(true);
    let mut settings = settings(&project.base(), "s", true);
    settings.disk = Disk::with_faults(Arc::new(Sharing(sharing)));
    project.capture = Capture::open(settings).unwrap();
    project.shell("mkdir .git; truncate -s 17M big; printf one >> big; echo a > small");
    project
}

/// What the long file ends with, after its zeros.
fn end(project: &Project) -> String {
    let bytes = fs::read(project.path("big")).unwrap();
    let (zeros, end) = bytes.split_at(17 << 20);
    assert!(zeros.iter().all(|byte| *byte == 0));
    String::from_utf8(end.to_vec()).unwrap()
}

/// The names in a folder of the store, without those that are hashes.
fn kept(project: &Project, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(project.base().join("store").join(folder));
    let names = entries.into_iter().flatten().flatten().map(|entry| entry.file_name().into_string().unwrap());
    names.map(|name| if name.len() == 64 { "a hash".to_owned() } else { name }).collect()
}

#[test]
fn there_and_back() {
    let project = project(Ok(()));
    project.turn("printf two >> big; echo b > small");
    assert_eq!(project.undo(), "restored big +0 -0\nrestored small +1 -1");
    assert_eq!(end(&project), "one");
    assert_eq!(project.redo(), "restored big +0 -0\nrestored small +1 -1");
    assert_eq!(end(&project), "onetwo");
    assert_eq!(kept(&project, "big"), ["a hash", "a hash"]);
    assert_eq!(kept(&project, "tmp"), [""; 0]);
    project.turn("rm big");
    assert_eq!(project.undo(), "created big +0 -0");
    assert_eq!(end(&project), "onetwo");
}

/// The real call, on whatever file system the tests have: taken where `FICLONE` can do it, told where it cannot.
#[cfg(target_os = "linux")]
#[test]
fn on_this_file_system() {
    let project = Project::with(true);
    project.shell("mkdir .git; truncate -s 17M big; printf one >> big; echo a > small");
    let (from, to) = (project.path("big"), project.base().join("probe"));
    let shares = rustix::fs::ioctl_ficlone(File::create(&to).unwrap(), File::open(from).unwrap()).is_ok();
    project.turn("printf two >> big; echo b > small");
    let (told, left) = match shares {
        true => ("restored big +0 -0\nrestored small +1 -1", "one"),
        false => ("restored small +1 -1\nkept big too_large", "onetwo"),
    };
    assert_eq!((project.undo().as_str(), end(&project).as_str()), (told, left));
    assert_eq!(kept(&project, "tmp"), [""; 0]);
}

/// What a person made of it stays; where it is taken all the same, it is kept first.
#[test]
fn changed_by_a_person() {
    let project = project(Ok(()));
    project.turn("printf two >> big");
    project.shell("printf mine >> big");
    assert_eq!(project.undo(), "kept big changed_since");
    assert_eq!(end(&project), "onetwomine");
    let replaced = project.rewind(Goal::LastChange, Force::Replace, false);
    assert_eq!(project.told(replaced), "restored big +0 -0");
    assert_eq!(end(&project), "one");
    assert_eq!(project.redo(), "restored big +0 -0");
    assert_eq!(end(&project), "onetwomine");
}

/// A file tool writes it.
#[test]
fn by_a_file_tool() {
    let project = project(Ok(()));
    project.capture.start_turn();
    let path = project.path("big");
    project.call(Effect::Write(path.clone()), || fs::write(&path, "short").unwrap());
    assert_eq!(project.undo(), "restored big +0 -0");
    assert_eq!(end(&project), "one");
}

#[test]
fn where_blocks_cannot_be_shared() {
    for errno in [Errno::OPNOTSUPP, Errno::XDEV, Errno::INVAL, Errno::NOTTY] {
        let project = project(Err(errno));
        let captured = project.turn("printf two >> big; echo b > small");
        assert_eq!(captured.notices, [""; 0]);
        assert_eq!(project.undo(), "restored small +1 -1\nkept big too_large", "{errno:?}");
        assert_eq!(end(&project), "onetwo");
        assert_eq!([kept(&project, "big"), kept(&project, "tmp")], [vec![""; 0], vec![]]);
    }
}

/// A disk that is full is no answer to whether blocks can be shared: the folder is not covered, and that is told.
#[test]
fn what_fails_is_told() {
    let project = project(Err(Errno::NOSPC));
    let captured = project.turn("printf two >> big");
    let temp = project.base().join("store/tmp/s-reflink");
    assert_eq!(
        captured.notices,
        [format!(
            "Undo covers only what the file tools change here: {}: No space left on device (os error 28)",
            temp.display()
        )]
    );
    assert_eq!(kept(&project, "tmp"), [""; 0]);
}

/// There is a bound here, too, and what is sensitive has no file of its own in the store.
#[test]
fn what_is_not_taken() {
    let project = project(Ok(()));
    project.shell("rm big; truncate -s 1025M huge; truncate -s 17M .env");
    project.turn("printf two >> huge; printf two >> .env");
    assert_eq!(project.undo(), "kept .env too_large\nkept huge too_large");
    assert_eq!(kept(&project, "big"), [""; 0]);
}

#[test]
fn a_damaged_content_is_not_written() {
    let project = project(Ok(()));
    project.turn("rm big");
    let folder = fs::read_dir(project.base().join("store/big")).unwrap();
    let paths: Vec<_> = folder.flatten().map(|entry| entry.path()).collect();
    assert_eq!(paths.len(), 1);
    fs::write(&paths[0], "else").unwrap();
    assert_eq!(project.undo(), "kept big content_gone");
    assert!(!project.path("big").exists());
}

/// A content with a file of its own is put back by a copy of that, whatever ends the process meanwhile.
#[test]
fn given_up_at_every_call() {
    let origin = Project::with(false);
    origin.shell("mkdir .git; yes line | head -c 1100000 > long; echo a > a");
    let long = fs::read(origin.path("long")).unwrap();
    origin.turn("echo other > long; echo b > a");
    for fault in [Fault::KillBefore, Fault::KillAfter, Fault::Fail(Errno::IO)] {
        for at in 0.. {
            let mut project = origin.copied();
            let reached = run(&mut project, fault, at, Goal::LastChange);
            project.recover();
            project.rewind(Goal::Turn(1), Force::Replace, false);
            let names = fs::read_dir(project.root()).unwrap().flatten().map(|entry| entry.file_name());
            let names: BTreeSet<_> = names.map(|name| name.into_string().unwrap()).collect();
            assert_eq!(names.into_iter().collect::<Vec<_>>(), [".git", "a", "long"], "at {at}");
            assert_eq!(project.read("a"), "a\n", "at {at}");
            assert!(fs::read(project.path("long")).unwrap() == long, "at {at}");
            if !reached {
                break;
            }
        }
    }
}
