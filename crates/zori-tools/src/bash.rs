//! `bash`: a shell command in the root directory.
//!
//! It runs bash where bash exists, else `sh` (FOR-1). How it runs is in [`crate::process`]; what would wait for a person is
//! refused in [`interactive`], and [`report`] is what the shell says of itself at the end.

mod git;
mod interactive;
mod report;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::time::Instant;
use zori_core::BoxFuture;
use zori_core::confine::{CommandStart, Confine, Consent, Denial, Holding};
use zori_core::question::Preview;
use zori_core::terminal::{ClientTerminals, TerminalCommand, TerminalExit};
use zori_core::tool::{Effect, Leniency, ProcessEnd, Tool, ToolCode, ToolCx, ToolKind, ToolOutput};

use self::report::{Report, ReportLine};
use crate::def::{Need, Param, ToolDef, Ty};
use crate::env::ToolEnv;
use crate::paths;
use crate::process::jobs::Job;
use crate::process::output::Captured;
use crate::process::spawn::Shell;
use crate::process::{Finished, Outcome, ProcessError, Processes, ShellRun};

/// The longest time a call may ask for, in seconds (DECISIONS 36).
const MAX_TIMEOUT: i64 = 600;

/// A command that ran at least as long is told how long.
const WORTH_TELLING: Duration = Duration::from_secs(1);

/// The note for a command that left a process in the background.
const DETACHED: &str =
    "a background process still held the output, which is closed now; redirect such output to a file";

/// The note for a job that outlives the session.
const STAYS: &str = "it goes on in the background, also after this session: read its output with job_output, end it with job_kill";

pub const DEF: ToolDef = ToolDef {
    kind: ToolKind::Bash,
    about: "Run a command with `sh -c` in the root directory, without stdin. Returns stdout, stderr and exit_code; long \
            output is cut in the middle and kept in a file.",
    params: &[
        Param { name: "command", aliases: &["cmd"], ty: Ty::Text, need: Need::Required, about: "" },
        Param { name: "timeout_secs", aliases: &[], ty: Ty::Int, need: Need::Optional, about: "1 to 600" },
        Param {
            name: "background",
            aliases: &["run_in_background"],
            ty: Ty::Flag,
            need: Need::Optional,
            about: "run as a job: returns its id at once",
        },
        Param {
            name: "stay",
            aliases: &[],
            ty: Ty::Flag,
            need: Need::Optional,
            about: "a job that outlives this session",
        },
    ],
};

pub struct Bash {
    env: Arc<ToolEnv>,
    processes: Arc<Processes>,
}

#[derive(Deserialize)]
struct Args {
    command: String,
    timeout_secs: Option<i64>,
    background: Option<bool>,
    stay: Option<bool>,
}

/// The data of a command that goes on as a job.
#[derive(Serialize)]
struct JobData<'a> {
    job_id: &'a str,
    status: &'static str,
    stdout: &'a str,
    stderr: &'a str,
    note: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_file: Option<String>,
}

#[derive(Serialize)]
struct Data<'a> {
    stdout: &'a str,
    stderr: &'a str,
    exit_code: i32,
    timed_out: bool,
    /// How long it ran, where that is worth a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    /// The exit codes of a pipeline of which a part failed and the last one did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pipeline: Option<&'a str>,
    #[serde(skip_serializing_if = "is_false")]
    stdout_truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout_file: Option<String>,
    #[serde(skip_serializing_if = "is_false")]
    stderr_truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr_file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Bash {
    /// Makes the tool; `processes` outlives it, to end what it leaves.
    pub fn new(env: Arc<ToolEnv>, processes: Arc<Processes>) -> Self {
        Self { env, processes }
    }
}

impl Tool for Bash {
    fn kind(&self) -> Option<ToolKind> {
        Some(DEF.kind)
    }

    fn effects(&self, args: &RawValue) -> Vec<Effect> {
        let args: Args = crate::args::typed(args);
        vec![Effect::Exec { command: args.command, cwd: self.env.root.clone() }]
    }

    fn preview<'a>(&'a self, args: &'a RawValue) -> BoxFuture<'a, Preview> {
        let Args { command, .. } = crate::args::typed(args);
        let cwd = self.env.root.clone();
        Box::pin(async {
            // A preview is what a person says yes to.
            let holding = Holding::default();
            let start = CommandStart { command: &command, cwd: &cwd, consent: Consent::Person, holding };
            // One that stands by confines in some modes and in others not: nothing is said then.
            let always = |confine: &&Arc<dyn Confine>| confine.confines(Holding::Loose);
            let sandbox = self.env.confine.as_ref().filter(always).map(|confine| confine.profile(&start));
            Preview::Command { command, cwd, sandbox }
        })
    }

    fn run<'a>(&'a self, cx: ToolCx, args: &'a RawValue) -> BoxFuture<'a, ToolOutput> {
        let args: Args = crate::args::typed(args);
        Box::pin(async move { self.bash(cx, args).await.unwrap_or_else(|failure| failure) })
    }
}

impl Bash {
    async fn bash(&self, cx: ToolCx, args: Args) -> Result<ToolOutput, ToolOutput> {
        let invalid = |message: String| ToolOutput::failure(ToolCode::InvalidInput, message);
        if args.command.contains('\0') {
            return Err(invalid("`command` must not contain a NUL byte".into()));
        }
        let forgiving = self.env.leniency == Leniency::Forgiving;
        if let Some(why) = interactive::refusal(&args.command).filter(|_| forgiving) {
            return Err(invalid(why));
        }
        let timeout = match args.timeout_secs {
            Some(secs @ 1..=MAX_TIMEOUT) => Some(Duration::from_secs(secs.unsigned_abs())),
            Some(secs) => {
                return Err(invalid(format!("`timeout_secs` must be 1 to {MAX_TIMEOUT}, not {secs}")));
            }
            None => self.env.timeout,
        };
        let stays = args.stay == Some(true);
        let background = args.background == Some(true);
        if stays && !background {
            return Err(invalid("only a job can `stay`: set `background` too".into()));
        }
        if background && args.timeout_secs.is_some() {
            return Err(invalid("a background job has no time limit: leave `timeout_secs` out".into()));
        }
        let holding = cx.snapshot.obligations().holding;
        let confine = self.env.confine.as_deref().filter(|confine| confine.confines(holding));
        // A terminal of somebody else's would not confine it.
        if let (Some(terminals), None, false) = (&self.env.terminals, confine, background) {
            return self.in_client_terminal(terminals.as_ref(), &cx, &args.command, timeout).await;
        }
        let env_removed = (self.env.child_env_removed)();
        let mut env_set = self.env.child_env_set.clone();
        if cx.snapshot.obligations().read_only {
            env_set.extend(git::inert());
        }
        // Nobody waits for the end of a job, so nobody reads the report.
        let report = ReportLine::wanted(&args.command, self.env.shell, &cx.call).filter(|_| !background);
        let prelude = report.as_ref().map(ReportLine::prelude).unwrap_or_default();
        let live = match &report {
            Some(line) => cx.live.map(|live| line.hidden_from(live)),
            None => cx.live,
        };
        let shell = Shell {
            program: self.env.shell,
            prelude: &prelude,
            command: &args.command,
            cwd: &self.env.root,
            env_removed: &env_removed,
            env_set: &env_set,
        };
        let (consent, max_output) = (cx.consent, self.env.bash_max_output);
        let run =
            ShellRun { shell, input: None, confine, consent, holding, timeout, max_output, live, stays };
        let start = run.start();
        if background {
            let job = self.processes.background(&run).map_err(|error| self.failed(&error, &start))?;
            return Ok(goes_on(&job));
        }
        // A call that sets its own limit wants to wait that long.
        let patience = self.env.job_after.filter(|_| args.timeout_secs.is_none());
        let began = Instant::now();
        let outcome = match patience {
            Some(patience) => self.processes.run_or_background(run, patience).await,
            None => self.processes.run(run).await.map(Outcome::Finished),
        };
        let mut finished = match outcome.map_err(|error| self.failed(&error, &start))? {
            Outcome::Finished(finished) => finished,
            Outcome::Job(job) => {
                if let Some(line) = &report {
                    job.hide_line(line.mark());
                }
                return Ok(goes_on(&job));
            }
        };
        let report = report.map(|line| line.take(&mut finished.stderr.text)).unwrap_or_default();
        // A time limit tells itself, and what was only waited for did not run.
        let ran = Some(began.elapsed()).filter(|ran| {
            forgiving && *ran >= WORTH_TELLING && !finished.end.timed_out && !finished.detached
        });
        let report = Report { ran, ..report };
        if forgiving {
            self.processes.keep_long(&mut finished.stdout, &mut finished.stderr);
        }
        let denial = confine
            .and_then(|confine| confine.suspects(&start, finished.end.exit_code, &finished.stderr.text));
        Ok(result(finished, timeout, denial, &report, &self.env.root))
    }

    /// Runs the command in an editor's terminal, whose output is one stream.
    async fn in_client_terminal(
        &self,
        terminals: &dyn ClientTerminals,
        cx: &ToolCx,
        command: &str,
        timeout: Option<Duration>,
    ) -> Result<ToolOutput, ToolOutput> {
        let (cwd, max_output) = (&self.env.root, self.env.bash_max_output);
        let job = TerminalCommand { call: &cx.call, command, cwd, timeout, max_output };
        let TerminalExit { output, truncated, exit_code, timed_out } =
            terminals.run(job).await.map_err(|why| {
                ToolOutput::failure(
                    ToolCode::SpawnError,
                    format!("the editor's terminal did not run it: {why}"),
                )
            })?;
        let stderr = match timed_out {
            true => format!("Command timed out after {} seconds\n", timeout.unwrap_or_default().as_secs()),
            false => String::new(),
        };
        let exit_code = exit_code.unwrap_or(-1);
        let data = Data {
            stdout: &output,
            stderr: &stderr,
            exit_code,
            timed_out,
            duration_ms: None,
            pipeline: None,
            stdout_truncated: truncated,
            stdout_file: None,
            stderr_truncated: false,
            stderr_file: None,
            note: None,
        };
        let mut output =
            ToolOutput::success(&serde_json::to_string(&data).expect("strings and numbers are JSON"));
        output.process = Some(ProcessEnd { exit_code, signal: None, timed_out });
        Ok(output)
    }

    fn failed(&self, error: &ProcessError, start: &CommandStart<'_>) -> ToolOutput {
        let source = match error {
            ProcessError::Spawn(source) => source,
            ProcessError::CannotStay => {
                return ToolOutput::failure(ToolCode::InvalidInput, error.to_string());
            }
            ProcessError::Wait(_) | ProcessError::TooManyJobs => {
                return ToolOutput::failure(ToolCode::ExecError, error.to_string());
            }
            ProcessError::Confine(refused) => {
                let mut output = ToolOutput::failure(ToolCode::ExecError, refused.to_string());
                output.denial = self.env.confine.as_ref().map(|confine| {
                    Box::new(Denial {
                        profile: confine.profile(start),
                        about: "unavailable",
                        message: refused.to_string(),
                    })
                });
                return output;
            }
        };
        let root = self.env.root.display();
        let advice = match source.raw_os_error() {
            Some(libc::E2BIG) => "; the command is too long: write it to a file and run that",
            Some(libc::EAGAIN | libc::EMFILE | libc::ENFILE | libc::ENOMEM) => {
                "; the system is out of processes, descriptors or memory: try again with less at once"
            }
            _ if source.kind() == io::ErrorKind::NotFound && !self.env.root.is_dir() => {
                return ToolOutput::failure(
                    ToolCode::SpawnError,
                    format!("{error}; the working directory {root} does not exist any more"),
                );
            }
            _ => "",
        };
        ToolOutput::failure(ToolCode::SpawnError, format!("{error}{advice}"))
    }
}

/// Returns the result of a command that goes on, with its output so far.
pub(crate) fn goes_on(job: &Job) -> ToolOutput {
    let (stdout, stderr) = job.take_output();
    let data = JobData {
        job_id: &job.id,
        status: "running",
        stdout: &stdout.text,
        stderr: &stderr.text,
        note: match job.stays {
            Some(_) => STAYS,
            None => "it goes on in the background: read its output with job_output, end it with job_kill",
        },
        output_file: job.stays.as_ref().map(|stays| paths::shown(&stays.output)),
    };
    ToolOutput::success(&serde_json::to_string(&data).expect("strings are JSON"))
}

fn result(
    finished: Finished,
    timeout: Option<Duration>,
    denial: Option<Denial>,
    report: &Report,
    root: &Path,
) -> ToolOutput {
    let Finished { end, stdout, mut stderr, detached } = finished;
    if end.timed_out {
        let secs = timeout.unwrap_or_default().as_secs();
        if !stderr.text.is_empty() && !stderr.text.ends_with('\n') {
            stderr.text.push('\n');
        }
        stderr.text.push_str(&format!("Command timed out after {secs} seconds\n"));
    }
    let file = |captured: &Captured| captured.file.as_ref().map(|path| paths::shown(path));
    let suspicion = denial.as_ref().map(|denial| denial.message.as_str());
    let moved = report.folder.as_deref().filter(|folder| Path::new(folder) != root).map(|folder| {
        format!("the command ended in {folder}; the next one starts in {} again", root.display())
    });
    let notes: Vec<&str> =
        detached.then_some(DETACHED).into_iter().chain(suspicion).chain(moved.as_deref()).collect();
    let data = Data {
        stdout: &stdout.text,
        stderr: &stderr.text,
        exit_code: end.exit_code,
        timed_out: end.timed_out,
        duration_ms: report.ran.map(|ran| u64::try_from(ran.as_millis()).unwrap_or(u64::MAX)),
        pipeline: report.pipeline.as_deref(),
        stdout_truncated: stdout.cut,
        stdout_file: file(&stdout),
        stderr_truncated: stderr.cut,
        stderr_file: file(&stderr),
        note: (!notes.is_empty()).then(|| notes.join("; ")),
    };
    let mut output =
        ToolOutput::success(&serde_json::to_string(&data).expect("strings and numbers are JSON"));
    output.process = Some(end);
    output.denial = denial.map(Box::new);
    output
}

fn is_false(flag: &bool) -> bool {
    !flag
}

#[cfg(test)]
mod tests;
