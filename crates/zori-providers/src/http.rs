//! The real [`Transport`]: reqwest over rustls, one pool, a limit for every phase, redirects by our own rules.
//!
//! The client takes proxies from the environment itself (`HTTPS_PROXY`, `NO_PROXY` and so on), as every HTTP
//! program does, unless it is told another way; nothing else here does. Trust is in [`roots`], the watched bodies are in
//! `body` and `read_ahead`.

mod body;
mod read_ahead;
mod resolver;
pub mod roots;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use hyper_util::client::proxy::matcher::Matcher;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Proxy, Response, Url};
use rustls::ClientConfig;
use zori_core::BoxFuture;
use zori_core::transport::{
    Addresses, HttpRequest, HttpResponse, Method, Redirects, Timeouts, Transport, TransportFailure,
};

use self::body::{AnnouncedBody, IdleLimited, innermost, seconds, within};
use self::read_ahead::ReadAhead;
use self::resolver::AllowedAddresses;
use self::roots::Roots;

/// How many redirects within one origin are followed.
const MAX_SAME_ORIGIN: usize = 10;
/// How many clients are kept, one per connection limit. A run uses one or two.
const MAX_CLIENTS: usize = 4;

/// What a transport is made from.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// The trusted authorities.
    pub roots: Roots,
    /// Which way requests go.
    pub proxies: Proxies,
}

/// Which way requests go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proxies {
    /// Through the proxies that the environment names.
    Environment,
    /// Through this one, whatever the environment says.
    Only(String),
    /// Straight to the host.
    None,
}

impl Proxies {
    /// Returns the proxy that a request to this address goes through, without its credentials.
    pub fn used_for(&self, url: &str) -> Option<String> {
        match self {
            Self::None => None,
            Self::Only(proxy) => Some(proxy.clone()),
            // The one that the client asks itself.
            Self::Environment => {
                let found = Matcher::from_env().intercept(&url.parse().ok()?)?;
                let uri = found.uri();
                let host = uri.authority()?.as_str();
                Some(format!(
                    "{}://{}",
                    uri.scheme_str()?,
                    host.rsplit_once('@').map_or(host, |(_, host)| host)
                ))
            }
        }
    }
}

/// Sends requests over the network. Nothing is built before the first send.
#[derive(Debug)]
pub struct HttpTransport {
    options: HttpOptions,
    tls: OnceLock<ClientConfig>,
    clients: Mutex<Vec<(ClientKey, Client)>>,
}

/// What clients differ in: how long they wait, and which addresses they may dial.
type ClientKey = (Option<Duration>, Addresses);

impl HttpTransport {
    /// Returns a transport that has done nothing yet.
    pub fn new(options: HttpOptions) -> Self {
        Self { options, tls: OnceLock::new(), clients: Mutex::new(Vec::new()) }
    }

    /// Returns the client for a connection limit, which reqwest knows per client only. It divides the limit
    /// among a host's addresses, so that a dead first one does not use it up (NET-12).
    fn client(&self, connect: Option<Duration>, addresses: Addresses) -> Result<Client, TransportFailure> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, client)) = clients.iter().find(|(kind, _)| *kind == (connect, addresses)) {
            return Ok(client.clone());
        }
        let tls = self.tls.get_or_init(|| self.options.roots.client_config());
        let mut builder = Client::builder()
            .tls_backend_preconfigured(tls.clone())
            .redirect(reqwest::redirect::Policy::none())
            .tcp_nodelay(true)
            .user_agent(concat!("zori/", env!("CARGO_PKG_VERSION")));
        if let Some(limit) = connect {
            builder = builder.connect_timeout(limit);
        }
        if addresses != Addresses::Any {
            builder = builder.dns_resolver(Arc::new(AllowedAddresses(addresses)));
        }
        match &self.options.proxies {
            Proxies::Environment => {}
            Proxies::Only(proxy) => {
                let proxy = Proxy::all(proxy).map_err(|e| TransportFailure::BadUrl(e.to_string()))?;
                builder = builder.proxy(proxy);
            }
            Proxies::None => builder = builder.no_proxy(),
        }
        let client = builder.build().map_err(|e| TransportFailure::Connect(innermost(&e)))?;
        if clients.len() == MAX_CLIENTS {
            clients.remove(0);
        }
        clients.push(((connect, addresses), client.clone()));
        Ok(client)
    }

    async fn follow(&self, request: HttpRequest) -> Result<HttpResponse, TransportFailure> {
        // A proxy looks names up itself, and may well be a machine of the private network.
        let addresses = match self.options.proxies.used_for(&request.url) {
            Some(_) if request.addresses != Addresses::Any => Addresses::Any,
            _ => request.addresses,
        };
        let client = self.client(request.limits.connect, addresses)?;
        let idle = request.limits.idle;
        let redirects = request.redirects;
        let mut hop = Hop::first(request)?;
        let mut followed = 0;
        loop {
            let response = hop.send(&client).await?;
            let Some(target) = location(&response) else { return Ok(answer(response, &hop.url, idle)) };
            let same_origin = target.origin() == hop.url.origin();
            let allowed = match redirects {
                Redirects::SameOrigin => same_origin && followed < MAX_SAME_ORIGIN,
                Redirects::Any(max) => is_http(&target) && followed < usize::from(max),
            };
            if !allowed {
                return Err(TransportFailure::Redirect(harmless(&target)));
            }
            followed += 1;
            hop.redirect(target, response.status().as_u16(), same_origin);
        }
    }
}

impl Transport for HttpTransport {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportFailure>> {
        Box::pin(self.follow(request))
    }
}

/// One request of a chain of redirects.
struct Hop {
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: bytes::Bytes,
    limits: Timeouts,
}

impl Hop {
    fn first(request: HttpRequest) -> Result<Self, TransportFailure> {
        let url = Url::parse(&request.url).map_err(|e| TransportFailure::BadUrl(e.to_string()))?;
        if !is_http(&url) {
            return Err(TransportFailure::BadUrl(format!("scheme `{}`", url.scheme())));
        }
        let mut headers = HeaderMap::new();
        for (name, value) in &request.headers {
            let value = HeaderValue::from_str(value).map_err(|_| {
                TransportFailure::Connect(format!("the value of header `{name}` cannot be sent"))
            })?;
            let sent = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| TransportFailure::Connect(format!("`{name}` is no name of a header")))?;
            headers.insert(sent, value);
        }
        let HttpRequest { method, body, limits, .. } = request;
        Ok(Self { method, url, headers, body, limits })
    }

    /// Follows a redirect as browsers do: only 307 and 308 keep the method and the body. Headers for one origin are not
    /// sent to another, except those that say nothing about the caller (NET-11).
    fn redirect(&mut self, target: Url, status: u16, same_origin: bool) {
        if !matches!(status, 307 | 308) {
            self.method = Method::Get;
            self.body = bytes::Bytes::new();
            self.headers.remove("content-type");
        }
        if !same_origin {
            let public = ["accept", "accept-language", "content-type"];
            self.headers = std::mem::take(&mut self.headers)
                .into_iter()
                .filter_map(|(name, value)| name.filter(|n| public.contains(&n.as_str())).zip(Some(value)))
                .collect();
        }
        self.url = target;
    }

    /// Sends the request and waits for the head of the answer.
    async fn send(&self, client: &Client) -> Result<Response, TransportFailure> {
        let Timeouts { connect, first_byte, .. } = self.limits;
        let late = |limit| TransportFailure::Timeout(format!("no answer within {}", seconds(limit)));
        let (builder, asked) = match self.method {
            Method::Get => (client.get(self.url.clone()), None),
            Method::Delete => (client.delete(self.url.clone()), None),
            Method::Post | Method::Put => {
                let (body, asked) = AnnouncedBody::new(self.body.clone());
                // The length is said here because a streamed body does not know it; chunks would puzzle servers.
                let begun = match self.method {
                    Method::Put => client.put(self.url.clone()),
                    _ => client.post(self.url.clone()),
                };
                let builder =
                    begun.header("content-length", self.body.len()).body(reqwest::Body::wrap_stream(body));
                (builder, Some(asked))
            }
        };
        let sending = builder.headers(self.headers.clone()).send();
        let Some(first_byte) = first_byte else { return sending.await.map_err(|e| self.failure(&e)) };
        let Some(asked) = asked else {
            // Without a body there is no moment to count from, so both limits count from the start.
            let both = first_byte + connect.unwrap_or(Duration::ZERO);
            return within(both, sending).await.ok_or_else(|| late(both))?.map_err(|e| self.failure(&e));
        };
        let mut sending = Box::pin(sending);
        tokio::select! {
            biased;
            done = &mut sending => return done.map_err(|e| self.failure(&e)),
            _ = asked => {}
        }
        within(first_byte, sending).await.ok_or_else(|| late(first_byte))?.map_err(|e| self.failure(&e))
    }

    /// Says what went wrong before an answer, without the URL's user-info and query (PROV-12).
    fn failure(&self, error: &reqwest::Error) -> TransportFailure {
        let host = self.url.host_str().unwrap_or_default();
        let port = self.url.port().map(|p| format!(":{p}")).unwrap_or_default();
        let place = format!("{host}{port}");
        if error.is_timeout() {
            let limit = self.limits.connect.map(seconds).unwrap_or_default();
            TransportFailure::Timeout(format!("{place}: no connection within {limit}"))
        } else if error.is_connect() {
            TransportFailure::Connect(format!("{place}: {}", without_jargon(innermost(error))))
        } else {
            TransportFailure::Broken(format!("{place}: {}", innermost(error)))
        }
    }
}

/// Returns where a redirect leads.
fn location(response: &Response) -> Option<Url> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let target = response.headers().get("location")?.to_str().ok()?;
    response.url().join(target).ok()
}

fn is_http(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
}

/// Says in plain words what the client says about proxies in its own.
fn without_jargon(message: String) -> String {
    match message.as_str() {
        "tunnel error: unsuccessful" => "the proxy refused to connect".to_owned(),
        "tunnel error: proxy authorization required" => {
            "the proxy wants a user name and a password, as in http://USER:PASSWORD@HOST:PORT".to_owned()
        }
        _ => message,
    }
}

fn answer(response: Response, url: &Url, idle: Option<Duration>) -> HttpResponse {
    let headers = response
        .headers()
        .iter()
        .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
        .collect();
    HttpResponse {
        status: response.status().as_u16(),
        headers,
        url: url.to_string(),
        body: Box::pin(IdleLimited::new(ReadAhead::new(response.bytes_stream()), idle)),
    }
}

/// Returns the URL without user-info, query and fragment; for an address that is not HTTP, only its scheme.
fn harmless(url: &Url) -> String {
    if !is_http(url) {
        return format!("a `{}:` address", url.scheme());
    }
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}
