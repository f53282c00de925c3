//! `cargo xtask fuzz [SECONDS]`: every fuzz target over its corpus, then on for some seconds each. `cargo xtask fuzz build` only builds them.
//!
//! The targets are in `fuzz/`, a workspace of its own, and run on the stable toolchain: without a sanitizer
//! cargo-fuzz needs no other. They are built together, then run as many at once as there are processors. The corpus is made from
//! `fixtures/` and `docs/` each time (`fuzz/seeds.rs`), so that it never falls behind; what a run finds on its way stays in the
//! target folder. A finding becomes a test beside the fixtures.

mod seeds;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::test::cargo_command;
use crate::workspace::{Workspace, target_folder};

/// How long each target runs in CI (DECISIONS 34).
const IN_CI: Duration = Duration::from_secs(20);
/// What runs the targets. Its version is fixed, since it decides on compiler flags.
const CARGO_FUZZ: &str = "0.13.2";
/// What cargo-fuzz is told against its own mind: it asks for all debug information and one unit of code a crate, which makes the
/// build several times as long. A finding is an input; who debugs it builds that target by hand.
const COMPILER_FLAGS: &str = "-Cdebuginfo=0 -Ccodegen-units=16";

/// How a target is built, said alike when it is built and when it is run: without a sanitizer, and without code that nothing calls.
const BUILD_FLAGS: &[&str] = &["--sanitizer", "none", "--strip-dead-code=true"];

/// A target: its name, and where its inputs come from.
struct Target {
    name: &'static str,
    seeds: fn(&Workspace) -> Vec<Vec<u8>>,
}

const TARGETS: &[Target] = &[
    Target { name: "config", seeds: seeds::settings },
    Target { name: "decoders", seeds: seeds::streams },
    Target { name: "extensions", seeds: seeds::extensions },
    Target { name: "lines", seeds: seeds::client_lines },
    Target { name: "mcp", seeds: seeds::mcp_messages },
    Target { name: "patch", seeds: seeds::patches },
    Target { name: "rules", seeds: seeds::rules },
    Target { name: "session", seeds: seeds::sessions },
    Target { name: "shell", seeds: seeds::commands },
    Target { name: "sse", seeds: seeds::event_streams },
    Target { name: "terminal", seeds: seeds::terminal_texts },
];

/// Runs every target.
pub fn chore(workspace: &Workspace, args: &[String]) -> Result<ExitCode> {
    let time = match args {
        [] => IN_CI,
        [word] if word == "build" => {
            build(workspace)?;
            return Ok(ExitCode::SUCCESS);
        }
        [seconds] => Duration::from_secs(
            seconds.parse().with_context(|| format!("`{seconds}` is no number of seconds"))?,
        ),
        _ => bail!("usage: cargo xtask fuzz [SECONDS | build]"),
    };
    run(workspace, time)?;
    Ok(ExitCode::SUCCESS)
}

/// Runs every target for this long, and prints how many inputs each has seen. Returns the number of targets and of all inputs.
pub fn run(workspace: &Workspace, each: Duration) -> Result<(usize, u64)> {
    let Built { cargo_fuzz, folder } = build(workspace)?;
    let waiting = Mutex::new(TARGETS.iter());
    let at_once = std::thread::available_parallelism().map_or(1, usize::from);
    let one_after_another = || -> Result<u64> {
        let mut all = 0;
        loop {
            let next = waiting.lock().expect("nobody panics with it").next();
            let Some(target) = next else { return Ok(all) };
            let seeds = folder.join("seeds").join(target.name);
            write_seeds(&seeds, &(target.seeds)(workspace))?;
            let command = cargo_fuzz_command(workspace, &cargo_fuzz, &folder);
            let cases = run_target(command, target.name, &folder, &seeds, each)?;
            println!("fuzz target `{}`: {cases} cases", target.name);
            all += cases;
        }
    };
    let all: Result<Vec<u64>> = std::thread::scope(|scope| {
        let runners: Vec<_> = (0..at_once).map(|_| scope.spawn(one_after_another)).collect();
        runners.into_iter().map(|runner| runner.join().expect("a runner does not panic")).collect()
    });
    Ok((TARGETS.len(), all?.into_iter().sum()))
}

/// What runs the targets, and where they lie.
struct Built {
    cargo_fuzz: PathBuf,
    folder: PathBuf,
}

fn build(workspace: &Workspace) -> Result<Built> {
    let folder = target_folder(workspace).join("fuzz");
    let cargo_fuzz = install(&folder)?;
    let mut build = cargo_fuzz_command(workspace, &cargo_fuzz, &folder);
    build.arg("build").args(BUILD_FLAGS);
    ensure!(build.status().context("cannot run cargo-fuzz")?.success(), "the fuzz targets cannot be built");
    Ok(Built { cargo_fuzz, folder })
}

fn cargo_fuzz_command(workspace: &Workspace, cargo_fuzz: &Path, folder: &Path) -> Command {
    let mut command = Command::new(cargo_fuzz);
    command.env("CARGO_TARGET_DIR", folder.join("target")).env("RUSTFLAGS", COMPILER_FLAGS);
    command.current_dir(&workspace.root);
    command
}

fn run_target(mut command: Command, name: &str, folder: &Path, seeds: &Path, time: Duration) -> Result<u64> {
    let found = folder.join("found").join(name);
    fs::create_dir_all(&found)?;
    command.arg("run").args(BUILD_FLAGS).arg(name).args([&found, &seeds.to_path_buf()]);
    command.args(["--", &format!("-max_total_time={}", time.as_secs()), "-max_len=16384", "-timeout=10"]);
    if time == IN_CI {
        // The same inputs in every run of CI: a change is judged by itself, and what is new is looked for by the longer runs.
        command.arg("-seed=1");
    }
    let mut child = command.stderr(Stdio::piped()).spawn().context("cannot run cargo-fuzz")?;
    let stderr = child.stderr.take().context("stderr is a pipe")?;
    let mut cases = None;
    let mut last = Vec::new();
    for line in BufReader::new(stderr).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        cases = cases.or_else(|| parse_run_count(&line));
        // Progress is of no interest; what was said last before a failure is.
        last.push(line);
        if last.len() > 60 {
            last.remove(0);
        }
    }
    let status = child.wait()?;
    ensure!(status.success(), "fuzz target `{name}` failed:\n{}", last.join("\n"));
    cases.context("libFuzzer did not say how many inputs it ran")
}

/// Reads libFuzzer's last line: `Done 12345 runs in 20 second(s)`.
fn parse_run_count(line: &str) -> Option<u64> {
    line.strip_prefix("Done ")?.split_once(" runs in ")?.0.parse().ok()
}

/// Returns cargo-fuzz, installed into the target folder once; it needs the registry for that.
fn install(folder: &Path) -> Result<PathBuf> {
    let root = folder.join("tools").join(CARGO_FUZZ);
    let program = root.join("bin/cargo-fuzz");
    if !program.is_file() {
        eprintln!("installing cargo-fuzz {CARGO_FUZZ} ...");
        let mut command = cargo_command();
        command
            .args(["install", "--quiet", "--debug", "--locked"])
            .args(["--version", CARGO_FUZZ, "cargo-fuzz", "--root"])
            .arg(&root);
        command.env("CARGO_TARGET_DIR", folder.join("tools/build"));
        ensure!(command.status().context("cannot run cargo")?.success(), "cargo-fuzz could not be installed");
    }
    Ok(program)
}

fn write_seeds(folder: &Path, seeds: &[Vec<u8>]) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    for (number, seed) in seeds.iter().enumerate() {
        fs::write(folder.join(number.to_string()), seed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_has_seeds_and_a_file() {
        let workspace = Workspace::load().unwrap();
        for target in TARGETS {
            let count = (target.seeds)(&workspace).len();
            assert!(count > 20, "{}: {count}", target.name);
            assert!(workspace.text(&format!("fuzz/fuzz_targets/{}.rs", target.name)).is_some());
        }
    }

    /// A target that is not in the table would never run.
    #[test]
    fn every_file_is_a_target() {
        let workspace = Workspace::load().unwrap();
        let files: Vec<_> =
            workspace.below("fuzz/fuzz_targets").filter_map(|file| file.name().strip_suffix(".rs")).collect();
        let mut names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        names.sort_unstable();
        assert_eq!(files.len(), names.len());
        assert!(files.iter().all(|file| names.contains(file)), "{files:?}");
    }

    #[test]
    fn the_last_line() {
        assert_eq!(parse_run_count("Done 12345 runs in 20 second(s)"), Some(12_345));
        assert_eq!(parse_run_count("#12345\tDONE   cov: 6"), None);
    }
}
