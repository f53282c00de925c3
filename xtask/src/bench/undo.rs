//! What undo costs (`docs/contracts/undo.md`): the first look at clean repositories of 5,000, 50,000 and 300,000 files, what a
//! captured call takes, and putting files back.
//!
//! The repositories are packed, as those that were cloned and those that git tends to are. Of one that is not, each object is a link more in the
//! store (UNDO-8): that is a row of its own.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use zori_core::cancel::Cancel;
use zori_core::checkpoint::{Checkpoints, PendingCall};
use zori_core::ids::{CallId, SessionId};
use zori_core::tool::Effect;
use zori_undo::capture::{Capture, CaptureSettings, TreeLimits, Watching};
use zori_undo::disk::Disk;
use zori_undo::plan::Force;
use zori_undo::rewind::{Goal, Request, RewindContext, rewind};
use zori_undo::store::Parents;

use super::area::{Bench, RUNS};
use super::count;
use super::figure::{Amount, Bar, Figure, median, ms};
use super::run::in_ms;

/// A repository of this many files: the names of its figures and the bar of the first look, in milliseconds.
struct Size {
    files: usize,
    baseline: (&'static str, f64),
    step: &'static str,
    /// How often the first look is measured.
    looks: usize,
}

const SIZES: &[Size] = &[
    Size {
        files: 5_000,
        baseline: ("undo: first look, 5,000 files", 60.0),
        step: "undo: adds to a command, 5,000 files",
        looks: RUNS,
    },
    Size {
        files: 50_000,
        baseline: ("undo: first look, 50,000 files", 500.0),
        step: "undo: adds to a command, 50,000 files",
        looks: 7,
    },
    Size {
        files: 300_000,
        baseline: ("undo: first look, 300,000 files", 3_000.0),
        step: "undo: adds to a command, 300,000 files",
        looks: 3,
    },
];

const FILES_EACH: usize = 10;

/// How long the first look may take for each object that is in no pack (UNDO-8), in milliseconds.
const LINK: f64 = 0.026;

/// Measures all of it.
pub fn undo(_: &Bench) -> Result<Vec<Figure>> {
    measure(SIZES, [100, 1_000], RUNS)
}

/// `restored`: how many files go back at once.
fn measure(sizes: &[Size], restored: [usize; 2], runs: usize) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (at, size) in sizes.iter().enumerate() {
        let project = Project::grow(size.files, Git::Packed, runs)?;
        figures.extend(project.first_look(size, at == sizes.len() - 1)?);
        if at == 0 {
            figures.extend(project.steps()?);
            figures.extend(project.restores(restored)?);
        }
    }
    let first = &sizes[0];
    let loose = Project::grow(first.files, Git::Loose, runs)?.baseline(runs.min(7))?.0;
    let limit = first.baseline.1 + first.files as f64 * LINK;
    figures.push(under("undo: first look, 5,000 files and objects in no pack", loose, limit));
    let plain = Project::grow(first.files, Git::None, runs)?.baseline(runs.min(7))?.0;
    figures.push(under("undo: first look, 5,000 files without git", plain, 400.0));
    Ok(figures)
}

fn under(name: &'static str, value: f64, limit: f64) -> Figure {
    Figure { name, measured: ms(value), floor: None, bar: Bar::Under(limit) }
}

/// How git knows of a project.
#[derive(Clone, Copy, PartialEq)]
enum Git {
    None,
    /// Each file is an object of its own, as after the first commit.
    Loose,
    Packed,
}

/// A folder with files, of which git knows or not.
struct Project {
    folder: TempDir,
    root: PathBuf,
    files: usize,
    /// How often a step is measured.
    runs: usize,
}

impl Project {
    fn grow(files: usize, git: Git, runs: usize) -> Result<Self> {
        let folder = TempDir::new()?;
        let root = folder.path().canonicalize()?.join("work");
        for at in 0..files / FILES_EACH {
            let inside = root.join(format!("area_{}/part_{at}", at / 50));
            fs::create_dir_all(&inside)?;
            for file in 0..FILES_EACH {
                fs::write(inside.join(format!("module_{file}.rs")), source(at * FILES_EACH + file))?;
            }
        }
        let run = |args: &[&str]| -> Result<()> {
            let mut command = Command::new("git");
            command.current_dir(&root).args(["-c", "core.looseCompression=0", "-c", "user.name=b"]);
            // What git tends to by itself would go on beside what is measured.
            command
                .args(["-c", "user.email=b@b", "-c", "gc.auto=0", "-c", "maintenance.auto=false"])
                .args(args);
            let status = command.env("GIT_CONFIG_GLOBAL", "/dev/null").status().context("cannot run git")?;
            ensure!(status.success(), "git {args:?} has failed");
            Ok(())
        };
        match git {
            Git::None => fs::create_dir(root.join(".git"))?,
            Git::Loose | Git::Packed => {
                run(&["init", "-q"])?;
                run(&["add", "-A"])?;
                run(&["commit", "-qm", "all"])?;
            }
        }
        if git == Git::Packed {
            run(&["repack", "-adq"])?;
        }
        Ok(Self { folder, root, files, runs })
    }

    fn capture(&self, watch: bool) -> Result<Capture> {
        let store = self.folder.path().canonicalize()?.join("store");
        if store.exists() {
            fs::remove_dir_all(&store)?;
        }
        Ok(Capture::open(CaptureSettings {
            dir: store,
            root: self.root.clone(),
            added: Vec::new(),
            home: None,
            session: SessionId::parse("bench").map_err(anyhow::Error::msg)?,
            parents: Parents::default(),
            turns: 0,
            durable: false,
            inline: true,
            hooks: false,
            required: true,
            max_wait: Duration::from_secs(60),
            limits: TreeLimits {
                max_file: 16 << 20,
                max_files: 500_000,
                max_copied: 512 << 20,
                max_session: 1 << 30,
            },
            watch: if watch { Watching::On { limit: None } } else { Watching::Off },
            disk: Disk::default(),
            sensitive: Arc::new(|_| false),
            now: since_1970,
        })?)
    }

    /// Returns the median of first looks, the last capture and how much memory it took.
    fn baseline(&self, looks: usize) -> Result<(f64, Capture, f64)> {
        let mut times = Vec::new();
        let mut last = None;
        for _ in 0..looks {
            drop(last.take());
            let capture = self.capture(true)?;
            let before = count::held();
            times.push(begin(&capture, &self.command())?);
            let taken = (count::held() - before) as f64;
            capture.end(&self.command(), &[]);
            last = Some((capture, taken));
        }
        let (capture, taken) = last.context("nothing was measured")?;
        Ok((median(&times), capture, taken))
    }

    fn first_look(&self, size: &Size, memory: bool) -> Result<Vec<Figure>> {
        let (time, capture, taken) = self.baseline(size.looks)?;
        let (name, limit) = size.baseline;
        let mut figures = vec![under(name, time, limit)];
        figures.push(under(size.step, self.step(&capture, &self.command(), |_| Ok(()))?, 0.1));
        if memory {
            let measured = Amount { value: taken / self.files as f64, unit: "bytes" };
            let bar = Bar::Under(120.0);
            figures.push(Figure { name: "undo: memory per known file", measured, floor: None, bar });
        }
        Ok(figures)
    }

    fn command(&self) -> [PendingCall; 1] {
        let effect = Effect::Exec { command: "true".to_owned(), cwd: self.root.clone() };
        [PendingCall { call: CallId::new("c"), effects: vec![effect] }]
    }

    /// Returns what is added to a call: the looks before and after.
    fn step(
        &self,
        capture: &Capture,
        calls: &[PendingCall],
        act: impl Fn(usize) -> Result<()>,
    ) -> Result<f64> {
        let mut times = Vec::new();
        // The first pass warms the caches and is not counted.
        for round in 0..=self.runs {
            let before = begin(capture, calls)?;
            act(round)?;
            let started = Instant::now();
            capture.end(calls, &[]);
            times.push(before + in_ms(started.elapsed()));
        }
        Ok(median(&times[1..]))
    }

    fn steps(&self) -> Result<Vec<Figure>> {
        let capture = self.capture(true)?;
        capture.start_turn();
        let ten = self.step(&capture, &self.command(), |round| {
            (0..10).try_for_each(|at| Ok(fs::write(self.file(at), format!("{round}\n"))?))
        })?;
        let path = self.file(11);
        let tool = [PendingCall { call: CallId::new("c"), effects: vec![Effect::Write(path.clone())] }];
        let file_tool = self.step(&capture, &tool, |round| Ok(fs::write(&path, format!("{round}\n"))?))?;
        drop(capture);
        let walk = self.capture(false)?;
        let walked = self.step(&walk, &self.command(), |_| Ok(()))?;
        Ok(vec![
            under("undo: adds to a command that changes 10 files", ten, 0.5),
            under("undo: adds to a file tool", file_tool, 0.1),
            under("undo: adds to a command without a watcher, 5,000 files", walked, 25.0),
        ])
    }

    fn file(&self, at: usize) -> PathBuf {
        let part = at / FILES_EACH;
        self.root.join(format!("area_{}/part_{part}/module_{}.rs", part / 50, at % FILES_EACH))
    }

    fn restores(&self, counts: [usize; 2]) -> Result<Vec<Figure>> {
        let mut figures = Vec::new();
        let names = [("undo: puts 100 files back", 100.0), ("undo: puts 1,000 files back", 1_000.0)];
        for (count, (name, limit)) in counts.into_iter().zip(names) {
            let capture = self.capture(true)?;
            let mut times = Vec::new();
            for round in 0..7 {
                capture.start_turn();
                begin(&capture, &self.command())?;
                for at in 0..count {
                    fs::write(self.file(at), format!("{round} {at}\n"))?;
                }
                capture.end(&self.command(), &[]);
                let started = Instant::now();
                let disk = Disk::default();
                let context = RewindContext {
                    disk: &disk,
                    sensitive: &|_| false,
                    client: None,
                    announce: &|_, _| Ok(()),
                    max_file: 16 << 20,
                    now: i64::try_from(since_1970().as_nanos())?,
                };
                let request = Request { goal: Goal::LastChange, force: Force::Keep, dry_run: false };
                let report =
                    rewind(capture.store(), &context, request)?.context("there is nothing to undo")?;
                times.push(in_ms(started.elapsed()));
                ensure!(report.restored.len() == count, "{} files went back", report.restored.len());
                let paths: Vec<_> = report.restored.into_iter().map(|file| (file.path, file.state)).collect();
                capture.restored(&paths);
            }
            figures.push(under(name, median(&times), limit));
        }
        Ok(figures)
    }
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

fn begin(capture: &Capture, calls: &[PendingCall]) -> Result<f64> {
    let started = Instant::now();
    capture.begin(calls, &Cancel::new())?;
    Ok(in_ms(started.elapsed()))
}

fn source(at: usize) -> String {
    let mut text = String::with_capacity(5_400);
    while text.len() < 5_300 {
        text.push_str(&format!("/// Number {at}.\npub fn value_{}() -> usize {{ {at} }}\n\n", text.len()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Milliseconds of a debug build say nothing; that everything is measured does.
    #[test]
    fn everything_is_measured() {
        if zori_testkit::needs::program("git").is_none() {
            return;
        }
        let size = Size { files: 40, baseline: ("first look", 60.0), step: "step", looks: 1 };
        let figures = measure(&[size], [10, 20], 1).unwrap();
        let memory = figures.iter().find(|figure| figure.name == "undo: memory per known file").unwrap();
        assert!(memory.measured.value > 16.0, "{} bytes are less than a path", memory.measured.value);
        let names: Vec<_> = figures.iter().map(|figure| figure.name).collect();
        assert_eq!(
            names,
            [
                "first look",
                "step",
                "undo: memory per known file",
                "undo: adds to a command that changes 10 files",
                "undo: adds to a file tool",
                "undo: adds to a command without a watcher, 5,000 files",
                "undo: puts 100 files back",
                "undo: puts 1,000 files back",
                "undo: first look, 5,000 files and objects in no pack",
                "undo: first look, 5,000 files without git",
            ]
        );
    }
}
