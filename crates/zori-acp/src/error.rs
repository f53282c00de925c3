//! Error responses to the client: a JSON-RPC error whose data says what to do next.

use agent_client_protocol::{Error, ErrorCode};
use serde_json::{Map, Value};

/// Why a request is not answered.
#[derive(Clone, Debug)]
pub struct RequestError {
    code: ErrorCode,
    message: String,
    data: Map<String, Value>,
}

impl RequestError {
    /// The request is invalid.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::INVALID_PARAMS, message)
    }

    /// The request does not fit the moment.
    pub fn untimely(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::INVALID_REQUEST, message)
    }

    /// The resource does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::RESOURCE_NOT_FOUND, message)
    }

    /// Nobody has said who pays.
    pub fn auth_required(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::AUTH_REQUIRED, message)
    }

    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::INTERNAL_ERROR, message)
    }

    fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: Map::new() }
    }

    /// Adds a field to the data.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.data.insert(name.to_owned(), value.into());
        self
    }
}

impl From<RequestError> for Error {
    fn from(refusal: RequestError) -> Self {
        let RequestError { code, message, data } = refusal;
        let error = Self::new(code, message);
        if data.is_empty() { error } else { error.data(Value::Object(data)) }
    }
}
