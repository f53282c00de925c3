//! A stream of chunks that an async function makes: it puts them out as it goes.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;
use zori_core::BoxFuture;
use zori_core::failure::ProviderFailure;
use zori_core::provider::{Chunk, ChunkStream};

/// Where the function puts its chunks.
#[derive(Clone, Default)]
pub(super) struct Output(Arc<Mutex<VecDeque<Chunk>>>);

impl Output {
    /// Puts a chunk out.
    pub(super) fn put(&self, chunk: Chunk) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(chunk);
    }

    /// Puts a line for the user out.
    pub(super) fn status(&self, text: impl Into<String>) {
        self.put(Chunk::Status(text.into()));
    }

    fn take(&self) -> Option<Chunk> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

/// Returns the stream of what a function puts out. Dropping it drops the function where it waits.
pub(super) fn made_by(
    run: impl FnOnce(Output) -> BoxFuture<'static, Result<(), ProviderFailure>>,
) -> ChunkStream {
    let output = Output::default();
    let running = Some(run(output.clone()));
    Box::pin(Made { output, running, failure: None })
}

struct Made {
    output: Output,
    running: Option<BoxFuture<'static, Result<(), ProviderFailure>>>,
    /// Comes behind what was put out.
    failure: Option<ProviderFailure>,
}

impl Stream for Made {
    type Item = Result<Chunk, ProviderFailure>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if let Some(chunk) = this.output.take() {
            return Poll::Ready(Some(Ok(chunk)));
        }
        if let Some(running) = &mut this.running
            && let Poll::Ready(ended) = running.as_mut().poll(cx)
        {
            this.running = None;
            this.failure = ended.err();
        }
        match this.output.take() {
            Some(chunk) => Poll::Ready(Some(Ok(chunk))),
            None if this.running.is_some() => Poll::Pending,
            None => Poll::Ready(this.failure.take().map(Err)),
        }
    }
}
