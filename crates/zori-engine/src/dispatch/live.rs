//! Output of running tools on its way to whoever watches: told at once when it begins, then a few times a second.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Sleep, sleep};
use zori_core::ids::CallId;
use zori_core::tool::{LiveOutput, OutputStream};

/// The time between two tellings. More often nobody reads it, and each one costs a line to a client.
const PAUSE: Duration = Duration::from_millis(100);
/// What is kept of a call's output until it is told: the end of it (L-12). The result has it all.
const KEPT: usize = 64 << 10;

/// A piece of output: of which call, on which stream.
pub(super) type Piece = (CallId, OutputStream, String);

/// Output of running tools that was not told yet. Tools push while they are polled, so whoever polls them looks here
/// right after that, and nobody has to be woken.
#[derive(Default)]
pub(super) struct LiveQueue {
    pieces: Arc<Mutex<Vec<Piece>>>,
    /// Set from the first telling on: the next one is not before this is over.
    pause: Option<Pin<Box<Sleep>>>,
}

struct LiveCall {
    call: CallId,
    pieces: Arc<Mutex<Vec<Piece>>>,
}

impl LiveQueue {
    pub(super) fn of(&self, call: &CallId) -> Arc<dyn LiveOutput> {
        Arc::new(LiveCall { call: call.clone(), pieces: self.pieces.clone() })
    }

    /// Returns what is to be told, once there is something and the pause is over.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Vec<Piece>> {
        if lock(&self.pieces).is_empty() {
            return Poll::Pending;
        }
        if let Some(pause) = &mut self.pause {
            ready!(pause.as_mut().poll(cx));
        }
        self.pause = Some(Box::pin(sleep(PAUSE)));
        Poll::Ready(std::mem::take(&mut *lock(&self.pieces)))
    }

    /// Forgets what a call said that is over: its result says it again.
    pub(super) fn forget(&self, call: &CallId) {
        lock(&self.pieces).retain(|(of, ..)| of != call);
    }
}

impl LiveOutput for LiveCall {
    fn push(&self, stream: OutputStream, text: &str) {
        let mut pieces = lock(&self.pieces);
        match pieces.last_mut() {
            Some((call, last, pending)) if *call == self.call && *last == stream => pending.push_str(text),
            _ => pieces.push((self.call.clone(), stream, text.to_owned())),
        }
        shorten(&mut pieces, &self.call);
    }
}

/// Drops the oldest lines of a call that has said more than is kept.
fn shorten(pieces: &mut Vec<Piece>, call: &CallId) {
    let mut over = pieces.iter().filter(|(of, ..)| of == call).map(|(.., text)| text.len()).sum::<usize>();
    over = over.saturating_sub(KEPT);
    pieces.retain_mut(|(of, _, text)| {
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

fn lock(pieces: &Mutex<Vec<Piece>>) -> MutexGuard<'_, Vec<Piece>> {
    pieces.lock().expect("pushing text does not panic")
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    fn text(pieces: &[Piece]) -> String {
        pieces.iter().map(|(call, _, text)| format!("{}:{text}", call.as_str())).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn at_once_and_then_a_few_times_a_second() {
        let mut queue = LiveQueue::default();
        let call = CallId::new("a");
        let live = queue.of(&call);
        let began = tokio::time::Instant::now();
        live.push(OutputStream::Stdout, "1\n");
        assert_eq!(text(&poll_fn(|cx| queue.poll(cx)).await), "a:1\n");
        assert_eq!(began.elapsed(), Duration::ZERO);
        live.push(OutputStream::Stdout, "2\n");
        live.push(OutputStream::Stdout, "3\n");
        assert_eq!(text(&poll_fn(|cx| queue.poll(cx)).await), "a:2\n3\n");
        assert_eq!(began.elapsed(), PAUSE);
        live.push(OutputStream::Stderr, "4\n");
        queue.forget(&call);
        queue.of(&CallId::new("b")).push(OutputStream::Stdout, "5\n");
        assert_eq!(text(&poll_fn(|cx| queue.poll(cx)).await), "b:5\n");
    }

    /// A flood is kept down to its end, by whole lines, and takes nothing from the call beside it.
    #[tokio::test]
    async fn a_flood() {
        let mut queue = LiveQueue::default();
        queue.of(&CallId::new("b")).push(OutputStream::Stdout, "quiet\n");
        let live = queue.of(&CallId::new("a"));
        for number in 0..100_000 {
            let stream = if number % 1000 == 0 { OutputStream::Stderr } else { OutputStream::Stdout };
            live.push(stream, &format!("line {number}\n"));
        }
        let told = text(&poll_fn(|cx| queue.poll(cx)).await);
        assert!(told.starts_with("b:quiet\na:line ") && told.ends_with("line 99999\n"), "{}", told.len());
        assert!((KEPT - 100..KEPT + 100).contains(&told.len()), "{}", told.len());
        // One line that never ends is cut, too.
        live.push(OutputStream::Stdout, &"é".repeat(KEPT));
        tokio::time::pause();
        assert_eq!(text(&poll_fn(|cx| queue.poll(cx)).await).len(), "a:".len() + KEPT);
    }
}
