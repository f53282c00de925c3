//! `grep` and `glob` over a tree of 50,000 files, beside the libraries they are built on used directly.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use globset::Glob as GlobPattern;
use grep_regex::RegexMatcher;
use grep_searcher::sinks::UTF8;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::{WalkBuilder, WalkState};
use serde_json::value::RawValue;
use tempfile::TempDir;
use zori_core::BoxFuture;
use zori_core::cancel::Cancel;
use zori_core::confine::Consent;
use zori_core::ids::CallId;
use zori_core::permission::{PathFacts, PathSnapshot};
use zori_core::tool::{Tool, ToolCx};
use zori_core::transport::{HttpRequest, HttpResponse, Transport, TransportFailure};
use zori_tools::env::ToolEnv;
use zori_tools::glob::Glob;
use zori_tools::grep::Grep;

use super::area::{Bench, RUNS};
use super::figure::{Bar, Figure, median, ms};
use super::run::in_ms;

const FOLDERS: usize = 500;
const FILES_EACH: usize = 100;

/// One file in this many holds the needle, so that there are fewer matches than `grep` returns at most and the
/// whole tree has to be read.
const NEEDLE_EVERY: usize = 500;
const NEEDLE: &str = "needle_[0-9]+";
const GLOB: &str = "**/module_42*.rs";

/// Measures both tools.
pub fn search(_: &Bench) -> Result<Vec<Figure>> {
    let tree = TempDir::new()?;
    let root = tree.path().canonicalize()?;
    grow(&root).context("cannot make the tree")?;
    let env = Arc::new(environment(&root));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let run = |tool: &dyn Tool, args: &str, expected: usize| -> Result<f64> {
        let args = RawValue::from_string(args.to_owned())?;
        let facts = [(root.clone(), PathFacts::by_text(root.clone()))];
        let snapshot = PathSnapshot::new(facts.into());
        let cx = ToolCx {
            call: CallId::new("bench"),
            cancel: Cancel::new(),
            consent: Consent::Rule,
            live: None,
            agents: None,
            search: None,
            ask: None,
            snapshot,
            answers: Vec::new(),
        };
        let started = Instant::now();
        let output = runtime.block_on(tool.run(cx, &args));
        let elapsed = in_ms(started.elapsed());
        let found = output.envelope.get().matches(".rs\"").count();
        ensure!(output.ok() && found == expected, "{found} of {expected} found: {}", output.envelope.get());
        Ok(elapsed)
    };
    let (grep, glob) = (Grep::new(Arc::clone(&env)), Glob::new(env));
    let grep_args = format!(r#"{{"pattern":"{NEEDLE}"}}"#);
    let glob_args = format!(r#"{{"pattern":"{GLOB}"}}"#);
    // The first pass of each warms the file cache and is not counted.
    let (mut ours, mut theirs) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for round in 0..=RUNS {
        let (grep_floor, matches) = timed(|| library_grep(&root))?;
        let (glob_floor, files) = timed(|| library_glob(&root))?;
        let grep_time = run(&grep, &grep_args, matches)?;
        let glob_time = run(&glob, &glob_args, files)?;
        if round > 0 {
            theirs[0].push(grep_floor);
            theirs[1].push(glob_floor);
            ours[0].push(grep_time);
            ours[1].push(glob_time);
        }
    }
    let figure = |name, n: usize| Figure {
        name,
        measured: ms(median(&ours[n])),
        floor: Some(ms(median(&theirs[n]))),
        bar: Bar::Ratio(1.3),
    };
    Ok(vec![
        figure("`grep` over 50,000 files, beside ripgrep's library", 0),
        figure("`glob`, beside fd's library", 1),
    ])
}

/// Makes the tree: source files of some twenty lines, with an ignore file at the top as projects have it.
pub fn grow(root: &Path) -> Result<()> {
    fs::write(root.join(".gitignore"), "*.log\nbuild/\n")?;
    let mut number = 0;
    for folder in 0..FOLDERS {
        let folder = root.join(format!("package_{}/part_{folder}", folder / 25));
        fs::create_dir_all(&folder)?;
        for file in 0..FILES_EACH {
            let mut text = format!("//! Part {number}.\n\n");
            for line in 0..20 {
                text.push_str(&format!(
                    "pub fn function_{number}_{line}(value: u64) -> u64 {{ value + {line} }}\n"
                ));
            }
            if number % NEEDLE_EVERY == 0 {
                text.push_str(&format!("const NAME: &str = \"needle_{number}\";\n"));
            }
            fs::write(folder.join(format!("module_{file}.rs")), text)?;
            number += 1;
        }
    }
    Ok(())
}

fn walk(root: &Path) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    builder.require_git(false).git_global(false).threads(zori_tools::walk::threads());
    builder
}

/// Returns how many lines match.
fn library_grep(root: &Path) -> Result<usize> {
    let matcher = RegexMatcher::new(NEEDLE)?;
    let found: Mutex<Vec<(PathBuf, u64, String)>> = Mutex::default();
    walk(root).build_parallel().run(|| {
        let mut searcher: Searcher =
            SearcherBuilder::new().line_number(true).binary_detection(BinaryDetection::quit(0)).build();
        let (matcher, found) = (matcher.clone(), &found);
        Box::new(move |entry| {
            let Ok(entry) = entry else { return WalkState::Continue };
            if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                return WalkState::Continue;
            }
            let sink = UTF8(|number, line| {
                let found = &mut found.lock().unwrap_or_else(PoisonError::into_inner);
                found.push((entry.path().to_path_buf(), number, line.to_owned()));
                Ok(true)
            });
            // A file that vanished in the meantime has no matches.
            let _ = searcher.search_path(&matcher, entry.path(), sink);
            WalkState::Continue
        })
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort();
    Ok(found.len())
}

/// Returns how many files match.
fn library_glob(root: &Path) -> Result<usize> {
    let matcher = GlobPattern::new(GLOB)?.compile_matcher();
    let found: Mutex<Vec<PathBuf>> = Mutex::default();
    walk(root).build_parallel().run(|| {
        let (matcher, found) = (&matcher, &found);
        Box::new(move |entry| {
            let Ok(entry) = entry else { return WalkState::Continue };
            let relative = entry.path().strip_prefix(root).unwrap_or(entry.path());
            if entry.file_type().is_some_and(|kind| kind.is_file()) && matcher.is_match(relative) {
                found.lock().unwrap_or_else(PoisonError::into_inner).push(entry.path().to_path_buf());
            }
            WalkState::Continue
        })
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort();
    Ok(found.len())
}

fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(f64, T)> {
    let started = Instant::now();
    let result = work()?;
    Ok((in_ms(started.elapsed()), result))
}

/// Returns what tools need to run in a folder.
pub fn environment(root: &Path) -> ToolEnv {
    ToolEnv {
        root: root.to_path_buf(),
        home: None,
        timeout: None,
        leniency: zori_core::tool::Leniency::Forgiving,
        shell: zori_tools::env::ShellProgram::Sh,
        job_after: None,
        bash_max_output: 0,
        temp_parent: root.to_path_buf(),
        child_env_removed: Box::new(Vec::new),
        child_env_set: Vec::new(),
        confine: None,
        files: None,
        terminals: None,
        transport: Arc::new(Offline),
    }
}

/// Nothing here goes out.
struct Offline;

impl Transport for Offline {
    fn send(&self, _: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportFailure>> {
        Box::pin(std::future::ready(Err(TransportFailure::Connect("offline".to_owned()))))
    }
}
