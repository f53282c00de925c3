//! What commands do to a project, taken back byte for byte (the fourteen cases of `docs/contracts/undo.md`).

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use zori_core::cancel::Cancel;
use zori_core::checkpoint::{Checkpoints, PendingCall};
use zori_core::ids::CallId;
use zori_core::tool::{Effect, FileChange};
use zori_undo::capture::{Capture, CaptureSettings};
use zori_undo::diff::turn_line_counts;
use zori_undo::plan::Force;
use zori_undo::rewind::Goal;

use crate::project::{Project, call_telling, settings};

/// Commands that ruin a project.
const RUIN: &[&str] = &[
    "sed -i s/a/b/ *.txt",
    "rm -rf src",
    "rm -rf src && mkdir src && echo x > src/other",
    "mv src lib && mv a.txt z.txt",
    "mv a.txt A.TXT && mv src SRC",
    "git checkout -q . && git clean -fdq",
    "git reset -q --hard && git clean -fdq",
    "chmod 700 run.sh && chmod 711 src && ln -s a.txt link2 && mkdir -p deep/er/empty",
    "rm a.txt && mkdir a.txt && echo x > a.txt/x",
    "rm -rf src && echo file > src",
    "rm link && ln -s elsewhere link && printf '\\0\\377' > bin && : > a.txt",
    "mv src/deep/x . && rmdir src/deep && touch 'odd\nname' \"$(printf '\\377')\"",
    "for i in 1 2 3 4 5 6 7 8; do echo $i > gen$i; done; cat gen* > all",
];

fn project(watch: bool, git: bool) -> Project {
    let project = Project::with(watch);
    for (name, text) in [
        ("a.txt", "a\na\n"),
        ("run.sh", "#!/bin/sh\n"),
        ("src/one.rs", "one\n"),
        ("src/deep/x", "x\n"),
        (".env", "KEY=1\n"),
    ] {
        project.write(name, text);
    }
    project
        .shell("chmod 755 run.sh; ln -s a.txt link; mkdir empty; printf '.env\\nignored/\\n' > .gitignore");
    if git {
        project.shell("git init -q && git add -A && git commit -qm one");
    } else {
        project.shell("mkdir .git");
    }
    // Dirty, untracked, ignored.
    project.shell("echo dirty >> src/one.rs; echo new > untracked; mkdir ignored; echo i > ignored/i");
    project
}

#[test]
fn everything_comes_back_and_goes_again() {
    for watch in [true, false] {
        for git in [true, false] {
            for ruin in RUIN.iter().filter(|ruin| git || !ruin.starts_with("git")) {
                let project = project(watch, git);
                let before = project.files();
                project.turn(ruin);
                let after = project.files();
                assert_ne!(before, after, "{ruin}");
                let undone = project.undo();
                assert_eq!(project.files(), before, "{ruin} watch={watch} git={git}\n{undone}");
                assert!(!undone.contains("kept"), "{ruin}: {undone}");
                assert_eq!(project.undo(), "nothing", "a second undo has nothing to do");
                project.redo();
                assert_eq!(project.files(), after, "redo of {ruin} watch={watch} git={git}");
                project.undo();
                assert_eq!(project.files(), before, "undo of a redo: {ruin}");
            }
        }
    }
}

/// P7: what is captured does not depend on whether the system tells of changes.
#[test]
fn the_same_without_a_watcher() {
    for ruin in RUIN {
        let [with, without] = [true, false].map(|watch| {
            let project = project(watch, true);
            project.turn(ruin);
            project.told(project.rewind(Goal::Turn(1), Force::Keep, true))
        });
        assert_eq!(with, without, "{ruin}");
    }
}

/// A clock that is set back while a command runs: nothing can be told apart then, so nothing is undone, and that is listed.
#[test]
fn a_clock_that_is_set_back() {
    static BACK: AtomicU64 = AtomicU64::new(0);
    fn now() -> Duration {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        now - Duration::from_secs(BACK.load(Ordering::Relaxed))
    }
    let mut project = Project::with(false);
    project.shell("mkdir .git; echo one > a");
    let jumping = CaptureSettings { now, ..settings(&project.base(), "s", false) };
    project.capture = Capture::open(jumping).unwrap();
    project.capture.start_turn();
    project.call(Effect::Exec { command: String::new(), cwd: project.root() }, || {
        project.shell("echo two > a");
        BACK.store(3600, Ordering::Relaxed);
    });
    let report = project.rewind(Goal::Turn(1), Force::Keep, false).unwrap();
    let missed: Vec<_> = report.not_covered.iter().map(|one| (one.what.as_str(), one.count)).collect();
    assert_eq!(missed, [("command", 1), ("changed by others", 1)]);
    assert_eq!((report.restored.len(), project.read("a")), (0, "two\n".to_owned()));
}

/// What a person wrote before, between and after the turns stays.
#[test]
fn users_edit_meanwhile() {
    for watch in [true, false] {
        let project = project(watch, true);
        project.write("a.txt", "mine before\n");
        project.turn("echo agent >> a.txt; echo agent > b.txt; echo agent > c.txt; echo agent > d.txt");
        project.write("b.txt", "mine between\n");
        project.write("own.txt", "mine\n");
        project.turn("echo again >> a.txt; echo again >> b.txt; rm -f own.txt; echo 2 > e.txt");
        project.write("c.txt", "mine after\n");
        project.shell("rm d.txt");
        let dry = project.told(project.rewind(Goal::Turn(1), Force::Keep, true));
        let done = project.told(project.rewind(Goal::Turn(1), Force::Keep, false));
        assert_eq!(dry, done, "a dry run says what a run does");
        insta::allow_duplicates! { insta::assert_snapshot!(done, @r"
        restored a.txt +0 -2
        restored b.txt +0 -1
        removed e.txt +0 -1
        created own.txt +1 -0
        kept b.txt changed_since
        kept c.txt changed_since
        ") }
        let texts = ["a.txt", "b.txt", "c.txt", "d.txt", "own.txt"].map(|name| project.read(name));
        assert_eq!(texts, ["mine before\n", "mine between\n", "mine after\n", "-", "mine\n"]);
        // Whoever wants it all the same gets it, and can have it back.
        let forced = project.told(project.rewind(Goal::Turn(1), Force::Replace, false));
        assert!(forced.contains("removed c.txt"), "{forced}");
        assert_eq!([project.read("b.txt"), project.read("c.txt")], ["-", "-"]);
        project.redo();
        assert_eq!([project.read("b.txt"), project.read("c.txt")], ["mine between\n", "mine after\n"]);
    }
}

/// A file tool is exact: outside the project and in ignored folders, without a look at the tree.
#[test]
fn file_tools() {
    let project = project(true, true);
    let outside = project.base().join("outside/new/file");
    let ignored = project.path("ignored/i");
    project.capture.start_turn();
    project.call(Effect::Write(outside.clone()), || {
        fs::create_dir_all(outside.parent().unwrap()).unwrap();
        fs::write(&outside, "x").unwrap();
    });
    project.call(Effect::Write(ignored.clone()), || fs::write(&ignored, "changed").unwrap());
    // A command of the same turn finds nothing more.
    assert!(project.command("true").changed.is_none());
    let undone = project.undo();
    assert!(!project.base().join("outside").exists(), "{undone}");
    assert_eq!(project.read("ignored/i"), "i\n");
    project.redo();
    assert_eq!(fs::read_to_string(&outside).unwrap(), "x");
    assert_eq!(project.read("ignored/i"), "changed");
}

/// A tool tells what it replaced as text, which in UTF-16 is other bytes than the file has.
#[test]
fn a_file_in_utf16() {
    let project = project(true, true);
    let path = project.path("wide.txt");
    let wide = |text: &str| -> Vec<u8> {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect()
    };
    fs::write(&path, wide("one\n")).unwrap();
    project.capture.start_turn();
    let change = FileChange { path: path.clone(), before: Some("one\n".into()), after: Some("two\n".into()) };
    let write = || fs::write(&path, wide("two\n")).unwrap();
    call_telling(&project.capture, Effect::Write(path.clone()), write, &[change]);
    project.undo();
    assert_eq!(fs::read(&path).unwrap(), wide("one\n"));
    project.redo();
    assert_eq!(fs::read(&path).unwrap(), wide("two\n"));
}

/// The rest of the machine is not looked at, and that is said.
#[test]
fn what_is_not_covered() {
    let project = project(true, true);
    let captured = project.turn("rm -rf ignored && echo x > a.txt");
    assert_eq!(captured.notices, [""; 0]);
    let report = project.rewind(Goal::LastChange, Force::Keep, true).unwrap();
    let missed: Vec<_> = report.not_covered.iter().map(|one| (one.what.as_str(), one.count)).collect();
    assert_eq!(missed, [("command", 1), ("ignored folder", 1)]);
}

/// A commit stays, and the way back is known.
#[test]
fn git_is_never_written() {
    let project = project(true, true);
    project.turn("echo x > x.txt && git add -A && git commit -qm two && rm a.txt");
    // Every file of it, with its content, and the times, which reading leaves alone.
    let git = |project: &Project| {
        project.shell("find .git -type f -printf '%p %T@ ' -exec sha256sum {} \\; | sort > ../git");
        fs::read_to_string(project.base().join("git")).unwrap()
    };
    let before_undo = git(&project);
    let report = project.rewind(Goal::LastChange, Force::Keep, false).unwrap();
    let (before, after) = report.git.expect("HEAD moved");
    assert_eq!((before.name.as_str(), before.commit.len()), (after.name.as_str(), 40));
    assert_ne!(before.commit, after.commit);
    assert_eq!(git(&project), before_undo);
    assert_eq!([project.read("a.txt"), project.read("x.txt")], ["a\na\n", "-"]);
}

/// A turn that only commits has nothing to put back, and where HEAD was is known all the same, until somebody has moved it back.
#[test]
fn a_commit_and_nothing_else() {
    let project = project(true, true);
    project.turn("git commit -qam two");
    let git = |dry_run| {
        let report = project.rewind(Goal::Turn(1), Force::Keep, dry_run).expect("there is an operation");
        (report.git.map(|(before, _)| before.commit), report.restored.len())
    };
    let (Some(before), 0) = git(true) else { panic!("HEAD moved") };
    assert_eq!(project.undo(), "nothing", "no turn has changed a file");
    project.shell(&format!("git reset -q --soft {before}"));
    assert_eq!(git(false), (None, 0));
    project.turn("echo x > x");
    assert_eq!(project.undo(), "removed x +0 -1");
}

/// An undo that finds everything as it was before goes on before that the next time, and does not say so for ever.
#[test]
fn a_turn_that_somebody_else_has_taken_back() {
    let project = project(true, true);
    let before = project.files();
    project.turn("echo x > a.txt");
    let first = project.files();
    project.turn("echo y > a.txt; echo y > y");
    project.shell("echo x > a.txt; rm y");
    assert_eq!((project.undo(), project.files()), (String::new(), first));
    project.undo();
    assert_eq!(project.files(), before);
}

/// What an undo has kept, and says so, is what the same with `--replace` takes: no earlier turn goes with it.
#[test]
fn what_was_kept_is_taken_after_all() {
    let project = project(true, true);
    project.turn("echo one > one");
    project.turn("echo two > two; echo two > a.txt");
    project.write("a.txt", "mine\n");
    assert_eq!(project.undo(), "removed two +0 -1\nkept a.txt changed_since");
    let replace = || project.told(project.rewind(Goal::LastChange, Force::Replace, false));
    assert_eq!(replace(), "restored a.txt +2 -1");
    assert_eq!([project.read("a.txt"), project.read("one")], ["a\na\n", "one\n"]);
    assert_eq!(replace(), "removed one +0 -1");
    project.redo();
    project.redo();
    assert_eq!([project.read("a.txt"), project.read("one")], ["mine\n", "one\n"]);
}

/// A process that is killed while a command runs has not looked at what that changed. Whoever undoes what came before hears of it.
#[test]
fn a_command_that_was_cut_off() {
    let mut project = project(true, true);
    project.turn("echo x > a.txt");
    let effects = vec![Effect::Exec { command: String::new(), cwd: project.root() }];
    let calls = [PendingCall { call: CallId::new("c"), effects }];
    project.capture.begin(&calls, &Cancel::new()).unwrap();
    project.shell("rm -r src");
    let missed = |project: &Project| {
        let report = project.rewind(Goal::Turn(1), Force::Keep, true).unwrap();
        report.not_covered.into_iter().map(|one| one.what).collect::<Vec<_>>()
    };
    assert_eq!(missed(&project), ["command"], "it runs");
    project.reopen(1, true);
    assert_eq!(missed(&project), ["command", "cut-off command"]);
    project.turn("echo y > y");
    project.reopen(2, true);
    assert_eq!(missed(&project), ["command"]);
}

/// What a command put into the stash is noted, and what it threw away has a name still (UNDO-20).
#[test]
fn the_stash() {
    let project = project(true, true);
    let before = project.files();
    project.turn("git stash -q");
    let report = project.rewind(Goal::LastChange, Force::Keep, false).unwrap();
    let (none, made) = report.stash.expect("there is a stash now");
    assert_eq!((none.as_str(), made.len()), ("", 40));
    assert_eq!(project.files(), before);
    project.turn("git stash drop -q; echo x > x");
    let report = project.rewind(Goal::LastChange, Force::Keep, false).unwrap();
    assert_eq!(report.stash, Some((made, String::new())));
}

/// A session that goes on in another process knows what the first one changed.
#[test]
fn another_process_goes_on() {
    let mut project = project(true, true);
    let before = project.files();
    project.turn("echo 1 >> a.txt");
    project.shell("git commit -qam theirs");
    project.reopen(1, true);
    project.turn("echo 2 >> a.txt; rm -rf src");
    let report = project.told(project.rewind(Goal::Turn(1), Force::Keep, false));
    assert_eq!(project.files(), before, "{report}");
}

#[test]
fn odd_files_are_left_alone() {
    let project = project(true, false);
    project.turn("mkfifo pipe; echo 1 > one; ln one two; echo x > new");
    project.turn("echo 2 > one; rm new; mkfifo new");
    let told = project.told(project.rewind(Goal::Turn(2), Force::Keep, false));
    insta::assert_snapshot!(told, @r"
    kept new not_a_file
    kept one hard_link
    ");
}

/// Case 7: what two sessions may both have changed is kept, unless a person takes it (UNDO-6).
#[test]
fn two_sessions_at_the_same_time() {
    let project = project(true, false);
    let other = Capture::open(settings(&project.base(), "other", true)).unwrap();
    let effect = || Effect::Exec { command: String::new(), cwd: project.root() };
    let calls = [PendingCall { call: CallId::new("o"), effects: vec![effect()] }];
    other.start_turn();
    other.begin(&calls, &Cancel::new()).unwrap();
    project.turn("echo both > a.txt");
    other.end(&calls, &[]);
    drop(other);
    assert_eq!(project.undo(), "kept a.txt shared");
    assert_eq!(project.read("a.txt"), "both\n");
    let forced = project.told(project.rewind(Goal::Turn(1), Force::Replace, false));
    assert_eq!(forced, "restored a.txt +2 -1");
    assert_eq!(project.read("a.txt"), "a\na\n");
}

/// Case 8: what a server's tool changed in the project goes back; what it did elsewhere is named.
#[test]
fn a_servers_tool() {
    let project = project(true, false);
    let before = project.files();
    project.capture.start_turn();
    let effect = Effect::Mcp {
        server: "s".into(),
        tool: "t".into(),
        trusted_reader: false,
        change: Default::default(),
    };
    project.call(effect, || project.shell("echo x > a.txt; rm -r src"));
    let report = project.rewind(Goal::LastChange, Force::Keep, false).unwrap();
    let missed: Vec<_> = report.not_covered.iter().map(|one| (one.what.as_str(), one.count)).collect();
    assert_eq!(missed, [("server call", 1)]);
    assert_eq!(project.files(), before);
}

/// The lines of each turn, of what is left of it in the end; a turn whose files are too long to be compared, too many, or were not kept, has none.
#[test]
fn the_lines_of_turns() {
    let project = project(false, true);
    project.turn("printf 'a\\nb\\nc\\n' > a.txt; rm src/deep/x; printf '\\0' > bin");
    project.turn("echo one > gone");
    project.command("rm gone; echo two >> a.txt; echo three >> a.txt");
    project.turn("seq 1 60000 > long.txt");
    project.turn("for n in $(seq 51); do echo x > many$n; done");
    let counted = turn_line_counts(project.capture.store(), &[1, 2, 3, 4, 5]).unwrap();
    let known = [(1, Some((2, 2))), (2, Some((2, 0))), (3, None), (4, None), (5, Some((0, 0)))];
    assert_eq!(counted.into_iter().collect::<Vec<_>>(), known);
}
