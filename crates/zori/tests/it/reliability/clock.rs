//! CLK-1, CLK-2, CLK-3: the clock shim. A library before the C library lets the time of day jump with every look at it; a turn with a retry
//! and calls must come out as it does without.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use zori_testkit::env::TestEnv;
use zori_testkit::running::{Stdin, Stdout};
use zori_testkit::server::ModelServer;
use zori_testkit::{anthropic, needs};

use super::row;
use crate::world::{timeless, world};

/// Shifts the time of day, and no other clock, by what `SHIM` says: an alternating number of seconds, or a fixed time.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static atomic_long looks;
int clock_gettime(clockid_t clock, struct timespec *time) {
    int failed = (int) syscall(SYS_clock_gettime, clock, time);
    const char *by = getenv("SHIM");
    if (failed || !by || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return failed;
    long look = atomic_fetch_add(&looks, 1);
    switch (by[0]) {
        case '~': time->tv_sec += (look % 2 ? 1 : -1) * atol(by + 1); break;
        case '-': time->tv_sec -= look * atol(by + 1); break;
        case '+': time->tv_sec += look * atol(by + 1); break;
        case '=': time->tv_sec = atol(by + 1); break;
    }
    return failed;
}
"#;

const TEN_YEARS: &str = "315360000";
/// So long a turn may take: far above what a busy machine needs, and far below what a wait by the wrong clock would be.
const LONGEST: Duration = Duration::from_secs(240);

fn library(world: &TestEnv) -> Option<PathBuf> {
    let compiler = needs::program("cc")?;
    let (source, library) = (world.home().join("shim.c"), world.home().join("shim.so"));
    world.write(&source, SHIM);
    let built = Command::new(compiler).args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    assert!(built.expect("the compiler runs").success());
    Some(library)
}

/// A turn with a retry, a limit on the time, and two calls. Returns what the model was sent, the records by their types, and the time stamps.
fn turn(by: Option<&str>) -> Option<(String, Vec<String>, Vec<String>, Duration)> {
    let server = ModelServer::start([
        anthropic::http_error(503, "api_error", "busy").header("retry-after", "1"),
        anthropic::tool_use("t1", "bash", json!({"command": "echo one", "timeout_secs": 60})).reply(),
        anthropic::tool_use("t2", "write", json!({"path": "f", "content": "x"})).reply(),
        anthropic::text("Done.").reply(),
    ]);
    let mut world = world();
    world.use_server(&server);
    if let Some(by) = by {
        let library = library(&world)?;
        world.set_var("LD_PRELOAD", library).set_var("SHIM", by);
    }
    let begun = Instant::now();
    let run = world.cmd(&["exec", "--session", "s", "--timeout", "600s", "-p", "go"]);
    let output = world.start(run, Stdin::Null, Stdout::Captured).within(LONGEST).finish();
    let took = begun.elapsed();
    assert_eq!((output.code(), output.stdout().as_str()), (Some(0), "Done.\n"), "{by:?}: {output}");
    let file = world.read(world.base().join("sessions/s.jsonl"));
    let records: Vec<Value> =
        file.lines().map(|line| serde_json::from_str(line).expect("a record")).collect();
    let fields = |name: &str| {
        records.iter().map(|record| record[name].as_str().unwrap_or_default().to_owned()).collect()
    };
    let sent = timeless(&world.rewrite().apply(&server.request(3).conversation()));
    Some((sent, fields("type"), fields("ts"), took))
}

#[test]
fn the_time_of_day_jumps() {
    let (sent, records, _, _) = turn(None).expect("nothing is needed");
    let shifts =
        ["~315360000", "+315360000", "-315360000", "=0", "=2147483640", "=4102444800", "=1483228799", "~1"];
    assert!(shifts[0].ends_with(TEN_YEARS));
    for by in shifts {
        let Some((other, types, stamps, took)) = turn(Some(by)) else { return };
        assert_eq!((&other, &types), (&sent, &records), "{by}");
        assert!(took > Duration::from_millis(900), "{by}: the wait before the retry was {took:?}");
        if by == "=0" {
            assert!(
                stamps.iter().filter(|stamp| !stamp.is_empty()).all(|stamp| stamp.starts_with("1970-01-01")),
                "{stamps:?}"
            );
        }
    }
    row("CLK-1", "the same requests and waits, whatever the time of day does", shifts.len());
    row("CLK-2", "the same order of records, with the clock going backwards", shifts.len());
    row("CLK-3", "turns in 1970, 2038 and 2100, and at a leap second", 4);
}
