//! Ways in which an answer goes wrong below the API: framing, headers, lengths, encodings, bodies that are not answers.
//! One table, for any stream of any API; a test plays each row against the program and compares with the verdict.

use crate::reply::{Disconnect, Reply};

/// One way to answer.
#[derive(Clone, Debug)]
pub struct Fault {
    /// What is wrong with the answer, in a few words.
    pub name: &'static str,
    /// The answer.
    pub reply: Reply,
    /// What a client should make of it.
    pub verdict: Verdict,
}

/// What a client should make of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is odd, but all of it arrived.
    Whole,
    /// The connection failed it: trying again may help.
    Broken,
    /// It is not a model's answer: trying again will not help.
    Unreadable,
}

const EVENTS: &str = "content-type: text/event-stream\r\n";

/// Returns every fault for an event stream.
pub fn for_stream(stream: &[u8]) -> Vec<Fault> {
    [whole(stream), broken_framing(stream), broken_heads(), no_answers()].concat()
}

/// Odd, but legal.
fn whole(stream: &[u8]) -> Vec<Fault> {
    let fault = |name, reply| Fault { name, reply, verdict: Verdict::Whole };
    let chunked = |head: &str, chunk: &dyn Fn(&[u8]) -> Vec<u8>, end: &str| {
        let body: Vec<u8> = stream.chunks(50).flat_map(chunk).collect();
        raw(&format!("{head}transfer-encoding: chunked\r\n"), &[&body, end.as_bytes()].concat())
    };
    let extended = |bytes: &[u8]| [format!("{:x};a=b\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat();
    let interim = |head: &str| {
        Reply::raw([head.as_bytes(), b"\r\n\r\n", &message("HTTP/1.1 200 OK", EVENTS, stream)].concat())
    };
    vec![
        fault("one byte per write", raw(EVENTS, stream).chunks_of(1)),
        fault("seven bytes per chunk", Reply::sse(stream).chunks_of(7)),
        fault("chunk extensions", chunked(EVENTS, &extended, "0;z\r\n\r\n")),
        fault("trailers", chunked(EVENTS, &chunk, "0\r\nx-trailer: 1\r\n\r\n")),
        fault("sizes with leading zeros", chunked(EVENTS, &zeros, "000\r\n\r\n")),
        fault("an interim 100", interim("HTTP/1.1 100 Continue")),
        fault("an interim 103", interim("HTTP/1.1 103 Early Hints\r\nlink: </x>")),
        fault("the end of the connection as length", raw(EVENTS, stream)),
        fault("HTTP/1.0", Reply::raw(message("HTTP/1.0 200 OK", EVENTS, stream))),
        fault("no reason phrase", Reply::raw(message("HTTP/1.1 200", EVENTS, stream))),
        fault("no content type", raw("x: y\r\n", stream)),
        fault("a parameter of the content type", raw("Content-Type: TEXT/Event-Stream; x=\"y\"\r\n", stream)),
        fault("a header of 32 KiB", raw(&format!("{EVENTS}x: {}\r\n", "h".repeat(32 << 10)), stream)),
        fault(
            "a header that is no text",
            Reply::raw(
                [
                    b"HTTP/1.1 200 OK\r\nx: \xff\xfe\r\ncontent-type: text/event-stream\r\n\r\n".as_slice(),
                    stream,
                ]
                .concat(),
            ),
        ),
        fault("a length that counts too much", {
            let head = format!("{EVENTS}content-length: {}\r\n", stream.len() + 9);
            raw(&head, stream)
        }),
    ]
}

/// The stream ends in the middle, each time in another way.
fn broken_framing(stream: &[u8]) -> Vec<Fault> {
    let fault = |name, reply| Fault { name, reply, verdict: Verdict::Broken };
    let half = &stream[..stream.len() / 2];
    let chunked =
        |tail: &[u8]| raw(&format!("{EVENTS}transfer-encoding: chunked\r\n"), &[&chunk(half), tail].concat());
    let length = |length: &str, body: &[u8]| raw(&format!("{EVENTS}content-length: {length}\r\n"), body);
    vec![
        fault("half a stream", raw(EVENTS, half)),
        fault("half a stream, chunked", chunked(b"0\r\n\r\n")),
        fault("no last chunk", chunked(b"")),
        fault("a size that is no number", chunked(b"zz\r\nabc\r\n0\r\n\r\n")),
        fault("a size beyond all bounds", chunked(b"ffffffffffffffffff\r\nabc")),
        fault("a negative size", chunked(b"-1\r\nabc\r\n0\r\n\r\n")),
        fault("a chunk longer than it says", chunked(b"1\r\nabcdef\r\n0\r\n\r\n")),
        fault("a chunk shorter than it says", chunked(b"100\r\nabc")),
        fault("a length that counts too little", length(&half.len().to_string(), stream)),
        fault("half of what the length says", length(&stream.len().to_string(), half)),
        fault("a length of zero", length("0", stream)),
        fault("an empty stream", raw(EVENTS, b"")),
        fault("nothing but comments", raw(EVENTS, b": hello\n\n: still here\n\n")),
        fault("a web page as events", raw(EVENTS, b"<html><h1>Log in</h1></html>\n\n")),
        fault("status 204", Reply::raw(b"HTTP/1.1 204 No Content\r\n\r\n".as_slice())),
        fault(
            "a reset in the middle",
            raw(EVENTS, stream).cut_after(EVENTS.len() + 19 + half.len(), Disconnect::Rst),
        ),
    ]
}

/// Malformed heads.
fn broken_heads() -> Vec<Fault> {
    let fault = |name, bytes: &[u8]| Fault { name, reply: Reply::raw(bytes), verdict: Verdict::Broken };
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(10_000));
    let huge = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "h".repeat(4 << 20));
    vec![
        fault("another protocol", b"SSH-2.0-OpenSSH_9.6\r\n"),
        fault("no head at all", b"data: {}\n\n"),
        fault("half a status line", b"HTTP/1.1 20"),
        fault("half a head", b"HTTP/1.1 200 OK\r\ncontent-type: text/event-str"),
        fault("a status that is no number", b"HTTP/1.1 abc OK\r\n\r\n"),
        fault("a header without a colon", b"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n"),
        fault("a zero byte in a header", b"HTTP/1.1 200 OK\r\nx: a\0b\r\n\r\n"),
        fault("two lengths", b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab"),
        fault("a length that is no number", b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\nab"),
        fault("ten thousand headers", many.as_bytes()),
        fault("a header of 4 MiB", huge.as_bytes()),
        fault("an interim answer and nothing more", b"HTTP/1.1 100 Continue\r\n\r\n"),
        fault("bytes of a TLS server", b"\x15\x03\x01\x00\x02\x02\x46"),
    ]
}

/// Well-formed answers that no model gave.
fn no_answers() -> Vec<Fault> {
    let fault = |name, reply| Fault { name, reply, verdict: Verdict::Unreadable };
    let page = "<html><h1>Log in</h1></html>";
    // The ten bytes of a gzip header, and what an empty file has behind it.
    let gzip = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0".as_slice();
    vec![
        fault("a web page", Reply::bytes(200, "text/html; charset=utf-8", page)),
        fault("a web page as JSON", Reply::bytes(200, "application/json", page)),
        fault("a picture", Reply::bytes(200, "image/png", b"\x89PNG\r\n".as_slice())),
        fault("no JSON at all", Reply::bytes(200, "application/json", "")),
        fault("half of a JSON document", Reply::bytes(200, "application/json", "{\"choices\":[{")),
        fault("JSON of something else", Reply::bytes(200, "application/json", "[1,2,3]")),
        fault(
            "compressed JSON",
            Reply::bytes(200, "application/json", gzip).header("content-encoding", "gzip"),
        ),
        fault(
            "compressed events",
            Reply::bytes(200, "text/event-stream", gzip).header("content-encoding", "br"),
        ),
    ]
}

fn message(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    [format!("{status}\r\n{headers}\r\n").as_bytes(), body].concat()
}

/// A successful answer with these headers.
fn raw(headers: &str, body: &[u8]) -> Reply {
    Reply::raw(message("HTTP/1.1 200 OK", headers, body))
}

fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:X}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

fn zeros(bytes: &[u8]) -> Vec<u8> {
    [format!("{:08x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_fault_has_a_name_of_its_own() {
        let all = for_stream(b"data: {}\n\n");
        let names: BTreeSet<_> = all.iter().map(|fault| fault.name).collect();
        assert_eq!((names.len(), all.len()), (52, 52));
    }
}
