//! Runs shell commands: in a session and group of their own, bounded in time and memory, and with nothing left behind.
//!
//! [`Processes`] is shared by all calls of a run. Its parts: [`spawn`] starts the shell, [`output`] collects what it
//! prints, [`spill`] keeps on disk what memory does not, [`group`] signals, [`keeper`] ends what a dropped call left,
//! [`guard`] does so when this program itself is killed; [`pids`] names who lives.

pub mod group;
pub mod guard;
pub mod keeper;
pub mod output;
pub mod pids;
pub mod spawn;
pub mod spill;

use std::any::Any;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Child;
use tokio::time::sleep;
use zori_core::confine::{Confine, ConfineError, Consent, Start};
use zori_core::tool::{LiveOutput, OutputStream, ProcessEnd};

use self::group::Group;
use self::keeper::Keeper;
use self::output::{Captured, Collector};
use self::pids::PidFile;
use self::spawn::{Confinement, Shell};
use self::spill::SpillFolder;

/// How long a group may take to end after SIGTERM (CH-2).
const GRACE: Duration = Duration::from_secs(2);
/// The same when the program itself ends.
const LAST_GRACE: Duration = Duration::from_secs(5);
/// How long output is awaited after the shell has ended, from processes it left behind (CH-5).
const DRAIN: Duration = Duration::from_secs(2);
/// How long output is awaited after SIGKILL: only a process that left the group can still hold the pipe.
const LAST_DRAIN: Duration = Duration::from_millis(250);
/// How often a group is looked at while it is given time to end.
const TICK: Duration = Duration::from_millis(10);
/// How much is read at once. A pipe holds no more than this before it is enlarged.
const CHUNK: usize = 256 << 10;

/// The child processes of a run.
pub struct Processes {
    keeper: Arc<Keeper>,
    spill: Arc<SpillFolder>,
}

/// A command to run.
pub struct Job<'a> {
    /// How the shell is started.
    pub shell: Shell<'a>,
    /// What it reads on standard input; nothing, if there is none.
    pub input: Option<&'a [u8]>,
    /// What confines it, if anything does.
    pub confine: Option<&'a dyn Confine>,
    /// Who let it run.
    pub consent: Consent,
    /// When it is ended; `None` waits for ever.
    pub timeout: Option<Duration>,
    /// How many bytes of each stream are returned; 0 means up to the ceiling.
    pub max_output: usize,
    /// Who watches.
    pub live: Option<Arc<dyn LiveOutput>>,
}

impl<'a> Job<'a> {
    /// Returns the command as what confines it sees it.
    pub fn start(&self) -> Start<'a> {
        Start { command: self.shell.command, cwd: self.shell.cwd, consent: self.consent }
    }
}

/// A command that has ended.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub end: ProcessEnd,
    /// What it printed.
    pub stdout: Captured,
    /// What it printed to standard error.
    pub stderr: Captured,
    /// Whether something it started goes on and still holds its output.
    pub detached: bool,
}

/// Why a command has no result.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// It must be confined, and cannot be.
    #[error(transparent)]
    Confine(#[from] ConfineError),
    /// It did not start.
    #[error("cannot start `sh`: {0}")]
    Spawn(io::Error),
    /// It started, and then was lost.
    #[error("cannot wait for `sh`: {0}")]
    Wait(io::Error),
}

impl Processes {
    /// Starts nothing yet. Spilled output goes to a folder that is made in `temp_parent` when it is needed.
    pub fn new(temp_parent: PathBuf) -> Self {
        let spill = Arc::new(SpillFolder::new(temp_parent));
        Self { keeper: Arc::new(Keeper::new(PidFile::new(spill.clone()))), spill }
    }

    /// Returns the file that names the groups that live, if there ever were any.
    pub fn pid_file(&self) -> Option<PathBuf> {
        self.keeper.pid_file()
    }

    /// Runs a command to its end. Dropped, it ends the command's whole group without waiting for it.
    pub async fn run(&self, job: Job<'_>) -> Result<Finished, ProcessError> {
        let mut confinement = Confinement::default();
        let (mut hold, mut led): (Hold, bool) = (Box::new(()), false);
        if let Some(confine) = job.confine {
            let confined = confine.prepare(&job.start())?;
            confinement =
                Confinement { wrapper: confined.wrapper, env: confined.env, in_child: confined.in_child };
            (hold, led) = (confined.hold, confined.wrapper_ends_all);
        }
        // A file rather than a pipe: nobody has to write to it while the command runs, or does not read.
        let stdin =
            job.input.map(|input| self.spill.unnamed(input)).transpose().map_err(ProcessError::Spawn)?;
        let stdin = stdin.map_or_else(Stdio::null, Stdio::from);
        let mut child = job.shell.spawn(stdin, confinement).map_err(ProcessError::Spawn)?;
        let group = Group::led_by(&child);
        let terminate = if led { Group::terminate_led } else { Group::terminate };
        let (out, err) = (child.stdout.take(), child.stderr.take());
        // The guard is started while the shell runs already: its fork costs the call nothing then.
        self.keeper.watch(group);
        let mut running =
            Running { keeper: &self.keeper, group, terminate, child: Some(child), hold: Some(hold) };
        let stream = |which| Collector::new(which, job.max_output, self.spill.clone(), job.live.clone());
        let mut out = Stream::new(out, stream(OutputStream::Stdout));
        let mut err = Stream::new(err, stream(OutputStream::Stderr));

        let mut phase = Phase::Running;
        let mut status: Option<ExitStatus> = None;
        let mut deadline = pin!(sleep(job.timeout.unwrap_or_default()));
        let mut limited = job.timeout.is_some();
        loop {
            let quiet = status.is_some() && !out.open() && !err.open();
            if quiet && (phase != Phase::Ending || !group.alive()) {
                break;
            }
            let child = running.child.as_mut().expect("taken only after this loop");
            tokio::select! {
                biased;
                ended = child.wait(), if status.is_none() => {
                    status = Some(ended.map_err(ProcessError::Wait)?);
                    if phase == Phase::Running {
                        phase = Phase::Draining;
                        limited = true;
                        deadline.set(sleep(DRAIN));
                    }
                }
                () = out.fill(), if out.open() => {}
                () = err.fill(), if err.open() => {}
                () = deadline.as_mut(), if limited => match phase {
                    Phase::Running => {
                        terminate(group);
                        phase = Phase::Ending;
                        deadline.set(sleep(GRACE));
                    }
                    Phase::Ending => {
                        group.kill();
                        phase = Phase::Killed;
                        deadline.set(sleep(LAST_DRAIN));
                    }
                    Phase::Draining | Phase::Killed => break,
                },
                () = sleep(TICK), if quiet => {}
            }
        }

        let timed_out = matches!(phase, Phase::Ending | Phase::Killed);
        if status.is_some() {
            running.child = None;
            self.keeper.finished(group);
        }
        let exited = status.and_then(|status| status.code()).filter(|_| !timed_out);
        Ok(Finished {
            end: ProcessEnd {
                exit_code: exited.unwrap_or(-1),
                signal: status.and_then(|status| status.signal()),
                timed_out,
            },
            detached: out.open() || err.open(),
            stdout: out.collector.finish(),
            stderr: err.collector.finish(),
        })
    }

    /// Ends everything that was started and is still there, and removes spilled output. Blocks until it is gone,
    /// a little over five seconds at most.
    pub fn shutdown(&self) {
        self.keeper.shutdown(LAST_GRACE);
        self.spill.remove();
    }
}

/// What a confined command needs as long as anything of it is there.
pub type Hold = Box<dyn Any + Send>;

/// How far a call has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The shell runs.
    Running,
    /// The shell has ended; its output has not.
    Draining,
    /// The time is up; the group was asked to end.
    Ending,
    /// The group was made to end.
    Killed,
}

/// A shell under way. Dropped with its child, it asks the group to end and leaves the rest to the keeper.
struct Running<'a> {
    keeper: &'a Arc<Keeper>,
    group: Group,
    terminate: fn(Group),
    child: Option<Child>,
    hold: Option<Hold>,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if let Some(child) = self.child.take() {
            (self.terminate)(self.group);
            self.keeper.take_over(child, self.group, GRACE, self.hold.take());
        }
    }
}

/// A stream being read.
struct Stream<R> {
    /// `None` after its end.
    pipe: Option<R>,
    collector: Collector,
    buffer: Vec<u8>,
    enlarged: bool,
}

impl<R: AsyncRead + Unpin + std::os::fd::AsFd> Stream<R> {
    fn new(pipe: Option<R>, collector: Collector) -> Self {
        // Fresh pages of zeros cost nothing until they are written to.
        Self { pipe, collector, buffer: vec![0; CHUNK], enlarged: false }
    }

    fn open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Waits for output and collects it.
    async fn fill(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        match pipe.read(&mut self.buffer).await {
            Ok(n) if n > 0 => {
                self.collector.push(&self.buffer[..n]);
                if n >= 32 << 10 && !self.enlarged {
                    // A flood: fewer, larger reads. Only a hint, so it may fail.
                    self.enlarged = true;
                    #[cfg(target_os = "linux")]
                    let _ = rustix::pipe::fcntl_setpipe_size(&*pipe, 1 << 20);
                }
            }
            // A pipe that cannot be read any more has nothing more to say.
            _ => self.pipe = None,
        }
    }
}

#[cfg(test)]
mod tests;
