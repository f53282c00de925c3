//! What people bring along: a start with everything configured beside one with nothing, skills, and a call of an MCP server's tool.
//!
//! Homes take turns, so that a slow moment of the machine hits them alike. The servers are shell scripts, and each home has run once before it is
//! measured: lists of tools are known from then on, as they are to somebody who works.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::area::{Bench, RUNS};
use super::figure::{Amount, Bar, Figure, median, ms};
use super::run::in_ms;

/// How often a start without anything is measured: its bar is narrow.
const NARROW_RUNS: usize = 200;
/// What the figures are said to have been before there were extensions, and how much they may add.
const PATH_CALLS: f64 = 98.0 + 14.0;
const CALLS: usize = 100;
const HEADS: [&str; 6] = ["parse", "render", "deploy", "migrate", "review", "measure"];

/// Measures starts, skills and calls.
pub fn extensions(bench: &Bench) -> Result<Vec<Figure>> {
    let empty = home(bench, "empty", |_| Ok(()))?;
    let full = home(bench, "full", |base| furnish(bench, base))?;
    let some = home(bench, "some-skills", |base| skills(base, 30))?;
    let many = home(bench, "many-skills", |base| skills(base, 200))?;
    let bare: &[&str] = &["--bare"];
    let [mut with, without] = turns(bench, RUNS, [(&full, bare), (&empty, bare)])?;
    let [thirty, hundreds, none] = turns(bench, RUNS, [(&some, &[]), (&many, &[]), (&empty, &[])])?;
    let [nothing, unlooked] =
        turns(bench, NARROW_RUNS, [(&empty, &[]), (&empty, &["--setting-sources", "project"])])?;
    with.sort_by(f64::total_cmp);
    let call = call_overhead(bench, &full)?;
    let over = |values: &[f64], floor: &[f64]| ms(median(values) - median(floor));
    let mut figures = vec![
        Figure {
            name: "start with 20 secrets, 30 skills and 2 servers, slowest of twenty (NFR-001)",
            measured: ms(with[with.len() * 95 / 100]),
            floor: Some(ms(median(&without))),
            bar: Bar::Under(500.0),
        },
        Figure {
            name: "the same, above an empty set-up",
            measured: over(&with, &without),
            floor: None,
            bar: Bar::Under(15.0),
        },
        Figure {
            name: "start with nothing configured, beside one that looks for nothing of the user's",
            measured: ms(median(&nothing)),
            floor: Some(ms(median(&unlooked))),
            bar: Bar::Ratio(1.01),
        },
        Figure {
            name: "start with 30 skills, above one without",
            measured: over(&thirty, &none),
            floor: None,
            bar: Bar::Under(3.0),
        },
        Figure {
            name: "start and first match with 200 skills, above one without",
            measured: over(&hundreds, &none),
            floor: None,
            bar: Bar::Under(100.0),
        },
        Figure {
            name: "call of a server's tool, above `read` and the server itself",
            measured: ms(call),
            floor: None,
            bar: Bar::Under(1.0),
        },
    ];
    figures.extend(looks(bench, &empty)?);
    Ok(figures)
}

/// Makes a home, lets zori run in it once, and returns it.
fn home(bench: &Bench, name: &str, fill: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let home = bench.home().join(name);
    fs::create_dir(&home)?;
    let output = bench.zori(&["config", "path", "--output", "plain"]).env("HOME", &home).output()?;
    let path = String::from_utf8(output.stdout)?;
    let base = Path::new(path.trim()).parent().context("the config file has no folder")?;
    fs::create_dir_all(base)?;
    fill(base)?;
    bench.first_request_in(&home, &[])?;
    Ok(home)
}

/// Starts zori in each of the homes, turn by turn, and returns how long each took to its first request.
fn turns<const N: usize>(
    bench: &Bench,
    runs: usize,
    homes: [(&PathBuf, &[&str]); N],
) -> Result<[Vec<f64>; N]> {
    let mut seen: [Vec<f64>; N] = std::array::from_fn(|_| Vec::new());
    for _ in 0..runs {
        for (seen, (home, args)) in seen.iter_mut().zip(homes) {
            seen.push(bench.first_request_in(home, args)?);
        }
    }
    Ok(seen)
}

/// Fills a home with all there can be: a vault of 20 entries, 30 skills, 2 servers of which one needs an entry.
fn furnish(bench: &Bench, base: &Path) -> Result<()> {
    skills(base, 30)?;
    let home = bench.home().join("full");
    let vault = |args: &[&str], value: &str| -> Result<()> {
        let mut child = bench.zori(args).env("HOME", &home).stdin(Stdio::piped()).spawn()?;
        child.stdin.take().context("standard input is a pipe")?.write_all(value.as_bytes())?;
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    };
    vault(&["vault", "init"], "")?;
    for n in 0..20 {
        vault(&["vault", "set", &format!("ENTRY_{n}")], &format!("value-of-entry-{n}\n"))?;
    }
    let script = script(bench)?;
    let server = |name: &str, env: &str| {
        format!("[mcp.servers.{name}]\ncommand = \"sh\"\nargs = [{script:?}]\n{env}\n")
    };
    let config = server("one", "") + &server("two", "env = { A_TOKEN = \"vault:ENTRY_7\" }");
    Ok(fs::write(base.join("config.toml"), config)?)
}

fn script(bench: &Bench) -> Result<PathBuf> {
    let path = bench.home().join("server.sh");
    fs::write(&path, zori_testkit::mcp::SCRIPT.trim_start())?;
    Ok(path)
}

/// Writes so many skills, each with a description and a body as people write them.
fn skills(base: &Path, count: usize) -> Result<()> {
    for n in 0..count {
        let (head, folder) = (HEADS[n % HEADS.len()], base.join("skills").join(format!("skill-{n}")));
        fs::create_dir_all(&folder)?;
        let about =
            format!("How to {head} the part of number {n}; use it for {head} {n} and what belongs to it");
        let body = format!("Step {n}: {head} it, then look at what came of it.\n").repeat(60);
        fs::write(
            folder.join("SKILL.md"),
            format!("---\nname: skill-{n}\ndescription: {about}\n---\n{body}"),
        )?;
    }
    Ok(())
}

/// Returns what a call of a server's tool takes more than one of `read`, without what the server takes itself.
fn call_overhead(bench: &Bench, home: &Path) -> Result<f64> {
    let small = bench.work().join("small.txt");
    let read = bench.steps_in(home, CALLS, "read", &json!({"path": small.to_string_lossy()}))?;
    let called = bench.steps_in(home, CALLS, "mcp__one__add", &json!({"a": 1, "b": 2}))?;
    Ok((median(&called) - median(&read) - alone(&script(bench)?)?).max(0.0))
}

/// Returns what the server takes for a call when nothing stands between it and its caller.
fn alone(script: &Path) -> Result<f64> {
    let mut child = Command::new("sh")
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut stdin = child.stdin.take().context("standard input is a pipe")?;
    let mut lines = BufReader::new(child.stdout.take().context("standard output is a pipe")?).lines();
    let mut ask = |message: serde_json::Value| -> Result<f64> {
        let begun = Instant::now();
        stdin.write_all(format!("{message}\n").as_bytes())?;
        lines.next().context("the server ended")??;
        Ok(in_ms(begun.elapsed()))
    };
    ask(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}))?;
    let mut times = Vec::new();
    for id in 2..CALLS + 2 {
        times.push(ask(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "add", "arguments": {"a": 1, "b": 2}}}))?);
    }
    drop(stdin);
    child.wait()?;
    Ok(median(&times))
}

/// Counts the system calls about paths and the threads before the first request, where they can be traced.
fn looks(bench: &Bench, home: &Path) -> Result<Vec<Figure>> {
    let trace = bench.home().join("trace");
    if !Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success()) {
        eprintln!("strace is not installed: looks at paths are not counted");
        return Ok(Vec::new());
    }
    bench.traced_first_request(home, &trace, "%file,clone,clone3,connect")?;
    let text = fs::read_to_string(&trace)?;
    let before: Vec<&str> = text.lines().take_while(|line| !line.contains("connect(")).collect();
    ensure!(before.len() < text.lines().count(), "the trace has no connection");
    let is_thread = |line: &&&str| line.contains("clone(") || line.contains("clone3(");
    let threads = before.iter().filter(is_thread).count();
    let amount = |value: usize, unit| Amount { value: value as f64, unit };
    Ok(vec![
        Figure {
            name: "nothing configured: system calls on paths before the first request",
            measured: amount(before.len() - threads, "calls"),
            floor: None,
            bar: Bar::Under(PATH_CALLS + 1.0),
        },
        Figure {
            name: "nothing configured: threads before the first request",
            measured: amount(threads, "threads"),
            floor: None,
            bar: Bar::Under(2.0),
        },
    ])
}
