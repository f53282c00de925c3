//! A streamed answer while it arrives: bytes from the transport, chunks to the engine. Only the decoder knows the API.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::provider::Chunk;
use zori_core::secret::Secret;
use zori_core::time::Clock;
use zori_core::transport::{ByteStream, TransportFailure};

use crate::answer::Decode;
use crate::drain_body::DrainBody;
use crate::{failure, sse};

/// The chunks of a streamed answer.
pub(crate) struct ReplyStream<D> {
    body: ByteStream,
    frames: sse::Decoder,
    decoder: D,
    ready: VecDeque<Chunk>,
    stage: Stage,
    clock: Arc<dyn Clock>,
    /// When the last chunk came.
    last_chunk_at: Duration,
    /// How long pings count as life while nothing else comes (NET-5); `None`: for ever.
    max_quiet: Option<Duration>,
    /// What no failure may repeat.
    secret: Secret,
}

enum Stage {
    Reading,
    /// All chunks are there; the last one waits a moment for the body's end.
    Draining(DrainBody),
    /// What is in `ready` is the rest.
    Ending,
    /// This failure comes behind what is in `ready`.
    Failing(ProviderFailure),
    Over,
}

impl<D: Decode> ReplyStream<D> {
    pub(crate) fn new(
        decoder: D,
        body: ByteStream,
        clock: Arc<dyn Clock>,
        max_quiet: Option<Duration>,
        secret: Secret,
    ) -> Self {
        let last_chunk_at = clock.elapsed();
        Self {
            body,
            frames: sse::Decoder::new(),
            decoder,
            ready: VecDeque::new(),
            stage: Stage::Reading,
            clock,
            last_chunk_at,
            max_quiet,
            secret,
        }
    }

    /// Decodes until there is a chunk; returns false when more bytes are needed.
    fn decode_some(&mut self) -> Result<bool, ProviderFailure> {
        while self.ready.is_empty() {
            let frame = self.frames.next_frame().map_err(|e| too_long(&e))?;
            let Some(frame) = frame else { return Ok(false) };
            self.decoder.event(frame.event, frame.data, &mut self.ready)?;
        }
        Ok(true)
    }

    /// Reads on until there is a chunk or the stage changes.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ProviderFailure>> {
        let mut arrived = false;
        while !self.decode_some()? {
            let quiet = self.clock.elapsed().saturating_sub(self.last_chunk_at);
            if let Some(limit) = self.max_quiet.filter(|limit| arrived && quiet > *limit) {
                let message = format!("nothing but signs of life for {}", in_words(limit));
                return Poll::Ready(Err(ProviderFailure::new(FailureKind::Transport, message)));
            }
            match ready!(self.body.as_mut().poll_next(cx)) {
                Some(Ok(bytes)) => self.frames.push(&bytes),
                Some(Err(failure)) => return Poll::Ready(Err(failure::mid_answer(&failure))),
                None => return Poll::Ready(self.finish()),
            }
            arrived = true;
        }
        self.last_chunk_at = self.clock.elapsed();
        Poll::Ready(Ok(()))
    }

    /// Takes the event that the end of the body left open. If it makes no sense, it was cut off.
    fn finish(&mut self) -> Result<(), ProviderFailure> {
        if let Some(frame) = self.frames.finish().map_err(|e| too_long(&e))? {
            let read = self.decoder.event(frame.event, frame.data, &mut self.ready);
            if let Err(failure) = read
                && failure.kind != FailureKind::Parse
            {
                return Err(failure);
            }
        }
        self.decoder.end(&mut self.ready)?;
        if self.decoder.is_done() {
            self.stage = Stage::Ending;
            return Ok(());
        }
        Err(ProviderFailure::new(FailureKind::Transport, "stream ended before the reply was complete"))
    }
}

/// Returns a limit as people say it.
fn in_words(limit: Duration) -> String {
    match (limit.as_secs(), limit.subsec_millis()) {
        (60, 0) => "a minute".to_owned(),
        (secs, 0) if secs > 0 && secs % 60 == 0 => format!("{} minutes", secs / 60),
        _ => format!("{} s", limit.as_secs_f64()),
    }
}

impl<D: Decode + Unpin> Stream for ReplyStream<D> {
    type Item = Result<Chunk, ProviderFailure>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            match &mut this.stage {
                Stage::Reading => {
                    if matches!(this.ready.front(), Some(Chunk::Done(_))) {
                        let body = std::mem::replace(&mut this.body, Box::pin(NoBytes));
                        this.stage = Stage::Draining(DrainBody::new(body));
                    } else if let Some(chunk) = this.ready.pop_front() {
                        return Poll::Ready(Some(Ok(chunk)));
                    } else if let Err(failure) = ready!(this.poll_read(cx)) {
                        this.stage = Stage::Failing(failure);
                    }
                }
                Stage::Draining(drain_body) => {
                    ready!(Pin::new(drain_body).poll(cx));
                    this.stage = Stage::Ending;
                }
                Stage::Ending => match this.ready.pop_front() {
                    Some(chunk) => return Poll::Ready(Some(Ok(chunk))),
                    None => this.stage = Stage::Over,
                },
                Stage::Failing(_) => {
                    if let Some(chunk) = this.ready.pop_front() {
                        return Poll::Ready(Some(Ok(chunk)));
                    }
                    if let Stage::Failing(failure) = std::mem::replace(&mut this.stage, Stage::Over) {
                        return Poll::Ready(Some(Err(failure::without(&this.secret, failure))));
                    }
                }
                Stage::Over => return Poll::Ready(None),
            }
        }
    }
}

/// What stands for a body that has been given away.
struct NoBytes;

impl Stream for NoBytes {
    type Item = Result<Bytes, TransportFailure>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(None)
    }
}

/// The chunks of an answer that came in one piece.
pub(crate) struct WholeReply(pub(crate) VecDeque<Chunk>);

impl Stream for WholeReply {
    type Item = Result<Chunk, ProviderFailure>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.pop_front().map(Ok))
    }
}

fn too_long(error: &sse::SseError) -> ProviderFailure {
    ProviderFailure::new(FailureKind::Parse, error.to_string())
}
