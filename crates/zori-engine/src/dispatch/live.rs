//! Output of running tools on its way to whoever watches.

use std::sync::{Arc, Mutex};

use zori_core::ids::CallId;
use zori_core::tool::{LiveOutput, OutputStream};

/// Output of running tools that was not told yet. Tools push while they are polled, so it is emptied right
/// after each poll and stays small.
#[derive(Default)]
pub(super) struct LiveQueue(Arc<Mutex<Vec<(CallId, OutputStream, String)>>>);

struct LiveCall {
    call: CallId,
    queue: Arc<Mutex<Vec<(CallId, OutputStream, String)>>>,
}

impl LiveQueue {
    pub(super) fn of(&self, call: &CallId) -> Arc<dyn LiveOutput> {
        Arc::new(LiveCall { call: call.clone(), queue: self.0.clone() })
    }

    pub(super) fn take(&self) -> Vec<(CallId, OutputStream, String)> {
        std::mem::take(&mut *self.0.lock().expect("pushing text does not panic"))
    }
}

impl LiveOutput for LiveCall {
    fn push(&self, stream: OutputStream, text: &str) {
        let mut queue = self.queue.lock().expect("pushing text does not panic");
        match queue.last_mut() {
            Some((call, last, pending)) if *call == self.call && *last == stream => pending.push_str(text),
            _ => queue.push((self.call.clone(), stream, text.to_owned())),
        }
    }
}
