//! The server seen by a client that is not ours to test: raw bytes over a socket.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use serde_json::json;

use super::*;
use crate::gate::Gate;
use crate::reply::Disconnect;

fn connect(server: &ModelServer) -> TcpStream {
    let stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(wait::BOUND)).unwrap();
    stream
}

fn post(stream: &mut TcpStream, body: &str) {
    write!(stream, "POST /v1/messages HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
}

/// Reads until the text has come.
fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut seen = Vec::new();
    let mut byte = [0];
    while !seen.ends_with(end.as_bytes()) {
        stream.read_exact(&mut byte).unwrap();
        seen.push(byte[0]);
    }
    String::from_utf8(seen).unwrap()
}

#[test]
fn one_connection_many_requests() {
    let server =
        ModelServer::start([Reply::sse("data: 1\n\ndata: 2\n\n"), Reply::json(429, json!({"a": 1}))]);
    let mut stream = connect(&server);
    post(&mut stream, "{}");
    assert_eq!(
        read_until(&mut stream, "0\r\n\r\n"),
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n\
         9\r\ndata: 1\n\n\r\n9\r\ndata: 2\n\n\r\n0\r\n\r\n"
    );
    post(&mut stream, "[1]");
    assert_eq!(
        read_until(&mut stream, "}"),
        "HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/json\r\ncontent-length: 7\r\n\r\n{\"a\":1}"
    );
    post(&mut stream, "{}");
    assert!(read_until(&mut stream, "\"type\":\"error\"}").contains("the script has no reply to request 3"));
    let bodies: Vec<_> = server.requests().into_iter().map(|r| r.body).collect();
    assert_eq!(bodies, [b"{}".to_vec(), b"[1]".to_vec(), b"{}".to_vec()]);
    assert_eq!((server.count(), server.replies_left()), (3, 0));
}

#[test]
fn a_function_answers_by_what_was_asked() {
    let server = ModelServer::answering(|request| Reply::json(200, json!([request.path, request.json()])));
    let mut stream = connect(&server);
    post(&mut stream, "{\"a\":1}");
    let answer = read_until(&mut stream, "]");
    assert!(answer.ends_with("[\"/v1/messages\",{\"a\":1}]"), "{answer}");
    assert_eq!((server.count(), server.request(0).json()), (1, json!({"a": 1})));
}

#[test]
fn a_gate_holds_the_stream() {
    let gate = Gate::new();
    let server = ModelServer::start([Reply::sse("a\n\n").wait(&gate).then("b\n\n")]);
    let mut stream = connect(&server);
    post(&mut stream, "{}");
    read_until(&mut stream, "a\n\n\r\n");
    stream.set_nonblocking(true).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    stream.set_nonblocking(false).unwrap();
    gate.open();
    assert_eq!(read_until(&mut stream, "0\r\n\r\n"), "3\r\nb\n\n\r\n0\r\n\r\n");
}

#[test]
fn connections_that_break_off() {
    let cut = |how| {
        let server = ModelServer::start([Reply::sse("abc\n\ndef\n\n").cut_after(6, how)]);
        let mut stream = connect(&server);
        post(&mut stream, "{}");
        read_until(&mut stream, "5\r\nabc\n\n\r\n1\r\nd\r\n");
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).map(|_| rest).map_err(|e| e.kind())
    };
    assert_eq!(cut(Disconnect::Fin), Ok(Vec::new()));
    assert_eq!(cut(Disconnect::Rst), Err(ErrorKind::ConnectionReset));
}

#[test]
fn a_body_shorter_than_its_length() {
    let server = ModelServer::start([Reply::json(200, "{\"a\":1}").cut_after(3, Disconnect::Fin)]);
    let mut stream = connect(&server);
    post(&mut stream, "{}");
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    assert!(all.ends_with("content-length: 7\r\n\r\n{\"a"), "{all}");
}

#[test]
fn a_stall_lasts_until_the_server_ends() {
    let server = ModelServer::start([Reply::stall()]);
    let mut stream = connect(&server);
    post(&mut stream, "{}");
    server.wait_for_requests(1);
    stream.set_nonblocking(true).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    stream.set_nonblocking(false).unwrap();
    drop(server);
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
}

#[test]
fn refused_means_refused() {
    let url = refused_url();
    let address = url.strip_prefix("http://").unwrap();
    assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn strict_rejects_what_a_provider_would() {
    let server = ModelServer::strict([anthropic::text("Hello")]);
    let mut stream = connect(&server);
    post(&mut stream, &json!({"messages": [{"role": "assistant", "content": "x"}]}).to_string());
    let answer = read_until(&mut stream, "\"type\":\"error\"}");
    assert!(
        answer.starts_with("HTTP/1.1 400") && answer.contains("the first message is not the user's"),
        "{answer}"
    );
    assert_eq!(server.replies_left(), 1);
    post(&mut stream, &json!({"messages": [{"role": "user", "content": "x"}]}).to_string());
    read_until(&mut stream, "0\r\n\r\n");
    assert_eq!((server.replies_left(), server.request(1).conversation().as_str()), (0, "user: x\n"));
}
