//! `--bare` with everything that it keeps: a vault of 20 entries that holds the key, 30 skills, two MCP servers on standard input. From the start of the
//! process to `session.ready` (NFR-001), beside the same with nothing of it. What it leaves out is proven by a test, not measured.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::area::Bench;
use super::figure::{Bar, Figure, median, ms};
use super::replies;
use super::run::ms_between;

/// As often as NFR-001 says.
const RUNS: usize = 20;
const ENTRIES: usize = 20;
const SKILLS: usize = 30;
/// The limit of NFR-001, and our own, in milliseconds.
const LIMIT: f64 = 500.0;
const OURS: f64 = 60.0;

/// Measures it.
pub fn bare(bench: &Bench) -> Result<Vec<Figure>> {
    let plain: Vec<f64> = (0..RUNS).map(|_| ready(bench, true)).collect::<Result<_>>()?;
    furnish(bench)?;
    // Once to have everything in the cache of the disk.
    ready(bench, false)?;
    let mut full: Vec<f64> = (0..RUNS).map(|_| ready(bench, false)).collect::<Result<_>>()?;
    full.sort_by(f64::total_cmp);
    let (slowest, floor) = (ms(full[RUNS * 95 / 100 - 1]), Some(ms(median(&plain))));
    Ok(vec![
        Figure {
            name: "`--bare` to `session.ready`, p95: vault, 30 skills, two servers (floor: none of them)",
            measured: slowest,
            floor,
            bar: Bar::Under(OURS),
        },
        Figure { name: "the same, the document's limit", measured: slowest, floor, bar: Bar::Under(LIMIT) },
    ])
}

/// Puts everything there.
fn furnish(bench: &Bench) -> Result<()> {
    done(&mut bench.zori(&["vault", "init"]), "")?;
    for number in 1..ENTRIES {
        done(
            &mut bench.zori(&["vault", "set", &format!("ENTRY_{number}")]),
            &format!("value-{number}-of-them"),
        )?;
    }
    done(&mut bench.zori(&["vault", "set", "BENCH_KEY"]), "dummy-key-of-the-vault")?;
    let config = bench.base()?.join("config.toml");
    let script = bench.home().join("server.sh");
    fs::write(&script, zori_testkit::mcp::SCRIPT.trim_start())?;
    let server = |name: &str| format!("[mcp.servers.{name}]\ncommand = \"sh\"\nargs = [{script:?}]\n");
    fs::write(config, format!("api_key = \"vault:BENCH_KEY\"\n{}{}", server("one"), server("two")))?;
    for number in 0..SKILLS {
        let folder = bench.base()?.join(format!("skills/skill-{number}"));
        fs::create_dir_all(&folder)?;
        let head =
            format!("---\nname: skill-{number}\ndescription: Does the thing number {number} well.\n---\n");
        fs::write(folder.join("SKILL.md"), head + &"A line of what it says.\n".repeat(50))?;
    }
    Ok(())
}

fn done(command: &mut Command, input: &str) -> Result<()> {
    let mut child = command.stdin(Stdio::piped()).spawn()?;
    child.stdin.take().context("standard input is a pipe")?.write_all(input.as_bytes())?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// Starts a session and returns how long it takes until it is ready, in milliseconds. The prompt is answered, so that it ends as sessions do.
fn ready(bench: &Bench, with_key: bool) -> Result<f64> {
    bench.server().begin(&[Arc::new(replies::text(["Hello."]))]);
    let mut command = bench.zori(&["--bare", "--json", "--no-save", "-p", "hi"]);
    command.env("RUST_LOG", "info").env("ANTHROPIC_BASE_URL", format!("http://{}", bench.server().address));
    if with_key {
        command.env("ANTHROPIC_API_KEY", "dummy");
    }
    let started = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
    let (mut at, mut log) = (None, String::new());
    for line in BufReader::new(child.stderr.take().context("stderr is a pipe")?).lines() {
        let line = line?;
        if line.ends_with("session.ready") {
            at.get_or_insert_with(Instant::now);
        }
        log += &(line + "\n");
    }
    let status = child.wait()?;
    ensure!(status.success(), "{command:?} ended with {status}:\n{log}");
    Ok(ms_between(started, at.with_context(|| format!("it was never ready:\n{log}"))?))
}
