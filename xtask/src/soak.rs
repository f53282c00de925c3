//! `cargo xtask soak [AREA] [--hours N] [--part PERCENT]`: the full figures of `docs/contracts/`, of which `.ci/run`
//! runs a part (DECISIONS 34). An area is a line in [`AREAS`]; each prints how many cases it ran. With `ZORI_TEST_BINARY` the tests of the
//! executable run that one, say a release build.

mod reliability;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::fuzz;
use crate::test::{self, cargo_command};
use crate::workspace::Workspace;

/// Something to run for long.
struct Area {
    name: &'static str,
    about: &'static str,
    run: fn(&Workspace, &Time) -> Result<()>,
}

const AREAS: &[Area] = &[
    Area {
        name: "reliability",
        about: "Kills, signals, children and large sessions: the table of docs/contracts/reliability.md",
        run: reliability::run,
    },
    Area { name: "streams", about: "Faults of connections and answers, and made-up answers", run: streams },
    Area { name: "shell", about: "Shell texts: properties, and what real shells run", run: shell },
    Area { name: "paths", about: "Paths, and links that are exchanged while tools run", run: paths },
    Area { name: "undo", about: "Random sessions, kills and faults of restores", run: undo },
    Area { name: "fuzz", about: "Fuzz targets, an hour each unless told otherwise", run: fuzz_targets },
    Area { name: "repeat", about: "The whole test suite, ten times in a row", run: repeat },
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
        match self.hours {
            None => rounds == 0,
            Some(hours) => rounds == 0 || self.began.elapsed().as_secs_f64() < hours * 3600.0,
        }
    }
}

/// Runs one area, or all.
pub fn chore(workspace: &Workspace, args: &[String]) -> Result<ExitCode> {
    let Wanted { names, hours, percent } = parse(args)?;
    for area in AREAS.iter().filter(|area| names.is_empty() || names.contains(&area.name)) {
        println!("{}: {}", area.name, area.about);
        let time = Time { began: Instant::now(), hours, percent };
        (area.run)(workspace, &time).with_context(|| format!("area `{}`", area.name))?;
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

fn streams(workspace: &Workspace, time: &Time) -> Result<()> {
    rounds(time, || {
        let decoders = tests(workspace, time, &["--package", "zori-providers", "--test", "it"])?;
        let program = tests(workspace, time, &["--package", "zori", "--test", "it", "faults::"])?;
        println!("streams: {decoders} cases of decoders, {program} of the executable");
        Ok(())
    })
}

fn shell(workspace: &Workspace, time: &Time) -> Result<()> {
    rounds(time, || {
        let analyses = tests(workspace, time, &["--package", "zori-shell", "--test", "it"])?;
        let decisions = tests(workspace, time, &["--package", "zori-policy", "--test", "it"])?;
        println!("shell: {analyses} cases of the analysis, {decisions} of the decision");
        Ok(())
    })
}

fn paths(workspace: &Workspace, time: &Time) -> Result<()> {
    rounds(time, || {
        let cases = tests(workspace, time, &["--package", "zori", "--test", "it", "paths::"])?;
        println!("paths: {cases} cases");
        Ok(())
    })
}

fn undo(workspace: &Workspace, time: &Time) -> Result<()> {
    rounds(time, || {
        let cases = tests(workspace, time, &["--package", "zori-undo", "--test", "it"])?;
        println!("undo: {cases} cases");
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

/// Runs tests in full and returns how many cases they say they had (`N cases`).
fn tests(workspace: &Workspace, time: &Time, filter: &[&str]) -> Result<u64> {
    Ok(suite(workspace, time, filter)?.cases)
}

/// What tests that ran in full have said.
#[derive(Default)]
struct SuiteRun {
    cases: u64,
    /// How many tests passed.
    passed: u64,
    /// What was measured, by the id of the guarantee.
    figures: BTreeMap<String, Vec<String>>,
    /// Tests that said that they could not run here, and why.
    not_run: Vec<String>,
}

impl SuiteRun {
    fn add(&mut self, other: Self) {
        self.cases += other.cases;
        self.passed += other.passed;
        self.not_run.extend(other.not_run);
        for (id, figures) in other.figures {
            self.figures.entry(id).or_default().extend(figures);
        }
    }

    fn figures(&self, id: &str) -> String {
        reliability::figures(&self.figures, id)
    }
}

/// Runs tests in full.
fn suite(workspace: &Workspace, time: &Time, filter: &[&str]) -> Result<SuiteRun> {
    let mut command = cargo_command();
    command.args(["test", "--quiet"]).args(filter).args(["--", "--nocapture", "--test-threads", "1"]);
    command.env("ZORI_SOAK", "1").env("ZORI_SOAK_PERCENT", time.percent.to_string());
    command.current_dir(&workspace.root).stdout(Stdio::piped());
    let mut child = command.spawn().context("cannot run cargo")?;
    let stdout = child.stdout.take().context("stdout is a pipe")?;
    let mut run = SuiteRun::default();
    for line in BufReader::new(stdout).lines() {
        let line = line?;
        run.cases += parse_case_count(&line);
        run.passed += parse_passed(&line);
        run.not_run.extend(line.trim_start_matches('.').strip_prefix("not run: ").map(str::to_owned));
        if let Some((id, figure)) = parse_figure(&line) {
            println!("{line}");
            run.figures.entry(id.to_owned()).or_default().push(figure.to_owned());
        }
    }
    let status = child.wait()?;
    ensure!(status.success(), "{command:?} failed");
    Ok(run)
}

/// Reads `ID: figure: N cases`; the test runner writes its dots before it.
fn parse_figure(line: &str) -> Option<(&str, &str)> {
    let (id, rest) = line.trim_start_matches('.').split_once(": ")?;
    let (figure, cases) = rest.rsplit_once(": ")?;
    let is_id = id.split_once('-').is_some_and(|(area, n)| {
        area.chars().all(|c| c.is_ascii_uppercase()) && n.chars().all(|c| c.is_ascii_digit())
    });
    let named = reliability::NAMED.contains(&id);
    ((is_id || named) && cases.ends_with(" cases")).then_some((id, figure))
}

/// Reads `test result: ok. N passed; ...`.
fn parse_passed(line: &str) -> u64 {
    let passed = line.strip_prefix("test result: ok. ").and_then(|rest| rest.split_once(" passed"));
    passed.and_then(|(number, _)| number.parse().ok()).unwrap_or(0)
}

/// Reads `N cases` at the end of a line; the test runner writes its dots before it.
fn parse_case_count(line: &str) -> u64 {
    let number = |text: &str| text.rsplit(|c: char| !c.is_ascii_digit()).next().and_then(|n| n.parse().ok());
    line.strip_suffix(" cases").and_then(number).unwrap_or(0)
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
    }

    #[test]
    fn what_tests_measure() {
        assert_eq!(parse_figure("LOG-1: 0 of 7 lost: 50 cases"), Some(("LOG-1", "0 of 7 lost")));
        assert_eq!(parse_figure(".LOG-12: `a: b`, 1.5s: 1 cases"), Some(("LOG-12", "`a: b`, 1.5s")));
        assert_eq!(parse_figure("ACP sessions: 64 of them: 50 cases"), Some(("ACP sessions", "64 of them")));
        assert_eq!(parse_figure("seed 3: x: 50 cases"), None);
        assert_eq!(parse_figure("50 cases"), None);
        assert_eq!(parse_passed("test result: ok. 12 passed; 0 failed; 0 ignored"), 12);
        assert_eq!(parse_passed("running 3 tests"), 0);
    }

    #[test]
    fn what_tests_say() {
        assert_eq!(
            [
                parse_case_count("1000 cases"),
                parse_case_count("..12 cases"),
                parse_case_count("x"),
                parse_case_count(" cases")
            ],
            [1000, 12, 0, 0]
        );
    }
}
