//! LOG-12 and the commands that read sessions: a session larger than memory. CI has one of 24 MiB, the soak run of 1 GiB.

use std::cell::Cell;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::random::cases;
use zori_testkit::running::{Running, Stdin, Stdout};
use zori_testkit::server::ModelServer;

use super::row;
use crate::world::{with_model, world};

/// The resident size that no command may pass.
const MAX_RESIDENT: u64 = 300 << 20;

/// Writes a session of one turn with calls whose results have 30 KB each.
fn write_session(world: &TestEnv, bytes: u64) {
    let folder = world.base().join("sessions");
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let mut file = BufWriter::new(File::create(folder.join("big.jsonl")).expect("a file can be made"));
    let mut line = |value: serde_json::Value| {
        let text = format!("{value}\n");
        file.write_all(text.as_bytes()).expect("the disk has room");
        text.len() as u64
    };
    let mut written = line(json!({"type": "meta", "schema_version": 1, "root": world.work(), "ts": ""}));
    written += line(json!({"type": "message", "role": "user", "text": "the task", "ts": ""}));
    let output = "word ".repeat(6_000);
    let mut n = 0;
    while written < bytes {
        let id = format!("c{n}");
        written += line(
            json!({"type": "tool_use", "id": id, "name": "bash", "input": {"command": format!("step {n}")}, "ts": ""}),
        );
        let output =
            json!({"ok": true, "data": {"stdout": output, "stderr": "", "exit_code": 0, "timed_out": false}});
        written +=
            line(json!({"type": "tool_result", "tool_use_id": id, "output": output, "ok": true, "ts": ""}));
        n += 1;
    }
    line(json!({"type": "message", "role": "assistant", "text": "a needle", "ts": ""}));
}

/// Runs a command to its end, and returns its largest resident size and how long it took.
pub(super) fn measured(run: Running) -> (u64, Duration) {
    let (begun, mut peak) = (Instant::now(), 0);
    while let Some(now) = run.peak_memory() {
        peak = peak.max(now);
        std::thread::yield_now();
    }
    let took = begun.elapsed();
    run.finish().success();
    (peak, took)
}

/// The resident size of a process now; 0 when it has ended.
pub(crate) fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

#[test]
fn a_session_larger_than_memory() {
    let bytes = cases(24, 1_024) as u64 * (1 << 20);
    let (world, model) = with_model([anthropic::text("On it.")]);
    write_session(&world, bytes);
    let run = |args: &[&str]| {
        let null = File::options().write(true).open("/dev/null").expect("it is always there");
        measured(
            world.start(world.cmd(args), Stdin::Null, Stdout::File(null)).within(Duration::from_secs(3_600)),
        )
    };
    let commands: [&[&str]; 8] = [
        &["sessions", "list"],
        &["sessions", "show", "big"],
        &["sessions", "show", "big", "--output", "json"],
        &["sessions", "export", "big"],
        &["sessions", "export", "big", "--to", "json"],
        &["sessions", "export", "big", "--to", "html"],
        &["sessions", "fork", "big", "--name", "copy"],
        &["sessions", "search", "needle", "--timeout", "3600s"],
    ];
    for args in commands {
        let (peak, took) =
            run(&[args, &["--timeout", "3600s"][..usize::from(!args.contains(&"--timeout")) * 2]].concat());
        assert!(peak < MAX_RESIDENT, "{args:?}: {} MiB", peak >> 20);
        row(
            "LOG-12",
            format_args!(
                "`{}` of {} MiB: {} MiB resident, {took:.1?}",
                args.join(" "),
                bytes >> 20,
                peak >> 20
            ),
            1,
        );
    }
    let copied = std::fs::metadata(world.base().join("sessions/copy.jsonl")).expect("the copy").len();
    let original = std::fs::metadata(world.base().join("sessions/big.jsonl")).expect("the session").len();
    assert!(copied >= original, "{copied} of {original}");
    let (peak, took) = run(&["exec", "--session", "big", "-p", "and now?"]);
    assert!(peak < MAX_RESIDENT, "resume: {} MiB", peak >> 20);
    row("LOG-12", format_args!("resume of {} MiB: {} MiB resident, {took:.1?}", bytes >> 20, peak >> 20), 1);
    let sent = model.request(0).conversation();
    assert!(sent.starts_with("user: the task\n"), "{}", &sent[..200.min(sent.len())]);
    assert!(
        sent.ends_with("assistant: a needle\nuser: and now?\n"),
        "{}",
        &sent[sent.len().saturating_sub(200)..]
    );
}

/// Compactions are bounded in memory: many long results make the process grow by little.
#[test]
fn many_long_results() {
    const MAX_GROWTH: u64 = 20 << 20;
    let calls = cases(150, 2_000);
    let asked = AtomicUsize::new(0);
    let server = ModelServer::answering(move |request| {
        let tokens = json!({"input_tokens": request.json().to_string().len() / 4, "output_tokens": 5});
        // A request for a summary has no tools.
        if request.json()["tools"].as_array().is_none_or(Vec::is_empty) {
            return anthropic::text("Goal: count.").usage(tokens).reply();
        }
        let n = asked.fetch_add(1, Ordering::Relaxed);
        let input = json!({"command": format!("head -c 30000 /dev/zero | tr '\\0' x; echo {n}")});
        match n < calls {
            true => anthropic::tool_use(&format!("t{n}"), "bash", input).usage(tokens).reply(),
            false => anthropic::text("Done.").usage(tokens).reply(),
        }
    });
    let mut world = world();
    world.use_server(&server);
    world.write(world.base().join("config.toml"), "context_window = 100000\nmax_tokens = 1000\n");
    let command = world.cmd(&["exec", "-p", "go", "--session", "s"]);
    let mut run = world.start(command, Stdin::Null, Stdout::Captured).within(Duration::from_secs(600));
    let warm = calls / 3;
    run.wait_until("the first calls", |_| server.count() >= warm);
    let before = resident(run.pid());
    let after = Cell::new(before);
    run.wait_until("the last calls", |run| {
        after.set(after.get().max(resident(run.pid())));
        server.count() > calls
    });
    let output = run.finish().success();
    assert_eq!(output.stdout(), "Done.\n");
    let compactions = output.stderr().matches("Context: ").count();
    assert!(compactions > 2, "{compactions} compactions:\n{}", output.stderr());
    let growth = after.get().saturating_sub(before);
    assert!(growth < MAX_GROWTH, "{} MiB more after {calls} results", growth >> 20);
    row(
        "endurance",
        format_args!("{calls} results of 30 KB, {compactions} compactions: {} MiB more", growth >> 20),
        calls,
    );
}
