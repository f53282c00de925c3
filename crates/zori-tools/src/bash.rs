//! `bash`: a shell command in the root directory.
//!
//! The name is what models know; what runs is `sh`. How it runs is in [`crate::process`].

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use zori_core::BoxFuture;
use zori_core::confine::{Consent, Denial, Start};
use zori_core::question::Preview;
use zori_core::terminal::{TerminalEnd, TerminalJob, Terminals};
use zori_core::tool::{Effect, ProcessEnd, Tool, ToolCode, ToolCx, ToolKind, ToolOutput};

use crate::def::{Need, Param, ToolDef, Ty};
use crate::env::ToolEnv;
use crate::paths;
use crate::process::output::Captured;
use crate::process::spawn::Shell;
use crate::process::{Finished, Job, ProcessError, Processes};

/// The longest time a call may ask for, in seconds (DECISIONS 36).
const MAX_TIMEOUT: i64 = 600;

/// What is said when something goes on in the background.
const DETACHED: &str =
    "a background process still held the output, which is closed now; redirect such output to a file";

/// The tool's table entry.
pub const DEF: ToolDef = ToolDef {
    kind: ToolKind::Bash,
    about: "Run a command with `sh -c` in the root directory, without stdin. Returns stdout, stderr and exit_code; long \
            output is cut in the middle and kept in a file.",
    params: &[
        Param { name: "command", aliases: &["cmd"], ty: Ty::Text, need: Need::Required, about: "" },
        Param { name: "timeout_secs", aliases: &[], ty: Ty::Int, need: Need::Optional, about: "1 to 600" },
    ],
};

/// The tool.
pub struct Bash {
    env: Arc<ToolEnv>,
    processes: Arc<Processes>,
}

#[derive(Deserialize)]
struct Args {
    command: String,
    timeout_secs: Option<i64>,
}

#[derive(Serialize)]
struct Data<'a> {
    stdout: &'a str,
    stderr: &'a str,
    exit_code: i32,
    timed_out: bool,
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
            let start = Start { command: &command, cwd: &cwd, consent: Consent::Person };
            let sandbox = self.env.confine.as_ref().map(|confine| confine.profile(&start));
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
        let timeout = match args.timeout_secs {
            Some(secs @ 1..=MAX_TIMEOUT) => Some(Duration::from_secs(secs.unsigned_abs())),
            Some(secs) => {
                return Err(invalid(format!("`timeout_secs` must be 1 to {MAX_TIMEOUT}, not {secs}")));
            }
            None => self.env.timeout,
        };
        // A terminal of somebody else's would not confine it.
        if let (Some(terminals), None) = (&self.env.terminals, &self.env.confine) {
            return self.elsewhere(terminals.as_ref(), &cx, &args.command, timeout).await;
        }
        let env_removed = (self.env.child_env_removed)();
        let shell = Shell {
            command: &args.command,
            cwd: &self.env.root,
            env_removed: &env_removed,
            env_set: &self.env.child_env_set,
        };
        let confine = self.env.confine.as_deref();
        let (consent, max_output) = (cx.consent, self.env.bash_max_output);
        let job = Job { shell, input: None, confine, consent, timeout, max_output, live: cx.live };
        let start = job.start();
        let finished = self.processes.run(job).await.map_err(|error| self.failed(&error, &start))?;
        let denial = confine
            .and_then(|confine| confine.suspects(&start, finished.end.exit_code, &finished.stderr.text));
        Ok(result(finished, timeout, denial))
    }

    /// Runs the command in an editor's terminal, whose output is one stream.
    async fn elsewhere(
        &self,
        terminals: &dyn Terminals,
        cx: &ToolCx,
        command: &str,
        timeout: Option<Duration>,
    ) -> Result<ToolOutput, ToolOutput> {
        let (cwd, max_output) = (&self.env.root, self.env.bash_max_output);
        let job = TerminalJob { call: &cx.call, command, cwd, timeout, max_output };
        let TerminalEnd { output, truncated, exit_code, timed_out } =
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

    fn failed(&self, error: &ProcessError, start: &Start<'_>) -> ToolOutput {
        let source = match error {
            ProcessError::Spawn(source) => source,
            ProcessError::Wait(_) => return ToolOutput::failure(ToolCode::ExecError, error.to_string()),
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

fn result(finished: Finished, timeout: Option<Duration>, denial: Option<Denial>) -> ToolOutput {
    let Finished { end, stdout, mut stderr, detached } = finished;
    if end.timed_out {
        let secs = timeout.unwrap_or_default().as_secs();
        if !stderr.text.is_empty() && !stderr.text.ends_with('\n') {
            stderr.text.push('\n');
        }
        stderr.text.push_str(&format!("Command timed out after {secs} seconds\n"));
    }
    let file = |captured: &Captured| {
        captured.cut.as_ref().and_then(|cut| cut.file.as_ref()).map(|path| paths::shown(path))
    };
    let suspicion = denial.as_ref().map(|denial| denial.message.as_str());
    let notes: Vec<&str> = detached.then_some(DETACHED).into_iter().chain(suspicion).collect();
    let data = Data {
        stdout: &stdout.text,
        stderr: &stderr.text,
        exit_code: end.exit_code,
        timed_out: end.timed_out,
        stdout_truncated: stdout.cut.is_some(),
        stdout_file: file(&stdout),
        stderr_truncated: stderr.cut.is_some(),
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
