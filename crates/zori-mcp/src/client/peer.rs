//! JSON-RPC with one server: who waits for which answer, what is told while a call runs, and what the server asks itself.
//!
//! Two kinds of wire feed it: lines of a program (`stdio.rs`) and HTTP (`http.rs`). Both take what is to be sent from a queue.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot, watch};
use zori_core::server_recording::TIMED_OUT;
use zori_core::transport::Headers;

use super::recording::ConnectionRecorder;

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RpcFailure {
    /// The server answered with an error.
    Error {
        /// The number of JSON-RPC.
        code: i64,
        /// Its words.
        message: String,
    },
    /// The server went away, with what is known of its end.
    Closed(String),
    /// It wants a login.
    NeedsAuth(String),
}

impl RpcFailure {
    /// Returns it as half a sentence.
    pub fn words(&self) -> String {
        match self {
            Self::Error { code, message } => format!("{message} ({code})"),
            Self::Closed(why) | Self::NeedsAuth(why) => why.clone(),
        }
    }
}

/// Progress of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Progressed {
    /// What it says, or how far it is.
    pub words: String,
}

/// What a server told or asked without being asked.
#[derive(Debug)]
pub enum ServerMessage {
    /// Its tools are others now.
    ToolsChanged,
    /// Its resources are others now.
    ResourcesChanged,
    /// Its prompts are others now.
    PromptsChanged,
    /// It tells of changes from now on.
    Subscribed,
    /// A line for its log.
    Log(String),
    /// It asks the user.
    Elicit {
        /// The id of its request.
        id: Value,
        /// What it asks.
        params: Value,
    },
}

/// A message on its way to the server.
#[derive(Clone, Debug)]
pub struct Outgoing {
    pub message: Value,
    /// Headers that go with it where it is a request of HTTP.
    pub headers: Headers,
}

impl From<Value> for Outgoing {
    fn from(message: Value) -> Self {
        Self { message, headers: Vec::new() }
    }
}

struct Waiting {
    reply: oneshot::Sender<Result<Value, RpcFailure>>,
    progress: Option<mpsc::UnboundedSender<Progressed>>,
}

#[derive(Default)]
struct State {
    waiting: HashMap<u64, Waiting>,
    closed: Option<RpcFailure>,
}

/// The other end of a connection.
pub struct Peer {
    outgoing: mpsc::UnboundedSender<Outgoing>,
    state: Mutex<State>,
    next: AtomicU64,
    said: mpsc::UnboundedSender<ServerMessage>,
    closed: watch::Sender<bool>,
    /// Whether the server has said that it tells of changes.
    subscribed: watch::Sender<bool>,
    /// What every request of the newer protocol carries; empty with the older one.
    meta: Mutex<Map<String, Value>>,
    /// Whether the server was told that it may ask the user.
    pub may_elicit: bool,
    /// Writes down what is said, where a run is recorded.
    recorder: Option<ConnectionRecorder>,
}

impl Peer {
    /// Makes one end, with the queue of what is to be sent and that of what the server says by itself.
    pub fn new(
        may_elicit: bool,
        recorder: Option<ConnectionRecorder>,
    ) -> (Arc<Self>, mpsc::UnboundedReceiver<Outgoing>, mpsc::UnboundedReceiver<ServerMessage>) {
        let (outgoing, queue) = mpsc::unbounded_channel();
        let (said, heard) = mpsc::unbounded_channel();
        let peer = Self {
            outgoing,
            state: Mutex::default(),
            next: AtomicU64::new(1),
            said,
            closed: watch::Sender::new(false),
            subscribed: watch::Sender::new(false),
            meta: Mutex::default(),
            may_elicit,
            recorder,
        };
        (Arc::new(peer), queue, heard)
    }

    /// Calls a method. Dropped before its answer, it tells the server that nobody waits any more.
    pub async fn call(
        self: &Arc<Self>,
        method: &str,
        params: Value,
        progress: Option<mpsc::UnboundedSender<Progressed>>,
    ) -> Result<Value, RpcFailure> {
        self.call_with(method, params, Vec::new(), progress, &AtomicBool::new(false)).await
    }

    /// Calls a method, with headers where it is a request of HTTP. `late` says why it is dropped: its time is over.
    pub async fn call_with(
        self: &Arc<Self>,
        method: &str,
        mut params: Value,
        headers: Headers,
        progress: Option<mpsc::UnboundedSender<Progressed>>,
        late: &AtomicBool,
    ) -> Result<Value, RpcFailure> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.add_meta(&mut params);
        if progress.is_some() {
            params["_meta"]["progressToken"] = id.into();
        }
        let (reply, answer) = oneshot::channel();
        {
            let mut state = self.lock();
            if let Some(why) = &state.closed {
                return Err(why.clone());
            }
            state.waiting.insert(id, Waiting { reply, progress });
        }
        let mut unanswered = Unanswered { peer: self, id, done: method == "initialize", late };
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(Outgoing { message, headers });
        let answer = answer.await;
        unanswered.done = true;
        answer.unwrap_or_else(|_| Err(RpcFailure::Closed("it went away".to_owned())))
    }

    /// Speaks the newer protocol from now on, where every request says who asks; the older one with nothing.
    pub fn say_always(&self, meta: Map<String, Value>) {
        *self.meta.lock().unwrap_or_else(PoisonError::into_inner) = meta;
    }

    fn add_meta(&self, params: &mut Value) {
        for (name, value) in &*self.meta.lock().unwrap_or_else(PoisonError::into_inner) {
            params["_meta"][name] = value.clone();
        }
    }

    /// Tells the server something.
    pub fn notify(&self, method: &str, mut params: Value) {
        self.add_meta(&mut params);
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}).into());
    }

    /// Answers a request of the server's.
    pub fn answer(&self, id: &Value, result: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": id, "result": result}).into());
    }

    fn send(&self, sent: Outgoing) {
        self.recorder.iter().for_each(|recorder| recorder.sent(&sent.message));
        let _ = self.outgoing.send(sent);
    }

    fn refuse(&self, id: &Value, code: i64, message: &str) {
        let error = json!({"code": code, "message": message});
        self.send(json!({"jsonrpc": "2.0", "id": id, "error": error}).into());
    }

    /// Takes a message of the server's. Answers nobody waits for are dropped.
    pub fn receive(&self, message: Value) {
        if let Value::Array(several) = message {
            several.into_iter().for_each(|message| self.receive(message));
            return;
        }
        self.recorder.iter().for_each(|recorder| recorder.received(&message));
        let (method, id) = (message["method"].as_str(), &message["id"]);
        match (method, id) {
            (None, Value::Number(id)) => {
                let waiting = id.as_u64().and_then(|id| self.lock().waiting.remove(&id));
                let Some(waiting) = waiting else { return };
                let answer = match message.get("error") {
                    None => Ok(message["result"].clone()),
                    Some(error) => Err(RpcFailure::Error {
                        code: error["code"].as_i64().unwrap_or_default(),
                        message: error["message"].as_str().unwrap_or("it gave no reason").to_owned(),
                    }),
                };
                let _ = waiting.reply.send(answer);
            }
            (None, _) => {}
            (Some("ping"), id) if !id.is_null() => self.answer(id, json!({})),
            (Some("elicitation/create"), id) if !id.is_null() && self.may_elicit => {
                let elicit = ServerMessage::Elicit { id: id.clone(), params: message["params"].clone() };
                let _ = self.said.send(elicit);
            }
            (Some(method), id) if !id.is_null() => {
                self.refuse(id, -32601, &format!("`{method}` is not offered by this client"));
            }
            (Some("notifications/progress"), _) => {
                let params = &message["params"];
                let Some(id) = params["progressToken"].as_u64() else { return };
                let state = self.lock();
                if let Some(progress) = state.waiting.get(&id).and_then(|waiting| waiting.progress.as_ref()) {
                    let _ = progress.send(Progressed { words: progress_words(params) });
                }
            }
            (Some("notifications/tools/list_changed"), _) => {
                let _ = self.said.send(ServerMessage::ToolsChanged);
            }
            (Some("notifications/resources/list_changed"), _) => {
                let _ = self.said.send(ServerMessage::ResourcesChanged);
            }
            (Some("notifications/prompts/list_changed"), _) => {
                let _ = self.said.send(ServerMessage::PromptsChanged);
            }
            (Some("notifications/subscriptions/acknowledged"), _) => {
                self.subscribed.send_replace(true);
                let _ = self.said.send(ServerMessage::Subscribed);
            }
            (Some("notifications/message"), _) => {
                let params = &message["params"];
                let level = params["level"].as_str().unwrap_or("info");
                let data = match &params["data"] {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                let _ = self.said.send(ServerMessage::Log(format!("{level}: {data}")));
            }
            (Some(_), _) => {}
        }
    }

    /// Fails one call, whose message could not be sent.
    pub fn fail(&self, id: u64, why: RpcFailure) {
        let waiting = self.lock().waiting.remove(&id);
        if let Some(waiting) = waiting {
            self.recorder.iter().for_each(|recorder| recorder.failed(id, &why));
            let _ = waiting.reply.send(Err(why));
        }
    }

    /// Ends it: whoever waits learns why, and so does whoever calls later.
    pub fn close(&self, why: RpcFailure) {
        if !self.is_closed() {
            self.recorder.iter().for_each(|recorder| recorder.closed(&why));
        }
        self.end(why);
    }

    /// Ends it because nobody needs it any more.
    pub fn stop(&self) {
        self.end(RpcFailure::Closed("it was stopped".to_owned()));
    }

    fn end(&self, why: RpcFailure) {
        let mut state = self.lock();
        if state.closed.is_none() {
            state.closed = Some(why.clone());
        }
        for (_, waiting) in state.waiting.drain() {
            let _ = waiting.reply.send(Err(why.clone()));
        }
        drop(state);
        self.closed.send_replace(true);
    }

    pub fn is_closed(&self) -> bool {
        self.lock().closed.is_some()
    }

    /// Waits until it is closed, and returns why.
    pub async fn closed(&self) -> RpcFailure {
        let mut closed = self.closed.subscribe();
        let _ = closed.wait_for(|closed| *closed).await;
        let state = self.lock();
        state.closed.clone().unwrap_or_else(|| RpcFailure::Closed("it went away".to_owned()))
    }

    /// Waits until the server has said that it tells of changes.
    pub async fn subscribed(&self) {
        let _ = self.subscribed.subscribe().wait_for(|subscribed| *subscribed).await;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that has no answer yet.
struct Unanswered<'p> {
    peer: &'p Peer,
    id: u64,
    /// Whether the server need not be told.
    done: bool,
    late: &'p AtomicBool,
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if self.peer.lock().waiting.remove(&self.id).is_some() && !self.done {
            let reason = if self.late.load(Ordering::Relaxed) { TIMED_OUT } else { "canceled" };
            self.peer.notify("notifications/cancelled", json!({"requestId": self.id, "reason": reason}));
        }
    }
}

fn progress_words(params: &Value) -> String {
    let message = params["message"].as_str().unwrap_or_default();
    let count = match (params["progress"].as_f64(), params["total"].as_f64()) {
        (Some(done), Some(total)) => format!("{done}/{total}"),
        (Some(done), None) => done.to_string(),
        (None, _) => String::new(),
    };
    match (count.is_empty(), message.is_empty()) {
        (_, true) => count,
        (true, false) => message.to_owned(),
        (false, false) => format!("{count} {message}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    }

    #[test]
    fn answers_find_who_waits_and_others_are_dropped() {
        runtime().block_on(async {
            let (peer, mut queue, _heard) = Peer::new(false, None);
            let call = peer.call("tools/list", json!({}), None);
            let server = async {
                let sent = queue.recv().await.unwrap().message;
                assert_eq!(sent["method"], "tools/list");
                peer.receive(json!({"jsonrpc": "2.0", "id": 99, "result": {}}));
                peer.receive(json!({"jsonrpc": "2.0", "id": sent["id"], "result": {"tools": []}}));
                peer.receive(json!({"jsonrpc": "2.0", "id": sent["id"], "result": "again"}));
            };
            let (answer, ()) = tokio::join!(call, server);
            assert_eq!(answer.unwrap(), json!({"tools": []}));
        });
    }

    #[test]
    fn who_stops_waiting_says_so_and_the_end_is_told() {
        runtime().block_on(async {
            let (peer, mut queue, _heard) = Peer::new(false, None);
            for (late, reason) in [(false, "canceled"), (true, TIMED_OUT)] {
                let over = AtomicBool::new(late);
                {
                    let call = peer.call_with("tools/call", json!({}), Vec::new(), None, &over);
                    tokio::pin!(call);
                    assert!(futures_poll(call.as_mut()).await.is_none());
                }
                assert_eq!(queue.recv().await.unwrap().message["method"], "tools/call");
                let told = queue.recv().await.unwrap().message;
                assert_eq!(
                    (&told["method"], &told["params"]["reason"]),
                    (&"notifications/cancelled".into(), &reason.into())
                );
            }
            peer.close(RpcFailure::Closed("exit status 3".to_owned()));
            let late = peer.call("tools/call", json!({}), None).await.unwrap_err();
            assert_eq!(late.words(), "exit status 3");
        });
    }

    #[test]
    fn requests_of_servers() {
        runtime().block_on(async {
            let (peer, mut queue, _heard) = Peer::new(false, None);
            peer.receive(json!({"jsonrpc": "2.0", "id": "a", "method": "ping"}));
            peer.receive(json!({"jsonrpc": "2.0", "id": "b", "method": "sampling/createMessage"}));
            peer.receive(json!({"jsonrpc": "2.0", "id": "c", "method": "elicitation/create"}));
            assert_eq!(
                queue.recv().await.unwrap().message,
                json!({"jsonrpc": "2.0", "id": "a", "result": {}})
            );
            assert_eq!(queue.recv().await.unwrap().message["error"]["code"], -32601);
            assert_eq!(queue.recv().await.unwrap().message["error"]["code"], -32601);
        });
    }

    /// Polls once.
    async fn futures_poll<F: Future>(mut future: std::pin::Pin<&mut F>) -> Option<F::Output> {
        std::future::poll_fn(|cx| {
            std::task::Poll::Ready(match future.as_mut().poll(cx) {
                std::task::Poll::Ready(output) => Some(output),
                std::task::Poll::Pending => None,
            })
        })
        .await
    }
}
