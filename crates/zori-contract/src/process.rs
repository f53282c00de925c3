//! Children of a command: started by their arguments and never through a shell, in a group of their own, with nothing to read,
//! and ended when the run should end.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;

use crate::cancel::Cancel;
use crate::child::{self, Purpose};
use crate::error::IO_ERROR;
use crate::failure::Failure;
use crate::mode::Verbosity;
use crate::run::CommandCx;

/// How often a child's end is looked for.
const STEP: Duration = Duration::from_millis(10);
/// How long a child may take to end once it was asked to.
const GRACE: Duration = Duration::from_secs(5);
/// How many bytes of each stream are kept; the rest is read and forgotten.
const KEPT: u64 = 1 << 20;

/// What a child came to.
#[derive(Debug)]
pub struct Ended {
    /// How it ended.
    pub status: ExitStatus,
    /// The first MiB of what it printed.
    pub stdout: Vec<u8>,
    /// The same of standard error.
    pub stderr: Vec<u8>,
}

impl<A> CommandCx<'_, A> {
    /// Runs a program with these arguments, as they are, and returns what it came to. It gets the environment that
    /// [`child::environment`] describes, and ends with the run.
    pub fn child(
        &mut self,
        program: impl AsRef<OsStr>,
        args: impl IntoIterator<Item = OsString>,
        purpose: Purpose,
    ) -> Result<Ended, Failure> {
        let program = program.as_ref();
        let args: Vec<OsString> = args.into_iter().collect();
        let argv: Vec<_> = std::iter::once(program)
            .chain(args.iter().map(OsString::as_os_str))
            .map(OsStr::to_string_lossy)
            .collect();
        self.say(Verbosity::Debug, &format!("starting {}", json!(argv)));
        let environment = child::environment(&self.mode, purpose, &self.inputs.vars, self.program.prefix);
        let mut command = Command::new(program);
        command.args(&args).current_dir(self.cwd.as_path()).envs(environment).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let cancel = self.cancel.clone();
        let failed = |what: &str, error: io::Error| {
            let program = program.display();
            Failure::new(&IO_ERROR, format!("`{program}` {what}: {error}"))
        };
        let mut child = command.spawn().map_err(|error| failed("cannot be started", error))?;
        let (out, err) = (collect(child.stdout.take()), collect(child.stderr.take()));
        let status = wait(&mut child, &cancel).map_err(|error| failed("was lost", error))?;
        // Whoever was asked to end says less than why.
        cancel.check()?;
        let kept = |reader: JoinHandle<Vec<u8>>| reader.join().unwrap_or_default();
        Ok(Ended { status, stdout: kept(out), stderr: kept(err) })
    }
}

/// Waits for the end of a child; when the run should end, it makes one.
fn wait(child: &mut Child, cancel: &Cancel) -> io::Result<ExitStatus> {
    let group = Pid::from_raw(child.id().cast_signed());
    let signal = |signal| group.map(|group| kill_process_group(group, signal));
    let mut left = GRACE;
    let mut asked = false;
    loop {
        if let Some(status) = child.try_wait()? {
            // What it left behind goes with it.
            signal(Signal::KILL);
            return Ok(status);
        }
        if !asked && cancel.wait(STEP).is_err() {
            signal(Signal::TERM);
            asked = true;
        } else if asked {
            // The word was heard; only time can be waited for.
            std::thread::park_timeout(STEP);
            left = left.saturating_sub(STEP);
            if left.is_zero() {
                signal(Signal::KILL);
                return child.wait();
            }
        }
    }
}

fn collect(stream: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        if let Some(mut stream) = stream {
            // A stream that breaks has said what it had to say.
            let _ = stream.by_ref().take(KEPT).read_to_end(&mut kept);
            let _ = io::copy(&mut stream, &mut io::sink());
        }
        kept
    })
}
