//! The clock and the random numbers of this machine, for embedders that have no others.
//!
//! This is the only file of the libraries that reads them. Everything else takes a [`Clock`] and an [`IdSource`], so that
//! tests can fix them.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use zori_core::ids::{IdSource, SessionId, uuid_v4};
use zori_core::time::{Clock, Timestamp};

/// The machine's wall clock and monotonic clock.
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// Creates a clock whose elapsed time starts now.
    pub fn new() -> Self {
        Self { start: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // A clock set before 1970 counts as 1970; only time stamps depend on it.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(since.as_secs() as i64)
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}

/// Makes ids from the kernel's random numbers.
#[derive(Default)]
pub struct SystemIds {
    /// Numbers fetched ahead. Every line of some protocols has an id of its own, and a system call for each would take
    /// longer than writing the line.
    buffer: Mutex<Vec<u64>>,
}

impl IdSource for SystemIds {
    fn session(&self) -> SessionId {
        session_id()
    }

    fn random(&self) -> u64 {
        let mut buffer = self.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        if buffer.is_empty() {
            let bytes: [u8; BUFFER_BYTES] = random_bytes();
            buffer.extend(bytes.as_chunks().0.iter().map(|number| u64::from_le_bytes(*number)));
        }
        buffer.pop().unwrap_or_else(random_number)
    }
}

/// How many bytes are fetched at once.
const BUFFER_BYTES: usize = 256;

/// Returns the id of a new session.
pub fn session_id() -> SessionId {
    uuid_v4(random_bytes())
}

/// Returns a random number of the kernel.
pub fn random_number() -> u64 {
    u64::from_le_bytes(random_bytes())
}

/// Returns random bytes of the kernel, good enough for secrets.
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    let got = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    assert_eq!(got, Ok(N), "the kernel has random numbers");
    bytes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_number_comes_twice() {
        let many = 4 * BUFFER_BYTES;
        let ids = SystemIds::default();
        let numbers: BTreeSet<u64> = (0..many).map(|_| ids.random()).collect();
        assert_eq!(numbers.len(), many);
    }
}
