//! LOG-1, LOG-4, LOG-11, CAN-7: killed and signalled at any time, the session keeps what was acknowledged, and goes on.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use zori_testkit::env::TestEnv;
use zori_testkit::output::CommandOutput;
use zori_testkit::random::{Random, cases};
use zori_testkit::running::{Running, Stdin, Stdout};
use zori_testkit::server::ModelServer;
use zori_testkit::{anthropic, history, process, wait};

use super::{oracle, row};
use crate::world::world;

/// How many calls the scripted turn makes, each with an effect that can be seen.
const CALLS: usize = 12;

/// A model that makes calls one after the other, however often the turn is begun; then it says so. It is as strict as the strictest
/// provider about what it is sent (LOG-11).
pub fn with_calls(
    calls: usize,
    call: impl Fn(usize) -> (&'static str, Value) + Send + Sync + 'static,
) -> ModelServer {
    ModelServer::answering(move |request| {
        if let Err(why) = history::check(&request.body) {
            return anthropic::http_error(400, "invalid_request_error", &why);
        }
        let conversation = request.conversation();
        let done = conversation.lines().filter(|line| line.contains("tool_result")).count();
        match done {
            n if n < calls => {
                let (tool, input) = call(n);
                // A call that was lost is made again by the next turn, under another name.
                let turn = if conversation.contains("user: second\n") { 'u' } else { 't' };
                anthropic::tool_use(&format!("{turn}{n}"), tool, input).reply()
            }
            _ => anthropic::text("All of it.").reply(),
        }
    })
}

/// The same with commands that leave a line each.
pub fn model(calls: usize) -> ModelServer {
    with_calls(calls, |n| ("bash", json!({"command": format!("echo {n} >> done.txt")})))
}

fn start(world: &TestEnv, prompt: &str) -> Running {
    let args = ["exec", "--json", "--session", "s", "--retries", "0", "-p", prompt];
    world.start(world.cmd(&args), Stdin::Null, Stdout::Captured)
}

/// The calls whose result was told on standard output: acknowledged, so they must be in the file (REL-2).
pub fn acknowledged(stdout: &str) -> Vec<String> {
    let events = stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let results = events.filter(|event| event["type"] == "tool_result");
    results.filter_map(|event| event["id"].as_str().map(str::to_owned)).collect()
}

/// Waits until the session file has so many records, then a little longer, and sends the signal.
fn strike(run: &mut Running, world: &TestEnv, records: usize, after: Duration, signal: Signal) {
    let path = world.base().join("sessions/s.jsonl");
    let written =
        || std::fs::read(&path).is_ok_and(|bytes| bytes.iter().filter(|b| **b == b'\n').count() >= records);
    let pid = Pid::from_raw(run.pid().cast_signed()).expect("a process has an id");
    let ended = || process::is_zombie(run.pid());
    wait::until("the record to strike at", || written() || ended());
    let begun = Instant::now();
    while begun.elapsed() < after {
        std::hint::spin_loop();
    }
    let _ = kill_process(pid, signal);
}

/// Strikes a turn, asks the oracle, and goes on with the session. Returns how many results were acknowledged.
fn round(seed: u64, signals: &[Signal]) -> usize {
    let mut dice = Random::new(seed);
    let server = model(CALLS);
    let mut world = world();
    world.use_server(&server);
    let mut run = start(&world, "first");
    let (records, after) = (dice.below(2 * CALLS + 4), Duration::from_micros(dice.below(3_000) as u64));
    let signal = dice.pick(signals);
    strike(&mut run, &world, records, after, signal);
    let output = run.finish();
    let context = format!("seed {seed}, {signal:?} at record {records} and {after:?}");
    let told = acknowledged(&output.stdout());
    if let Some(found) = oracle::look(&world, "s", &context) {
        for call in &told {
            assert!(found.results.contains(call), "{context}: the result of {call} was told and is lost");
        }
        // What has an effect was written down before it was started (LOG-4).
        let effects = std::fs::read_to_string(world.work().join("done.txt")).unwrap_or_default();
        for n in effects.lines() {
            assert!(
                found.calls.contains(&format!("t{n}")),
                "{context}: call t{n} ran and is not in the file"
            );
        }
        assert!(ends_as_it_should(signal, &output), "{context}: {output}");
    } else {
        assert!(told.is_empty(), "{context}: results were told and there is no file");
    }
    let next = start(&world, "second").finish();
    assert_eq!(next.code(), Some(0), "{context}: it does not go on: {}", next.stderr());
    let found = oracle::look(&world, "s", &context).expect("a session that went on has a file");
    assert_eq!(found.prompts.last().map(String::as_str), Some("second"), "{context}");
    told.len()
}

/// Returns whether a run ended as the signal has it end, or was over before: its work done, or stopped on the way.
fn ends_as_it_should(signal: Signal, output: &CommandOutput) -> bool {
    let (code, text) = (output.code(), output.to_string());
    let died_of = |number: u32| code.is_none() && text.ends_with(&format!("[signal: {number}]"));
    match signal {
        Signal::KILL => code == Some(0) || died_of(9),
        Signal::HUP => code == Some(0) || died_of(1),
        // One that has ended its work hears no more signals, and may die of one.
        Signal::INT => matches!(code, Some(0 | 130)) || died_of(2),
        Signal::TERM => matches!(code, Some(0 | 143)) || died_of(15),
        _ => false,
    }
}

/// LOG-1.
#[test]
fn killed_at_any_time() {
    let runs = cases(50, 1_000);
    let kept: usize = (1..=runs as u64).map(|seed| round(seed, &[Signal::KILL])).sum();
    row("LOG-1", format_args!("0 of {kept} acknowledged results lost, 0 unreadable files"), runs);
}

/// CAN-7.
#[test]
fn signalled_at_any_time() {
    let runs = cases(50, 2_000);
    let signals = [Signal::INT, Signal::TERM, Signal::HUP, Signal::KILL];
    let kept: usize = (1..=runs as u64).map(|seed| round(1_000_000 + seed, &signals)).sum();
    row("CAN-7", format_args!("0 of {kept} acknowledged results lost, the oracle is content"), runs);
}

/// LOG-8: the lock of a process that was killed does not block, although what it had started still lives.
#[test]
fn a_dead_process_holds_no_lock_while_its_children_live() {
    let rounds = cases(5, 100);
    for round in 0..rounds {
        let daemon =
            "setsid sh -c 'trap \"\" TERM; sleep 5' >/dev/null 2>&1 & echo $! > new; mv new pids; sleep 300";
        let server = ModelServer::answering(move |request| match request.conversation().contains("second") {
            true => anthropic::text("Here.").reply(),
            false => anthropic::tool_use("t1", "bash", json!({"command": daemon})).reply(),
        });
        let mut world = world();
        world.use_server(&server);
        let mut first = start(&world, "first");
        first.wait_until("the child", |_| world.work().join("pids").exists()).kill();
        // It may still be dying, and its children are not dead: the guard gives them time.
        let second = start(&world, "second").finish();
        assert_eq!(second.code(), Some(0), "round {round}: {}", second.stderr());
        first.finish();
    }
    row("LOG-8", "0 locks of dead processes block", rounds);
}
