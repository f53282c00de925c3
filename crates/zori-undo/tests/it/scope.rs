//! What is out of scope at first stays so, whatever becomes of ignore files and lengths: an undo never takes it for something that a call has
//! made, and says where it is gone (UNDO-2, UNDO-9, UNDO-12).

use zori_undo::plan::Force;
use zori_undo::rewind::Goal;

use crate::project::Project;

fn project(watch: bool) -> Project {
    let project = Project::with(watch);
    project.shell(
        "git init -q; printf '*.log\\nbuild/\\n' > .gitignore; mkdir build src; echo a > a; echo s > src/s; git add -A; git commit -qm one;
         echo b > build/b; echo small > small.log; head -c 300000 /dev/zero > big.log",
    );
    project
}

/// Returns what the last turn has not covered, but for its commands.
fn missed(project: &Project) -> Vec<(String, u64)> {
    let report = project.rewind(Goal::Turn(1), Force::Keep, true).expect("there is a turn");
    let missed = report.not_covered.into_iter().filter(|one| one.what != "command");
    missed.map(|one| (one.what, one.count)).collect()
}

/// All but what is out of scope is as it was, and that is as the command has left it.
#[test]
fn what_was_ignored_is_not_removed() {
    for watch in [true, false] {
        for ruin in [
            ": > big.log; echo x > a",
            "echo more >> small.log; echo more >> big.log",
            "sed -i 's/[a-z]/#/g' .gitignore; sed -i s/b/c/ build/b; chmod 700 build; touch build; echo x > big.log",
            "rm .gitignore; mkdir build/more; chmod 700 build; truncate -s 5 big.log; rm src/s",
        ] {
            let project = project(watch);
            let outside = |files: String| {
                let lines = files.lines().map(str::to_owned);
                lines.partition::<Vec<_>, _>(|line| line.starts_with("build") || line.starts_with("big.log"))
            };
            let (_, before) = outside(project.files());
            project.turn(ruin);
            project.capture.sweep();
            let (left, _) = outside(project.files());
            let told = project.undo();
            assert_eq!(outside(project.files()), (left, before), "{ruin} watch={watch}\n{told}");
            assert!(!told.contains("big.log") && !told.contains("build"), "{ruin} watch={watch}: {told}");
        }
    }
}

/// The other way round: what was looked at stays in scope where an ignore file names it since.
#[test]
fn what_becomes_ignored_is_captured_still() {
    for watch in [true, false] {
        let project = project(watch);
        let before = project.files();
        project.turn("echo src >> .gitignore; echo x > src/s; echo n > src/new");
        project.capture.sweep();
        project.command("echo y > src/s; mkdir src/deep; echo z > src/deep/z");
        let told = project.told(project.rewind(Goal::Turn(1), Force::Keep, false));
        assert_eq!(project.files(), before, "watch={watch}\n{told}");
    }
}

/// A file of the index is no ignored one, whatever its name and its length.
#[test]
fn what_git_tracks_is_captured() {
    for (watch, dirty) in [(true, false), (false, false), (true, true)] {
        let project = project(watch);
        project.shell("git add -f big.log; git commit -qm two");
        if dirty {
            project.shell("echo dirty >> big.log");
        }
        let before = project.files();
        project.turn("rm big.log");
        let told = project.undo();
        assert_eq!(project.files(), before, "watch={watch} dirty={dirty}\n{told}");
    }
}

/// Also where nothing else was changed, so that there is nothing to put back.
#[test]
fn what_is_gone_is_said() {
    for watch in [true, false] {
        for (ruin, expected) in [
            ("rm -r build", &[("ignored folder", 1)][..]),
            ("rm big.log", &[("ignored file", 1)]),
            ("rm -r build big.log; echo x > build", &[("ignored folder", 1), ("ignored file", 1)]),
            ("rm -r sub", &[("ignored folder", 1), ("ignored file", 1)]),
            ("echo x >> big.log; touch build/new", &[]),
        ] {
            let project = project(watch);
            project.shell("mkdir -p sub/build; echo x > sub/build/x; cp big.log sub");
            project.turn(ruin);
            let expected: Vec<_> =
                expected.iter().map(|(what, count)| ((*what).to_owned(), *count)).collect();
            assert_eq!(missed(&project), expected, "{ruin} watch={watch}");
        }
    }
}
