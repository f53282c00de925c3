//! CH-2, CH-11: whatever a command does with its processes, none is left.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use zori_testkit::gate::Gate;
use zori_testkit::random::cases;
use zori_testkit::{anthropic, wait};

use super::row;
use crate::processes::{alive, pids, wait_until_gone};
use crate::sessions::exec_in;
use crate::world::with_model;

/// How a command starts the process that has to end, which is `body.sh`.
const STARTS: &[(&str, &str)] = &[
    ("plain", "sh body.sh"),
    ("background", "sh body.sh & wait"),
    ("forked twice", "(sh body.sh &); sleep 300"),
    ("own session", "setsid sh body.sh & sleep 300"),
    ("daemon", "setsid sh -c '(sh body.sh >/dev/null 2>&1 &)' & sleep 300"),
    ("nohup", "nohup sh body.sh >/dev/null 2>&1 & sleep 300"),
    ("a pipeline", "sleep 300 | sh body.sh | cat"),
    ("closed its output", "exec >/dev/null 2>&1; sh body.sh"),
    ("holds the pipe", "sh body.sh & exec sleep 300"),
];

/// What that process does about signals; it writes its id to `pids` and then goes on for long.
const BODIES: &[(&str, &str)] = &[
    ("", "echo $$ > new; mv new pids; sleep 300"),
    ("ignores TERM", "trap '' TERM; echo $$ > new; mv new pids; while :; do sleep 1; done"),
    ("ignores everything", "trap '' HUP INT TERM; echo $$ > new; mv new pids; while :; do sleep 1; done"),
    ("catches TERM", "trap : TERM; echo $$ > new; mv new pids; while :; do sleep 1; done"),
    ("is stopped", "echo $$ > new; mv new pids; kill -STOP $$; sleep 300"),
    ("floods", "echo $$ > new; mv new pids; exec yes"),
];

/// How many runs are looked at together: they wait, most of the time.
const AT_ONCE: usize = 6;

/// Does something for every mode and so many times, several at once. Returns the longest time it said, and how many runs there were.
fn each_mode(rounds: usize, look: impl Fn(&str, &str, &str) -> Duration + Sync) -> (Duration, usize) {
    let starts = || STARTS.iter().flat_map(|start| BODIES.iter().map(move |body| (start, body)));
    let modes: Vec<_> = std::iter::repeat_with(starts).take(rounds).flatten().collect();
    let (next, slowest) = (AtomicUsize::new(0), Mutex::new(Duration::ZERO));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(((start, command), (what, body))) =
                    modes.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let took = look(&format!("{start}, {what}"), command, body);
                    let mut slowest = slowest.lock().expect("no mode panics with it");
                    *slowest = slowest.max(took);
                }
            });
        }
    });
    (slowest.into_inner().expect("no mode panics with it"), modes.len())
}

/// CH-2: on a timeout.
#[test]
fn no_survivor_of_a_timeout() {
    let (slowest, runs) = each_mode(cases(1, 25), |mode, command, body| {
        // On a busy machine the body may not have begun when the time is over: then there is nothing to survive, and it gets more.
        let began = [1, 5, 25].iter().find_map(|seconds| {
            let input = json!({"command": command, "timeout_secs": seconds});
            let replies = [anthropic::tool_use("t1", "bash", input), anthropic::text("Done.")];
            let (world, _model) = with_model(replies);
            world.write("body.sh", body);
            exec_in(&world, "s", "go").finish().success();
            pids(&world)
        });
        wait_until_gone(&began.unwrap_or_else(|| panic!("{mode}: it did not begin within 25 s")))
    });
    row("CH-2", format_args!("0 survivors of a timeout, the slowest {slowest:?} after the run"), runs);
}

/// CH-2: on an interrupt.
#[test]
fn no_survivor_of_an_interrupt() {
    let (slowest, runs) = each_mode(cases(1, 25), |mode, command, body| {
        let (world, _model) = with_model([anthropic::tool_use("t1", "bash", json!({"command": command}))]);
        world.write("body.sh", body);
        let mut run = exec_in(&world, "s", "go");
        run.wait_until(mode, |_| pids(&world).is_some()).interrupt();
        let pids = pids(&world).expect("looked for above");
        let output = run.finish();
        assert_eq!(output.code(), Some(130), "{mode}: {}", output.stderr());
        wait_until_gone(&pids)
    });
    row("CH-2", format_args!("0 survivors of an interrupt, the slowest {slowest:?} after the run"), runs);
}

/// CH-11: after many calls there is no zombie, descriptor or thread more than after a few.
#[test]
fn nothing_is_left_of_many_calls() {
    let calls = cases(60, 1_000);
    let (few, many) = (Gate::new(), Gate::new());
    let call = |n: usize| {
        anthropic::tool_use(
            &format!("t{n}"),
            "bash",
            json!({"command": "(sleep 0.01 &) ; setsid sh -c '(true &)' ; true & wait"}),
        )
        .reply()
    };
    let mut replies: Vec<_> = (0..10).map(call).collect();
    replies.push(call(10).wait_after(0, &few));
    replies.extend((11..calls).map(call));
    replies.push(anthropic::text("Done.").reply().wait_after(0, &many));
    let (world, model) = with_model(replies);
    let mut run = exec_in(&world, "s", "go");
    let pid = run.pid();
    let count = |what: &str| std::fs::read_dir(format!("/proc/{pid}/{what}")).map_or(0, Iterator::count);
    let children = || {
        let stats = std::fs::read_dir("/proc").expect("there is /proc").flatten();
        let parent = format!(" {pid} ");
        stats
            .filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok())
            .filter(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest[1..].starts_with(&parent)))
            .count()
    };
    run.wait_until("the first calls", |_| model.count() == 11);
    let before = (count("fd"), count("task"));
    few.open();
    run.wait_until("the last call", |_| model.count() == calls + 1);
    // The last orphans may still be about to end; the next call would have reaped them.
    let after = || (count("fd"), count("task"));
    wait::until(format_args!("{before:?} to be as many as before: {:?}", after()), || {
        after().0 <= before.0 && after().1 <= before.1
    });
    let left = children();
    assert!(
        left <= 3,
        "{left} children, zombies included, after {calls} calls: the guard and the last orphans at most"
    );
    many.open();
    run.finish().success();
    assert!(!alive(pid.cast_signed()));
    row("CH-11", format_args!("no descriptor and no thread more, {left} children"), calls);
}
