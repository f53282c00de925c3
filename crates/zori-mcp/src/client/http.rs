//! A server over HTTP: each message is a request, and its answers come in the response (MCP-22, MCP-23). The older form, where a
//! stream of events brings all answers, is spoken where a server is said to, or does not understand the newer one.

mod events;
pub(super) mod headers;
mod listening;
mod reason;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use zori_core::secret::Secret;
use zori_core::transport::{
    Addresses, Headers, HttpRequest, HttpResponse, Method, Redirects, Timeouts, Transport,
};

use self::events::{StreamPosition, whole};
use self::reason::{of_login, reason};
use super::config::{ServerConfig, Way};
use super::handshake::META_VERSION;
use super::oauth::bearer::Bearer;
use super::oauth::{Challenge, LoginError};
use super::peer::{Outgoing, Peer, RpcFailure};
use super::subscription;

/// How long a session may take to end.
const FAREWELL: Duration = Duration::from_secs(1);
/// What a server may answer with a question of its own.
const ASK_BACK: &[&str] = &["tools/call", "prompts/get", "resources/read"];
/// So often in a row a stream is asked for again that brings nothing new.
const FRUITLESS: usize = 5;

/// The way to one server.
pub struct Carrier {
    name: String,
    transport: Arc<dyn Transport>,
    url: String,
    headers: Headers,
    /// Whether somebody configured what lets requests in.
    own_token: bool,
    bearer: Option<Arc<Bearer>>,
    limits: Timeouts,
    state: Mutex<State>,
    /// One new session at a time.
    renewal: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    session: Option<String>,
    /// What the session began with.
    hello: Option<Outgoing>,
    version: Option<String>,
    /// Where messages of the older form go.
    endpoint: Option<String>,
    /// Whether the older form is spoken.
    events: bool,
    /// The streams that stay open.
    streams: Vec<AbortHandle>,
    /// Becomes true when the server has answered whether it speaks by itself; closed where nobody asks it.
    attended: Option<watch::Receiver<bool>>,
}

impl Carrier {
    /// Makes the way to a server. Nobody is contacted.
    pub fn new(
        transport: Arc<dyn Transport>,
        config: &ServerConfig,
        bearer: Option<Arc<Bearer>>,
    ) -> Result<Self, String> {
        let Way::Http { url, sse, headers } = &config.way else { return Err("it has no address".to_owned()) };
        let named = |(name, value): (&String, &String)| match headers::is_token(name) {
            true => Ok((name.to_ascii_lowercase().into(), value.clone())),
            false => Err(format!("`{name}` is no name of a header")),
        };
        let headers = headers.iter().map(named).collect::<Result<Headers, _>>()?;
        let limits = Timeouts {
            first_byte: Some(config.tool_timeout),
            idle: Some(config.tool_timeout * 10),
            ..Timeouts::DEFAULT
        };
        let own_token = headers.iter().any(|(name, _)| name == "authorization");
        let state = Mutex::new(State { events: *sse, ..State::default() });
        let name = config.name.clone();
        let (url, renewal) = (url.clone(), tokio::sync::Mutex::default());
        Ok(Self { name, transport, url, headers, own_token, bearer, limits, state, renewal })
    }

    fn request(&self, method: Method, url: String, body: Bytes) -> HttpRequest {
        let mut headers = self.headers.clone();
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let accepts =
            if method == Method::Get { "text/event-stream" } else { "application/json, text/event-stream" };
        headers.push(("accept".into(), accepts.to_owned()));
        if method == Method::Post {
            headers.push(("content-type".into(), "application/json".to_owned()));
        }
        headers.extend(state.session.clone().map(|session| ("mcp-session-id".into(), session)));
        headers.extend(state.version.clone().map(|version| ("mcp-protocol-version".into(), version)));
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

    /// Returns the request that carries a message.
    fn posting(&self, sent: &Outgoing, url: String) -> HttpRequest {
        let message = &sent.message;
        let mut request = self.request(Method::Post, url, Bytes::from(message.to_string()));
        if let Some(version) = message["params"]["_meta"][META_VERSION].as_str() {
            request.headers.retain(|(name, _)| name != "mcp-protocol-version");
            request.headers.push(("mcp-protocol-version".into(), version.to_owned()));
            let method = message["method"].as_str().unwrap_or_default();
            request.headers.push(("mcp-method".into(), method.to_owned()));
            let name = match message["method"].as_str() {
                Some("tools/call" | "prompts/get") => message["params"]["name"].as_str(),
                Some("resources/read") => message["params"]["uri"].as_str(),
                _ => None,
            };
            request.headers.extend(name.map(|name| ("mcp-name".into(), headers::encoded(name))));
            request.headers.extend(sent.headers.iter().cloned());
        }
        if message["method"] == subscription::METHOD {
            // It is silent until something changes.
            request.limits = self.patient();
        }
        request
    }

    /// Returns the limits of a stream on which nothing may come for as long as it likes.
    fn patient(&self) -> Timeouts {
        Timeouts { first_byte: None, idle: None, pings: None, ..self.limits }
    }

    fn with_state<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sends a request with the token of a login, once more with another where that is refused.
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, RpcFailure> {
        let mut token = match &self.bearer {
            Some(bearer) => bearer.token(&*self.transport).await.map_err(|error| self.no_token(&error))?,
            None => None,
        };
        let mut again = true;
        loop {
            let mut request = request.clone();
            request.headers.extend(token.iter().map(|token| ("authorization".into(), bearer_header(token))));
            let sent = self.transport.send(request).await;
            let response = sent
                .map_err(|error| RpcFailure::Closed(format!("it cannot be reached: {}", reason(&error))))?;
            if !matches!(response.status, 401 | 403) {
                return Ok(response);
            }
            let challenge = Challenge::of(&response);
            if response.status == 401
                && let (Some(bearer), Some(refused), true) = (&self.bearer, &token, again)
            {
                let another = bearer.after_refusal(refused, &*self.transport).await;
                let another = match another {
                    Err(error @ LoginError::Unreachable(_)) => return Err(self.no_token(&error)),
                    another => another.unwrap_or_default(),
                };
                if another.is_some() {
                    (token, again) = (another, false);
                    continue;
                }
            }
            return Err(self.shut_out(response.status, challenge));
        }
    }

    fn no_token(&self, error: &LoginError) -> RpcFailure {
        match error {
            LoginError::TokenRefused(_) => RpcFailure::NeedsAuth(format!(
                "its login has ended and could not be renewed: `zori mcp login {}`",
                self.name
            )),
            error => RpcFailure::Closed(of_login(error, &self.name)),
        }
    }

    /// Says why a request was not let in, and remembers what the server wants.
    fn shut_out(&self, status: u16, challenge: Challenge) -> RpcFailure {
        let name = &self.name;
        let words = match &self.bearer {
            _ if self.own_token => format!("it answered {status}: it does not take the token in `headers`"),
            None => format!(
                "it answered {status}: it wants a login, and there is nowhere to keep one; a token can be given in `headers`"
            ),
            Some(_) if challenge.wants_more_scope() => match &challenge.scope {
                Some(scope) => format!(
                    "its login is not good for this, which takes `{}`: `zori mcp login {name}` asks for it",
                    zori_core::text::prefix(scope, 200)
                ),
                None => format!("its login is not good for this: `zori mcp login {name}`"),
            },
            Some(_) if status == 403 => {
                format!("it answered 403: it does not let this user in (`zori mcp login {name}`)")
            }
            Some(_) => format!("it wants a login: `zori mcp login {name}`"),
        };
        if let Some(bearer) = &self.bearer {
            bearer.challenged(challenge);
        }
        RpcFailure::NeedsAuth(words)
    }

    /// Sends one message, and hands in what comes back.
    async fn post(self: Arc<Self>, sent: Outgoing, peer: Arc<Peer>) {
        let id = sent.message["id"].as_u64().filter(|_| sent.message.get("method").is_some());
        let first = sent.message["method"] == "initialize";
        // Set before anything is waited for, so that a call behind it finds it.
        let attended = (sent.message["method"] == "notifications/initialized").then(|| {
            let (attended, is_attended) = watch::channel(false);
            self.with_state(|state| state.attended = Some(is_attended));
            attended
        });
        if sent.message["method"].as_str().is_some_and(|method| ASK_BACK.contains(&method)) {
            self.until_attended().await;
        }
        let session = self.with_state(|state| state.session.clone());
        let mut outcome = match self.events_ready(&peer).await {
            Ok(()) => self.exchange(&sent, &peer, first).await,
            Err(why) => Err(why),
        };
        if is_over(&outcome) && id.is_some() && self.begin_again(session.as_deref(), &peer).await {
            outcome = self.exchange(&sent, &peer, false).await;
        }
        if is_over(&outcome) {
            self.with_state(|state| state.session = None);
            peer.close(RpcFailure::Closed(OVER.to_owned()));
        }
        if first
            && outcome
                .as_ref()
                .is_err_and(|why| matches!(why, RpcFailure::Error { message, .. } if message == OLDER))
        {
            self.with_state(|state| state.events = true);
            outcome = match self.events_ready(&peer).await {
                Ok(()) => self.exchange(&sent, &peer, false).await,
                Err(why) => Err(why),
            };
        }
        if let Some(attended) = attended.filter(|_| outcome.is_ok()) {
            self.attend(&peer, attended);
        }
        let Err(why) = outcome else { return };
        match (id, &why) {
            // A login that is not good for one call is good for others.
            (_, RpcFailure::NeedsAuth(_)) if self.locked_out() => peer.close(why),
            (Some(_), RpcFailure::Closed(_)) if first => peer.close(why),
            (Some(id), _) => peer.fail(id, why),
            (None, _) => {}
        }
    }

    fn locked_out(&self) -> bool {
        let challenge = self.bearer.as_ref().and_then(|bearer| bearer.challenge());
        !challenge.is_some_and(|challenge| challenge.wants_more_scope())
    }

    async fn exchange(
        self: &Arc<Self>,
        sent: &Outgoing,
        peer: &Arc<Peer>,
        first: bool,
    ) -> Result<(), RpcFailure> {
        let message = &sent.message;
        let url = match self.with_state(|state| (state.events, state.endpoint.clone())) {
            (false, _) => self.url.clone(),
            (true, Some(endpoint)) => endpoint,
            (true, None) => return Err(RpcFailure::Closed("it did not say where messages go".to_owned())),
        };
        let response = self.send(self.posting(sent, url)).await?;
        match response.status {
            200..=299 => {}
            404 if !first && self.with_state(|state| state.session.is_some()) => {
                return Err(RpcFailure::Closed(OVER.to_owned()));
            }
            400 | 404 | 405 if first => {
                return Err(RpcFailure::Error {
                    code: i64::from(response.status),
                    message: OLDER.to_owned(),
                });
            }
            status => return Err(refused(status, response, message).await),
        }
        if first && let Some(session) = response.header("mcp-session-id") {
            let session = session.to_owned();
            self.with_state(|state| (state.session, state.hello) = (Some(session), Some(sent.clone())));
        }
        // It was taken, whatever words say so; what it is answered comes on the stream.
        if response.status == 202 || self.with_state(|state| state.events) {
            return whole(response.body).await.map(drop);
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
            return self.follow(response, peer, id.is_some(), seen).await;
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

    /// Begins a new session in place of one that the server has forgotten (MCP-35). Returns whether there is one.
    async fn begin_again(self: &Arc<Self>, over: Option<&str>, peer: &Arc<Peer>) -> bool {
        let _turn = self.renewal.lock().await;
        if self.with_state(|state| state.session.as_deref() != over) {
            // Somebody else was there first.
            return self.with_state(|state| state.session.is_some());
        }
        let hello = self.with_state(|state| {
            (state.session, state.version) = (None, None);
            state.streams.drain(..).for_each(|stream| stream.abort());
            state.hello.take()
        });
        let Some(hello) = hello else { return false };
        // Nobody waits for its answer: the server is known.
        if self.exchange(&hello, peer, true).await.is_err() {
            return false;
        }
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized", "params": {}});
        if self.exchange(&told.into(), peer, false).await.is_err() {
            return false;
        }
        let (attended, is_attended) = watch::channel(false);
        self.with_state(|state| state.attended = Some(is_attended));
        self.attend(peer, attended);
        self.until_attended().await;
        // It may have become another in the meantime.
        peer.receive(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
        true
    }

    /// Reads the stream that a message is answered with, and takes it up again where it ends early and says where it was.
    async fn follow(
        self: &Arc<Self>,
        mut response: HttpResponse,
        peer: &Arc<Peer>,
        expected: bool,
        seen: impl Fn(&Value) -> bool,
    ) -> Result<(), RpcFailure> {
        let (mut position, mut fruitless) = (StreamPosition::default(), 0);
        loop {
            let (mut answered, before) = (false, position.last.clone());
            let read = events::read(response, &mut position, |_, data| {
                if let Ok(said) = serde_json::from_str::<Value>(data) {
                    answered |= seen(&said);
                    peer.receive(said);
                }
                !answered
            })
            .await;
            if answered || !expected {
                return Ok(());
            }
            fruitless = if position.last == before { fruitless + 1 } else { 0 };
            if position.last.is_none() || fruitless >= FRUITLESS {
                return Err(read
                    .err()
                    .unwrap_or_else(|| RpcFailure::Closed("its answer ended early".to_owned())));
            }
            response = loop {
                tokio::time::sleep(position.pause()).await;
                match self.stream(&position, self.limits).await {
                    Ok(response) if response.status == 200 => break response,
                    Ok(response) => {
                        let why = format!(
                            "its answer ended early, and cannot be taken up again (HTTP status {})",
                            response.status
                        );
                        return Err(RpcFailure::Closed(why));
                    }
                    Err(why) if fruitless + 1 >= FRUITLESS || matches!(why, RpcFailure::NeedsAuth(_)) => {
                        return Err(why);
                    }
                    Err(_) => fruitless += 1,
                }
            };
        }
    }

    /// Ends the session, if there is one (MCP-23).
    async fn farewell(&self) {
        if self.with_state(|state| state.session.is_none() || state.events) {
            return;
        }
        let request = self.request(Method::Delete, self.url.clone(), Bytes::new());
        let _ = tokio::time::timeout(FAREWELL, self.send(request)).await;
    }
}

fn bearer_header(token: &Secret) -> String {
    format!("Bearer {}", token.reveal())
}

/// Returns what a server said with a status that is none of success.
async fn refused(status: u16, response: HttpResponse, message: &Value) -> RpcFailure {
    let body = whole(response.body).await.unwrap_or_default();
    let said: Value = serde_json::from_slice(&body).unwrap_or_default();
    if let (Some(code), words) = (said["error"]["code"].as_i64(), said["error"]["message"].as_str()) {
        let message = words.unwrap_or("it gave no reason").to_owned();
        return RpcFailure::Error { code, message };
    }
    let words = format!("it answered with the HTTP status {status}");
    match message["method"] == "server/discover" {
        true => RpcFailure::Error { code: i64::from(status), message: words },
        false => RpcFailure::Closed(words),
    }
}

/// What tells that a server has forgotten a session.
const OVER: &str = "its session has ended";

fn is_over(outcome: &Result<(), RpcFailure>) -> bool {
    matches!(outcome, Err(RpcFailure::Closed(why)) if why == OVER)
}

/// What tells that a server does not understand the newer form.
const OLDER: &str = "it does not understand the newer form of HTTP";

/// Carries messages until it is stopped.
pub async fn carry(
    carrier: Carrier,
    peer: Arc<Peer>,
    mut queue: mpsc::UnboundedReceiver<Outgoing>,
    mut stop: watch::Receiver<bool>,
) {
    let carrier = Arc::new(carrier);
    let mut tasks = JoinSet::new();
    let mut running: HashMap<u64, AbortHandle> = HashMap::new();
    loop {
        tokio::select! {
            biased;
            () = async { drop(stop.wait_for(|stop| *stop).await) } => break,
            _ = peer.closed() => break,
            Some(_) = tasks.join_next(), if !tasks.is_empty() => {}
            sent = queue.recv() => {
                let Some(sent) = sent else { break };
                let message = &sent.message;
                // With the newer protocol a call is given up by closing its stream.
                if message["method"] == "notifications/cancelled" && message["params"]["_meta"][META_VERSION].is_string() {
                    if let Some(task) = message["params"]["requestId"].as_u64().and_then(|id| running.remove(&id)) {
                        task.abort();
                    }
                    continue;
                }
                running.retain(|_, task| !task.is_finished());
                let id = message["id"].as_u64();
                let task = tasks.spawn(carrier.clone().post(sent, peer.clone()));
                running.extend(id.map(|id| (id, task)));
            }
        }
    }
    peer.stop();
    tasks.abort_all();
    carrier.with_state(|state| state.streams.drain(..).for_each(|stream| stream.abort()));
    carrier.farewell().await;
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
