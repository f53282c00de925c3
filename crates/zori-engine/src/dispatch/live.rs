//! Streams the output of running tools: the first of it at once, the rest a few times a second.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Sleep, sleep};
use zori_core::ids::CallId;
use zori_core::tool::{LiveOutput, OutputStream};

/// The time between two events. Nobody reads faster, and each event costs a line to a client.
const INTERVAL: Duration = Duration::from_millis(100);
/// The most output of a call that is kept until the next event; older output is dropped (L-12). The result has it all.
const MAX_PENDING_BYTES: usize = 64 << 10;

/// Output of one call on one stream.
pub(super) type OutputChunk = (CallId, OutputStream, String);

/// Output of running tools that no event has carried yet. Tools push while they are polled and the queue is polled right
/// after them, so it needs no waker.
#[derive(Default)]
pub(super) struct LiveQueue {
    chunks: Arc<Mutex<Vec<OutputChunk>>>,
    /// Runs after each event; the next one waits for it.
    pause: Option<Pin<Box<Sleep>>>,
}

struct CallOutput {
    call: CallId,
    chunks: Arc<Mutex<Vec<OutputChunk>>>,
}

impl LiveQueue {
    pub(super) fn output_of(&self, call: &CallId) -> Arc<dyn LiveOutput> {
        Arc::new(CallOutput { call: call.clone(), chunks: self.chunks.clone() })
    }

    /// Returns the pending output, once there is some and the interval has passed.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Vec<OutputChunk>> {
        if lock(&self.chunks).is_empty() {
            return Poll::Pending;
        }
        if let Some(pause) = &mut self.pause {
            ready!(pause.as_mut().poll(cx));
        }
        self.pause = Some(Box::pin(sleep(INTERVAL)));
        Poll::Ready(std::mem::take(&mut *lock(&self.chunks)))
    }

    /// Drops the pending output of a finished call, whose result contains it.
    pub(super) fn forget(&self, call: &CallId) {
        lock(&self.chunks).retain(|(of, ..)| of != call);
    }
}

impl LiveOutput for CallOutput {
    fn push(&self, stream: OutputStream, text: &str) {
        let mut chunks = lock(&self.chunks);
        match chunks.last_mut() {
            Some((call, last, pending)) if *call == self.call && *last == stream => pending.push_str(text),
            _ => chunks.push((self.call.clone(), stream, text.to_owned())),
        }
        drop_oldest(&mut chunks, &self.call);
    }
}

/// Drops the oldest lines of a call with too much pending output.
fn drop_oldest(chunks: &mut Vec<OutputChunk>, call: &CallId) {
    let mut over = chunks.iter().filter(|(of, ..)| of == call).map(|(.., text)| text.len()).sum::<usize>();
    over = over.saturating_sub(MAX_PENDING_BYTES);
    chunks.retain_mut(|(of, _, text)| {
        if over == 0 || of != call {
            return true;
        }
        let least = text.ceil_char_boundary(over.min(text.len()));
        let cut = text[least..].find('\n').map_or(least, |newline| least + newline + 1);
        over = over.saturating_sub(cut);
        text.drain(..cut);
        !text.is_empty()
    });
}

fn lock(chunks: &Mutex<Vec<OutputChunk>>) -> MutexGuard<'_, Vec<OutputChunk>> {
    chunks.lock().expect("pushing text does not panic")
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    fn text(chunks: &[OutputChunk]) -> String {
        chunks.iter().map(|(call, _, text)| format!("{}:{text}", call.as_str())).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn at_once_and_then_a_few_times_a_second() {
        let mut queue = LiveQueue::default();
        let call = CallId::new("a");
        let live = queue.output_of(&call);
        let began = tokio::time::Instant::now();
        live.push(OutputStream::Stdout, "1\n");
        assert_eq!(text(&poll_fn(|cx| queue.poll(cx)).await), "a:1\n");
        assert_eq!(began.elapsed(), Duration::ZERO);
        live.push(OutputStream::Stdout, "2\n");
        live.push(OutputStream::Stdout, "3\n");
        assert_eq!(text(&poll_fn(|cx| queue.poll(cx)).await), "a:2\n3\n");
        assert_eq!(began.elapsed(), INTERVAL);
        live.push(OutputStream::Stderr, "4\n");
        queue.forget(&call);
        queue.output_of(&CallId::new("b")).push(OutputStream::Stdout, "5\n");
        assert_eq!(text(&poll_fn(|cx| queue.poll(cx)).await), "b:5\n");
    }

    /// A flood is kept down to its end, by whole lines, and takes nothing from the call beside it.
    #[tokio::test]
    async fn a_flood() {
        let mut queue = LiveQueue::default();
        queue.output_of(&CallId::new("b")).push(OutputStream::Stdout, "quiet\n");
        let live = queue.output_of(&CallId::new("a"));
        for number in 0..100_000 {
            let stream = if number % 1000 == 0 { OutputStream::Stderr } else { OutputStream::Stdout };
            live.push(stream, &format!("line {number}\n"));
        }
        let told = text(&poll_fn(|cx| queue.poll(cx)).await);
        assert!(told.starts_with("b:quiet\na:line ") && told.ends_with("line 99999\n"), "{}", told.len());
        assert!((MAX_PENDING_BYTES - 100..MAX_PENDING_BYTES + 100).contains(&told.len()), "{}", told.len());
        // One line that never ends is cut, too.
        live.push(OutputStream::Stdout, &"é".repeat(MAX_PENDING_BYTES));
        tokio::time::pause();
        assert_eq!(text(&poll_fn(|cx| queue.poll(cx)).await).len(), "a:".len() + MAX_PENDING_BYTES);
    }
}
