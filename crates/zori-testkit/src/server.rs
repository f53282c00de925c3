//! A model on a loopback port: plays a list of replies, one per request, or what a function says, and keeps the
//! requests.

use std::collections::VecDeque;
use std::fmt;
use std::io::BufReader;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use serde_json::Value;

use crate::anthropic;
use crate::history;
use crate::http;
use crate::reply::Reply;
use crate::wait;

/// A request as it arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `POST`, usually.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    /// Returns the first value of a header; `name` in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// Returns the body as JSON.
    ///
    /// # Panics
    ///
    /// When it is none.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("the request's body is JSON")
    }

    /// Returns the conversation it carries.
    #[track_caller]
    pub fn messages(&self) -> Vec<Value> {
        self.json()["messages"].as_array().expect("a request has `messages`").clone()
    }

    /// Returns the conversation as one line per block, for comparing as a whole: `user: text`,
    /// `assistant: tool_use id name input`, `user: tool_result id content`.
    #[track_caller]
    pub fn conversation(&self) -> String {
        history::outline(&self.json())
    }
}

/// The server. It ends when dropped.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    state: Arc<State>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct State {
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<Request>>,
    answers: AnswerSource,
    closing: AtomicBool,
}

/// Where the answer to a request comes from.
enum AnswerSource {
    /// The next reply of the list, whatever was asked.
    List,
    /// The next reply of the list, for a history that providers accept.
    StrictList,
    Function(Box<dyn Fn(&Request) -> Reply + Send + Sync>),
}

impl fmt::Debug for AnswerSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::List => "List",
            Self::StrictList => "StrictList",
            Self::Function(_) => "Function",
        })
    }
}

impl ModelServer {
    /// Starts a server that answers the n-th request with the n-th reply. When there is none left, it answers
    /// with HTTP 400, which is not retried.
    pub fn start<R: Into<Reply>>(replies: impl IntoIterator<Item = R>) -> Self {
        Self::with(replies, AnswerSource::List)
    }

    /// Like [`ModelServer::start`], but a request whose history a provider would reject is answered with HTTP 400
    /// and takes no reply (LOG-11).
    pub fn strict<R: Into<Reply>>(replies: impl IntoIterator<Item = R>) -> Self {
        Self::with(replies, AnswerSource::StrictList)
    }

    /// Starts a server that answers as the function says; it is called on the connection's own thread.
    pub fn answering(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::with(Vec::<Reply>::new(), AnswerSource::Function(Box::new(answer)))
    }

    fn with<R: Into<Reply>>(replies: impl IntoIterator<Item = R>, answers: AnswerSource) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port can be had");
        let address = listener.local_addr().expect("a bound socket has an address");
        let state = Arc::new(State {
            replies: Mutex::new(replies.into_iter().map(Into::into).collect()),
            requests: Mutex::default(),
            answers,
            closing: AtomicBool::new(false),
        });
        let accepting = std::thread::spawn({
            let state = Arc::clone(&state);
            move || {
                for stream in listener.incoming().flatten() {
                    if state.is_closing() {
                        return;
                    }
                    let state = Arc::clone(&state);
                    // A client that breaks off is the client's business; it shows in the test's assertions.
                    std::thread::spawn(move || serve(stream, &state));
                }
            }
        });
        Self { address, state, accepting: Some(accepting) }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns the requests so far, in the order they arrived.
    pub fn requests(&self) -> Vec<Request> {
        self.state.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the n-th request, from 0.
    ///
    /// # Panics
    ///
    /// When there were fewer.
    #[track_caller]
    pub fn request(&self, n: usize) -> Request {
        let requests = self.requests();
        assert!(n < requests.len(), "there were only {} requests", requests.len());
        requests[n].clone()
    }

    /// Returns how many requests there were.
    pub fn count(&self) -> usize {
        self.state.requests.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Waits until that many requests have arrived.
    #[track_caller]
    pub fn wait_for_requests(&self, count: usize) {
        wait::until(format_args!("request {count}"), || self.count() >= count);
    }

    /// Returns how many replies have not been requested yet.
    pub fn replies_left(&self) -> usize {
        self.state.replies.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Adds a reply to the end of the script.
    pub fn push(&self, reply: impl Into<Reply>) {
        self.state.replies.lock().unwrap_or_else(PoisonError::into_inner).push_back(reply.into());
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.state.closing.store(true, Ordering::Relaxed);
        // Wakes the accepting thread, which sees the flag.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.accepting.take() {
            let _ = thread.join();
        }
    }
}

/// Returns a URL at which connections are refused.
pub fn refused_url() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port can be had");
    let address = listener.local_addr().expect("a bound socket has an address");
    format!("http://{address}")
}

impl State {
    fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    fn answer(&self, request: Request) -> Reply {
        let verdict = match &self.answers {
            AnswerSource::List => Ok(()),
            AnswerSource::StrictList => history::check(&request.body),
            AnswerSource::Function(answer) => {
                let reply = answer(&request);
                self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
                return reply;
            }
        };
        let number = {
            let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
            requests.push(request);
            requests.len()
        };
        if let Err(why) = verdict {
            return anthropic::http_error(400, "invalid_request_error", &why);
        }
        let next = self.replies.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        next.unwrap_or_else(|| {
            let why = format!("the script has no reply to request {number}");
            anthropic::http_error(400, "invalid_request_error", &why)
        })
    }
}

fn serve(mut stream: TcpStream, state: &State) {
    let Ok(read_half) = stream.try_clone() else { return };
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let mut reader = BufReader::new(read_half);
    while let Ok(Some(request)) = http::read_request(&mut reader) {
        let reply = state.answer(request);
        if !reply.play(&mut stream, &|| state.is_closing()).unwrap_or(false) {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
