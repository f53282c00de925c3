//! The real clock and the real source of randomness. Everything else gets them handed in.

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
        let mut bytes = [0; 16];
        fill(&mut bytes);
        uuid_v4(bytes)
    }

    fn random(&self) -> u64 {
        let mut bytes = [0; 8];
        fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }
}

fn fill(bytes: &mut [u8]) {
    let got = rustix::rand::getrandom(&mut *bytes, rustix::rand::GetRandomFlags::empty());
    assert_eq!(got, Ok(bytes.len()), "the kernel has random numbers");
}
