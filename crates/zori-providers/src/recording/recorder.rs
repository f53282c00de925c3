//! Writes a recording during the run: one line per event, each written whole and at once, so that an interrupted run
//! leaves a valid recording.

use std::io::{self, Write};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use zori_core::BoxFuture;
use zori_core::input::Prompt;
use zori_core::time::Clock;
use zori_core::transport::{ByteStream, HttpRequest, HttpResponse, Transport, TransportFailure};

use super::line::{self, Out};
use super::secrets::{Filter, Forms, Secrets, harmless_url};
use super::spread::Spread;
use super::{ServerEvent, Start, base64};

/// The headers of an answer that mean something to us, or that help when asking the provider about it.
const HEADERS: &[&str] =
    &["content-encoding", "content-type", "request-id", "retry-after", "retry-after-ms", "x-request-id"];

/// The fields of a line of an MCP server that are not of what was said.
const OWN: &[&str] = &["type", "ms", "server", "connection"];

/// A recording that is being written. After the first failure nothing more is written, so what is there stays a valid
/// recording.
pub struct Recorder {
    state: Mutex<State>,
    secrets: Secrets,
    clock: Arc<dyn Clock>,
    began: Duration,
}

struct State {
    out: Box<dyn Write + Send>,
    requests: u32,
    stopped: bool,
    failure: Option<io::Error>,
}

impl Recorder {
    /// Writes the first line.
    pub fn start(
        out: Box<dyn Write + Send>,
        start: &Start,
        secrets: Secrets,
        clock: Arc<dyn Clock>,
    ) -> io::Result<Self> {
        let mut shape = start.shape.clone();
        shape.system = shape.system.map(|text| secrets.now().redacted_text(&text));
        let start = Start { base_url: harmless_url(&start.base_url), shape, ..start.clone() };
        let state = State { out, requests: 0, stopped: false, failure: None };
        let began = clock.elapsed();
        let recorder = Self { state: Mutex::new(state), secrets, clock, began };
        recorder.write(&Out::start(&start));
        match recorder.take_failure() {
            None => Ok(recorder),
            Some(error) => Err(error),
        }
    }

    /// Writes what the user said and showed.
    pub fn prompt(&self, prompt: &Prompt) {
        let secrets = self.secrets.now();
        let images = prompt.images.iter().map(|image| secrets.redacted_text(&image.base64()));
        let text = &secrets.redacted_text(&prompt.text);
        self.write(&Out::Prompt { ms: self.ms(), text, images: images.collect() });
    }

    /// Writes what happened on a connection to an MCP server.
    pub fn server(&self, happened: ServerEvent) {
        let ServerEvent { server, connection, event } = happened;
        let line = Out::Mcp { ms: self.ms(), server: &server, connection, event: event.into() };
        let mut line = serde_json::to_value(&line).expect("a line has text keys only");
        // What says where the line belongs is zori's own.
        let said = line.as_object_mut().into_iter().flatten();
        let secrets = self.secrets.now();
        said.filter(|(name, _)| !OWN.contains(&name.as_str())).for_each(|(_, value)| secrets.redact(value));
        self.write_line(line.to_string().into_bytes());
    }

    /// Returns why the recording ends early, once.
    pub fn take_failure(&self) -> Option<io::Error> {
        self.lock().failure.take()
    }

    fn request(&self, request: &HttpRequest) -> u32 {
        let body = redacted_body(&self.secrets.now(), &request.body);
        // JSON stands in the line as it is; one that has lines itself does not.
        let raw = (!body.contains('\n')).then(|| RawValue::from_string(body.clone()).ok()).flatten();
        let text = (raw.is_none() && !body.is_empty()).then_some(body.as_str());
        let url = self.url(&request.url);
        let method = request.method.as_str();
        let n = {
            let mut state = self.lock();
            state.requests += 1;
            state.requests
        };
        self.write(&Out::Request { ms: self.ms(), n, method, url: &url, body: raw.as_deref(), text });
        n
    }

    fn answer(&self, n: u32, response: &HttpResponse) {
        let known = response.headers.iter().filter(|(name, _)| HEADERS.contains(&name.as_str()));
        let secrets = self.secrets.now();
        let headers = known.map(|(name, value)| (name.as_str(), secrets.redacted_text(value))).collect();
        let url = self.url(&response.url);
        self.write(&Out::Answer { ms: self.ms(), n, status: response.status, url: &url, headers });
    }

    fn data(&self, n: u32, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let (text, base64) = match str::from_utf8(bytes) {
            Ok(text) => (Some(text), None),
            Err(_) => (None, Some(base64::encode(bytes))),
        };
        self.write(&Out::Data { ms: self.ms(), n, text, base64 });
    }

    fn end(&self, n: u32, how: &'static str, message: Option<&str>) {
        let message = message.map(|text| self.secrets.now().redacted_text(text));
        self.write(&Out::End { ms: self.ms(), n, how, message: message.as_deref() });
    }

    fn failed(&self, n: u32, failure: &TransportFailure) {
        let (how, message) = line::failure(failure);
        self.end(n, how, Some(message));
    }

    fn url(&self, url: &str) -> String {
        self.secrets.now().redacted_text(&harmless_url(url))
    }

    fn ms(&self) -> u64 {
        self.clock.elapsed().saturating_sub(self.began).as_millis() as u64
    }

    /// Writes a line in one piece, so that a crash leaves whole lines.
    fn write(&self, line: &Out<'_>) {
        self.write_line(serde_json::to_vec(line).expect("a line has text keys only"));
    }

    fn write_line(&self, mut bytes: Vec<u8>) {
        bytes.push(b'\n');
        let mut state = self.lock();
        if state.stopped {
            return;
        }
        let written = state.out.write_all(&bytes).and_then(|()| state.out.flush());
        if let Err(error) = written {
            state.stopped = true;
            state.failure = Some(error);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends through another transport and writes down what is asked and answered.
pub struct RecordingTransport {
    inner: Arc<dyn Transport>,
    recorder: Arc<Recorder>,
}

impl RecordingTransport {
    pub fn new(inner: Arc<dyn Transport>, recorder: Arc<Recorder>) -> Self {
        Self { inner, recorder }
    }
}

impl Transport for RecordingTransport {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportFailure>> {
        Box::pin(async move {
            let n = self.recorder.request(&request);
            let mut open = Open { recorder: Arc::clone(&self.recorder), n, ended: false };
            match self.inner.send(request).await {
                Ok(response) => {
                    self.recorder.answer(n, &response);
                    let secrets = self.recorder.secrets.now();
                    let filter = Filter::new(Arc::clone(&secrets));
                    let in_lines = !secrets.is_empty() && comes_in_lines(&response);
                    let spread = in_lines.then(|| Spread::new(secrets));
                    let body = RecordedBody { inner: response.body, filter, spread, open };
                    Ok(HttpResponse { body: Box::pin(body), ..response })
                }
                Err(failure) => {
                    self.recorder.failed(n, &failure);
                    open.ended = true;
                    Err(failure)
                }
            }
        })
    }
}

/// Returns a request's body without secrets. JSON stays JSON where a number has one in it.
fn redacted_body(secrets: &Forms, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&secrets.redacted(body)).into_owned();
    if text.as_bytes() == body || serde_json::from_str::<IgnoredAny>(&text).is_ok() {
        return text;
    }
    let Ok(mut value) = serde_json::from_slice(body) else { return text };
    secrets.redact(&mut value);
    value.to_string()
}

/// Returns whether an answer comes event by event, a line each.
fn comes_in_lines(response: &HttpResponse) -> bool {
    response.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("content-type")).any(|(_, kind)| {
        ["event-stream", "ndjson", "stream+json", "jsonl"].iter().any(|lines| kind.contains(lines))
    })
}

/// An exchange whose end is not written yet. Dropped like that, it was cancelled.
struct Open {
    recorder: Arc<Recorder>,
    n: u32,
    ended: bool,
}

impl Drop for Open {
    fn drop(&mut self) {
        if !self.ended {
            self.recorder.end(self.n, line::CANCELLED, None);
        }
    }
}

/// A body that is written down as it is read.
struct RecordedBody {
    inner: ByteStream,
    filter: Filter,
    /// Takes out what is spelled over several events.
    spread: Option<Spread>,
    open: Open,
}

impl RecordedBody {
    /// Writes what can be written of the bytes so far.
    fn take(&mut self, bytes: &[u8]) {
        let bytes = self.filter.push(bytes);
        let bytes = match &mut self.spread {
            Some(spread) => spread.push(&bytes),
            None => bytes,
        };
        self.open.recorder.data(self.open.n, &bytes);
    }

    /// Writes what was held back.
    fn finish(&mut self) {
        let mut rest = self.filter.finish();
        if let Some(spread) = &mut self.spread {
            let mut settled = spread.push(&rest);
            settled.extend(spread.finish());
            rest = settled;
        }
        self.open.recorder.data(self.open.n, &rest);
    }
}

impl Stream for RecordedBody {
    type Item = Result<Bytes, TransportFailure>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let item = ready!(self.inner.as_mut().poll_next(cx));
        let this = &mut *self;
        if let Some(Ok(bytes)) = &item {
            this.take(bytes);
        } else if !this.open.ended {
            this.finish();
            let (recorder, n) = (&this.open.recorder, this.open.n);
            match &item {
                Some(Err(failure)) => recorder.failed(n, failure),
                _ => recorder.end(n, line::COMPLETE, None),
            }
            this.open.ended = true;
        }
        Poll::Ready(item)
    }
}

impl Drop for RecordedBody {
    fn drop(&mut self) {
        if !self.open.ended {
            self.finish();
        }
    }
}
