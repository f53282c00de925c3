//! The areas that run programs: start, memory, tool steps, streaming, large output, request size, binary size.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::figure::{Amount, Bar, Figure, median, megabytes, ms};
use super::programs::Programs;
use super::relocations;
use super::replies::{self, Reply};
use super::run::{self, ms_between};
use super::server::{Exchange, Server};

/// How often each thing is run. The programs take turns, so that a slow moment of the machine hits them alike.
pub const RUNS: usize = 31;

/// The steps of the long tool run, and of the read run.
const STEPS: usize = 200;
const READS: usize = 50;
/// How many edits of a large file are measured; an even number.
const EDITS: usize = 20;

/// "Flat over 200 steps": how much slower the last ten may be than the first ten.
const FLAT: f64 = 1.25;

/// How much longer an exact edit may take than in the profile that overlooks nothing: what is overlooked must cost a correct call nothing,
/// and this is what two medians of the same thing differ by on a busy machine.
const EDIT: f64 = 1.25;

/// How many pointers the loader may have to write before the program begins. What they cost is in the bar of a start (DECISIONS 55); this one is to
/// show a table that brings thousands.
const MAX_RELOCATIONS: f64 = 47_000.0;

const PROMPT: &str = "Do as you are told, then stop.";

/// What every area uses.
pub struct Bench {
    programs: Programs,
    server: Server,
    temp: TempDir,
}

/// Who is measured.
#[derive(Clone, Copy)]
enum Who {
    Zori,
    /// The same program in the profile that overlooks nothing.
    Exact,
    /// The least an agent can do, with the shell that zori runs commands with.
    Floor,
    /// The same with the shell of the profile that overlooks nothing.
    ExactFloor,
}

impl Bench {
    /// Prepares home, working directory and server.
    pub fn new(programs: Programs) -> Result<Self> {
        let temp = TempDir::new()?;
        for folder in ["home", "work"] {
            fs::create_dir(temp.path().join(folder))?;
        }
        let bench = Self { programs, server: Server::start()?, temp };
        fs::write(bench.work().join("small.txt"), "one\ntwo\n")?;
        let half = "a line of a file that is one megabyte long\n".repeat(12_000);
        fs::write(bench.work().join("edited.txt"), format!("{half}the mark is one\n{half}"))?;
        fs::write(bench.large_file(), "0123456789abcde\n".repeat(625_000))?;
        Ok(bench)
    }

    /// Returns the working directory of the programs.
    pub fn work(&self) -> PathBuf {
        self.temp.path().join("work")
    }

    /// Returns a file of ten megabytes. It lies beside the working directory, so that undo, whose first look is a figure of its own, does
    /// not copy it.
    pub fn large_file(&self) -> PathBuf {
        self.temp.path().join("large.txt")
    }

    /// Returns the home directory of the programs.
    pub fn home(&self) -> PathBuf {
        self.temp.path().join("home")
    }

    /// Returns where zori keeps things in that home.
    pub fn base(&self) -> Result<PathBuf> {
        let output = self.zori(&["config", "path", "--output", "plain"]).output()?;
        let path = String::from_utf8(output.stdout)?;
        Path::new(path.trim()).parent().map(Path::to_owned).context("the config file has no folder")
    }

    /// Takes away what earlier areas have left there: sessions, logs.
    pub fn empty_home(&self) -> Result<()> {
        fs::remove_dir_all(self.home())?;
        Ok(fs::create_dir(self.home())?)
    }

    /// Returns the model's server.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Returns a call of zori.
    pub fn zori(&self, args: &[&str]) -> Command {
        let mut command = run::command(&self.programs.zori, &self.home(), &self.work());
        command.args(args);
        command
    }

    /// Returns a call of the program that does nothing.
    pub fn nothing(&self) -> Command {
        run::command(&self.programs.nothing, &self.home(), &self.work())
    }

    /// Returns the program that notes the peak memory of another.
    pub fn launcher(&self) -> &Path {
        &self.programs.launch
    }

    /// Returns the file it notes that in.
    pub fn note(&self) -> PathBuf {
        self.temp.path().join("peak")
    }

    fn command(&self, who: Who) -> Command {
        let program = match who {
            Who::Zori | Who::Exact => &self.programs.zori,
            Who::Floor | Who::ExactFloor => &self.programs.floor,
        };
        let mut command = run::command(program, &self.home(), &self.work());
        match who {
            Who::Zori | Who::Exact => {
                let url = format!("http://{}", self.server.address);
                if matches!(who, Who::Exact) {
                    command.args(["--as", "zdx", "exec"]);
                }
                command.args(["-p", PROMPT]).env("ANTHROPIC_BASE_URL", url).env("ANTHROPIC_API_KEY", "dummy");
            }
            Who::Floor | Who::ExactFloor => {
                let shell = if matches!(who, Who::Floor) && has_bash() { "bash" } else { "sh" };
                command.args([self.server.address.to_string().as_str(), PROMPT, shell]);
            }
        }
        command
    }

    /// Runs once against the script; all of it must have been asked for.
    fn play(&self, who: Who, script: &[Arc<Reply>]) -> Result<(run::Run, Vec<Exchange>)> {
        self.play_command(self.command(who), script)
    }

    fn play_command(&self, command: Command, script: &[Arc<Reply>]) -> Result<(run::Run, Vec<Exchange>)> {
        self.server.begin(script);
        let run = run::run(command)?;
        let exchanges = self.server.exchanges(script.len());
        ensure!(
            exchanges.len() == script.len(),
            "{} of {} replies were asked for",
            exchanges.len(),
            script.len()
        );
        Ok((run, exchanges))
    }

    /// Returns the medians over all runs of what `figure` sees in one: zori's and the floor's.
    fn medians<const N: usize>(
        &self,
        script: &[Arc<Reply>],
        figure: impl Fn(&run::Run, &[Exchange]) -> Result<[f64; N]>,
    ) -> Result<[(f64, f64); N]> {
        self.medians_of([Who::Zori, Who::Floor], script, figure)
    }

    /// Returns the same of any two.
    fn medians_of<const N: usize>(
        &self,
        [one, other]: [Who; 2],
        script: &[Arc<Reply>],
        figure: impl Fn(&run::Run, &[Exchange]) -> Result<[f64; N]>,
    ) -> Result<[(f64, f64); N]> {
        let mut seen: [(Vec<f64>, Vec<f64>); N] = std::array::from_fn(|_| Default::default());
        for _ in 0..RUNS {
            let (run, exchanges) = self.play(other, script)?;
            for (seen, value) in seen.iter_mut().zip(figure(&run, &exchanges)?) {
                seen.1.push(value);
            }
            let (run, exchanges) = self.play(one, script)?;
            for (seen, value) in seen.iter_mut().zip(figure(&run, &exchanges)?) {
                seen.0.push(value);
            }
        }
        Ok(seen.map(|(zori, floor)| (median(&zori), median(&floor))))
    }

    /// Starts zori once, and returns how long it takes to the first byte of its request, in milliseconds.
    pub fn first_request(&self) -> Result<f64> {
        let (run, exchanges) = self.play(Who::Zori, &[hello()])?;
        Ok(ms_between(run.started, exchanges[0].began))
    }

    /// Does the same in another home, with further arguments.
    pub fn first_request_in(&self, home: &Path, args: &[&str]) -> Result<f64> {
        let mut command = self.command(Who::Zori);
        command.env("HOME", home).args(args);
        let (run, exchanges) = self.play_command(command, &[hello()])?;
        Ok(ms_between(run.started, exchanges[0].began))
    }

    /// Does the same below `strace`, which writes these calls to a file.
    pub fn traced_first_request(&self, home: &Path, trace: &Path, calls: &str) -> Result<()> {
        let inner = self.command(Who::Zori);
        let mut command = run::command(Path::new("strace"), home, &self.work());
        command.args(["-f", "-qq", "-e", &format!("trace={calls}"), "-o"]).arg(trace);
        command.arg(inner.get_program()).args(inner.get_args());
        command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("HOME", home);
        self.play_command(command, &[hello()])?;
        Ok(())
    }

    /// Runs a prompt, and one with commands, below callgrind; returns its files, in which functions have their names as they are linked.
    pub fn profiles(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        let commands = calls(3, "bash", &json!({"command": "true"}));
        let scripts: [(&str, &[Arc<Reply>]); 2] = [("start", &[hello()]), ("commands", &commands)];
        scripts
            .into_iter()
            .map(|(name, script)| {
                let (inner, file) = (self.command(Who::Zori), folder.join(name));
                let mut command = run::command(Path::new("valgrind"), &self.home(), &self.work());
                command.args(["--tool=callgrind", "--demangle=no"]);
                command.arg(format!("--callgrind-out-file={}", file.display()));
                command.arg(inner.get_program()).args(inner.get_args());
                command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
                self.play_command(command, script)?;
                Ok(file)
            })
            .collect()
    }

    /// Has so many calls of a tool made in a home, and returns how long each took, in milliseconds.
    pub fn steps_in(&self, home: &Path, count: usize, tool: &str, input: &Value) -> Result<Vec<f64>> {
        let mut command = self.command(Who::Zori);
        command.env("HOME", home);
        let (_, exchanges) = self.play_command(command, &calls(count, tool, input))?;
        Ok(steps(&exchanges))
    }

    /// Returns the median peak memory of zori and of the floor.
    fn memory_medians(&self, script: &[Arc<Reply>]) -> Result<(f64, f64)> {
        let note = self.note();
        let mut seen = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            for (who, values) in [(Who::Floor, &mut seen.1), (Who::Zori, &mut seen.0)] {
                self.server.begin(script);
                values.push(run::peak_memory(&self.programs.launch, &note, &self.command(who))?);
            }
        }
        Ok((median(&seen.0), median(&seen.1)))
    }
}

/// From starting the program to the first byte of its request.
pub fn start(bench: &Bench) -> Result<Vec<Figure>> {
    let script = [hello()];
    let [(zori, floor)] = bench.medians(&script, |run, seen| Ok([ms_between(run.started, seen[0].began)]))?;
    let mut nothing = Vec::new();
    for _ in 0..RUNS {
        let run = run::run(bench.nothing())?;
        nothing.push(ms_between(run.started, run.ended));
    }
    Ok(vec![
        Figure {
            name: "a process that does nothing",
            measured: ms(median(&nothing)),
            floor: None,
            bar: Bar::None,
        },
        Figure {
            name: "start to first request byte",
            measured: ms(zori),
            floor: Some(ms(floor)),
            bar: Bar::Ratio(2.6),
        },
    ])
}

/// Peak memory of a run with one prompt.
pub fn memory(bench: &Bench) -> Result<Vec<Figure>> {
    let (zori, floor) = bench.memory_medians(&[hello()])?;
    Ok(vec![Figure {
        name: "peak memory, one prompt",
        measured: megabytes(zori),
        floor: Some(megabytes(floor)),
        bar: Bar::Under(15.0),
    }])
}

/// From the last byte of a reply with a call to the first byte of the next request.
pub fn tools(bench: &Bench) -> Result<Vec<Figure>> {
    let bash = calls(STEPS, "bash", &json!({"command": "true"}));
    let [step, first, last] = bench.medians(&bash, |_, seen| {
        let steps = steps(seen);
        Ok([median(&steps), median(&steps[..10]), median(&steps[steps.len() - 10..])])
    })?;
    let [plain_step] =
        bench.medians_of([Who::Exact, Who::ExactFloor], &bash, |_, seen| Ok([median(&steps(seen))]))?;
    let path = bench.work().join("small.txt");
    let read = calls(READS, "read", &json!({"path": path.to_string_lossy()}));
    let [read] = bench.medians(&read, |_, seen| Ok([median(&steps(seen))]))?;
    let [edit] = bench.medians(&edits(bench), |_, seen| Ok([median(&steps(seen))]))?;
    let [exact] =
        bench.medians_of([Who::Zori, Who::Exact], &edits(bench), |_, seen| Ok([median(&steps(seen))]))?;
    Ok(vec![
        Figure {
            name: "tool step, `bash` running `true`",
            measured: ms(step.0),
            floor: Some(ms(step.1)),
            bar: Bar::Ratio(2.0),
        },
        Figure {
            name: "the same in `sh`, as the profile `zdx` runs it",
            measured: ms(plain_step.0),
            floor: Some(ms(plain_step.1)),
            bar: Bar::Ratio(2.0),
        },
        Figure {
            name: "last 10 of 200 steps, beside the first 10",
            measured: ms(last.0),
            floor: Some(ms(first.0)),
            bar: Bar::Ratio(FLAT),
        },
        Figure {
            name: "tool step, `read`",
            measured: ms(read.0),
            floor: Some(ms(read.1)),
            bar: Bar::Under(1.0),
        },
        Figure {
            name: "tool step, exact `edit` of 1 MB",
            measured: ms(edit.0),
            floor: Some(ms(edit.1)),
            bar: Bar::None,
        },
        Figure {
            name: "the same, beside the profile that overlooks nothing",
            measured: ms(exact.0),
            floor: Some(ms(exact.1)),
            bar: Bar::Ratio(EDIT),
        },
    ])
}

/// Returns whether there is a bash, which zori prefers to `sh` (FOR-1).
fn has_bash() -> bool {
    Command::new("bash").args(["-c", "true"]).status().is_ok_and(|status| status.success())
}

/// Exact edits of a file of one megabyte, there and back, so that each run finds the same file.
fn edits(bench: &Bench) -> Vec<Arc<Reply>> {
    let path = bench.work().join("edited.txt");
    let edit = |n: usize| {
        let (old, new) = if n.is_multiple_of(2) {
            ("the mark is one", "the mark is two")
        } else {
            ("the mark is two", "the mark is one")
        };
        let input = json!({"path": path.to_string_lossy(), "old": old, "new": new});
        Arc::new(replies::call(n, "edit", &input))
    };
    (0..EDITS).map(edit).chain([hello()]).collect()
}

/// 20,000 text deltas at full speed, and the time a single one takes to the screen.
pub fn stream(bench: &Bench) -> Result<Vec<Figure>> {
    let script = [Arc::new(replies::text(std::iter::repeat_n("word ", 20_000)))];
    let [flood] = bench.medians(&script, |run, seen| Ok([ms_between(seen[0].parts[0], run.ended)]))?;
    let script = [Arc::new(replies::paced("word", Duration::from_millis(20)))];
    let [first] = bench.medians(&script, |run, seen| {
        let shown = run.first_output.context("nothing was printed")?;
        Ok([ms_between(seen[0].parts[1], shown)])
    })?;
    Ok(vec![
        Figure {
            name: "20,000 deltas, first byte to exit",
            measured: ms(flood.0),
            floor: Some(ms(flood.1)),
            bar: Bar::Under(100.0),
        },
        Figure {
            name: "text delta to stdout",
            measured: ms(first.0),
            floor: Some(ms(first.1)),
            bar: Bar::Under(1.0),
        },
    ])
}

/// A command that prints ten megabytes.
pub fn output(bench: &Bench) -> Result<Vec<Figure>> {
    let command = format!("cat {}", bench.large_file().display());
    let script = calls(1, "bash", &json!({"command": command}));
    let [time] = bench.medians(&script, |_, seen| Ok([median(&steps(seen))]))?;
    let memory = bench.memory_medians(&script)?;
    Ok(vec![
        Figure {
            name: "10 MB of output, to the next request",
            measured: ms(time.0),
            floor: Some(ms(time.1)),
            bar: Bar::Under(80.0),
        },
        Figure {
            name: "10 MB of output, peak memory",
            measured: megabytes(memory.0),
            floor: Some(megabytes(memory.1)),
            bar: Bar::Under(40.0),
        },
    ])
}

/// The body of the first request, with all tools.
pub fn request(bench: &Bench) -> Result<Vec<Figure>> {
    let (_, seen) = bench.play(Who::Zori, &[hello()])?;
    let measured = Amount { value: seen[0].body_len as f64, unit: "bytes" };
    Ok(vec![Figure { name: "first request", measured, floor: None, bar: Bar::Under(8_000.0) }])
}

/// The release binary: its size, and what the loader writes into it at every start.
pub fn size(bench: &Bench) -> Result<Vec<Figure>> {
    let program = fs::read(&bench.programs.zori)?;
    let size = Figure {
        name: "release binary",
        measured: megabytes(program.len() as f64),
        floor: None,
        bar: Bar::Under(40.0),
    };
    let relocations = relocations::count(&program).map(|count| Figure {
        name: "relocations",
        measured: Amount { value: count as f64, unit: "pointers" },
        floor: None,
        bar: Bar::Under(MAX_RELOCATIONS),
    });
    Ok([size].into_iter().chain(relocations).collect())
}

fn hello() -> Arc<Reply> {
    Arc::new(replies::text(["Hello."]))
}

/// A script of that many calls, and a last word.
fn calls(count: usize, name: &str, input: &Value) -> Vec<Arc<Reply>> {
    let calls = (0..count).map(|n| Arc::new(replies::call(n, name, input)));
    calls.chain([hello()]).collect()
}

/// Returns the milliseconds between the end of each reply and the beginning of the next request.
fn steps(exchanges: &[Exchange]) -> Vec<f64> {
    exchanges.windows(2).map(|pair| ms_between(pair[0].ended, pair[1].began)).collect()
}
