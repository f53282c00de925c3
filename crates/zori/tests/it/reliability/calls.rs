//! LOG-1, LOG-4 to LOG-7, LOG-10, CAN-4, FS-1, FS-2, FS-4: the executable killed at, or failing at, each system call that matters, and the
//! order of its calls. Enumerated, not sampled, but for the calls of a whole run in CI.

use std::path::Path;
use std::path::PathBuf;

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::random::{Random, cases};
use zori_testkit::server::ModelServer;

use super::interposer::{At, Call, Fault, can_trace, record, strike};
use super::killer::{acknowledged, model, with_calls};
use super::{oracle, row};
use crate::world::world;

/// How many calls the turns here make.
const CALLS: usize = 3;
/// More calls of one kind than any run here makes.
const MANY: usize = 5_000;

const TURN: &[&str] = &["exec", "--json", "--session", "s", "--retries", "0", "-p", "first"];
const NEXT: &[&str] = &["exec", "--json", "--session", "s", "--retries", "0", "-p", "second"];

/// The files of the session.
fn session_paths(world: &TestEnv) -> Vec<PathBuf> {
    ["sessions/s.jsonl", "sessions/s.jsonl.copy", "sessions/s.lock", "sessions"]
        .map(|name| world.base().join(name))
        .into()
}

fn full_durability(world: &TestEnv) {
    world.write(world.base().join("config.toml"), "durability = \"full\"\n");
}

/// Looks at the session after a strike, and goes on with it.
#[track_caller]
fn goes_on(world: &TestEnv, told: &[String], kept: bool, context: &str) {
    if let Some(found) = oracle::look(world, "s", context) {
        let lost: Vec<_> = told.iter().filter(|call| !found.results.contains(*call)).collect();
        assert!(!kept || lost.is_empty(), "{context}: {lost:?} were told and are lost");
    } else {
        assert!(!kept || told.is_empty(), "{context}: results were told and there is no file");
    }
    let next = world.run(NEXT);
    assert_eq!(next.code(), Some(0), "{context}: it does not go on: {}", next.stderr());
    let found = oracle::look(world, "s", context).expect("a session that went on has a file");
    assert_eq!(found.prompts.last().map(String::as_str), Some("second"), "{context}");
}

/// Strikes at the first, the second ... call of a kind until there is none. Returns how often it struck.
fn each_call(
    call: &'static str,
    fault: Fault,
    durable: bool,
    check: impl Fn(&TestEnv, &super::interposer::Traced, &str),
) -> usize {
    for nth in 1..MANY {
        let server = model(CALLS);
        let mut world = world();
        world.use_server(&server);
        if durable {
            full_durability(&world);
        }
        let at = At { call, nth, fault };
        let traced = strike(&world, TURN, at, &session_paths(&world));
        if !traced.struck {
            assert_eq!(traced.output.code(), Some(0), "{at:?}: {}", traced.output.stderr());
            return nth - 1;
        }
        check(&world, &traced, &format!("{at:?}"));
    }
    panic!("{call} has no end");
}

/// LOG-1.
#[test]
fn killed_at_each_call_as_root() {
    if !can_trace() {
        return;
    }
    let calls = ["openat", "mkdir", "flock", "write", "fdatasync", "fsync", "unlink"];
    let mut struck = 0;
    for call in calls {
        struck += each_call(call, Fault::Kill, true, |world, traced, context| {
            goes_on(world, &acknowledged(&traced.output.stdout()), true, context);
        });
    }
    assert!(struck > 4 * CALLS, "{struck} calls");
    row("LOG-1", "0 lost, 0 unreadable files, killed at each call that is about the session", struck);
}

/// LOG-6, LOG-7, FS-1: the turn goes on, the user is warned once, and what is saved stays whole.
#[test]
fn failing_at_each_call_as_root() {
    if !can_trace() {
        return;
    }
    let (mut full, mut synced) = (0, 0);
    let check = |kept: bool| {
        move |world: &TestEnv, traced: &super::interposer::Traced, context: &str| {
            let (code, stderr) = (traced.output.code(), traced.output.stderr());
            assert_eq!(code, Some(0), "{context}: {stderr}");
            let warnings = stderr.matches("Failed to save session").count();
            assert!(warnings <= 1, "{context}: {warnings} warnings: {stderr}");
            goes_on(world, &acknowledged(&traced.output.stdout()), kept, context);
        }
    };
    for error in ["ENOSPC", "EIO", "EDQUOT"] {
        full += each_call("write", Fault::Fail(error), false, check(false));
    }
    for error in ["EIO", "ENOSPC"] {
        // What was told is kept: the records since the last good sync are in a copy that took the file's place.
        synced += each_call("fdatasync", Fault::Fail(error), true, check(true));
    }
    assert!(full > 3 * CALLS && synced > 2 * CALLS, "{full} writes, {synced} syncs");
    row("FS-1", "0 damaged files, each write of a turn failing with three errors", full);
    row("LOG-6", "0 lost, 0 twice, each sync of a turn failing with two errors", synced);
}

/// The text of a record's field in the arguments of a `write`, as the tracer shows them.
fn field(call: &Call, name: &str) -> Option<String> {
    let (_, rest) = call.args.split_once(&format!("\\\"{name}\\\":\\\""))?;
    rest.split_once("\\\"").map(|(value, _)| value.to_owned())
}

/// LOG-4: a call is in the file before its command starts, its result before the next request is sent.
#[test]
fn order_of_calls_as_root() {
    if !can_trace() {
        return;
    }
    let server = model(CALLS);
    let mut world = world();
    world.use_server(&server);
    let file = world.base().join("sessions/s.jsonl");
    let (output, calls) = record(&world, TURN, "write,writev,sendto,execve");
    assert_eq!(output.code(), Some(0), "{}", output.stderr());
    let (mut written, mut answered, mut started, mut requests) = (0, 0, 0, 0);
    for call in &calls {
        match call.name.as_str() {
            "write" if call.is_about(&file) => {
                written += call.args.matches("\\\"type\\\":\\\"tool_use\\\"").count();
                answered += call.args.matches("\\\"type\\\":\\\"tool_result\\\"").count();
            }
            "execve" if call.args.contains("done.txt") => {
                started += 1;
                assert!(written >= started, "command {started} starts before its record: {}", call.args);
            }
            "writev" | "sendto" | "write" if call.args.contains("POST /v1/messages") => {
                assert_eq!(answered, requests, "request {requests} is sent before the result is written");
                requests += 1;
            }
            _ => {}
        }
    }
    assert_eq!((written, answered, started, requests), (CALLS, CALLS, CALLS, CALLS + 1));
    row("LOG-4", "0 inversions of record, command and request", calls.len());
}

/// LOG-5: what was told when the power goes is on the disk, whichever call was the last; only what was synced counts.
#[test]
fn power_cuts_as_root() {
    if !can_trace() {
        return;
    }
    let (turns, mut prefixes) = (cases(3, 200), 0);
    for seed in 1..=turns as u64 {
        let mut dice = Random::new(seed);
        let server = with_calls(1 + dice.below(6), move |n| {
            let n = n as u64 + seed;
            match n % 3 {
                0 => ("write", json!({"path": format!("f{n}"), "content": "x".repeat(100)})),
                1 => ("bash", json!({"command": format!("echo {n} >> done.txt")})),
                _ => ("read", json!({"path": "done.txt"})),
            }
        });
        let mut world = world();
        world.use_server(&server);
        full_durability(&world);
        world.write("done.txt", "");
        let file = world.base().join("sessions/s.jsonl");
        let (output, calls) = record(&world, TURN, "write,fdatasync,fsync");
        assert_eq!(output.code(), Some(0), "seed {seed}: {}", output.stderr());
        let (mut unsynced, mut synced, mut named) = (Vec::new(), Vec::new(), false);
        for call in &calls {
            prefixes += 1;
            match call.name.as_str() {
                "write" if call.is_about(&file) => {
                    if let Some(id) = field(call, "tool_use_id") {
                        unsynced.push(id);
                    }
                }
                "fdatasync" if call.is_about(&file) => synced.append(&mut unsynced),
                "fsync" if call.is_about(&world.base().join("sessions")) => named = true,
                // A result that is told on standard output is acknowledged.
                "write" if call.args.starts_with("1<") && call.args.contains("tool_result") => {
                    let id = field(call, "id").expect("a result has an id");
                    assert!(named && synced.contains(&id), "seed {seed}: {id} is told and would be lost");
                }
                _ => {}
            }
        }
        assert!(!synced.is_empty(), "seed {seed}: nothing was synced");
    }
    row("LOG-5", format_args!("0 acknowledged results lost in all prefixes of {turns} turns"), prefixes);
}

/// LOG-10: a file that is replaced has its old content or its new one.
#[test]
fn replaced_files_as_root() {
    if !can_trace() {
        return;
    }
    let calls = ["openat", "write", "fsync", "rename", "unlink", "fchmod"];
    let other = Path::new("work").join("b").display().to_string();
    let mut struck = 0;
    for call in calls {
        for fault in [Fault::Kill, Fault::Fail("EIO"), Fault::Fail("ENOSPC")] {
            let step = cases(5, 1);
            let mut nth = 1;
            loop {
                let world = world();
                for folder in ["a", "b"] {
                    world.write(format!("{folder}/x"), "");
                }
                world.run(&["trust", "deny", "a"]).success();
                let path = world.base().join("trust.json");
                let old = world.read(&path);
                let at = At { call, nth, fault };
                let traced = strike(&world, &["trust", "deny", "b"], at, &[]);
                if !traced.struck {
                    break;
                }
                nth += step;
                struck += 1;
                let now = world.read(&path);
                let whole: Value =
                    serde_json::from_str(&now).unwrap_or_else(|error| panic!("{at:?}: {error}: {now}"));
                let has_both = whole.to_string().contains(&other);
                assert!(now == old || has_both, "{at:?}: neither old nor new: {now}");
                assert!(traced.output.code() != Some(0) || has_both, "{at:?}: a success that is none");
                assert!(!traced.output.stderr().contains("panicked"), "{at:?}: {}", traced.output);
                world.run(&["trust", "list"]).success();
            }
        }
    }
    row("LOG-10", "old content or new, whichever call of the command fails or is the last", struck);
}

/// CAN-4, FS-2, FS-4: a file that a tool writes has its old content or its new one, whatever fails, and nothing is left beside it unless
/// the program was killed.
#[test]
fn written_files_as_root() {
    if !can_trace() {
        return;
    }
    let errors = ["EIO", "ENOSPC", "EDQUOT", "EROFS", "ESTALE", "ELOOP", "ENAMETOOLONG", "EACCES"];
    let faults: Vec<Fault> =
        [Fault::Kill].into_iter().chain(errors.map(Fault::Fail)).take(cases(2, 9)).collect();
    let calls = ["openat", "openat2", "write", "renameat", "fchmod", "fchown", "unlinkat", "fstat"];
    let mut struck = 0;
    for call in calls {
        for fault in &faults {
            let step = cases(9, 1);
            let mut nth = 1;
            loop {
                let server =
                    ModelServer::answering(|request| match request.conversation().contains("tool_result") {
                        false => {
                            anthropic::tool_use("t1", "write", json!({"path": "f.txt", "content": "new\n"}))
                                .reply()
                        }
                        true => anthropic::text("Done.").reply(),
                    });
                let mut world = world();
                world.use_server(&server);
                world.write("f.txt", "old\n");
                let at = At { call, nth, fault: *fault };
                let traced = strike(&world, &["exec", "--no-save", "--retries", "0", "-p", "go"], at, &[]);
                if !traced.struck {
                    break;
                }
                nth += step;
                struck += 1;
                let (now, stderr) = (world.read("f.txt"), traced.output.stderr());
                assert!(now == "old\n" || now == "new\n", "{at:?}: {now:?}");
                // A counter in the kernel that cannot be written to is no file; the runtime gives up, and the run says so.
                let sound = !stderr.contains("panicked") || stderr.contains("failed to wake I/O driver");
                assert!(sound, "{at:?}: {}", traced.output);
                let left = std::fs::read_dir(world.work()).expect("it is there").flatten();
                let left: Vec<_> =
                    left.map(|entry| entry.file_name()).filter(|name| *name != "f.txt").collect();
                let may_stay = matches!(fault, Fault::Kill) || call == "unlinkat";
                assert!(left.is_empty() || may_stay, "{at:?}: {left:?}");
            }
        }
    }
    assert!(struck > 10, "{struck}");
    row("CAN-4", "old content or new at each call of a run with the write tool", struck);
    row("FS-4", "exact errors and no crash at each call of a run with the write tool", struck);
}
