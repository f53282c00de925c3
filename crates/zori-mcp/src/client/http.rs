//! A server over HTTP: each message is a request, and its answers come in the response (MCP-22, MCP-23). The older form, where a
//! stream of events brings all answers, is spoken where a server is said to, or does not understand the newer one.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use zori_core::transport::{
    Addresses, ByteStream, HttpRequest, HttpResponse, Method, Redirects, Timeouts, Transport,
};

use super::config::{ServerConfig, Way};
use super::peer::{Peer, RpcFailure};
use super::stdio::MAX_MESSAGE;

/// How long the older form may take to say where messages go.
const ENDPOINT: Duration = Duration::from_secs(15);

/// The way to one server.
pub struct Carrier {
    transport: Arc<dyn Transport>,
    url: String,
    headers: Vec<(&'static str, String)>,
    limits: Timeouts,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    session: Option<String>,
    version: Option<String>,
    /// Where messages of the older form go.
    endpoint: Option<String>,
    /// Whether the older form is spoken.
    events: bool,
}

impl Carrier {
    /// Makes the way to a server. Nobody is contacted.
    pub fn new(transport: Arc<dyn Transport>, config: &ServerConfig) -> Result<Self, String> {
        let Way::Http { url, sse, headers } = &config.way else { return Err("it has no address".to_owned()) };
        // A name of a header lives as long as the program; there are as many as servers have.
        let named = |(name, value): (&String, &String)| (&*name.to_ascii_lowercase().leak(), value.clone());
        let headers = headers.iter().map(named).collect();
        let limits = Timeouts {
            first_byte: Some(config.tool_timeout),
            idle: Some(config.tool_timeout * 10),
            ..Timeouts::DEFAULT
        };
        let state = Mutex::new(State { events: *sse, ..State::default() });
        Ok(Self { transport, url: url.clone(), headers, limits, state })
    }

    fn request(&self, method: Method, url: String, body: Bytes) -> HttpRequest {
        let mut headers = self.headers.clone();
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let accepts =
            if method == Method::Get { "text/event-stream" } else { "application/json, text/event-stream" };
        headers.push(("accept", accepts.to_owned()));
        if method == Method::Post {
            headers.push(("content-type", "application/json".to_owned()));
        }
        headers.extend(state.session.clone().map(|session| ("mcp-session-id", session)));
        headers.extend(state.version.clone().map(|version| ("mcp-protocol-version", version)));
        HttpRequest {
            method,
            url,
            headers,
            body,
            limits: self.limits,
            redirects: Redirects::SameOrigin,
            addresses: Addresses::NotLinkLocal,
        }
    }

    fn with_state<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sends one message, and hands in what comes back.
    async fn post(self: &Arc<Self>, message: Value, peer: &Arc<Peer>) {
        let id = message["id"].as_u64().filter(|_| message.get("method").is_some());
        let first = message["method"] == "initialize";
        if let Err(why) = self.exchange(&message, peer, first).await {
            match (id, &why) {
                (_, RpcFailure::NeedsAuth(_)) => peer.close(why),
                (Some(id), _) => peer.fail(id, why),
                (None, _) => {}
            }
        }
    }

    async fn exchange(
        self: &Arc<Self>,
        message: &Value,
        peer: &Arc<Peer>,
        first: bool,
    ) -> Result<(), RpcFailure> {
        let url = match self.with_state(|state| (state.events, state.endpoint.clone())) {
            (false, _) => self.url.clone(),
            (true, Some(endpoint)) => endpoint,
            (true, None) => return Err(RpcFailure::Closed("it did not say where messages go".to_owned())),
        };
        let body = Bytes::from(message.to_string());
        let sent = self.transport.send(self.request(Method::Post, url, body)).await;
        let response = sent.map_err(|error| RpcFailure::Closed(format!("it cannot be reached: {error}")))?;
        match response.status {
            200..=299 => {}
            401 | 403 => {
                let why = format!(
                    "it answered {}: it wants a login, and this version has none for MCP servers; a token can be given in `headers`",
                    response.status
                );
                return Err(RpcFailure::NeedsAuth(why));
            }
            404 if self.with_state(|state| state.session.is_some()) => {
                let why = RpcFailure::Closed("its session has ended".to_owned());
                peer.close(why.clone());
                return Err(why);
            }
            400 | 404 | 405 if first => {
                return Err(RpcFailure::Error {
                    code: i64::from(response.status),
                    message: OLDER.to_owned(),
                });
            }
            status => return Err(RpcFailure::Closed(format!("it answered with the HTTP status {status}"))),
        }
        if first && let Some(session) = response.header("mcp-session-id") {
            let session = session.to_owned();
            self.with_state(|state| state.session = Some(session));
        }
        let events =
            response.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
        let id = message["id"].as_u64();
        let seen = |said: &Value| {
            if first && let Some(version) = said["result"]["protocolVersion"].as_str() {
                self.with_state(|state| state.version = Some(version.to_owned()));
            }
            id.is_some() && said["id"].as_u64() == id && said.get("method").is_none()
        };
        if events {
            let mut answered = false;
            read_events(response, |_, data| {
                if let Ok(said) = serde_json::from_str::<Value>(data) {
                    answered |= seen(&said);
                    peer.receive(said);
                }
                !answered
            })
            .await?;
            return match answered || id.is_none() {
                true => Ok(()),
                false => Err(RpcFailure::Closed("its answer ended early".to_owned())),
            };
        }
        let body = whole(response.body).await?;
        if body.trim_ascii().is_empty() {
            return Ok(());
        }
        let said: Value = serde_json::from_slice(&body)
            .map_err(|error| RpcFailure::Closed(format!("its answer is no JSON: {error}")))?;
        seen(&said);
        peer.receive(said);
        Ok(())
    }

    /// Opens the stream of the older form, which brings all answers. Returns when it ends.
    async fn listen(self: Arc<Self>, peer: Arc<Peer>, ready: watch::Sender<bool>) {
        let sent = self.transport.send(self.request(Method::Get, self.url.clone(), Bytes::new())).await;
        let ended = match sent {
            Err(error) => RpcFailure::Closed(format!("it cannot be reached: {error}")),
            Ok(response) if response.status == 401 || response.status == 403 => {
                RpcFailure::NeedsAuth(format!("it answered {}: it wants a login", response.status))
            }
            Ok(response) if response.status != 200 => {
                RpcFailure::Closed(format!("it answered with the HTTP status {}", response.status))
            }
            Ok(response) => {
                let read = read_events(response, |event, data| {
                    if event == "endpoint" {
                        let place = joined(&self.url, data.trim());
                        self.with_state(|state| state.endpoint = place);
                        ready.send_replace(true);
                    } else if let Ok(said) = serde_json::from_str::<Value>(data) {
                        peer.receive(said);
                    }
                    true
                });
                read.await.err().unwrap_or_else(|| RpcFailure::Closed("it closed its stream".to_owned()))
            }
        };
        peer.close(ended);
        ready.send_replace(true);
    }
}

/// What tells that a server does not understand the newer form.
const OLDER: &str = "it does not understand the newer form of HTTP";

/// Carries messages until it is stopped.
pub async fn carry(
    carrier: Carrier,
    peer: Arc<Peer>,
    mut queue: mpsc::UnboundedReceiver<Value>,
    mut stop: watch::Receiver<bool>,
) {
    let carrier = Arc::new(carrier);
    let mut tasks = JoinSet::new();
    if carrier.with_state(|state| state.events) {
        open_events(&carrier, &peer, &mut tasks).await;
    }
    loop {
        tokio::select! {
            biased;
            () = async { drop(stop.wait_for(|stop| *stop).await) } => break,
            _ = peer.closed() => break,
            Some(_) = tasks.join_next(), if !tasks.is_empty() => {}
            message = queue.recv() => {
                let Some(message) = message else { break };
                if message["method"] == "initialize" && !carrier.with_state(|state| state.events) {
                    let failed = carrier.exchange(&message, &peer, true).await.err();
                    match failed {
                        None => {}
                        Some(RpcFailure::Error { message: why, .. }) if why == OLDER => {
                            carrier.with_state(|state| state.events = true);
                            open_events(&carrier, &peer, &mut tasks).await;
                            carrier.post(message, &peer).await;
                        }
                        Some(why) => peer.close(why),
                    }
                    continue;
                }
                let (carrier, peer) = (carrier.clone(), peer.clone());
                tasks.spawn(async move { carrier.post(message, &peer).await });
            }
        }
    }
    peer.close(RpcFailure::Closed("it was stopped".to_owned()));
    tasks.abort_all();
}

async fn open_events(carrier: &Arc<Carrier>, peer: &Arc<Peer>, tasks: &mut JoinSet<()>) {
    let (ready, mut is_ready) = watch::channel(false);
    tasks.spawn(carrier.clone().listen(peer.clone(), ready));
    let _ = tokio::time::timeout(ENDPOINT, is_ready.wait_for(|ready| *ready)).await;
}

/// Reads a body whole, within the bound of a message.
async fn whole(mut body: ByteStream) -> Result<Vec<u8>, RpcFailure> {
    let mut bytes = Vec::new();
    while let Some(chunk) = next(&mut body).await? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_MESSAGE {
            return Err(too_long());
        }
    }
    Ok(bytes)
}

fn too_long() -> RpcFailure {
    RpcFailure::Closed(format!("it sent a message of more than {} MiB", MAX_MESSAGE >> 20))
}

async fn next(body: &mut ByteStream) -> Result<Option<Bytes>, RpcFailure> {
    match std::future::poll_fn(|cx| body.as_mut().poll_next(cx)).await {
        None => Ok(None),
        Some(Ok(chunk)) => Ok(Some(chunk)),
        Some(Err(error)) => Err(RpcFailure::Closed(format!("its answer broke off: {error}"))),
    }
}

/// Reads events until the stream ends or `take` has enough.
async fn read_events(
    response: HttpResponse,
    mut take: impl FnMut(&str, &str) -> bool,
) -> Result<(), RpcFailure> {
    let mut body = response.body;
    let (mut buffer, mut event, mut data) = (Vec::new(), String::new(), String::new());
    while let Some(chunk) = next(&mut body).await? {
        buffer.extend_from_slice(&chunk);
        if buffer.len() + data.len() > MAX_MESSAGE {
            return Err(too_long());
        }
        while let Some(end) = buffer.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = buffer.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\n', '\r']);
            if line.is_empty() {
                let (event, data) = (std::mem::take(&mut event), std::mem::take(&mut data));
                if !data.is_empty() && !take(&event, &data) {
                    return Ok(());
                }
            } else if let Some(name) = line.strip_prefix("event:") {
                event = name.trim().to_owned();
            } else if let Some(more) = line.strip_prefix("data:") {
                if !data.is_empty() {
                    data.push('\n');
                }
                data.push_str(more.strip_prefix(' ').unwrap_or(more));
            }
        }
    }
    Ok(())
}

/// Returns where a relative address leads, within the same origin; `None` where it leads elsewhere.
fn joined(base: &str, place: &str) -> Option<String> {
    let (scheme, rest) = base.split_once("://")?;
    let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    let origin = format!("{scheme}://{authority}");
    if let Some(rest) = place.strip_prefix(&origin) {
        return (rest.is_empty() || rest.starts_with(['/', '?'])).then(|| place.to_owned());
    }
    if place.contains("://") || place.starts_with("//") {
        return None;
    }
    match place.starts_with('/') {
        true => Some(format!("{origin}{place}")),
        false => {
            let folder = path
                .split(['?', '#'])
                .next()
                .and_then(|path| path.rsplit_once('/'))
                .map_or("", |(folder, _)| folder);
            Some(format!("{origin}{folder}/{place}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_messages_stays_with_its_server() {
        let of = |place| joined("https://x.example:8/a/sse?b", place);
        assert_eq!(of("/messages?id=1").unwrap(), "https://x.example:8/messages?id=1");
        assert_eq!(of("messages").unwrap(), "https://x.example:8/a/messages");
        assert_eq!(of("https://x.example:8/m").unwrap(), "https://x.example:8/m");
        assert_eq!(of("https://x.example:80/m"), None);
        assert_eq!(of("https://evil.example/m"), None);
        assert_eq!(of("//evil.example/m"), None);
    }
}
