//! Watched bodies: the request's reports when the client first reads it, the answer's fails after too long a silence.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep};
use zori_core::transport::TransportFailure;

/// A request body that reports when the client reads it, which it does once connected.
pub(super) struct AnnouncedBody {
    bytes: Option<Bytes>,
    asked: Option<oneshot::Sender<()>>,
}

impl AnnouncedBody {
    /// Returns the body and what resolves when it is asked for.
    pub(super) fn new(bytes: Bytes) -> (Self, oneshot::Receiver<()>) {
        let (asked, watch) = oneshot::channel();
        (Self { bytes: Some(bytes), asked: Some(asked) }, watch)
    }
}

impl Stream for AnnouncedBody {
    type Item = Result<Bytes, std::convert::Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(asked) = self.asked.take() {
            // Nobody listens when the request was dropped in the same moment.
            let _ = asked.send(());
        }
        Poll::Ready(self.bytes.take().map(Ok))
    }
}

/// An answer's body that fails when nothing arrives for too long.
pub(super) struct IdleLimited<S> {
    inner: Pin<Box<S>>,
    limit: Option<Duration>,
    timer: Option<Pin<Box<Sleep>>>,
    /// The timer runs from the end of the last piece; it is set only when there is really something to wait for.
    waiting: bool,
}

impl<S> IdleLimited<S> {
    pub(super) fn new(inner: S, limit: Option<Duration>) -> Self {
        Self { inner: Box::pin(inner), limit, timer: None, waiting: false }
    }
}

impl<S, E> Stream for IdleLimited<S>
where
    S: Stream<Item = Result<Bytes, E>>,
    E: std::error::Error,
{
    type Item = Result<Bytes, TransportFailure>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if let Poll::Ready(item) = this.inner.as_mut().poll_next(cx) {
            this.waiting = false;
            return Poll::Ready(item.map(|piece| piece.map_err(|e| TransportFailure::Broken(innermost(&e)))));
        }
        let Some(limit) = this.limit else { return Poll::Pending };
        let timer = this.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        if !this.waiting {
            timer.as_mut().reset(Instant::now() + limit);
            this.waiting = true;
        }
        match timer.as_mut().poll(cx) {
            Poll::Ready(()) => {
                this.waiting = false;
                Poll::Ready(Some(Err(TransportFailure::Timeout(format!("no data for {}", seconds(limit))))))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

/// Returns the message of the error at the bottom: the ones above only say through which layers it came.
pub(super) fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

/// Writes a limit as people write it: `300 s`, `0.2 s`.
pub(super) fn seconds(limit: Duration) -> String {
    format!("{} s", limit.as_secs_f64())
}
