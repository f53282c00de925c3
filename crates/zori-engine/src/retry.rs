//! Whether and when a failed request is sent again (NET-6, NET-7). Pure: the random number is handed in.

use std::time::Duration;

use zori_core::failure::{FailureKind, ProviderFailure};

/// The longest wait a provider may ask for; beyond it the failure is reported instead.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(300);
/// The longest wait we choose ourselves.
const LONGEST_BACKOFF: Duration = Duration::from_secs(60);

/// How often and how patiently requests are repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Retries of one request.
    pub per_request: u32,
    /// Retries of one turn, over all its requests.
    pub per_turn: u32,
    /// The first backoff; each further one may be twice as long.
    pub base: Duration,
    /// Whether there is anything to wait for.
    pub waits: Waits,
}

/// Whether retries wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// As long as they have to.
    Kept,
    /// Not at all: what answers is a recording.
    Skipped,
}

impl Retry {
    /// The numbers of NET-7.
    pub const DEFAULT: Self =
        Self { per_request: 4, per_turn: 8, base: Duration::from_secs(1), waits: Waits::Kept };

    /// Returns how long to wait before the next try, or `None` to give up. `in_request` and `in_turn` count the
    /// retries made so far; `random` is uniform over `u64`.
    pub fn next_delay(
        &self,
        in_request: u32,
        in_turn: u32,
        failure: &ProviderFailure,
        random: u64,
    ) -> Option<Duration> {
        if in_request >= self.per_request || in_turn >= self.per_turn || !is_transient(failure) {
            return None;
        }
        let delay = self.backoff(in_request, failure, random)?;
        Some(if self.waits == Waits::Skipped { Duration::ZERO } else { delay })
    }

    fn backoff(&self, in_request: u32, failure: &ProviderFailure, random: u64) -> Option<Duration> {
        if let Some(asked) = failure.retry_after {
            return (asked <= LONGEST_RETRY_AFTER).then_some(asked);
        }
        // Full jitter: uniform between nothing and the exponential bound, so that many clients spread out.
        let bound = self.base.saturating_mul(1 << in_request.min(16)).min(LONGEST_BACKOFF);
        let fraction = random as f64 / u64::MAX as f64;
        Some(bound.mul_f64(fraction))
    }
}

fn is_transient(failure: &ProviderFailure) -> bool {
    match failure.status {
        // The same conversation will be as long the next time, whatever status a server has for that.
        _ if failure.kind == FailureKind::ContextLength => false,
        Some(status) => matches!(status, 408 | 429 | 500 | 502 | 503 | 504 | 529),
        None => matches!(failure.kind, FailureKind::Timeout | FailureKind::Transport),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(status: Option<u16>, retry_after: Option<u64>) -> ProviderFailure {
        let kind = if status.is_some() { FailureKind::HttpStatus } else { FailureKind::Timeout };
        let retry_after = retry_after.map(Duration::from_secs);
        ProviderFailure { status, retry_after, ..ProviderFailure::new(kind, "x") }
    }

    #[test]
    fn which_statuses_are_tried_again() {
        let tried: Vec<u16> = (400..600)
            .filter(|&s| Retry::DEFAULT.next_delay(0, 0, &failure(Some(s), None), 0).is_some())
            .collect();
        assert_eq!(tried, [408, 429, 500, 502, 503, 504, 529]);
        let long = ProviderFailure { kind: FailureKind::ContextLength, ..failure(Some(500), None) };
        assert_eq!(Retry::DEFAULT.next_delay(0, 0, &long, 0), None);
    }

    #[test]
    fn kinds_without_a_status() {
        let transient = |kind| Retry::DEFAULT.next_delay(0, 0, &ProviderFailure::new(kind, "x"), 0).is_some();
        assert!(transient(FailureKind::Timeout));
        assert!(transient(FailureKind::Transport));
        assert!(!transient(FailureKind::Parse));
        assert!(!transient(FailureKind::ApiError));
        assert!(!transient(FailureKind::Auth));
        assert!(!transient(FailureKind::Internal));
    }

    #[test]
    fn the_bound_doubles_and_is_capped() {
        let retry = Retry { per_request: 20, per_turn: 20, ..Retry::DEFAULT };
        let bounds: Vec<u64> = (0..8)
            .map(|n| retry.next_delay(n, 0, &failure(None, None), u64::MAX).unwrap().as_secs())
            .collect();
        assert_eq!(bounds, [1, 2, 4, 8, 16, 32, 60, 60]);
    }

    #[test]
    fn jitter_spreads_over_the_whole_bound() {
        let delay = |random| Retry::DEFAULT.next_delay(2, 0, &failure(None, None), random).unwrap();
        assert_eq!(delay(0), Duration::ZERO);
        assert_eq!(delay(u64::MAX / 2).as_millis(), 2000);
        assert_eq!(delay(u64::MAX).as_millis(), 4000);
    }

    #[test]
    fn the_provider_may_say_how_long() {
        let delay = |secs| Retry::DEFAULT.next_delay(3, 0, &failure(Some(429), Some(secs)), 7);
        assert_eq!(delay(300), Some(Duration::from_secs(300)));
        assert_eq!(delay(301), None);
    }

    #[test]
    fn waits_can_be_skipped() {
        let retry = Retry { waits: Waits::Skipped, ..Retry::DEFAULT };
        let delay = |asked| retry.next_delay(0, 0, &failure(Some(429), asked), u64::MAX);
        assert_eq!(delay(None), Some(Duration::ZERO));
        assert_eq!(delay(Some(30)), Some(Duration::ZERO));
        assert_eq!(delay(Some(301)), None, "what was given up is given up");
    }

    #[test]
    fn limits_per_request_and_per_turn() {
        let retries = |request, turn| Retry::DEFAULT.next_delay(request, turn, &failure(Some(503), None), 0);
        assert!(retries(3, 7).is_some());
        assert!(retries(4, 4).is_none());
        assert!(retries(0, 8).is_none());
    }
}
