//! One run of a program, timed from outside.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// A finished run.
pub struct Run {
    /// Just before the program was started.
    pub started: Instant,
    /// When its first byte arrived on stdout.
    pub first_output: Option<Instant>,
    /// When it had ended.
    pub ended: Instant,
}

/// Returns the command for a program in a clean environment.
pub fn command(program: &Path, home: &Path, work: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", home);
    command.current_dir(work).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the command to its end; it must succeed.
pub fn run(mut command: Command) -> Result<Run> {
    let started = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
    let mut stdout = child.stdout.take().context("stdout is a pipe")?;
    let mut stderr = child.stderr.take().context("stderr is a pipe")?;
    let talk = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = stderr.read_to_string(&mut text);
        text
    });
    let mut first_output = None;
    let mut buffer = vec![0; 64 * 1024];
    while stdout.read(&mut buffer)? > 0 {
        first_output.get_or_insert_with(Instant::now);
    }
    let status = child.wait()?;
    let ended = Instant::now();
    let talk = talk.join().unwrap_or_default();
    ensure!(status.success(), "{command:?} ended with {status}:\n{talk}");
    Ok(Run { started, first_output, ended })
}

/// What a program has used, as the launcher noted it.
pub struct Used {
    /// Its peak resident size in bytes.
    pub memory: f64,
    /// How long it has kept a processor busy, in milliseconds.
    pub cpu: f64,
}

impl Used {
    /// Reads the launcher's note.
    pub fn read(note: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(note).context("the launcher left no note")?;
        let (memory, cpu) = text.split_once(' ').context("the launcher's note is two numbers")?;
        Ok(Self { memory: memory.parse()?, cpu: cpu.parse::<f64>()? / 1000.0 })
    }
}

/// Returns the command that runs this one through the launcher.
pub fn launched(launch: &Path, note: &Path, command: &Command) -> Command {
    let mut launched = Command::new(launch);
    launched.arg(note).arg(command.get_program()).args(command.get_args()).env_clear();
    launched.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    launched.current_dir(command.get_current_dir().unwrap_or_else(|| Path::new(OsStr::new("."))));
    launched.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    launched
}

/// Runs the command through the launcher and returns its peak resident size in bytes.
pub fn peak_memory(launch: &Path, note: &Path, command: &Command) -> Result<f64> {
    run(launched(launch, note, command))?;
    Ok(Used::read(note)?.memory)
}

/// Returns the time from one moment to another in milliseconds; 0 where the order is the other way round.
pub fn ms_between(from: Instant, to: Instant) -> f64 {
    in_ms(to.saturating_duration_since(from))
}

/// Returns a duration in milliseconds.
pub fn in_ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
