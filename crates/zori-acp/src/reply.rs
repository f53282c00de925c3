//! The answer to one request, which is given once. Whoever drops it unanswered has failed, and the client hears that.

use std::fmt;

use agent_client_protocol::{Error, RawJsonRpcId};
use serde_json::Value;

use crate::peer::Peer;
use crate::refusal::Refusal;

/// The way to answer one request.
pub struct Reply<T> {
    peer: Peer,
    /// `None` once it is answered.
    id: Option<RawJsonRpcId>,
    shape: fn(T) -> Value,
}

impl<T> Reply<T> {
    pub(crate) fn new(peer: Peer, id: RawJsonRpcId, shape: fn(T) -> Value) -> Self {
        Self { peer, id: Some(id), shape }
    }

    /// Answers.
    pub fn ok(self, answer: T) {
        let answer = (self.shape)(answer);
        self.send(Ok(answer));
    }

    /// Says why not.
    pub fn fail(self, refusal: Refusal) {
        self.send(Err(refusal.into()));
    }

    /// Answers, or says why not.
    pub fn give(self, answer: Result<T, Refusal>) {
        match answer {
            Ok(answer) => self.ok(answer),
            Err(refusal) => self.fail(refusal),
        }
    }

    /// Returns the id of the request.
    pub(crate) fn id(&self) -> Option<&RawJsonRpcId> {
        self.id.as_ref()
    }

    fn send(mut self, answer: Result<Value, Error>) {
        if let Some(id) = self.id.take() {
            self.peer.answer(&id, answer.as_ref());
        }
    }
}

impl<T> Drop for Reply<T> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            let unanswered: Error =
                Refusal::failed("the request came to nothing: its session is over").into();
            self.peer.answer::<Value>(&id, Err(&unanswered));
        }
    }
}

impl<T> fmt::Debug for Reply<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reply").field(&self.id).finish()
    }
}
