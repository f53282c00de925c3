//! The replay server: answers from prepared bytes and notes when each request began and each reply ended.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::replies::{Reply, Step};

/// A request and its reply, as the server saw them.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// When the first byte of the request arrived.
    pub began: Instant,
    /// The length of the request's body.
    pub body_len: usize,
    /// When each part of the reply was about to be sent.
    pub parts: Vec<Instant>,
    /// When the last byte of the reply was sent.
    pub ended: Instant,
}

/// The server; it runs until the program ends.
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    state: Arc<Mutex<State>>,
}

/// How much is written at most before it is counted.
const PIECE: usize = 1024 * 1024;

/// How long nothing is taken until it is said that nobody takes it.
const STALL_TIMEOUT: Duration = Duration::from_millis(500);

#[derive(Default)]
struct State {
    script: VecDeque<Arc<Reply>>,
    /// How much of the replies was taken.
    sent: usize,
    exchanges: Vec<Exchange>,
}

impl Server {
    /// Starts listening on a loopback port.
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                // A client that breaks off shows as a missing exchange.
                std::thread::spawn(move || serve(stream, &state));
            }
        });
        Ok(Self { address, state })
    }

    /// Forgets what was, and answers from this script next.
    pub fn begin(&self, script: &[Arc<Reply>]) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let exchanges = Vec::with_capacity(script.len());
        *state = State { script: script.iter().cloned().collect(), sent: 0, exchanges };
    }

    /// Returns how many bytes of the replies were taken since [`Server::begin`], once no more are: nobody takes them, or
    /// there are none left.
    pub fn bytes_sent(&self) -> usize {
        let sent = || self.state.lock().unwrap_or_else(PoisonError::into_inner).sent;
        let (mut seen, mut since) = (sent(), Instant::now());
        while since.elapsed() < STALL_TIMEOUT {
            std::thread::sleep(Duration::from_millis(10));
            if seen != sent() {
                (seen, since) = (sent(), Instant::now());
            }
        }
        seen
    }

    /// Returns the exchanges since [`Server::begin`], once there are so many of them, or after a second: a client
    /// may have ended before the server has noted the last reply.
    pub fn exchanges(&self, expected: usize) -> Vec<Exchange> {
        let asked = Instant::now();
        loop {
            let seen = self.state.lock().unwrap_or_else(PoisonError::into_inner).exchanges.clone();
            if seen.len() >= expected || asked.elapsed() > Duration::from_secs(1) {
                return seen;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn serve(mut stream: TcpStream, state: &Mutex<State>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; 256 * 1024];
    loop {
        let mut filled = stream.read(&mut buffer)?;
        let began = Instant::now();
        if filled == 0 {
            return Ok(());
        }
        let (head, body_len) = loop {
            if let Some(found) = head(&buffer[..filled]) {
                break found;
            }
            filled += read_more(&mut stream, &mut buffer, filled)?;
        };
        while filled < head + body_len {
            filled += read_more(&mut stream, &mut buffer, filled)?;
        }
        let reply = state.lock().unwrap_or_else(PoisonError::into_inner).script.pop_front();
        let Some(reply) = reply else {
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")?;
            continue;
        };
        let mut parts = Vec::new();
        for step in reply.iter() {
            match step {
                Step::Send(bytes) => {
                    parts.push(Instant::now());
                    for piece in bytes.chunks(PIECE) {
                        stream.write_all(piece)?;
                        state.lock().unwrap_or_else(PoisonError::into_inner).sent += piece.len();
                    }
                }
                Step::Pause(time) => std::thread::sleep(*time),
            }
        }
        let exchange = Exchange { began, body_len, parts, ended: Instant::now() };
        state.lock().unwrap_or_else(PoisonError::into_inner).exchanges.push(exchange);
    }
}

fn read_more(stream: &mut TcpStream, buffer: &mut Vec<u8>, filled: usize) -> io::Result<usize> {
    if filled == buffer.len() {
        buffer.resize(filled * 2, 0);
    }
    match stream.read(&mut buffer[filled..])? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        n => Ok(n),
    }
}

/// Returns the length of the head and of the body it announces, once the head is complete.
fn head(bytes: &[u8]) -> Option<(usize, usize)> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    Some((end, length.and_then(|length| length.trim().parse().ok()).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::replies;

    #[test]
    fn notes_every_exchange() {
        let server = Server::start().unwrap();
        let reply = Arc::new(replies::text(["a", "b"]));
        server.begin(&[Arc::clone(&reply), reply]);
        let mut stream = TcpStream::connect(server.address).unwrap();
        for body in ["{}", "[12]"] {
            write!(stream, "POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
            let mut seen = Vec::new();
            let mut byte = [0];
            while !seen.ends_with(b"\r\n0\r\n\r\n") {
                stream.read_exact(&mut byte).unwrap();
                seen.push(byte[0]);
            }
        }
        let exchanges = server.exchanges(2);
        assert_eq!(exchanges.iter().map(|e| e.body_len).collect::<Vec<_>>(), [2, 4]);
        assert!(exchanges[0].ended <= exchanges[1].began);
    }
}
