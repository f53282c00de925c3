//! When a worker may work: not while a turn runs, and not after the last session.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// When workers may work. One is shared by all workers of a folder's sessions.
#[derive(Debug, Default)]
pub struct Pace {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    turns: usize,
    over: bool,
}

impl Pace {
    /// Waits until no turn runs. Returns whether to go on; with `false` the worker ends as soon as it can.
    pub fn go_on(&self) -> bool {
        let state = self.changed.wait_while(self.lock(), |state| state.turns > 0 && !state.over);
        !state.unwrap_or_else(PoisonError::into_inner).over
    }

    /// Waits this long and until no turn runs. Returns whether to go on.
    pub fn sleep(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut state = self.lock();
        while !state.over {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(state);
        self.go_on()
    }

    /// Returns whether a turn runs, or all is over.
    #[cfg(test)]
    pub fn is_interrupted(&self) -> bool {
        let state = self.lock();
        state.over || state.turns > 0
    }

    pub(super) fn turn_began(&self) {
        self.lock().turns += 1;
    }

    /// Returns whether it was the only one.
    pub(super) fn turn_ended(&self) -> bool {
        let mut state = self.lock();
        state.turns = state.turns.saturating_sub(1);
        let idle = state.turns == 0;
        drop(state);
        self.changed.notify_all();
        idle
    }

    pub(super) fn end(&self) {
        self.lock().over = true;
        self.changed.notify_all();
    }

    /// Lets work begin again, for a session after the last one.
    pub(super) fn begin(&self) {
        self.lock().over = false;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
