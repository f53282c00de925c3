//! `--timeout`: the whole command ends in time with exit 10, whatever it waits for (DECISIONS 25).

use serde_json::json;
use zori_testkit::anthropic;
use zori_testkit::reply::Reply;
use zori_testkit::running::{Stdin, Stdout};

use crate::processes::{pids, wait_until_gone};
use crate::sessions::{only_session, put_session, saved};
use crate::world::{in_shell, with_model, world};

#[test]
fn a_model_that_says_nothing() {
    let (world, model) = with_model([Reply::stall()]);
    insta::assert_snapshot!(world.run(&["exec", "--timeout", "2s", "-p", "hi"]), @"
    ------- stderr -------
    Error: The time for this command is over (`--timeout`)
    [exit status: 10]
    ");
    assert_eq!(model.count(), 1);
    insta::assert_snapshot!(saved(&world, &only_session(&world)), @r#"
    {"type":"meta","schema_version":1,"ts":"$TS","root":"$WORK"}
    {"type":"message","role":"user","text":"hi","ts":"$TS"}
    {"type":"notice","level":"error","code":"timeout","text":"The time for this command is over (`--timeout`)","ts":"$TS"}
    "#);
}

/// The command's group is gone, the call has its result, and the words so far are kept.
#[test]
fn a_command_that_hangs() {
    let command = "sleep 300 & echo $! > new; echo $$ >> new; mv new pids; wait";
    let (world, _model) =
        with_model([anthropic::text("Running it.").tool_use("t1", "bash", json!({"command": command}))]);
    insta::assert_snapshot!(world.run(&["exec", "--timeout", "3s", "-p", "hi"]), @r#"
    Running it.
    ------- stderr -------
    Tool requested: bash command="sleep 300 & echo $! > new; echo $$ >> new; mv new pids; wait"
    ⚙ Running bash... Done. (X.XXs)
    Tool finished: bash error="The call was canceled before it was done"
    Error: The time for this command is over (`--timeout`)
    [exit status: 10]
    "#);
    wait_until_gone(&pids(&world).unwrap());
    insta::assert_snapshot!(saved(&world, &only_session(&world)), @r#"
    {"type":"meta","schema_version":1,"ts":"$TS","root":"$WORK"}
    {"type":"message","role":"user","text":"hi","ts":"$TS"}
    {"type":"message","role":"assistant","text":"Running it.","ts":"$TS"}
    {"type":"tool_use","id":"t1","name":"bash","input":{"command":"sleep 300 & echo $! > new; echo $$ >> new; mv new pids; wait"},"ts":"$TS","model":"claude-haiku-4-5","usage":{"input_tokens":10,"output_tokens":5,"cache_read_tokens":0,"cache_write_tokens":0}}
    {"type":"changed","tool_use_id":"t1","op":1,"created":1,"modified":0,"deleted":0,"paths":["pids"],"coverage":"full","ts":"$TS"}
    {"type":"tool_result","tool_use_id":"t1","output":{"ok":false,"error":{"code":"canceled","message":"The call was canceled before it was done"}},"ok":false,"ts":"$TS"}
    {"type":"notice","level":"error","code":"timeout","text":"The time for this command is over (`--timeout`)","ts":"$TS"}
    "#);
}

#[test]
fn a_wait_before_a_retry() {
    let busy = anthropic::http_error(503, "api_error", "busy").header("retry-after", "60");
    let (world, _model) = with_model([busy]);
    insta::assert_snapshot!(world.run(&["exec", "--timeout", "2s", "-p", "hi"]), @"
    ------- stderr -------
    Retrying in 60.0s (1/4): HTTP 503: busy
    Error: The time for this command is over (`--timeout`)
    [exit status: 10]
    ");
}

#[test]
fn a_prompt_that_does_not_come() {
    let (world, model) = with_model([anthropic::text("never")]);
    let run = world.start(world.cmd(&["exec", "--timeout=200ms"]), Stdin::Open, Stdout::Captured);
    insta::assert_snapshot!(run.finish(), @"
    ------- stderr -------
    Error: the command was not done within 200ms (`--timeout`)
    [exit status: 10]
    ");
    assert_eq!(model.count(), 0);
}

/// A utility command has a clock, too. Nobody reads what it prints, and there is more than a pipe holds.
#[test]
fn a_reader_that_does_not_read() {
    let world = world();
    let long = json!({"type": "message", "role": "user", "text": "x".repeat(1 << 20)});
    put_session(&world, "s", &long.to_string());
    let script = "mkfifo pipe; exec 3<>pipe; exec \"$0\" \"$@\" >&3";
    let shell = in_shell(&world, script, &["sessions", "show", "s", "--timeout", "1s"]);
    insta::assert_snapshot!(world.start(shell, Stdin::Null, Stdout::Captured).finish(), @"
    ------- stderr -------
    Error: the command was not done within 1s (`--timeout`)
    [exit status: 10]
    ");
}

/// The turn cannot hear that it is cancelled while it writes; so it is cut off a little later.
#[test]
fn a_reader_that_does_not_read_the_answer() {
    let (world, _model) = with_model([anthropic::text(&"x".repeat(1 << 20))]);
    let script = "mkfifo pipe; exec 3<>pipe; exec \"$0\" \"$@\" >&3";
    let shell = in_shell(&world, script, &["exec", "--timeout", "1s", "-p", "hi"]);
    insta::assert_snapshot!(world.start(shell, Stdin::Null, Stdout::Captured).finish(), @"
    ------- stderr -------
    Error: the command was not done within 1s (`--timeout`)
    [exit status: 10]
    ");
}

#[test]
fn a_command_that_is_done_in_time() {
    let (world, _model) = with_model([anthropic::text("Hello.")]);
    for time in ["1h", "300", "0"] {
        world.run(&["config", "path", "--timeout", time]).success();
    }
    insta::assert_snapshot!(world.run(&["exec", "--timeout", "5m", "-p", "hi"]), @"
    Hello.
    [exit status: 0]
    ");
}

#[test]
fn a_profile_that_folds_exit_codes() {
    let (world, _model) = with_model([Reply::stall()]);
    assert_eq!(world.run(&["--as", "zdx", "--timeout", "100ms", "exec", "-p", "hi"]).code(), Some(1));
    let run =
        world.start(world.cmd(&["exec", "--as", "zdx", "--timeout=100ms"]), Stdin::Open, Stdout::Captured);
    assert_eq!(run.finish().code(), Some(1));
}

#[test]
fn a_time_that_is_none() {
    insta::assert_snapshot!(world().run(&["exec", "--timeout", "soon", "-p", "hi"]), @"
    ------- stderr -------
    Error: `--timeout` takes `500ms`, `30s`, `5m`, `1h`, seconds, or 0 for none, not `soon`
    [exit status: 2]
    ");
}
