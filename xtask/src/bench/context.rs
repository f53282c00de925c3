//! The workspace as an Agent Zero server's agent is told of it (CB-2), over 50,000 files: with the default bounds, and with bounds that let every
//! file in; built whole, and looked at when nothing changed. Memory is that of `zori context show`.

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Result, ensure};
use tempfile::TempDir;
use zori_tools::context::{self, BlockFacts, ContextSettings, Previews, Tree};

use super::area::Bench;
use super::figure::{Bar, Figure, median, megabytes, ms};
use super::run::{self, in_ms};
use super::search;

/// How often each is built.
const ROUNDS: usize = 11;
const FILES: usize = 50_000;
/// A block that names all of them.
const ROOM: usize = 10_000_000;

/// Measures it.
pub fn context(bench: &Bench) -> Result<Vec<Figure>> {
    let tree = TempDir::new()?;
    let root = tree.path().canonicalize()?;
    search::grow(&root)?;
    fs::write(root.join("README.md"), "# Much\n\npassword: hunter2\n")?;
    let usual = ContextSettings::new(root.clone());
    let all = ContextSettings { max_files: 2 * FILES, max_bytes: ROOM, ..usual.clone() };
    let mut figures = Vec::new();
    for (settings, names) in [
        (&usual, ["context over 50,000 files, default bounds", "the same, nothing changed"]),
        (&all, ["context that names 50,000 files", "the same, nothing changed"]),
    ] {
        let (mut built, mut looked) = (Vec::new(), Vec::new());
        for round in 0..=ROUNDS {
            let began = Instant::now();
            let text = build(settings);
            let whole = in_ms(began.elapsed());
            ensure!(text.ends_with("[/AZ_CONTEXT]") && !text.contains("hunter2"), "that is no block");
            let began = Instant::now();
            let signature = Tree::read(settings).signature();
            ensure!(signature.len() == 64, "that is no hash");
            // The first one warms the cache of files.
            if round > 0 {
                built.push(whole);
                looked.push(in_ms(began.elapsed()));
            }
        }
        let figure = |name, times: &[f64], bar| Figure {
            name,
            measured: ms(median(times)),
            floor: None,
            bar: Bar::Under(bar),
        };
        figures.push(figure(names[0], &built, 250.0));
        figures.push(figure(names[1], &looked, 20.0));
    }
    figures.push(memory(bench, &root)?);
    Ok(figures)
}

fn build(settings: &ContextSettings) -> String {
    let redact = |text: &str| text.replace("hunter2", "***REDACTED***");
    let (tree, previews) = (Tree::read(settings), Previews::read(settings, &redact));
    let facts = BlockFacts {
        project: "default".to_owned(),
        profile: "default".to_owned(),
        profile_prompt: String::new(),
        time_utc: String::new(),
        security_mode: "balanced".to_owned(),
        tools: Vec::new(),
    };
    context::block(settings, &facts, &tree, &previews, &redact)
}

/// The peak of the whole program, which prints the block.
fn memory(bench: &Bench, root: &Path) -> Result<Figure> {
    let base = bench.home().join("zori");
    fs::create_dir_all(&base)?;
    let config = format!("[context]\nmax_files = {}\nmax_bytes = {ROOM}\ninclude_git = false\n", 2 * FILES);
    fs::write(base.join("config.toml"), config)?;
    let root = root.to_string_lossy();
    let mut command = bench.zori(&["context", "show", "--root", &root, "--output", "plain"]);
    command.env("ZORI_HOME", &base);
    let peak = run::peak_memory(bench.launcher(), &bench.note(), &command)?;
    Ok(Figure {
        name: "context that names 50,000 files, peak memory of the program",
        measured: megabytes(peak),
        floor: None,
        bar: Bar::Under(40.0),
    })
}
