//! Sending a request again: told as an event, and waited for. Whether and when is `retry.rs`'s to say.

use zori_core::event::EventKind;
use zori_core::failure::ProviderFailure;
use zori_core::render::Sink;

use crate::control::Control;
use crate::engine::Engine;
use crate::turn::Cut;

/// The retries made so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tries {
    /// Of the request under way.
    pub(crate) request: u32,
    /// Of all requests that are counted together with it.
    pub(crate) turn: u32,
}

impl<S: Sink + 'static> Engine<S> {
    /// Waits until a request that failed may be sent again. The failure is the answer where it may not.
    pub(crate) async fn try_again(
        &mut self,
        tries: &mut Tries,
        failure: ProviderFailure,
        control: &mut Control<'_>,
    ) -> Result<(), Cut> {
        let retry = self.shared.settings.retry;
        let delay = retry.next_delay(tries.request, tries.turn, &failure, self.shared.ids.random());
        let Some(delay) = delay else { return Err(Cut::Failed(failure)) };
        tries.request += 1;
        tries.turn += 1;
        let (attempt, max) = (tries.request, retry.per_request);
        self.shared.emitter.emit(EventKind::Retrying { attempt, max, delay, failure });
        self.shared.emitter.idle();
        Ok(control.until(tokio::time::sleep(delay)).await?)
    }
}
