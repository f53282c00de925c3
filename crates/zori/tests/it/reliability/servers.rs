//! CH-9: whatever an MCP server does, the session lives on, the call has a result, and no process is left.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use zori_testkit::mcp::{faulty_server, processes_of, scripted_server};
use zori_testkit::random::cases;
use zori_testkit::reply::Reply;
use zori_testkit::running::{Stdin, Stdout};
use zori_testkit::{anthropic, wait};

use super::row;
use crate::world::with_model;

/// What a server survives: it answers afterwards, and the call works.
const SURVIVED: &[&str] = &[
    "garbage", "binary", "number", "deep", "wrong_id", "shapes", "notices", "progress", "requests", "stderr",
    "child", "daemon", "slow", "twice",
];
/// What it does not.
const FATAL: &[&str] = &[
    "exit0",
    "exit3",
    "killed",
    "crash",
    "silent",
    "stuck",
    "stopped",
    "half_exit",
    "half_stuck",
    "closes_output",
    "closes_input",
    "closes_all",
    "huge",
    "other_id",
];
/// What is an answer, if a poor one.
const POOR: &[&str] = &["error", "null", "list"];
/// How many runs are looked at together: they wait, most of the time.
const AT_ONCE: usize = 4;
/// So long a run may take: a start limit and a call limit of a second each, and two for the end.
const LONGEST: Duration = Duration::from_secs(20);

/// What is expected of the call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    Works,
    Fails,
    /// Anything but an end of the session.
    Result,
}

/// Returns all modes: a phase, a fault, and what is expected.
fn modes() -> Vec<(&'static str, &'static str, Expected)> {
    let mut modes = Vec::new();
    for phase in ["open", "initialize", "list", "call", "relist"] {
        // What is not asked for again until then is known: the call works.
        let fatal = if phase == "relist" { Expected::Result } else { Expected::Fails };
        let all = SURVIVED.iter().map(|fault| (fault, Expected::Works));
        let all = all.chain(FATAL.iter().map(|fault| (fault, fatal)));
        let all = all.chain(POOR.iter().map(|fault| (fault, Expected::Result)));
        // Before anything was asked there is nothing to leave unanswered.
        let applies = |fault: &str| {
            phase != "open" || !POOR.contains(&fault) && !["silent", "other_id"].contains(&fault)
        };
        modes.extend(
            all.filter(|(fault, _)| applies(fault)).map(|(fault, expected)| (phase, *fault, expected)),
        );
    }
    modes.extend(["slow", "stuck", "stderr", "child", "daemon"].map(|fault| ("end", fault, Expected::Works)));
    modes
}

/// Runs a session of which one call is the server's. Returns how long it took.
fn look(phase: &str, fault: &str, expected: Expected) -> Duration {
    let (world, model) = with_model([
        anthropic::tool_use("t1", "mcp__s__add", json!({})),
        anthropic::tool_use("t2", "ls", json!({"path": "."})),
        anthropic::text("Done."),
    ]);
    let script = faulty_server(&world);
    world.write("seen.txt", "x");
    world.write(
        world.base().join("config.toml"),
        format!(
            "[mcp.servers.s]\ncommand = \"sh\"\nargs = [{script:?}, \"{phase}\", \"{fault}\"]\nstart_timeout_secs = 2\ntool_timeout_secs = 2\n"
        ),
    );
    let began = Instant::now();
    let output = world.run(&["exec", "-p", "go", "--no-save"]);
    let took = began.elapsed();
    let mode = format!("{phase} {fault}");
    assert_eq!((output.stdout().as_str(), output.code()), ("Done.\n", Some(0)), "{mode}: {output}");
    let told = |at: usize| {
        let content = model.request(at).messages().pop().expect("messages")["content"][0].clone();
        (content["content"].to_string(), content["is_error"] == true)
    };
    let (result, failed) = told(1);
    match expected {
        Expected::Works => assert_eq!((result.as_str(), failed), ("\"3\"", false), "{mode}: {output}"),
        Expected::Fails => assert!(failed, "{mode}: {result}: {output}"),
        Expected::Result => {}
    }
    assert!(told(2).0.contains("seen.txt"), "{mode}: the session goes on: {}", told(2).0);
    assert_eq!(processes_of(&script), Vec::<String>::new(), "{mode}");
    assert!(took < LONGEST, "{mode} took {took:?}");
    took
}

/// Looks at all of them, some at a time, and returns how long the slowest took.
fn together<C: Copy + Sync>(all: &[C], look: impl Fn(C) -> Duration + Sync) -> Duration {
    let (next, slowest) = (AtomicUsize::new(0), Mutex::new(Duration::ZERO));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(one) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let took = look(*one);
                    let mut slowest = slowest.lock().expect("no case panics with it");
                    *slowest = slowest.max(took);
                }
            });
        }
    });
    slowest.into_inner().expect("no case panics with it")
}

/// Every mode in the long form; in CI every fault at the call, and some of them at each other phase.
#[test]
fn servers_that_go_wrong() {
    let all = modes();
    let stride = cases(4, 1);
    let chosen: Vec<_> = all
        .iter()
        .enumerate()
        .filter(|(at, (phase, ..))| *phase == "call" || at % stride == 0)
        .map(|(_, mode)| *mode)
        .collect();
    let slowest = together(&chosen, |(phase, fault, expected)| look(phase, fault, expected));
    row(
        "CH-9",
        format_args!("0 sessions lost and 0 processes left, the slowest run {slowest:?}"),
        chosen.len(),
    );
}

/// MCP-35: a server that ends with every call is started again three times, after 1, 2 and 4 s, and is then `failed`.
#[test]
fn restarts_are_bounded() {
    let call = |id: &str| anthropic::tool_use(id, "mcp__s__add", json!({}));
    let (world, model) =
        with_model([call("1"), call("2"), call("3"), call("4"), call("5"), anthropic::text("Done.")]);
    let (script, starts) = (faulty_server(&world), world.tmp().join("starts"));
    let config = format!(
        "[mcp.servers.s]\ncommand = \"sh\"\nargs = [{script:?}, \"call\", \"exit3\"]\nenv = {{ STARTS = {starts:?} }}\n"
    );
    world.write(world.base().join("config.toml"), config);
    let began = Instant::now();
    // The pauses, and five starts of a server on a machine that has other things to do.
    let run = world.cmd(&["exec", "-p", "go", "--no-save"]);
    world.start(run, Stdin::Null, Stdout::Captured).within(8 * wait::BOUND).finish().success();
    assert!(began.elapsed() >= Duration::from_secs(7), "it paused: {:?}", began.elapsed());
    let told = |at: usize| {
        model.request(at).messages().pop().expect("messages")["content"][0]["content"].to_string()
    };
    let ended = "\"the MCP server `s`: it ended with exit status: 3; its last words: out of luck";
    for at in 1..=4 {
        assert!(told(at).starts_with(ended), "{}", told(at));
    }
    let failed = ended.replace("it ended", "it is failed: it ended");
    assert!(told(5).starts_with(&failed), "{}", told(5));
    assert_eq!(std::fs::read_to_string(&starts).expect("it was started").lines().count(), 4);
    wait::until("nothing is left", || processes_of(&script).is_empty());
    row("CH-9", "3 restarts, then none", 1);
}

/// Starts a run with a server of this kind, ends it in this way, and returns how long it took until nothing was left of the server.
fn ended(kind: &str, how: &str) -> Duration {
    let last = if how == "exit" { anthropic::text("Done.").into() } else { Reply::stall() };
    let (world, model) = with_model([last]);
    let script = scripted_server(&world);
    let args = match kind {
        // As `npx` starts them: three processes, of which the last one is the server.
        "chain" => json!(["-c", r#"sh -c 'sh "$0" deaf; true' "$0"; true"#, script]),
        mode => json!([script, mode]),
    };
    let config = json!({"mcpServers": {"s": {"command": "sh", "args": args}}}).to_string();
    let command = world.cmd(&["exec", "-p", "go", "--no-save", "--mcp-config", &config]);
    let mut run = world.start(command, Stdin::Null, Stdout::Captured);
    model.wait_for_requests(1);
    if how != "exit" {
        let there = if kind == "chain" { 3 } else { 1 };
        assert_eq!(processes_of(&script).len(), there, "{kind} {how}");
    }
    match how {
        "interrupt" => run.interrupt(),
        "terminate" => run.terminate(),
        "kill" => run.kill(),
        _ => &mut run,
    };
    run.finish();
    let began = Instant::now();
    let gone = wait::poll(Duration::from_secs(3), || processes_of(&script).is_empty().then_some(()));
    assert!(gone.is_some(), "{kind} {how}: {:?}", processes_of(&script));
    began.elapsed()
}

/// MCP-36: however a run ends, nothing is left of its servers 3 s later: of one that ends with its input, of one that hears neither that nor a
/// signal, and of one behind two other processes.
#[test]
fn no_server_outlives_its_run() {
    let kinds = ["plain", "deaf", "chain"];
    let ends = kinds
        .iter()
        .flat_map(|kind| ["exit", "interrupt", "terminate", "kill"].iter().map(move |how| (*kind, *how)));
    let chosen: Vec<_> = ends.cycle().take(cases(12, 200)).collect();
    let slowest = together(&chosen, |(kind, how)| ended(kind, how));
    row("MCP-36", format_args!("0 processes left, the last one gone after {slowest:?}"), chosen.len());
}
