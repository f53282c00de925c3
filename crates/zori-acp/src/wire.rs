//! The frames of JSON-RPC that we write, borrowed. What is read is the protocol crate's.

use agent_client_protocol::{Error, RawJsonRpcId};
use serde::Serialize;

const VERSION: &str = "2.0";

/// A JSON-RPC notification to the client.
#[derive(Serialize)]
pub(crate) struct Notification<'a, P> {
    jsonrpc: &'static str,
    method: &'a str,
    params: &'a P,
}

/// Something the client is asked.
#[derive(Serialize)]
pub(crate) struct Call<'a, P> {
    jsonrpc: &'static str,
    id: i64,
    method: &'a str,
    params: &'a P,
}

/// An answer to what the client asked.
#[derive(Serialize)]
pub(crate) struct Answer<'a, R> {
    jsonrpc: &'static str,
    id: &'a RawJsonRpcId,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a R>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a Error>,
}

impl<'a, P> Notification<'a, P> {
    pub(crate) fn new(method: &'a str, params: &'a P) -> Self {
        Self { jsonrpc: VERSION, method, params }
    }
}

impl<'a, P> Call<'a, P> {
    pub(crate) fn new(id: i64, method: &'a str, params: &'a P) -> Self {
        Self { jsonrpc: VERSION, id, method, params }
    }
}

impl<'a, R> Answer<'a, R> {
    pub(crate) fn new(id: &'a RawJsonRpcId, answer: Result<&'a R, &'a Error>) -> Self {
        let (result, error) = match answer {
            Ok(result) => (Some(result), None),
            Err(error) => (None, Some(error)),
        };
        Self { jsonrpc: VERSION, id, result, error }
    }
}
