//! HTTP as a value: what is asked, what comes back. The client is elsewhere (`zori-providers`), so that tools
//! and MCP can use it without depending on it.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;

use crate::BoxFuture;

/// Sends HTTP requests. Dropping the future or the body cancels.
pub trait Transport: Send + Sync {
    /// Sends the request and returns when the head of the answer is there. Any status is `Ok`.
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportFailure>>;
}

/// A request.
#[derive(Clone)]
pub struct HttpRequest {
    /// The method.
    pub method: Method,
    /// The absolute URL.
    pub url: String,
    /// Names and values. Values may be secret: `Debug` does not show them.
    pub headers: Vec<(&'static str, String)>,
    /// The body; empty for `GET`.
    pub body: Bytes,
    /// How long each phase may take.
    pub limits: Limits,
    /// Which redirects are followed.
    pub redirects: Redirects,
}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("HttpRequest")
            .field("method", &self.method)
            .field("headers", &names)
            .field("body_len", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// The methods we use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Fetches.
    Get,
    /// Sends a body.
    Post,
}

/// Time limits, one per phase; `None` waits for ever. There is no total (NET-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Until the connection stands.
    pub connect: Option<Duration>,
    /// From the request's last byte to the answer's first.
    pub first_byte: Option<Duration>,
    /// Between two bytes of the answer.
    pub idle: Option<Duration>,
}

impl Limits {
    /// The defaults of NET-5.
    pub const DEFAULT: Self = Self {
        connect: Some(Duration::from_secs(15)),
        first_byte: Some(Duration::from_secs(120)),
        idle: Some(Duration::from_secs(300)),
    };
}

/// Which redirects are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redirects {
    /// Within the same origin only; credentials never leave it (NET-11).
    SameOrigin,
    /// Anywhere, at most this many.
    Any(u8),
}

/// The head of an answer, and its body as it arrives.
pub struct HttpResponse {
    /// The status code.
    pub status: u16,
    /// Names in lower case, and values; a value that is no text is left out.
    pub headers: Vec<(String, String)>,
    /// The URL that answered, after redirects.
    pub url: String,
    /// The body.
    pub body: ByteStream,
}

impl HttpResponse {
    /// Returns the first value of a header; `name` in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }
}

impl fmt::Debug for HttpResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpResponse").field("status", &self.status).finish_non_exhaustive()
    }
}

/// Bytes as they arrive.
pub type ByteStream = Pin<Box<dyn Stream<Item = Result<Bytes, TransportFailure>> + Send>>;

/// Why there is no answer, or no more of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportFailure {
    /// The URL cannot be used.
    #[error("invalid URL: {0}")]
    BadUrl(String),
    /// Name, connection or TLS failed.
    #[error("Connection failed: {0}")]
    Connect(String),
    /// A phase took longer than its limit.
    #[error("Request timed out: {0}")]
    Timeout(String),
    /// The connection broke after the answer had begun.
    #[error("connection lost: {0}")]
    Broken(String),
    /// A redirect that is not followed.
    #[error("refused redirect to {0}")]
    Redirect(String),
    /// The recording that answers instead of the network has no answer to this.
    #[error("{0}")]
    Replay(String),
}
