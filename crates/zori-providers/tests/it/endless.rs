//! Streams that never end, and a clock to watch them with.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use zori_core::BoxFuture;
use zori_core::provider::Delivery;
use zori_core::time::{Clock, Timestamp};
use zori_core::transport::{HttpRequest, HttpResponse, Transport, TransportFailure};
use zori_providers::replay::Exchange;

use crate::ask::{StoppedClock, ask};
use crate::vendor::Vendor;

/// A body that repeats itself for ever.
pub struct Endless {
    /// What comes first.
    pub start: &'static str,
    /// What comes then, again and again.
    pub again: String,
}

impl Transport for Endless {
    fn send(&self, _: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportFailure>> {
        struct Body(Bytes, Bytes);
        impl futures_core::Stream for Body {
            type Item = Result<Bytes, TransportFailure>;
            fn poll_next(
                mut self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
            ) -> std::task::Poll<Option<Self::Item>> {
                let again = self.1.clone();
                std::task::Poll::Ready(Some(Ok(std::mem::replace(&mut self.0, again))))
            }
        }
        let body = Body(Bytes::from(self.start), Bytes::from(self.again.clone()));
        let response = HttpResponse { body: Box::pin(body), ..Exchange::event_stream("").response() };
        Box::pin(std::future::ready(Ok(response)))
    }
}

/// A clock that goes on a minute with every look.
#[derive(Default)]
pub struct MinuteClock(AtomicU64);

impl Clock for MinuteClock {
    fn now(&self) -> Timestamp {
        Timestamp(0)
    }

    fn elapsed(&self) -> Duration {
        Duration::from_secs(60 * self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// Asks for an answer without end; returns how it ended all the same.
async fn last_line(vendor: Vendor, clock: Arc<dyn Clock>, start: &'static str, again: String) -> String {
    let provider = vendor.provider_at(Arc::new(Endless { start, again }), clock);
    let shown = ask(&*provider, Delivery::Streamed).await;
    shown.lines().last().unwrap_or_default().to_owned()
}

const OPEN_MESSAGE: &str = concat!(
    "data: {\"type\":\"response.created\",\"response\":{}}\n\n",
    "data: {\"type\":\"response.output_item.added\",\"item\":{\"type\":\"message\"}}\n\n",
);

#[tokio::test]
async fn text_without_end_is_cut_off() {
    let text = "x".repeat(1024 * 1024);
    let delta = format!("data: {{\"type\":\"response.output_text.delta\",\"delta\":\"{text}\"}}\n\n");
    let part =
        format!("data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":\"{text}\"}}]}}}}]}}\n\n");
    for (vendor, start, again) in [(Vendor::Responses, OPEN_MESSAGE, delta), (Vendor::Gemini, "", part)] {
        let last = last_line(vendor, Arc::new(StoppedClock), start, again).await;
        assert_eq!(last, "failed parse: the reply is larger than 64 MiB", "{vendor:?}");
    }
}

#[tokio::test]
async fn signs_of_life_are_not_enough() {
    for (vendor, start, life) in [
        (Vendor::Responses, OPEN_MESSAGE, "data: {\"type\":\"response.in_progress\",\"response\":{}}\n\n"),
        (Vendor::Responses, OPEN_MESSAGE, ": still here\n\n"),
        (Vendor::Gemini, "data: {}\n\n", "data: {\"candidates\":[]}\n\n"),
        (Vendor::Gemini, "data: {}\n\n", ": still here\n\n"),
    ] {
        let last = last_line(vendor, Arc::new(MinuteClock::default()), start, life.to_owned()).await;
        assert_eq!(last, "failed transport: nothing but signs of life for 10 minutes", "{vendor:?}");
    }
}
