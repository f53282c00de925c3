//! How the tests ask a provider: the one place that knows its API. Everything comes back as text.

use std::fmt::Write;
use std::future::poll_fn;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use zori_core::failure::ProviderFailure;
use zori_core::message::Message;
use zori_core::provider::{Chunk, ChunkStream, Delivery, Provider, Request};
use zori_core::time::{Clock, Timestamp};
use zori_core::transport::{Timeouts, Transport};
use zori_providers::anthropic::Anthropic;
use zori_providers::endpoint::Endpoint;
use zori_providers::key::Credential;
use zori_providers::replay::{Exchange, ReplayTransport};

/// A clock that stands still.
pub struct StoppedClock;

impl Clock for StoppedClock {
    fn now(&self) -> Timestamp {
        Timestamp(784_111_777)
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

/// Returns a fixture's bytes.
pub fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Returns the names of the streams in a fixture folder, without ending, sorted.
pub fn streams(folder: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(folder);
    let files = std::fs::read_dir(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut names: Vec<_> = files
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|p| p.extension().is_some_and(|e| e == "sse"))
        .map(|p| format!("{folder}/{}", p.file_stem().expect("it has a name").to_string_lossy()))
        .collect();
    names.sort();
    names
}

/// Returns a provider on this transport.
pub fn anthropic(transport: Arc<dyn Transport>) -> Anthropic {
    Anthropic::new(Endpoint {
        base_url: "http://api.test".to_owned(),
        key: Some(Credential::Key("sk-test-key".into())),
        transport,
        limits: Timeouts::DEFAULT,
        clock: Arc::new(StoppedClock),
    })
}

/// Asks `hi` and returns the answer as text.
pub async fn reply(exchange: Exchange) -> String {
    reply_as(exchange, Delivery::Streamed).await
}

/// Asks `hi` for this delivery and returns the answer as text.
pub async fn reply_as(exchange: Exchange, delivery: Delivery) -> String {
    ask(&anthropic(Arc::new(ReplayTransport::new([exchange]))), delivery).await
}

/// Asks `hi` and returns the answer as text.
pub async fn ask(provider: &dyn Provider, delivery: Delivery) -> String {
    match stream(provider, delivery).await {
        Ok(stream) => show(stream).await,
        Err(failure) => format!("refused {}", show_failure(&failure)),
    }
}

/// Asks `hi` and returns the answer as chunks.
pub async fn chunks(provider: &dyn Provider, delivery: Delivery) -> Result<Vec<Chunk>, ProviderFailure> {
    let mut stream = stream(provider, delivery).await?;
    let mut chunks = Vec::new();
    while let Some(item) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        chunks.push(item?);
    }
    Ok(chunks)
}

async fn stream(provider: &dyn Provider, delivery: Delivery) -> Result<ChunkStream, ProviderFailure> {
    let tools = Arc::default();
    let messages = [Arc::new(Message::user("hi"))];
    let request = Request {
        model: "claude-haiku-4-5",
        system: None,
        tools: &tools,
        messages: &messages,
        max_tokens: None,
        temperature: None,
        effort: None,
        delivery,
    };
    provider.stream(&request).await
}

/// One line per chunk; a failure is the last line.
pub async fn show(mut stream: ChunkStream) -> String {
    let mut out = String::new();
    while let Some(item) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        let line = match item {
            Ok(chunk) => show_chunk(&chunk),
            Err(failure) => format!("failed {}", show_failure(&failure)),
        };
        writeln!(out, "{line}").expect("a string takes everything");
    }
    out
}

fn show_chunk(chunk: &Chunk) -> String {
    match chunk {
        Chunk::Started { model } => format!("started {model}"),
        Chunk::Text(text) => format!("text {text:?}"),
        Chunk::Thinking(text) => format!("thinking {text:?}"),
        Chunk::ThinkingReplay(opaque) => format!("replay for {}: {}", opaque.provider, opaque.raw),
        Chunk::BlockEnd => "block end".to_owned(),
        Chunk::CallStart { index, id, name, replay } => {
            let signed =
                replay.as_ref().map_or(String::new(), |r| format!(", for {}: {}", r.provider, r.raw));
            format!("call {index} {name} {}{signed}", id.as_deref().unwrap_or("without id"))
        }
        Chunk::CallInput { index, json } => format!("call {index} input {json:?}"),
        Chunk::CallEnd { index } => format!("call {index} end"),
        Chunk::Status(text) | Chunk::CallReason(text) => format!("status {text}"),
        Chunk::Usage(u) => {
            format!("usage in {} out {} read {} write {}", u.input, u.output, u.cache_read, u.cache_write)
        }
        Chunk::Done(stop) => format!("done {stop:?}"),
    }
}

fn show_failure(failure: &ProviderFailure) -> String {
    let mut out = failure.to_string();
    if let Some(status) = failure.status {
        write!(out, " | status {status}").expect("a string takes everything");
    }
    if let Some(wait) = failure.retry_after {
        write!(out, " | after {wait:?}").expect("a string takes everything");
    }
    if let Some(details) = &failure.details {
        write!(out, " | details {details}").expect("a string takes everything");
    }
    out
}
