//! What all APIs have in common once an answer arrives: whether it is valid, its shape, and how much is read. The
//! decoders interpret it; [`reply`](crate::reply) waits for the streamed ones.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::Deserialize;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::provider::{Chunk, ChunkStream, Delivery};
use zori_core::secret::Secret;
use zori_core::time::Clock;
use zori_core::transport::{HttpRequest, HttpResponse, Transport};

use crate::failure::{self, BodyEnd};
use crate::reply::{ReplyStream, WholeReply};

/// How much text, thinking and tool input one answer may hold (NET-13).
pub(crate) const MAX_REPLY: usize = 64 * 1024 * 1024;
/// What an event counts for that brings no text, so that endless ones meet the same bound.
pub(crate) const EVENT_COST: usize = 64;
/// How much of an answer in one piece is read: the text it may hold, and room for the JSON around it.
const MAX_WHOLE: usize = MAX_REPLY + MAX_REPLY / 4;

/// Turns one answer of some API into chunks.
pub(crate) trait Decode: Sized {
    /// Takes one event; chunks go to `out`.
    fn event(&mut self, name: &[u8], data: &[u8], out: &mut VecDeque<Chunk>) -> Result<(), ProviderFailure>;

    /// Takes the regular end of the body, which some servers leave to stand for the end of the answer.
    fn end(&mut self, _out: &mut VecDeque<Chunk>) -> Result<(), ProviderFailure> {
        Ok(())
    }

    /// Returns whether the answer is complete.
    fn is_done(&self) -> bool;

    /// Takes an answer that came in one piece.
    fn whole(self, body: &[u8]) -> Result<VecDeque<Chunk>, ProviderFailure>;
}

/// Sends a request and decodes what comes back, of whatever status and shape. What fails later does not repeat `secret`;
/// what fails at once is for the caller to clean.
pub(crate) async fn ask<D: Decode + Unpin + Send + 'static>(
    transport: &dyn Transport,
    request: HttpRequest,
    decoder: D,
    delivery: Delivery,
    clock: &Arc<dyn Clock>,
    secret: Secret,
) -> Result<ChunkStream, ProviderFailure> {
    let max_quiet = request.limits.pings;
    let response = transport.send(request).await.map_err(|f| failure::before_answer(&f))?;
    if !(200..300).contains(&response.status) {
        return Err(failure::from_response(response, clock.now()).await);
    }
    if let Some(encoding) = compression(&response) {
        let message = format!("the server's answer is compressed (`{encoding}`), which nobody asked for");
        return Err(failure::unreadable(message, b""));
    }
    match Shape::of(&response, delivery) {
        Shape::Events => {
            let clock = Arc::clone(clock);
            Ok(Box::pin(ReplyStream::new(decoder, response.body, clock, max_quiet, secret.to_owned())))
        }
        Shape::Document => read_document(decoder, response).await,
        Shape::Neither(content_type) => Err(read_unexpected(response, &content_type).await),
    }
}

/// How much of an answer has arrived.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReplySize(usize);

impl ReplySize {
    /// Counts; fails where it is too much.
    pub(crate) fn add(&mut self, bytes: usize) -> Result<(), ProviderFailure> {
        self.0 += bytes;
        if self.0 > MAX_REPLY {
            let limit = MAX_REPLY / (1024 * 1024);
            return Err(ProviderFailure::new(
                FailureKind::Parse,
                format!("the reply is larger than {limit} MiB"),
            ));
        }
        Ok(())
    }
}

/// Reads JSON.
pub(crate) fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, ProviderFailure> {
    serde_json::from_str(text).map_err(|e| garbled(&format!("cannot be read: {e}"), text.as_bytes()))
}

/// Decodes text; invalid UTF-8 is an error (NET-3).
pub(crate) fn utf8(data: &[u8]) -> Result<&str, ProviderFailure> {
    std::str::from_utf8(data).map_err(|_| garbled("is not UTF-8", data))
}

/// Says that events do not fit together (NET-9).
pub(crate) fn protocol_error(what: &str) -> ProviderFailure {
    ProviderFailure::new(FailureKind::Parse, format!("the provider's answer contradicts itself: {what}"))
}

fn garbled(problem: &str, data: &[u8]) -> ProviderFailure {
    failure::unreadable(format!("the provider's answer {problem}"), data)
}

/// What a successful answer looks like. Servers answer what they like, so the answer is asked, not the request.
enum Shape {
    Events,
    Document,
    Neither(String),
}

impl Shape {
    fn of(response: &HttpResponse, delivery: Delivery) -> Self {
        let header = response.header("content-type").unwrap_or_default();
        let kind = header.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match kind.as_str() {
            "text/event-stream" => Self::Events,
            "application/json" => Self::Document,
            "" if delivery == Delivery::Streamed => Self::Events,
            "" => Self::Document,
            _ => Self::Neither(kind),
        }
    }
}

/// Returns how the body is compressed. We ask for none, so that every delta arrives at once.
fn compression(response: &HttpResponse) -> Option<&str> {
    response.header("content-encoding").map(str::trim).filter(|name| !matches!(*name, "" | "identity"))
}

async fn read_document<D: Decode>(
    decoder: D,
    mut response: HttpResponse,
) -> Result<ChunkStream, ProviderFailure> {
    match failure::read_bounded(&mut response.body, MAX_WHOLE).await {
        (body, BodyEnd::Complete) => Ok(Box::pin(WholeReply(decoder.whole(&body)?))),
        (_, BodyEnd::Failed(broken)) => Err(failure::mid_answer(&broken)),
        (body, BodyEnd::TooLong) => Err(failure::unreadable("the provider's answer is too large", &body)),
    }
}

async fn read_unexpected(mut response: HttpResponse, content_type: &str) -> ProviderFailure {
    let (body, _) = failure::read_bounded(&mut response.body, 64 * 1024).await;
    failure::unreadable(
        format!("the server answered with `{content_type}`, not with a model's reply; check the base URL"),
        &body,
    )
}
