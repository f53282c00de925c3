//! Decisions about shell commands: how many in a second, the slowest of the usual ones, and the slowest of those that
//! were made to be slow (DEC-7).

use std::time::Instant;

use anyhow::{Result, ensure};
use zori_core::permission::Verdict;
use zori_core::tool::{Effect, ToolKind};
use zori_policy::file::PolicyFile;
use zori_policy::{Call, Policy, decide};
use zori_testkit::shell::hostile;

use super::area::{Bench, RUNS};
use super::figure::{Bar, Figure, median, ms};
use super::run::in_ms;

const PROFILES: &str = include_str!("../../../fixtures/shell/profiles-2.json");
const ROWS: [&str; 3] = [
    include_str!("../../../fixtures/shell/bypass.tsv"),
    include_str!("../../../fixtures/shell/bypass-2.tsv"),
    include_str!("../../../fixtures/shell/everyday.tsv"),
];

/// The longest command that is read at all.
const LONGEST: usize = 64 * 1024;

/// Measures decisions: analysis of the text, facts and the twelve steps, as a call of `bash` takes.
pub fn permissions(_: &Bench) -> Result<Vec<Figure>> {
    let file = PolicyFile::parse(PROFILES, "profiles.json")?;
    let policy = |name: &str| Ok::<_, anyhow::Error>(file.policy(name, "profiles.json")?.0);
    let usual = policy("dflt")?;
    let mut rows = Vec::new();
    for line in ROWS.iter().flat_map(|rows| rows.lines()).filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.rsplit('\t').collect();
        let [_, _, command, profile, ..] = columns.as_slice() else { continue };
        rows.push((policy(profile)?, serde_json::from_str::<String>(command)?));
    }
    ensure!(rows.len() > 700, "only {} commands were found", rows.len());
    ensure!(timed(&usual, "curl x").1 == Verdict::Deny, "the profile denies `curl`");
    let mut rates = Vec::new();
    let mut slow = Vec::new();
    for _ in 0..RUNS {
        let mut times: Vec<f64> = rows.iter().map(|(policy, command)| timed(policy, command).0).collect();
        rates.push(rows.len() as f64 / times.iter().sum::<f64>() * 1000.0);
        times.sort_by(f64::total_cmp);
        slow.push(times[times.len() * 99 / 100]);
    }
    let long = "git status && ".repeat(LONGEST / "git status && ".len()) + "ls";
    let long_times: Vec<f64> = (0..RUNS).map(|_| timed(&usual, &long).0).collect();
    let mut worst = (0.0, String::new());
    for (name, text) in hostile(LONGEST) {
        // The best of three: what the machine does beside is not the text's doing.
        let time = (0..3).map(|_| timed(&usual, &text).0).fold(f64::INFINITY, f64::min);
        if time > worst.0 {
            worst = (time, name);
        }
    }
    eprintln!("the slowest of the hostile texts: {}", worst.1);
    Ok(vec![
        Figure {
            name: "decisions of the corpus, time of 5,000",
            measured: ms(5_000_000.0 / median(&rates)),
            floor: None,
            bar: Bar::Under(1000.0),
        },
        Figure {
            name: "decision, slowest of a hundred",
            measured: ms(median(&slow)),
            floor: None,
            bar: Bar::Under(5.0),
        },
        Figure {
            name: "decision on a command of 64 KiB",
            measured: ms(median(&long_times)),
            floor: None,
            bar: Bar::Under(50.0),
        },
        Figure {
            name: "decision on the worst text",
            measured: ms(worst.0),
            floor: None,
            bar: Bar::Under(250.0),
        },
    ])
}

/// Decides once; returns the milliseconds and the verdict.
fn timed(policy: &Policy, command: &str) -> (f64, Verdict) {
    let began = Instant::now();
    let effect = Effect::Exec { command: command.to_owned(), cwd: policy.workspace.cwd.clone() };
    let call = Call::new("bash", Some(ToolKind::Bash), &[effect], &policy.workspace);
    let verdict = decide(policy, &call).verdict;
    (in_ms(began.elapsed()), verdict)
}
