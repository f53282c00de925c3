//! FS-5: files and trees that are larger than memory, through the tools. CI has small ones; the sparse file has its full size there, too.

use std::fs::File;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::process::ticks;
use zori_testkit::random::cases;
use zori_testkit::reply::Reply;
use zori_testkit::running::{Running, Stdin, Stdout};
use zori_testkit::server::ModelServer;

use super::{large, row};
use crate::world::with_model;

/// The resident size that no tool may bring about.
const MAX_RESIDENT: u64 = 100 << 20;
/// How long a busy machine may take to react; the figure is 250 ms.
const BOUND: Duration = Duration::from_secs(5);
const GIB: u64 = 1 << 30;
/// The ticks that only reading takes: a start has two or three.
const BUSY: u64 = 50;

/// Makes a file of one line and zeroes, which take no room on the disk.
fn sparse(world: &TestEnv, name: &str, bytes: u64) {
    let path = world.write(name, "first\n");
    let file = File::options().write(true).open(path).expect("it was made");
    file.set_len(bytes).expect("the file system has sparse files");
}

fn calling(tool: &str, input: Value, then: Reply) -> (TestEnv, ModelServer) {
    with_model([anthropic::tool_use("t1", tool, input).reply(), then])
}

fn start(world: &TestEnv) -> Running {
    let command = world.cmd(&["exec", "--session", "s", "-p", "go"]);
    world.start(command, Stdin::Null, Stdout::Captured).within(Duration::from_secs(600))
}

/// Runs one call to its end: what the model reads of it, and the largest resident size.
fn result(world: &TestEnv, model: &ModelServer) -> (String, u64) {
    let (peak, _) = large::measured(start(world));
    let last = model.request(1).messages().pop().expect("a message");
    (last["content"][0]["content"].as_str().unwrap_or_default().to_owned(), peak)
}

/// A call that is bounded in memory, and what the model must read of it.
fn check(tool: &str, input: Value, what: &str, make: impl Fn(&TestEnv), reads: impl Fn(&str) -> bool) {
    let (world, model) = calling(tool, input, anthropic::text("Done.").reply());
    make(&world);
    let (text, peak) = result(&world, &model);
    assert!(reads(&text), "{what}: {text:.300}");
    assert!(peak < MAX_RESIDENT, "{what}: {} MiB", peak >> 20);
    row("FS-5", format_args!("{what}: {} MiB resident", peak >> 20), 1);
}

#[test]
fn files_larger_than_memory() {
    let line = json!({"path": "huge", "offset": 1, "limit": 1});
    check(
        "read",
        line,
        "a line of 10 GiB",
        |world| sparse(world, "huge", 10 * GIB),
        |text| text.contains("first"),
    );
    let scanned = cases(256, 10_240) as u64 * (1 << 20);
    check(
        "read",
        json!({"path": "huge", "offset": 3}),
        "the third line of a file that has two",
        |world| sparse(world, "huge", scanned),
        |text| text.contains("past the end: the file has 2 lines"),
    );
    check(
        "grep",
        json!({"pattern": "first", "path": "huge"}),
        "a search in 10 GiB",
        |world| sparse(world, "huge", 10 * GIB),
        |text| text.contains("huge is a binary file"),
    );
    check(
        "edit",
        json!({"path": "huge", "old": "first", "new": "second"}),
        "an edit of 512 MiB",
        |world| sparse(world, "huge", GIB / 2),
        |text| text.contains("64 MiB"),
    );
}

#[test]
fn trees_of_many_files() {
    let files = cases(3_000, 1_000_000);
    check(
        "grep",
        json!({"pattern": "needle"}),
        &format!("a search in {files} files"),
        |world| {
            for n in 0..files {
                let folder = world.work().join(format!("{}/{}", n / 10_000, n / 100 % 100));
                if n % 100 == 0 {
                    std::fs::create_dir_all(&folder).expect("a folder can be made");
                }
                let text = if n + 1 == files { "needle\n" } else { "hay\n" };
                std::fs::write(folder.join(format!("f{n}")), text).expect("the disk has room");
            }
        },
        |text| text.contains(&format!("f{}", files - 1)),
    );
}

/// A search of a line that takes long ends with the first signal.
#[test]
fn cancelled_in_a_huge_file() {
    let runs = cases(1, 20);
    let mut slowest = Duration::ZERO;
    for _ in 0..runs {
        let (world, _model) = calling("read", json!({"path": "huge", "offset": 3}), Reply::stall());
        sparse(&world, "huge", 1 << 40);
        let mut run = start(&world);
        // What it has read would say more, but that is for its eyes and root's only.
        run.wait_until("the file to be read", |run| ticks(run.pid()) > BUSY);
        let begun = Instant::now();
        run.interrupt();
        let output = run.finish();
        let took = begun.elapsed();
        assert_eq!(output.code(), Some(130), "{output}");
        assert!(took < BOUND, "it took {took:?}");
        slowest = slowest.max(took);
    }
    row("FS-5", format_args!("cancelled in a huge file, the slowest {slowest:.0?}"), runs);
}
