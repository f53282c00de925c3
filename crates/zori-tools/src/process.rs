//! Runs shell commands: in a session and group of their own, bounded in time and memory, and with nothing left behind.
//!
//! [`Processes`] is shared by all calls of a run. Its parts: [`spawn`] starts the shell (by [`vfork`] where it can), a [`child`] is waited for, [`output`] collects what it
//! prints, [`spill`] keeps on disk what memory does not, [`group`] signals, [`jobs`] go on in the background, a [`service`] serves the run, [`reaper`]
//! ends what a dropped call left, [`strays`] are what left its group, [`watchdog`] does so when this program itself is killed; [`pids`] names who lives.

mod child;
pub mod group;
pub mod heap;
pub mod jobs;
pub mod output;
pub mod pids;
pub mod reaper;
pub mod service;
pub mod spawn;
pub mod spill;
pub mod strays;
#[cfg(target_os = "linux")]
mod vfork;
pub mod watchdog;

use std::any::Any;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::pin::pin;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{ChildStderr, ChildStdout};
use tokio::time::sleep;
use zori_core::confine::{CommandStart, Confine, ConfineError, Consent, Holding};
use zori_core::text;
use zori_core::tool::{LiveOutput, OutputStream, ProcessEnd};

use self::child::Child;
use self::group::Group;
use self::jobs::{Job, JobOutput, Jobs, MAX_JOBS, Pipes, StayingFiles};
use self::output::{Captured, Collector};
use self::pids::PidFile;
use self::reaper::Reaper;
use self::spawn::{Bond, Confinement, Shell, Stdin};
use self::spill::SpillFolder;
use crate::plain::{bounded, screen};

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
/// From so many bytes at once on, a command prints faster than it is read.
const FLOOD: usize = 32 << 10;

/// The child processes of a run.
pub struct Processes {
    reaper: Arc<Reaper>,
    spill: Arc<SpillFolder>,
    jobs: Arc<Jobs>,
}

/// A command to run.
pub struct ShellRun<'a> {
    /// How the shell is started.
    pub shell: Shell<'a>,
    /// What it reads on standard input; nothing, if there is none.
    pub input: Option<&'a [u8]>,
    /// The sandbox for it, if there is one.
    pub confine: Option<&'a dyn Confine>,
    /// Who let it run.
    pub consent: Consent,
    /// What the mode wants of the sandbox.
    pub holding: Holding,
    /// When it is ended; `None` waits for ever.
    pub timeout: Option<Duration>,
    /// How many bytes of each stream are returned; 0 means up to the ceiling.
    pub max_output: usize,
    /// Who watches.
    pub live: Option<Arc<dyn LiveOutput>>,
    /// Whether it goes on after the run; only a job can.
    pub stays: bool,
}

impl<'a> ShellRun<'a> {
    /// Returns the command as what confines it sees it.
    pub fn start(&self) -> CommandStart<'a> {
        CommandStart {
            command: self.shell.command,
            cwd: self.shell.cwd,
            consent: self.consent,
            holding: self.holding,
        }
    }
}

/// A command that has ended.
#[derive(Debug)]
pub struct Finished {
    pub end: ProcessEnd,
    /// What it printed.
    pub stdout: Captured,
    /// What it printed to standard error.
    pub stderr: Captured,
    /// Whether something it started goes on and still holds its output.
    pub detached: bool,
}

/// What became of a command.
pub enum Outcome {
    /// It has ended.
    Finished(Finished),
    /// It goes on in the background.
    Job(Arc<Job>),
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
    /// No further job may be started.
    #[error("{MAX_JOBS} background jobs run already, which is as many as there may be; end one first")]
    TooManyJobs,
    /// It cannot outlive the run.
    #[error("a job in this sandbox ends with the session, so it cannot stay: leave `stay` out")]
    CannotStay,
}

impl Processes {
    /// Makes the process table; nothing is started. Spilled output goes to a folder that is made in `temp_parent` when
    /// it is needed.
    pub fn new(temp_parent: PathBuf) -> Self {
        let spill = Arc::new(SpillFolder::new(temp_parent));
        Self { reaper: Arc::new(Reaper::new(PidFile::new(spill.clone()))), spill, jobs: Arc::default() }
    }

    /// Returns the file that lists the live process groups, if there ever were any.
    pub fn pid_file(&self) -> Option<PathBuf> {
        self.reaper.pid_file()
    }

    /// Returns the background jobs.
    pub fn jobs(&self) -> &Arc<Jobs> {
        &self.jobs
    }

    /// Runs a command to its end. Dropped, it ends the command's whole group without waiting for it.
    pub async fn run(&self, run: ShellRun<'_>) -> Result<Finished, ProcessError> {
        let mut started = self.start(&run)?;
        started.wait(run.timeout, None).await?;
        Ok(started.finish())
    }

    /// Runs a command for as long as `patience` lasts. What still runs then goes on as a job, without a time limit; where
    /// there are as many jobs as there may be, it is waited for as [`Self::run`] does.
    pub async fn run_or_background(
        &self,
        run: ShellRun<'_>,
        patience: Duration,
    ) -> Result<Outcome, ProcessError> {
        let mut started = self.start(&run)?;
        if started.wait(run.timeout, Some(patience)).await? == Waited::Running {
            if self.jobs.has_room() {
                return started.into_job(&self.jobs, run.shell.command).map(Outcome::Job);
            }
            started.wait(run.timeout.map(|limit| limit.saturating_sub(patience)), None).await?;
        }
        Ok(Outcome::Finished(started.finish()))
    }

    /// Starts a command as a job.
    pub fn background(&self, run: &ShellRun<'_>) -> Result<Arc<Job>, ProcessError> {
        if !self.jobs.has_room() {
            return Err(ProcessError::TooManyJobs);
        }
        self.start(run)?.into_job(&self.jobs, run.shell.command)
    }

    fn start(&self, run: &ShellRun<'_>) -> Result<Started, ProcessError> {
        let mut confinement = Confinement::default();
        let (mut hold, mut led): (KeepAlive, bool) = (Box::new(()), false);
        if let Some(confine) = run.confine {
            let confined = confine.prepare(&run.start())?;
            confinement =
                Confinement { wrapper: confined.wrapper, env: confined.env, in_child: confined.in_child };
            (hold, led) = (confined.hold, confined.wrapper_ends_all);
        }
        if run.stays && led {
            return Err(ProcessError::CannotStay);
        }
        let (bond, files) = match run.stays {
            true => {
                let [(out_path, out), (err_path, err)] = self.spill.staying().map_err(ProcessError::Spawn)?;
                let files = StayingFiles::open(out_path, &err_path).map_err(ProcessError::Spawn)?;
                (Bond::Stays(out, err), Some(files))
            }
            false => (Bond::EndsWithUs(self.reaper.table()), None),
        };
        // A file rather than a pipe: nobody has to write to it while the command runs, or does not read.
        let stdin =
            run.input.map(|input| self.spill.unnamed(input)).transpose().map_err(ProcessError::Spawn)?;
        let stdin = stdin.map_or(Stdin::Nothing, Stdin::File);
        let started = strays::start(
            || run.shell.spawn(stdin, confinement, bond),
            |child| child.id().map(u32::cast_signed),
        );
        let mut child = started.map_err(|error| {
            self.reaper.not_started();
            ProcessError::Spawn(error)
        })?;
        let group = Group::led_by(&child);
        let terminate = if led { Group::terminate_led } else { Group::terminate };
        let (out, err) = (child.stdout.take(), child.stderr.take());
        if run.stays {
            strays::leave_alone(group.id());
        } else {
            self.reaper.watch(group);
        }
        let running = Running {
            reaper: self.reaper.clone(),
            group,
            terminate,
            child: Some(child),
            hold: Some(hold),
            grace: GRACE,
        };
        let stream = |which| Collector::new(which, run.max_output, self.spill.clone(), run.live.clone());
        Ok(Started {
            running,
            out: Stream::new(out, stream(OutputStream::Stdout)),
            err: Stream::new(err, stream(OutputStream::Stderr)),
            phase: Phase::Running,
            status: None,
            files,
        })
    }

    /// Stores output of which the model will not read everything, so that it can be read from there (FOR-12).
    pub fn keep_long(&self, stdout: &mut Captured, stderr: &mut Captured) {
        let long = |captured: &Captured| screen::shown(&captured.text).len();
        let (out, err) = (long(stdout), long(stderr));
        let (for_out, for_err) = bounded::shares(out, err);
        for (captured, name, cut) in [(stdout, "stdout", out > for_out), (stderr, "stderr", err > for_err)] {
            if cut && captured.file.is_none() {
                let made = self.spill.create(name);
                captured.file = made.ok().and_then(|(path, mut file)| {
                    file.write_all(captured.text.as_bytes()).is_ok().then_some(path)
                });
            }
        }
    }

    /// Returns the jobs that go on after the run, as they were asked to.
    pub fn staying(&self) -> Vec<String> {
        let jobs = self.jobs.all().into_iter().filter(|job| job.goes_on());
        jobs.filter_map(|job| {
            let stays = job.stays.as_ref()?;
            let (command, output) = (text::one_line(&job.command), stays.output.display());
            let command = text::prefix(&command, 60);
            Some(format!("{} (`{command}`, process {}, its output in {output})", job.id, stays.process))
        })
        .collect()
    }

    /// Returns what goes on although its call is over and no group holds it, and ends with the run: jobs, and what left the group of
    /// its command.
    pub fn left_behind(&self) -> Vec<String> {
        let jobs = self.jobs.all().into_iter().filter(|job| job.goes_on() && job.stays.is_none());
        let jobs =
            jobs.map(|job| format!("{} (`{}`)", job.id, text::prefix(&text::one_line(&job.command), 60)));
        let strays = self.reaper.strays().into_iter();
        jobs.chain(strays.map(|stray| format!("`{}` (process {})", stray.name, stray.pid))).collect()
    }

    /// Ends everything that was started and is still there, jobs included unless they stay, and removes spilled output. Blocks until it is
    /// gone, a little over five seconds at most.
    pub fn shutdown(&self) {
        self.jobs.shutdown();
        self.reaper.shutdown(LAST_GRACE);
        self.spill.remove();
    }
}

/// What a confined command needs until all of its processes have ended.
pub type KeepAlive = Box<dyn Any + Send>;

/// The phase of a call.
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

/// A command that was started.
struct Started {
    running: Running,
    out: Stream<ChildStdout>,
    err: Stream<ChildStderr>,
    phase: Phase,
    /// How the shell has ended, once it has.
    status: Option<ExitStatus>,
    /// Where a job that stays prints to.
    files: Option<StayingFiles>,
}

/// How a wait for a command ended.
#[derive(PartialEq, Eq)]
enum Waited {
    Ended,
    Running,
}

impl Started {
    /// Waits for the end of the command, which is ended after `timeout`; for no longer than `patience`.
    async fn wait(
        &mut self,
        timeout: Option<Duration>,
        patience: Option<Duration>,
    ) -> Result<Waited, ProcessError> {
        let (out, err) = (&mut self.out, &mut self.err);
        let group = self.running.group;
        let mut deadline = pin!(sleep(timeout.unwrap_or_default()));
        let mut limited = timeout.is_some();
        let mut patience_ends = pin!(sleep(patience.unwrap_or_default()));
        loop {
            let quiet = self.status.is_some() && !out.open() && !err.open();
            if quiet && (self.phase != Phase::Ending || !group.alive()) {
                return Ok(Waited::Ended);
            }
            let child = self.running.child.as_mut().expect("taken only after this loop");
            tokio::select! {
                biased;
                ended = child.wait(), if self.status.is_none() => {
                    self.status = Some(ended.map_err(ProcessError::Wait)?);
                    if self.phase == Phase::Running {
                        self.phase = Phase::Draining;
                        limited = true;
                        deadline.set(sleep(DRAIN));
                    }
                }
                () = out.fill(), if out.open() => {}
                () = err.fill(), if err.open() => {}
                () = deadline.as_mut(), if limited => match self.phase {
                    Phase::Running => {
                        (self.running.terminate)(group);
                        self.phase = Phase::Ending;
                        deadline.set(sleep(GRACE));
                    }
                    Phase::Ending => {
                        group.kill();
                        self.phase = Phase::Killed;
                        deadline.set(sleep(LAST_DRAIN));
                    }
                    Phase::Draining | Phase::Killed => return Ok(Waited::Ended),
                },
                () = patience_ends.as_mut(), if patience.is_some() && self.phase == Phase::Running => {
                    return Ok(Waited::Running);
                }
                () = sleep(TICK), if quiet => {}
            }
        }
    }

    /// Returns the result of a command that was waited for.
    fn finish(mut self) -> Finished {
        let timed_out = matches!(self.phase, Phase::Ending | Phase::Killed);
        if self.status.is_some() {
            self.running.child = None;
            let reaper = &self.running.reaper;
            match timed_out {
                true => reaper.end_strays(self.running.group),
                false => reaper.claim_strays(),
            }
            reaper.finished(self.running.group);
        }
        let exited = self.status.and_then(|status| status.code()).filter(|_| !timed_out);
        Finished {
            end: ProcessEnd {
                exit_code: exited.unwrap_or(-1),
                signal: self.status.and_then(|status| status.signal()),
                timed_out,
            },
            detached: self.out.open() || self.err.open(),
            stdout: self.out.collector.finish(),
            stderr: self.err.collector.finish(),
        }
    }

    /// Lets the command go on as a job. Where that fails, it is ended.
    fn into_job(self, jobs: &Arc<Jobs>, command: &str) -> Result<Arc<Job>, ProcessError> {
        let (out, err) = (self.out.pipe, self.err.pipe);
        let pipes = Pipes {
            stdout: out.map(ChildStdout::into_owned_fd).transpose().map_err(ProcessError::Wait)?,
            stderr: err.map(ChildStderr::into_owned_fd).transpose().map_err(ProcessError::Wait)?,
        };
        let output = JobOutput { stdout: self.out.collector, stderr: self.err.collector };
        jobs.adopt(self.running, pipes, self.files, output, command)
    }
}

/// A running shell. Dropped with its child, it asks the group to end and leaves the rest to the reaper.
struct Running {
    reaper: Arc<Reaper>,
    group: Group,
    terminate: fn(Group),
    child: Option<Child>,
    hold: Option<KeepAlive>,
    /// How long the group may take to end.
    grace: Duration,
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = self.child.take() {
            (self.terminate)(self.group);
            self.reaper.take_over(child, self.group, self.grace, self.hold.take());
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
                if n < FLOOD {
                    return;
                }
                if !self.enlarged {
                    // Fewer, larger reads. Only a hint, so it may fail.
                    self.enlarged = true;
                    #[cfg(target_os = "linux")]
                    let _ = rustix::pipe::fcntl_setpipe_size(&*pipe, 1 << 20);
                }
                // More is there already, and whoever types shares this thread: a key must not wait for the end of it (PERF-9).
                tokio::task::yield_now().await;
            }
            // A pipe that cannot be read any more has nothing more to say.
            _ => self.pipe = None,
        }
    }
}

#[cfg(test)]
mod tests;
