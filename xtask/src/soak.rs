//! `cargo xtask soak [AREA] [--hours N]`: the full figures of `reliability.md` and `security.md`, of which `.ci/run`
//! runs a part (DECISIONS 34). An area is a line in [`AREAS`]; each prints how many cases it ran.

use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::fuzz;
use crate::test::cargo_path;
use crate::workspace::Workspace;

/// Something to run for long.
struct Area {
    name: &'static str,
    about: &'static str,
    run: fn(&Workspace, &Time) -> Result<()>,
}

const AREAS: &[Area] = &[
    Area { name: "streams", about: "Faults of connections and answers, and made-up answers", run: streams },
    Area { name: "shell", about: "Shell texts: properties, and what real shells run", run: shell },
    Area { name: "paths", about: "Paths, and links that are exchanged while tools run", run: paths },
    Area { name: "fuzz", about: "Fuzz targets, an hour in all unless told otherwise", run: fuzz_targets },
];

/// How long to go on.
struct Time {
    began: Instant,
    hours: Option<f64>,
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
    let (names, hours) = parse(args)?;
    for area in AREAS.iter().filter(|area| names.is_empty() || names.contains(&area.name)) {
        println!("{}: {}", area.name, area.about);
        let time = Time { began: Instant::now(), hours };
        (area.run)(workspace, &time).with_context(|| format!("area `{}`", area.name))?;
        println!("{}: done in {:.0} s", area.name, time.began.elapsed().as_secs_f64());
    }
    Ok(ExitCode::SUCCESS)
}

fn parse(args: &[String]) -> Result<(Vec<&'static str>, Option<f64>)> {
    let (mut names, mut hours) = (Vec::new(), None);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg == "--hours" {
            let value = args.next().context("`--hours` needs a number")?;
            let number: f64 = value.parse().with_context(|| format!("`{value}` is no number of hours"))?;
            ensure!(number > 0.0 && number < 1000.0, "`{value}` is no number of hours");
            hours = Some(number);
        } else if let Some(area) = AREAS.iter().find(|area| area.name == arg) {
            names.push(area.name);
        } else {
            let known: Vec<_> = AREAS.iter().map(|area| area.name).collect();
            bail!("no area is called `{arg}`; there are {}", known.join(", "));
        }
    }
    Ok((names, hours))
}

fn streams(workspace: &Workspace, time: &Time) -> Result<()> {
    rounds(time, || {
        let decoders = tests(workspace, &["--package", "zori-providers", "--test", "it"])?;
        let program = tests(workspace, &["--package", "zori", "--test", "it", "faults::"])?;
        println!("streams: {decoders} cases of decoders, {program} of the executable");
        Ok(())
    })
}

fn shell(workspace: &Workspace, time: &Time) -> Result<()> {
    rounds(time, || {
        let found = tests(workspace, &["--package", "zori-shell", "--test", "it"])?;
        let judged = tests(workspace, &["--package", "zori-policy", "--test", "it"])?;
        println!("shell: {found} cases of the analysis, {judged} of the decision");
        Ok(())
    })
}

fn paths(workspace: &Workspace, time: &Time) -> Result<()> {
    rounds(time, || {
        let cases = tests(workspace, &["--package", "zori", "--test", "it", "paths::"])?;
        println!("paths: {cases} cases");
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
    fuzz::run(workspace, Duration::from_secs_f64(time.hours.unwrap_or(1.0) * 3600.0))
}

/// Runs tests in full and returns how many cases they say they had (`N cases`).
fn tests(workspace: &Workspace, filter: &[&str]) -> Result<u64> {
    let mut command = Command::new(cargo_path());
    command.args(["test", "--quiet"]).args(filter).args(["--", "--nocapture", "--test-threads", "1"]);
    command.env("ZORI_SOAK", "1").current_dir(&workspace.root).stdout(Stdio::piped());
    let mut child = command.spawn().context("cannot run cargo")?;
    let stdout = child.stdout.take().context("stdout is a pipe")?;
    let mut cases = 0;
    for line in BufReader::new(stdout).lines() {
        cases += counted(&line?);
    }
    let status = child.wait()?;
    ensure!(status.success(), "{command:?} failed");
    Ok(cases)
}

/// Reads `N cases` at the end of a line; the test runner writes its dots before it.
fn counted(line: &str) -> u64 {
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
        assert_eq!(parse(&words("")).unwrap(), (vec![], None));
        assert_eq!(parse(&words("streams --hours 0.5")).unwrap(), (vec!["streams"], Some(0.5)));
        let error = |text| parse(&words(text)).unwrap_err().to_string();
        assert_eq!(error("stream"), "no area is called `stream`; there are streams, shell, paths, fuzz");
        assert_eq!(error("--hours"), "`--hours` needs a number");
        assert_eq!(error("--hours -1"), "`-1` is no number of hours");
    }

    #[test]
    fn one_round_unless_there_is_time() {
        let time = |hours| Time { began: Instant::now(), hours };
        assert_eq!([time(None).another(0), time(None).another(1)], [true, false]);
        assert_eq!([time(Some(1.0)).another(1), time(Some(1e-12)).another(1)], [true, false]);
    }

    #[test]
    fn what_tests_say() {
        assert_eq!(
            [counted("1000 cases"), counted("..12 cases"), counted("x"), counted(" cases")],
            [1000, 12, 0, 0]
        );
    }
}
