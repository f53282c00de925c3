//! Random tools, commands, users, undos, redos and collections of garbage: what a user wrote last is there, everything else is as it was before the
//! turn, an undo and a redo are as if nothing had been, and a second plan is empty (P1 to P7 of the contract).

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use zori_core::checkpoint::Checkpoints;
use zori_core::tool::Effect;
use zori_testkit::random::{Random, cases};
use zori_undo::capture::Capture;
use zori_undo::gc::{Retention, collect};
use zori_undo::plan::Force;
use zori_undo::rewind::Goal;

use crate::faults::{self, Fault};
use crate::project::{Project, call, settings};

const NAMES: &[&str] = &["a", "b", "d/c", "d/e/f", "g"];

/// Something that happens to the files; `who` is in every text, so that one can tell whose it is.
fn act(project: &Project, random: &mut Random, who: &str, count: u64) {
    let name = NAMES[random.below(NAMES.len())];
    let other = NAMES[random.below(NAMES.len())];
    let path = project.path(name);
    let text = format!("{who}{count}\n");
    let _ = fs::create_dir_all(path.parent().unwrap());
    let _ = match random.below(11) {
        7 => std::os::unix::fs::symlink(other, &path),
        8 => fs::remove_file(&path).and_then(|()| fs::create_dir(&path)),
        9 => fs::create_dir_all(project.path("made/deep")),
        0..=2 => fs::write(&path, text),
        3 => fs::write(project.path("tmp"), text).and_then(|()| fs::rename(project.path("tmp"), &path)),
        4 => fs::remove_file(&path),
        5 => fs::rename(&path, project.path(other)),
        6 => {
            let mode = if random.below(2) == 0 { 0o600 } else { 0o755 };
            fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(mode))
        }
        _ => fs::remove_dir_all(project.path("d")),
    };
}

fn exec(project: &Project) -> Effect {
    Effect::Exec { command: String::new(), cwd: project.root() }
}

/// What a user wrote last to each name.
type Written = BTreeMap<&'static str, String>;

fn user(project: &Project, random: &mut Random, written: &mut Written, count: u64) {
    let name = NAMES[random.below(NAMES.len())];
    let (path, text) = (project.path(name), format!("user{count}\n"));
    let _ = fs::create_dir_all(path.parent().unwrap());
    if path.is_symlink() {
        // As editors do that write another file and rename it.
        fs::remove_file(&path).unwrap();
    }
    // A folder may be in the way of a file, and the other way round.
    if fs::write(&path, &text).is_ok() {
        written.insert(name, text);
    }
}

/// Another process drops everything of sessions that do not run, among them one that is over.
fn collect_garbage(project: &Project) {
    let projects = project.base().join("projects");
    if !projects.exists() {
        fs::create_dir_all(projects.join("key")).unwrap();
        std::os::unix::fs::symlink(project.base().join("store"), projects.join("key/undo")).unwrap();
    }
    let over = project.base().join("store/seg/over-0.zus");
    fs::create_dir_all(over.parent().unwrap()).unwrap();
    fs::write(&over, "content").unwrap();
    let nothing = Retention { keep: Duration::ZERO, keep_sensitive: Duration::ZERO, max_total: 0 };
    let later = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + Duration::from_secs(100_000);
    let runs = |session: &str| session == "s" || session == "other";
    let marker = project.base().join("collected");
    collect(&projects, &marker, nothing, later, &runs, &|| later).expect("it is a day later each time");
    assert!(!over.exists(), "a session that is over loses its contents");
}

fn check_user(project: &Project, written: &Written, what: &str) {
    for (name, text) in written {
        let beside = || (1..9).any(|n| project.read(&format!("{name}.zori-kept-{n}")) == *text);
        assert!(project.read(name) == *text || beside(), "{what}: {name} {text:?}\n{}", project.files());
    }
}

fn run(seed: u64, watch: bool) {
    let mut random = Random::new(seed);
    let mut project = Project::with(watch);
    fs::create_dir(project.path(".git")).unwrap();
    // Another session works in the same project, at other times.
    let other = Capture::open(settings(&project.base(), "other", watch)).unwrap();
    let mut written = Written::new();
    let mut count = 0;
    for _ in 0..random.below(4) {
        user(&project, &mut random, &mut written, count);
        count += 1;
    }
    let mut turn = 0;
    let mut states = vec![];
    for _ in 0..1 + random.below(3) {
        states.push(project.files());
        turn += 1;
        project.capture.start_turn();
        for _ in 0..1 + random.below(3) {
            count += 1;
            if random.below(3) == 0 {
                let path = project.path("a");
                project.call(Effect::Write(path.clone()), || {
                    let _ = fs::write(&path, format!("tool{count}\n"));
                });
            } else {
                project.call(exec(&project), || {
                    (0..3).for_each(|_| act(&project, &mut random, "command", count))
                });
            }
        }
        if random.below(4) == 0 {
            count += 1;
            other.start_turn();
            call(&other, exec(&project), || act(&project, &mut random, "other", count));
        }
        // Sessions that run lose nothing by it, however little may be kept.
        if random.below(4) == 0 {
            collect_garbage(&project);
        }
        // What the user wrote before the turn, the turn may have overwritten; undo brings that back.
        written.clear();
        if random.below(2) == 0 {
            count += 1;
            user(&project, &mut random, &mut written, count);
        }
    }
    let goal = 1 + random.below(turn as usize) as u32;
    let what = format!("seed {seed} watch {watch} goal {goal}");
    let before = project.files();
    let dry = project.told(project.rewind(Goal::Turn(goal), Force::Keep, true));
    assert_eq!(project.files(), before, "{what}: a dry run writes nothing");
    let crashed = random.below(4) == 0;
    if crashed {
        let fault = if random.below(2) == 0 { Fault::KillBefore } else { Fault::KillAfter };
        faults::run(&mut project, fault, random.below(120), Goal::Turn(goal));
        // Somebody writes before the next command finishes it.
        if random.below(2) == 0 {
            user(&project, &mut random, &mut written, count + 1);
        }
        let kept: Vec<_> = project.recover().into_iter().flat_map(|restored| restored.kept).collect();
        let others = project.rewind(Goal::Turn(goal), Force::Keep, false);
        check_user(&project, &written, &what);
        let files = project.files();
        assert!(!files.contains(".zori-undo"), "{what}: {files}\n{kept:?}\n{}", project.told(others));
        return;
    }
    let report = project.rewind(Goal::Turn(goal), Force::Keep, false);
    let told = project.told(report.clone());
    let ops = fs::read_to_string(project.base().join("store/ops/s.jsonl")).unwrap_or_default();
    assert_eq!(dry, told, "{what}: a dry run says what a run does\n{before}\n{ops}");
    check_user(&project, &written, &what);
    let files = project.files();
    assert!(!files.contains(".zori-undo"), "{what}: {files}");
    let alone = !fs::exists(project.base().join("store/ops/other.jsonl")).unwrap();
    if !told.contains("kept") && written.is_empty() && goal == turn && alone {
        assert_eq!(files, states[goal as usize - 1], "{what}\n{told}");
    }
    let again = project.rewind(Goal::Turn(goal), Force::Keep, true);
    assert!(again.is_none_or(|report| report.restored.is_empty()), "{what}: a second plan is empty");
    if report.is_some_and(|report| report.op.is_some()) {
        let redone = project.redo();
        if !told.contains("kept") {
            assert_eq!(project.files(), before, "{what}: undo, redo\n{told}\n--\n{redone}");
        }
        check_user(&project, &written, &what);
    }
}

#[test]
fn random_sessions() {
    let cases = cases(1_000, 10_000);
    for seed in 0..cases {
        run(seed as u64, seed % 2 == 0);
    }
    println!("{cases} cases");
}
