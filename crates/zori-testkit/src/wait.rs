//! Waiting for a condition, with a bound. There is no waiting for a fixed time anywhere in the tests.

use std::fmt::Display;
use std::time::{Duration, Instant};

/// How long a wait may take before the test fails. Far above what any step needs, since test machines are busy.
pub const BOUND: Duration = Duration::from_secs(30);

/// Returns how long this thread has computed. Unlike the time of day it does not grow while others do: a bound on it
/// holds on a busy machine.
///
/// # Panics
///
/// Where the kernel does not tell.
pub fn computing_time() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").expect("the kernel keeps account");
    let nanoseconds = told.split(' ').next().and_then(|number| number.parse().ok());
    Duration::from_nanos(nanoseconds.expect("the first number is of nanoseconds"))
}

/// How often a condition is looked at.
const STEP: Duration = Duration::from_millis(2);

/// Returns what `check` finds, looking again and again until `bound` has passed; then `None`.
pub fn poll<T>(bound: Duration, mut check: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        if let Some(found) = check() {
            return Some(found);
        }
        if start.elapsed() >= bound {
            return None;
        }
        std::thread::sleep(STEP);
    }
}

/// Waits until `check` holds.
///
/// # Panics
///
/// After [`BOUND`], naming what was waited for.
#[track_caller]
pub fn until(what: impl Display, mut check: impl FnMut() -> bool) {
    if poll(BOUND, || check().then_some(())).is_none() {
        panic!("waited {} s in vain for {what}", BOUND.as_secs());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_until_found() {
        let mut looks = 0;
        let found = poll(BOUND, || {
            looks += 1;
            (looks == 3).then_some("found")
        });
        assert_eq!((found, looks), (Some("found"), 3));
    }

    #[test]
    fn gives_up_after_the_bound() {
        assert_eq!(poll(Duration::from_millis(5), || None::<()>), None);
    }
}
