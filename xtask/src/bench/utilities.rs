//! The utility commands: those that need no network, the manifest, and sessions where there are many.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::area::{Bench, RUNS};
use super::figure::{Bar, Figure, median, ms};
use super::run;

/// How many sessions `sessions list` finds.
const SESSIONS: usize = 10_000;
/// How many bytes of sessions are searched, and in how many files.
const BYTES: usize = 1_000_000_000;
const FILES: usize = 200;

/// The ones that are measured beside a process that does nothing.
const QUICK: &[(&str, &[&str])] = &[
    ("`zori --version`", &["--version"]),
    ("`zori --help`", &["--help"]),
    ("`zori status`", &["status"]),
    ("`zori config show`", &["config", "show"]),
    ("`zori errors list`", &["errors", "list"]),
    ("`zori policy explain`", &["policy", "explain", "ls"]),
    ("`zori sessions list`, none there", &["sessions", "list"]),
];

/// Measures them.
pub fn utilities(bench: &Bench) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (name, args) in QUICK {
        let (measured, floor) = bench.beside_nothing(args)?;
        figures.push(Figure { name, measured: ms(measured), floor: Some(ms(floor)), bar: Bar::Ratio(3.0) });
    }
    let (manifest, _) = bench.beside_nothing(&["manifest"])?;
    figures.push(Figure {
        name: "`zori manifest`",
        measured: ms(manifest),
        floor: None,
        bar: Bar::Under(10.0),
    });

    let sessions = bench.home().join(".config/zori/sessions");
    many(&sessions)?;
    let (list, _) = bench.beside_nothing(&["sessions", "list"])?;
    figures.push(Figure {
        name: "`sessions list` over 10,000",
        measured: ms(list),
        floor: None,
        bar: Bar::Under(50.0),
    });
    fs::remove_dir_all(&sessions)?;

    large(&sessions)?;
    let mut search = Vec::new();
    for _ in 0..3 {
        let run = run::run(bench.zori(&["sessions", "search", "the needle in it"]))?;
        search.push(run::ms_between(run.started, run.ended));
    }
    figures.push(Figure {
        name: "`sessions search` over 1 GB",
        measured: ms(median(&search)),
        floor: None,
        bar: Bar::Under(2000.0),
    });
    fs::remove_dir_all(&sessions)?;
    Ok(figures)
}

impl Bench {
    /// Returns the medians of a call of zori and of a process that does nothing, in turns.
    fn beside_nothing(&self, args: &[&str]) -> Result<(f64, f64)> {
        let (mut zori, mut nothing) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            let run = run::run(self.nothing())?;
            nothing.push(run::ms_between(run.started, run.ended));
            let run = run::run(self.zori(args))?;
            zori.push(run::ms_between(run.started, run.ended));
        }
        Ok((median(&zori), median(&nothing)))
    }
}

/// A first record, as every session has one.
fn head(at: usize) -> String {
    let time = format!("2026-01-{:02}T{:02}:{:02}:00Z", 1 + at % 28, at % 24, at % 60);
    format!("{{\"type\":\"meta\",\"schema_version\":1,\"ts\":\"{time}\",\"root\":\"/project\"}}\n")
}

fn message(role: &str, text: &str) -> String {
    format!(
        "{{\"type\":\"message\",\"role\":\"{role}\",\"text\":\"{text}\",\"ts\":\"2026-01-01T00:00:00Z\"}}\n"
    )
}

/// Short ones, many.
fn many(sessions: &Path) -> Result<()> {
    fs::create_dir_all(sessions)?;
    for at in 0..SESSIONS {
        let text = head(at) + &message("user", "What does this do?") + &message("assistant", "It counts.");
        fs::write(sessions.join(format!("session-{at:05}.jsonl")), text)?;
    }
    Ok(())
}

/// Few, but together as large as the bar says; what is searched for is in the last.
fn large(sessions: &Path) -> Result<()> {
    fs::create_dir_all(sessions)?;
    let line = message("assistant", &"All work and no play makes the compiler a dull machine. ".repeat(20));
    let lines = line.repeat(BYTES / FILES / line.len());
    for at in 0..FILES {
        let mut text = head(at) + &lines;
        if at == FILES - 1 {
            text += &message("user", "Where is the needle in it?");
        }
        fs::write(sessions.join(format!("session-{at:05}.jsonl")), text)?;
    }
    Ok(())
}
