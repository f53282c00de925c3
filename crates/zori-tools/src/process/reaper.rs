//! Ends the processes that a dropped call left behind, and at the end of the run all others.
//!
//! Its thread exists only while something is being ended. It counts ticks instead of reading a clock.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::KeepAlive;
use super::child::Child;
use super::group::Group;
use super::pids::PidFile;
use super::strays::{self, Stray};
use super::watchdog::{GroupTable, Watchdog};

/// How often groups are looked at.
const TICK: Duration = Duration::from_millis(10);
/// How long a group is awaited after SIGKILL. Longer takes only what hangs in the kernel.
const AFTER_KILL: Duration = Duration::from_secs(1);

/// How often orphans of what has ended are looked for at the end of a run.
const MAX_ROUNDS: u32 = 8;

/// Ends process groups.
pub struct Reaper {
    pids: PidFile,
    state: Mutex<State>,
    idle: Condvar,
}

#[derive(Default)]
struct State {
    watchdog: WatchdogState,
    /// Groups that go on in the background although their call is over.
    background: Vec<Group>,
    /// What left the group of its command and goes on.
    strays: Vec<Stray>,
    ending: Vec<Ending>,
    /// Whether the thread is there.
    thread: bool,
}

#[derive(Default)]
enum WatchdogState {
    /// Nothing was started yet.
    #[default]
    NotYet,
    On(Watchdog),
    /// It could not be started, or has been stopped.
    Off,
}

/// What was asked to end.
struct Ending {
    child: Option<Child>,
    target: Target,
    left: Duration,
    killed: bool,
    /// Dropped when it has ended.
    hold: Option<KeepAlive>,
}

enum Target {
    Group(Group),
    Stray(Stray),
}

impl Reaper {
    /// Makes a reaper that lists the live groups in this file.
    pub fn new(pids: PidFile) -> Self {
        Self { pids, state: Mutex::default(), idle: Condvar::new() }
    }

    /// Returns the file that lists the live groups, if there ever were any.
    pub fn pid_file(&self) -> Option<PathBuf> {
        self.pids.path()
    }

    /// Returns where a child that is about to start enters its group; the first one starts the watchdog.
    pub fn table(&self) -> Option<GroupTable> {
        let mut state = self.lock();
        if matches!(state.watchdog, WatchdogState::NotYet) {
            strays::adopt_orphans();
            let watchdog = strays::start(Watchdog::start, |watchdog| Some(watchdog.pid()));
            state.watchdog = watchdog.map_or(WatchdogState::Off, WatchdogState::On);
        }
        match &state.watchdog {
            WatchdogState::On(watchdog) => Some(watchdog.table()),
            WatchdogState::NotYet | WatchdogState::Off => None,
        }
    }

    /// Forgets a child that entered itself and then did not start.
    pub fn not_started(&self) {
        if let WatchdogState::On(watchdog) = &self.lock().watchdog {
            watchdog.remove_missing();
        }
    }

    /// Registers a group that was just started.
    pub fn watch(&self, group: Group) {
        let state = self.lock();
        if let WatchdogState::On(watchdog) = &state.watchdog {
            watchdog.add(group);
        }
        drop(state);
        self.pids.add(group);
    }

    /// Registers that a group's call is over. What it left running continues until the end of the run.
    pub fn finished(&self, group: Group) {
        let mut state = self.lock();
        // Those that ended by themselves meanwhile are forgotten, lest their number is given to somebody else.
        state.background.push(group);
        state.background.iter().for_each(|group| group.reap_orphans());
        let ended: Vec<Group> = state.background.extract_if(.., |group| !group.exists()).collect();
        for group in ended {
            self.forget(&state, group);
        }
    }

    /// Looks after what left the group of its command, until the end of the run.
    pub fn claim_strays(&self) {
        let new = strays::new_strays();
        let mut state = self.lock();
        self.claim(&mut state, new);
        self.forget_dead_strays(&mut state);
    }

    /// Returns what left the group of its command and goes on.
    pub fn strays(&self) -> Vec<Stray> {
        if matches!(self.lock().watchdog, WatchdogState::NotYet) {
            // Nothing was started, so nothing can have strayed.
            return Vec::new();
        }
        self.claim_strays();
        let mut state = self.lock();
        state.strays.iter_mut().for_each(Stray::refresh_name);
        state.strays.clone()
    }

    /// Reaps strays that have ended. Their numbers are theirs until then, so the watchdog never signals somebody else.
    fn forget_dead_strays(&self, state: &mut State) {
        let dead: Vec<Stray> = state.strays.extract_if(.., |stray| !stray.alive()).collect();
        for stray in dead {
            self.unwatch(state, &stray);
        }
    }

    fn unwatch(&self, state: &State, stray: &Stray) {
        if let (WatchdogState::On(watchdog), Some(group)) = (&state.watchdog, Group::new(stray.pid)) {
            watchdog.remove(group);
        }
    }

    /// Ends what left the group of a command that was ended. Where other commands run, only what stayed in its session is
    /// known to be its own.
    pub fn end_strays(self: &Arc<Self>, group: Group) {
        let mut state = self.lock();
        self.end_strays_of(&mut state, group.id());
        self.start_thread(&mut state);
    }

    fn end_strays_of(&self, state: &mut State, session: i32) {
        let known: Vec<i32> = self.watchdog_pid(state).into_iter().chain([session]).collect();
        let alone = !strays::others_run(&known);
        let (own, others): (Vec<_>, Vec<_>) =
            strays::new_strays().into_iter().partition(|stray| alone || stray.session == session);
        // The others are for whoever started them to end; their call looks for them when it is over.
        others.iter().for_each(|stray| strays::release(stray.pid));
        for stray in own {
            stray.terminate();
            state.ending.push(Ending::new(None, Target::Stray(stray), super::GRACE, None));
        }
    }

    fn claim(&self, state: &mut State, new: Vec<Stray>) {
        for stray in new {
            // A leader of a group is a group like any other to whoever outlives us.
            if let (WatchdogState::On(watchdog), Some(group)) = (&state.watchdog, Group::new(stray.pid))
                && stray.group == stray.pid
            {
                watchdog.add(group);
            }
            state.strays.push(stray);
        }
    }

    fn watchdog_pid(&self, state: &State) -> Option<i32> {
        match &state.watchdog {
            WatchdogState::On(watchdog) => Some(watchdog.pid()),
            WatchdogState::NotYet | WatchdogState::Off => None,
        }
    }

    /// Takes over a group that was asked to end: after `grace` it is killed.
    pub fn take_over(self: &Arc<Self>, child: Child, group: Group, grace: Duration, hold: Option<KeepAlive>) {
        let mut state = self.lock();
        state.ending.push(Ending::new(Some(child), Target::Group(group), grace, hold));
        self.start_thread(&mut state);
    }

    /// Ends everything, and waits until it has ended.
    pub fn shutdown(self: &Arc<Self>, grace: Duration) {
        let mut state = self.lock();
        for group in std::mem::take(&mut state.background) {
            group.terminate();
            state.ending.push(Ending::new(None, Target::Group(group), grace, None));
        }
        // What a stray has started is an orphan when it ends, and so on.
        let rounds = if matches!(state.watchdog, WatchdogState::NotYet) { 0 } else { MAX_ROUNDS };
        for round in 0..rounds {
            let new = strays::new_strays();
            self.claim(&mut state, new);
            for stray in std::mem::take(&mut state.strays) {
                stray.terminate();
                let left = if round == 0 { grace } else { Duration::ZERO };
                state.ending.push(Ending::new(None, Target::Stray(stray), left, None));
            }
            if state.ending.is_empty() {
                break;
            }
            self.start_thread(&mut state);
            while !state.ending.is_empty() {
                state = self.idle.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
        let watchdog = std::mem::replace(&mut state.watchdog, WatchdogState::Off);
        drop(state);
        if let WatchdogState::On(watchdog) = watchdog {
            let pid = watchdog.pid();
            watchdog.stop();
            strays::ended(pid);
        }
    }

    fn start_thread(self: &Arc<Self>, state: &mut State) {
        if state.thread || state.ending.is_empty() {
            return;
        }
        let reaper = self.clone();
        let spawned = thread::Builder::new().name("zori-keeper".into()).spawn(move || reaper.work());
        match spawned {
            Ok(_) => state.thread = true,
            // Without a thread there is no grace.
            Err(_) => state.ending.drain(..).for_each(|ending| ending.target.kill()),
        }
    }

    fn work(&self) {
        let mut state = self.lock();
        loop {
            let ended: Vec<Ending> = state.ending.extract_if(.., Ending::tick).collect();
            for ending in ended {
                match ending.target {
                    Target::Group(group) => {
                        self.end_strays_of(&mut state, group.id());
                        self.forget(&state, group);
                    }
                    Target::Stray(stray) => {
                        // What it had started is an orphan only now.
                        self.end_strays_of(&mut state, stray.session);
                        self.unwatch(&state, &stray);
                    }
                }
                drop(ending.hold);
            }
            if state.ending.is_empty() {
                state.thread = false;
                self.idle.notify_all();
                return;
            }
            drop(state);
            thread::sleep(TICK);
            state = self.lock();
        }
    }

    fn forget(&self, state: &State, group: Group) {
        if let WatchdogState::On(watchdog) = &state.watchdog {
            watchdog.remove(group);
        }
        strays::ended(group.id());
        self.pids.remove(group);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Target {
    fn alive(&self) -> bool {
        match self {
            Self::Group(group) => group.alive(),
            Self::Stray(stray) => stray.alive(),
        }
    }

    fn kill(&self) {
        match self {
            Self::Group(group) => group.kill(),
            Self::Stray(stray) => stray.kill(),
        }
    }
}

impl Ending {
    fn new(child: Option<Child>, target: Target, left: Duration, hold: Option<KeepAlive>) -> Self {
        Self { child, target, left, killed: false, hold }
    }

    /// Advances by one tick; returns whether it has ended.
    fn tick(&mut self) -> bool {
        // An error means that somebody else has reaped it.
        if self.child.as_mut().is_some_and(|child| !matches!(child.try_wait(), Ok(None))) {
            self.child = None;
        }
        if let (None, Target::Group(group)) = (&self.child, &self.target) {
            group.reap_orphans();
        }
        if self.child.is_none() && !self.target.alive() {
            return true;
        }
        if self.left.is_zero() {
            if self.killed {
                return true;
            }
            self.target.kill();
            self.killed = true;
            self.left = AFTER_KILL;
        } else {
            self.left = self.left.saturating_sub(TICK);
        }
        false
    }
}
