//! Ends what a dropped call left behind, and at the end of the run what is left at all.
//!
//! Its thread exists only while something is being ended. It counts ticks instead of reading a clock.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::process::Child;

use super::Hold;
use super::group::Group;
use super::guard::Guard;
use super::pids::PidFile;

/// How often groups are looked at.
const TICK: Duration = Duration::from_millis(10);
/// How long a group is awaited after SIGKILL. Longer takes only what hangs in the kernel.
const AFTER_KILL: Duration = Duration::from_secs(1);

/// Looks after groups.
pub struct Keeper {
    pids: PidFile,
    state: Mutex<State>,
    idle: Condvar,
}

#[derive(Default)]
struct State {
    guard: Guarding,
    /// Groups that go on in the background although their call is over.
    background: Vec<Group>,
    dying: Vec<Dying>,
    /// Whether the thread is there.
    thread: bool,
}

#[derive(Default)]
enum Guarding {
    /// Nothing was started yet.
    #[default]
    NotYet,
    On(Guard),
    /// It could not be started, or has been stopped.
    Off,
}

/// A group that was asked to end.
struct Dying {
    child: Option<Child>,
    group: Group,
    left: Duration,
    killed: bool,
    /// Dropped when the group has ended.
    hold: Option<Hold>,
}

impl Keeper {
    /// A keeper with nothing to do, who writes down in this file who lives.
    pub fn new(pids: PidFile) -> Self {
        Self { pids, state: Mutex::default(), idle: Condvar::new() }
    }

    /// Returns the file that names those who live, if there ever were any.
    pub fn pid_file(&self) -> Option<PathBuf> {
        self.pids.path()
    }

    /// Takes note of a group that was just started; the first one brings the guard.
    pub fn watch(&self, group: Group) {
        let mut state = self.lock();
        if matches!(state.guard, Guarding::NotYet) {
            state.guard = Guard::start().map_or(Guarding::Off, Guarding::On);
        }
        if let Guarding::On(guard) = &state.guard {
            guard.add(group);
        }
        drop(state);
        self.pids.add(group);
    }

    /// Takes note that a group's call is over. What it left running goes on until the end of the run.
    pub fn finished(&self, group: Group) {
        let mut state = self.lock();
        // Those that ended by themselves meanwhile are forgotten, lest their number is given to somebody else.
        state.background.push(group);
        let ended: Vec<Group> = state.background.extract_if(.., |group| !group.exists()).collect();
        for group in ended {
            self.forget(&state, group);
        }
    }

    /// Takes over a group that was asked to end: after `grace` it is made to.
    pub fn take_over(self: &Arc<Self>, child: Child, group: Group, grace: Duration, hold: Option<Hold>) {
        let mut state = self.lock();
        state.dying.push(Dying { child: Some(child), group, left: grace, killed: false, hold });
        self.start_thread(&mut state);
    }

    /// Ends everything, and waits until it has ended.
    pub fn shutdown(self: &Arc<Self>, grace: Duration) {
        let mut state = self.lock();
        for group in std::mem::take(&mut state.background) {
            group.terminate();
            state.dying.push(Dying { child: None, group, left: grace, killed: false, hold: None });
        }
        self.start_thread(&mut state);
        while !state.dying.is_empty() {
            state = self.idle.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let guard = std::mem::replace(&mut state.guard, Guarding::Off);
        drop(state);
        if let Guarding::On(guard) = guard {
            guard.stop();
        }
    }

    fn start_thread(self: &Arc<Self>, state: &mut State) {
        if state.thread || state.dying.is_empty() {
            return;
        }
        let keeper = self.clone();
        let spawned = thread::Builder::new().name("zori-keeper".into()).spawn(move || keeper.work());
        match spawned {
            Ok(_) => state.thread = true,
            // Without a thread there is no grace.
            Err(_) => state.dying.drain(..).for_each(|dying| dying.group.kill()),
        }
    }

    fn work(&self) {
        let mut state = self.lock();
        loop {
            let ended: Vec<Dying> = state.dying.extract_if(.., Dying::tick).collect();
            for dying in ended {
                self.forget(&state, dying.group);
                drop(dying.hold);
            }
            if state.dying.is_empty() {
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
        if let Guarding::On(guard) = &state.guard {
            guard.remove(group);
        }
        self.pids.remove(group);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Dying {
    /// Goes one step on; returns whether there is nothing left to do.
    fn tick(&mut self) -> bool {
        // An error means that somebody else has reaped it.
        if self.child.as_mut().is_some_and(|child| !matches!(child.try_wait(), Ok(None))) {
            self.child = None;
        }
        if self.child.is_none() && !self.group.alive() {
            return true;
        }
        if self.left.is_zero() {
            if self.killed {
                return true;
            }
            self.group.kill();
            self.killed = true;
            self.left = AFTER_KILL;
        } else {
            self.left = self.left.saturating_sub(TICK);
        }
        false
    }
}
