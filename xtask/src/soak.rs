//! `cargo xtask soak [AREA] [--hours N] [--part PERCENT]`: the full figures of `docs/contracts/`, of which `.ci/run`
//! runs a part (DECISIONS 34). An area is a line in [`AREAS`]; each prints how many cases it ran. With `ZORI_TEST_BINARY` the tests of the
//! executable run that one, say a release build. The tests are built once, before the time begins.

mod programs;
mod reliability;
mod suite;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use self::programs::Programs;
use self::suite::{Chosen, SuiteRun};
use crate::fuzz;
use crate::test;
use crate::workspace::Workspace;

/// Something to run for long.
struct Area {
    name: &'static str,
    about: &'static str,
    run: Run,
}

/// How an area is run.
enum Run {
    /// By tests of the workspace, which are built before.
    Tests(fn(&Programs, &Time) -> Result<()>),
    /// In its own way.
    Itself(fn(&Workspace, &Time) -> Result<()>),
}

use Run::{Itself, Tests};

const AREAS: &[Area] = &[
    Area {
        name: "reliability",
        about: "Kills, signals, children and large sessions: the table of docs/contracts/reliability.md",
        run: Tests(reliability::run),
    },
    Area {
        name: "streams",
        about: "Faults of connections and answers, and made-up answers",
        run: Tests(streams),
    },
    Area { name: "shell", about: "Shell texts: properties, and what real shells run", run: Tests(shell) },
    Area { name: "paths", about: "Paths, and links that are exchanged while tools run", run: Tests(paths) },
    Area { name: "undo", about: "Random sessions, kills and faults of restores", run: Tests(undo) },
    Area {
        name: "fuzz",
        about: "Fuzz targets, an hour each unless told otherwise",
        run: Itself(fuzz_targets),
    },
    Area { name: "repeat", about: "The whole test suite, ten times in a row", run: Itself(repeat) },
];

/// How long to go on.
struct Time {
    began: Instant,
    hours: Option<f64>,
    /// Which part of the full number of cases each test runs.
    percent: u32,
}

/// What the command line asks for.
#[derive(Debug, PartialEq)]
struct Wanted {
    names: Vec<&'static str>,
    hours: Option<f64>,
    percent: u32,
}

impl Time {
    /// Returns whether another round may begin. Without `--hours` there is one.
    fn another(&self, rounds: u32) -> bool {
        rounds == 0 || (self.hours.is_some() && !self.is_over())
    }

    /// Returns whether the hours that were asked for are over.
    fn is_over(&self) -> bool {
        self.hours.is_some_and(|hours| self.began.elapsed().as_secs_f64() >= hours * 3600.0)
    }
}

/// Runs one area, or all.
pub fn chore(workspace: &Workspace, args: &[String]) -> Result<ExitCode> {
    let Wanted { names, hours, percent } = parse(args)?;
    let areas = || AREAS.iter().filter(|area| names.is_empty() || names.contains(&area.name));
    let programs = match areas().any(|area| matches!(area.run, Tests(_))) {
        true => Programs::build(workspace)?,
        false => Programs::default(),
    };
    for area in areas() {
        println!("{}: {}", area.name, area.about);
        let time = Time { began: Instant::now(), hours, percent };
        let done = match area.run {
            Tests(run) => run(&programs, &time),
            Itself(run) => run(workspace, &time),
        };
        done.with_context(|| format!("area `{}`", area.name))?;
        println!("{}: done in {:.0} s", area.name, time.began.elapsed().as_secs_f64());
    }
    Ok(ExitCode::SUCCESS)
}

fn parse(args: &[String]) -> Result<Wanted> {
    let (mut names, mut hours, mut percent) = (Vec::new(), None, 100);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg == "--hours" {
            let value = args.next().context("`--hours` needs a number")?;
            let number: f64 = value.parse().with_context(|| format!("`{value}` is no number of hours"))?;
            ensure!(number > 0.0 && number < 1000.0, "`{value}` is no number of hours");
            hours = Some(number);
        } else if arg == "--part" {
            let value = args.next().context("`--part` needs a number of percent")?;
            percent = value
                .parse()
                .ok()
                .filter(|percent| (1..=100).contains(percent))
                .with_context(|| format!("`{value}` is no number of percent"))?;
        } else if let Some(area) = AREAS.iter().find(|area| area.name == arg) {
            names.push(area.name);
        } else {
            let known: Vec<_> = AREAS.iter().map(|area| area.name).collect();
            bail!("no area is called `{arg}`; there are {}", known.join(", "));
        }
    }
    Ok(Wanted { names, hours, percent })
}

fn streams(programs: &Programs, time: &Time) -> Result<()> {
    rounds(time, || {
        let decoders = tests(programs, time, Chosen::it("zori-providers", ""))?;
        let program = tests(programs, time, Chosen::it("zori", "faults::"))?;
        println!("streams: {decoders} cases of decoders, {program} of the executable");
        Ok(())
    })
}

fn shell(programs: &Programs, time: &Time) -> Result<()> {
    rounds(time, || {
        let analyses = tests(programs, time, Chosen::it("zori-shell", ""))?;
        let decisions = tests(programs, time, Chosen::it("zori-policy", ""))?;
        println!("shell: {analyses} cases of the analysis, {decisions} of the decision");
        Ok(())
    })
}

fn paths(programs: &Programs, time: &Time) -> Result<()> {
    rounds(time, || {
        println!("paths: {} cases", tests(programs, time, Chosen::it("zori", "paths::"))?);
        Ok(())
    })
}

fn undo(programs: &Programs, time: &Time) -> Result<()> {
    rounds(time, || {
        let store = tests(programs, time, Chosen::it("zori-undo", ""))?;
        let program = tests(programs, time, Chosen::it("zori", "undo"))?;
        println!("undo: {store} cases of the store, {program} of the executable");
        Ok(())
    })
}

/// Runs an area again and again, for as long as there is time.
fn rounds(time: &Time, mut round: impl FnMut() -> Result<()>) -> Result<()> {
    let mut done = 0;
    while time.another(done) {
        round()?;
        done += 1;
    }
    Ok(())
}

fn fuzz_targets(workspace: &Workspace, time: &Time) -> Result<()> {
    let hours = time.hours.unwrap_or(1.0) * f64::from(time.percent) / 100.0;
    let (targets, cases) = fuzz::run(workspace, Duration::from_secs_f64(hours * 3600.0))?;
    println!("fuzz: {cases} cases of {targets} targets");
    Ok(())
}

/// Runs the test suite again and again; no test gets a second chance.
fn repeat(workspace: &Workspace, time: &Time) -> Result<()> {
    let runs = (10 * time.percent / 100).max(1);
    let once: &[&str] = if test::has_nextest() { &["--retries", "0"] } else { &[] };
    let args: Vec<String> = once.iter().map(|arg| (*arg).to_owned()).collect();
    for run in 1..=runs {
        ensure!(test::chore(workspace, &args)? == ExitCode::SUCCESS, "run {run} of {runs} failed");
    }
    println!("repeat: {runs} clean runs");
    Ok(())
}

/// Runs tests in full and returns how many cases they say they had (`N cases`). One that fails ends the area.
fn tests(programs: &Programs, time: &Time, chosen: Chosen) -> Result<u64> {
    let run = SuiteRun::of(programs, time, &chosen)?;
    ensure!(run.failed.is_empty(), "{}", run.failed.join(", "));
    Ok(run.cases)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn arguments() {
        let wanted =
            |names: &[&'static str], hours, percent| Wanted { names: names.to_vec(), hours, percent };
        assert_eq!(parse(&words("")).unwrap(), wanted(&[], None, 100));
        assert_eq!(
            parse(&words("streams --hours 0.5 --part 20")).unwrap(),
            wanted(&["streams"], Some(0.5), 20)
        );
        let error = |text| parse(&words(text)).unwrap_err().to_string();
        assert_eq!(
            error("stream"),
            "no area is called `stream`; there are reliability, streams, shell, paths, undo, fuzz, repeat"
        );
        assert_eq!(error("--hours"), "`--hours` needs a number");
        assert_eq!(error("--hours -1"), "`-1` is no number of hours");
        assert_eq!(error("--part 0"), "`0` is no number of percent");
    }

    #[test]
    fn one_round_unless_there_is_time() {
        let time = |hours| Time { began: Instant::now(), hours, percent: 100 };
        assert_eq!([time(None).another(0), time(None).another(1)], [true, false]);
        assert_eq!([time(Some(1.0)).another(1), time(Some(1e-12)).another(1)], [true, false]);
        assert_eq!(
            [time(None).is_over(), time(Some(1.0)).is_over(), time(Some(1e-12)).is_over()],
            [false, false, true]
        );
    }
}
