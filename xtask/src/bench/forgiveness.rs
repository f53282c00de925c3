//! A model's mistakes, played to the program and scored (`docs/contracts/forgiveness.md`).

use std::process::ExitCode;

use anyhow::Result;
use zori_testkit::forgiveness::{self, GROUPS, Scored, Summary};

use super::figure::median;
use super::programs::Programs;
use crate::workspace::Workspace;

/// A refusal has fewer bytes than this, in the median.
const SHORT: f64 = 200.0;

/// Prints the points of every group, and each case that is not worth all of them; exit code 1 when a goal is missed.
pub fn score(workspace: &Workspace) -> Result<ExitCode> {
    let zori = Programs::build(workspace)?.zori;
    let mut all: Vec<Scored> = Vec::new();
    let mut missed = false;
    println!("{:<14} {:>5} {:>8} {:>5} {:>6} {:>6}", "group", "cases", "percent", "goal", "wrong", "hangs");
    for group in GROUPS {
        let scored = forgiveness::play(&zori, group);
        let Summary { cases, percent, wrong, hangs } = Summary::of(&scored);
        missed |= !Summary::of(&scored).reaches(group);
        let name = format!("{} {}", group.letter, group.name);
        println!("{name:<14} {cases:>5} {percent:>8} {:>5} {wrong:>6} {hangs:>6}", group.goal);
        all.extend(scored);
    }
    let refusals: Vec<f64> =
        all.iter().filter_map(|scored| scored.refusal).map(|bytes| bytes as f64).collect();
    let short = median(&refusals);
    println!("median of {} refusals: {short} bytes, under {SHORT}", refusals.len());
    missed |= short >= SHORT;
    for scored in all.iter().filter(|scored| scored.points < 2) {
        println!("{scored}");
    }
    Ok(if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
