//! The tool against a transport that answers from memory.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll};

use futures_core::Stream;
use zori_core::cancel::Cancel;
use zori_core::transport::Transport;

use super::*;
use crate::testing;
use crate::walk::tree::{call, env_with, raw};

/// Answers every request the same way, and remembers the last one.
struct Fake {
    status: u16,
    headers: Vec<(&'static str, &'static str)>,
    chunks: Vec<Result<Vec<u8>, TransportFailure>>,
    refuse: Option<TransportFailure>,
    asked: Mutex<Option<HttpRequest>>,
}

impl Fake {
    fn new(status: u16, content_type: &'static str, body: &str) -> Self {
        Self {
            status,
            headers: vec![("content-type", content_type)],
            chunks: vec![Ok(body.into())],
            refuse: None,
            asked: Mutex::default(),
        }
    }
}

impl Transport for Fake {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportFailure>> {
        let url = format!("{}/final", request.url);
        *self.asked.lock().unwrap() = Some(request);
        let headers = self.headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let response = HttpResponse {
            status: self.status,
            headers: headers.collect(),
            url,
            body: Box::pin(Chunks(self.chunks.clone().into(), PhantomData)),
        };
        let answer = self.refuse.clone().map_or(Ok(response), Err);
        Box::pin(std::future::ready(answer))
    }
}

/// A body in pieces; an empty one is where it stays stuck.
struct Chunks<B>(VecDeque<Result<Vec<u8>, TransportFailure>>, PhantomData<fn() -> B>);

impl<B: From<Vec<u8>>> Stream for Chunks<B> {
    type Item = Result<B, TransportFailure>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if matches!(self.0.front(), Some(Ok(chunk)) if chunk.is_empty()) {
            return Poll::Pending;
        }
        Poll::Ready(self.0.pop_front().map(|chunk| chunk.map(Into::into)))
    }
}

const PLAIN: &str = r#"{"url":"https://example.com"}"#;

/// Fetches from a fake.
fn fetch(fake: Fake, args: &str) -> String {
    let fetch = Fetch::new(env_with("/w".as_ref(), Arc::new(fake)));
    call(&fetch, args).envelope.get().to_owned()
}

fn failure(code: &str, message: &str) -> String {
    format!(r#"{{"ok":false,"error":{{"code":"{code}","message":"{message}"}}}}"#)
}

#[test]
fn html_becomes_text() {
    let html = "<html><head><title>T</title><script>x()</script></head><body><h1>Head</h1>\
                <p>One <b>two</b> <a href=\"/x\">three</a></p><ul><li>a<li>b</ul><pre>  c\n d</pre></body></html>";
    assert_eq!(
        fetch(Fake::new(200, "text/html; charset=utf-8", html), PLAIN),
        r##"{"ok":true,"data":{"url":"https://example.com/final","status":200,"content_type":"text/html; charset=utf-8","content":"# Head\n\nOne **two** [three](/x)\n\n* a\n* b\n\n```\n  c\n d\n```\n","truncated":false}}"##
    );
    assert_eq!(
        fetch(Fake::new(200, "text/html", "<p>x"), r#"{"url":"https://example.com","raw":true}"#),
        r#"{"ok":true,"data":{"url":"https://example.com/final","status":200,"content_type":"text/html","content":"<p>x","truncated":false}}"#
    );
}

#[test]
fn text_stays_as_it_is() {
    for content_type in [
        "text/plain",
        "application/json",
        "application/ld+json; charset=utf-8",
        "image/svg+xml",
        "text/markdown",
    ] {
        assert_eq!(
            fetch(Fake::new(200, content_type, "{\"a\": 1}\n"), PLAIN),
            format!(
                r#"{{"ok":true,"data":{{"url":"https://example.com/final","status":200,"content_type":"{content_type}","content":"{{\"a\": 1}}\n","truncated":false}}}}"#
            )
        );
    }
    let broken =
        Fake { headers: vec![], chunks: vec![Ok(vec![0xff]), Ok(b"a".to_vec())], ..Fake::new(200, "", "") };
    assert_eq!(
        fetch(broken, PLAIN),
        "{\"ok\":true,\"data\":{\"url\":\"https://example.com/final\",\"status\":200,\"content_type\":\"\",\"content\":\"\u{fffd}a\",\"truncated\":false}}"
    );
}

#[test]
fn what_is_asked() {
    let fake = Arc::new(Fake::new(200, "text/plain", "x"));
    let fetch = Fetch::new(env_with("/w".as_ref(), Arc::clone(&fake) as Arc<_>));
    assert!(call(&fetch, PLAIN).ok());
    let asked = fake.asked.lock().unwrap().take().unwrap();
    assert_eq!(
        (asked.method, asked.url.as_str(), asked.redirects, asked.addresses, asked.limits.connect),
        (
            Method::Get,
            "https://example.com",
            Redirects::SameOrigin,
            Addresses::Public,
            Some(Duration::from_secs(15))
        )
    );
    assert_eq!(fetch.effects(&raw(PLAIN)), [Effect::Net { url: "https://example.com".to_owned() }]);
}

#[test]
fn failures() {
    let page = Fake::new(404, "text/html", "<h1>Not\n here</h1><p>Sorry");
    assert_eq!(
        fetch(page, PLAIN),
        failure("fetch_error", "HTTP 404 from https://example.com/final: # Not here Sorry")
    );
    let empty = Fake::new(503, "image/png", "x");
    assert_eq!(fetch(empty, PLAIN), failure("fetch_error", "HTTP 503 from https://example.com/final"));
    assert_eq!(
        fetch(Fake::new(200, "application/pdf", "x"), PLAIN),
        failure(
            "fetch_error",
            "https://example.com/final is application/pdf, not text; download it with `bash` if it is needed"
        )
    );
    let packed = Fake { headers: vec![("content-encoding", "gzip")], ..Fake::new(200, "", "x") };
    assert_eq!(
        fetch(packed, PLAIN),
        failure(
            "fetch_error",
            "https://example.com/final sent a body encoded with gzip, which was not asked for"
        )
    );
    let refused =
        Fake { refuse: Some(TransportFailure::Connect("no such host".into())), ..Fake::new(200, "", "") };
    assert_eq!(fetch(refused, PLAIN), failure("fetch_error", "Connection failed: no such host"));
    let broken = Fake {
        chunks: vec![Ok(b"begin".to_vec()), Err(TransportFailure::Broken("reset".into()))],
        ..Fake::new(200, "text/plain", "")
    };
    assert_eq!(fetch(broken, PLAIN), failure("fetch_error", "connection lost: reset"));
    assert_eq!(
        fetch(Fake::new(200, "text/plain", ""), r#"{"url":"file:///etc/passwd"}"#),
        failure("invalid_input", "`url` cannot be fetched: it must begin with http:// or https://")
    );
}

#[test]
fn a_body_without_end_runs_into_the_time_limit() {
    let fake = Fake { chunks: vec![Ok(b"x".to_vec()), Ok(Vec::new())], ..Fake::new(200, "text/plain", "") };
    let mut env = env_with("/w".as_ref(), Arc::new(fake));
    Arc::get_mut(&mut env).unwrap().timeout = Some(Duration::ZERO);
    assert_eq!(
        call(&Fetch::new(env), PLAIN).envelope.get(),
        failure("timeout", "Tool execution timed out after 0 seconds")
    );
}

#[test]
fn large_pages_are_cut() {
    let text = "é".repeat(60_000);
    assert_eq!(
        fetch(Fake::new(200, "text/plain", &text), PLAIN),
        format!(
            r#"{{"ok":true,"data":{{"url":"https://example.com/final","status":200,"content_type":"text/plain","content":"{}","truncated":true}}}}"#,
            "é".repeat(51_200)
        )
    );
}

#[test]
fn reading_stops_at_the_bound() {
    let body = |chunks: &[&str]| -> ByteStream {
        let chunks = chunks.iter().map(|chunk| Ok(chunk.as_bytes().to_vec()));
        Box::pin(Chunks(chunks.collect(), PhantomData))
    };
    let read = |chunks: &[&str]| testing::runtime().block_on(read(&mut body(chunks), 8)).unwrap();
    assert_eq!(read(&["1234", "5678"]), (b"12345678".to_vec(), false));
    // Were the rest read, it would wait for ever.
    assert_eq!(read(&["1234", "56789", ""]), (b"12345678".to_vec(), true));
    let page = Page { cut: true, ..page("<p>begin") };
    assert_eq!(
        page.output(&Cancel::new()).envelope.get(),
        r#"{"ok":true,"data":{"url":"https://example.com","status":200,"content_type":"","content":"begin\n","truncated":true}}"#
    );
}

fn page(html: &str) -> Page {
    Page {
        url: "https://example.com".to_owned(),
        status: 200,
        content_type: None,
        kind: PageKind::Html,
        body: html.into(),
        cut: false,
    }
}

/// Deep nesting must not overflow the stack.
#[test]
fn deeply_nested_html_is_survived() {
    let nested = format!("{}x", "<div><table><tr><td>".repeat(2_000));
    assert_eq!(
        fetch(Fake::new(200, "text/html", &nested), PLAIN),
        r#"{"ok":true,"data":{"url":"https://example.com/final","status":200,"content_type":"text/html","content":"x\n","truncated":false}}"#
    );
}

#[test]
fn rendering_stops_when_the_call_is_cancelled() {
    let cancel = Cancel::new();
    cancel.cancel();
    assert_eq!(
        page(&"<div>".repeat(200_000)).output(&cancel).envelope.get(),
        failure("canceled", "Stopped before it was done")
    );
}
