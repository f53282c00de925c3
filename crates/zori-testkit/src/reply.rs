//! One answer of the model server: what it says, where it waits, and how it breaks off.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use rustix::net::sockopt;

use crate::gate::Gate;
use crate::http;

/// A scripted answer.
#[derive(Clone, Debug)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    parts: Vec<Part>,
    framing: Framing,
    end: End,
}

/// How a connection is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disconnect {
    /// It is closed regularly, but too early.
    Fin,
    /// It is reset.
    Rst,
    /// It stays open, and nothing more comes.
    Stall,
}

#[derive(Clone, Debug)]
enum Part {
    Bytes(Vec<u8>),
    Wait(Gate),
}

impl Part {
    fn len(&self) -> usize {
        if let Self::Bytes(bytes) = self { bytes.len() } else { 0 }
    }
}

#[derive(Clone, Copy, Debug)]
enum Framing {
    Chunked,
    Length,
    /// The parts are the whole answer, head and all; the connection ends behind them.
    Raw,
}

#[derive(Clone, Copy, Debug)]
enum End {
    Complete,
    /// After this many bytes of the body.
    Body(usize, Disconnect),
    /// Before a byte of the answer.
    Head(Disconnect),
}

impl Reply {
    /// An event stream, sent as one chunk per event.
    pub fn sse(stream: impl AsRef<[u8]>) -> Self {
        let mut reply = Self::new(200, "text/event-stream", Framing::Chunked);
        reply.parts = events(stream.as_ref()).map(|event| Part::Bytes(event.to_vec())).collect();
        reply
    }

    /// A JSON answer.
    pub fn json(status: u16, body: impl ToString) -> Self {
        Self::bytes(status, "application/json", body.to_string())
    }

    /// An answer of any type, sent with its length.
    pub fn bytes(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let mut reply = Self::new(status, content_type, Framing::Length);
        reply.parts.push(Part::Bytes(body.into()));
        reply
    }

    /// Exactly these bytes, head and all, whatever they are; then the connection is closed.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        let mut reply = Self::new(200, "text/plain", Framing::Raw);
        reply.parts.push(Part::Bytes(bytes.into()));
        reply
    }

    /// Never answers; the connection stays open.
    pub fn stall() -> Self {
        Self::hang_up(Disconnect::Stall)
    }

    /// Takes the request and breaks off without an answer.
    pub fn hang_up(how: Disconnect) -> Self {
        let mut reply = Self::new(200, "text/plain", Framing::Chunked);
        reply.end = End::Head(how);
        reply
    }

    fn new(status: u16, content_type: &str, framing: Framing) -> Self {
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        Self { status, headers, parts: Vec::new(), framing, end: End::Complete }
    }

    /// Answers with another status.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Adds a header, or replaces the one of that name.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.retain(|(n, _)| !n.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Waits at the gate before sending what is added later.
    #[must_use]
    pub fn wait(mut self, gate: &Gate) -> Self {
        self.parts.push(Part::Wait(gate.clone()));
        self
    }

    /// Waits at the gate after this many events (or chunks), and at the end where there are fewer.
    #[must_use]
    pub fn wait_after(mut self, events: usize, gate: &Gate) -> Self {
        let at = events.min(self.parts.len());
        self.parts.insert(at, Part::Wait(gate.clone()));
        self
    }

    /// Goes on with more of the event stream.
    #[must_use]
    pub fn then(mut self, stream: impl AsRef<[u8]>) -> Self {
        self.parts.extend(events(stream.as_ref()).map(|event| Part::Bytes(event.to_vec())));
        self
    }

    /// Sends the body (or the raw answer) in pieces of this many bytes, whatever they cut through.
    #[must_use]
    pub fn chunks_of(mut self, size: usize) -> Self {
        let mut parts = Vec::new();
        for part in self.parts {
            match part {
                Part::Bytes(bytes) => parts.extend(bytes.chunks(size).map(|c| Part::Bytes(c.to_vec()))),
                Part::Wait(gate) => parts.push(Part::Wait(gate)),
            }
        }
        self.parts = parts;
        if let Framing::Length = self.framing {
            self.framing = Framing::Chunked;
        }
        self
    }

    /// Breaks off after this many bytes of the body.
    #[must_use]
    pub fn cut_after(mut self, bytes: usize, how: Disconnect) -> Self {
        self.end = End::Body(bytes, how);
        self
    }

    /// Breaks off after this many events (or other parts).
    #[must_use]
    pub fn cut_after_events(self, events: usize, how: Disconnect) -> Self {
        let bytes = self.parts.iter().take(events).map(Part::len).sum();
        self.cut_after(bytes, how)
    }

    /// Returns the number of events (or other parts) it is sent in.
    pub fn events(&self) -> usize {
        self.parts.len()
    }

    /// Returns how many of them are complete after this many bytes.
    pub fn events_within(&self, bytes: usize) -> usize {
        let ends = self.parts.iter().scan(0, |end, part| {
            *end += part.len();
            Some(*end)
        });
        ends.take_while(|end| *end <= bytes).count()
    }

    /// Returns the number of bytes of the whole body.
    pub fn body_len(&self) -> usize {
        self.parts.iter().map(Part::len).sum()
    }

    /// Sends the answer. Returns whether the connection can be used again.
    pub(crate) fn play(&self, stream: &mut TcpStream, closing: &dyn Fn() -> bool) -> io::Result<bool> {
        if let End::Head(how) = self.end {
            break_off(stream, how, closing)?;
            return Ok(false);
        }
        let length = match self.framing {
            Framing::Chunked => Some(("transfer-encoding".to_owned(), "chunked".to_owned())),
            Framing::Length => Some(("content-length".to_owned(), self.body_len().to_string())),
            Framing::Raw => None,
        };
        if let Some(length) = length {
            let headers = [self.headers.as_slice(), &[length]].concat();
            http::write_head(stream, self.status, &headers)?;
        }
        // A cut before the first byte of the body has no part to come behind.
        if let End::Body(0, how) = self.end {
            break_off(stream, how, closing)?;
            return Ok(false);
        }
        let mut left = if let End::Body(bytes, _) = self.end { bytes } else { usize::MAX };
        for part in &self.parts {
            match part {
                Part::Wait(gate) if !gate.pass(closing) => return Ok(false),
                Part::Wait(_) => {}
                Part::Bytes(bytes) => {
                    let piece = &bytes[..bytes.len().min(left)];
                    left -= piece.len();
                    match self.framing {
                        // An empty chunk would end the body.
                        Framing::Chunked if piece.is_empty() => {}
                        Framing::Chunked => http::write_chunk(stream, piece)?,
                        Framing::Length | Framing::Raw => stream.write_all(piece)?,
                    }
                }
            }
            if let (0, End::Body(_, how)) = (left, self.end) {
                break_off(stream, how, closing)?;
                return Ok(false);
            }
        }
        match self.framing {
            Framing::Chunked => stream.write_all(b"0\r\n\r\n").map(|()| true),
            Framing::Length => Ok(true),
            Framing::Raw => Ok(false),
        }
    }
}

/// Splits a stream after each blank line; what follows the last one is a piece too.
fn events(stream: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = stream;
    std::iter::from_fn(move || {
        // No further than the end of this event: a stream of many events is looked through once.
        let ends = |at: &usize| {
            matches!(rest[*at], b'\n' | b'\r') && BLANK.iter().any(|blank| rest[..=*at].ends_with(blank))
        };
        let end = (0..rest.len()).find(ends).map_or(rest.len(), |at| at + 1);
        let (event, after) = rest.split_at(end);
        rest = after;
        (!event.is_empty()).then_some(event)
    })
}

/// A blank line, however lines end.
const BLANK: [&[u8]; 3] = [b"\n\n", b"\r\n\r\n", b"\r\r"];

fn break_off(stream: &mut TcpStream, how: Disconnect, closing: &dyn Fn() -> bool) -> io::Result<()> {
    match how {
        // Dropping the stream closes it; with bytes unread that would be a reset, but a request is read in full.
        Disconnect::Fin => Ok(()),
        // A linger time of zero turns closing into a reset.
        Disconnect::Rst => Ok(sockopt::set_socket_linger(&*stream, Some(Duration::ZERO))?),
        Disconnect::Stall => {
            stream.set_read_timeout(Some(Duration::from_millis(20)))?;
            let mut byte = [0];
            while !closing() {
                match stream.read(&mut byte) {
                    Ok(0) => return Ok(()),
                    Ok(_) => {}
                    Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
                    Err(e) => return Err(e),
                }
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_split_after_each_event() {
        let pieces: Vec<_> = events(b"a\n\nb\r\n\r\nc\r\rd").map(String::from_utf8_lossy).collect();
        assert_eq!(pieces, ["a\n\n", "b\r\n\r\n", "c\r\r", "d"]);
        assert_eq!(events(b"").count(), 0);
    }

    #[test]
    fn chunks_cut_through_events() {
        let reply = Reply::sse("ab\n\ncd\n\n").chunks_of(3);
        let sizes: Vec<_> = reply.parts.iter().map(Part::len).collect();
        assert_eq!((sizes, reply.body_len()), (vec![3, 1, 3, 1], 8));
        assert_eq!([0, 2, 3, 6, 7, 8].map(|bytes| reply.events_within(bytes)), [0, 0, 1, 2, 3, 4]);
    }
}
