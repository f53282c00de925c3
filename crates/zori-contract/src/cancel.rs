//! Why a run should end before its end, told to all who wait: a signal, or the end of its time.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error;
use crate::exit::Exit;
use crate::failure::Failure;

/// Why a run should end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// SIGINT.
    Interrupt,
    /// SIGTERM, or SIGHUP where the program takes it so.
    Terminate,
    /// The time of the command is over.
    Timeout {
        /// How much it had.
        after_ms: u64,
    },
}

impl Cause {
    /// Returns the exit code it leads to.
    pub fn exit(self) -> Exit {
        match self {
            Self::Interrupt => Exit::Interrupted,
            Self::Terminate => Exit::Terminated,
            Self::Timeout { .. } => Exit::Timeout,
        }
    }

    /// Returns what is said about it.
    pub fn failure(self) -> Failure {
        match self {
            Self::Interrupt => {
                Failure::new(&error::CANCELLED, "the command was interrupted").field("signal", "SIGINT")
            }
            Self::Terminate => Failure::new(&error::TERMINATED, "the command was asked to end")
                .field("reason", "CANCELLED")
                .field("signal", "SIGTERM"),
            Self::Timeout { after_ms } => {
                let time = Duration::from_millis(after_ms);
                let message = format!("the command was not done within {time:?} (`--timeout`)");
                Failure::new(&error::TIMEOUT, message).context("timeout_ms", after_ms)
            }
        }
    }
}

/// Whether a run that was told to end does so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// It tidies up and ends; that may take a moment.
    ByItself,
    /// It waits for something else, and has nothing to lose.
    Never,
}

/// The word that a run should end. Clones hear the same word.
#[derive(Clone, Default)]
pub struct Cancel(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    cause: Option<Cause>,
    /// The command listens, and will end by itself.
    heard: bool,
    /// The command is over.
    over: bool,
    hooks: Vec<Box<dyn FnOnce(Cause) -> Ends + Send>>,
    /// What those who were told said.
    ends: Option<Ends>,
}

impl Cancel {
    /// Says that the run should end. Only the first cause counts.
    pub fn cancel(&self, cause: Cause) {
        let mut state = self.lock();
        if state.cause.is_some() {
            return;
        }
        state.cause = Some(cause);
        let hooks = std::mem::take(&mut state.hooks);
        drop(state);
        let said: Vec<_> = hooks.into_iter().map(|hook| hook(cause)).collect();
        let mut state = self.lock();
        state.ends = match said.contains(&Ends::ByItself) {
            true => Some(Ends::ByItself),
            false => said.first().copied(),
        };
        drop(state);
        self.0.changed.notify_all();
    }

    /// Returns why the run should end, if it should. Asking means: this command ends by itself.
    pub fn cause(&self) -> Option<Cause> {
        let mut state = self.lock();
        state.heard = true;
        state.cause
    }

    /// Fails if the run should end.
    pub fn check(&self) -> Result<(), Failure> {
        self.cause().map_or(Ok(()), |cause| Err(cause.failure()))
    }

    /// Calls the hook when the run should end; at once if it should already. The hook says whether it will.
    pub fn on_cancel(&self, hook: impl FnOnce(Cause) -> Ends + Send + 'static) {
        let mut state = self.lock();
        state.heard = true;
        match state.cause {
            Some(cause) => {
                drop(state);
                let ends = hook(cause);
                self.lock().ends = Some(ends);
            }
            None => state.hooks.push(Box::new(hook)),
        }
    }

    /// Waits, and fails as soon as the run should end.
    pub fn wait(&self, time: Duration) -> Result<(), Failure> {
        let mut state = self.lock();
        state.heard = true;
        let waited = self.0.changed.wait_timeout_while(state, time, |state| state.cause.is_none());
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.cause.map_or(Ok(()), |cause| Err(cause.failure()))
    }

    /// Fails if the run should end before its work has begun. Unlike [`Cancel::check`] it promises nothing of the command.
    pub(crate) fn before_work(&self) -> Result<(), Failure> {
        self.lock().cause.map_or(Ok(()), |cause| Err(cause.failure()))
    }

    /// Says that the command is over, so that nobody ends it from outside.
    pub(crate) fn over(&self) {
        self.lock().over = true;
        self.0.changed.notify_all();
    }

    /// Waits for a cause or for the end of the command, up to `time` (`None`: for ever).
    pub(crate) fn watch(&self, time: Option<Duration>) -> WatchEnd {
        let idle = |state: &mut State| state.cause.is_none() && !state.over;
        let state = self.lock();
        let state = match time {
            Some(time) => {
                self.0.changed.wait_timeout_while(state, time, idle).unwrap_or_else(PoisonError::into_inner).0
            }
            None => self.0.changed.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner),
        };
        match state.cause {
            _ if state.over => WatchEnd::Over,
            Some(cause) => WatchEnd::Cancelled(cause),
            None => WatchEnd::Nothing,
        }
    }

    /// Waits until the command is over; returns whether it is.
    pub(crate) fn wait_over(&self, time: Duration) -> bool {
        let waited = self.0.changed.wait_timeout_while(self.lock(), time, |state| !state.over);
        waited.unwrap_or_else(PoisonError::into_inner).0.over
    }

    /// Returns whether a command that was told to end does so, as far as is known: those who were told say so, or it is
    /// one that listens.
    pub(crate) fn ends(&self) -> Option<Ends> {
        let state = self.lock();
        state.ends.or(state.heard.then_some(Ends::ByItself))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a watcher saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WatchEnd {
    /// The command is over.
    Over,
    /// It should end.
    Cancelled(Cause),
    /// Its time has passed.
    Nothing,
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn the_first_cause_counts() {
        let cancel = Cancel::default();
        let (told, hears) = mpsc::channel();
        cancel.on_cancel({
            let told = told.clone();
            move |cause| {
                told.send(cause).unwrap();
                Ends::Never
            }
        });
        assert_eq!(cancel.cause(), None);
        cancel.cancel(Cause::Terminate);
        cancel.cancel(Cause::Interrupt);
        assert_eq!(cancel.ends(), Some(Ends::Never));
        cancel.on_cancel(move |cause| {
            told.send(cause).unwrap();
            Ends::ByItself
        });
        assert_eq!(cancel.ends(), Some(Ends::ByItself));
        assert_eq!(cancel.cause(), Some(Cause::Terminate));
        assert_eq!(hears.iter().collect::<Vec<_>>(), [Cause::Terminate, Cause::Terminate]);
    }

    #[test]
    fn waiting_ends_with_the_word() {
        let cancel = Cancel::default();
        let other = cancel.clone();
        let waiter = std::thread::spawn(move || other.wait(Duration::from_secs(60)).unwrap_err().kind.code);
        cancel.cancel(Cause::Timeout { after_ms: 5 });
        assert_eq!(waiter.join().unwrap(), "TIMEOUT");
    }
}
