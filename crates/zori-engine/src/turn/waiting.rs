//! Tells the user of a wait for the provider that takes long, once for each wait, and how long it may take.

use std::pin::Pin;
use std::task::Context;
use std::time::Duration;

use tokio::time::Sleep;
use zori_core::event::{Notice, NoticeLevel};
use zori_core::render::Sink;

use crate::emitter::Emitter;

/// From here on a wait is told.
const LONG: Duration = Duration::from_secs(5);

/// A wait for the provider.
pub(super) struct ProviderWait {
    timer: Option<Pin<Box<Sleep>>>,
    limit: Option<Duration>,
    told: bool,
}

impl ProviderWait {
    /// Begins a wait that is given up after `limit`. Nothing is set before it is polled.
    pub(super) fn new(limit: Option<Duration>) -> Self {
        Self { timer: None, limit, told: false }
    }

    /// Emits the notice when it is due. Call it whenever the wait goes on.
    pub(super) fn poll<S: Sink>(&mut self, cx: &mut Context<'_>, emitter: &mut Emitter<S>) {
        if self.told {
            return;
        }
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(LONG)));
        if timer.as_mut().poll(cx).is_pending() {
            return;
        }
        self.told = true;
        let text = format!("Waiting for the model; {}", allowed(self.limit));
        emitter.emit(Notice { level: NoticeLevel::Info, code: "waiting", text });
        emitter.idle();
    }
}

fn allowed(limit: Option<Duration>) -> String {
    match limit {
        Some(limit) => format!("it may take up to {} s without a word", limit.as_secs_f64().ceil()),
        None => "it may take as long as it likes".to_owned(),
    }
}
