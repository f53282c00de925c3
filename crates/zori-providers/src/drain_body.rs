//! Reads a body to its end after the answer in it has ended, so that the next request finds the connection in the pool.
//!
//! An event stream says that it is over before HTTP does. Dropping the body in between closes the connection, and the
//! next step of the turn pays for a new one, with a TLS hand-shake.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Sleep, timeout};
use zori_core::transport::ByteStream;

/// How long the answer waits for its body's end; usually both come in one packet.
const MAX_WAIT: Duration = Duration::from_millis(5);
/// How long the rest may take, while nobody waits.
const MAX_REST: Duration = Duration::from_secs(2);
/// How often other tasks get their turn after the end. The client's own tasks put the connection back, and a
/// request that comes before them opens a second one.
const YIELDS: u8 = 2;
/// How often other tasks get their turn when the wait is over: where the machine was busy, the end came meanwhile, and the client's own tasks
/// have yet to read it.
const LATE_LOOKS: u8 = 2;

/// Resolves when the body has ended, or soon in any case.
pub(crate) struct DrainBody {
    /// `None` when it has ended or is in other hands.
    body: Option<ByteStream>,
    wait: Pin<Box<Sleep>>,
    late_looks: u8,
    yields: u8,
}

impl DrainBody {
    /// Takes a body of which nothing more is wanted.
    pub(crate) fn new(body: ByteStream) -> Self {
        let wait = Box::pin(tokio::time::sleep(MAX_WAIT));
        Self { body: Some(body), wait, late_looks: LATE_LOOKS, yields: YIELDS }
    }
}

impl Future for DrainBody {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(mut body) = self.body.take()
            && poll_end(&mut body, cx).is_pending()
        {
            if self.late_looks == LATE_LOOKS && self.wait.as_mut().poll(cx).is_pending() {
                self.body = Some(body);
                return Poll::Pending;
            }
            if self.late_looks > 0 {
                self.late_looks -= 1;
                self.body = Some(body);
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            tokio::spawn(timeout(MAX_REST, poll_fn(move |cx| poll_end(&mut body, cx))));
            return Poll::Ready(());
        }
        if self.yields == 0 {
            return Poll::Ready(());
        }
        self.yields -= 1;
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Reads what still comes, which is of no interest, until the end or a failure.
fn poll_end(body: &mut ByteStream, cx: &mut Context<'_>) -> Poll<()> {
    while let Some(Ok(_)) = ready!(body.as_mut().poll_next(cx)) {}
    Poll::Ready(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use futures_core::Stream;
    use tokio::sync::{Notify, mpsc};
    use zori_core::transport::TransportFailure;

    use super::*;

    /// A body that ends when its sender is dropped, and says when it has been read to the end.
    struct Body(mpsc::UnboundedReceiver<Bytes>, Arc<Notify>);

    impl Stream for Body {
        type Item = Result<Bytes, TransportFailure>;

        fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            let piece = ready!(self.0.poll_recv(cx));
            if piece.is_none() {
                self.1.notify_one();
            }
            Poll::Ready(piece.map(Ok))
        }
    }

    /// On a busy machine the wait is over when the end has come, too, but nobody has had the time to read it.
    #[tokio::test(start_paused = true)]
    async fn an_end_that_came_in_time_is_seen() {
        let (sender, receiver) = mpsc::unbounded_channel();
        let ended = Arc::new(Notify::new());
        let drain_body = DrainBody::new(Box::pin(Body(receiver, Arc::clone(&ended))));
        tokio::spawn(async move {
            tokio::time::sleep(MAX_WAIT).await;
            drop::<mpsc::UnboundedSender<Bytes>>(sender);
        });
        drain_body.await;
        let mut seen = std::pin::pin!(ended.notified());
        assert!(poll_fn(|cx| Poll::Ready(seen.as_mut().poll(cx).is_ready())).await);
    }

    #[tokio::test]
    async fn a_body_that_ends_late_is_read_to_the_end_while_nobody_waits() {
        let (sender, receiver) = mpsc::unbounded_channel();
        let ended = Arc::new(Notify::new());
        let drain_body = DrainBody::new(Box::pin(Body(receiver, Arc::clone(&ended))));
        timeout(Duration::from_secs(10), drain_body).await.expect("it does not wait for the end");
        sender.send(Bytes::from("0\r\n")).expect("somebody still reads");
        drop(sender);
        timeout(Duration::from_secs(10), ended.notified()).await.expect("the end is read");
    }
}
