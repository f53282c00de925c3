//! `cargo xtask fuzz [SECONDS]`: every fuzz target over its corpus, then on for some seconds each.
//!
//! The targets are in `fuzz/`, a workspace of its own, and run on the stable toolchain: without a sanitizer
//! cargo-fuzz needs no other. The corpus is made from `fixtures/` each time, so that it never falls behind; what a
//! run finds on its way stays in the target folder. A finding becomes a test beside the fixtures.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::test::cargo_command;
use crate::workspace::{Workspace, target_folder};

/// How long each target runs in CI (DECISIONS 34).
const IN_CI: Duration = Duration::from_secs(20);
/// What runs the targets. Its version is fixed, since it decides on compiler flags.
const CARGO_FUZZ: &str = "0.13.2";

/// A target: its name, and where its inputs come from.
struct Target {
    name: &'static str,
    seeds: fn(&Workspace) -> Vec<Vec<u8>>,
}

const TARGETS: &[Target] =
    &[Target { name: "decoders", seeds: streams }, Target { name: "shell", seeds: commands }];

/// The lists of commands that are kept; the last but two columns hold the command as a JSON string.
const COMMANDS: &[&str] = &[
    "fixtures/shell/bypass.tsv",
    "fixtures/shell/bypass-2.tsv",
    "fixtures/shell/own.tsv",
    "fixtures/shell/everyday.tsv",
    "fixtures/shell/variants.tsv",
];

/// Folders of fixtures, and which API of `fuzz/fuzz_targets/decoders.rs` they belong to.
const STREAMS: &[(&str, u8)] = &[
    ("fixtures/anthropic", 0),
    ("fixtures/openai_chat", 1),
    ("fixtures/openrouter", 1),
    ("fixtures/compat", 2),
    ("fixtures/openai_responses", 3),
    ("fixtures/gemini", 4),
];
/// How many APIs that target knows: so much is added to choose an answer in one piece.
const APIS: u8 = 5;

/// Runs every target.
pub fn chore(workspace: &Workspace, args: &[String]) -> Result<ExitCode> {
    let time = match args {
        [] => IN_CI,
        [seconds] => Duration::from_secs(
            seconds.parse().with_context(|| format!("`{seconds}` is no number of seconds"))?,
        ),
        _ => bail!("usage: cargo xtask fuzz [SECONDS]"),
    };
    run(workspace, time)?;
    Ok(ExitCode::SUCCESS)
}

/// Runs every target for this long, and prints how many inputs each has seen.
pub fn run(workspace: &Workspace, each: Duration) -> Result<()> {
    let folder = target_folder(workspace).join("fuzz");
    let cargo_fuzz = install(&folder)?;
    for target in TARGETS {
        let seeds = folder.join("seeds").join(target.name);
        write_seeds(&seeds, &(target.seeds)(workspace))?;
        let cases = run_target(workspace, &cargo_fuzz, target.name, &folder, &seeds, each)?;
        println!("fuzz target `{}`: {cases} cases", target.name);
    }
    Ok(())
}

fn run_target(
    workspace: &Workspace,
    cargo_fuzz: &Path,
    name: &str,
    folder: &Path,
    seeds: &Path,
    time: Duration,
) -> Result<u64> {
    let found = folder.join("found").join(name);
    fs::create_dir_all(&found)?;
    let mut command = Command::new(cargo_fuzz);
    command.args(["run", "--sanitizer", "none", name]).args([&found, &seeds.to_path_buf()]);
    command.args(["--", &format!("-max_total_time={}", time.as_secs()), "-max_len=16384", "-timeout=10"]);
    command.env("CARGO_TARGET_DIR", folder.join("target")).current_dir(&workspace.root);
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
            .args(["install", "--quiet", "--locked", "--version", CARGO_FUZZ, "cargo-fuzz", "--root"])
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

/// Every recorded and written answer, with the two bytes before it that choose API and cut.
fn streams(workspace: &Workspace) -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (folder, api) in STREAMS {
        for file in workspace.below(folder) {
            let choice = match file.path.rsplit_once('.') {
                Some((_, "sse")) => *api,
                Some((stem, "json")) if !stem.ends_with(".request") => api + APIS,
                _ => continue,
            };
            seeds.push([&[choice, 128], file.text.as_bytes()].concat());
        }
    }
    seeds
}

/// Every command of the kept lists and every rule of the profiles, with the byte before it that chooses a profile;
/// and the profiles themselves.
fn commands(workspace: &Workspace) -> Vec<Vec<u8>> {
    let mut texts = Vec::new();
    for path in COMMANDS {
        let rows = workspace.text(path).unwrap_or_default();
        let commands =
            rows.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.rsplit('\t').nth(2));
        texts.extend(commands.filter_map(|command| serde_json::from_str::<String>(command).ok()));
    }
    let profiles = workspace.text("fixtures/shell/profiles.json").unwrap_or_default();
    texts.extend(profiles.split('"').filter(|text| text.contains('(')).map(str::to_owned));
    let mut seeds: Vec<_> =
        texts.iter().enumerate().map(|(n, text)| [&[n as u8 % 3], text.as_bytes()].concat()).collect();
    seeds.push(profiles.trim().as_bytes().to_vec());
    seeds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_has_seeds_and_a_file() {
        let workspace = Workspace::load().unwrap();
        for target in TARGETS {
            assert!((target.seeds)(&workspace).len() > 50, "{}", target.name);
            assert!(workspace.text(&format!("fuzz/fuzz_targets/{}.rs", target.name)).is_some());
        }
    }

    #[test]
    fn the_last_line() {
        assert_eq!(parse_run_count("Done 12345 runs in 20 second(s)"), Some(12_345));
        assert_eq!(parse_run_count("#12345\tDONE   cov: 6"), None);
    }
}
