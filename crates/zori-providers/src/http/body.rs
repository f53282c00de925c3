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

/// A timer that is found this late was not watched: the program was stopped, or waited for a person in an editor. What came
/// meanwhile is still to be read.
const UNWATCHED: Duration = Duration::from_secs(1);

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
        if !is_over(timer.as_mut(), limit, cx) {
            return Poll::Pending;
        }
        this.waiting = false;
        let why = format!("no data for {}", seconds(limit));
        Poll::Ready(Some(Err(TransportFailure::Timeout(why))))
    }
}

/// Returns whether the time is over. It begins again where nobody watched.
fn is_over(mut timer: Pin<&mut Sleep>, limit: Duration, cx: &mut Context<'_>) -> bool {
    while timer.as_mut().poll(cx).is_ready() {
        if timer.deadline() + UNWATCHED >= Instant::now() {
            return true;
        }
        timer.as_mut().reset(Instant::now() + limit);
    }
    false
}

/// Waits so long for something; `None` when it has not come. What came while nobody watched counts.
pub(super) async fn within<F: Future>(limit: Duration, awaited: F) -> Option<F::Output> {
    let mut awaited = std::pin::pin!(awaited);
    let mut timer = std::pin::pin!(tokio::time::sleep(limit));
    std::future::poll_fn(|cx| match awaited.as_mut().poll(cx) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending if is_over(timer.as_mut(), limit, cx) => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    })
    .await
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A body of which nothing arrives.
    struct Silent;

    impl Stream for Silent {
        type Item = Result<Bytes, std::convert::Infallible>;

        fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            Poll::Pending
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_late_only_where_somebody_waited() {
        let mut waiting = Box::pin(within(Duration::from_secs(300), std::future::pending::<()>()));
        let mut after = async |secs| {
            tokio::time::advance(Duration::from_secs(secs)).await;
            std::future::poll_fn(|cx| Poll::Ready(waiting.as_mut().poll(cx))).await
        };
        assert!(after(0).await.is_pending());
        assert!(after(299).await.is_pending());
        // The program was stopped for a while.
        assert!(after(400).await.is_pending());
        assert!(after(299).await.is_pending());
        assert_eq!(after(1).await, Poll::Ready(None));
        assert_eq!(within(Duration::ZERO, std::future::ready(7)).await, Some(7));
    }

    #[tokio::test(start_paused = true)]
    async fn a_silence_counts_only_where_somebody_listened() {
        let mut body = IdleLimited::new(Silent, Some(Duration::from_secs(300)));
        let mut after = async |secs| {
            tokio::time::advance(Duration::from_secs(secs)).await;
            let polled = std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut body).poll_next(cx))).await;
            match polled {
                Poll::Ready(Some(Err(TransportFailure::Timeout(why)))) => why,
                Poll::Ready(_) => "something".to_owned(),
                Poll::Pending => "waits".to_owned(),
            }
        };
        assert_eq!(after(0).await, "waits");
        assert_eq!(after(299).await, "waits");
        // The program was stopped for a while.
        assert_eq!(after(400).await, "waits");
        assert_eq!(after(299).await, "waits");
        assert_eq!(after(1).await, "no data for 300 s");
    }
}
