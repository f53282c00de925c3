//! An HTTP server on a loopback port, a thread for each request: what the servers of tests share that answer by more than a script.

use std::io::{self, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;

use serde_json::Value;

use crate::http;
use crate::server::Request;
use crate::wait;

/// The server. It ends when dropped.
#[derive(Debug)]
pub(crate) struct Loopback {
    address: SocketAddr,
    closing: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

/// What a request is answered with.
pub(crate) enum Answer {
    /// A status, headers and a body, which is JSON unless a header says otherwise.
    Whole(u16, Vec<(&'static str, String)>, String),
    /// A stream of events that stays open until nobody can send any more.
    Events(Receiver<Value>),
    /// Nothing, until the server ends.
    Never,
}

impl Answer {
    /// Returns an answer of JSON.
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::Whole(status, Vec::new(), body.to_string())
    }

    /// Returns one that sends a browser elsewhere.
    pub(crate) fn redirect(place: String) -> Self {
        Self::Whole(302, vec![("location", place)], String::new())
    }
}

impl Loopback {
    /// Starts a server on a free port; `made` gets the address, and returns what answers requests.
    pub(crate) fn start<F>(made: impl FnOnce(SocketAddr) -> F) -> Self
    where
        F: Fn(&Request) -> Answer + Send + Sync + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port can be had");
        let address = listener.local_addr().expect("a bound socket has an address");
        let (closing, answers) = (Arc::new(AtomicBool::new(false)), Arc::new(made(address)));
        let accepting = std::thread::spawn({
            let closing = Arc::clone(&closing);
            move || {
                for stream in listener.incoming().flatten() {
                    if closing.load(Ordering::Relaxed) {
                        return;
                    }
                    let (answers, closing) = (Arc::clone(&answers), Arc::clone(&closing));
                    // A client that breaks off is the client's business.
                    std::thread::spawn(move || drop(serve(stream, answers, &closing)));
                }
            }
        });
        Self { address, closing, accepting: Some(accepting) }
    }

    /// Returns where it is.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::Relaxed);
        // Wakes the accepting thread, which sees the flag.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.accepting.take() {
            let _ = thread.join();
        }
    }
}

fn serve<F: Fn(&Request) -> Answer>(
    mut stream: TcpStream,
    answers: Arc<F>,
    closing: &AtomicBool,
) -> io::Result<()> {
    let Some(request) = http::read_request(&mut BufReader::new(stream.try_clone()?))? else { return Ok(()) };
    let answer = answers(&request);
    // What a stream waits for is not kept alive by the stream.
    drop(answers);
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut headers = vec![header("connection", "close")];
    match answer {
        Answer::Whole(status, more, body) => {
            if !more.iter().any(|(name, _)| *name == "content-type") {
                headers.push(header("content-type", "application/json"));
            }
            headers.push(header("content-length", &body.len().to_string()));
            headers.extend(more.into_iter().map(|(name, value)| (name.to_owned(), value)));
            http::write_head(&mut stream, status, &headers)?;
            stream.write_all(body.as_bytes())
        }
        Answer::Events(events) => {
            headers.push(header("content-type", "text/event-stream"));
            http::write_head(&mut stream, 200, &headers)?;
            events.iter().try_for_each(|event| {
                stream.write_all(format!("data: {event}\n\n").as_bytes()).and_then(|()| stream.flush())
            })
        }
        Answer::Never => {
            wait::until("the end of the server", || closing.load(Ordering::Relaxed));
            Ok(())
        }
    }
}
