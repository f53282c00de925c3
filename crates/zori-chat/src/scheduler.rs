//! The worker `scheduler`: runs the jobs of a project while a chat is open in it (`docs/contracts/schedule.md`). One process of those that are open
//! has the lease and runs them; a slot is taken in the database, so that it fires once whatever the lease says.
//!
//! A run is `exec` in a process of its own, in the mode of the job and with nobody to ask; `schedule run` runs jobs in the same way.

mod bell;

use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command as Process, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use zori_core::time::Clock as _;
use zori_host::{MemoryPlace, SystemClock};
use zori_index::{Claim, IndexError};

use bell::{Bell, Woken};
use zori_setup::agent_cx::AgentCx;
use zori_setup::schedule::Jobs;
use zori_setup::workers::{Need, Worker, Workers};

const WORKER: Worker = Worker { name: "scheduler", need: Need::UnlessBare };

/// The name of the lease, how long it holds without a sign of life, and how often one is given.
const LEASE: &str = "scheduler";
const LEASE_SECONDS: i64 = 60;
const HEARTBEAT: Duration = Duration::from_secs(20);
/// How often a run is looked after.
const TICK: Duration = Duration::from_millis(200);
/// How long the end of a session waits for the worker.
const GOODBYE: Duration = Duration::from_millis(250);

/// The worker of an open chat. It waits for the first job, and stops with the chat.
pub struct Scheduler {
    /// Dropped to stop it.
    stop: Option<UnixStream>,
    over: Receiver<()>,
    /// What is to be told of runs.
    pub told: Option<UnboundedReceiver<String>>,
}

impl Scheduler {
    /// Starts it, unless something forbids it. It runs from the first job on that the project has, whoever adds it.
    pub fn start(cx: &AgentCx<'_>, workers: &Workers, Jobs { place, marker }: Jobs) -> Option<Self> {
        let program = cx.app.env.executable().ok()?;
        let (bell, stop) = Bell::new(marker).ok()?;
        let bell = Arc::new(Mutex::new(bell));
        let (told, telling) = unbounded_channel();
        let (ended, over) = channel();
        let runner =
            Runner { program, profile: cx.profile.name, place, talk: Talk::Nowhere, patience: GOODBYE / 2 };
        let waiting = bell.clone();
        let worker = move || {
            let _ended: Sender<()> = ended;
            runner.work(&mut locked(&bell), &told);
        };
        // A thread that cannot be started is a chat without a schedule; `schedule run` says what is due.
        let started = workers.spawn_if_due(WORKER, move || first_job(&mut locked(&waiting)), worker);
        matches!(started, Ok(Some(_))).then_some(Self { stop: Some(stop), over, told: Some(telling) })
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        self.stop = None;
        let _ = self.over.recv_timeout(GOODBYE);
    }
}

fn locked(bell: &Mutex<Bell>) -> MutexGuard<'_, Bell> {
    bell.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for the first job of the project; returns whether there is one.
fn first_job(bell: &mut Bell) -> bool {
    loop {
        if bell.noted() {
            return true;
        }
        if bell.wait(None) == Woken::Stopped {
            return false;
        }
    }
}

/// Where the output of a run goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Talk {
    /// To standard error.
    Stderr,
    /// Nowhere: a screen is there.
    Nowhere,
}

/// Runs jobs of a project.
pub struct Runner {
    pub program: PathBuf,
    pub profile: &'static str,
    pub place: MemoryPlace,
    pub talk: Talk,
    /// How long a run that is asked to end may take.
    pub patience: Duration,
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
            let round = if bell.noted() { self.round(&holder, bell, told) } else { Ok(None) };
            let wait = match round {
                Ok(wait) => {
                    said = false;
                    // Without a job there is nothing to have the lease for.
                    if wait.is_none() && std::mem::take(&mut held) {
                        self.give_back(&holder);
                    }
                    held |= wait.is_some();
                    wait
                }
                Err(error) => {
                    if !std::mem::replace(&mut said, true) {
                        let _ = told.send(format!("Scheduled jobs do not run: {error}; {}", error.way_on()));
                    }
                    Some(HEARTBEAT)
                }
            };
            if bell.wait(wait) == Woken::Stopped {
                break;
            }
        }
        if held {
            self.give_back(&holder);
        }
    }

    fn give_back(&self, holder: &str) {
        if let Ok(mut store) = self.place.open() {
            let _ = store.give_back(LEASE, holder, now());
        }
    }

    /// Runs what is due, if this process has the lease; returns how long to wait, `None` where no job will run. It is never longer than a heartbeat,
    /// so that a clock that is set anew is noticed.
    fn round(
        &self,
        holder: &str,
        bell: &Bell,
        told: &UnboundedSender<String>,
    ) -> Result<Option<Duration>, IndexError> {
        let mut store = self.place.open()?;
        if store.next_due()?.is_none() {
            return Ok(None);
        }
        if !store.lease(LEASE, holder, now(), LEASE_SECONDS)? {
            return Ok(Some(HEARTBEAT));
        }
        while let Some(claim) = store.claim(now())? {
            let mut last = Instant::now();
            let status = self.perform(&claim, || {
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
                return Ok(Some(TICK));
            }
        }
        let next = store.next_due()?.map(|next| Duration::from_secs((next - now()).max(0) as u64));
        Ok(next.map(|next| next.clamp(TICK, HEARTBEAT)))
    }

    /// Runs a job and waits for it; returns how it ended. `wait` waits a little, and says whether the run is to end.
    pub fn perform(&self, claim: &Claim, mut wait: impl FnMut() -> Waited) -> String {
        let mut child = match self.spawn(claim) {
            Ok(child) => child,
            Err(error) => return format!("not started: {error}"),
        };
        loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => return "ok".to_owned(),
                Ok(Some(status)) => {
                    return status.code().map_or_else(|| status.to_string(), |code| format!("exit {code}"));
                }
                Ok(None) => {}
                Err(error) => return format!("not watched: {error}"),
            }
            if matches!(wait(), Waited::Stop) {
                end(&mut child, self.patience);
                return "ended with the runner".to_owned();
            }
        }
    }

    fn spawn(&self, claim: &Claim) -> std::io::Result<Child> {
        let job = &claim.job;
        let (out, err) = match self.talk {
            Talk::Stderr => (Stdio::from(std::io::stderr()), Stdio::inherit()),
            Talk::Nowhere => (Stdio::null(), Stdio::null()),
        };
        let mut run = Process::new(&self.program);
        if self.talk == Talk::Nowhere {
            // Ctrl-C at the terminal is for the chat.
            run.process_group(0);
        }
        run.args(["--as", self.profile, "exec", "--non-interactive", "--permission-mode", &job.mode])
            .arg(format!("--scheduled={}", job.name))
            .args(["--prompt", &job.prompt])
            .current_dir(&self.place.project)
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .spawn()
    }
}

/// Asks a run to end, and waits a little for it. It ends what it started by itself.
fn end(child: &mut Child, patience: Duration) {
    let _ = i32::try_from(child.id()).ok().and_then(Pid::from_raw).map(|pid| kill_process(pid, Signal::TERM));
    let until = Instant::now() + patience;
    while Instant::now() < until && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn now() -> i64 {
    SystemClock::new().now().0
}
