//! A body that is read ahead, so that a burst of small pieces is not a burst of trips through the scheduler.
//!
//! The client hands a body over piece by piece, each in a task switch of its own, and a server sends every event as a
//! piece. The future at the root of a runtime pays for such a switch with a system call; tasks among themselves do
//! not. So a task takes the pieces, and whoever reads gets all that have come.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_core::Stream;
use tokio::task::AbortHandle;

/// How many bytes are buffered for a slow reader; beyond that the server waits (NET-13).
const MOST: usize = 64 * 1024;

/// The pieces of a body, as they come.
pub(super) struct ReadAhead<E> {
    held: Arc<Mutex<Held<E>>>,
    task: AbortHandle,
}

struct Held<E> {
    pieces: VecDeque<Result<Bytes, E>>,
    bytes: usize,
    ended: bool,
    /// Who waits for a piece.
    reader: Option<Waker>,
    /// The task, while it waits for room.
    writer: Option<Waker>,
}

impl<E: Send + 'static> ReadAhead<E> {
    /// Starts reading. It ends with the body, or when this is dropped.
    pub(super) fn new(body: impl Stream<Item = Result<Bytes, E>> + Send + 'static) -> Self {
        let held = Held { pieces: VecDeque::new(), bytes: 0, ended: false, reader: None, writer: None };
        let held = Arc::new(Mutex::new(held));
        let (mut body, shared) = (Box::pin(body), Arc::clone(&held));
        let reading = std::future::poll_fn(move |cx| {
            loop {
                if !lock(&shared).has_room(cx) {
                    return Poll::Pending;
                }
                match body.as_mut().poll_next(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Some(piece)) => lock(&shared).put(piece),
                    Poll::Ready(None) => {
                        lock(&shared).end();
                        return Poll::Ready(());
                    }
                }
            }
        });
        let task = tokio::spawn(reading).abort_handle();
        Self { held, task }
    }
}

impl<E> Held<E> {
    fn has_room(&mut self, cx: &Context<'_>) -> bool {
        let room = self.bytes < MOST;
        self.writer = (!room).then(|| cx.waker().clone());
        room
    }

    fn put(&mut self, piece: Result<Bytes, E>) {
        self.bytes += piece.as_ref().map_or(0, Bytes::len);
        self.pieces.push_back(piece);
        self.wake();
    }

    fn end(&mut self) {
        self.ended = true;
        self.wake();
    }

    fn wake(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }
}

impl<E> Stream for ReadAhead<E> {
    type Item = Result<Bytes, E>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut held = lock(&self.held);
        let Some(piece) = held.pieces.pop_front() else {
            if held.ended {
                return Poll::Ready(None);
            }
            held.reader = Some(cx.waker().clone());
            return Poll::Pending;
        };
        held.bytes -= piece.as_ref().map_or(0, Bytes::len);
        // Only when much is gone, so that the two do not take turns for every piece.
        if held.bytes <= MOST / 2
            && let Some(writer) = held.writer.take()
        {
            writer.wake();
        }
        Poll::Ready(Some(piece))
    }
}

impl<E> Drop for ReadAhead<E> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock<E>(held: &Mutex<Held<E>>) -> MutexGuard<'_, Held<E>> {
    // Nothing in here panics halfway.
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::poll_fn;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// So many pieces of a kilobyte, each ready at once; counts how many were taken.
    struct Pieces(usize, Arc<AtomicUsize>);

    impl Stream for Pieces {
        type Item = Result<Bytes, Infallible>;

        fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            let Some(left) = self.0.checked_sub(1) else { return Poll::Ready(None) };
            self.0 = left;
            let number = self.1.fetch_add(1, Ordering::Relaxed);
            Poll::Ready(Some(Ok(Bytes::from(vec![number as u8; 1024]))))
        }
    }

    #[tokio::test]
    async fn gives_every_piece_in_order_and_holds_no_more_than_the_bound() {
        let taken = Arc::new(AtomicUsize::new(0));
        let mut read_ahead = ReadAhead::new(Pieces(200, Arc::clone(&taken)));
        for number in 0..200 {
            let piece = poll_fn(|cx| Pin::new(&mut read_ahead).poll_next(cx)).await.unwrap().unwrap();
            assert_eq!(piece, vec![number as u8; 1024]);
            let held = taken.load(Ordering::Relaxed) - number - 1;
            assert!(held < MOST / 1024, "{held} pieces are held");
            tokio::task::yield_now().await;
        }
        assert!(poll_fn(|cx| Pin::new(&mut read_ahead).poll_next(cx)).await.is_none());
    }

    #[tokio::test]
    async fn reads_no_further_when_nobody_wants_it() {
        let taken = Arc::new(AtomicUsize::new(0));
        let read_ahead = ReadAhead::new(Pieces(200, Arc::clone(&taken)));
        while taken.load(Ordering::Relaxed) < MOST / 1024 {
            tokio::task::yield_now().await;
        }
        drop(read_ahead);
        // The task is gone, and with it the body.
        while Arc::strong_count(&taken) > 1 {
            tokio::task::yield_now().await;
        }
        assert_eq!(taken.load(Ordering::Relaxed), MOST / 1024);
    }
}
