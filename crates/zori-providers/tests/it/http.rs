//! The HTTP client against a server on the loopback interface.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use zori_core::provider::Delivery;
use zori_core::transport::{
    HttpRequest, Method, Redirects, Timeouts, Transport, TransportFailure, named_headers,
};
use zori_providers::anthropic::Anthropic;
use zori_providers::endpoint::Endpoint;
use zori_providers::http::roots::Roots;
use zori_providers::http::{HttpOptions, HttpTransport, Proxies};
use zori_providers::key::Credential;

use crate::ask::{StoppedClock, ask, fixture};
use crate::loopback::{Answer, Loopback, Seen, response};

fn transport() -> HttpTransport {
    HttpTransport::new(HttpOptions { roots: Roots::embedded(), proxies: Proxies::None })
}

fn post(url: &str, body: &'static str) -> HttpRequest {
    HttpRequest {
        method: Method::Post,
        url: url.to_owned(),
        headers: named_headers([
            ("x-api-key", "secret".to_owned()),
            ("content-type", "application/json".to_owned()),
        ]),
        body: Bytes::from(body),
        limits: Timeouts::DEFAULT,
        redirects: Redirects::SameOrigin,
        addresses: Default::default(),
    }
}

fn get(url: &str) -> HttpRequest {
    HttpRequest { method: Method::Get, body: Bytes::new(), ..post(url, "") }
}

/// Sends and returns status and body, or the failure as text.
async fn fetch(transport: &HttpTransport, request: HttpRequest) -> String {
    let mut response = match transport.send(request).await {
        Ok(response) => response,
        Err(failure) => return failure.to_string(),
    };
    let mut body = Vec::new();
    while let Some(piece) = poll_fn(|cx| response.body.as_mut().poll_next(cx)).await {
        match piece {
            Ok(bytes) => body.extend_from_slice(&bytes),
            Err(failure) => {
                return format!("{} {} then {failure}", response.status, String::from_utf8_lossy(&body));
            }
        }
    }
    format!("{} {}", response.status, String::from_utf8_lossy(&body))
}

#[tokio::test]
async fn a_request_and_its_answer() {
    let server = Loopback::start(vec![Answer::Bytes(response("200 OK", "X-Seen: Yes\r\n", "hello"))]).await;
    let transport = transport();
    let mut answer = transport.send(post(&format!("{}/a?b=c", server.url), "{\"x\":1}")).await.unwrap();
    assert_eq!((answer.status, answer.header("x-seen")), (200, Some("Yes")));
    assert_eq!(answer.url, format!("{}/a?b=c", server.url));
    let piece = poll_fn(|cx| answer.body.as_mut().poll_next(cx)).await;
    assert_eq!(piece, Some(Ok(Bytes::from("hello"))));
    let seen = server.seen().await.remove(0);
    assert_eq!(
        seen.head,
        [
            "post /a?b=c http/1.1",
            "accept: */*",
            "content-length: 7",
            "content-type: application/json",
            concat!("user-agent: zori/", env!("CARGO_PKG_VERSION")),
            "x-api-key: secret",
        ]
    );
    assert_eq!(seen.body, "{\"x\":1}");
}

/// So many requests a turn makes here.
const REQUESTS: usize = 4;
/// An answer that was sent in less than that has its end while the client waits for it (5 ms).
const QUICK: Duration = Duration::from_millis(4);

/// A connection is used again after each answer whose end came in time. A busy machine may send the end of one later than it is waited for: that
/// one says nothing, and there are more.
#[tokio::test]
async fn one_connection_serves_a_whole_turn() {
    let (mut quick, mut turns) = (0, 0);
    while quick < 2 * (REQUESTS - 1) {
        let seen = a_turn().await;
        for (at, two) in seen.windows(2).enumerate().filter(|(_, two)| two[0].took < QUICK) {
            quick += 1;
            assert_eq!(two[1].connection, two[0].connection, "after answer {at}: {seen:?}");
        }
        turns += 1;
        assert!(turns < 1000, "the machine is too busy: {quick} quick answers in {turns} turns");
    }
}

async fn a_turn() -> Vec<Seen> {
    let body = String::from_utf8(fixture("anthropic/text.sse")).expect("fixtures are UTF-8");
    // As servers send it: each event a chunk of its own, the end of the body after the end of the reply.
    let mut chunked =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_owned();
    for event in body.split_inclusive("\n\n") {
        chunked += &format!("{:x}\r\n{event}\r\n", event.len());
    }
    let server = Loopback::start(vec![Answer::InParts(chunked, "0\r\n\r\n".to_owned()); REQUESTS]).await;
    let provider = Anthropic::new(Endpoint {
        base_url: server.url.clone(),
        key: Some(Credential::Key("k".into())),
        transport: Arc::new(transport()),
        limits: Timeouts::DEFAULT,
        clock: Arc::new(StoppedClock),
    });
    for _ in 0..REQUESTS {
        let shown = ask(&provider, Delivery::Streamed).await;
        assert!(shown.ends_with("done EndTurn\n"), "{shown}");
    }
    server.seen().await
}

#[tokio::test]
async fn no_connection() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://user:pass@127.0.0.1:{port}/x?key=secret");
    let refused = fetch(&transport(), post(&url, "")).await;
    assert!(
        refused.starts_with(&format!("Connection failed: 127.0.0.1:{port}: Connection refused")),
        "{refused}"
    );
    assert!(!refused.contains("secret") && !refused.contains("pass"), "{refused}");
}

#[tokio::test]
async fn tls_with_somebody_who_speaks_none() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let stranger = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        std::io::Write::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        // Held open until the client has read it.
        let _ = std::io::Read::read(&mut stream, &mut [0; 4096]);
    });
    let failed = fetch(&transport(), get(&format!("https://127.0.0.1:{port}/"))).await;
    assert!(failed.starts_with(&format!("Connection failed: 127.0.0.1:{port}: ")), "{failed}");
    stranger.join().unwrap();
}

#[tokio::test]
async fn urls_that_are_none() {
    let bad = |url: &'static str| async move { fetch(&transport(), get(url)).await };
    assert_eq!(bad("nonsense").await, "invalid URL: relative URL without a base");
    assert_eq!(bad("file:///etc/passwd").await, "invalid URL: scheme `file`");
    let mut request = get("http://127.0.0.1:1/");
    request.headers.push(("x-odd".into(), "a\nb".to_owned()));
    assert_eq!(
        fetch(&transport(), request).await,
        "Connection failed: the value of header `x-odd` cannot be sent"
    );
    let mut request = get("http://127.0.0.1:1/");
    request.headers.push(("x odd".into(), "a".to_owned()));
    assert_eq!(fetch(&transport(), request).await, "Connection failed: `x odd` is no name of a header");
}

#[tokio::test]
async fn a_server_that_goes_away() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n";
    let server =
        Loopback::start(vec![Answer::Close(String::new()), Answer::Close(format!("{head}half"))]).await;
    let transport = transport();
    let before = fetch(&transport, post(&server.url, "")).await;
    assert!(before.starts_with("connection lost: 127.0.0.1:"), "{before}");
    let after = fetch(&transport, post(&server.url, "")).await;
    assert!(after.starts_with("200 half then connection lost: "), "{after}");
    server.seen().await;
}

/// Runs with short limits and says how long it took.
async fn limited(url: &str, method: Method, limits: Timeouts) -> (String, Duration) {
    let start = Instant::now();
    let request = HttpRequest { method, limits, ..post(url, "") };
    (fetch(&transport(), request).await, start.elapsed())
}

#[tokio::test]
async fn every_phase_has_its_limit() {
    let short = Duration::from_millis(200);
    // Generous, for a machine under load; the limits themselves are in the messages.
    let bound = Duration::from_secs(5);
    let none = Timeouts { connect: Some(Duration::from_secs(60)), first_byte: None, idle: None, pings: None };

    let server = Loopback::start(vec![Answer::Stall(String::new())]).await;
    let limits = Timeouts { first_byte: Some(short), ..none };
    let (text, took) = limited(&server.url, Method::Post, limits).await;
    assert_eq!(text, "Request timed out: no answer within 0.2 s");
    assert!(took >= short && took < bound, "{took:?}: the connection's limit must not count here");
    server.seen().await;

    let server = Loopback::start(vec![Answer::Stall(String::new())]).await;
    let limits = Timeouts { connect: Some(short), first_byte: Some(short), idle: None, pings: None };
    let (text, took) = limited(&server.url, Method::Get, limits).await;
    assert_eq!(text, "Request timed out: no answer within 0.4 s");
    assert!(took < bound, "{took:?}");
    server.seen().await;

    let part = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf".to_owned();
    let server = Loopback::start(vec![Answer::Stall(part)]).await;
    let limits = Timeouts { idle: Some(short), ..none };
    let (text, took) = limited(&server.url, Method::Post, limits).await;
    assert_eq!(text, "200 half then Request timed out: no data for 0.2 s");
    assert!(took >= short && took < bound, "{took:?}");
    server.seen().await;
}

/// A listener whose queue is full answers no further SYN, which is what a dead host looks like.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_host_that_does_not_answer() {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut fill = Vec::new();
    for _ in 0..8 {
        let connect = tokio::net::TcpStream::connect(address);
        fill.push(tokio::time::timeout(Duration::from_millis(50), connect).await);
    }
    let short = Duration::from_millis(200);
    let limits = Timeouts { connect: Some(short), first_byte: None, idle: None, pings: None };
    let (text, took) = limited(&format!("http://{address}"), Method::Post, limits).await;
    assert_eq!(text, format!("Request timed out: {address}: no connection within 0.2 s"));
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[tokio::test]
async fn redirects_within_the_origin_keep_what_was_sent() {
    let moved = |status: &str, to: &str| Answer::Bytes(response(status, &format!("location: {to}\r\n"), ""));
    let server = Loopback::start(vec![
        moved("307 Temporary Redirect", "/b?x=1"),
        moved("308 Permanent Redirect", "c"),
        Answer::Bytes(response("200 OK", "", "there")),
        moved("303 See Other", "/d"),
        Answer::Bytes(response("200 OK", "", "seen")),
    ])
    .await;
    let transport = transport();
    assert_eq!(fetch(&transport, post(&format!("{}/a/a", server.url), "body")).await, "200 there");
    assert_eq!(fetch(&transport, post(&format!("{}/a", server.url), "body")).await, "200 seen");
    let short: Vec<_> = server
        .seen()
        .await
        .into_iter()
        .map(|s| {
            let key = s.head.iter().any(|h| h == "x-api-key: secret");
            format!("{} key {key} body {:?}", s.head[0], s.body)
        })
        .collect();
    assert_eq!(
        short,
        [
            "post /a/a http/1.1 key true body \"body\"",
            "post /b?x=1 http/1.1 key true body \"body\"",
            "post /c http/1.1 key true body \"body\"",
            "post /a http/1.1 key true body \"body\"",
            "get /d http/1.1 key true body \"\"",
        ]
    );
}

#[tokio::test]
async fn credentials_do_not_leave_the_origin() {
    let other = Loopback::start(vec![Answer::Bytes(response("200 OK", "", "other"))]).await;
    let to = format!("location: {}/x?token=1\r\n", other.url);
    let away = Answer::Bytes(response("307 Temporary Redirect", &to, ""));

    let server = Loopback::start(vec![away.clone()]).await;
    assert_eq!(
        fetch(&transport(), post(&server.url, "body")).await,
        format!("refused redirect to {}/x", other.url)
    );
    server.seen().await;

    let server = Loopback::start(vec![away]).await;
    let anywhere = HttpRequest { redirects: Redirects::Any(1), ..post(&server.url, "") };
    assert_eq!(fetch(&transport(), anywhere).await, "200 other");
    server.seen().await;
    let seen = other.seen().await.remove(0);
    assert!(seen.head.iter().all(|h| !h.contains("secret")), "{:?}", seen.head);
}

#[tokio::test]
async fn redirects_are_counted() {
    let again = Answer::Bytes(response("302 Found", "location: /again\r\n", ""));
    let server = Loopback::start(vec![again.clone(); 3]).await;
    let request = HttpRequest { redirects: Redirects::Any(2), ..get(&server.url) };
    assert_eq!(fetch(&transport(), request).await, format!("refused redirect to {}/again", server.url));
    assert_eq!(server.seen().await.len(), 3);

    let server = Loopback::start(vec![again; 11]).await;
    assert_eq!(
        transport().send(get(&server.url)).await.unwrap_err(),
        TransportFailure::Redirect(format!("{}/again", server.url))
    );
    assert_eq!(server.seen().await.len(), 11);
}
