//! Responds to one request, exactly once. Dropping it without a response sends the client an error.

use std::fmt;

use agent_client_protocol::{Error, RawJsonRpcId};
use serde_json::Value;

use crate::client::AcpClient;
use crate::error::RequestError;

/// Responds to one request.
pub struct Responder<T> {
    client: AcpClient,
    /// `None` once it is answered.
    id: Option<RawJsonRpcId>,
    shape: fn(T) -> Value,
}

impl<T> Responder<T> {
    pub(crate) fn new(client: AcpClient, id: RawJsonRpcId, shape: fn(T) -> Value) -> Self {
        Self { client, id: Some(id), shape }
    }

    pub fn ok(self, answer: T) {
        let answer = (self.shape)(answer);
        self.respond(Ok(answer));
    }

    pub fn fail(self, refusal: RequestError) {
        self.respond(Err(refusal.into()));
    }

    /// Answers, or says why not.
    pub fn send(self, answer: Result<T, RequestError>) {
        match answer {
            Ok(answer) => self.ok(answer),
            Err(refusal) => self.fail(refusal),
        }
    }

    /// Returns the id of the request.
    pub(crate) fn id(&self) -> Option<&RawJsonRpcId> {
        self.id.as_ref()
    }

    fn respond(mut self, answer: Result<Value, Error>) {
        if let Some(id) = self.id.take() {
            self.client.answer(&id, answer.as_ref());
        }
    }
}

impl<T> Drop for Responder<T> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            let unanswered: Error =
                RequestError::failed("the request came to nothing: its session is over").into();
            self.client.answer::<Value>(&id, Err(&unanswered));
        }
    }
}

impl<T> fmt::Debug for Responder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Responder").field(&self.id).finish()
    }
}
