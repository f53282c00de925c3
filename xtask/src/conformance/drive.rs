//! Runs a driver and counts its verdicts.
//!
//! A driver writes JSON lines: first `{"cases": [names]}`, then for each case `{"case": name, "ms": n}`, with `"why"`
//! where it failed and `"shows"`, lines that show how it went. A case that was announced and got no verdict has failed too, whatever ended the driver.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

/// How long a driver may say nothing. A case ends itself after 30 s; the rest is for starting and tidying up.
const SILENCE: Duration = Duration::from_secs(60);

/// How many cases there were.
#[derive(Debug, PartialEq, Eq)]
pub struct Tally {
    /// All of them.
    pub cases: usize,
    /// Those that failed.
    pub failed: usize,
}

/// Runs the driver to its end, printing a line per case; its stderr goes to the log.
pub fn drive(mut command: Command, log: &Path) -> Result<Tally> {
    let file = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(file)
        .spawn()
        .with_context(|| format!("cannot start {command:?}"))?;
    let lines = lines_of(&mut child)?;
    let mut count = Count::default();
    let ending = loop {
        match lines.recv_timeout(SILENCE) {
            Ok(line) => {
                if let Some(said) = count.hear(&line) {
                    println!("{said}");
                }
            }
            Err(RecvTimeoutError::Disconnected) => break child.wait()?.to_string(),
            Err(RecvTimeoutError::Timeout) => {
                child.kill().context("cannot end a driver that hangs")?;
                child.wait()?;
                break format!("nothing was heard for {} s", SILENCE.as_secs());
            }
        }
    };
    let (said, tally) = count.end(&ending);
    for line in said {
        println!("{line}");
    }
    Ok(tally)
}

fn lines_of(child: &mut Child) -> Result<Receiver<String>> {
    let stdout = child.stdout.take().context("stdout is a pipe")?;
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    Ok(receiver)
}

/// The verdicts so far.
#[derive(Debug, Default)]
struct Count {
    announced: bool,
    open: VecDeque<String>,
    passed: usize,
    failed: usize,
}

impl Count {
    /// Takes a line of the driver and returns what to print.
    fn hear(&mut self, line: &str) -> Option<String> {
        let said: Value = serde_json::from_str(line).unwrap_or_default();
        if let Some(cases) = said["cases"].as_array() {
            self.announced = true;
            self.open.extend(cases.iter().filter_map(Value::as_str).map(str::to_owned));
            return None;
        }
        let Some(at) = self.open.iter().position(|case| said["case"] == **case) else {
            return Some(format!("  {line}"));
        };
        let case = self.open.remove(at)?;
        let shows: String = said["shows"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(|line| format!("\n          {line}"))
            .collect();
        let Some(why) = said["why"].as_str() else {
            self.passed += 1;
            return Some(format!("  ok      {case} ({} ms){shows}", said["ms"]));
        };
        self.failed += 1;
        let why = why.replace('\n', "\n          ");
        Some(format!("  FAILED  {case} ({} ms){shows}\n          {why}", said["ms"]))
    }

    /// Returns what is to be said when the driver has ended.
    fn end(self, ending: &str) -> (Vec<String>, Tally) {
        let mut said: Vec<_> =
            self.open.iter().map(|case| format!("  FAILED  {case}: no verdict; {ending}")).collect();
        let mut tally = Tally {
            cases: self.passed + self.failed + self.open.len(),
            failed: self.failed + self.open.len(),
        };
        if !self.announced || tally.cases == 0 {
            said.push(format!("  FAILED  the driver ran no case; {ending}"));
            tally.failed += 1;
        }
        (said, tally)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything printed for these lines, and the count.
    fn told(lines: &[&str]) -> String {
        let mut count = Count::default();
        let mut said: Vec<_> = lines.iter().filter_map(|line| count.hear(line)).collect();
        let (rest, tally) = count.end("exit status: 3");
        said.extend(rest);
        said.push(format!("{} of {} failed", tally.failed, tally.cases));
        said.join("\n")
    }

    #[test]
    fn every_case_gets_a_verdict() {
        assert_eq!(
            told(&[
                r#"{"cases":["a","b","c"]}"#,
                r#"{"case":"a","ms":12}"#,
                "a line of something else",
                r#"{"case":"b","ms":3,"why":"one\ntwo"}"#,
            ]),
            "  ok      a (12 ms)\n  a line of something else\n  FAILED  b (3 ms)\n          one\n          two\n  \
             FAILED  c: no verdict; exit status: 3\n2 of 3 failed"
        );
    }

    #[test]
    fn a_driver_that_never_began() {
        assert_eq!(told(&[]), "  FAILED  the driver ran no case; exit status: 3\n1 of 0 failed");
        assert_eq!(
            told(&[r#"{"cases":[]}"#]),
            "  FAILED  the driver ran no case; exit status: 3\n1 of 0 failed"
        );
    }

    #[test]
    fn a_driver_is_run_and_heard() {
        let temp = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", r#"echo '{"cases":["a"]}'; echo talk >&2; echo '{"case":"a","ms":1}'"#]);
        let log = temp.path().join("log");
        assert_eq!(drive(command, &log).unwrap(), Tally { cases: 1, failed: 0 });
        assert_eq!(std::fs::read_to_string(log).unwrap(), "talk\n");
    }
}
