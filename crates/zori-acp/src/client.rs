//! The connection to the client: parses its lines, and sends it requests and updates.
//!
//! [`AcpClient::take`] is the whole input half: it knows what a line is and answers what needs nobody else (bad lines, unknown
//! methods, `initialize`). Everything else is a [`Request`] for the binary. Answers to our own requests find the one who
//! waits; those nobody waits for change nothing (IO-7).

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use agent_client_protocol::v1::schema::{
    CancelRequestNotification, SessionNotification, SessionUpdate, TerminalId,
};
use agent_client_protocol::{
    Error, JsonRpcRequest, JsonRpcResponse, RawJsonRpcId, RawJsonRpcMessage, RawJsonRpcParams,
    RawJsonRpcResponse, TransportFrame,
};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::oneshot;
use zori_core::ids::CallId;

use crate::error::RequestError;
use crate::initialize::{self, AgentInfo, ClientSupport};
use crate::request::{self, Request};
use crate::wire::{Answer, Call, Notification};
use crate::writer::MessageWriter;

/// The client. Clones are the same one.
#[derive(Clone)]
pub struct AcpClient(Arc<Shared>);

struct Shared {
    writer: MessageWriter,
    me: AgentInfo,
    state: Mutex<State>,
}

struct State {
    /// What the client offers; `None` before it has said so.
    support: Option<ClientSupport>,
    /// Whether it can still answer.
    listening: bool,
    asked: i64,
    waiting: HashMap<i64, Pending>,
    /// The terminals of calls that are not over.
    terminals: HashMap<CallId, TerminalId>,
}

/// Who gets the answer to a question.
enum Pending {
    /// The response goes to a waiting caller.
    Waiter(oneshot::Sender<Result<Value, Error>>),
    /// Nobody any more, but what came of it has to be tidied up.
    Cleanup(Cleanup),
}

/// Tidies up what came of a question that nobody waits for any more.
type Cleanup = Box<dyn FnOnce(&AcpClient, Value) + Send>;

impl AcpClient {
    /// Returns the client behind an outlet.
    pub fn new(writer: MessageWriter, me: AgentInfo) -> Self {
        let state = State {
            support: None,
            listening: true,
            asked: 0,
            waiting: HashMap::new(),
            terminals: HashMap::new(),
        };
        Self(Arc::new(Shared { writer, me, state: Mutex::new(state) }))
    }

    /// Handles a line. Returns the request that the caller has to serve; `None` if the line needs nothing more.
    pub fn handle_line(&self, line: &str) -> Option<Request> {
        if line.trim().is_empty() {
            return None;
        }
        match TransportFrame::parse_json(line) {
            TransportFrame::Single(RawJsonRpcMessage::Request(asked)) => {
                self.on_request(asked.id, &asked.method, params(asked.params))
            }
            TransportFrame::Single(RawJsonRpcMessage::Notification(told)) => {
                self.on_notification(&told.method, params(told.params))
            }
            TransportFrame::Single(RawJsonRpcMessage::Response(response)) => {
                self.on_response(response);
                None
            }
            TransportFrame::Malformed { raw, error } => {
                // An answer that makes no sense is not answered: the client would take that for another answer.
                if !is_answer(&raw) {
                    self.answer::<Value>(&RawJsonRpcId::Null, Err(&error));
                }
                None
            }
            // The crate may come to know more kinds.
            _ => None,
        }
    }

    /// Responds that a line could not be read.
    pub fn reject_line(&self, why: &str) {
        let error = Error::parse_error().data(Value::from(why));
        self.answer::<Value>(&RawJsonRpcId::Null, Err(&error));
    }

    /// Marks the client as gone: pending requests fail.
    pub fn disconnect(&self) {
        let mut state = self.state();
        state.listening = false;
        state.waiting.clear();
    }

    /// Returns what the client offers; nothing before it has said so.
    pub fn support(&self) -> ClientSupport {
        self.state().support.unwrap_or_default()
    }

    /// Returns whether nothing can be written any more: the reader is gone, or the stream has failed.
    pub fn is_closed(&self) -> bool {
        self.0.writer.is_closed()
    }

    /// Takes why the stream has failed, where it is not that the reader is gone.
    pub fn take_failure(&self) -> Option<io::Error> {
        self.0.writer.take_failure()
    }

    fn on_request(&self, id: RawJsonRpcId, method: &str, params: Value) -> Option<Request> {
        let begun = self.state().support.is_some();
        let request = match method {
            initialize::METHOD => initialize::answer(&params, &self.0.me).map(|(answer, can)| {
                self.state().support = Some(can);
                self.answer(&id, Ok(&answer));
                None
            }),
            _ if !begun && request::is_known(method) => {
                Err(RequestError::untimely("`initialize` comes before everything else").into())
            }
            _ => request::parse(self, id.clone(), method, params).map(Some),
        };
        request.unwrap_or_else(|error: Error| {
            self.answer::<Value>(&id, Err(&error));
            None
        })
    }

    /// What nobody knows is ignored, as JSON-RPC wants it of notifications.
    fn on_notification(&self, method: &str, params: Value) -> Option<Request> {
        request::parse_notification(method, params)
    }

    fn on_response(&self, response: RawJsonRpcResponse) {
        let (id, answer) = match response {
            RawJsonRpcResponse::Result { id, result } => (id, Ok(result)),
            RawJsonRpcResponse::Error { id, error } => {
                let value = serde_json::to_value(&*error).unwrap_or_default();
                let told = serde_json::from_value(value);
                (id, Err(told.unwrap_or_else(|_| Error::internal_error())))
            }
        };
        let RawJsonRpcId::Number(id) = id else { return };
        let waiting = self.state().waiting.remove(&id);
        match (waiting, answer) {
            // Who stopped waiting does not want it.
            (Some(Pending::Waiter(waiting)), answer) => drop(waiting.send(answer)),
            (Some(Pending::Cleanup(late)), Ok(answer)) => late(self, answer),
            (Some(Pending::Cleanup(_)), Err(_)) | (None, _) => {}
        }
    }

    /// Sends a request and waits for the response. Dropping the future cancels the request.
    pub(crate) async fn call<R: JsonRpcRequest + Serialize>(
        &self,
        request: R,
    ) -> Result<R::Response, ClientError> {
        self.call_with(request, None).await
    }

    /// The same for something that has to be tidied up where the client does it although nobody waits any more.
    pub(crate) async fn request_with_cleanup<R: JsonRpcRequest + Serialize>(
        &self,
        request: R,
        late: impl FnOnce(&Self, Value) + Send + 'static,
    ) -> Result<R::Response, ClientError> {
        self.call_with(request, Some(Box::new(late))).await
    }

    async fn call_with<R: JsonRpcRequest + Serialize>(
        &self,
        request: R,
        late: Option<Cleanup>,
    ) -> Result<R::Response, ClientError> {
        let (asked, answer) = self.send(request.method(), &request, late)?;
        let answer = answer.await.map_err(|_| ClientError::Gone)?;
        asked.finish::<R>(request.method(), answer)
    }

    /// The same for a request whose words are somebody else's, and go out as they are.
    pub(crate) async fn call_as_is<P: Serialize>(
        &self,
        method: &str,
        params: &P,
    ) -> Result<Value, ClientError> {
        let (_asked, answer) = self.send(method, params, None)?;
        answer.await.map_err(|_| ClientError::Gone)?.map_err(ClientError::Refused)
    }

    /// The same on a thread that may wait.
    pub(crate) fn request_blocking<R: JsonRpcRequest + Serialize>(
        &self,
        request: R,
    ) -> Result<R::Response, ClientError> {
        let (asked, answer) = self.send(request.method(), &request, None)?;
        let answer = answer.blocking_recv().map_err(|_| ClientError::Gone)?;
        asked.finish::<R>(request.method(), answer)
    }

    fn send<P: Serialize>(
        &self,
        method: &str,
        params: &P,
        late: Option<Cleanup>,
    ) -> Result<(PendingRequest<'_>, oneshot::Receiver<Result<Value, Error>>), ClientError> {
        let (sender, answer) = oneshot::channel();
        let id = {
            let mut state = self.state();
            if !state.listening {
                return Err(ClientError::Gone);
            }
            state.asked += 1;
            let id = state.asked;
            state.waiting.insert(id, Pending::Waiter(sender));
            id
        };
        let asked = PendingRequest { client: self, id, late };
        self.0.writer.write(&Call::new(id, method, params)).map_err(|_| ClientError::Gone)?;
        Ok((asked, answer))
    }

    /// Asks for something whose answer nobody waits for.
    pub(crate) fn send_and_forget<R: JsonRpcRequest + Serialize>(&self, request: R) {
        let id = {
            let mut state = self.state();
            state.asked += 1;
            state.asked
        };
        // A client that is gone has nothing left to tidy up.
        let _ = self.0.writer.write(&Call::new(id, request.method(), &request));
    }

    /// Remembers in which terminal a call runs.
    pub(crate) fn note_terminal(&self, call: &CallId, terminal: &TerminalId) {
        self.state().terminals.insert(call.clone(), terminal.clone());
    }

    /// Returns the terminal of a call that is over.
    pub(crate) fn take_terminal(&self, call: &CallId) -> Option<TerminalId> {
        self.state().terminals.remove(call)
    }

    /// Tells the client what happened in a session.
    pub(crate) fn update(&self, session: &str, update: SessionUpdate) -> io::Result<()> {
        let told = SessionNotification::new(session.to_owned(), update);
        self.0.writer.write(&Notification::new("session/update", &told))
    }

    /// Responds to a request. A closed stream is ignored here; [`AcpClient::is_closed`] tells.
    pub(crate) fn answer<R: Serialize>(&self, id: &RawJsonRpcId, answer: Result<&R, &Error>) {
        let _ = self.0.writer.write(&Answer::new(id, answer));
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // Each change of the state is whole, whoever panicked.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why the client did not answer.
#[derive(Debug)]
pub(crate) enum ClientError {
    Gone,
    Refused(Error),
}

impl std::fmt::Display for ClientError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Gone => f.write_str("the client is gone"),
            Self::Refused(error) => match &error.data {
                Some(Value::String(why)) => write!(f, "{}: {why}", error.message),
                _ => f.write_str(&error.message),
            },
        }
    }
}

/// A question that is taken back when nobody waits for its answer any more.
struct PendingRequest<'p> {
    client: &'p AcpClient,
    id: i64,
    late: Option<Cleanup>,
}

impl PendingRequest<'_> {
    /// It was answered, so nothing is taken back.
    fn finish<R: JsonRpcRequest>(
        self,
        method: &str,
        answer: Result<Value, Error>,
    ) -> Result<R::Response, ClientError> {
        let value = answer.map_err(ClientError::Refused)?;
        R::Response::from_json(method, value).map_err(ClientError::Refused)
    }
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        let mut state = self.client.state();
        let unanswered = state.waiting.remove(&self.id).is_some();
        if let Some(late) = self.late.take().filter(|_| unanswered) {
            state.waiting.insert(self.id, Pending::Cleanup(late));
        }
        drop(state);
        if unanswered {
            let told = CancelRequestNotification::new(self.id);
            let _ = self.client.0.writer.write(&Notification::new("$/cancel_request", &told));
        }
    }
}

fn params(params: Option<RawJsonRpcParams>) -> Value {
    params.map_or_else(|| Value::Object(serde_json::Map::new()), RawJsonRpcParams::into_value)
}

fn is_answer(raw: &str) -> bool {
    serde_json::from_str::<Value>(raw).is_ok_and(|value| {
        value.get("method").is_none() && (value.get("result").is_some() || value.get("error").is_some())
    })
}

#[cfg(test)]
mod tests;
