//! What the client is told instead of an answer: JSON-RPC's error, with what to do next in its data.

use agent_client_protocol::{Error, ErrorCode};
use serde_json::{Map, Value};

/// Why a request is not answered.
#[derive(Clone, Debug)]
pub struct Refusal {
    code: ErrorCode,
    message: String,
    data: Map<String, Value>,
}

impl Refusal {
    /// The request does not fit what there is.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::INVALID_PARAMS, message)
    }

    /// The request does not fit the moment.
    pub fn untimely(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::INVALID_REQUEST, message)
    }

    /// There is no such thing.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::RESOURCE_NOT_FOUND, message)
    }

    /// Nobody has said who pays.
    pub fn auth_required(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::AUTH_REQUIRED, message)
    }

    /// It did not work.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::INTERNAL_ERROR, message)
    }

    fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: Map::new() }
    }

    /// Adds to what is told beside the message.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.data.insert(name.to_owned(), value.into());
        self
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        let Refusal { code, message, data } = refusal;
        let error = Self::new(code, message);
        if data.is_empty() { error } else { error.data(Value::Object(data)) }
    }
}
