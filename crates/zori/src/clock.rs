//! The real clock and the real source of randomness. Everything else gets them handed in.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use zori_core::ids::{IdSource, SessionId, uuid_v4};
use zori_core::time::{Clock, Timestamp};

/// The machine's clocks.
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// Starts counting.
    pub fn new() -> Self {
        Self { start: Instant::now() }
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

/// The kernel's random numbers.
pub struct SystemIds;

impl IdSource for SystemIds {
    fn session(&self) -> SessionId {
        uuid_v4(random())
    }

    fn random(&self) -> u64 {
        let mut ahead = AHEAD.lock().unwrap_or_else(PoisonError::into_inner);
        if ahead.is_empty() {
            let bytes: [u8; FETCHED] = random();
            ahead.extend(bytes.as_chunks().0.iter().map(|number| u64::from_le_bytes(*number)));
        }
        ahead.pop().unwrap_or_else(|| u64::from_le_bytes(random()))
    }
}

/// Numbers that were fetched ahead. Every line of some protocols has an id of its own, and to ask the kernel for each
/// would take longer than to write the line.
static AHEAD: Mutex<Vec<u64>> = Mutex::new(Vec::new());
/// How many bytes are fetched at once.
const FETCHED: usize = 256;

/// Returns random bytes, good enough for secrets.
pub fn random<const N: usize>() -> [u8; N] {
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
        let many = 4 * FETCHED;
        let numbers: BTreeSet<u64> = (0..many).map(|_| SystemIds.random()).collect();
        assert_eq!(numbers.len(), many);
    }
}
