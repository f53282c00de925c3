//! Going back: what a turn did to a real repository is put back, and what a person changed stays.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use zori_testkit::anthropic::{self, Message};
use zori_testkit::env::TestEnv;
use zori_testkit::gate::Gate;
use zori_testkit::pty::Size;
use zori_testkit::reply::Reply;
use zori_testkit::{needs, wait};

use crate::chat::screen::{over, type_line};
use crate::screen_stage::Person;
use crate::world::with_model;

/// Runs a script in the working directory, as the user would.
#[track_caller]
fn shell(world: &TestEnv, script: &str) {
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).current_dir(world.work());
    command.envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null")]);
    command.envs([("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@b")]);
    command.envs([("GIT_COMMITTER_NAME", "a"), ("GIT_COMMITTER_EMAIL", "a@b")]);
    assert!(command.status().expect("sh runs").success(), "{script}");
}

/// Every file below a folder, but git's own, with its content.
fn files(folder: &Path) -> String {
    let mut lines = Vec::new();
    list(folder, folder, &mut lines);
    lines.sort();
    lines.join("\n")
}

fn list(root: &Path, folder: &Path, lines: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("it is a folder").flatten() {
        let path = entry.path();
        let shown = path.strip_prefix(root).expect("it is below").display().to_string();
        match entry.file_type().expect("it is there") {
            kind if kind.is_dir() && shown != ".git" => list(root, &path, lines),
            kind if kind.is_file() => {
                let bytes = std::fs::read(&path).expect("it can be read");
                lines.push(format!("{shown} {:?}", String::from_utf8_lossy(&bytes)));
            }
            _ => {}
        }
    }
}

fn bash(id: &str, command: &str) -> Message {
    anthropic::tool_use(id, "bash", json!({ "command": command }))
}

/// A repository with clean, dirty, untracked and ignored files.
fn repository(world: &TestEnv) {
    shell(
        world,
        "mkdir -p src/deep; for i in 1 2 3; do echo one $i > src/$i.rs; done; echo d > src/deep/d; echo k > keep;
         printf '.env\\n' > .gitignore; echo KEY=1 > .env; git init -q; git add -A; git commit -qm one;
         echo dirty >> src/1.rs; echo new > untracked",
    );
}

/// The scene that this is all about: a turn ruins everything while two files are edited by hand.
#[test]
fn a_turn_that_ruins_everything() {
    if needs::program("git").is_none() {
        return;
    }
    let (world, _model) = with_model([
        bash(
            "t1",
            "rm -rf src/deep; echo x > gen.py; mkdir -p out; for i in 1 2 3; do echo $i > out/$i; done",
        ),
        bash("t2", "git reset -q --hard"),
        bash("t3", "sed -i s/one/two/ src/*.rs; rm .env; echo agent > keep"),
        anthropic::tool_use("t4", "write", json!({"path": "src/1.rs", "content": "written\n"})),
        anthropic::text("Done."),
    ]);
    repository(&world);
    let before = files(&world.work());
    insta::assert_snapshot!(world.run(&["exec", "--session", "s", "-p", "ruin it"]), @r#"
    Done.
    ------- stderr -------
    Warning: Session 's' does not exist yet; starting it
    Tool requested: bash command="rm -rf src/deep; echo x > gen.py; mkdir -p out; for i in 1 2 3; do echo $i > out/$i; done"
    ⚙ Running bash... Done. (X.XXs)
    Tool finished: bash exit=0
    Tool requested: bash command="git reset -q --hard"
    ⚙ Running bash... Done. (X.XXs)
    Tool finished: bash exit=0
    Tool requested: bash command="sed -i s/one/two/ src/*.rs; rm .env; echo agent > keep"
    ⚙ Running bash... Done. (X.XXs)
    Tool finished: bash exit=0
    ⚙ Running write... Done. (X.XXs)
    [exit status: 0]
    "#);
    // Edited by hand since.
    world.write("keep", "mine\n");
    world.write("own", "mine\n");
    insta::assert_snapshot!(world.run(&["undo"]), @"
    ------- stderr -------
    Error: `undo` has to be confirmed, and nobody agreed
    Hint: add `--confirm-destructive`, or look first with `--dry-run`
    [exit status: 2]
    ");
    insta::assert_snapshot!(world.run(&["undo", "--yes"]), @"
    Put back 9 files to before turn 1: .env, gen.py (removed), out (removed), out/1 (removed), out/2 (removed), out/3 (removed), src/1.rs, src/2.rs, src/3.rs
    Kept keep: it was changed afterwards (--replace takes it anyway)
    Not covered: 3 commands may have changed files outside $WORK
    ------- stderr -------
    Error: 1 of 10 files were not put back
    [exit status: 3]
    ");
    let after = files(&world.work());
    let expected = before.replace("keep \"k\\n\"", "keep \"mine\\n\"") + "\nown \"mine\\n\"";
    let sorted = |text: &str| {
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines.join("\n")
    };
    assert_eq!(after, sorted(&expected), "everything but what was edited by hand is as it was");
    insta::assert_snapshot!(world.run(&["undo", "--redo", "--yes"]), @"
    Redid turn 1, 9 files: .env (removed), gen.py, out, out/1, out/2, out/3, src/1.rs, src/2.rs, src/3.rs
    [exit status: 0]
    ");
    assert!(world.work().join("gen.py").exists());
}

/// Every file, link and folder below a folder but git's own, with permissions and contents.
fn states(folder: &Path) -> Vec<String> {
    use std::os::unix::fs::PermissionsExt;
    let mut lines = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).expect("it is a folder").flatten() {
            let (path, facts) = (entry.path(), entry.metadata().expect("it is there"));
            let shown = path.strip_prefix(folder).expect("it is below").display().to_string();
            let mode = facts.permissions().mode() & 0o7777;
            if shown == ".git" {
                continue;
            }
            lines.push(if facts.is_symlink() {
                format!("{shown} -> {}", std::fs::read_link(&path).expect("it is a link").display())
            } else if facts.is_dir() {
                folders.push(path);
                format!("{shown}/ {mode:o}")
            } else {
                let bytes = std::fs::read(&path).expect("it can be read");
                format!("{shown} {mode:o} {:?}", bytes.escape_ascii().to_string())
            });
        }
    }
    lines.sort();
    lines
}

/// What issue 19 is about, in the chat: one turn removes, resets, rewrites and generates while two files are edited by hand, and `/undo`
/// follows. Every byte of before is back, both edits are there, and the answer names what it did not touch.
#[test]
fn a_turn_that_ruins_everything_while_somebody_edits() {
    if needs::program("git").is_none() {
        return;
    }
    let gates = [Gate::new(), Gate::new()];
    let everything = "find . -name .git -prune -o -type f -print0 | xargs -0 sed -i 's/[a-z]/#/g'";
    let generator = "mkdir -p gen/deep; for i in 1 2 3 4 5 6 7 8 9; do echo \"fn f$i() {}\" > gen/deep/$i.rs; done; \
                     rm -rf src; cat gen/deep/*.rs > src; chmod 755 src; ln -s deep/1.rs gen/first; chmod 600 keep; rm run.sh";
    let (world, model) = with_model([
        bash("t1", "rm -rf src").into(),
        Reply::from(bash("t2", "git reset -q --hard")).wait_after(0, &gates[0]),
        bash("t3", everything).into(),
        Reply::from(bash("t4", generator)).wait_after(0, &gates[1]),
        anthropic::text("Done.").into(),
    ]);
    shell(
        &world,
        "mkdir -p src/deep empty; for i in 1 2 3; do echo one $i > src/$i.rs; done; printf 'a\\0b\\377\\r\\n' > src/deep/bin;
         ln -s deep/bin src/link; echo '#!/bin/sh' > run.sh; chmod 755 run.sh; for i in keep notes readme; do echo $i > $i; done;
         printf '.env\\n*.log\\n' > .gitignore; git init -q; git add -A; git commit -qm one; echo KEY=one > .env; echo line > x.log;
         echo dirty >> src/1.rs; echo staged >> src/2.rs; git add src/2.rs; echo new > untracked; mkdir un; echo u > un/tracked; rm readme",
    );
    let before = states(&world.work());
    let mut pty = world.pty(&[], Size::CLASSIC);
    type_line(&mut pty, 1, "ruin it");
    // One file is edited before it is reset, one after it was rewritten.
    wait::until("the first command to be over", || model.count() == 2);
    world.write("notes", "typed by hand\n");
    gates[0].open();
    wait::until("the third command to be over", || model.count() == 4);
    assert_eq!(world.read("notes"), "#####\n");
    world.write("untracked", "mine, too\n");
    gates[1].open();
    type_line(&mut pty, 2, "/undo");
    pty.wait_for("[y/N]").send("y\r");
    type_line(&mut pty, 3, ":q");
    let screen = over(pty);
    let answer: Vec<_> = screen.lines().skip_while(|line| !line.starts_with("Put back")).collect();
    insta::assert_snapshot!(answer.join("\n"), @"
    Put back 27 files to before turn 1: .env, .gitignore, gen (removed), gen/deep (removed), gen/deep/1.rs (removed), gen/deep/2.rs (removed), gen/deep/3.rs (removed), gen/deep/4.rs (removed), gen/deep/5.rs (removed), gen/deep/6.rs (removed), gen/deep/7.rs (removed), gen/deep/8.rs (removed), gen/deep/9.rs (removed), gen/first (removed), keep, notes, readme (removed), run.sh, src, src/1.rs and 7 more
    Kept untracked: it was changed afterwards
    Not covered: 4 commands may have changed files outside $WORK
    The conversation went back to before turn 1.
    Its prompt was: ruin it
    you> :q
    Goodbye!
    [exit status: 0]
    ");
    let mut expected: Vec<_> = before
        .into_iter()
        .map(|line| match line.split(' ').next() {
            Some("notes") => "notes 644 \"typed by hand\\\\n\"".to_owned(),
            Some("untracked") => "untracked 644 \"mine, too\\\\n\"".to_owned(),
            _ => line,
        })
        .collect();
    expected.sort();
    assert_eq!(states(&world.work()), expected);
}

/// `/undo #C`: back to before the turn of the call that has this number on the screen.
#[test]
fn back_to_before_a_call() {
    let (world, model) = with_model([
        bash("t1", "echo 1 > a"),
        anthropic::text("One."),
        bash("t2", "echo 2 > b"),
        bash("t3", "echo 3 > c"),
        anthropic::text("Two."),
        anthropic::text("Three."),
    ]);
    shell(&world, "mkdir .git");
    let mut person = Person::open(&world, &[]);
    person.says("first").sees("One.").pauses(300).says("second").sees("Two.").pauses(300);
    person.says("/undo #9").sees("no call of this conversation has that number").pauses(300);
    // Its second call is the third on the screen, and the turn goes back as a whole.
    person.says("/undo #3").sees("Would put back 2 files to before turn 2: b (removed), c (removed)");
    person.sees("[y/N]").pauses(1300).keys("y").sees("Put back 2 files");
    wait::until("the files to be gone", || files(&world.work()) == "a \"1\\n\"");
    // Its prompt has come back to the composer.
    person.sees("› second").keys("\x15").pauses(300).says("third").sees("Three.");
    assert_eq!(model.request(5).conversation().lines().last(), Some("user: third"));
    assert!(!model.request(5).conversation().contains("second"));
    person.leaves();
}

/// Files and conversation, or one of them.
#[test]
fn back_to_an_earlier_turn() {
    let (world, model) = with_model([
        anthropic::tool_use("t1", "write", json!({"path": "a", "content": "1\n"})),
        anthropic::text("One."),
        bash("t2", "echo 2 >> a"),
        anthropic::text("Two."),
        anthropic::text("Three."),
    ]);
    shell(&world, "mkdir .git");
    world.run(&["exec", "--session", "s", "-p", "first"]).success();
    world.run(&["exec", "--session", "s", "-p", "second"]).success();
    insta::assert_snapshot!(world.run(&["undo", "--list"]), @"
      1  +1 ~0 -0  first
      2  +0 ~1 -0  second
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["sessions", "diff", "s"]), @"
    diff --git a/a b/a
    new file mode 100644
    --- /dev/null
    +++ b/a
    @@ -0,0 +1,2 @@
    +1
    +2
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["sessions", "diff", "s", "--turn", "7"]), @"
    ------- stderr -------
    Error: there is no turn 7 to go back to
    Hint: `zori undo --list` shows the turns
    [exit status: 5]
    ");
    insta::assert_snapshot!(world.run(&["sessions", "rewind", "s", "--to", "9", "--yes"]), @"
    ------- stderr -------
    Error: there is no turn 9 to go back to
    Hint: `zori undo --list` shows the turns
    [exit status: 5]
    ");
    insta::assert_snapshot!(world.run(&["sessions", "rewind", "nope", "--yes"]), @"
    ------- stderr -------
    Error: No session 'nope' to rewind
    Hint: `zori sessions list` shows the sessions there are
    [exit status: 5]
    ");
    insta::assert_snapshot!(world.run(&["sessions", "rewind", "s", "--files", "--chat", "--yes"]), @"
    ------- stderr -------
    Error: `--files`, `--chat` and `--both` exclude each other
    Hint: give one of them, or none for both
    [exit status: 2]
    ");
    insta::assert_snapshot!(world.run(&["sessions", "rewind", "s", "--dry-run"]), @"
    Would put back 1 file to before turn 2: a
    Not covered: 1 command may have changed files outside $WORK
    The conversation would go back to before turn 2.
    [exit status: 0]
    ");
    assert_eq!(world.read("a"), "1\n2\n");
    insta::assert_snapshot!(world.run(&["sessions", "rewind", "s", "--yes"]), @"
    Put back 1 file to before turn 2: a
    Not covered: 1 command may have changed files outside $WORK
    The conversation went back to before turn 2.
    [exit status: 0]
    ");
    assert_eq!(world.read("a"), "1\n");
    world.run(&["exec", "--session", "s", "-p", "third"]).success();
    let sent = model.request(4).conversation();
    assert!(sent.contains("first") && !sent.contains("second") && sent.ends_with("user: third\n"), "{sent}");
    insta::assert_snapshot!(world.run(&["sessions", "rewind", "s", "--to", "1", "--yes"]), @"
    Put back 1 file to before turn 1: a (removed)
    The conversation went back to before turn 1.
    [exit status: 0]
    ");
    assert!(!world.work().join("a").exists());
}

/// A redo brings the former conversation back also where the one after the undo was compacted meanwhile.
#[test]
fn a_compaction_between_undo_and_redo() {
    let (world, model) = with_model([
        anthropic::text(&"y".repeat(6_000)),
        bash("t2", "echo 2 >> a"),
        anthropic::text("Two."),
        anthropic::text("A note."),
        anthropic::text("Three."),
    ]);
    shell(&world, "mkdir .git; echo 1 > a");
    world.run(&["exec", "--session", "s", "-p", "first"]).success();
    world.run(&["exec", "--session", "s", "-p", "second"]).success();
    let mut pty = world.pty(&["--session", "s"], Size::CLASSIC);
    type_line(&mut pty, 1, "/undo");
    pty.wait_for("[y/N]").send("y\r");
    type_line(&mut pty, 2, "/compact");
    type_line(&mut pty, 3, "/redo");
    wait::until("the second question", || pty.drawn().matches("[y/N]").count() == 2);
    pty.send("y\r");
    type_line(&mut pty, 4, ":q");
    let screen = over(pty);
    assert!(screen.contains("\n── 2 messages summarised, "), "{screen}");
    assert_eq!(world.read("a"), "1\n2\n", "{screen}");
    world.run(&["exec", "--session", "s", "-p", "third"]).success();
    let sent = model.request(4).conversation();
    insta::assert_snapshot!(sent.replace(&"y".repeat(6_000), "LONG"), @r#"
    user: first
    assistant: LONG
    user: second
    assistant: tool_use t2 bash {"command":"echo 2 >> a"}
    user: tool_result t2 (no output)
    assistant: Two.
    user: third
    "#);
}

/// `/redo` takes back the last undo, whether it was about files or not, and each brings back its own turn.
#[test]
fn a_redo_of_turns_without_files() {
    let (world, model) = with_model([
        bash("t1", "echo 1 > a"),
        anthropic::text("One."),
        anthropic::text("Two."),
        anthropic::text("Three."),
        anthropic::text("Four."),
    ]);
    shell(&world, "mkdir .git");
    for prompt in ["first", "second", "third"] {
        world.run(&["exec", "--session", "s", "-p", prompt]).success();
    }
    let mut pty = world.pty(&["--session", "s"], Size::CLASSIC);
    type_line(&mut pty, 1, "/undo");
    type_line(&mut pty, 2, "/undo 2");
    pty.wait_for("[y/N]").send("y\r");
    type_line(&mut pty, 3, "/redo");
    wait::until("the second question", || pty.drawn().matches("[y/N]").count() == 2);
    pty.send("y\r");
    type_line(&mut pty, 4, "/redo");
    type_line(&mut pty, 5, "/redo");
    type_line(&mut pty, 6, ":q");
    let screen = over(pty);
    assert!(screen.contains("The conversation went on with turn 1."), "{screen}");
    assert!(screen.contains("The conversation went on with turn 3."), "{screen}");
    assert_eq!(screen.matches("there is nothing to redo").count(), 1, "{screen}");
    assert_eq!(world.read("a"), "1\n", "{screen}");
    world.run(&["exec", "--session", "s", "-p", "fourth"]).success();
    insta::assert_snapshot!(model.request(4).conversation(), @r#"
    user: first
    assistant: tool_use t1 bash {"command":"echo 1 > a"}
    user: tool_result t1 (no output)
    assistant: One.
    user: second
    assistant: Two.
    user: third
    assistant: Three.
    user: fourth
    "#);
}

/// What a turn did to git, and to what is not looked at, is said also where no file can be put back.
#[test]
fn nothing_to_put_back_and_something_to_say() {
    if needs::program("git").is_none() {
        return;
    }
    let (world, _model) = with_model([
        bash("t1", "git -c user.name=a -c user.email=a@b commit -qam two; rm -r node_modules"),
        anthropic::text("Done."),
    ]);
    repository(&world);
    shell(
        &world,
        "mkdir node_modules; echo x > node_modules/x; git commit -qam dirty; git tag was; echo more >> keep",
    );
    world.run(&["exec", "--session", "s", "-p", "commit it"]).success();
    let rewound = world.run(&["sessions", "rewind", "s", "--yes"]).to_string();
    let git = rewound.lines().find(|line| line.starts_with("git: ")).unwrap_or_default().len();
    assert_eq!(git, "git: master moved 0123456 to 0123456; to move it back: git reset --soft 0123456".len());
    let rest: Vec<_> = rewound.lines().filter(|line| !line.starts_with("git: ")).collect();
    insta::assert_snapshot!(rest.join("\n"), @"
    No file went back to before turn 1.
    Not covered: 1 command may have changed files outside $WORK
    Not covered: 1 ignored folder that went away
    The conversation went back to before turn 1.
    [exit status: 0]
    ");
}

#[test]
fn nothing_to_undo_or_nothing_captured() {
    let (world, _model) = with_model([
        anthropic::tool_use("t1", "write", json!({"path": "a", "content": "1\n"})),
        anthropic::text("One."),
    ]);
    shell(&world, "mkdir .git");
    insta::assert_snapshot!(world.run(&["undo", "--yes"]), @"
    ------- stderr -------
    Error: No session of this project to undo
    Hint: `zori sessions list` shows the sessions there are
    [exit status: 5]
    ");
    world.run(&["exec", "--session", "s", "--no-checkpoints", "-p", "first"]).success();
    assert!(!world.base().join("projects").join("undo").exists());
    insta::assert_snapshot!(world.run(&["undo", "--yes"]), @"
    ------- stderr -------
    Warning: there is nothing to undo
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["undo", "--redo", "--dry-run"]), @"
    ------- stderr -------
    Warning: there is nothing to redo
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["undo", "--session", "nobody", "--yes"]), @"
    ------- stderr -------
    Error: No session 'nobody' to undo
    Hint: `zori sessions list` shows the sessions there are
    [exit status: 5]
    ");
    insta::assert_snapshot!(world.run(&["undo", "--list", "--redo"]), @"
    ------- stderr -------
    Error: `--list` goes with neither `--redo` nor `--replace`: it changes nothing
    Hint: leave out `--list`, or the others
    [exit status: 2]
    ");
}

/// Returns the store of the only project.
fn store(world: &TestEnv) -> std::path::PathBuf {
    let projects = std::fs::read_dir(world.base().join("projects")).expect("there is a project");
    let mut stores = projects.flatten().map(|entry| entry.path().join("undo")).filter(|dir| dir.is_dir());
    stores.next().expect("something was captured")
}

/// Leaves the plan of an undo behind, as a process does that is killed right after it has written it.
fn cut_off(world: &TestEnv, session: &str) {
    let store = store(world);
    let ops = std::fs::read_to_string(store.join("ops").join(format!("{session}.jsonl")))
        .expect("operations are kept");
    let op: Value = serde_json::from_str(ops.lines().last().expect("there is one")).expect("lines are JSON");
    let back = |change: &Value| json!({"path": change["path"], "before": change["after"], "after": change["before"]});
    let steps: Vec<_> =
        op["changes"].as_array().expect("an operation has changes").iter().map(back).collect();
    let plan = json!({"session": session, "op": 9, "turn": 1, "redo": false, "now": 7, "undoes": [op["op"]], "steps": steps});
    std::fs::create_dir_all(store.join("restore")).expect("the store can be written");
    std::fs::write(store.join("restore").join(format!("{session}-9.json")), plan.to_string())
        .expect("the store can be written");
}

/// UNDO-18: whoever comes next finishes it and says so, a session or a command; the model of that session hears of it.
#[test]
fn an_undo_that_was_cut_off() {
    let (world, model) = with_model([
        bash("t1", "echo 1 > a; echo 2 > b"),
        anthropic::text("One."),
        anthropic::text("Two."),
        bash("t2", "echo 3 > c"),
        anthropic::text("Three."),
    ]);
    shell(&world, "mkdir .git");
    world.run(&["exec", "--session", "s", "-p", "first"]).success();
    cut_off(&world, "s");
    insta::assert_snapshot!(world.run(&["exec", "--session", "s", "-p", "second"]), @"
    Two.
    ------- stderr -------
    Warning: An undo of session s that was cut off is finished, 2 files: a, b
    [exit status: 0]
    ");
    assert_eq!(files(&world.work()), "");
    let sent = model.request(2).conversation();
    assert!(sent.contains("put files back to an earlier state"), "{sent}");
    world.run(&["exec", "--session", "other", "-p", "third"]).success();
    cut_off(&world, "other");
    insta::assert_snapshot!(world.run(&["undo", "--yes"]), @"
    An undo of session other that was cut off is finished, 1 file: c
    ------- stderr -------
    Warning: there is nothing to undo
    [exit status: 0]
    ");
    assert_eq!(files(&world.work()), "");
}

/// UNDO-33: before and after, with counts and without contents; where the log is required nothing goes back without it.
#[test]
fn what_the_audit_log_says() {
    let (world, _model) =
        with_model([bash("t1", "echo secret-word > a; echo 2 > b"), anthropic::text("One.")]);
    shell(&world, "mkdir .git");
    world.run(&["exec", "--session", "s", "-p", "first"]).success();
    world.write("b", "mine\n");
    assert_eq!(world.run(&["undo", "--yes"]).code(), Some(3));
    let log = world.run(&["audit-log", "--event", "undo", "--json"]).success().stdout();
    let log: Value = serde_json::from_str(&log).unwrap();
    let entries = log["data"]["entries"].as_array().unwrap().iter();
    let entries = entries.map(|entry| format!("{} {} {}", entry["session"], entry["by"], entry["summary"]));
    insta::assert_snapshot!(entries.collect::<Vec<_>>().join("\n"), @r#"
    "s" "user" "begin: the last change, 1 back, 1 kept"
    "s" "user" "end: the last change, 1 back, 1 kept"
    "#);
    assert!(!log.to_string().contains("secret-word"), "{log}");
    world.run(&["audit-log", "--verify"]).success();
}

/// A fork knows what was changed before it, and nothing of what its parent does later.
#[test]
fn a_fork() {
    let (world, _model) = with_model([
        bash("t1", "echo 1 > a"),
        anthropic::text("One."),
        bash("t2", "echo 2 > b"),
        anthropic::text("Two."),
        bash("t3", "echo 3 > c"),
        anthropic::text("Three."),
    ]);
    shell(&world, "mkdir .git");
    world.run(&["exec", "--session", "s", "-p", "first"]).success();
    world.run(&["sessions", "fork", "s", "--name", "f"]).success();
    world.run(&["exec", "--session", "s", "-p", "the parent goes on"]).success();
    world.run(&["exec", "--session", "f", "-p", "the fork goes on"]).success();
    insta::assert_snapshot!(world.run(&["sessions", "rewind", "f", "--to", "1", "--yes"]), @"
    Put back 2 files to before turn 1: a (removed), c (removed)
    Not covered: 2 commands may have changed files outside $WORK
    The conversation went back to before turn 1.
    [exit status: 0]
    ");
    assert_eq!(files(&world.work()), "b \"2\\n\"");
}

/// Case 8: what a sub-agent changed is part of its parent's turn.
#[test]
fn a_sub_agent() {
    let order = json!({"description": "write", "prompt": "Please write."});
    let (world, _model) = with_model([
        anthropic::tool_use("t1", "task", order),
        bash("s1", "echo 1 > a"),
        anthropic::tool_use("s2", "write", json!({"path": "b", "content": "2\n"})),
        anthropic::text("Written."),
        anthropic::text("Done."),
    ]);
    shell(&world, "mkdir .git");
    world.run(&["exec", "--session", "s", "-p", "first"]).success();
    assert_eq!(files(&world.work()), "a \"1\\n\"\nb \"2\\n\"");
    insta::assert_snapshot!(world.run(&["undo", "--yes"]), @"
    Put back 2 files to before turn 1: a (removed), b (removed)
    Not covered: 1 command may have changed files outside $WORK
    [exit status: 0]
    ");
    assert_eq!(files(&world.work()), "");
}

/// A store that others can write to is not used: no undo, and the session says so (exit 4).
#[test]
fn a_store_that_others_can_write_to() {
    use std::os::unix::fs::PermissionsExt;
    let (world, _model) =
        with_model([bash("t1", "echo 1 > a"), anthropic::text("One."), anthropic::text("Two.")]);
    shell(&world, "mkdir .git");
    world.run(&["exec", "--session", "s", "-p", "first"]).success();
    let store = store(&world);
    std::fs::set_permissions(&store, std::fs::Permissions::from_mode(0o777)).unwrap();
    let key = store.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
    let shown = |text: String| text.replace(&key, "$KEY");
    insta::assert_snapshot!(shown(world.run(&["undo", "--yes"]).to_string()), @"
    ------- stderr -------
    Error: undo is off: $BASE/projects/$KEY/undo can be written to by others
    [exit status: 4]
    ");
    insta::assert_snapshot!(shown(world.run(&["exec", "--session", "s", "-p", "second"]).to_string()), @"
    Two.
    ------- stderr -------
    Warning: undo is off: $BASE/projects/$KEY/undo can be written to by others
    [exit status: 0]
    ");
    assert_eq!(world.read("a"), "1\n");
}

/// UNDO-41: a store that cannot be read is a failure of its own (exit 1), which says what is in the way, and changes nothing.
#[test]
fn a_store_that_cannot_be_read() {
    let (world, _model) = with_model([bash("t1", "echo 1 > a"), anthropic::text("One.")]);
    shell(&world, "mkdir .git");
    world.run(&["exec", "--session", "s", "-p", "first"]).success();
    let store = store(&world);
    let ops = store.join("ops/s.jsonl");
    std::fs::remove_file(&ops).unwrap();
    std::fs::create_dir(&ops).unwrap();
    let key = store.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
    for args in [&["undo", "--yes"][..], &["sessions", "rewind", "s", "--yes"]] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(world.run(args).to_string().replace(&key, "$KEY"), @"
            ------- stderr -------
            Error: what is kept for undo cannot be used: $BASE/projects/$KEY/undo/ops/s.jsonl: Is a directory (os error 21)
            Hint: what is in the way there can be moved aside; what it held cannot be undone then
            [exit status: 1]
            ");
        }
    }
    assert_eq!(world.read("a"), "1\n");
}

/// Contents of a sensitive file come back and are shown nowhere (case 13).
#[test]
fn a_secret() {
    let (world, _model) =
        with_model([bash("t1", "echo KEY=changed-canary > .env; echo x > a"), anthropic::text("One.")]);
    shell(&world, "mkdir .git; echo KEY=before-canary > .env");
    world.run(&["exec", "--session", "s", "-p", "first"]).success();
    let diff = world.run(&["sessions", "diff", "s"]).success().stdout();
    insta::assert_snapshot!(diff, @"
    diff --git a/.env b/.env
    # contents hidden
    diff --git a/a b/a
    new file mode 100644
    --- /dev/null
    +++ b/a
    @@ -0,0 +1 @@
    +x
    ");
    let json = world.run(&["undo", "--yes", "--json"]).success().stdout();
    assert!(!json.contains("canary"), "{json}");
    assert_eq!(world.read(".env"), "KEY=before-canary\n");
    for entry in std::fs::read_dir(store(&world).join("seg")).unwrap().flatten() {
        let bytes = std::fs::read(entry.path()).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains("canary"), "it is in the wrong place");
    }
}

/// Case 14: `--bare` captures as well, `--no-save` nothing.
#[test]
fn bare_and_unsaved() {
    for (flag, captured) in [("--bare", true), ("--no-save", false)] {
        let (world, _model) = with_model([bash("t1", "echo 1 > a"), anthropic::text("One.")]);
        shell(&world, "mkdir .git");
        let session: &[&str] = if captured { &["--session", "s"] } else { &[] };
        world.run(&[&["exec", flag], session, &["-p", "first"]].concat()).success();
        let stores = std::fs::read_dir(world.base().join("projects")).into_iter().flatten().flatten();
        assert_eq!(
            stores.filter(|entry| entry.path().join("undo").is_dir()).count(),
            captured as usize,
            "{flag}"
        );
        let undone = world.run(&["undo", "--yes"]);
        assert_eq!(undone.code(), Some(if captured { 0 } else { 5 }), "{undone}");
        assert_eq!(world.work().join("a").exists(), !captured, "{flag}");
    }
}

/// O-011: what a failed run has changed is put back, and nothing of an earlier one.
#[test]
fn a_failed_run_is_rolled_back() {
    let write =
        |id: &str, path: &str| anthropic::tool_use(id, "write", json!({"path": path, "content": "made\n"}));
    let (world, _model) = with_model([
        write("1", "kept").into(),
        anthropic::text("Done.").into(),
        write("2", "made").into(),
        anthropic::http_error(400, "invalid_request_error", "it broke"),
    ]);
    std::fs::create_dir(world.work().join(".git")).expect("a folder can be made");
    world.run(&["exec", "--session", "s", "-p", "one"]).success();
    let output = world.run(&["exec", "--session", "s", "-p", "two", "--rollback-on-failure", "-o", "json"]);
    assert_eq!(output.code(), Some(3), "{output}");
    let answer: Value = serde_json::from_str(&output.stdout()).expect("it is an envelope");
    assert_eq!(
        answer["data"]["rollback"],
        json!({"restored": ["$WORK/made"], "kept": [], "error": null}),
        "{output}"
    );
    assert_eq!(files(&world.work()), "kept \"made\\n\"");
    let refused = world.run(&["exec", "--rollback-on-failure", "--output-format", "stream-json", "-p", "x"]);
    assert_eq!(refused.code(), Some(2), "{refused}");
}

/// UNDO-40: a dry run has every field of a run, says what the run then does, and writes nothing.
#[test]
fn a_dry_run_in_json() {
    if needs::program("git").is_none() {
        return;
    }
    let (world, _model) = with_model([
        bash("t1", "echo 1 >> a; echo 2 > b; rm c; rm -rf ignored; git commit -qam two"),
        anthropic::text("One."),
    ]);
    shell(
        &world,
        "for i in a b c; do echo $i > $i; done; echo ignored/ > .gitignore; mkdir ignored; echo i > ignored/i;
         git init -q -b main; git config user.name a; git config user.email a@b; git add -A; git commit -qm one",
    );
    world.run(&["exec", "--session", "s", "-p", "first"]).success();
    world.write("b", "mine\n");
    let kept = |world: &TestEnv| (states(&world.work()), states(&store(world)));
    let before = kept(&world);
    let data = |args: &[&str]| {
        let output = world.run(args);
        let envelope: Value = serde_json::from_str(&output.stdout()).expect("it is an envelope");
        let mut data = envelope["data"].clone();
        for field in ["before", "after", "hint"] {
            // Commits differ from run to run.
            if let Some(text) = data["git"][field].as_str() {
                assert!(text.rsplit(' ').next().is_some_and(|id| id.len() == 40), "{text}");
                data["git"][field] = json!(
                    text.rsplit_once(' ').map_or("$ID".to_owned(), |(words, _)| format!("{words} $ID"))
                );
            }
        }
        (data, output.code())
    };
    let (dry, code) = data(&["undo", "--dry-run", "--json"]);
    assert_eq!(code, Some(0));
    assert_eq!(kept(&world), before, "a dry run writes nothing");
    let restored = json!([
        {"path": "a", "how": "restored", "insertions": 0, "deletions": 1},
        {"path": "c", "how": "created", "insertions": 1, "deletions": 0},
    ]);
    let would = json!(["a", "c"]);
    let expected = json!({
        "effect": "noop",
        "would_put_back": would,
        "would_affect": {"count": 2, "items": would, "reversible": true},
        "session": "s",
        "to_turn": 1,
        "what": "files",
        "dry_run": true,
        "op": null,
        "coverage": "full",
        "restored": restored,
        "kept": [{"path": "b", "reason": "changed_since", "saved_as": null}],
        "not_covered": [{"what": "command", "count": 1}, {"what": "ignored folder", "count": 1}],
        "git": {"moved": "refs/heads/main", "before": "$ID", "after": "$ID", "hint": "git reset --soft $ID"},
        "stash": null,
        "redo": null,
    });
    assert_eq!(dry, expected);
    let (done, code) = data(&["undo", "--yes", "--json"]);
    assert_eq!(code, Some(3), "one was kept");
    let mut same = expected;
    for field in ["would_put_back", "would_affect", "effect"] {
        same.as_object_mut().unwrap().remove(field);
    }
    for (field, value) in [("dry_run", json!(false)), ("op", json!(2)), ("redo", json!("zori undo --redo"))] {
        same[field] = value;
    }
    assert_eq!(done, same);
    let (nothing, code) = data(&["undo", "--dry-run", "--json"]);
    assert_eq!(code, Some(0));
    assert_eq!(
        nothing,
        json!({
            "effect": "noop", "would_put_back": [], "would_affect": {"count": 0, "items": [], "reversible": true},
            "session": "s", "to_turn": null, "what": "files", "dry_run": true, "op": null, "coverage": null, "restored": [], "kept": [],
            "not_covered": [], "git": null, "stash": null, "redo": null,
        })
    );
}
