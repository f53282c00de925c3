//! A server on the loopback interface that answers from a list and keeps what it was sent.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What the server does with one request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Sends these bytes and waits for the next request.
    Bytes(String),
    /// Sends the first part, lets the client take it, sends the second and waits for the next request.
    InParts(String, String),
    /// Sends these bytes and closes the connection.
    Close(String),
    /// Sends these bytes and then nothing more, with the connection open.
    Stall(String),
}

/// A running server.
pub struct Loopback {
    /// Where it listens, as a base URL.
    pub url: String,
    task: JoinHandle<Vec<Seen>>,
}

/// One request as it arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Which connection it came over, from 0.
    pub connection: usize,
    /// The request line and the headers, in lower case and sorted, without `host`.
    pub head: Vec<String>,
    /// The body.
    pub body: String,
    /// How long it took to send the answer.
    pub took: Duration,
}

impl Loopback {
    /// Starts a server that gives these answers and then ends.
    pub async fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("the loopback interface is there");
        let address = listener.local_addr().expect("it is bound");
        Self { url: format!("http://{address}"), task: tokio::spawn(serve(listener, answers)) }
    }

    /// Waits for the last answer and returns what was asked.
    pub async fn seen(self) -> Vec<Seen> {
        let wait = tokio::time::timeout(Duration::from_secs(10), self.task).await;
        wait.expect("every answer was fetched").expect("the server did not fail")
    }
}

async fn serve(listener: TcpListener, answers: Vec<Answer>) -> Vec<Seen> {
    let mut seen = Vec::new();
    let mut answers = answers.into_iter().peekable();
    let mut connection = 0;
    let mut stalled = Vec::new();
    while answers.peek().is_some() {
        let (mut stream, _) = listener.accept().await.expect("clients connect");
        stream.set_nodelay(true).expect("it is a TCP connection");
        while let Some((head, body)) = read_request(&mut stream).await {
            seen.push(Seen { connection, head, body, took: Duration::ZERO });
            let began = Instant::now();
            let (text, open) = match answers.next() {
                Some(Answer::Bytes(text)) => (text, true),
                Some(Answer::Close(text)) => (text, false),
                Some(Answer::InParts(first, second)) => {
                    stream.write_all(first.as_bytes()).await.expect("the client reads");
                    for _ in 0..50 {
                        tokio::task::yield_now().await;
                    }
                    (second, true)
                }
                Some(Answer::Stall(text)) => {
                    stream.write_all(text.as_bytes()).await.expect("the client reads");
                    stalled.push(stream);
                    break;
                }
                None => break,
            };
            stream.write_all(text.as_bytes()).await.expect("the client reads");
            seen.last_mut().expect("it was just seen").took = began.elapsed();
            if !open || answers.peek().is_none() {
                break;
            }
        }
        connection += 1;
    }
    for stream in &mut stalled {
        // The client gives up first: its end of the connection closes, in whatever way.
        let _ = stream.read_to_end(&mut Vec::new()).await;
    }
    seen
}

/// Reads one request; `None` when the client has gone.
async fn read_request(stream: &mut TcpStream) -> Option<(Vec<String>, String)> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).expect("a head is text");
    let mut lines: Vec<String> =
        head.lines().map(str::to_ascii_lowercase).filter(|l| !l.starts_with("host:")).collect();
    lines[1..].sort();
    let length = lines.iter().find_map(|l| l.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
    let mut body = bytes.split_off(head_end + 4);
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    Some((lines, String::from_utf8(body).expect("test bodies are text")))
}

/// Returns an answer with this status, further header lines and body.
pub fn response(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
}
