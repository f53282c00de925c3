//! Somebody saves while an undo runs, and commands that change more than the system tells of: nothing is lost, nothing is missed.

use std::fs;
use std::path::Path;

use zori_core::checkpoint::Checkpoints;
use zori_core::tool::Effect;
use zori_testkit::random::{Random, cases};
use zori_undo::plan::Force;
use zori_undo::rewind::Goal;

use crate::project::Project;

/// Saves a file in one of the ways that editors have.
fn save(path: &Path, text: &str, how: usize) {
    match how {
        0 => fs::write(path, text).unwrap(),
        1 => {
            let new = path.with_extension("saving");
            fs::write(&new, text).unwrap();
            fs::rename(new, path).unwrap();
        }
        _ => {
            let _ = fs::remove_file(path);
            fs::write(path, text).unwrap();
        }
    }
}

/// UNDO-14: what was saved is at its place, or beside it under a name that was told.
#[test]
fn saves_that_race_an_undo() {
    let count = cases(300, 10_000);
    let project = Project::with(false);
    project.shell("mkdir .git; echo one > a");
    let path = project.path("a");
    let mut random = Random::new(5);
    for case in 0..count {
        project.capture.start_turn();
        let effect = Effect::Write(path.clone());
        project.call(effect, || fs::write(&path, format!("agent {case}\n")).unwrap());
        let mine = format!("mine {case}\n");
        let (wait, how) = (random.below(20_000), random.below(3));
        let report = std::thread::scope(|scope| {
            scope.spawn(|| {
                (0..wait).for_each(|_| std::hint::spin_loop());
                save(&path, &mine, how);
            });
            project.rewind(Goal::LastChange, Force::Keep, false)
        });
        let kept: Vec<_> =
            report.iter().flat_map(|report| &report.kept).filter_map(|kept| kept.saved_as.clone()).collect();
        let saved = |path: &Path| fs::read_to_string(path).is_ok_and(|text| text == mine);
        assert!(
            saved(&path) || kept.iter().any(|path| saved(path)),
            "{case} {how}: {}\n{}",
            project.told(report),
            project.files()
        );
        kept.iter().for_each(|path| fs::remove_file(path).unwrap());
        let files = project.files();
        assert!(!files.contains(".zori-"), "{case} {how}: {files}");
        fs::write(&path, "one\n").unwrap();
    }
    println!("{count} cases");
}

/// The system's queue of events overflows; what was not told is found by a walk.
#[test]
fn more_events_than_the_system_queues() {
    let project = Project::with(true);
    project.shell("mkdir .git d; echo one > a");
    let before = project.files();
    let count = cases(6_000, 20_000);
    project.turn(&format!(
        "i=0; while [ $i -lt {count} ]; do : > d/$i; echo x > d/$i; i=$((i+1)); done; echo two > a"
    ));
    let report = project.rewind(Goal::LastChange, Force::Keep, false).unwrap();
    assert_eq!((report.restored.len(), report.kept.len()), (count + 1, 0));
    assert_eq!(project.files(), before);
    println!("{count} cases");
}
