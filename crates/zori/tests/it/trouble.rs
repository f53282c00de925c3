//! When disk, home directory or limits do not play along: the model still answers, the user is told once, and what
//! was saved before stays as it was.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::json;
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::gate::Gate;
use zori_testkit::running::{Stdin, Stdout};

use crate::sessions::{exec_in, put_session};
use crate::world::{in_shell, with_model};

/// Returns the run of a command under a limit on the size of files, in blocks of 512 bytes (some shells: 1024).
fn with_file_limit(world: &TestEnv, blocks: u32, args: &[&str]) -> Command {
    in_shell(world, &format!("ulimit -S -f {blocks}; exec \"$0\" \"$@\""), args)
}

/// Returns the run of a command for which permissions count: as `nobody`, if we are root.
fn unprivileged(world: &TestEnv, args: &[&str]) -> Command {
    let open =
        |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    open(world.work().parent().expect("the world has a top"));
    // The executable may lie where nobody else can go.
    let copy = world.tmp().join("zori");
    if !copy.exists() {
        fs::copy(env!("CARGO_BIN_EXE_zori"), &copy).expect("the executable can be copied");
    }
    let mut command = in_shell(
        world,
        "copy=$1; shift; exec \"$copy\" \"$@\"",
        &[&[copy.to_str().expect("our paths are text")], args].concat(),
    );
    if rustix::process::geteuid().is_root() {
        command.uid(65534).gid(65534);
    }
    command
}

/// Folders that can be written again, and then removed, when the test is over.
struct Closed(Vec<PathBuf>);

/// Gives paths below the base directory these permissions, the inner ones first.
fn closed(world: &TestEnv, paths: &[(&str, u32)]) -> Closed {
    let close = |&(path, mode): &(&str, u32)| {
        let path = world.base().join(path);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("it is ours");
        path
    };
    Closed(paths.iter().map(close).collect())
}

impl Drop for Closed {
    fn drop(&mut self) {
        for path in self.0.iter().rev() {
            let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o755));
        }
    }
}

fn finish(world: &TestEnv, command: Command) -> String {
    world.start(command, Stdin::Null, Stdout::Captured).finish().to_string()
}

fn config(world: &TestEnv, text: &str) {
    world.write(world.base().join("config.toml"), text);
}

/// A model that uses a tool with effects and then answers.
fn one_tool() -> [anthropic::Message; 2] {
    [anthropic::tool_use("t1", "bash", json!({"command": "echo hi"})), anthropic::text("Done.")]
}

/// SES-13, FS-1: one warning, however many records are lost, and the turn goes on.
#[test]
fn a_full_disk() {
    let (world, model) = with_model(one_tool());
    let sessions = world.base().join("sessions");
    fs::create_dir_all(&sessions).unwrap();
    symlink("/dev/full", sessions.join("s.jsonl")).unwrap();
    insta::assert_snapshot!(exec_in(&world, "s", "go").finish(), @r#"
    Done.
    ------- stderr -------
    Warning: Failed to save session: $BASE/sessions/s.jsonl: No space left on device (os error 28)
    Tool requested: bash command="echo hi"
    ⚙ Running bash... Done. (X.XXs)
    Tool finished: bash exit=0
    [exit status: 0]
    "#);
    assert_eq!(model.count(), 2);
}

/// FS-1.
#[test]
fn a_full_disk_when_the_session_is_required() {
    let (world, model) = with_model(one_tool());
    config(&world, "session_required = true\n");
    let sessions = world.base().join("sessions");
    fs::create_dir_all(&sessions).unwrap();
    symlink("/dev/full", sessions.join("s.jsonl")).unwrap();
    insta::assert_snapshot!(exec_in(&world, "s", "go").finish(), @"
    ------- stderr -------
    Warning: Failed to save session: $BASE/sessions/s.jsonl: No space left on device (os error 28); stopping, since `session_required` is set
    [exit status: 1]
    ");
    assert_eq!(model.count(), 0, "the prompt must be saved before it is sent");
}

/// FS-4: SIGXFSZ does not kill; what was saved before is intact, and the rest of the record is on a line of its own.
#[test]
fn a_limit_on_file_sizes() {
    let (mut world, model) = with_model([anthropic::text("One."), anthropic::text("Two.")]);
    exec_in(&world, "s", "first").finish().success();
    let before = world.read(world.base().join("sessions/s.jsonl"));
    let long = "x".repeat(3000);
    let command = with_file_limit(&world, 2, &["exec", "--session", "s", "-p", &long]);
    insta::assert_snapshot!(finish(&world, command), @"
    Two.
    ------- stderr -------
    Warning: Failed to save session: $BASE/sessions/s.jsonl: File too large (os error 27)
    [exit status: 0]
    ");
    assert!(model.request(1).conversation().starts_with("user: first\nassistant: One.\nuser: xxx"));
    let after = world.read(world.base().join("sessions/s.jsonl"));
    assert!(after.starts_with(&before));
    // With the limit gone the session goes on.
    let model = zori_testkit::server::ModelServer::strict([anthropic::text("Three.")]);
    world.use_server(&model);
    insta::assert_snapshot!(exec_in(&world, "s", "third").finish(), @"
    Three.
    ------- stderr -------
    Warning: Session 's' is damaged and goes on without line 4 (cut off)
    [exit status: 0]
    ");
    assert_eq!(model.request(0).conversation(), "user: first\nassistant: One.\nuser: third\n");
}

/// FS-1, DECISIONS 24: after a tool with effects it is a partial failure.
#[test]
fn a_limit_met_after_a_tool_when_the_session_is_required() {
    let (world, model) = with_model([
        anthropic::tool_use("t1", "bash", json!({"command": "head -c 20000 /dev/zero | tr '\\0' x"})),
        anthropic::text("Done."),
    ]);
    config(&world, "session_required = true\n");
    let command = with_file_limit(&world, 8, &["exec", "--session", "s", "-p", "go"]);
    insta::assert_snapshot!(finish(&world, command), @r#"
    ------- stderr -------
    Warning: Session 's' does not exist yet; starting it
    Tool requested: bash command="head -c 20000 /dev/zero | tr '\0' x"
    ⚙ Running bash... Done. (X.XXs)
    Tool finished: bash exit=0
    Warning: Failed to save session: $BASE/sessions/s.jsonl: File too large (os error 27); stopping, since `session_required` is set
    [exit status: 3]
    "#);
    assert_eq!(model.count(), 1);
}

/// FS-1: when there is room again, saving goes on after a mark that says what is missing.
#[test]
fn a_gap_is_marked() {
    let gate = Gate::new();
    let (world, _model) = with_model([
        anthropic::tool_use("t1", "bash", json!({"command": "head -c 20000 /dev/zero | tr '\\0' x"})).reply(),
        anthropic::text("Done.").reply().wait_after(0, &gate),
    ]);
    let command = with_file_limit(&world, 8, &["exec", "--session", "s", "-p", "go"]);
    let mut run = world.start(command, Stdin::Null, Stdout::Captured);
    run.wait_for_stderr("Failed to save session");
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Pid, Resource, Rlimit, prlimit};
        let pid = Pid::from_raw(run.pid() as i32);
        let free = Rlimit { current: None, maximum: None };
        if prlimit(pid, Resource::Fsize, free).is_err() {
            println!("raising a limit is not permitted here; the gap is not looked at");
            return;
        }
        gate.open();
        run.finish().success();
        let text = crate::sessions::saved(&world, "s");
        let tail: Vec<&str> =
            text.lines().skip(3).map(|line| line.split("xxx").next().unwrap_or(line)).collect();
        insta::assert_snapshot!(tail.join("\n"), @r#"
        {"type":"tool_result","tool_use_id":"t1","output":{"ok":true,"data":{"stdout":"
        {"type":"notice","level":"warning","code":"gap","text":"1 record could not be saved here","ts":"$TS"}
        {"type":"message","role":"assistant","text":"Done.","ts":"$TS","model":"claude-haiku-4-5","usage":{"input_tokens":10,"output_tokens":5,"cache_read_tokens":0,"cache_write_tokens":0}}
        "#);
    }
}

/// FS-3: what needs the directory says so; the model answers without it.
#[test]
fn a_base_that_is_a_file() {
    let (world, _model) = with_model([anthropic::text("Hi.")]);
    fs::write(world.base(), "").unwrap();
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @"
    Hi.
    ------- stderr -------
    Warning: the base directory $BASE is not a directory; no session is saved
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["sessions", "list"]), @"
    ------- stderr -------
    Error: the base directory $BASE is not a directory
    [exit status: 4]
    ");
    insta::assert_snapshot!(world.run(&["config", "init"]), @"
    ------- stderr -------
    Error: the base directory $BASE is not a directory
    [exit status: 4]
    ");
}

/// FS-3.
#[test]
fn a_file_where_the_sessions_should_be() {
    let (world, _model) = with_model([anthropic::text("Hi.")]);
    world.write(world.base().join("sessions"), "");
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @"
    Hi.
    ------- stderr -------
    Warning: Failed to save session: $BASE/sessions/$SESSION.lock: Not a directory (os error 20)
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["sessions", "list"]), @"
    ------- stderr -------
    Error: cannot read the sessions: $BASE/sessions: Not a directory (os error 20)
    [exit status: 4]
    ");
    insta::assert_snapshot!(world.run(&["sessions", "show", "s"]), @"
    ------- stderr -------
    Error: cannot read the sessions: $BASE/sessions/s.jsonl: Not a directory (os error 20)
    [exit status: 4]
    ");
    insta::assert_snapshot!(world.run(&["memory", "rebuild"]), @"
    ------- stderr -------
    Error: $BASE/sessions: Not a directory (os error 20)
    Hint: see what the message says of the file
    [exit status: 4]
    ");
}

/// DECISIONS 24: others could plant a config there.
#[test]
fn a_base_that_others_can_write_to() {
    let (world, model) = with_model([anthropic::text("Hi.")]);
    config(&world, "");
    fs::set_permissions(world.base(), fs::Permissions::from_mode(0o777)).unwrap();
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @"
    ------- stderr -------
    Error: the base directory $BASE is writable by others
    Hint: chmod o-w $BASE
    [exit status: 4]
    ");
    for args in [&["sessions", "list"], &["config", "init"], &["config", "path"]] {
        assert_eq!(world.run(args).code(), Some(4), "{args:?}");
    }
    assert_eq!(model.count(), 0);
}

/// FS-3.
#[test]
fn no_home() {
    let (mut world, _model) = with_model([anthropic::text("Hi.")]);
    world.base_from_home().remove_var("HOME");
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @"
    Hi.
    ------- stderr -------
    Warning: there is no base directory: `HOME` is not set; no session is saved
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["config", "path"]), @"
    ------- stderr -------
    Error: there is no base directory: `HOME` is not set
    Hint: set `ZORI_HOME` to a directory of yours
    [exit status: 4]
    ");
}

/// FS-3.
#[test]
fn a_base_that_cannot_be_written_to() {
    let (world, model) =
        with_model([anthropic::text("Hi."), anthropic::text("Again."), anthropic::text("Last.")]);
    put_session(
        &world,
        "s",
        "{\"type\":\"meta\",\"schema_version\":1,\"ts\":\"\"}\n{\"type\":\"message\",\"role\":\"user\",\"text\":\"before\",\"ts\":\"\"}\n",
    );
    let _closed = closed(&world, &[("sessions/s.jsonl", 0o444), ("sessions", 0o555), ("", 0o555)]);
    insta::assert_snapshot!(finish(&world, unprivileged(&world, &["exec", "-p", "hi"])), @"
    Hi.
    ------- stderr -------
    Warning: the base directory $BASE cannot be written to: Permission denied (os error 13); no session is saved and no audit log is kept
    [exit status: 0]
    ");
    insta::assert_snapshot!(finish(&world, unprivileged(&world, &["exec", "--session", "s", "-p", "hi"])), @"
    Again.
    ------- stderr -------
    Warning: the base directory $BASE cannot be written to: Permission denied (os error 13); no session is saved and no audit log is kept
    [exit status: 0]
    ");
    assert_eq!(model.request(1).conversation(), "user: before\nuser: hi\n");
    insta::assert_snapshot!(finish(&world, unprivileged(&world, &["exec", "--no-save", "-p", "hi"])), @"
    Last.
    ------- stderr -------
    Warning: the base directory $BASE cannot be written to: Permission denied (os error 13); no audit log is kept
    [exit status: 0]
    ");
    insta::assert_snapshot!(finish(&world, unprivileged(&world, &["config", "init"])), @"
    ------- stderr -------
    Error: cannot write the config file $BASE/config.toml: Permission denied (os error 13)
    Warning: Failed to write the audit log: $BASE/audit.jsonl: Permission denied (os error 13)
    [exit status: 4]
    ");
}

/// FS-1: whether the session is new or named makes no difference.
#[test]
fn a_base_that_cannot_be_written_to_when_the_session_is_required() {
    let (world, model) = with_model([anthropic::text("Hi.")]);
    config(&world, "session_required = true\n");
    let _closed = closed(&world, &[("", 0o555)]);
    insta::assert_snapshot!(finish(&world, unprivileged(&world, &["exec", "-p", "hi"])), @"
    ------- stderr -------
    Warning: Failed to save session: $BASE/sessions/$SESSION.lock: Permission denied (os error 13); stopping, since `session_required` is set
    Warning: Failed to write the audit log: $BASE/audit.jsonl: Permission denied (os error 13)
    [exit status: 1]
    ");
    insta::assert_snapshot!(finish(&world, unprivileged(&world, &["exec", "--session", "s", "-p", "hi"])), @"
    ------- stderr -------
    Error: Failed to save session: $BASE/sessions/s.lock: Permission denied (os error 13)
    Hint: `session_required` is set in the config file
    Warning: Failed to write the audit log: $BASE/audit.jsonl: Permission denied (os error 13)
    [exit status: 1]
    ");
    assert_eq!(model.count(), 0);
}

#[test]
fn a_session_that_may_not_be_read() {
    let (world, model) = with_model([anthropic::text("Hi.")]);
    put_session(&world, "s", "{}\n");
    let _closed = closed(&world, &[("sessions/s.jsonl", 0o000), ("sessions", 0o555), ("", 0o555)]);
    insta::assert_snapshot!(finish(&world, unprivileged(&world, &["sessions", "show", "s"])), @"
    ------- stderr -------
    Error: cannot read the sessions: $BASE/sessions/s.jsonl: Permission denied (os error 13)
    [exit status: 4]
    ");
    insta::assert_snapshot!(finish(&world, unprivileged(&world, &["sessions", "resume", "s", "-p", "x"])), @"
    ------- stderr -------
    Warning: the base directory $BASE cannot be written to: Permission denied (os error 13); no session is saved and no audit log is kept
    Error: cannot read session `s`: $BASE/sessions/s.jsonl: Permission denied (os error 13)
    [exit status: 4]
    ");
    assert_eq!(model.count(), 0);
}

/// What cannot be listed is not as if nothing were there: nothing is purged, begun anew or called used up.
#[test]
fn a_folder_that_may_not_be_listed_is_not_empty() {
    let (world, _model) = with_model([anthropic::text("Hi.")]);
    put_session(&world, "s", "{}\n");
    let run = |args: &[&str]| finish(&world, unprivileged(&world, args));
    for folder in ["sessions", "sessions/trash", "drafts", "feedback"] {
        fs::create_dir_all(world.base().join(folder)).expect("it can be made");
        let _closed = closed(&world, &[(folder, 0o000)]);
        for args in
            [&["project", "show"][..], &["project", "purge", "--yes"], &["project", "purge", "--dry-run"]]
        {
            let answer = run(args);
            let why = format!("cannot read $BASE/{folder}: Permission denied (os error 13)");
            assert!(answer.contains(&why), "{folder} {args:?}: {answer}");
        }
    }
    // Nothing was written there before: an audit log of one's own could be added to.
    let (world, model) = with_model([anthropic::text("Hi.")]);
    put_session(&world, "s", "{}\n");
    let run = |args: &[&str]| finish(&world, unprivileged(&world, args));
    let _closed = closed(&world, &[("sessions", 0o000), ("", 0o555)]);
    insta::assert_snapshot!(run(&["project", "purge", "--yes"]), @"
    ------- stderr -------
    Error: cannot read $BASE/sessions: Permission denied (os error 13)
    Warning: Failed to write the audit log: $BASE/audit.jsonl: Permission denied (os error 13)
    [exit status: 2]
    ");
    insta::assert_snapshot!(run(&["project", "list"]), @"
    ------- stderr -------
    Error: cannot read the sessions: $BASE/sessions: Permission denied (os error 13)
    [exit status: 4]
    ");
    insta::assert_snapshot!(run(&["memory", "rebuild", "--dry-run"]), @"
    ------- stderr -------
    Error: cannot read the sessions: $BASE/sessions: Permission denied (os error 13)
    Warning: Failed to write the audit log: $BASE/audit.jsonl: Permission denied (os error 13)
    [exit status: 4]
    ");
    insta::assert_snapshot!(run(&["-c", "-p", "x"]), @"
    ------- stderr -------
    Warning: the base directory $BASE cannot be written to: Permission denied (os error 13); no session is saved and no audit log is kept
    Error: cannot read the sessions: $BASE/sessions: Permission denied (os error 13)
    [exit status: 4]
    ");
    insta::assert_snapshot!(run(&["sessions", "resume", "-p", "x"]), @"
    ------- stderr -------
    Error: cannot read the sessions: $BASE/sessions: Permission denied (os error 13)
    Warning: Failed to write the audit log: $BASE/audit.jsonl: Permission denied (os error 13)
    [exit status: 4]
    ");
    assert_eq!(model.count(), 0);
}

#[test]
fn a_config_that_may_not_be_read() {
    let (world, model) = with_model([anthropic::text("Hi.")]);
    config(&world, "model = \"m\"\n");
    let _closed = closed(&world, &[("config.toml", 0o000), ("", 0o555)]);
    insta::assert_snapshot!(finish(&world, unprivileged(&world, &["exec", "-p", "x"])), @"
    ------- stderr -------
    Error: cannot read the config file $BASE/config.toml: Permission denied (os error 13)
    Warning: Failed to write the audit log: $BASE/audit.jsonl: Permission denied (os error 13)
    [exit status: 2]
    ");
    assert_eq!(model.count(), 0);
}

/// FS-3: without a temporary directory long output loses its middle, and that is said; nothing else changes.
#[test]
fn no_temporary_directory() {
    let (mut world, model) = with_model([
        anthropic::tool_use("t1", "bash", json!({"command": "head -c 200000 /dev/zero | tr '\\0' x"})),
        anthropic::text("Done."),
    ]);
    world.set_var("TMPDIR", world.work().join("nowhere"));
    world.run(&["exec", "-p", "go"]).success();
    let text = model.request(1).conversation();
    let note = text.lines().find(|line| line.contains("cut here")).unwrap().to_owned();
    insta::assert_snapshot!(note, @"[... 35822 bytes cut here; run it again with less output to see that ...]");
}

/// CH-4, DECISIONS 14: memory stays bounded, the model sees head and tail, and the file has all of it.
#[cfg(target_os = "linux")]
#[test]
fn a_gibibyte_of_output() {
    let gate = Gate::new();
    let (world, model) = with_model([
        anthropic::tool_use(
            "t1",
            "bash",
            json!({"command": "echo begin; head -c 1073741000 /dev/zero; echo end"}),
        )
        .reply(),
        anthropic::text("Much.").reply().wait_after(0, &gate),
    ]);
    let start = Instant::now();
    let mut run = exec_in(&world, "s", "go");
    run.wait_until("the next request", |_| model.count() == 2);
    let peak = run.peak_memory().unwrap();
    println!("{:?}, {} MiB", start.elapsed(), peak >> 20);
    assert!(peak < 160 << 20, "{} MiB", peak >> 20);
    let body = model.request(1).messages()[2]["content"][0]["content"].as_str().unwrap().to_owned();
    assert!(body.len() < 66 << 10 && body.contains("of binary data"), "{body}");
    let session = fs::read_to_string(world.base().join("sessions/s.jsonl")).unwrap();
    let line = session.lines().find(|line| line.contains("stdout_file")).unwrap();
    let result: serde_json::Value = serde_json::from_str(line).unwrap();
    let data = &result["output"]["data"];
    let stdout = data["stdout"].as_str().unwrap();
    assert!(stdout.starts_with("begin\n\0\0") && stdout.ends_with("\0\0end\n"));
    let facts = (stdout.len() < 66 << 10, &data["stdout_truncated"], &data["exit_code"], &data["timed_out"]);
    assert_eq!(facts, (true, &json!(true), &json!(0), &json!(false)));
    let file = data["stdout_file"].as_str().unwrap();
    let spilled = fs::metadata(file).unwrap();
    assert_eq!((spilled.len(), spilled.permissions().mode() & 0o777), (1_073_741_000 + 10, 0o600));
    assert!(Path::new(file).starts_with(world.tmp()));
    gate.open();
    run.finish().success();
    assert!(!Path::new(file).exists(), "the folder goes with the run");
    assert_eq!(fs::read_dir(world.tmp()).unwrap().count(), 0);
}
