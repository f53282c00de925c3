//! Chapter 10: one process that takes turn after turn, some of them with faults, does not grow.

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use zori_testkit::anthropic;
use zori_testkit::random::cases;
use zori_testkit::reply::{Disconnect, Reply};
use zori_testkit::running::{Stdin, Stdout};
use zori_testkit::server::ModelServer;

use super::{oracle, row};
use crate::sessions::only_session;
use crate::stream_json::{args, user};
use crate::world::world;

/// How much the process may grow after it is warm.
const MAX_GROWTH: u64 = 20 << 20;

/// Every fiftieth answer breaks off, or is refused.
fn answer(n: usize, request: &zori_testkit::server::Request) -> Reply {
    // A request for a summary has no tools.
    if request.json()["tools"].as_array().is_none_or(Vec::is_empty) {
        return anthropic::text("Goal: say hi.").reply();
    }
    let last = request.messages().pop().expect("a message").to_string();
    match n % 100 {
        49 => anthropic::http_error(503, "api_error", "busy").header("retry-after", "0"),
        99 => anthropic::text("Cut").reply().cut_after(0, Disconnect::Rst),
        _ if last.contains("tool_result") => anthropic::text("Done.").reply(),
        _ => anthropic::tool_use(&format!("t{n}"), "bash", json!({"command": "echo hi"})).reply(),
    }
}

#[test]
fn turn_after_turn() {
    let turns = cases(40, 10_000);
    let asked = AtomicUsize::new(0);
    let server =
        ModelServer::answering(move |request| answer(asked.fetch_add(1, Ordering::Relaxed), request));
    let mut world = world();
    world.use_server(&server);
    world.write(
        world.base().join("config.toml"),
        "context_window = 30000\nmax_tokens = 1000\nretry_delay_ms = 1\n",
    );
    let command = world.cmd(&args(&["--permission-mode", "bypassPermissions"]));
    // To a file, of which only what is new is read: all of it is much.
    let path = world.home().join("said");
    let file = File::create(&path).expect("a file can be made");
    let said = RefCell::new((BufReader::new(File::open(&path).expect("it was made")), String::new(), 0));
    let ended = || {
        let (reader, line, ended) = &mut *said.borrow_mut();
        while reader.read_line(line).expect("it is text") > 0 && line.ends_with('\n') {
            *ended += usize::from(line.contains("\"type\":\"result\""));
            line.clear();
        }
        *ended
    };
    let mut run = world.start(command, Stdin::Open, Stdout::File(file)).within(Duration::from_secs(36_000));
    let pid = run.pid();
    let count = |what: &str| fs::read_dir(format!("/proc/{pid}/{what}")).map_or(0, Iterator::count);
    let (mut warm, most) = (None, Cell::new(0));
    for turn in 1..=turns {
        run.write_stdin(user("go"));
        run.wait_until("the end of a turn", |_| ended() >= turn);
        let now = super::large::resident(pid);
        most.set(most.get().max(now));
        if turn == turns.div_ceil(4) {
            warm = Some((now, count("fd"), count("task")));
            most.set(now);
        }
    }
    let (resident, descriptors, threads) = warm.expect("there is a first quarter");
    let growth = most.get().saturating_sub(resident);
    assert!(growth < MAX_GROWTH, "{} MiB more after {turns} turns", growth >> 20);
    let after = (count("fd"), count("task"));
    assert!(
        after.0 <= descriptors + 2 && after.1 <= threads + 2,
        "{descriptors} and {threads} became {after:?}"
    );
    run.close_stdin();
    run.finish();
    oracle::look(&world, &only_session(&world), "afterwards").expect("a session");
    row("endurance", format_args!("{turns} turns with 2 % faults: {} KiB more", growth >> 10), turns);
}
