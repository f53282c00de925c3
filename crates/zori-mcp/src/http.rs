//! The transport for clients that do not start the server: Streamable HTTP on one path.
//!
//! What a message means there (sessions, streams, versions, the `Host` and `Origin` of a request) is `rmcp`'s business. Ours
//! is who may come in: a request without the token gets no further than its headers.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::call::ToolCall;
use crate::server::{Server, ServerInfo};

/// The one path there is.
const PATH: &str = "/mcp";
/// The longest message, as on standard input.
const MOST_BYTES: usize = 16 << 20;
/// How many connections are served at once; more wait.
const MOST_CONNECTIONS: usize = 64;
/// How long a client may take for the headers of a request.
const HEADERS_WITHIN: Duration = Duration::from_secs(30);
/// A session that nobody has used for so long is over. A call may take hours without a word.
const SESSION_IDLE: Duration = Duration::from_secs(24 * 60 * 60);
/// How long open answers may take when the server ends, and how long everything may.
const ANSWERS_WITHIN: Duration = Duration::from_millis(300);
const GRACE: Duration = Duration::from_secs(1);
/// How long to wait where no connection can be taken: too many files are open.
const AGAIN: Duration = Duration::from_millis(100);

/// What `rmcp` says to who has no session, and where a body is no message.
const NO_SESSION: &[u8] = b"Bad Request: Session ID is required";
const NO_MESSAGE: &[u8] = b"fail to deserialize request body ";
const BEGIN: &str = "this came too early: `initialize` comes first, and what follows it carries the `Mcp-Session-Id` of its answer; \
     from version 2026-07-28 on a request needs no session and says its version in `MCP-Protocol-Version` and `_meta`";

/// Who may come in.
pub struct HttpGate {
    /// What a client has to show in `Authorization: Bearer`.
    pub token: String,
    /// Whether `Host` has to name this machine. An address that others reach has names that only they know.
    pub loopback: bool,
}

type Answer = Response<BoxBody<Bytes, Infallible>>;
type Service = StreamableHttpService<Server, LocalSessionManager>;

/// Serves until `stop` is dropped. Calls go out by `calls`, as from [`crate::serve`].
pub async fn serve_http(
    info: ServerInfo,
    listener: TcpListener,
    gate: HttpGate,
    calls: mpsc::Sender<ToolCall>,
    mut stop: watch::Receiver<()>,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let config = config(gate.loopback);
    let sessions_end = config.cancellation_token.clone();
    let server = Server::new(info, calls);
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(SESSION_IDLE);
    let service = StreamableHttpService::new(move || Ok(server.clone()), Arc::new(sessions), config);
    let door = Arc::new(Door { service, token: gate.token.into_bytes() });
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let place = tokio::select! {
            _ = stop.changed() => break,
            place = places.clone().acquire_owned() => place.map_err(io::Error::other)?,
        };
        let accepted = tokio::select! {
            _ = stop.changed() => break,
            accepted = listener.accept() => accepted,
        };
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = accepted else {
            sleep(AGAIN).await;
            continue;
        };
        let (door, stop) = (door.clone(), stop.clone());
        connections.spawn(async move {
            connection(stream, door, stop).await;
            drop(place);
        });
    }
    drop(listener);
    let mut ended = std::pin::pin!(async { while connections.join_next().await.is_some() {} });
    // The calls have their answers; then the streams that wait for more end, too.
    if timeout(ANSWERS_WITHIN, ended.as_mut()).await.is_err() {
        sessions_end.cancel();
        ended.await;
    }
    Ok(())
}

fn config(loopback: bool) -> StreamableHttpServerConfig {
    let config = StreamableHttpServerConfig::default()
        .with_max_request_body_bytes(MOST_BYTES)
        // A page of another origin has no business here; one of this machine still needs the token.
        .with_allowed_origins(["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"])
        .enforce_origin_validation();
    if loopback { config } else { config.disable_allowed_hosts() }
}

async fn connection(stream: TcpStream, door: Arc<Door>, mut stop: watch::Receiver<()>) {
    let service = service_fn(move |request| {
        let door = door.clone();
        async move { Ok::<_, Infallible>(door.answer(request).await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEADERS_WITHIN);
    let mut served = std::pin::pin!(http.serve_connection(TokioIo::new(stream), service));
    // What is wrong with a connection is its client's business.
    tokio::select! {
        _ = served.as_mut() => {}
        _ = stop.changed() => {
            served.as_mut().graceful_shutdown();
            let _ = timeout(GRACE, served).await;
        }
    }
}

/// What every request passes.
struct Door {
    service: Service,
    token: Vec<u8>,
}

impl Door {
    async fn answer(&self, request: Request<Incoming>) -> Answer {
        if !self.admits(request.headers().get(AUTHORIZATION)) {
            let words = "this server wants its token: `Authorization: Bearer TOKEN`";
            let mut refused = refusal(StatusCode::UNAUTHORIZED, words);
            refused.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            return refused;
        }
        if request.uri().path() != PATH {
            return refusal(StatusCode::NOT_FOUND, "the Model Context Protocol is spoken at `/mcp`");
        }
        let answer = self.service.handle(request).await;
        match answer.status() {
            StatusCode::BAD_REQUEST | StatusCode::UNSUPPORTED_MEDIA_TYPE => explained(answer).await,
            _ => answer,
        }
    }

    fn admits(&self, shown: Option<&HeaderValue>) -> bool {
        let Some((scheme, token)) = shown.and_then(|shown| shown.as_bytes().split_at_checked(7)) else {
            return false;
        };
        scheme.eq_ignore_ascii_case(b"bearer ") && same(token.trim_ascii(), &self.token)
    }
}

/// Says to a client without a session how it gets one, and to one without a message what is wrong with it; other complaints
/// stay as they are.
async fn explained(answer: Answer) -> Answer {
    let (head, body) = answer.into_parts();
    let words = match body.collect().await {
        Ok(body) => body.to_bytes(),
        Err(never) => match never {},
    };
    if words.as_ref() == NO_SESSION {
        return refusal(StatusCode::BAD_REQUEST, BEGIN);
    }
    match words.strip_prefix(NO_MESSAGE) {
        Some(why) => {
            let message = format!("this body is no JSON-RPC message: {}", String::from_utf8_lossy(why));
            let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": message}});
            let mut answer = refusal(StatusCode::BAD_REQUEST, error.to_string());
            answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            answer
        }
        None => Response::from_parts(head, Full::new(words).boxed()),
    }
}

/// Compares in a time that tells nothing of where two texts differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

fn refusal(status: StatusCode, words: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(words.into()).boxed());
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_the_token() {
        for (a, b, wanted) in [
            ("abc", "abc", true),
            ("abc", "abd", false),
            ("abc", "ab", false),
            ("", "a", false),
            ("xbc", "abc", false),
        ] {
            assert_eq!(same(a.as_bytes(), b.as_bytes()), wanted, "{a} {b}");
        }
    }
}
