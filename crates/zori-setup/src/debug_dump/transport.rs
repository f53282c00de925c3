//! A transport that writes requests and responses down as debug dumps.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use serde_json::{Map, Value, json};
use zori_contract::mask::REDACTED;
use zori_contract::redact;
use zori_core::BoxFuture;
use zori_core::transport::{ByteStream, HttpRequest, HttpResponse, Transport, TransportFailure};

use super::{DebugDump, pieces};

/// How much of a response is kept.
const MOST: usize = 16 << 20;

pub struct DumpingTransport {
    inner: Arc<dyn Transport>,
    dump: DebugDump,
}

impl DumpingTransport {
    pub fn new(inner: Arc<dyn Transport>, dump: DebugDump) -> Self {
        Self { inner, dump }
    }
}

impl Transport for DumpingTransport {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportFailure>> {
        let Some(number) = self.dump.number() else { return self.inner.send(request) };
        self.dump.write(number, "request.json", &pretty(&asked(&request)));
        Box::pin(async move {
            let mut answer = Answer { dump: self.dump.clone(), number, head: Map::new(), body: Vec::new() };
            match self.inner.send(request).await {
                Ok(response) => {
                    answer.head.insert("status".into(), json!(response.status));
                    let headers = response.headers.iter().map(|(name, value)| header(name, value));
                    answer.head.insert("headers".into(), headers.collect::<Map<_, _>>().into());
                    let body = DumpedBody { inner: response.body, answer };
                    Ok(HttpResponse { body: Box::pin(body), ..response })
                }
                Err(failure) => {
                    answer.head.insert("failure".into(), json!(failure.to_string()));
                    Err(failure)
                }
            }
        })
    }
}

fn asked(request: &HttpRequest) -> Value {
    let headers: Map<String, Value> =
        request.headers.iter().map(|(name, value)| header(name, value)).collect();
    let url = redact::address(request.url.split(['?', '#']).next().unwrap_or_default());
    json!({"method": request.method.as_str(), "url": url, "headers": headers, "body": read(&request.body)})
}

fn header(name: &str, value: &str) -> (String, Value) {
    let shown = if redact::is_secret(name) { REDACTED } else { value };
    (name.to_owned(), json!(shown))
}

/// Returns a body as JSON where it is some, else as text.
fn read(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|_| json!(String::from_utf8_lossy(body)))
}

fn pretty(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).expect("a value is JSON");
    text + "\n"
}

/// A response, written down when all of it is here or nobody wants more of it.
struct Answer {
    dump: DebugDump,
    number: usize,
    head: Map<String, Value>,
    body: Vec<u8>,
}

impl Drop for Answer {
    fn drop(&mut self) {
        let mut answer = std::mem::take(&mut self.head);
        let body = match read(&self.body) {
            Value::String(stream) => pieces::redacted(&stream, &self.dump.redactor()).into(),
            body => body,
        };
        answer.insert("body".into(), body);
        self.dump.write(self.number, "response.json", &pretty(&answer.into()));
    }
}

struct DumpedBody {
    inner: ByteStream,
    answer: Answer,
}

impl Stream for DumpedBody {
    type Item = <ByteStream as Stream>::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let item = ready!(self.inner.as_mut().poll_next(cx));
        match &item {
            Some(Ok(bytes)) => {
                let room = MOST.saturating_sub(self.answer.body.len());
                self.answer.body.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
            Some(Err(failure)) => {
                let failure = json!(failure.to_string());
                self.answer.head.insert("failure".into(), failure);
            }
            None => {}
        }
        Poll::Ready(item)
    }
}
