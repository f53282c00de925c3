//! Decides whether and when a failed request is sent again (NET-6, NET-7). Pure: the caller passes the random number.

pub(crate) mod wait;

use std::time::Duration;

use zori_core::failure::{FailureKind, ProviderFailure};

/// The longest wait a provider may ask for; beyond it the failure is reported instead.
pub(crate) const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(300);
/// The longest wait we choose ourselves.
const LONGEST_BACKOFF: Duration = Duration::from_secs(60);

/// How often failed requests are retried, and after which delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Retries of one request.
    pub per_request: u32,
    /// Retries of one turn, over all its requests.
    pub per_turn: u32,
    /// The first backoff; each further one may be twice as long.
    pub base: Duration,
    /// Whether retries wait at all.
    pub backoff: Backoff,
}

/// Whether retries wait for their delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backoff {
    /// They wait.
    Wait,
    /// They do not wait, because a recording answers.
    Skip,
}

impl Retry {
    /// The numbers of NET-7.
    pub const DEFAULT: Self =
        Self { per_request: 4, per_turn: 8, base: Duration::from_secs(1), backoff: Backoff::Wait };

    fn delay(&self, in_request: u32, failure: &ProviderFailure, random: u64) -> Option<Duration> {
        if let Some(asked) = failure.retry_after {
            return (asked <= LONGEST_RETRY_AFTER).then_some(asked);
        }
        // Full jitter: uniform between nothing and the exponential bound, so that many clients spread out.
        let bound = self.base.saturating_mul(1 << in_request.min(16)).min(LONGEST_BACKOFF);
        let fraction = random as f64 / u64::MAX as f64;
        Some(bound.mul_f64(fraction))
    }
}

/// The retries made so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetryCounts {
    /// Retries of the current request.
    pub request: u32,
    /// Retries of all requests of the turn.
    pub turn: u32,
}

impl RetryCounts {
    /// Counts another retry and returns how long to wait before it, or `None` to give up. `random` is uniform over `u64`.
    pub fn next(&mut self, retry: &Retry, failure: &ProviderFailure, random: u64) -> Option<Duration> {
        if self.request >= retry.per_request || self.turn >= retry.per_turn || !is_transient(failure) {
            return None;
        }
        let delay = retry.delay(self.request, failure, random)?;
        self.request += 1;
        self.turn += 1;
        Some(if retry.backoff == Backoff::Skip { Duration::ZERO } else { delay })
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

    /// Returns the wait after so many retries of the request and of the turn.
    fn next_delay(
        retry: &Retry,
        (request, turn): (u32, u32),
        failure: &ProviderFailure,
        random: u64,
    ) -> Option<Duration> {
        let mut counts = RetryCounts { request, turn };
        let delay = counts.next(retry, failure, random);
        // What is given up is not counted.
        let more = u32::from(delay.is_some());
        assert_eq!(counts, RetryCounts { request: request + more, turn: turn + more });
        delay
    }

    #[test]
    fn which_statuses_are_tried_again() {
        let tried: Vec<u16> = (400..600)
            .filter(|&s| next_delay(&Retry::DEFAULT, (0, 0), &failure(Some(s), None), 0).is_some())
            .collect();
        assert_eq!(tried, [408, 429, 500, 502, 503, 504, 529]);
        let long = ProviderFailure { kind: FailureKind::ContextLength, ..failure(Some(500), None) };
        assert_eq!(next_delay(&Retry::DEFAULT, (0, 0), &long, 0), None);
    }

    #[test]
    fn kinds_without_a_status() {
        let transient =
            |kind| next_delay(&Retry::DEFAULT, (0, 0), &ProviderFailure::new(kind, "x"), 0).is_some();
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
            .map(|n| next_delay(&retry, (n, 0), &failure(None, None), u64::MAX).unwrap().as_secs())
            .collect();
        assert_eq!(bounds, [1, 2, 4, 8, 16, 32, 60, 60]);
    }

    #[test]
    fn jitter_spreads_over_the_whole_bound() {
        let delay = |random| next_delay(&Retry::DEFAULT, (2, 0), &failure(None, None), random).unwrap();
        assert_eq!(delay(0), Duration::ZERO);
        assert_eq!(delay(u64::MAX / 2).as_millis(), 2000);
        assert_eq!(delay(u64::MAX).as_millis(), 4000);
    }

    #[test]
    fn the_provider_may_say_how_long() {
        let delay = |secs| next_delay(&Retry::DEFAULT, (3, 0), &failure(Some(429), Some(secs)), 7);
        assert_eq!(delay(300), Some(Duration::from_secs(300)));
        assert_eq!(delay(301), None);
    }

    #[test]
    fn waits_can_be_skipped() {
        let retry = Retry { backoff: Backoff::Skip, ..Retry::DEFAULT };
        let delay = |asked| next_delay(&retry, (0, 0), &failure(Some(429), asked), u64::MAX);
        assert_eq!(delay(None), Some(Duration::ZERO));
        assert_eq!(delay(Some(30)), Some(Duration::ZERO));
        assert_eq!(delay(Some(301)), None, "what was given up is given up");
    }

    #[test]
    fn limits_per_request_and_per_turn() {
        let retries =
            |request, turn| next_delay(&Retry::DEFAULT, (request, turn), &failure(Some(503), None), 0);
        assert!(retries(3, 7).is_some());
        assert!(retries(4, 4).is_none());
        assert!(retries(0, 8).is_none());
    }
}
