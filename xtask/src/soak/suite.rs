//! Tests that run in full, and what they say: how many cases, what they measured, what failed.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use anyhow::{Context, Result};

use super::programs::Programs;
use super::{Time, reliability};

/// Tests of one program, by a part of their names.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) package: &'static str,
    pub(super) part: Part,
    pub(super) name: &'static str,
}

/// Which of a package's test programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Library,
    Behaviour,
}

impl Chosen {
    /// Unit tests of a package.
    pub(super) const fn unit(package: &'static str, name: &'static str) -> Self {
        Self { package, part: Part::Library, name }
    }

    /// Behaviour tests of a package (`tests/it`).
    pub(super) const fn it(package: &'static str, name: &'static str) -> Self {
        Self { package, part: Part::Behaviour, name }
    }
}

/// What tests that ran in full have said.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SuiteRun {
    pub(super) cases: u64,
    /// How many tests passed.
    pub(super) passed: u64,
    /// The names of those that did not.
    pub(super) failed: Vec<String>,
    /// What was measured, by the id of the guarantee.
    pub(super) figures: BTreeMap<String, Vec<String>>,
    /// Tests that said that they could not run here, and why.
    pub(super) not_run: Vec<String>,
}

impl SuiteRun {
    /// Runs tests; what they say on standard error is seen at once.
    pub(super) fn of(programs: &Programs, time: &Time, chosen: &Chosen) -> Result<Self> {
        let mut command = programs.command(chosen)?;
        // Tests that know all or nothing do what they do in CI where a part is wanted.
        match time.percent {
            100 => command.env("ZORI_SOAK", "1"),
            percent => command.env("ZORI_SOAK_PERCENT", percent.to_string()),
        };
        let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("{command:?}"))?;
        let stdout = child.stdout.take().context("stdout is a pipe")?;
        let mut run = Self::default();
        for line in BufReader::new(stdout).lines() {
            run.hear(&line?);
        }
        let status = child.wait()?;
        if !status.success() && run.failed.is_empty() {
            run.failed.push(format!("`{}` of {} ended with {status}", chosen.name, chosen.package));
        }
        Ok(run)
    }

    /// Takes a line of the test runner, or of a test.
    fn hear(&mut self, line: &str) {
        self.cases += parse_case_count(line);
        self.passed += parse_passed(line);
        self.not_run.extend(line.trim_start_matches('.').strip_prefix("not run: ").map(str::to_owned));
        self.failed.extend(
            parse_failed(line)
                .filter(|name| !self.failed.iter().any(|known| known == name))
                .map(str::to_owned),
        );
        if let Some((id, figure)) = parse_figure(line) {
            println!("{line}");
            self.figures.entry(id.to_owned()).or_default().push(figure.to_owned());
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.cases += other.cases;
        self.passed += other.passed;
        self.failed.extend(other.failed);
        self.not_run.extend(other.not_run);
        for (id, figures) in other.figures {
            self.figures.entry(id).or_default().extend(figures);
        }
    }

    /// Joins what tests said of a guarantee: `ID: figure: N cases`.
    pub(super) fn figures(&self, id: &str) -> String {
        self.figures.get(id).map(|figures| figures.join("; ")).unwrap_or_default()
    }
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

/// Reads `test result: ok. N passed; ...`, and the same of one that failed.
fn parse_passed(line: &str) -> u64 {
    let result = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". "));
    let passed = result.and_then(|(_, counts)| counts.split_once(" passed"));
    passed.and_then(|(number, _)| number.parse().ok()).unwrap_or(0)
}

/// Reads the name of a test in the list of those that failed, which the runner indents.
fn parse_failed(line: &str) -> Option<&str> {
    let name = line.strip_prefix("    ")?;
    let is_name =
        name.contains("::") && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':');
    is_name.then_some(name)
}

/// Reads `N cases` at the end of a line; the test runner writes its dots before it.
fn parse_case_count(line: &str) -> u64 {
    let number = |text: &str| text.rsplit(|c: char| !c.is_ascii_digit()).next().and_then(|n| n.parse().ok());
    line.strip_suffix(" cases").and_then(number).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tests_measure() {
        assert_eq!(parse_figure("LOG-1: 0 of 7 lost: 50 cases"), Some(("LOG-1", "0 of 7 lost")));
        assert_eq!(parse_figure(".LOG-12: `a: b`, 1.5s: 1 cases"), Some(("LOG-12", "`a: b`, 1.5s")));
        assert_eq!(parse_figure("ACP sessions: 64 of them: 50 cases"), Some(("ACP sessions", "64 of them")));
        assert_eq!(parse_figure("seed 3: x: 50 cases"), None);
        assert_eq!(parse_figure("50 cases"), None);
    }

    #[test]
    fn what_tests_say() {
        assert_eq!(["1000 cases", "..12 cases", "x", " cases"].map(parse_case_count), [1000, 12, 0, 0]);
    }

    /// A run with a failure says which, and is counted as far as it went.
    #[test]
    fn a_run_that_failed() {
        let said = "running 3 tests\n.LOG-1: 0 lost: 7 cases\nnot run: no bwrap\nF\nfailures:\n\nfailures:\n    calls::power_cuts\n\n\
                    test result: FAILED. 2 passed; 1 failed; 0 ignored";
        let mut run = SuiteRun::default();
        said.lines().for_each(|line| run.hear(line));
        let figures = BTreeMap::from([("LOG-1".to_owned(), vec!["0 lost".to_owned()])]);
        let failed = vec!["calls::power_cuts".to_owned()];
        assert_eq!(
            run,
            SuiteRun { cases: 7, passed: 2, failed, figures, not_run: vec!["no bwrap".to_owned()] }
        );
        let mut twice = SuiteRun { passed: 1, ..SuiteRun::default() };
        twice.add(run);
        assert_eq!(
            (twice.passed, twice.figures("LOG-1"), twice.figures("LOG-2")),
            (3, "0 lost".into(), String::new())
        );
    }
}
