//! Ctrl-C, SIGTERM and SIGHUP in each state of a run: how it ends, what is saved, and that nothing is left behind.
//!
//! The figure is 250 ms (INT-3, CAN-1). A busy machine gets two seconds; what was measured is printed.

use std::time::{Duration, Instant};

use serde_json::json;
use zori_testkit::anthropic;
use zori_testkit::gate::Gate;
use zori_testkit::output::CommandOutput;
use zori_testkit::reply::Reply;
use zori_testkit::running::{Running, Stdin, Stdout};

use crate::processes::{pids, wait_until_gone};
use crate::sessions::{exec_in, only_session, saved};
use crate::world::{in_shell, with_model, world};

/// Waits for the end of a run that was just signalled, which has to come soon.
#[expect(clippy::print_stdout, reason = "what was measured is for whoever reads the test's output")]
#[track_caller]
fn soon(run: Running) -> CommandOutput {
    let start = Instant::now();
    let output = run.finish();
    println!("{:?}", start.elapsed());
    assert!(start.elapsed() < Duration::from_secs(15), "it took {:?}\n{output}", start.elapsed());
    output
}

/// INT-1, SES-11.
#[test]
fn while_waiting_for_the_first_byte() {
    let (world, model) = with_model([Reply::stall()]);
    let mut run = exec_in(&world, "s", "hi");
    run.wait_until("the request", |_| model.count() == 1).interrupt();
    insta::assert_snapshot!(soon(run), @"
    ------- stderr -------
    Warning: Session 's' does not exist yet; starting it

    ^C Interrupted.
    [exit status: 130]
    ");
    insta::assert_snapshot!(saved(&world, "s"), @r#"
    {"type":"meta","schema_version":1,"ts":"$TS","root":"$WORK"}
    {"type":"message","role":"user","text":"hi","ts":"$TS"}
    {"type":"interrupted","role":"system","text":"Interrupted","ts":"$TS"}
    "#);
}

/// The model stops before it says that the text is over. INT-4: what was said so far is kept, before the interrupt.
#[test]
fn while_the_model_speaks() {
    let gate = Gate::new();
    let (world, _model) = with_model([anthropic::text("Some words").reply().wait_after(4, &gate)]);
    let mut run = world.start(world.cmd(&["exec", "-p", "hi"]), Stdin::Null, Stdout::Captured);
    run.wait_for_stdout("Some words").interrupt();
    insta::assert_snapshot!(soon(run), @"
    Some words
    ------- stderr -------

    ^C Interrupted.
    [exit status: 130]
    ");
    insta::assert_snapshot!(saved(&world, &only_session(&world)), @r#"
    {"type":"meta","schema_version":1,"ts":"$TS","root":"$WORK"}
    {"type":"message","role":"user","text":"hi","ts":"$TS"}
    {"type":"message","role":"assistant","text":"Some words","ts":"$TS","model":"claude-haiku-4-5","usage":{"input_tokens":10,"output_tokens":1,"cache_read_tokens":0,"cache_write_tokens":0},"partial":true}
    {"type":"interrupted","role":"system","text":"Interrupted","ts":"$TS"}
    "#);
}

/// NET-8: a call that did not arrive as a whole is neither run nor saved.
#[test]
fn while_a_call_arrives() {
    let gate = Gate::new();
    let message =
        anthropic::text("Writing.").tool_use("t1", "write", json!({"path": "new.txt", "content": "x"}));
    // The start of the message, three events of text, the start of the call and half of its input.
    let (world, _model) = with_model([message.reply().wait_after(6, &gate)]);
    let mut run = world.start(world.cmd(&["exec", "-p", "hi"]), Stdin::Null, Stdout::Captured);
    run.wait_for_stdout("Writing.").interrupt();
    insta::assert_snapshot!(soon(run), @"
    Writing.
    ------- stderr -------

    ^C Interrupted.
    [exit status: 130]
    ");
    assert!(!world.work().join("new.txt").exists());
    insta::assert_snapshot!(saved(&world, &only_session(&world)), @r#"
    {"type":"meta","schema_version":1,"ts":"$TS","root":"$WORK"}
    {"type":"message","role":"user","text":"hi","ts":"$TS"}
    {"type":"message","role":"assistant","text":"Writing.","ts":"$TS","model":"claude-haiku-4-5","usage":{"input_tokens":10,"output_tokens":1,"cache_read_tokens":0,"cache_write_tokens":0},"partial":true}
    {"type":"interrupted","role":"system","text":"Interrupted","ts":"$TS"}
    "#);
}

/// INT-3, CH-2: the whole group goes, and the call has a result.
#[test]
fn while_a_command_runs() {
    let command = "sleep 300 & echo $! > new; echo $$ >> new; mv new pids; wait";
    let (world, _model) =
        with_model([anthropic::text("Running it.").tool_use("t1", "bash", json!({"command": command}))]);
    let mut run = world.start(world.cmd(&["exec", "-p", "hi"]), Stdin::Null, Stdout::Captured);
    run.wait_until("the children", |_| pids(&world).is_some()).interrupt();
    insta::assert_snapshot!(soon(run), @r#"
    Running it.
    ------- stderr -------
    Tool requested: bash command="sleep 300 & echo $! > new; echo $$ >> new; mv new pids; wait"
    ⚙ Running bash... Done. (X.XXs)
    Tool finished: bash error="The call was canceled before it was done"

    ^C Interrupted.
    [exit status: 130]
    "#);
    wait_until_gone(&pids(&world).unwrap());
    insta::assert_snapshot!(saved(&world, &only_session(&world)), @r#"
    {"type":"meta","schema_version":1,"ts":"$TS","root":"$WORK"}
    {"type":"message","role":"user","text":"hi","ts":"$TS"}
    {"type":"message","role":"assistant","text":"Running it.","ts":"$TS"}
    {"type":"tool_use","id":"t1","name":"bash","input":{"command":"sleep 300 & echo $! > new; echo $$ >> new; mv new pids; wait"},"ts":"$TS","model":"claude-haiku-4-5","usage":{"input_tokens":10,"output_tokens":5,"cache_read_tokens":0,"cache_write_tokens":0}}
    {"type":"changed","tool_use_id":"t1","op":1,"created":1,"modified":0,"deleted":0,"paths":["pids"],"coverage":"full","ts":"$TS"}
    {"type":"tool_result","tool_use_id":"t1","output":{"ok":false,"error":{"code":"canceled","message":"The call was canceled before it was done"}},"ok":false,"ts":"$TS"}
    {"type":"interrupted","role":"system","text":"Interrupted","ts":"$TS"}
    "#);
}

/// NET-7: cancelling interrupts the wait.
#[test]
fn during_the_wait_before_a_retry() {
    let (world, model) =
        with_model([anthropic::http_error(503, "api_error", "busy").header("retry-after", "60")]);
    let mut run = world.start(world.cmd(&["exec", "-p", "hi"]), Stdin::Null, Stdout::Captured);
    run.wait_for_stderr("Retrying in").interrupt();
    insta::assert_snapshot!(soon(run), @"
    ------- stderr -------
    Retrying in 60.0s (1/4): HTTP 503: busy

    ^C Interrupted.
    [exit status: 130]
    ");
    assert_eq!(model.count(), 1);
}

#[test]
fn while_the_prompt_is_read_from_stdin() {
    let (world, model) = with_model([anthropic::text("x")]);
    let mut run = world.start(world.cmd(&["exec"]), Stdin::Open, Stdout::Captured);
    run.wait_for_stderr("Reading the prompt").interrupt();
    insta::assert_snapshot!(soon(run), @"
    ------- stderr -------
    Reading the prompt from standard input until it ends...

    ^C Interrupted.
    [exit status: 130]
    ");
    assert_eq!(model.count(), 0);
    assert!(!world.base().exists());
}

/// INT-2, CAN-2: the first Ctrl-C waits for a child that does not want to go; the second one does not.
#[test]
fn a_second_one_ends_at_once() {
    // The child counts how long it lives: on a busy machine its clock is as slow as everything else.
    let command = "trap '' TERM; echo $$ > new; mv new pids; n=0; \
                   while :; do n=$((n+1)); echo $n > next; mv next ticks; sleep 0.1; done";
    let (world, _model) = with_model([anthropic::tool_use("t1", "bash", json!({"command": command}))]);
    let ticks = || world.read("ticks").trim().parse::<u32>().expect("a number");
    let mut run = exec_in(&world, "s", "hi");
    let counts = |world: &zori_testkit::env::TestEnv| world.work().join("ticks").exists();
    run.wait_until("the child", |_| pids(&world).is_some() && counts(&world)).interrupt();
    run.wait_for_stderr("^C Interrupted.");
    // From the second one on: the first may have been long ago on a busy machine.
    let before = ticks();
    run.interrupt();
    assert_eq!(run.finish().code(), Some(130));
    let lived = ticks() - before;
    assert!(lived < 18, "{lived} tenths of a second: less than the child's grace of two seconds");
    wait_until_gone(&pids(&world).unwrap());
    assert_eq!(saved(&world, "s").lines().count(), 6, "meta, prompt, call, changed, result, interrupt");
}

/// CH-2: a child that ignores the first signal is waited for and then killed; the run ends by itself.
#[test]
fn a_stubborn_child_does_not_survive_one() {
    let command = "trap '' TERM; echo $$ > new; mv new pids; while :; do sleep 0.1; done";
    let (world, _model) = with_model([anthropic::tool_use("t1", "bash", json!({"command": command}))]);
    let mut run = exec_in(&world, "s", "hi");
    run.wait_until("the child", |_| pids(&world).is_some()).interrupt();
    assert_eq!(run.finish().code(), Some(130));
    wait_until_gone(&pids(&world).unwrap());
}

/// INT-5, CAN-3.
#[test]
fn sigterm_cancels_and_ends_with_143() {
    let gate = Gate::new();
    let (world, _model) = with_model([anthropic::text("Some words").reply().wait_after(4, &gate)]);
    let mut run = exec_in(&world, "s", "hi");
    run.wait_for_stdout("Some words").terminate();
    let output = soon(run);
    insta::assert_snapshot!(output, @"
    Some words
    ------- stderr -------
    Warning: Session 's' does not exist yet; starting it

    ^C Interrupted.
    [exit status: 143]
    ");
    insta::assert_snapshot!(saved(&world, "s"), @r#"
    {"type":"meta","schema_version":1,"ts":"$TS","root":"$WORK"}
    {"type":"message","role":"user","text":"hi","ts":"$TS"}
    {"type":"message","role":"assistant","text":"Some words","ts":"$TS","model":"claude-haiku-4-5","usage":{"input_tokens":10,"output_tokens":1,"cache_read_tokens":0,"cache_write_tokens":0},"partial":true}
    {"type":"interrupted","role":"system","text":"Interrupted","ts":"$TS"}
    "#);
}

#[test]
fn sigterm_while_the_prompt_is_read() {
    let world = world();
    let mut command = world.cmd(&["exec"]);
    command.env("ANTHROPIC_API_KEY", "k");
    let mut run = world.start(command, Stdin::Open, Stdout::Captured);
    run.wait_for_stderr("Reading the prompt").terminate();
    assert_eq!(soon(run).code(), Some(143));
}

/// INT-5: the record is written, then the process dies of the signal, which its parent sees.
#[test]
fn sighup_writes_what_is_pending() {
    let command = "sleep 300 & echo $! > new; echo $$ >> new; mv new pids; wait";
    let (world, _model) = with_model([anthropic::tool_use("t1", "bash", json!({"command": command}))]);
    let mut run = exec_in(&world, "s", "hi");
    run.wait_until("the children", |_| pids(&world).is_some()).hang_up();
    let output = soon(run);
    assert!(output.to_string().ends_with("[signal: 1]"), "{output}");
    wait_until_gone(&pids(&world).unwrap());
    insta::assert_snapshot!(saved(&world, "s"), @r#"
    {"type":"meta","schema_version":1,"ts":"$TS","root":"$WORK"}
    {"type":"message","role":"user","text":"hi","ts":"$TS"}
    {"type":"tool_use","id":"t1","name":"bash","input":{"command":"sleep 300 & echo $! > new; echo $$ >> new; mv new pids; wait"},"ts":"$TS","model":"claude-haiku-4-5","usage":{"input_tokens":10,"output_tokens":5,"cache_read_tokens":0,"cache_write_tokens":0}}
    {"type":"changed","tool_use_id":"t1","op":1,"created":1,"modified":0,"deleted":0,"paths":["pids"],"coverage":"full","ts":"$TS"}
    {"type":"tool_result","tool_use_id":"t1","output":{"ok":false,"error":{"code":"canceled","message":"The call was canceled before it was done"}},"ok":false,"ts":"$TS"}
    {"type":"interrupted","role":"system","text":"Interrupted","ts":"$TS"}
    "#);
}

/// SES-10, SES-11.
#[test]
fn an_interrupted_session_goes_on() {
    let (world, model) = with_model([Reply::stall(), anthropic::text("Again.").reply()]);
    let mut run = exec_in(&world, "s", "one");
    run.wait_until("the request", |_| model.count() == 1).interrupt();
    soon(run);
    exec_in(&world, "s", "two").finish().success();
    assert_eq!(
        model.request(1).conversation(),
        "user: one\nuser: two\n",
        "SES-10: `interrupted` is not sent"
    );
}

/// What the parent ignores stays ignored, as `nohup` wants it.
#[test]
#[cfg(target_os = "linux")]
fn an_ignored_hangup_is_ignored() {
    let gate = Gate::new();
    let reply = anthropic::text("Still here.").reply().wait_after(1, &gate);
    let (world, model) = with_model([reply]);
    let command = in_shell(&world, "trap '' HUP; exec \"$0\" \"$@\"", &["exec", "--no-save", "-p", "hi"]);
    let mut run = world.start(command, Stdin::Null, Stdout::Captured);
    run.wait_until("a request", |_| model.count() == 1);
    run.hang_up();
    gate.open();
    let output = run.finish();
    assert_eq!((output.code(), output.stdout().as_str()), (Some(0), "Still here.\n"), "{output}");
}

/// A turn that writes to a pipe nobody reads cannot hear the signal; it ends all the same.
#[test]
fn sigterm_while_nobody_reads() {
    let (world, model) = with_model([anthropic::text(&"x".repeat(300_000))]);
    let (_reader, writer) = std::io::pipe().unwrap();
    let file = std::fs::File::from(std::os::fd::OwnedFd::from(writer));
    let command = world.cmd(&["exec", "--no-save", "-p", "hi"]);
    let mut run = world.start(command, Stdin::Null, Stdout::File(file));
    run.wait_until("a request", |_| model.count() == 1);
    run.terminate();
    assert_eq!(run.finish().code(), Some(143));
}
