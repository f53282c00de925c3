//! The code index: the first pass over 1,000,000 lines of Rust, one changed file, nothing changed in 50,000 files, and a search; beside ctags
//! and ripgrep where they are installed.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Result;

use super::area::Bench;
use super::figure::{Bar, Figure, median, megabytes, ms};
use super::run::{self, Used};

/// The first tree: 2,000 files of 500 lines.
const FILES: usize = 2_000;
const LINES: usize = 500;
/// The second one, of small files.
const SMALL_FILES: usize = 50_000;
const RUNS: usize = 11;
/// What is looked for: a name, words, and words that many have.
const QUESTIONS: &[&str] = &["item_77_3", "record sum total", "value checked add", "Record1500"];

/// Measures them.
pub fn index(bench: &Bench) -> Result<Vec<Figure>> {
    bench.empty_home()?;
    let tree = bench.work().join("million");
    write_tree(&tree, FILES, LINES)?;
    let note = bench.home().join("note");
    let used = |args: &[&str], folder: &Path| -> Result<Used> {
        let mut command = bench.zori(args);
        command.current_dir(folder);
        run::run(run::launched(bench.launcher(), &note, &command))?;
        Used::read(&note)
    };
    let first = used(&["index", "build"], &tree)?;
    let ctags = other("ctags", &["-R", "-f", "/dev/null", "."], &tree);
    let rg = other("rg", &["-c", "record", "."], &tree);
    for (name, time) in [("ctags", ctags), ("ripgrep", rg)] {
        if time.is_none() {
            eprintln!("{name} is not installed, so the figure beside it has no floor");
        }
    }
    let mut figures = vec![
        Figure {
            name: "index: first pass, 1,000,000 lines, CPU (floor: ctags)",
            measured: ms(first.cpu),
            floor: ctags.map(ms),
            bar: Bar::Under(60_000.0),
        },
        Figure {
            name: "index: first pass, memory",
            measured: megabytes(first.memory),
            floor: None,
            bar: Bar::Under(200.0),
        },
    ];
    let unchanged = median(&repeated(|_| Ok(used(&["index", "build"], &tree)?.cpu))?);
    let changed = median(&repeated(|round| {
        fs::write(tree.join("part_7/file_7.rs"), source(7, LINES) + &format!("// {round}\n"))?;
        Ok(used(&["index", "build"], &tree)?.cpu)
    })?);
    figures.push(Figure {
        name: "index: one changed file, above none",
        measured: ms((changed - unchanged).max(0.0)),
        floor: None,
        bar: Bar::Under(50.0),
    });
    let mut searches = Vec::new();
    // A start, and no more: counting an index takes longer than a search in it.
    let empty = bench.work().join("empty");
    fs::create_dir_all(empty.join(".git"))?;
    let start = median(&repeated(|_| timed(bench, &["index", "status"], &empty))?);
    for question in QUESTIONS {
        searches.extend(repeated(|_| timed(bench, &["index", "search", question], &tree))?);
    }
    searches.sort_by(f64::total_cmp);
    let p95 = searches[searches.len() * 95 / 100];
    figures.push(Figure {
        name: "index: search p95, above `index status` of an empty folder (floor: ripgrep)",
        measured: ms((p95 - start).max(0.0)),
        floor: rg.map(ms),
        bar: Bar::Under(10.0),
    });
    fs::remove_dir_all(&tree)?;
    let many = bench.work().join("many");
    write_tree(&many, SMALL_FILES, 4)?;
    used(&["index", "build"], &many)?;
    let nothing = median(&repeated(|_| timed(bench, &["index", "build"], &many))?);
    figures.push(Figure {
        name: "index: nothing changed in 50,000 files",
        measured: ms(nothing),
        floor: None,
        bar: Bar::Under(150.0),
    });
    fs::remove_dir_all(&many)?;
    Ok(figures)
}

fn repeated(mut measure: impl FnMut(usize) -> Result<f64>) -> Result<Vec<f64>> {
    (0..RUNS).map(&mut measure).collect()
}

fn timed(bench: &Bench, args: &[&str], folder: &Path) -> Result<f64> {
    let mut command = bench.zori(args);
    command.current_dir(folder);
    let run = run::run(command)?;
    Ok(run::ms_between(run.started, run.ended))
}

/// Returns how long another program takes for the same files; `None` where it is not installed.
fn other(program: &str, args: &[&str], folder: &Path) -> Option<f64> {
    let begun = std::time::Instant::now();
    let mut command = Command::new(program);
    command.args(args).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().ok().filter(|status| status.success())?;
    Some(run::in_ms(begun.elapsed()))
}

fn write_tree(root: &Path, files: usize, lines: usize) -> Result<()> {
    fs::create_dir_all(root.join(".git"))?;
    for at in 0..files {
        let folder = root.join(format!("part_{}", at % 50));
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(format!("file_{at}.rs")), source(at, lines))?;
    }
    Ok(())
}

/// A file of functions and types with names of its own.
fn source(at: usize, lines: usize) -> String {
    let mut text = format!("pub struct Record{at} {{ pub sum: u64, pub count: u32 }}\n");
    let mut line = 1;
    while line + 8 <= lines {
        text += &format!(
            "\n/// Adds the value {line} to the record.\npub fn item_{at}_{line}(record: &mut Record{at}, value: u64) -> Option<u64> {{\n    \
             let total = record.sum.checked_add(value)?;\n    record.sum = total;\n    record.count += {line};\n    Some(total)\n}}\n"
        );
        line += 8;
    }
    text
}
