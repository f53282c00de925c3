//! `demo`: the whole of it without a key, and nothing left behind.

use std::os::unix::process::ExitStatusExt;

use rustix::process::Signal;
use zori_testkit::env::TestEnv;
use zori_testkit::pty::Size;
use zori_testkit::server::ModelServer;

use crate::screen_stage::{Person, SIZE};
use crate::world::world;

/// Rewrites the scratch folder, whose name nobody can guess.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("zori-demo-") {
        let name_end = at + "zori-demo-".len();
        out.push_str(&rest[..at]);
        out.push_str("$SCRATCH");
        rest = rest[name_end..].trim_start_matches(|c: char| c.is_ascii_hexdigit());
    }
    out + rest
}

/// Puts the ends of the two reads in order: which one is done first is up to the scheduler.
fn settled(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(|line| line.starts_with("⚙ read #")).expect("two reads run together");
    lines[first..first + 2].sort_unstable();
    lines.join("\n")
}

/// Returns the names of everything in the world's own folders.
fn left_behind(world: &TestEnv) -> Vec<String> {
    let names = |folder: std::path::PathBuf| {
        let entries = std::fs::read_dir(folder).expect("the folder is there");
        entries.map(|entry| entry.expect("the folder can be read").file_name().to_string_lossy().into_owned())
    };
    let mut all: Vec<_> = names(world.tmp()).chain(names(world.work())).chain(names(world.home())).collect();
    all.sort();
    all
}

#[test]
fn the_whole_of_it() {
    let world = world();
    insta::assert_snapshot!(settled(&plain(&world.run(&["demo"]).to_string())), @r#"
    I'll read the program and its test first.
    There is no case for numbers that both 3 and 5 divide. I'll add one.
    Now the test.
    15 still says Fizz: the check for 3 comes first, so the new branch is never reached. The most special case has to be asked first.
    Once more.
    All four cases pass. `fizz.sh` now asks for multiples of 15 first, then of 3, then of 5.

    I am a scripted model: my words were written beforehand. The edits and the test runs were real, and so is everything else you saw.
    ------- stderr -------
    This is a demo: a scripted model, not a real one. Engine, tools and files are real.
    Scratch folder: $TMP/$SCRATCH

    you> fizz.sh should say FizzBuzz for multiples of both 3 and 5. Please fix it and run the test.

    ⚙ Running read #1...
    ⚙ Running read #2...
    ⚙ read #1 Done. (X.XXs)
    ⚙ read #2 Done. (X.XXs)
    ⚙ Running edit... Done. (X.XXs)
    Tool requested: bash command="sh test.sh"
    ⚙ Running bash... Done. (X.XXs)
    Tool finished: bash exit=1
    ⚙ Running edit... Done. (X.XXs)
    Tool requested: bash command="sh test.sh"
    ⚙ Running bash... Done. (X.XXs)
    Tool finished: bash exit=0

    That was zori with a script for a model. With one of your own:

        export ANTHROPIC_API_KEY=...
        zori exec -p "What does this project do?"
    [exit status: 0]
    "#);
    assert_eq!(left_behind(&world), [""; 0]);
    assert!(!world.base().exists());
}

/// It reads no config, no guidelines and no key, and talks to nobody.
#[test]
fn nothing_of_the_users_is_touched() {
    let server = ModelServer::start(Vec::<zori_testkit::reply::Reply>::new());
    let mut world = world();
    world.use_server(&server);
    world.write(world.base().join("config.toml"), "this is no config");
    world.write("AGENTS.md", "guidelines");
    let output = world.run(&["demo"]).success();
    assert!(!output.stderr().contains("AGENTS.md"), "{output}");
    assert_eq!((server.count(), world.session_files().len()), (0, 0));
}

#[test]
fn kept() {
    let world = world();
    let output = world.run(&["demo", "--keep"]).success();
    let folders = left_behind(&world);
    let [folder] = folders.as_slice() else { panic!("one folder is kept: {folders:?}") };
    let last = "That was zori with a script for a model.";
    let said = format!("\nThe result is in $TMP/{folder}\n\n{last}");
    assert!(output.stderr().contains(&said), "{output}");
    let script = world.read(world.tmp().join(folder).join("fizz.sh"));
    assert!(script.contains("FizzBuzz"), "{script}");
}

/// On a terminal it speaks at a human pace, and Ctrl-C ends it without leaving anything.
#[test]
fn watched_and_interrupted() {
    let world = world();
    let mut pty = world.pty(&["demo"], Size::CLASSIC);
    pty.wait_for("scripted model, not a real one").wait_for("I'll read").send("\x03");
    let (status, drawn) = pty.finish();
    assert_eq!(status.code(), Some(130), "{drawn}");
    assert!(drawn.contains("^C Interrupted."), "{drawn}");
    assert!(!drawn.contains("All four cases pass"), "{drawn}");
    assert_eq!(left_behind(&world), [""; 0]);
}

/// The line below the turn offers `/diff` and `/undo`, and both work: the session is kept for as long as the demo plays.
#[test]
fn what_it_changed_is_undone() {
    let world = world();
    let mut person = Person::before(world.screen(&["demo"], SIZE), SIZE);
    person.sees("All four cases pass").sees("1 file +5 -3 · /diff /undo");
    person.sees("`zori` opens this chat with a real model; Ctrl-D leaves.");
    person.says("/diff").sees("+    echo FizzBuzz");
    person.says("/undo").sees("Go ahead? [y/N]").pauses(1300).keys("y");
    person.sees("Put back 1 file to before turn 1: fizz.sh");
    let folders = left_behind(&world);
    let [_, folder, state] = folders.as_slice() else {
        panic!("the process's own, the demo's, and what is kept of it: {folders:?}")
    };
    assert_eq!(*state, format!("{folder}.state"));
    let script = world.read(world.tmp().join(folder).join("fizz.sh"));
    assert_eq!(script, include_str!("../../../../fixtures/scripts/demo/fizz.sh"));
    // The prompt came back into the composer: the first clears it.
    person.keys("\x15").sees_no_more("› fizz.sh should").keys("\x04");
    let (status, drawn) = person.ends();
    assert_eq!(status.code(), Some(0), "{drawn}");
    // Nothing can be gone on with, and nobody is told so.
    assert!(!drawn.contains("zori -c"), "{drawn}");
    assert!(drawn.ends_with("export ANTHROPIC_API_KEY=...\r\n    zori\r\n"), "{drawn:?}");
    assert_eq!(left_behind(&world), [""; 0]);
    assert!(!world.base().exists());
}

/// A terminal that is closed leaves nothing behind, either; the shell says so, and the system says it again.
#[test]
fn hung_up() {
    let world = world();
    let mut person = Person::before(world.screen(&["demo"], SIZE), SIZE);
    person.sees("I'll read the program");
    for _ in 0..100 {
        person.signal(Signal::HUP).pauses(2);
    }
    let (status, drawn) = person.ends();
    assert_eq!(status.signal(), Some(Signal::HUP.as_raw()), "{drawn}");
    assert_eq!(left_behind(&world), [""; 0]);
}

#[test]
fn without_a_temporary_folder() {
    let mut world = world();
    world.set_var("TMPDIR", world.tmp().join("missing"));
    insta::assert_snapshot!(world.run(&["demo"]), @r"
    ------- stderr -------
    Error: cannot make a scratch folder: No such file or directory (os error 2)
    [exit status: 1]
    ");
}
