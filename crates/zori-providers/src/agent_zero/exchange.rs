//! One exchange with the server: the message goes out, the wait is reported, the answer is read.

use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use tokio::time::sleep;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::message::Message;
use zori_core::provider::{Chunk, StopReason};
use zori_core::transport::{HttpRequest, HttpResponse, Method};

use super::answer::Format;
use super::log_feed::LogFeed;
use super::outgoing::{Outgoing, Payload};
use super::reply::Reply;
use super::state::ChatState;
use super::stream::Output;
use super::{Attachment, Connection, Preface, StreamMode};
use crate::failure;
use crate::key::Credential;

/// Statuses that say that the message itself is wrong: malformed, too large, of a kind or with content that is not taken.
const REFUSED: [u16; 4] = [400, 413, 415, 422];
/// The handler's name; the route before it differs by version.
const HANDLER: &str = "/api_message";
const NEW_ROUTE: &str = "/api/api_message";
/// How much of an error that is no JSON is shown (SRV-5).
const MAX_ERROR: usize = 500;
/// How much of an error's body is read.
const MAX_ERROR_BODY: usize = 64 * 1024;

/// Sends what is due and puts the reply out.
pub(super) async fn run(
    connection: Arc<Connection>,
    outgoing: Outgoing,
    out: Output,
) -> Result<(), ProviderFailure> {
    let result = connection.exchange(outgoing, &out).await;
    result.map_err(|failure| connection.endpoint.without_key(failure))
}

/// What an attempt came to.
enum Attempt {
    Answered(HttpResponse),
    /// The server does not know the chat any more (SRV-6).
    ChatLost,
    /// Nothing is at this route; what the server said of it.
    OtherRoute(ProviderFailure),
}

/// A message that is ready to go.
struct Outbound {
    text: String,
    files: Vec<Attachment>,
    /// The state of the chat once it is sent.
    next: ChatState,
}

impl Connection {
    async fn exchange(&self, outgoing: Outgoing, out: &Output) -> Result<(), ProviderFailure> {
        let Outgoing { mut state, payload, rounds } = outgoing;
        let max = self.options.max_tool_rounds;
        if rounds > max {
            let message =
                format!("the server asked for tools {max} times in a row (`connection.max_tool_rounds`)");
            return Err(ProviderFailure::new(FailureKind::ApiError, message));
        }
        if let (Payload::Results { .. }, Some(why)) = (&payload, self.why_unsent(&state)) {
            out.put(Chunk::Started { model: super::NAME.to_owned() });
            out.status(format!("The tool's result was not sent: {why}"));
            out.put(Chunk::Done(StopReason::Other("the tool's result was not sent".to_owned())));
            return Ok(());
        }
        if matches!(payload, Payload::Prompt { .. }) {
            state.waiting.clear();
        }
        let began = self.endpoint.clock.elapsed();
        let (mut lost, mut rerouted, mut prepared) = (false, None, None);
        loop {
            let message = match prepared.take() {
                Some(prepared) => prepared,
                None => self.message(&payload, &state, out).await,
            };
            let body = self.body(&message, &payload, &state);
            let waiting = self.attempt(body);
            let answered = self.until(waiting, state.context_id.as_deref(), began, out).await?;
            if let Err(failure) = &answered {
                self.give_up(&message.files, failure, out);
            }
            // The other route is remembered once something answers there (SRV-1).
            let answered = match (rerouted.take(), answered) {
                (Some(first), Ok(Attempt::OtherRoute(_))) => {
                    self.other_route.fetch_xor(true, Ordering::Relaxed);
                    Err(first)
                }
                (Some(_), Err(failure)) if failure.status.is_none() => {
                    self.other_route.fetch_xor(true, Ordering::Relaxed);
                    Err(failure)
                }
                (Some(_), answered) => {
                    let now = self.other_route.load(Ordering::Relaxed);
                    out.status(format!(
                        "The server has no handler at {}; {} is used from now on",
                        self.url(!now),
                        self.url(now),
                    ));
                    answered
                }
                (None, answered) => answered,
            };
            let response = match answered? {
                Attempt::Answered(response) => response,
                Attempt::ChatLost if !lost && matches!(payload, Payload::Prompt { .. }) => {
                    lost = true;
                    state = ChatState::default();
                    out.status(
                        "The server no longer knows this chat (it expired or was removed); a new one begins",
                    );
                    continue;
                }
                Attempt::ChatLost => {
                    let message = "the server lost this chat while it ran; ask again to begin a new one";
                    return Err(ProviderFailure {
                        status: Some(404),
                        ..ProviderFailure::new(FailureKind::HttpStatus, message)
                    });
                }
                Attempt::OtherRoute(said) => {
                    rerouted = Some(said);
                    prepared = Some(message);
                    self.other_route.fetch_xor(true, Ordering::Relaxed);
                    continue;
                }
            };
            if let (Some(builder), 1..) = (&self.preface, message.files.len()) {
                builder.delivered(message.files.len());
            }
            return self.read(response, message.next, began, out).await;
        }
    }

    /// Lets files go along no more where the server says that the message itself is wrong: with them every further one would be.
    fn give_up(&self, files: &[Attachment], failure: &ProviderFailure, out: &Output) {
        let refused = failure.status.is_some_and(|status| REFUSED.contains(&status));
        if let (Some(builder), true, [_, ..]) = (&self.preface, refused, files) {
            builder.delivered(files.len());
            let names: Vec<&str> = files.iter().map(|file| file.filename.as_str()).collect();
            out.status(format!(
                "The server refused the message; the next one goes without {}",
                names.join(", ")
            ));
        }
    }

    /// Returns why the result of a tool stays here (TR-4).
    fn why_unsent(&self, state: &ChatState) -> Option<&'static str> {
        if !self.options.send_tool_results {
            return Some("`connection.send_tool_results` is false");
        }
        state.context_id.is_none().then_some("the server has given no context id")
    }

    /// Returns the message (REQ-6).
    async fn message(&self, payload: &Payload, state: &ChatState, out: &Output) -> Outbound {
        let mut next = state.clone();
        let text = match payload {
            Payload::Results { results, text } => {
                let mut lines: Vec<String> =
                    results.iter().map(|result| json!({ "tool_result": result }).to_string()).collect();
                if !text.is_empty() {
                    lines.push(format!("USER: {text}"));
                }
                return Outbound { text: lines.join("\n\n"), files: Vec::new(), next };
            }
            Payload::Prompt { text, .. } => text,
        };
        let Preface { blocks, signature, status, attachments: files } = self.preface(state).await;
        status.into_iter().for_each(|line| out.status(line));
        if blocks.is_empty() {
            return Outbound { text: text.clone(), files, next };
        }
        next.context_signature = signature.or(next.context_signature);
        Outbound { text: format!("{}\n\nUSER: {text}", blocks.join("\n\n")), files, next }
    }

    /// Builds what goes before a prompt, off the thread that waits for everything else.
    async fn preface(&self, state: &ChatState) -> Preface {
        let Some(builder) = self.preface.clone() else { return Preface::default() };
        let (known, new_chat) = (state.context_signature.clone(), state.context_id.is_none());
        let built = tokio::task::spawn_blocking(move || builder.build(known.as_deref(), new_chat));
        // A builder that fails never keeps a prompt from being sent (CB-10).
        built.await.unwrap_or_default()
    }

    fn body(&self, message: &Outbound, payload: &Payload, state: &ChatState) -> Vec<u8> {
        let mut body = Map::new();
        body.insert("message".to_owned(), json!(message.text));
        let hours = self.options.lifetime_hours;
        let whole = hours.fract() == 0.0 && hours.abs() < 1e9;
        body.insert("lifetime_hours".to_owned(), if whole { json!(hours as i64) } else { json!(hours) });
        match &state.context_id {
            Some(id) => {
                body.insert("context_id".to_owned(), json!(id));
            }
            // The server takes them with the first message only (SRV-3).
            None => {
                let names = [
                    ("project_name", &self.options.server_project),
                    ("agent_profile", &self.options.server_profile),
                ];
                for (field, value) in names {
                    body.extend(value.as_ref().map(|value| (field.to_owned(), json!(value))));
                }
            }
        }
        let images = match payload {
            Payload::Prompt { attachments, .. } => attachments.as_slice(),
            Payload::Results { .. } => &[],
        };
        let file =
            |file: &Attachment| json!({ "filename": file.filename, "base64": STANDARD.encode(&file.bytes) });
        let attachments: Vec<Value> = images.iter().cloned().chain(message.files.iter().map(file)).collect();
        if !attachments.is_empty() {
            body.insert("attachments".to_owned(), json!(attachments));
        }
        if self.options.stream {
            body.insert("stream".to_owned(), json!(true));
        }
        Value::Object(body).to_string().into_bytes()
    }

    /// Returns the address of the handler, at its configured route or at the other one.
    fn url(&self, other: bool) -> String {
        let base = self.endpoint.base_url.as_str();
        match (other, base.strip_suffix(NEW_ROUTE), base.strip_suffix(HANDLER)) {
            (true, Some(root), _) => format!("{root}{HANDLER}"),
            (true, None, Some(root)) => format!("{root}{NEW_ROUTE}"),
            _ => base.to_owned(),
        }
    }

    /// Returns the address of another handler of the server; `None` where the routes are not the real server's.
    fn sibling(&self, name: &str) -> Option<String> {
        let url = self.url(self.other_route.load(Ordering::Relaxed));
        Some(format!("{}/{name}", url.strip_suffix(HANDLER)?))
    }

    fn post(&self, url: String, body: Vec<u8>) -> Result<HttpRequest, ProviderFailure> {
        let mut headers = Vec::new();
        if self.options.stream {
            let accept = "text/event-stream, application/x-ndjson, application/json";
            headers.push(("accept", accept.to_owned()));
        }
        if let Some(key) = &self.endpoint.key {
            Credential::usable(Some(key), "AGENTZERO_API_KEY")?;
            headers.push(("x-api-key", key.secret().reveal().to_owned()));
        }
        Ok(HttpRequest { url, ..self.endpoint.post("", headers, body) })
    }

    async fn attempt(&self, body: Vec<u8>) -> Result<Attempt, ProviderFailure> {
        let request = self.post(self.url(self.other_route.load(Ordering::Relaxed)), body)?;
        let sent = self.endpoint.transport.send(request).await;
        let mut response = sent.map_err(|failure| {
            let failed = failure::before_answer(&failure);
            ProviderFailure { message: format!("{} ({})", failed.message, self.endpoint.base_url), ..failed }
        })?;
        let status = response.status;
        if (200..300).contains(&status) {
            return Ok(Attempt::Answered(response));
        }
        let (body, _) = failure::read_bounded(&mut response.body, MAX_ERROR_BODY).await;
        let said = error_text(&body);
        if status == 404 && said.as_deref().is_some_and(|said| said.contains("Context not found")) {
            return Ok(Attempt::ChatLost);
        }
        let failure = refusal(status, said);
        let message = format!("{} ({})", failure.message, self.endpoint.base_url);
        let failure = ProviderFailure { message, ..failure };
        match status {
            404 | 405 if self.endpoint.base_url.ends_with(HANDLER) => Ok(Attempt::OtherRoute(failure)),
            _ => Err(failure),
        }
    }

    fn since(&self, began: Duration) -> Duration {
        self.endpoint.clock.elapsed().saturating_sub(began)
    }

    /// Waits for something; says now and then that it does, and tells what the server's log has meanwhile.
    async fn until<T>(
        &self,
        waiting: impl Future<Output = T>,
        context_id: Option<&str>,
        began: Duration,
        out: &Output,
    ) -> Result<T, ProviderFailure> {
        let mut waiting = pin!(waiting);
        let mut feed = pin!(self.follow_log(context_id, out));
        let mut limit = pin!(async {
            match self.options.max_wait {
                Some(max) => sleep(max.saturating_sub(self.since(began))).await,
                None => pending().await,
            }
        });
        loop {
            let keepalive = async {
                match self.options.keepalive {
                    Some(interval) => sleep(interval).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                biased;
                done = &mut waiting => return Ok(done),
                () = &mut limit => {
                    let message = format!("no answer after {} s (`connection.max_wait_seconds`)", self.since(began).as_secs());
                    return Err(ProviderFailure::new(FailureKind::Timeout, message));
                }
                () = &mut feed => {}
                () = keepalive => out.status(format!("Waiting for the server ({} s)", self.since(began).as_secs())),
            }
        }
    }

    /// Tells what the server's log has, for as long as it is polled. The id of a new chat is not known before its answer.
    async fn follow_log(&self, context_id: Option<&str>, out: &Output) {
        let mut feed = LogFeed::default();
        let url = self.sibling("api_log_get");
        let (Some(id), Some(interval), Some(url)) = (context_id, self.options.log_poll, url) else {
            return pending().await;
        };
        loop {
            sleep(interval).await;
            let body = json!({ "context_id": id, "length": 100 }).to_string().into_bytes();
            let Ok(request) = self.post(url.clone(), body) else { return pending().await };
            let answer = match self.endpoint.transport.send(request).await {
                Ok(mut response) if response.status == 200 => {
                    failure::read_bounded(&mut response.body, super::answer::MAX_LINE).await.0
                }
                // A server without a log, or one that does not show it; the answer itself still comes.
                Ok(response) if (400..500).contains(&response.status) => return pending().await,
                // A moment's trouble: it is asked again.
                _ => continue,
            };
            if let Ok(answer) = serde_json::from_slice::<Value>(&answer) {
                feed.take(&answer).into_iter().for_each(|chunk| out.put(chunk));
            }
        }
    }

    /// Reads the answer.
    async fn read(
        &self,
        mut response: HttpResponse,
        state: ChatState,
        began: Duration,
        out: &Output,
    ) -> Result<(), ProviderFailure> {
        let content_type = response.header("content-type").unwrap_or_default().to_owned();
        if self.options.stream_mode == StreamMode::Auto && content_type.contains("text/html") {
            let (body, _) = failure::read_bounded(&mut response.body, MAX_ERROR_BODY).await;
            let message = format!(
                "the server answered with a web page, not with a message; check the address ({})",
                self.endpoint.base_url
            );
            return Err(failure::unreadable(message, &body));
        }
        let mut format = Format::of(self.options.stream_mode, &content_type);
        let mut reply = Reply::begin(out.clone(), state);
        loop {
            let body = &mut response.body;
            let next = poll_fn(|cx| body.as_mut().poll_next(cx));
            match self.until(next, None, began, out).await? {
                Some(Ok(bytes)) => {
                    if format.push(&bytes, &mut reply)? {
                        return reply.end();
                    }
                }
                Some(Err(broken)) => return Err(failure::mid_answer(&broken)),
                None => break,
            }
        }
        format.finish(&mut reply)?;
        reply.end()
    }

    /// Asks whether the server is well (SRV-10). One without that page is there all the same.
    pub(super) async fn health(&self) -> Result<(), ProviderFailure> {
        let base = self.endpoint.base_url.as_str();
        let root = base.strip_suffix(NEW_ROUTE).or_else(|| base.strip_suffix(HANDLER)).unwrap_or(base);
        let url = format!("{}/api/health", root.trim_end_matches('/'));
        let request = HttpRequest { method: Method::Get, ..self.post(url, Vec::new())? };
        let sent = self.endpoint.transport.send(request).await;
        let mut response =
            sent.map_err(|failure| self.endpoint.without_key(failure::before_answer(&failure)))?;
        match response.status {
            200..300 | 404 | 405 => Ok(()),
            status => {
                let (body, _) = failure::read_bounded(&mut response.body, MAX_ERROR_BODY).await;
                Err(self.endpoint.without_key(refusal(status, error_text(&body))))
            }
        }
    }

    /// Asks the server to do something with a session's chat; returns whether there was one. A program that has just started learns here
    /// which routes the server has, as with a message (SRV-1).
    pub(super) async fn manage(
        &self,
        name: &str,
        messages: &[Arc<Message>],
    ) -> Result<bool, ProviderFailure> {
        let state = ChatState::of(messages.iter().map(|message| &**message));
        let Some(id) = state.context_id else { return Ok(false) };
        for first in [true, false] {
            let Some(url) = self.sibling(name) else { return Ok(false) };
            let request = self.post(url, json!({ "context_id": id }).to_string().into_bytes())?;
            let sent = self.endpoint.transport.send(request).await;
            let mut response =
                sent.map_err(|failure| self.endpoint.without_key(failure::before_answer(&failure)))?;
            match response.status {
                200..300 => return Ok(true),
                404 | 405 => {
                    let (body, _) = failure::read_bounded(&mut response.body, MAX_ERROR_BODY).await;
                    let is_json = serde_json::from_slice::<Value>(&body).is_ok_and(|body| body.is_object());
                    match (is_json, first) {
                        // A chat that is gone needs neither.
                        (true, _) => return Ok(false),
                        (false, true) => {
                            self.other_route.fetch_xor(true, Ordering::Relaxed);
                        }
                        (false, false) => {
                            self.other_route.fetch_xor(true, Ordering::Relaxed);
                            let message = format!("the server has no `{name}` ({})", self.endpoint.base_url);
                            return Err(ProviderFailure::new(FailureKind::HttpStatus, message));
                        }
                    }
                }
                _ => {
                    let failed = failure::from_response(response, self.endpoint.clock.now()).await;
                    return Err(self.endpoint.without_key(failed));
                }
            }
        }
        Ok(false)
    }
}

/// Returns the failure that a status means, with what the server says of it.
fn refusal(status: u16, said: Option<String>) -> ProviderFailure {
    let said = said.map(|said| format!(": {said}")).unwrap_or_default();
    let message = format!("HTTP {status}{said}");
    ProviderFailure { status: Some(status), ..ProviderFailure::new(FailureKind::HttpStatus, message) }
}

/// Returns what a server says of an error: its field, else the beginning of the text (SRV-5).
fn error_text(body: &[u8]) -> Option<String> {
    let parsed = serde_json::from_slice::<Value>(body).ok();
    let field = parsed.as_ref().and_then(|body| match &body["error"] {
        Value::String(error) => Some(error.clone()),
        Value::Object(error) => error.get("message").and_then(Value::as_str).map(str::to_owned),
        _ => None,
    });
    let text = field.unwrap_or_else(|| String::from_utf8_lossy(body).into_owned());
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = zori_core::text::one_line(&line);
    let kept: String = line.chars().take(MAX_ERROR).collect();
    (!kept.is_empty()).then_some(kept)
}
