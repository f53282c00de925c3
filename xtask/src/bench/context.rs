//! The workspace as an Agent Zero server's agent is told of it (CB-2), over 50,000 files: with the default bounds, and with bounds that let every
//! file in; built whole, and looked at when nothing changed. `zori context show` is the same with the program around it and with the real
//! redaction: its time and memory. Last, how soon an event of such a server is on stdout.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;
use zori_tools::context::{self, BlockFacts, ContextSettings, Previews, Tree};

use super::area::Bench;
use super::figure::{Bar, Figure, median, megabytes, ms};
use super::replies::Step;
use super::run::{self, in_ms, ms_between};
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
    // Who has every file named has each looked at with every prompt (CB-3): nothing is known before that is done.
    for (settings, names, unchanged) in [
        (&usual, ["context over 50,000 files, default bounds", "the same, nothing changed"], 20.0),
        (&all, ["context that names 50,000 files", "the same, each looked at again"], 250.0),
    ] {
        let (mut built, mut looked) = (Vec::new(), Vec::new());
        for round in 0..=ROUNDS {
            let began = Instant::now();
            let (tree, text) = build(settings);
            let whole = in_ms(began.elapsed());
            ensure!(text.ends_with("[/AZ_CONTEXT]") && !text.contains("hunter2"), "that is no block");
            let wanted = settings.max_files.min(FILES);
            ensure!(tree.files.len() >= wanted, "{} of {wanted} files are named", tree.files.len());
            let began = Instant::now();
            let again = Tree::read(settings);
            again.take_signature_of(&tree);
            ensure!(again.signature() == tree.signature(), "nothing has changed");
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
        figures.push(figure(names[1], &looked, unchanged));
    }
    figures.extend(program(bench, &root)?);
    figures.push(first_event(bench)?);
    Ok(figures)
}

fn build(settings: &ContextSettings) -> (Tree, String) {
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
    let text = context::block(settings, &facts, &tree, &previews, &redact);
    (tree, text)
}

/// The whole program, which prints the block: how long it takes, and its peak.
fn program(bench: &Bench, root: &Path) -> Result<[Figure; 2]> {
    let base = bench.home().join("zori");
    fs::create_dir_all(&base)?;
    let config = format!("[context]\nmax_files = {}\nmax_bytes = {ROOM}\ninclude_git = false\n", 2 * FILES);
    fs::write(base.join("config.toml"), config)?;
    let root = root.to_string_lossy();
    let show = || {
        let mut command = bench.zori(&["context", "show", "--root", &root, "--output", "plain"]);
        command.env("ZORI_HOME", &base);
        command
    };
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let run = run::run(show())?;
        times.push(ms_between(run.started, run.ended));
    }
    let peak = run::peak_memory(bench.launcher(), &bench.note(), &show())?;
    Ok([
        Figure {
            name: "`context show` that names 50,000 files, start and redaction included",
            measured: ms(median(&times)),
            floor: None,
            bar: Bar::Under(250.0),
        },
        Figure {
            name: "the same, peak memory of the program",
            measured: megabytes(peak),
            floor: None,
            bar: Bar::Under(40.0),
        },
    ])
}

/// From the moment an Agent Zero server sends an event to its text on stdout.
fn first_event(bench: &Bench) -> Result<Figure> {
    let pause = Duration::from_millis(20);
    let event = b"data: {\"type\":\"final_response\",\"context_id\":\"c\",\"content\":\"word\"}\n\n".to_vec();
    let script = [Arc::new(vec![
        Step::Send(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n: one\n\n"
                .to_vec(),
        ),
        Step::Pause(pause),
        Step::Send(event),
        Step::Pause(pause),
        Step::Send(b"data: [DONE]\n\n".to_vec()),
    ])];
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        bench.server().begin(&script);
        let mut command = bench.zori(&["exec", "--no-save", "--provider", "agent-zero", "-p", "go"]);
        command.env("AGENTZERO_API_URL", format!("http://{}/api_message", bench.server().address));
        command.env("AGENTZERO_CONTEXT", "no");
        let run = run::run(command)?;
        let sent = bench.server().exchanges(1)[0].parts[1];
        times.push(ms_between(sent, run.first_output.context("the answer is printed")?));
    }
    Ok(Figure {
        name: "first event of an Agent Zero server, on stdout",
        measured: ms(median(&times)),
        floor: None,
        bar: Bar::Under(1.0),
    })
}
