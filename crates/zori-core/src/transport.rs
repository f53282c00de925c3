//! HTTP requests and responses as values, and the trait that sends them. `zori-providers` implements it, so that tools
//! and MCP can use HTTP without depending on a client.

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;

use crate::BoxFuture;

/// Sends HTTP requests. Dropping the future or the body cancels.
pub trait Transport: Send + Sync {
    /// Sends the request, and returns once the head of the response has arrived. Any status is `Ok`.
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportFailure>>;
}

/// The headers of a request: names in lower case, and values.
pub type Headers = Vec<(Cow<'static, str>, String)>;

/// Returns headers whose names are written in the program.
pub fn named_headers(headers: impl IntoIterator<Item = (&'static str, String)>) -> Headers {
    headers.into_iter().map(|(name, value)| (Cow::Borrowed(name), value)).collect()
}

/// A request.
#[derive(Clone)]
pub struct HttpRequest {
    /// What is asked for.
    pub method: Method,
    /// The absolute URL.
    pub url: String,
    /// Names and values. Values may be secret: `Debug` does not show them.
    pub headers: Headers,
    /// The body; empty for `GET` and `DELETE`.
    pub body: Bytes,
    /// How long each phase may take.
    pub limits: Timeouts,
    /// Which redirects are followed.
    pub redirects: Redirects,
    /// Which addresses a name may lead to.
    pub addresses: Addresses,
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

/// An HTTP method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `GET`.
    Get,
    /// `POST`.
    Post,
    /// `PUT`.
    Put,
    /// `DELETE`.
    Delete,
}

impl Method {
    /// Returns the word of the protocol.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

/// Time limits, one per phase; `None` waits for ever. There is no total (NET-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the connection is established.
    pub connect: Option<Duration>,
    /// From the last byte of the request to the first of the response.
    pub first_byte: Option<Duration>,
    /// Between two bytes of the response.
    pub idle: Option<Duration>,
    /// How long a response may go on with nothing but signs of life.
    pub pings: Option<Duration>,
}

impl Timeouts {
    /// The defaults of NET-5.
    pub const DEFAULT: Self = Self {
        connect: Some(Duration::from_secs(15)),
        first_byte: Some(Duration::from_secs(120)),
        idle: Some(Duration::from_secs(300)),
        pings: Some(Duration::from_secs(600)),
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

/// Which addresses a name may lead to. An address that the URL itself names is judged before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Addresses {
    /// Any.
    #[default]
    Any,
    /// All but those of the link, where machines in a cloud ask for their own credentials.
    NotLinkLocal,
    /// Neither this machine nor its network.
    Public,
}

impl Addresses {
    /// Returns whether an address may be contacted.
    pub fn allow(self, address: IpAddr) -> bool {
        match self {
            Self::Any => true,
            Self::NotLinkLocal => Network::of(address) != Network::LinkLocal,
            Self::Public => Network::of(address) == Network::Public,
        }
    }
}

/// What an address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Everybody's network.
    Public,
    /// This machine.
    Loopback,
    /// The network it is in.
    Private,
    /// The link, and the addresses at which clouds hand out credentials.
    LinkLocal,
}

impl Network {
    /// Returns what an address belongs to; one of version 4 that is written as version 6 is what it is.
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(v4) => Self::of_v4(v4),
            IpAddr::V6(v6) => match embedded(v6) {
                Some(v4) => Self::of_v4(v4),
                None if v6.is_loopback() || v6.is_unspecified() => Self::Loopback,
                None if v6.segments()[..2] == [0xfd00, 0x0ec2] => Self::LinkLocal,
                None if v6.segments()[0] & 0xffc0 == 0xfe80 => Self::LinkLocal,
                None if v6.segments()[0] & 0xfe00 == 0xfc00 => Self::Private,
                None if v6.is_multicast() => Self::Private,
                None => Self::Public,
            },
        }
    }

    fn of_v4(v4: Ipv4Addr) -> Self {
        let [a, b, ..] = v4.octets();
        match v4.octets() {
            _ if v4.is_loopback() || a == 0 => Self::Loopback,
            [100, 100, 100, 200] | [192, 0, 0, 192] => Self::LinkLocal,
            _ if v4.is_link_local() => Self::LinkLocal,
            _ if v4.is_private() || (a == 100 && b & 0xc0 == 64) || a >= 224 => Self::Private,
            _ => Self::Public,
        }
    }

    /// Returns the word messages use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Loopback => "loopback",
            Self::Private => "private",
            Self::LinkLocal => "link-local",
        }
    }
}

/// The address of version 4 in one of version 6: mapped, translated (`64:ff9b::`) or tunnelled (`2002:`).
fn embedded(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    let s = v6.segments();
    let from = |high: u16, low: u16| Some(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    match s {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => from(high, low),
        [0x2002, high, low, ..] => from(high, low),
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => from(high, low),
        _ => None,
    }
}

/// The head of a response, and its body as it arrives.
pub struct HttpResponse {
    /// The status code.
    pub status: u16,
    /// Names in lower case, and values. Values that are not text are left out.
    pub headers: Vec<(String, String)>,
    /// The URL that answered, after redirects.
    pub url: String,
    /// The body, as it arrives.
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

/// Why there is no response, or why it ended early.
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
    /// The connection broke after the response had begun.
    #[error("connection lost: {0}")]
    Broken(String),
    /// A redirect that is not followed.
    #[error("refused redirect to {0}")]
    Redirect(String),
    /// The recording that replaces the network has no response to this request.
    #[error("{0}")]
    Replay(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks() {
        for (address, network) in [
            ("1.1.1.1", Network::Public),
            ("127.0.0.1", Network::Loopback),
            ("0.0.0.0", Network::Loopback),
            ("10.1.2.3", Network::Private),
            ("172.31.0.1", Network::Private),
            ("192.168.0.1", Network::Private),
            ("100.64.0.1", Network::Private),
            ("169.254.169.254", Network::LinkLocal),
            ("100.100.100.200", Network::LinkLocal),
            ("::1", Network::Loopback),
            ("::ffff:127.0.0.1", Network::Loopback),
            ("::ffff:169.254.169.254", Network::LinkLocal),
            ("64:ff9b::a9fe:a9fe", Network::LinkLocal),
            ("fd00:ec2::254", Network::LinkLocal),
            ("fe80::1", Network::LinkLocal),
            ("fd12::1", Network::Private),
            ("2606:4700::1111", Network::Public),
        ] {
            assert_eq!(Network::of(address.parse().unwrap()), network, "{address}");
        }
        let loopback = "127.0.0.1".parse().unwrap();
        assert!(Addresses::NotLinkLocal.allow(loopback) && !Addresses::Public.allow(loopback));
    }
}
