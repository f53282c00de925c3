//! A gate: something waits at it until the test opens it. This is how tests order things without sleeping.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A gate that starts closed and opens once. Clones are the same gate.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    /// Returns a closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets everyone through, now and later.
    pub fn open(&self) {
        let (open, changed) = &*self.0;
        *open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
    }

    pub fn is_open(&self) -> bool {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the gate is open (`true`) or `given_up` says that nobody will open it any more (`false`).
    pub fn pass(&self, given_up: impl Fn() -> bool) -> bool {
        let (open, changed) = &*self.0;
        let mut guard = open.lock().unwrap_or_else(PoisonError::into_inner);
        while !*guard {
            if given_up() {
                return false;
            }
            let waited = changed.wait_timeout(guard, Duration::from_millis(20));
            guard = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_once_for_all_clones() {
        let gate = Gate::new();
        assert!(!gate.pass(|| true));
        let other = gate.clone();
        let waiter = std::thread::spawn(move || other.pass(|| false));
        gate.open();
        assert!(waiter.join().unwrap());
        assert!(gate.is_open());
    }
}
