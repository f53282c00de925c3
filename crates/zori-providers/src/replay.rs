//! A [`Transport`] that answers from fixtures and remembers what it was asked. No network, no clock.
//!
//! The recording of a whole run is played by [`recording::player`](crate::recording::player), with the same answers.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use zori_core::BoxFuture;
use zori_core::transport::{HttpRequest, HttpResponse, Transport, TransportFailure};

/// Answers each request with the next exchange, in order.
#[derive(Debug, Default)]
pub struct ReplayTransport {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    exchanges: VecDeque<Exchange>,
    requests: Vec<HttpRequest>,
}

/// One recorded answer.
#[derive(Clone, Debug)]
pub struct Exchange {
    pub status: u16,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
    /// How the body is cut on its way.
    pub chunking: Chunking,
    /// What comes behind the body.
    pub ending: Ending,
}

/// How a body is cut into pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chunking {
    /// In one piece.
    Whole,
    /// Every byte on its own.
    EveryByte,
    /// In two pieces, the first of this many bytes.
    CutAt(usize),
    /// As it came: how many bytes of it were there after each piece.
    Recorded(Arc<[usize]>),
}

/// What comes behind the last byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The regular end.
    Complete,
    Failure(TransportFailure),
    /// Nothing, for ever.
    Silence,
}

impl ReplayTransport {
    /// Takes the answers in the order of the requests they answer.
    pub fn new(exchanges: impl IntoIterator<Item = Exchange>) -> Self {
        let state = State { exchanges: exchanges.into_iter().collect(), requests: Vec::new() };
        Self { state: Mutex::new(state) }
    }

    /// Returns the requests it was given so far.
    pub fn requests(&self) -> Vec<HttpRequest> {
        self.lock().requests.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Transport for ReplayTransport {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportFailure>> {
        let mut state = self.lock();
        state.requests.push(request);
        let answer = state
            .exchanges
            .pop_front()
            .map(|exchange| exchange.response())
            .ok_or_else(|| TransportFailure::Connect("the recording has no further answer".to_owned()));
        Box::pin(std::future::ready(answer))
    }
}

impl Exchange {
    /// An answer in one piece.
    pub fn new(status: u16, content_type: &str, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            body: body.into(),
            chunking: Chunking::Whole,
            ending: Ending::Complete,
        }
    }

    /// A successful answer that is an event stream.
    pub fn event_stream(body: impl Into<Bytes>) -> Self {
        Self::new(200, "text/event-stream; charset=utf-8", body)
    }

    /// A successful answer that is a JSON document.
    pub fn json(body: impl Into<Bytes>) -> Self {
        Self::new(200, "application/json", body)
    }

    /// Cuts the body this way.
    pub fn chunked(self, chunking: Chunking) -> Self {
        Self { chunking, ..self }
    }

    /// Ends the body this way.
    pub fn ending(self, ending: Ending) -> Self {
        Self { ending, ..self }
    }

    /// Returns the answer as a transport would.
    pub fn response(&self) -> HttpResponse {
        let (chunking, ending) = (self.chunking.clone(), self.ending.clone());
        let body = Pieces { rest: self.body.clone(), given: 0, chunking, ending };
        HttpResponse {
            status: self.status,
            headers: self.headers.clone(),
            url: String::new(),
            body: Box::pin(body),
        }
    }
}

struct Pieces {
    rest: Bytes,
    given: usize,
    chunking: Chunking,
    ending: Ending,
}

impl Stream for Pieces {
    type Item = Result<Bytes, TransportFailure>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.rest.is_empty() {
            return match std::mem::replace(&mut self.ending, Ending::Complete) {
                Ending::Complete => Poll::Ready(None),
                Ending::Failure(failure) => Poll::Ready(Some(Err(failure))),
                Ending::Silence => {
                    self.ending = Ending::Silence;
                    Poll::Pending
                }
            };
        }
        let cut = match &self.chunking {
            Chunking::Whole => None,
            Chunking::EveryByte => Some(self.given + 1),
            Chunking::CutAt(at) => (self.given == 0 && *at > 0).then_some(*at),
            Chunking::Recorded(cuts) => cuts.get(cuts.partition_point(|cut| *cut <= self.given)).copied(),
        };
        let len = cut.map_or(self.rest.len(), |cut| (cut - self.given).min(self.rest.len()));
        self.given += len;
        Poll::Ready(Some(Ok(self.rest.split_to(len))))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    async fn pieces(exchange: Exchange) -> Vec<Result<Bytes, TransportFailure>> {
        let mut body = exchange.response().body;
        let mut out = Vec::new();
        while let Some(piece) = poll_fn(|cx| body.as_mut().poll_next(cx)).await {
            out.push(piece);
        }
        out
    }

    #[tokio::test]
    async fn bodies_are_cut_as_planned() {
        let exchange = Exchange::json("abc");
        let ok = |text: &'static str| Ok(Bytes::from_static(text.as_bytes()));
        assert_eq!(pieces(exchange.clone()).await, [ok("abc")]);
        assert_eq!(pieces(exchange.clone().chunked(Chunking::EveryByte)).await, [ok("a"), ok("b"), ok("c")]);
        assert_eq!(pieces(exchange.clone().chunked(Chunking::CutAt(1))).await, [ok("a"), ok("bc")]);
        assert_eq!(pieces(exchange.clone().chunked(Chunking::CutAt(9))).await, [ok("abc")]);
        let recorded = Chunking::Recorded([2, 3].into());
        assert_eq!(pieces(exchange.clone().chunked(recorded)).await, [ok("ab"), ok("c")]);
        let lost = TransportFailure::Broken("reset".to_owned());
        assert_eq!(pieces(exchange.ending(Ending::Failure(lost.clone()))).await, [ok("abc"), Err(lost)]);
    }
}
