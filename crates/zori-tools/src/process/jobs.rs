//! Background jobs: commands that go on while the model does something else (DECISIONS 53).
//!
//! Each job has a thread that reads its output and waits for its end, so that a job goes on whether or not a turn runs. The
//! thread counts ticks instead of reading a clock. A job ends by itself, by [`Job::kill`], or with the run; one that was asked to stay
//! prints to files, and goes on.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::watch;
use zori_core::tool::ProcessEnd;

use super::output::{Captured, Collector, take_line};
use super::{CHUNK, DRAIN, GRACE, LAST_DRAIN, LAST_GRACE, ProcessError, Running};

/// How many jobs may run at once.
pub const MAX_JOBS: usize = 16;
/// How many jobs are known at once; of those that have ended the oldest is forgotten first.
const MAX_KNOWN: usize = 64;
/// How often a job without output is looked at.
const TICK: Duration = Duration::from_millis(50);
/// How much of a grace each portion of output uses up, so that a flood cannot hold the end back for ever.
const BUSY_TICK: Duration = Duration::from_millis(1);

/// The jobs of a run.
#[derive(Default)]
pub struct Jobs {
    known: Mutex<Vec<Arc<Job>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    started: AtomicU32,
    ending: Arc<AtomicBool>,
}

pub struct Job {
    /// The name the model has for it.
    pub id: String,
    /// The text given to the shell.
    pub command: String,
    /// Where it goes on after the run, if it does.
    pub stays: Option<Staying>,
    output: Mutex<JobOutput>,
    status: watch::Sender<JobStatus>,
    kill: AtomicBool,
    /// The mark of a line on standard error that is not the command's own.
    hidden: OnceLock<String>,
}

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobStatus {
    Running,
    Ended(ProcessEnd),
}

/// The output of a job that nobody has read yet.
pub(super) struct JobOutput {
    pub(super) stdout: Collector,
    pub(super) stderr: Collector,
}

/// The pipes of a job; `None` after the end of a stream.
pub(super) struct Pipes {
    pub(super) stdout: Option<OwnedFd>,
    pub(super) stderr: Option<OwnedFd>,
}

/// A job that outlives the run.
#[derive(Clone, Debug)]
pub struct Staying {
    /// Its process, which leads its group.
    pub process: i32,
    /// The file with its standard output; that for standard error lies beside it.
    pub output: PathBuf,
}

/// The files that a job prints to when it outlives us, open for reading.
pub(super) struct StayingFiles {
    path: PathBuf,
    stdout: File,
    stderr: File,
}

impl StayingFiles {
    pub(super) fn open(stdout: PathBuf, stderr: &Path) -> io::Result<Self> {
        Ok(Self { stdout: File::open(&stdout)?, stderr: File::open(stderr)?, path: stdout })
    }
}

impl Jobs {
    /// Returns whether one more may run.
    pub fn has_room(&self) -> bool {
        let running = |job: &&Arc<Job>| job.status() == JobStatus::Running;
        !self.ending.load(Ordering::Relaxed) && self.lock().iter().filter(running).count() < MAX_JOBS
    }

    /// Returns whether there ever was a job.
    pub fn any(&self) -> bool {
        self.started.load(Ordering::Relaxed) > 0
    }

    /// Returns the jobs that are known, oldest first.
    pub fn all(&self) -> Vec<Arc<Job>> {
        self.lock().clone()
    }

    /// Returns the job with this id.
    pub fn find(&self, id: &str) -> Option<Arc<Job>> {
        self.lock().iter().find(|job| job.id == id).cloned()
    }

    /// Makes a job of a running command.
    pub(super) fn adopt(
        &self,
        running: Running,
        pipes: Pipes,
        files: Option<StayingFiles>,
        mut output: JobOutput,
        command: &str,
    ) -> Result<Arc<Job>, ProcessError> {
        // One stream must not wait for the other.
        for pipe in [&pipes.stdout, &pipes.stderr].into_iter().flatten() {
            rustix::io::ioctl_fionbio(pipe, true).map_err(|error| ProcessError::Wait(error.into()))?;
        }
        // Who watched the call does not watch the job.
        output.stdout.stop_live();
        output.stderr.stop_live();
        let id = format!("job_{}", self.started.fetch_add(1, Ordering::Relaxed) + 1);
        let job = Arc::new(Job {
            id,
            command: command.to_owned(),
            stays: files
                .as_ref()
                .map(|files| Staying { process: running.group.id(), output: files.path.clone() }),
            output: Mutex::new(output),
            status: watch::Sender::new(JobStatus::Running),
            kill: AtomicBool::new(false),
            hidden: OnceLock::new(),
        });
        let run_ends = self.ending.clone();
        let worker = Worker { job: job.clone(), running, pipes, files, status: None, run_ends };
        let thread = thread::Builder::new().name("zori-job".into()).spawn(move || worker.work());
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.retain(|thread| !thread.is_finished());
        threads.push(thread.map_err(ProcessError::Spawn)?);
        let mut known = self.lock();
        if known.len() >= MAX_KNOWN
            && let Some(oldest) = known.iter().position(|job| job.status() != JobStatus::Running)
        {
            known.remove(oldest);
        }
        known.push(job.clone());
        Ok(job)
    }

    /// Asks all jobs to end but those that stay, and leaves the rest to the reaper.
    pub(super) fn shutdown(&self) {
        self.ending.store(true, Ordering::Relaxed);
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // A panic there has ended that job.
            let _ = thread.join();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Job>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Job {
    pub fn status(&self) -> JobStatus {
        *self.status.borrow()
    }

    /// Waits for the end of the job, for at most `limit`.
    pub async fn wait(&self, limit: Duration) -> JobStatus {
        let mut status = self.status.subscribe();
        let ended = status.wait_for(|status| *status != JobStatus::Running);
        match tokio::time::timeout(limit, ended).await {
            Ok(Ok(status)) => *status,
            Ok(Err(_)) | Err(_) => self.status(),
        }
    }

    /// Ends the job: its group is asked to, and killed where that does not help.
    pub async fn kill(&self) -> JobStatus {
        self.request_kill();
        self.wait(LAST_GRACE).await
    }

    /// Has the job ended, without waiting for it.
    pub fn request_kill(&self) {
        self.kill.store(true, Ordering::Relaxed);
    }

    /// Returns whether it runs and nobody has asked it to end.
    pub fn goes_on(&self) -> bool {
        self.status() == JobStatus::Running && !self.kill.load(Ordering::Relaxed)
    }

    /// Returns its state in words.
    pub fn state(&self) -> String {
        match self.status() {
            JobStatus::Running => "running".to_owned(),
            JobStatus::Ended(ProcessEnd { signal: Some(signal), .. }) => format!("signal {signal}"),
            JobStatus::Ended(end) => format!("exit {}", end.exit_code),
        }
    }

    /// Takes the output since it was last taken: standard output, and standard error.
    pub fn take_output(&self) -> (Captured, Captured) {
        let mut output = self.output();
        let (stdout, mut stderr) = (output.stdout.take(), output.stderr.take());
        if let Some(mark) = self.hidden.get() {
            take_line(&mut stderr.text, mark);
        }
        (stdout, stderr)
    }

    /// Keeps the line with this mark out of what standard error is said to have.
    pub fn hide_line(&self, mark: &str) {
        let _ = self.hidden.set(mark.to_owned());
    }

    fn output(&self) -> MutexGuard<'_, JobOutput> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread of a job.
struct Worker {
    job: Arc<Job>,
    running: Running,
    pipes: Pipes,
    files: Option<StayingFiles>,
    status: Option<ExitStatus>,
    run_ends: Arc<AtomicBool>,
}

/// How far the end of a job has come.
#[derive(Clone, Copy)]
enum Ending {
    /// It runs.
    Not,
    /// The shell has ended by itself; what it has started is looked for after so long.
    Draining(Duration),
    /// The group was asked to end, and is killed after so long.
    Asked(Duration),
    /// The group was killed; output is awaited for so long.
    Killed(Duration),
}

impl Worker {
    fn work(mut self) {
        let mut buffer = vec![0; CHUNK];
        let mut ending = Ending::Not;
        loop {
            let took = self.read(&mut buffer);
            if self.run_ends.load(Ordering::Relaxed) {
                if self.files.is_some() && self.job.goes_on() {
                    // Nobody waits for it any more.
                    self.running.child = None;
                    return;
                }
                // What is dropped with its child is ended by the reaper.
                self.running.grace = LAST_GRACE;
                break;
            }
            if self.status.is_none()
                && let Some(child) = &mut self.running.child
                && let Some(status) = child.try_wait().unwrap_or_else(|_| Some(ExitStatus::from_raw(0)))
            {
                self.status = Some(status);
            }
            // A file has no end that would say that nobody writes to it any more.
            let quiet = self.status.is_some()
                && self.pipes.closed()
                && (self.files.is_none() || !self.running.group.alive());
            ending = match ending {
                Ending::Not | Ending::Draining(_) if self.job.kill.load(Ordering::Relaxed) => {
                    (self.running.terminate)(self.running.group);
                    Ending::Asked(GRACE)
                }
                Ending::Not if self.status.is_some() => Ending::Draining(DRAIN),
                Ending::Not => Ending::Not,
                Ending::Draining(_) if quiet => break,
                // What the shell started in turn is the job, as long as it lives.
                Ending::Draining(left) if left.is_zero() => match self.running.group.alive() {
                    true => Ending::Draining(DRAIN),
                    false => break,
                },
                Ending::Asked(_) if quiet && !self.running.group.alive() => break,
                Ending::Asked(left) if left.is_zero() => {
                    self.running.group.kill();
                    Ending::Killed(LAST_DRAIN)
                }
                Ending::Killed(left) if self.status.is_some() && (quiet || left.is_zero()) => break,
                Ending::Draining(left) => Ending::Draining(left.saturating_sub(took)),
                Ending::Asked(left) => Ending::Asked(left.saturating_sub(took)),
                Ending::Killed(left) => Ending::Killed(left.saturating_sub(took)),
            };
        }
        if self.status.is_some() {
            self.running.child = None;
            self.running.reaper.claim_strays();
            self.running.reaper.finished(self.running.group);
        }
        let end = ProcessEnd {
            exit_code: self.status.and_then(|status| status.code()).unwrap_or(-1),
            signal: self.status.and_then(|status| status.signal()),
            timed_out: false,
        };
        self.job.status.send_replace(JobStatus::Ended(end));
    }

    /// Waits a tick for output and takes what there is. Returns how much of a grace that used up.
    fn read(&mut self, buffer: &mut [u8]) -> Duration {
        let tick = Timespec { tv_sec: 0, tv_nsec: TICK.subsec_nanos().into() };
        let Pipes { stdout, stderr } = &mut self.pipes;
        let mut fds: Vec<PollFd<'_>> =
            [&*stdout, &*stderr].into_iter().flatten().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        // Without a pipe this only waits. An interrupted wait is a short one.
        let ready = poll(&mut fds, Some(&tick)).unwrap_or(0);
        if ready == 0 && self.files.is_none() {
            return TICK;
        }
        let mut output = self.job.output();
        let JobOutput { stdout: out, stderr: err } = &mut *output;
        if let Some(files) = &self.files {
            follow(&files.stdout, out, buffer);
            follow(&files.stderr, err, buffer);
            return TICK;
        }
        for (pipe, collector) in [(stdout, out), (stderr, err)] {
            if let Some(fd) = pipe
                && !take(fd, collector, buffer)
            {
                *pipe = None;
            }
        }
        BUSY_TICK
    }
}

impl Pipes {
    fn closed(&self) -> bool {
        self.stdout.is_none() && self.stderr.is_none()
    }
}

/// How much of a file is taken at once, so that a flood cannot hold up the end.
const MAX_FOLLOWED: usize = 64;

/// Takes what was added to a file.
fn follow(mut file: &File, collector: &mut Collector, buffer: &mut [u8]) {
    for _ in 0..MAX_FOLLOWED {
        match file.read(buffer) {
            Ok(n) if n > 0 => collector.push(&buffer[..n]),
            Ok(_) | Err(_) => return,
        }
    }
}

/// Takes what a pipe holds. Returns whether more may come.
fn take(pipe: &impl AsFd, collector: &mut Collector, buffer: &mut [u8]) -> bool {
    match rustix::io::read(pipe, &mut *buffer) {
        Ok(0) => false,
        Ok(n) => {
            collector.push(&buffer[..n]);
            true
        }
        Err(error) => {
            let error = io::Error::from(error);
            matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
        }
    }
}
