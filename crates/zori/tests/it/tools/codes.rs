//! Every error code of a tool call, reached through the binary; `panic` and `exec_error` cannot be provoked from
//! outside and are tested where they are made.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use zori_testkit::env::TestEnv;
use zori_testkit::running::{Stdin, Stdout};

use super::{furnish, results, run, run_in, script};
use crate::world::{in_shell, with_model};

#[test]
fn unknown_tool() {
    insta::assert_snapshot!(run("frobnicate", json!({})), @"error unknown_tool: `frobnicate` is not a tool; the tools are read, write, edit, bash, multi_edit, glob, grep, ls, apply_patch, web_fetch, web_search, todo_write, task");
}

/// TOOL-6: the message names the field and lists the valid ones.
#[test]
fn invalid_input() {
    insta::assert_snapshot!(run("read", json!({})), @"error invalid_input: missing field `path`. Fields of `read`: `path` (a string, required), `offset` (an integer), `limit` (an integer)");
    insta::assert_snapshot!(run("read", json!({"path": 7})), @"error invalid_input: field `path` must be a string, not 7. Fields of `read`: `path` (a string, required), `offset` (an integer), `limit` (an integer)");
    insta::assert_snapshot!(run("write", json!({"path": "b.txt"})), @"error invalid_input: missing field `content`. Fields of `write`: `path` (a string, required), `content` (a string, required)");
    insta::assert_snapshot!(run("bash", json!({"command": {"a": 1}})), @"error invalid_input: field `command` must be a string, not an object. Fields of `bash`: `command` (a string, required), `timeout_secs` (an integer), `background` (a boolean), `stay` (a boolean)");
    insta::assert_snapshot!(run("edit", json!({"path": "a.txt", "old": "", "new": "x"})), @"error invalid_input: `old` must not be empty; to create a file, write it");
    insta::assert_snapshot!(
        run("edit", json!({"path": "a.txt", "old": "one", "new": "x", "expected_replacements": 0})),
        @"error invalid_input: `expected_replacements` must be at least 1"
    );
}

/// EDIT-2: what is wrong with the input comes before what is wrong with the file.
#[test]
fn invalid_input_comes_first() {
    let edit = json!({"path": "missing.txt", "old": "", "new": "x", "expected_replacements": 0});
    insta::assert_snapshot!(run("edit", edit), @"error invalid_input: `old` must not be empty; to create a file, write it");
}

/// READ-4.
#[test]
fn path_error() {
    insta::assert_snapshot!(run("read", json!({"path": "missing.txt"})), @"error path_error: File not found: $WORK/missing.txt (ENOENT); check the path");
    insta::assert_snapshot!(run("edit", json!({"path": "missing.txt", "old": "a", "new": "b"})), @"error path_error: File not found: $WORK/missing.txt (ENOENT); check the path");
    insta::assert_snapshot!(run("read", json!({"path": "a.txt/b"})), @"error path_error: cannot resolve $WORK/a.txt/b: Not a directory (os error 20)");
}

/// READ-4: what is there and cannot be read as text.
#[test]
fn read_error() {
    insta::assert_snapshot!(run("edit", json!({"path": ".", "old": "a", "new": "b"})), @"error read_error: $WORK is a directory, not a regular file");
    let binary = |world: &mut TestEnv| {
        world.write("nul.bin", b"\x7fELF\0\x01");
        world.write("latin.txt", b"caf\xe9\n");
    };
    let calls = [
        ("read", json!({"path": "nul.bin"})),
        ("read", json!({"path": "latin.txt"})),
        ("edit", json!({"path": "latin.txt", "old": "caf", "new": "x"})),
        ("read", json!({"path": "/dev/zero"})),
    ];
    insta::assert_snapshot!(run_in(binary, &calls, &[]).0, @r"
    error read_error: $WORK/nul.bin is not UTF-8 text: binary data (a NUL byte at offset 4); inspect it with `xxd` or `file` in the shell
    error read_error: $WORK/latin.txt is not UTF-8 text: an invalid byte at offset 3; inspect it with `xxd` or `file` in the shell
    error read_error: $WORK/latin.txt is not UTF-8 text: an invalid byte at offset 3; inspect it with `xxd` or `file` in the shell
    error read_error: /dev/zero is a device, not a regular file
    ");
}

#[test]
fn mkdir_error() {
    let (result, world) =
        run_in(furnish, &[("write", json!({"path": "a.txt/b/c.txt", "content": "x"}))], &[]);
    insta::assert_snapshot!(result, @"error mkdir_error: cannot create the directory $WORK/a.txt/b: Not a directory (os error 20)");
    assert_eq!(world.read("a.txt"), "one\ntwo\ntwo\n");
}

#[test]
fn write_error() {
    let prepare = |world: &mut TestEnv| {
        world.write("folder/file", "");
    };
    insta::assert_snapshot!(run_in(prepare, &[("write", json!({"path": "folder", "content": "x"}))], &[]).0, @"error write_error: cannot write $WORK/folder: it is a directory, not a regular file");
}

/// FS-2: a disk that takes no more, here by a limit on the size of files. What was there stays, and nothing else is.
#[test]
fn write_error_of_a_full_disk() {
    let (mut world, server) = with_model(script(&[
        ("write", json!({"path": "a.txt", "content": "x".repeat(100_000)})),
        ("edit", json!({"path": "a.txt", "old": "one", "new": "x".repeat(100_000)})),
    ]));
    furnish(&mut world);
    let shell = in_shell(&world, "ulimit -f 8; exec \"$0\" \"$@\"", &["exec", "-p", "go", "--no-save"]);
    world.start(shell, Stdin::Null, Stdout::Captured).finish().success();
    insta::assert_snapshot!([results(&world, &server, 1), results(&world, &server, 2)].join("\n"), @r"
    error write_error: cannot write $WORK/a.txt: File too large (os error 27)
    error write_error: cannot write $WORK/a.txt: File too large (os error 27)
    ");
    assert_eq!(world.read("a.txt"), "one\ntwo\ntwo\n");
    let names: Vec<_> = std::fs::read_dir(world.work()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["a.txt"]);
}

/// What a user without rights to the files gets; tests may run as root, who has all of them.
#[test]
fn no_permission() {
    let (world, server) = with_model(script(&[
        ("read", json!({"path": "secret.txt"})),
        ("edit", json!({"path": "secret.txt", "old": "a", "new": "b"})),
        ("write", json!({"path": "locked/a.txt", "content": "x"})),
        ("write", json!({"path": "locked/new/a.txt", "content": "x"})),
        ("bash", json!({"command": "cat secret.txt"})),
    ]));
    let secret = world.write("secret.txt", "a");
    let locked = world.write("locked/x", "");
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(&secret, 0o000);
    mode(locked.parent().unwrap(), 0o555);
    let run = if rustix::process::getuid().is_root() {
        // The build folder may be closed to others, so the program is copied to where everybody may run it.
        let top = world.work().parent().unwrap().to_owned();
        let copy = top.join("zori");
        std::fs::copy(world.cmd(&[]).get_program(), &copy).unwrap();
        for path in [&top, &copy] {
            mode(path, 0o755);
        }
        let mut command = Command::new(copy);
        let inner = world.cmd(&["exec", "-p", "go", "--no-save"]);
        command.args(inner.get_args()).current_dir(world.work()).env_clear().uid(65534).gid(65534);
        command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        world.start(command, Stdin::Null, Stdout::Captured)
    } else {
        world.start(world.cmd(&["exec", "-p", "go", "--no-save"]), Stdin::Null, Stdout::Captured)
    };
    run.finish().success();
    let all: Vec<_> = (1..=5).map(|n| results(&world, &server, n)).collect();
    mode(locked.parent().unwrap(), 0o755);
    mode(&secret, 0o644);
    insta::assert_snapshot!(all.join("\n"), @r"
    error read_error: cannot read $WORK/secret.txt: Permission denied (os error 13)
    error read_error: cannot read $WORK/secret.txt: Permission denied (os error 13)
    error write_error: cannot write $WORK/locked/a.txt: Permission denied (os error 13)
    error mkdir_error: cannot create the directory $WORK/locked/new: Permission denied (os error 13)
    exit 1
    stderr:
    cat: secret.txt: Permission denied
    ");
    assert_eq!(world.read("secret.txt"), "a");
}

/// BASH-6: the shell cannot be started where there is no directory any more.
#[test]
fn spawn_error() {
    let prepare = |world: &mut TestEnv| {
        world.write("root/x", "");
    };
    let calls = [("bash", json!({"command": "rm -r \"$PWD\""})), ("bash", json!({"command": "echo hi"}))];
    insta::assert_snapshot!(run_in(prepare, &calls, &["--root", "root"]).0, @r"
    (no output)
    error spawn_error: cannot start `sh`: No such file or directory (os error 2); the working directory $WORK/root does not exist any more
    ");
}

/// EDIT-3: the answer shows what is there, and nothing was changed.
#[test]
fn old_not_found() {
    let edit = |old: &str| ("edit", json!({"path": "a.txt", "old": old, "new": "3"}));
    let (result, world) = run_in(furnish, &[edit("nothing of it"), edit("one\ntwoo\n")], &[]);
    insta::assert_snapshot!(result, @r"
    error old_not_found: `old` was not found in $WORK/a.txt, and no line is like it; read the file again
    error old_not_found: `old` was not found in $WORK/a.txt; it must match exactly. The nearest lines are:
    1	one
    2	two
    ");
    assert_eq!(world.read("a.txt"), "one\ntwo\ntwo\n");
}

/// EDIT-4: both numbers are told.
#[test]
fn replacement_count_mismatch() {
    let edit = |expected: usize| json!({"path": "a.txt", "old": "two", "new": "2", "expected_replacements": expected});
    let calls = [("edit", json!({"path": "a.txt", "old": "two", "new": "2"})), ("edit", edit(3))];
    let (result, world) = run_in(furnish, &calls, &[]);
    insta::assert_snapshot!(result, @r"
    error replacement_count_mismatch: expected 1 and found 2 occurrences of `old` in $WORK/a.txt, at lines 2, 3; add surrounding lines to make it unique, or ask for all 2
    error replacement_count_mismatch: expected 3 and found 2 occurrences of `old` in $WORK/a.txt, at lines 2, 3; add surrounding lines to make it unique, or ask for all 2
    ");
    assert_eq!(world.read("a.txt"), "one\ntwo\ntwo\n");
}

/// TOOL-9: a reader that cannot end in time, here one that looks for the second line of 64 GiB without any.
#[test]
fn timeout_of_a_file_tool() {
    let prepare = |world: &mut TestEnv| {
        world.write(world.base().join("config.toml"), "tool_timeout_secs = 1\n");
        File::create(world.work().join("huge")).unwrap().set_len(64 << 30).unwrap();
    };
    let calls = [("read", json!({"path": "huge", "offset": 2}))];
    insta::assert_snapshot!(run_in(prepare, &calls, &[]).0, @"error timeout: Tool execution timed out after 1 seconds");
}

/// INT-3: an interrupted call has a result, so that the session can go on.
#[test]
fn canceled() {
    let (world, _server) = with_model(script(&[("bash", json!({"command": "echo $$ > pid; sleep 60"}))]));
    let mut run =
        world.start(world.cmd(&["exec", "-p", "go", "--session", "s"]), Stdin::Null, Stdout::Captured);
    run.wait_until("the command to run", |_| world.work().join("pid").exists()).interrupt();
    assert_eq!(run.finish().code(), Some(130));
    let session = world.read(world.base().join("sessions/s.jsonl"));
    let results: Vec<Value> = session
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|record| record["type"] == "tool_result")
        .map(|record| record["output"].clone())
        .collect();
    let message = "The call was canceled before it was done";
    assert_eq!(results, [json!({"ok": false, "error": {"code": "canceled", "message": message}})]);
}

/// The codes of `apply_patch` (L-13). Nothing is changed by a patch of which a part does not fit.
#[test]
fn patches_that_do_not_fit() {
    let patch =
        |body: &str| ("apply_patch", json!({"patch": format!("*** Begin Patch\n{body}\n*** End Patch")}));
    let calls = [
        ("apply_patch", json!({"patch": "nonsense"})),
        patch("*** Update File: missing.txt\n@@\n-a\n+b"),
        patch("*** Add File: a.txt\n+again"),
        patch("*** Add File: b.txt\n+new\n*** Update File: a.txt\n@@\n-three\n+3"),
    ];
    let (result, world) = run_in(furnish, &calls, &[]);
    insta::assert_snapshot!(result, @r"
    error invalid_patch: this is no patch: start with `--- a/FILE` and `+++ b/FILE` (unified diff), or with `*** Begin Patch`
    error file_not_found: File not found: $WORK/missing.txt (ENOENT); check the path
    error file_exists: $WORK/a.txt exists already; update it, or delete it first
    error pattern_not_found: hunk 1 does not fit $WORK/a.txt: these lines were not found:
    three
    Read the file again. Nothing was changed
    ");
    assert_eq!(world.read("a.txt"), "one\ntwo\ntwo\n");
    assert!(!world.work().join("b.txt").exists());
}

/// BASH-6: no error where a command ended well. A parent that ignores the end of its children hands that down, and
/// then their exit codes are lost unless somebody sees to it.
#[cfg(target_os = "linux")]
#[test]
fn exec_error_is_not_for_the_asking() {
    let (world, server) = with_model(script(&[("bash", json!({"command": "exit 7"}))]));
    let ignoring = "exec env --ignore-signal=CHLD \"$0\" \"$@\"";
    let shell = in_shell(&world, ignoring, &["exec", "-p", "go", "--no-save"]);
    world.start(shell, Stdin::Null, Stdout::Captured).finish().success();
    assert_eq!(results(&world, &server, 1), "exit 7\n(no output)");
}

/// ASK-3: without anybody to ask, and with `-y`, which is an answer to other questions, the model is told so.
#[test]
fn unanswered() {
    let question = json!({"question": "Which one?", "options": ["a", "b"]});
    let told = "error unanswered: nobody is there to answer; decide what is most sensible, and say in your reply what you decided";
    assert_eq!(run("ask_user", question.clone()), told);
    assert_eq!(run_in(|_| {}, &[("ask_user", question)], &["-y"]).0, told);
}
