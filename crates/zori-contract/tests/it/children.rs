//! Children of a command: their arguments, their end.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::json;
use zori_contract::path::AbsPath;
use zori_testkit::env::TestEnv;
use zori_testkit::{process, wait};

use crate::notes::{envelope_of, world};
use crate::store::Store;

/// What shells, and those who split or join command lines, have gone wrong with.
const HOSTILE: &[&[u8]] = &[
    b"two words",
    b"  blanks  around  ",
    b"",
    b"-n",
    b"--help",
    b"*",
    b"$(touch made) `touch made` ${HOME} ; touch made | touch made & touch made > made",
    b"'single' \"double\" \\back\\slash\\",
    b"a\nb\r\n\tc",
    b"\x1b[31m\x07",
    b"\xff\xfe\x80 no UTF-8",
    "ä€😀\u{202e}".as_bytes(),
    b"%s%n {} !! ~ # =",
];

fn with_note(env: &TestEnv, text: &[u8]) {
    let folder = AbsPath::new(&env.home().join("notes/notes")).expect("a home is absolute");
    Store::new(folder).write("n", text).expect("a note can be written");
}

fn program(env: &TestEnv, script: &str) -> String {
    let path: PathBuf = env.write("program", format!("#!/bin/sh\n{script}"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    path.to_str().expect("test paths are UTF-8").to_owned()
}

/// F-062: there is no shell in between, whatever the argument looks like.
#[test]
fn arguments_arrive_as_they_are() {
    for text in HOSTILE {
        let env = world();
        with_note(&env, text);
        let program = program(&env, "printf %s \"$1\" > got; printf %d $#\n");
        let answer = envelope_of(&env.run(&["tell", "n", "--program", &program]).success());
        assert_eq!(answer["data"]["printed"], "1", "{text:?}");
        assert_eq!(fs::read(env.work().join("got")).unwrap(), *text);
        assert!(!env.work().join("made").exists(), "{text:?}");
    }
    // No argument can hold this one, and nothing is cut off silently.
    let env = world();
    with_note(&env, b"a\0b");
    let output = env.run(&["tell", "n", "--program", "echo"]);
    let error = envelope_of(&output)["error"].clone();
    assert_eq!((output.code(), &error["code"]), (Some(1), &json!("IO_ERROR")));
    assert!(error["message"].as_str().unwrap().contains("nul byte"), "{error}");
}

/// F-062: whoever wonders can see it word for word. F-073: by the program's own variable, too, and by nobody else's.
#[test]
fn the_words_of_a_call_can_be_seen() {
    let mut env = world();
    with_note(&env, b"two \"words\"");
    let output = env.run(&["tell", "n", "--program", "echo", "--debug"]).success();
    let shown = "starting [\"echo\",\"two \\\"words\\\"\"]\n";
    assert_eq!(output.stderr(), shown);
    let by_variable = |env: &TestEnv| env.run(&["tell", "n", "--program", "echo"]).success().stderr();
    env.set_var("DEBUG", "1");
    assert_eq!(by_variable(&env), "");
    env.set_var("NOTES_DEBUG", "1");
    assert_eq!(by_variable(&env), shown);
}

/// F-030, F-031: the end of the run is the end of the child, and of what that has started.
#[test]
fn nobody_outlives_the_run() {
    let env = world();
    with_note(&env, b"x");
    let program = program(&env, "sleep 300 & echo $! > new; echo $$ >> new; mv new pids; wait\n");
    let output = env.run(&["tell", "n", "--program", &program, "--timeout", "2s"]);
    assert_eq!(envelope_of(&output)["error"]["code"], "TIMEOUT");
    let pids = env.read("pids");
    wait::until(format_args!("{pids:?} to be gone"), || pids.lines().all(|pid| !process::is_alive(pid)));
}

#[test]
fn a_program_that_is_not_there() {
    let env = world();
    with_note(&env, b"x");
    let output = env.run(&["tell", "n", "--program", "no-such-program", "--output", "plain"]);
    assert_eq!(
        output.to_string(),
        "------- stderr -------\nError: `no-such-program` cannot be started: No such file or directory (os error 2)\n[exit status: 1]"
    );
}
