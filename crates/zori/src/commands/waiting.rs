//! Waiting for others in a command that a person may interrupt, or whose time may end.

use zori_contract::cancel::{Cause, Ends};
use zori_contract::failure::Failure;
use zori_setup::wire_up;

use super::Context;

/// Waits for something until it is done. Fails as soon as the run should end: what was begun is dropped where it is.
pub(super) fn wait_for<T>(cx: &Context<'_>, work: impl Future<Output = T>) -> Result<T, Failure> {
    let (stop, stopped) = tokio::sync::oneshot::channel();
    cx.cancel.on_cancel(move |_| {
        // Whoever is done already does not wait for the word.
        let _ = stop.send(());
        Ends::ByItself
    });
    let runtime = wire_up::runtime()?;
    let done = runtime.block_on(async {
        tokio::select! {
            biased;
            Ok(()) = stopped => None,
            done = work => Some(done),
        }
    });
    // A name that is still being looked up must not keep the program from ending.
    runtime.shutdown_background();
    done.ok_or_else(|| cx.cancel.cause().unwrap_or(Cause::Interrupt).failure())
}
