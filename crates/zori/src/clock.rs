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
        uuid_v4(random())
    }

    fn random(&self) -> u64 {
        u64::from_le_bytes(random())
    }
}

/// Returns random bytes, good enough for secrets.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    let got = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    assert_eq!(got, Ok(N), "the kernel has random numbers");
    bytes
}
