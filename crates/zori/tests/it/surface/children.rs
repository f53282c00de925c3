//! What zori's children get: the words they were meant to get, a place in the pid file, a working directory of their own.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use zori_testkit::env::TestEnv;
use zori_testkit::running::{Stdin, Stdout};
use zori_testkit::{anthropic, needs};

use super::{bare, envelope};
use crate::world::with_model;

/// What shells, and those who split or join command lines, have gone wrong with.
const HOSTILE: &[&str] = &[
    "two  words",
    "-n",
    "*",
    "$(touch made)`touch made`;touch made|touch made&",
    "'single' \"double\" \\back\\",
    "line\nline",
    "ä€😀",
];

/// Runs a command of the model in this folder.
fn bash_in(folder: &OsStr, command: &str, more: &[&str]) -> TestEnv {
    let (world, _model) = with_model([
        anthropic::tool_use("t1", "bash", json!({"command": command})),
        anthropic::text("Done."),
    ]);
    let folder = world.work().join(folder);
    fs::create_dir_all(&folder).expect("any name can be had");
    let mut run = world.cmd(&[&["exec", "-p", "go", "--no-save"], more].concat());
    run.current_dir(&folder);
    world.start(run, Stdin::Null, Stdout::Captured).finish().success();
    world
}

/// F-062: the shell gets the model's text as one argument, and nobody else looks into it.
#[test]
fn a_command_reaches_the_shell_as_it_is() {
    for text in HOSTILE {
        let quoted = text.replace('\'', "'\\''");
        let world = bash_in(OsStr::new("f"), &format!("printf %s '{quoted}' > got"), &[]);
        assert_eq!(world.read("f/got"), *text);
        assert!(!world.work().join("f/made").exists(), "{text:?}");
    }
}

/// F-062: a folder may be called whatever it is called.
#[test]
fn folders_of_any_name() {
    commands_in_hostile_folders("off");
}

/// In the sandbox the folder is an argument of the wrapper.
#[test]
fn folders_of_any_name_in_the_sandbox() {
    if needs::bubblewrap() {
        commands_in_hostile_folders("workspace");
    }
}

#[track_caller]
fn commands_in_hostile_folders(sandbox: &str) {
    let mut names: Vec<&[u8]> = HOSTILE.iter().map(|name| name.as_bytes()).collect();
    names.push(b"\xff no UTF-8");
    for name in names {
        let world = bash_in(OsStr::from_bytes(name), "printf %s \"$PWD\" > got", &["--sandbox", sandbox]);
        let folder = world.work().join(OsStr::from_bytes(name));
        assert_eq!(fs::read(folder.join("got")).expect("the child wrote it"), folder.as_os_str().as_bytes());
        assert!(!folder.join("made").exists() && !world.work().join("made").exists(), "{name:?}");
    }
}

/// F-062: a credential helper is a program, whatever its path looks like, and gets three words.
#[test]
fn a_helper_is_no_command_line() {
    for name in HOSTILE {
        let mut world = bare();
        let script = "#!/bin/sh\nfor word; do printf '[%s]' \"$word\"; done >> \"$HOME/words\"\n";
        let path = world.write(world.home().join("bin").join(name), script);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("the file is ours");
        let config = format!("credential_helper = {}\n", json!(path.to_str().unwrap()));
        world.write(world.base().join("config.toml"), config);
        world.set_var("OPENAI_BASE_URL", "http://127.0.0.1:1");
        world.run(&["auth", "status", "--provider", "openai"]).success();
        assert_eq!(world.read(world.home().join("words")), "[get][zori][openai]", "{name:?}");
        assert!(!world.work().join("made").exists(), "{name:?}");
    }
}

/// F-030: while a command runs a file names its group, and the answer says which file that was.
#[test]
fn a_pid_file_names_those_who_live() {
    let command = "tries=0; while [ ! -s \"$TMPDIR\"/zori-*/pids ] && [ $tries -lt 500 ]; do tries=$((tries+1)); sleep 0.02; done; \
                   echo $$ > own; cat \"$TMPDIR\"/zori-*/pids > written; ls \"$TMPDIR\"/zori-*/pids > place";
    let (mut world, _model) = with_model([
        anthropic::tool_use("t1", "bash", json!({"command": command})),
        anthropic::text("Done."),
    ]);
    world.remove_var("ZORI_OUTPUT");
    let answer = envelope(&world.run(&["exec", "-p", "go", "--output", "json"]).success());
    assert_eq!(world.read("own"), world.read("written"));
    assert_eq!(answer["meta"]["session_pid_file"], world.read("place").trim_end());
    assert_eq!(fs::read_dir(world.tmp()).unwrap().count(), 0, "it goes with the run");
}

/// F-032: two runs at once have a folder each, which nobody else can enter, and a signal takes it away like any other end.
#[test]
fn a_folder_for_each_run() {
    let command = "tries=0; while ! ls -ld \"$TMPDIR\"/zori-$PPID-* > new-$PPID 2>&1 && [ $tries -lt 500 ]; do \
                   tries=$((tries+1)); sleep 0.02; done; mv new-$PPID seen-$PPID; sleep 300";
    let replies = || anthropic::tool_use("t1", "bash", json!({"command": command}));
    let (world, _model) = with_model([replies(), replies()]);
    let start = || world.start(world.cmd(&["exec", "-p", "go", "--no-save"]), Stdin::Null, Stdout::Captured);
    let (mut one, mut two) = (start(), start());
    let mut places = Vec::new();
    for run in [&mut one, &mut two] {
        let seen = world.work().join(format!("seen-{}", run.pid()));
        run.wait_until("the folder", |_| seen.exists());
        let line = fs::read_to_string(seen).unwrap();
        assert!(line.starts_with("drwx------"), "{line}");
        places.push(line.split_whitespace().last().unwrap().to_owned());
    }
    assert_ne!(places[0], places[1]);
    for mut run in [one, two] {
        run.terminate();
        assert_eq!(run.finish().code(), Some(143));
    }
    assert_eq!(fs::read_dir(world.tmp()).unwrap().count(), 0);
}

/// F-041: whatever folder is named, the program itself stays where it was called. Only root can ask the kernel where it
/// is: the program is closed to other processes of its user.
#[cfg(target_os = "linux")]
#[test]
fn the_program_stays_where_it_was_called_as_root() {
    if !needs::root() {
        return;
    }
    let (world, _model) = with_model([
        anthropic::tool_use(
            "t1",
            "bash",
            json!({"command": "readlink /proc/$PPID/cwd > ../seen; pwd >> ../seen"}),
        ),
        anthropic::text("Done."),
    ]);
    fs::create_dir(world.work().join("inner")).unwrap();
    world.run(&["exec", "-p", "go", "--cwd", "inner"]).success();
    let work = world.work();
    assert_eq!(world.read("seen"), format!("{0}\n{0}/inner\n", work.display()));
}

/// F-066: what git says to us it says in English, whatever the user speaks.
#[test]
fn helpers_speak_english() {
    let mut world = bare();
    let script = "#!/bin/sh\necho \"git version 9.$LC_ALL.$LC_NUMERIC\"\n";
    let git = world.write(world.home().join("bin/git"), script);
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    let path = std::env::var("PATH").unwrap();
    world.set_var("PATH", format!("{}:{path}", world.home().join("bin").display()));
    world.set_var("LC_ALL", "de_DE.UTF-8").set_var("LC_NUMERIC", "de_DE.UTF-8");
    let answer = envelope(&world.run(&["doctor"]));
    let checks = answer["data"]["checks"].as_array().unwrap().clone();
    let git = checks.iter().find(|check| check["name"] == "git").unwrap();
    assert_eq!(git["found"], "git version 9.C.C", "{git}");
}
