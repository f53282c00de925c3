//! Saved sessions: what is in the file, who may write to it, and what `sessions list` and `sessions show` make of it.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::json;
use zori_testkit::env::TestEnv;
use zori_testkit::gate::Gate;
use zori_testkit::reply::Reply;
use zori_testkit::running::{Running, Stdin, Stdout};
use zori_testkit::{anthropic, wait};

use crate::world::{with_model, world};

/// Returns a session's file, with paths rewritten and each time as `$TS` if it has the shape of SES-3.
#[track_caller]
pub fn saved(world: &TestEnv, id: &str) -> String {
    let text = world.read(world.base().join(format!("sessions/{id}.jsonl")));
    let lines = text.split_inclusive('\n').map(|line| match line.split_once("\"ts\":\"") {
        Some((before, rest)) if is_time(rest.get(..20).unwrap_or_default()) => {
            format!("{before}\"ts\":\"$TS{}", &rest[20..])
        }
        _ => line.to_owned(),
    });
    world.rewrite().apply(&lines.collect::<String>())
}

/// `2026-01-31T12:00:00Z`.
fn is_time(text: &str) -> bool {
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    shape == "0000-00-00T00:00:00Z"
}

/// Returns the id of the one session there is.
#[track_caller]
pub fn only_session(world: &TestEnv) -> String {
    let files = world.session_files();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].file_stem().and_then(|stem| stem.to_str()).expect("a session's name is text").to_owned()
}

/// Starts `exec` in a session.
pub fn exec_in(world: &TestEnv, session: &str, prompt: &str) -> Running {
    let command = world.cmd(&["exec", "--session", session, "--retries", "0", "-p", prompt]);
    world.start(command, Stdin::Null, Stdout::Captured)
}

/// Writes a session file by hand.
pub fn put_session(world: &TestEnv, id: &str, lines: &str) {
    world.write(world.base().join(format!("sessions/{id}.jsonl")), lines);
}

/// SES-1, SES-2, SES-3, SES-6, DECISIONS 28.
#[test]
fn a_plain_exec_saves_exactly_three_records() {
    let (world, _model) = with_model([anthropic::text("Hello there")]);
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @"
    Hello there
    [exit status: 0]
    ");
    insta::assert_snapshot!(saved(&world, &only_session(&world)), @r#"
    {"type":"meta","schema_version":1,"ts":"$TS","root":"$WORK"}
    {"type":"message","role":"user","text":"hi","ts":"$TS"}
    {"type":"message","role":"assistant","text":"Hello there","ts":"$TS","model":"claude-haiku-4-5","usage":{"input_tokens":10,"output_tokens":5,"cache_read_tokens":0,"cache_write_tokens":0}}
    "#);
}

/// SES-4: version 4, lower case, hyphens.
#[test]
fn ids_are_random_uuids() {
    let (world, _model) = with_model([anthropic::text("a"), anthropic::text("b")]);
    world.run(&["exec", "-p", "1"]).success();
    let first = only_session(&world);
    world.run(&["exec", "-p", "2"]).success();
    assert_eq!(world.session_files().len(), 2);
    let shape: String =
        first.chars().map(|c| if matches!(c, '0'..='9' | 'a'..='f') { 'x' } else { c }).collect();
    assert_eq!(shape, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx");
    assert_eq!(&first[14..15], "4");
    assert!("89ab".contains(&first[19..20]), "{first}");
}

/// SES-6, SES-7.
#[test]
fn a_second_exec_appends_two_lines_and_sends_the_history() {
    let (world, model) = with_model([anthropic::text("One."), anthropic::text("Two.")]);
    insta::assert_snapshot!(world.run(&["exec", "--session", "s", "-p", "first"]), @"
    One.
    ------- stderr -------
    Warning: Session 's' does not exist yet; starting it
    [exit status: 0]
    ");
    let before = world.read(world.base().join("sessions/s.jsonl"));
    insta::assert_snapshot!(world.run(&["exec", "--session", "s", "-p", "second"]), @"
    Two.
    [exit status: 0]
    ");
    let after = world.read(world.base().join("sessions/s.jsonl"));
    assert!(after.starts_with(&before));
    insta::assert_snapshot!(saved(&world, "s"), @r#"
    {"type":"meta","schema_version":1,"ts":"$TS","root":"$WORK"}
    {"type":"message","role":"user","text":"first","ts":"$TS"}
    {"type":"message","role":"assistant","text":"One.","ts":"$TS","model":"claude-haiku-4-5","usage":{"input_tokens":10,"output_tokens":5,"cache_read_tokens":0,"cache_write_tokens":0}}
    {"type":"message","role":"user","text":"second","ts":"$TS"}
    {"type":"message","role":"assistant","text":"Two.","ts":"$TS","model":"claude-haiku-4-5","usage":{"input_tokens":10,"output_tokens":5,"cache_read_tokens":0,"cache_write_tokens":0}}
    "#);
    assert_eq!(model.request(1).conversation(), "user: first\nassistant: One.\nuser: second\n");
}

/// SES-2, EV-3: text before a call is a message of its own; the last record of a reply has model and usage.
#[test]
fn tool_calls_and_results_are_records() {
    let (world, _model) = with_model([
        anthropic::text("Let me look.").tool_use("toolu_1", "bash", json!({"command": "echo out"})),
        anthropic::tool_use("toolu_2", "read", json!({"path": "missing"})),
        anthropic::text("Done."),
    ]);
    world.run(&["exec", "--session", "s", "-p", "go"]).success();
    insta::assert_snapshot!(saved(&world, "s"), @r#"
    {"type":"meta","schema_version":1,"ts":"$TS","root":"$WORK"}
    {"type":"message","role":"user","text":"go","ts":"$TS"}
    {"type":"message","role":"assistant","text":"Let me look.","ts":"$TS"}
    {"type":"tool_use","id":"toolu_1","name":"bash","input":{"command":"echo out"},"ts":"$TS","model":"claude-haiku-4-5","usage":{"input_tokens":10,"output_tokens":5,"cache_read_tokens":0,"cache_write_tokens":0}}
    {"type":"tool_result","tool_use_id":"toolu_1","output":{"ok":true,"data":{"stdout":"out\n","stderr":"","exit_code":0,"timed_out":false}},"ok":true,"ts":"$TS"}
    {"type":"tool_use","id":"toolu_2","name":"read","input":{"path":"missing"},"ts":"$TS","model":"claude-haiku-4-5","usage":{"input_tokens":10,"output_tokens":5,"cache_read_tokens":0,"cache_write_tokens":0}}
    {"type":"tool_result","tool_use_id":"toolu_2","output":{"ok":false,"error":{"code":"path_error","message":"File not found: $WORK/missing (ENOENT); check the path"}},"ok":false,"ts":"$TS"}
    {"type":"message","role":"assistant","text":"Done.","ts":"$TS","model":"claude-haiku-4-5","usage":{"input_tokens":10,"output_tokens":5,"cache_read_tokens":0,"cache_write_tokens":0}}
    "#);
}

/// L-2: reasoning is kept with what the provider wants back, byte for byte.
#[test]
fn reasoning_is_a_record_with_its_signature() {
    let (world, _model) = with_model([anthropic::thinking("Hm.", "c2ln/+==").text("Yes.")]);
    world.run(&["exec", "--session", "s", "-p", "go"]).success();
    insta::assert_snapshot!(saved(&world, "s"), @r#"
    {"type":"meta","schema_version":1,"ts":"$TS","root":"$WORK"}
    {"type":"message","role":"user","text":"go","ts":"$TS"}
    {"type":"reasoning","text":"Hm.","replay":{"provider":"anthropic","model":"claude-sonnet-5-5","block":{"type":"thinking","thinking":"Hm.","signature":"c2ln/+=="}},"ts":"$TS"}
    {"type":"message","role":"assistant","text":"Yes.","ts":"$TS","model":"claude-haiku-4-5","usage":{"input_tokens":10,"output_tokens":5,"cache_read_tokens":0,"cache_write_tokens":0}}
    "#);
}

/// SES-5: the user's words are in the file before the request goes out; nothing is, when no turn begins.
#[test]
fn the_prompt_is_saved_before_it_is_sent() {
    let (world, model) = with_model([Reply::stall()]);
    let mut run = exec_in(&world, "s", "hi");
    run.wait_until("the request", |_| model.count() == 1);
    insta::assert_snapshot!(saved(&world, "s"), @r#"
    {"type":"meta","schema_version":1,"ts":"$TS","root":"$WORK"}
    {"type":"message","role":"user","text":"hi","ts":"$TS"}
    "#);
}

#[test]
fn a_start_that_fails_leaves_no_file() {
    let world = world();
    assert_eq!(world.run(&["exec", "-p", "hi"]).code(), Some(8));
    assert!(!world.base().exists());
}

/// PATH-3.
#[test]
fn no_save_creates_nothing() {
    let (world, _model) = with_model([anthropic::text("Hi.")]);
    insta::assert_snapshot!(world.run(&["--no-save", "exec", "-p", "hi"]), @"
    Hi.
    [exit status: 0]
    ");
    assert!(!world.base().exists());
}

/// CLI-4.
#[test]
fn no_save_with_a_session_reads_it_and_writes_nothing() {
    let (world, model) = with_model([anthropic::text("One."), anthropic::text("Two.")]);
    world.run(&["exec", "--session", "s", "-p", "first"]).success();
    let before = world.read(world.base().join("sessions/s.jsonl"));
    insta::assert_snapshot!(world.run(&["exec", "--session", "s", "--no-save", "-p", "second"]), @"
    Two.
    [exit status: 0]
    ");
    assert_eq!(world.read(world.base().join("sessions/s.jsonl")), before);
    assert_eq!(model.request(1).conversation(), "user: first\nassistant: One.\nuser: second\n");
}

/// SES-12.
#[test]
fn only_the_owner_can_read_sessions() {
    let (world, _model) = with_model([anthropic::text("Hi.")]);
    world.run(&["exec", "--session", "s", "-p", "hi"]).success();
    let mode = |path: &str| fs::metadata(world.base().join(path)).unwrap().permissions().mode() & 0o7777;
    let modes = ["", "sessions", "sessions/s.jsonl"].map(|path| format!("{:o}", mode(path)));
    assert_eq!(modes, ["700", "700", "600"]);
    let names: Vec<_> =
        fs::read_dir(world.base().join("sessions")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["s.jsonl"], "no lock is left behind");
}

/// The key is in no file, whatever the model does (CFG-4).
#[test]
fn the_key_is_not_saved() {
    let (world, _model) =
        with_model([anthropic::tool_use("t1", "bash", json!({"command": "env"})), anthropic::text("Done.")]);
    world.run(&["exec", "--session", "s", "-p", "hi"]).success();
    let text = world.read(world.base().join("sessions/s.jsonl"));
    assert!(text.contains("PATH=") && !text.contains(zori_testkit::env::TEST_KEY), "{text}");
}

#[test]
fn an_id_that_is_a_path_is_refused() {
    let world = world();
    insta::assert_snapshot!(world.run(&["exec", "--session", "../evil", "-p", "hi"]), @"
    ------- stderr -------
    Error: `--session` cannot be `../evil`: it leads out of the allowed folder
    Hint: `evil`, if that is what you mean
    [exit status: 2]
    ");
    let long = "x".repeat(129);
    for id in ["a/b", ".hidden", "-x", "", "a b", "ä", "..", long.as_str()] {
        let flag = format!("--session={id}");
        for args in [vec!["exec", flag.as_str(), "-p", "hi"], vec!["sessions", "show", "--", id]] {
            assert_eq!(world.run(&args).code(), Some(2), "{args:?}");
        }
    }
    assert!(!world.base().exists());
}

#[test]
fn no_sessions() {
    let world = world();
    insta::assert_snapshot!(world.run(&["sessions", "list"]), @"
    No sessions found.
    [exit status: 0]
    ");
    assert!(!world.base().exists(), "PATH-3: listing creates nothing");
}

#[test]
fn the_list_is_newest_first_and_has_sessions_only() {
    let world = world();
    let sessions = world.base().join("sessions");
    for (name, seconds) in [
        ("old.jsonl", 1_000_000_000),
        ("new.jsonl", 1_767_225_599),
        ("middle.jsonl", 1_500_000_000),
        ("notes.txt", 1_800_000_000),
        ("new.lock", 1_800_000_000),
        (".hidden.jsonl", 1_800_000_000),
    ] {
        let path = world.write(sessions.join(name), "{}\n");
        File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_modified(UNIX_EPOCH + Duration::from_secs(seconds))
            .unwrap();
    }
    fs::create_dir(sessions.join("folder.jsonl")).unwrap();
    insta::assert_snapshot!(world.run(&["sessions", "list"]), @"
    new  2025-12-31 23:59
    middle  2017-07-14 02:40
    old  2001-09-09 01:46
    [exit status: 0]
    ");
}

/// SHOW-1.
#[test]
fn the_transcript_of_a_session() {
    let (world, _model) = with_model([
        anthropic::text("Looking.").tool_use("t1", "bash", json!({"command": "echo hi"})),
        anthropic::tool_use("t2", "read", json!({"path": "missing"})),
        anthropic::text("All done."),
    ]);
    world.run(&["exec", "--session", "s", "-p", "Please look"]).success();
    insta::assert_snapshot!(world.run(&["sessions", "show", "s"]), @r#"
    ### Session (schema v1)

    ### You
    Please look

    ### Assistant
    Looking.

    ### Tool: bash
    ```json
    {"command":"echo hi"}
    ```

    ### Result ✓
    ```json
    {"ok":true,"data":{"stdout":"hi\n","stderr":"","exit_code":0,"timed_out":false}}
    ```

    ### Tool: read
    ```json
    {"path":"missing"}
    ```

    ### Result ✗
    ```json
    {"ok":false,"error":{"code":"path_error","message":"File not found: $WORK/missing (ENOENT); check the path"}}
    ```

    ### Assistant
    All done.
    [exit status: 0]
    "#);
}

#[test]
fn a_long_result_is_cut_between_two_characters() {
    let world = world();
    let output = format!("{{\"ok\":true,\"data\":{{\"text\":\"{}\"}}}}", "ü".repeat(600));
    put_session(
        &world,
        "s",
        &format!(
            "{}\n{}\n{{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"output\":{output},\"ok\":true,\"ts\":\"\"}}\n",
            r#"{"type":"meta","schema_version":1,"ts":"2026-01-01T00:00:00Z"}"#,
            r#"{"type":"interrupted","role":"system","text":"Interrupted","ts":"2026-01-01T00:00:00Z"}"#,
        ),
    );
    let shown: String = output.chars().take(500).collect();
    assert_eq!(
        world.run(&["sessions", "show", "s"]).success().stdout(),
        format!("### Session (schema v1)\n\n### Interrupted\n\n### Result ✓\n```json\n{shown}...\n```\n")
    );
}

#[test]
fn a_session_that_is_not_there_or_empty_cannot_be_shown() {
    let world = world();
    insta::assert_snapshot!(world.run(&["sessions", "show", "nope"]), @"
    ------- stderr -------
    Error: Session 'nope' is empty or not found.
    Hint: `zori sessions list` shows the sessions there are
    [exit status: 5]
    ");
    assert!(!world.base().exists(), "PATH-3: showing creates nothing");
    put_session(&world, "empty", "\n\n");
    assert_eq!(world.run(&["sessions", "show", "empty"]).code(), Some(5));
}

/// SES-9, SES-14.
#[test]
fn unknown_records_and_fields_are_passed_over() {
    let (world, model) = with_model([anthropic::text("Yes.")]);
    put_session(
        &world,
        "s",
        concat!(
            r#"{"type":"meta","schema_version":7,"ts":"2026-01-01T00:00:00Z","mood":"good"}"#,
            "\n\n",
            r#"{"type":"message","role":"user","text":"a","ts":"2026-01-01T00:00:00Z","shape":[1]}"#,
            "\n",
            r#"{"type":"from_the_future","x":1}"#,
            "\n",
            r#"{"type":"message","role":"assistant","text":"b","ts":"2026-01-01T00:00:00Z"}"#,
            "\n"
        ),
    );
    insta::assert_snapshot!(world.run(&["exec", "--session", "s", "-p", "c"]), @"
    Yes.
    [exit status: 0]
    ");
    assert_eq!(model.request(0).conversation(), "user: a\nassistant: b\nuser: c\n");
}

/// LOG-8.
#[test]
fn a_session_in_use_is_refused_with_the_holders_process_id() {
    let gate = Gate::new();
    let (world, model) = with_model([
        anthropic::text("First.").reply().wait_after(0, &gate),
        anthropic::text("Third.").reply(),
    ]);
    let mut first = exec_in(&world, "s", "one");
    first.wait_until("the request", |_| model.count() == 1);
    let second = exec_in(&world, "s", "two").finish();
    assert_eq!(
        second.to_string().replace(&first.pid().to_string(), "$PID"),
        "------- stderr -------\n\
         Error: session `s` is in use by process $PID\n\
         Hint: end that process, or leave `--session` out to start another session\n\
         [exit status: 4]"
    );
    gate.open();
    first.finish().success();
    exec_in(&world, "s", "three").finish().success();
    assert_eq!(model.request(1).conversation(), "user: one\nassistant: First.\nuser: three\n");
}

/// LOG-8: the kernel lets go of the lock, and the file that stays does not matter.
#[test]
fn the_lock_of_a_killed_process_does_not_block() {
    let (world, model) = with_model([Reply::stall(), anthropic::text("Here.").reply()]);
    let mut first = exec_in(&world, "s", "one");
    first.wait_until("the request", |_| model.count() == 1).kill();
    first.finish();
    assert!(world.base().join("sessions/s.lock").exists());
    insta::assert_snapshot!(exec_in(&world, "s", "two").finish(), @"
    Here.
    [exit status: 0]
    ");
    assert_eq!(model.request(1).conversation(), "user: one\nuser: two\n");
}

/// LOG-8: whoever is let in writes whole records; nobody waits.
#[test]
fn processes_that_race_for_one_session_never_interleave() {
    let (world, _model) = with_model((0..12).map(|_| anthropic::text("Yes.")));
    let codes: Vec<Option<i32>> = (0..3)
        .flat_map(|round| {
            let runs: Vec<Running> = (0..4).map(|n| exec_in(&world, "s", &format!("{round}-{n}"))).collect();
            runs.into_iter().map(|run| run.finish().code()).collect::<Vec<_>>()
        })
        .collect();
    assert!(codes.iter().all(|code| matches!(code, Some(0 | 4))), "{codes:?}");
    let done = codes.iter().filter(|code| **code == Some(0)).count();
    let text = world.read(world.base().join("sessions/s.jsonl"));
    let kinds: Vec<String> = text
        .lines()
        .map(|line| {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            record["role"].as_str().or(record["type"].as_str()).unwrap().to_owned()
        })
        .collect();
    let expected = std::iter::once("meta").chain(std::iter::repeat_n(["user", "assistant"], done).flatten());
    assert_eq!(kinds, expected.collect::<Vec<_>>());
    assert!(done >= 3, "one of each round gets in: {codes:?}");
}

/// LOG-9.
#[test]
fn many_processes_share_a_home() {
    let (world, model) = with_model((0..16).map(|_| anthropic::text("Yes.")));
    let runs: Vec<Running> = (0..16).map(|n| exec_in(&world, &format!("s{n}"), "go")).collect();
    for run in runs {
        run.finish().success();
    }
    wait::until("all requests", || model.count() == 16);
    assert_eq!(world.session_files().len(), 16);
    for n in 0..16 {
        assert_eq!(saved(&world, &format!("s{n}")), saved(&world, "s0"));
    }
}
