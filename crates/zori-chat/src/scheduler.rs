//! The worker `scheduler`: runs the jobs of a project while a chat is open in it (`docs/contracts/schedule.md`). One process of those that are open
//! has the lease and runs them; a slot is taken in the database, so that it fires once whatever the lease says.
//!
//! A run is `exec` in a process of its own, in the mode of the job and with nobody to ask; `schedule run` runs jobs in the same way.

mod bell;

use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use zori_core::time::Clock as _;
use zori_host::{MemoryPlace, SystemClock};
use zori_index::{Claim, IndexError};

use bell::Bell;
use zori_setup::agent_cx::AgentCx;
use zori_setup::environment::Environment;
use zori_setup::schedule::Jobs;
use zori_setup::signals::Signals;
use zori_setup::workers::{Need, Worker, Workers};

const WORKER: Worker = Worker { name: "scheduler", need: Need::UnlessBare };

/// The name of the lease, how long it holds without a sign of life, and how often one is given.
const LEASE: &str = "scheduler";
const LEASE_SECONDS: i64 = 60;
const HEARTBEAT: Duration = Duration::from_secs(20);
/// How often a run is looked after.
const TICK: Duration = Duration::from_millis(200);
/// How long a run may take to end with the chat, when that is noted, and how long the end of the chat waits for the worker at most.
const LAST_WORDS: Duration = Duration::from_millis(125);
const GOODBYE: Duration = Duration::from_millis(250);

/// The worker of an open chat. It waits for the first job, and stops with the chat.
pub struct Scheduler {
    running: Arc<Mutex<Option<Running>>>,
    telling: UnboundedSender<String>,
    /// What is to be told of runs.
    pub told: Option<UnboundedReceiver<String>>,
}

/// A worker that was not stopped yet.
struct Running {
    /// Dropped to stop it.
    stop: UnixStream,
    over: Receiver<()>,
}

impl Scheduler {
    /// Starts it, unless something forbids it. It runs from the first job on that the project has, whoever adds it, and stops when a signal ends the
    /// program, too. Its own thread finds out where the jobs are, so that the first frame of a chat need not wait for that.
    pub fn start(
        cx: &AgentCx<'_>,
        signals: &Signals,
        workers: &Workers,
        jobs: impl FnOnce() -> Jobs + Send + 'static,
    ) -> Option<Self> {
        let (telling, told) = unbounded_channel();
        Self::start_telling(cx, signals, workers, jobs, (telling, Some(told)))
    }

    /// Goes on with the jobs of another project. A run of this one is ended, and told.
    pub fn start_elsewhere(
        mut self,
        cx: &AgentCx<'_>,
        signals: &Signals,
        workers: &Workers,
        jobs: impl FnOnce() -> Jobs + Send + 'static,
    ) -> Option<Self> {
        let told = (self.telling.clone(), self.told.take());
        drop(self);
        Self::start_telling(cx, signals, workers, jobs, told)
    }

    fn start_telling(
        cx: &AgentCx<'_>,
        signals: &Signals,
        workers: &Workers,
        jobs: impl FnOnce() -> Jobs + Send + 'static,
        (telling, told): (UnboundedSender<String>, Option<UnboundedReceiver<String>>),
    ) -> Option<Self> {
        let (stopped, stop) = UnixStream::pair().ok()?;
        let (ended, over) = channel();
        let env = cx.app.env.clone();
        let first_job = move || {
            let Jobs { place, marker } = jobs();
            let mut bell = Bell::new(stopped, marker);
            let runner = Runner { env, place, output: RunOutput::Nowhere, grace: LAST_WORDS };
            bell.first_note().then_some((runner, bell))
        };
        let tell = telling.clone();
        let work = move |(runner, mut bell): (Runner, Bell)| {
            let _ended: Sender<()> = ended;
            runner.work(&mut bell, &tell);
        };
        // A thread that cannot be started is a chat without a schedule; `schedule run` says what is due.
        workers.spawn_if_due(WORKER, first_job, work).ok()??;
        let running = Arc::new(Mutex::new(Some(Running { stop, over })));
        let ends = running.clone();
        signals.before_death(move || stop_worker(&ends));
        Some(Self { running, telling, told })
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        stop_worker(&self.running);
    }
}

/// Stops the worker, and waits until it has ended its run. Whoever comes second waits for that, too.
fn stop_worker(running: &Mutex<Option<Running>>) {
    let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(Running { stop, over }) = running.take() {
        drop(stop);
        let _ = over.recv_timeout(GOODBYE);
    }
}

/// Where the output of a run goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOutput {
    /// To standard error.
    Stderr,
    /// Nowhere: a screen is there.
    Nowhere,
}

/// Runs jobs of a project.
pub struct Runner {
    /// What starts the program that runs them.
    pub env: Environment,
    pub place: MemoryPlace,
    pub output: RunOutput,
    /// How long a run that is asked to end may take.
    pub grace: Duration,
}

/// What a run is waited for with: whether it is to end, after this long at most.
pub enum Waited {
    GoOn,
    Stop,
}

impl Runner {
    fn work(&self, bell: &mut Bell, told: &UnboundedSender<String>) {
        let holder = format!("{}", std::process::id());
        let (mut said, mut held) = (false, false);
        loop {
            let round = if bell.noted() { self.round(&holder, &mut held, bell, told) } else { Ok(None) };
            let wait = match round {
                Ok(wait) => {
                    said = false;
                    // Without a job there is nothing to have the lease for.
                    if wait.is_none() && std::mem::take(&mut held) {
                        self.give_back(&holder);
                    }
                    wait
                }
                Err(error) => {
                    if !std::mem::replace(&mut said, true) {
                        let _ = told.send(format!("Scheduled jobs do not run: {error}; {}", error.way_on()));
                    }
                    Some(HEARTBEAT)
                }
            };
            if bell.wait(wait) {
                break;
            }
        }
        if held {
            self.give_back(&holder);
        }
    }

    fn give_back(&self, holder: &str) {
        // A data folder that was removed meanwhile is not made again for this.
        if self.place.database.exists()
            && let Ok(mut store) = self.place.open()
        {
            let _ = store.give_back(LEASE, holder, now());
        }
    }

    /// Runs what is due, if this process has the lease; returns how long to wait, `None` where no job will run. It is never longer than a heartbeat,
    /// so that a clock that is set anew is noticed. `held` says whether the lease was had last, whatever fails behind that.
    fn round(
        &self,
        holder: &str,
        held: &mut bool,
        bell: &Bell,
        told: &UnboundedSender<String>,
    ) -> Result<Option<Duration>, IndexError> {
        let mut store = self.place.open()?;
        if store.next_due()?.is_none() {
            return Ok(None);
        }
        *held = store.lease(LEASE, holder, now(), LEASE_SECONDS)?;
        if !*held {
            return Ok(Some(HEARTBEAT));
        }
        while let Some(claim) = store.claim(now())? {
            let mut last = Instant::now();
            let (status, leaving) = self.perform(&claim, || {
                if last.elapsed() >= HEARTBEAT {
                    last = Instant::now();
                    // A lease that is lost changes nothing about a slot that is taken.
                    let _ = store.lease(LEASE, holder, now(), LEASE_SECONDS);
                }
                if bell.stopped_within(TICK) { Waited::Stop } else { Waited::GoOn }
            });
            store.finish(&claim, &status, now())?;
            let _ = told.send(format!("Scheduled job `{}`: {status}", claim.job.name));
            if bell.stopped_within(Duration::ZERO) {
                // Who comes next need not wait for the run, which has no other slot.
                store.give_back(LEASE, holder, now())?;
                *held = false;
                if let Some(leaving) = leaving {
                    leaving.wait(self.grace);
                }
                return Ok(Some(TICK));
            }
        }
        let next = store.next_due()?.map(|next| Duration::from_secs((next - now()).max(0) as u64));
        Ok(next.map(|next| next.clamp(TICK, HEARTBEAT)))
    }

    /// Runs a job and waits for it; returns how it ended, and the run where it was asked to end and may still be at it. `wait` waits a little, and says
    /// whether the run is to end.
    pub fn perform(&self, claim: &Claim, mut wait: impl FnMut() -> Waited) -> (String, Option<Leaving>) {
        let mut child = match self.spawn(claim) {
            Ok(child) => child,
            Err(error) => return (format!("not started: {error}"), None),
        };
        loop {
            let ended = match child.try_wait() {
                Ok(Some(status)) if status.success() => "ok".to_owned(),
                Ok(Some(status)) => {
                    status.code().map_or_else(|| status.to_string(), |code| format!("exit {code}"))
                }
                Ok(None) if matches!(wait(), Waited::Stop) => {
                    return ("ended with the runner".to_owned(), Some(Leaving::ask(child)));
                }
                Ok(None) => continue,
                Err(error) => format!("not watched: {error}"),
            };
            return (ended, None);
        }
    }

    fn spawn(&self, claim: &Claim) -> std::io::Result<Child> {
        let job = &claim.job;
        let (out, err) = match self.output {
            RunOutput::Stderr => (Stdio::from(std::io::stderr()), Stdio::inherit()),
            RunOutput::Nowhere => (Stdio::null(), Stdio::null()),
        };
        let mut run = self.env.again()?;
        if self.output == RunOutput::Nowhere {
            // Ctrl-C at the terminal is for the chat.
            run.process_group(0);
        }
        run.args(["exec", "--non-interactive", "--permission-mode", &job.mode])
            .arg(format!("--scheduled={}", job.name))
            .args(["--prompt", &job.prompt])
            .current_dir(&self.place.project)
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .spawn()
    }
}

/// A run that was asked to end. It ends what it started by itself.
pub struct Leaving(Child);

impl Leaving {
    fn ask(child: Child) -> Self {
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let _ = pid.map(|pid| kill_process(pid, Signal::TERM));
        Self(child)
    }

    /// Waits for its end, for no longer than this.
    pub fn wait(mut self, grace: Duration) {
        let until = Instant::now() + grace;
        while Instant::now() < until && matches!(self.0.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn now() -> i64 {
    SystemClock::new().now().0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker that cannot end, because another process keeps the database locked, is left behind after 250 ms. A busy machine can be late: what is promised
    /// holds for the best of many ends.
    #[test]
    fn the_end_is_bounded() {
        let ends = std::iter::repeat_with(|| {
            let ((_stopped, stop), (_ended, over)) = (UnixStream::pair().unwrap(), channel());
            let begun = Instant::now();
            stop_worker(&Mutex::new(Some(Running { stop, over })));
            begun.elapsed()
        });
        let bound = Duration::from_millis(250);
        let best = ends.take(20).find(|took| *took < bound + Duration::from_millis(25));
        assert!(best.is_some_and(|took| took >= bound), "{best:?}");
    }
}
