//! How long forms were open: the time of a call stands still meanwhile (MCP-51).

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Adds up how long forms were open. One is at a time.
#[derive(Default)]
pub struct FormClock(Mutex<State>);

#[derive(Default)]
struct State {
    before: Duration,
    since: Option<Instant>,
}

impl FormClock {
    /// Returns one for which forms were open for so long.
    #[cfg(test)]
    pub fn after(before: Duration) -> Self {
        Self(Mutex::new(State { before, since: None }))
    }

    /// Counts from now on, until what is returned is dropped.
    pub fn open(&self) -> OpenForm<'_> {
        self.lock().since = Some(Instant::now());
        OpenForm(self)
    }

    /// Returns how long forms were open so far.
    pub fn total(&self) -> Duration {
        let state = self.lock();
        state.before + state.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    pub fn is_open(&self) -> bool {
        self.lock().since.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub struct OpenForm<'c>(&'c FormClock);

impl Drop for OpenForm<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        let open = state.since.take().map_or(Duration::ZERO, |since| since.elapsed());
        state.before += open;
    }
}
