//! A streamed answer on its way: bytes from the transport, chunks to the engine. Whose API it is, only the decoder
//! knows.

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
use crate::linger::Linger;
use crate::{failure, sse};

/// How long pings count as life while nothing else comes (NET-5).
const MAX_QUIET: Duration = Duration::from_secs(600);

/// The chunks of a streamed answer.
pub(crate) struct Reply<D> {
    body: ByteStream,
    frames: sse::Decoder,
    decoder: D,
    ready: VecDeque<Chunk>,
    stage: Stage,
    clock: Arc<dyn Clock>,
    /// When the last chunk came.
    heard: Duration,
    /// What no failure may repeat.
    secret: Secret,
}

enum Stage {
    Reading,
    /// All chunks are there; the last one waits a moment for the body's end.
    Lingering(Linger),
    /// What is in `ready` is the rest.
    Ending,
    /// This failure comes behind what is in `ready`.
    Failing(ProviderFailure),
    Over,
}

impl<D: Decode> Reply<D> {
    pub(crate) fn new(decoder: D, body: ByteStream, clock: Arc<dyn Clock>, secret: Secret) -> Self {
        let heard = clock.elapsed();
        Self {
            body,
            frames: sse::Decoder::new(),
            decoder,
            ready: VecDeque::new(),
            stage: Stage::Reading,
            clock,
            heard,
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
            if arrived && self.clock.elapsed().saturating_sub(self.heard) > MAX_QUIET {
                let minutes = MAX_QUIET.as_secs() / 60;
                let message = format!("nothing but signs of life for {minutes} minutes");
                return Poll::Ready(Err(ProviderFailure::new(FailureKind::Transport, message)));
            }
            match ready!(self.body.as_mut().poll_next(cx)) {
                Some(Ok(bytes)) => self.frames.push(&bytes),
                Some(Err(failure)) => return Poll::Ready(Err(failure::mid_answer(&failure))),
                None => return Poll::Ready(self.finish()),
            }
            arrived = true;
        }
        self.heard = self.clock.elapsed();
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

impl<D: Decode + Unpin> Stream for Reply<D> {
    type Item = Result<Chunk, ProviderFailure>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            match &mut this.stage {
                Stage::Reading => {
                    if matches!(this.ready.front(), Some(Chunk::Done(_))) {
                        let body = std::mem::replace(&mut this.body, Box::pin(NoBytes));
                        this.stage = Stage::Lingering(Linger::new(body));
                    } else if let Some(chunk) = this.ready.pop_front() {
                        return Poll::Ready(Some(Ok(chunk)));
                    } else if let Err(failure) = ready!(this.poll_read(cx)) {
                        this.stage = Stage::Failing(failure);
                    }
                }
                Stage::Lingering(linger) => {
                    ready!(Pin::new(linger).poll(cx));
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
pub(crate) struct Ready(pub(crate) VecDeque<Chunk>);

impl Stream for Ready {
    type Item = Result<Chunk, ProviderFailure>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.pop_front().map(Ok))
    }
}

fn too_long(error: &sse::SseError) -> ProviderFailure {
    ProviderFailure::new(FailureKind::Parse, error.to_string())
}
