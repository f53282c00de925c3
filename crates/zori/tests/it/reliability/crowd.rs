//! LOG-8, LOG-9, CH-3, CH-8, CH-10, FS-1: many processes, many commands, and too little of everything.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use zori_testkit::env::TestEnv;
use zori_testkit::random::{Random, cases};
use zori_testkit::running::{Running, Stdin, Stdout};
use zori_testkit::server::ModelServer;
use zori_testkit::{anthropic, needs, process, wait};

use super::killer::model;
use super::{oracle, row};
use crate::processes::{alive, pids, wait_until_gone};
use crate::sessions::exec_in;
use crate::world::{in_shell, timeless, with_model, with_mounts, world};

/// LOG-8: of processes that start at once on one session some get it, the others are told who has it, and no record is mixed with
/// another's. Holders are killed on the way.
#[test]
fn one_session_for_one_process() {
    let rounds = cases(20, 500);
    let (mut held, mut refused) = (0, 0);
    for round in 1..=rounds as u64 {
        let mut dice = Random::new(round);
        let server = ModelServer::answering(|_| anthropic::text("Here.").reply());
        let mut world = world();
        world.use_server(&server);
        let mut runs: Vec<Running> =
            (0..2 + dice.below(cases(4, 15))).map(|n| exec_in(&world, "s", &format!("prompt {n}"))).collect();
        if dice.below(3) == 0 {
            let victim = dice.below(runs.len());
            runs[victim].kill();
        }
        let mut said = Vec::new();
        for (n, run) in runs.into_iter().enumerate() {
            let output = run.finish();
            match output.code() {
                Some(0) => said.push(format!("prompt {n}")),
                Some(4) => {
                    refused += 1;
                    assert!(output.stderr().contains("in use by process"), "round {round}: {output}");
                }
                None => {}
                code => panic!("round {round}: {code:?}: {output}"),
            }
        }
        held += said.len();
        let found = oracle::look(&world, "s", &format!("round {round}"));
        let prompts = found.map(|found| found.prompts).unwrap_or_default();
        for prompt in &said {
            assert_eq!(prompts.iter().filter(|p| *p == prompt).count(), 1, "round {round}: {prompts:?}");
        }
    }
    assert!(held > rounds / 2 && refused > 0, "{held} held it, {refused} were refused");
    row("LOG-8", format_args!("0 mixed records; {held} held the session, {refused} were refused"), rounds);
}

/// LOG-9: many processes in one home, each with a session of its own.
#[test]
fn many_sessions_in_one_home() {
    let (processes, turns) = (cases(4, 32), cases(5, 50));
    let server = model(1);
    let mut world = world();
    world.use_server(&server);
    std::thread::scope(|scope| {
        for n in 0..processes {
            let world = &world;
            scope.spawn(move || {
                for turn in 0..turns {
                    let output = exec_in(world, &format!("s{n}"), &format!("turn {turn}"))
                        .within(Duration::from_secs(300))
                        .finish();
                    let new = if turn == 0 { 1 } else { 0 };
                    let warnings = output.stderr().matches("Warning").count();
                    assert_eq!(
                        (output.code(), warnings),
                        (Some(0), new),
                        "process {n}, turn {turn}: {output}"
                    );
                }
            });
        }
    });
    for n in 0..processes {
        let found = oracle::look(&world, &format!("s{n}"), "afterwards").expect("each has a file");
        assert_eq!(found.prompts.len(), turns);
    }
    row("LOG-9", format_args!("0 errors, {processes} processes of {turns} turns"), processes * turns);
}

/// CH-3: killed while its commands run, in whatever state, it leaves no process.
#[test]
fn no_orphan_of_a_kill() {
    let runs = cases(20, 200);
    let commands = [
        "sleep 300 & echo $! > new; echo $$ >> new; mv new pids; wait",
        "trap '' TERM HUP INT; (sleep 300 & echo $! > new); echo $$ >> new; mv new pids; while :; do sleep 1; done",
        "sh -c 'trap \"\" TERM; echo $$ > new; sleep 300' & sleep 0.05; echo $$ >> new; mv new pids; wait",
        "sleep 300 | (echo $$ > new; mv new pids; cat)",
        "echo $$ > new; mv new pids; yes > /dev/null",
    ];
    let mut slowest = Duration::ZERO;
    for round in 0..runs {
        let mut dice = Random::new(round as u64 + 1);
        let (command, background) = (dice.pick(&commands), dice.below(3) == 0);
        let mut input = json!({"command": command});
        if background {
            input["background"] = Value::Bool(true);
        }
        let (world, _model) = with_model([
            anthropic::tool_use("t1", "bash", input).reply(),
            zori_testkit::reply::Reply::stall(),
        ]);
        let mut run = exec_in(&world, "s", "go");
        run.wait_until(command, |_| pids(&world).is_some()).kill();
        run.finish();
        slowest = slowest.max(wait_until_gone(&pids(&world).expect("looked for above")));
    }
    row("CH-3", format_args!("0 orphans, the slowest gone after {slowest:.0?}"), runs);
}

/// CH-10: calls of one reply run together; one fails, one floods, one takes too long, and all are answered in the order they were made.
#[test]
fn many_calls_at_once() {
    let rounds = cases(50, 500);
    for round in 1..=rounds as u64 {
        let mut dice = Random::new(round);
        let (fails, floods, hangs) = (dice.below(16), dice.below(16), dice.below(64));
        let mut reply = anthropic::Message::new();
        for n in 0..16 {
            let command = match n {
                n if n == hangs => json!({"command": "sleep 300", "timeout_secs": 1}),
                n if n == fails => json!({"command": format!("echo {n}; exit 3")}),
                n if n == floods => json!({"command": format!("echo {n}; yes x | head -c 3000000")}),
                n => json!({"command": format!("echo {n}")}),
            };
            reply = reply.tool_use(&format!("t{n}"), "bash", command);
        }
        let (world, model) = with_model([reply, anthropic::text("Done.")]);
        exec_in(&world, "s", "go").finish().success();
        let last = model.request(1).messages().pop().expect("a message");
        let results = last["content"].as_array().expect("results");
        assert_eq!(results.len(), 16, "round {round}");
        for (n, result) in results.iter().enumerate() {
            let text = &timeless(result["content"].as_str().unwrap_or_default());
            assert_eq!(result["tool_use_id"], format!("t{n}"), "round {round}");
            let right = match n {
                n if n == hangs => text.contains("timed out"),
                n if n == fails => text.starts_with(&format!("exit 3\n{n}")),
                n => text.starts_with(&n.to_string()),
            };
            assert!(right, "round {round}, call {n}: {text:.200}");
        }
    }
    row("CH-10", "16 calls at once, all answered and in order", rounds);
}

/// CH-8: with 64 descriptors, or few processes, it works or says what is missing, and works again when there is enough.
#[test]
fn few_descriptors() {
    let rounds = cases(4, 20);
    for limit in (0..rounds).map(|n| 64 - 2 * n) {
        let mut reply = anthropic::Message::new();
        for n in 0..16 {
            reply = reply.tool_use(&format!("t{n}"), "bash", json!({"command": format!("echo {n}")}));
        }
        let (world, model) = with_model([
            reply,
            anthropic::tool_use("last", "bash", json!({"command": "echo again"})),
            anthropic::text("Done."),
        ]);
        let command =
            in_shell(&world, &format!("ulimit -n {limit}; exec \"$0\" \"$@\""), &["exec", "-p", "go"]);
        let output = world.start(command, Stdin::Null, Stdout::Captured).finish();
        assert!(!output.stderr().contains("panicked"), "{limit}: {output}");
        if output.code() != Some(0) {
            // Too few to begin with: that is said, and nothing was half done.
            assert!(
                output.stderr().contains("Too many open files") || output.stderr().contains("descriptor"),
                "{limit}: {output}"
            );
            continue;
        }
        let last = model.request(1).messages().pop().expect("a message");
        for result in last["content"].as_array().expect("results") {
            let text = timeless(result["content"].as_str().unwrap_or_default());
            let fine = text.trim().parse::<u32>().is_ok();
            assert!(fine || text.contains("out of processes, descriptors or memory"), "{limit}: {text}");
        }
        assert_eq!(
            timeless(&model.request(2).conversation()).lines().last(),
            Some("user: tool_result last again"),
            "{limit}"
        );
    }
    row("CH-8", "it works or says what is missing, and recovers", rounds);
}

/// What a full disk must not do: the run goes on, warns once, and the session is whole afterwards.
fn full_disk(world: &TestEnv, command: Command, context: &str) {
    let output = world.start(command, Stdin::Null, Stdout::Captured).finish();
    assert_eq!(output.code(), Some(0), "{context}: {output}");
    let warnings = output.stderr().matches("Failed to save session").count();
    assert!(warnings <= 1, "{context}: {warnings} warnings: {output}");
    oracle::look(world, "s", context);
}

/// FS-1: a limit on the size of files, in steps of a few bytes.
#[test]
fn files_that_cannot_grow() {
    let steps = cases(40, 500);
    for step in 0..steps {
        // The first record of a session is about 100 bytes, the whole turn 4 KiB.
        let limit = 1 + step * 4_096 / steps;
        let server = model(4);
        let mut world = world();
        world.use_server(&server);
        let context = format!("{limit} bytes");
        let script = format!("exec prlimit --fsize={limit} \"$0\" \"$@\"");
        if needs::program("prlimit").is_none() {
            return;
        }
        full_disk(&world, in_shell(&world, &script, &["exec", "--session", "s", "-p", "first"]), &context);
        let next = exec_in(&world, "s", "second").finish();
        assert_eq!(next.code(), Some(0), "{context}: it does not go on: {next}");
        oracle::look(&world, "s", &context).expect("a session that went on has a file");
    }
    row("FS-1", "0 damaged files, limits on the size of files", steps);
}

/// FS-1: a disk that is full, of 64 KiB to 4 MiB, filled but for a few bytes.
#[test]
fn small_disks_as_root() {
    let steps = cases(10, 200);
    for step in 0..steps {
        let server = model(4);
        let mut world = world();
        world.use_server(&server);
        let (size, free) = (64 + step * 4_032 / steps, step * 24 / steps);
        let (base, context) = (world.base().display().to_string(), format!("{size} KiB, {free} KiB free"));
        std::fs::create_dir_all(world.base()).expect("a folder can be made");
        let script = format!(
            "mount -t tmpfs -o size={size}k,mode=700 none {base} || exit 99
             head -c {}k /dev/zero > {base}/filler
             \"$0\" \"$@\" || exit 1
             rm {base}/filler
             cp {base}/sessions/s.jsonl \"$HOME/saved\" 2>/dev/null
             \"$0\" exec --session s -p second || exit 2
             cp {base}/sessions/s.jsonl \"$HOME/again\"",
            size - free
        );
        let first = ["exec", "--session", "s", "-p", "first"];
        let Some(output) = with_mounts(&world, &script, &first) else { return };
        assert_eq!(output.code(), Some(0), "{context}: {output}");
        for name in ["saved", "again"] {
            let Ok(text) = std::fs::read(world.home().join(name)) else { continue };
            world.write(world.base().join(format!("sessions/{name}.jsonl")), text);
            oracle::look(&world, name, &context);
        }
        let found = oracle::look(&world, "again", &context).expect("the second turn is saved");
        assert_eq!(found.prompts.last().map(String::as_str), Some("second"), "{context}");
    }
    row("FS-1", "0 damaged files, small disks that are full", steps);
}

/// CLK-1, CLK-2, CLK-4: stopped and continued, as a machine that sleeps, a turn goes on; waits do not count twice.
#[test]
fn stopped_and_continued() {
    let rounds = cases(3, 60);
    for round in 1..=rounds as u64 {
        let mut dice = Random::new(round);
        let server = model(6);
        let mut world = world();
        world.use_server(&server);
        let mut run = exec_in(&world, "s", "go");
        let pid = run.pid();
        let at = dice.below(6);
        run.wait_until("a request", |_| server.count() > at);
        let process = rustix::process::Pid::from_raw(pid.cast_signed()).expect("it runs");
        rustix::process::kill_process(process, rustix::process::Signal::STOP).expect("it is ours");
        wait::until("it to be stopped", || process::state(pid) == Some('T') || !alive(pid.cast_signed()));
        rustix::process::kill_process(process, rustix::process::Signal::CONT).expect("it is ours");
        let output = run.finish();
        assert_eq!((output.code(), server.count()), (Some(0), 7), "round {round}: {output}");
        assert!(!output.stderr().contains("Retrying"), "round {round}: {output}");
    }
    row("CLK-4", "0 requests twice, stopped and continued at each request", rounds);
}
