//! A provider without a model: it asks for one call that somebody else wants, and when that is done for nothing more.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;
use zori_core::BoxFuture;
use zori_core::failure::ProviderFailure;
use zori_core::provider::{Chunk, ChunkStream, Provider, Request, StopReason};

/// The provider's name, in the audit log, too.
const NAME: &str = "mcp-client";

/// Asks for the calls of a client.
#[derive(Default)]
pub(super) struct DirectCallProvider(Mutex<Option<(String, String)>>);

impl DirectCallProvider {
    /// Takes the next call: a name, and arguments as JSON.
    pub(super) fn take(&self, name: String, arguments: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((name, arguments));
    }
}

impl Provider for DirectCallProvider {
    fn name(&self) -> &str {
        NAME
    }

    fn stream<'a>(&'a self, request: &'a Request<'a>) -> BoxFuture<'a, Result<ChunkStream, ProviderFailure>> {
        let call = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let started = Chunk::Started { model: request.model.to_owned() };
        let chunks = match call {
            Some((name, json)) => vec![
                started,
                Chunk::CallStart { index: 0, id: None, name, replay: None },
                Chunk::CallInput { index: 0, json },
                Chunk::CallEnd { index: 0 },
                Chunk::Done(StopReason::ToolUse),
            ],
            None => {
                vec![
                    started,
                    Chunk::Text("Done.".to_owned()),
                    Chunk::BlockEnd,
                    Chunk::Done(StopReason::EndTurn),
                ]
            }
        };
        let said: ChunkStream = Box::pin(Chunks(chunks.into()));
        Box::pin(std::future::ready(Ok(said)))
    }
}

/// Chunks that are all there.
struct Chunks(VecDeque<Chunk>);

impl Stream for Chunks {
    type Item = Result<Chunk, ProviderFailure>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.pop_front().map(Ok))
    }
}
