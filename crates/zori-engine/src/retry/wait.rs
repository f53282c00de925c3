//! Waits before a request is sent again, and emits the event. `retry.rs` decides whether and when.

use std::time::Duration;

use zori_core::event::MessageEvent;
use zori_core::failure::ProviderFailure;
use zori_core::render::Sink;

use crate::control::Control;
use crate::engine::Engine;
use crate::retry::{LONGEST_RETRY_AFTER, RetryCounts};
use crate::turn::TurnAbort;

impl<S: Sink + 'static> Engine<S> {
    /// Waits until a failed request may be sent again. Returns the failure if it may not.
    pub(crate) async fn wait_for_retry(
        &mut self,
        retries: &mut RetryCounts,
        failure: ProviderFailure,
        control: &mut Control<'_>,
    ) -> Result<(), TurnAbort> {
        let retry = self.shared.settings.retry;
        let delay = retries.next(&retry, &failure, self.shared.ids.random());
        let Some(delay) = delay else { return Err(TurnAbort::Failed(too_long_a_wait(failure))) };
        let (attempt, max) = (retries.request, retry.per_request);
        self.shared.emitter.emit(MessageEvent::Retrying { attempt, max, delay, failure });
        self.shared.emitter.idle();
        Ok(control.until(tokio::time::sleep(delay)).await?)
    }
}

/// Adds how long the provider wants us to wait, where that is why we do not.
fn too_long_a_wait(failure: ProviderFailure) -> ProviderFailure {
    match failure.retry_after {
        Some(wait) if wait > LONGEST_RETRY_AFTER => {
            let message = format!(
                "{}; the provider asks to wait {}, which is longer than the {} that are waited",
                failure.message,
                span(wait),
                span(LONGEST_RETRY_AFTER)
            );
            ProviderFailure { message, ..failure }
        }
        _ => failure,
    }
}

/// Returns a time in the largest units that say enough: `2 h 5 min`, `7 min`, `42 s`.
fn span(time: Duration) -> String {
    let secs = time.as_secs();
    match (secs / 86_400, secs / 3_600, secs / 60) {
        (days, ..) if days > 36_500 => "more than 100 years".to_owned(),
        (days, ..) if days > 1 => format!("{days} days"),
        (_, hours, minutes) if hours > 0 => format!("{hours} h {} min", minutes % 60),
        (_, _, minutes) if minutes > 0 && secs.is_multiple_of(60) => format!("{minutes} min"),
        (_, _, minutes) if minutes > 0 => format!("{minutes} min {} s", secs % 60),
        _ => format!("{secs} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans() {
        let spans =
            [0, 42, 60, 301, 7_500, 90_000, 999_999, u64::MAX].map(|secs| span(Duration::from_secs(secs)));
        assert_eq!(
            spans,
            [
                "0 s",
                "42 s",
                "1 min",
                "5 min 1 s",
                "2 h 5 min",
                "25 h 0 min",
                "11 days",
                "more than 100 years"
            ]
        );
    }
}
