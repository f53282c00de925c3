//! A stream of events: what it carries, and where one that broke off is taken up again.

use std::time::Duration;

use bytes::Bytes;
use zori_core::transport::{ByteStream, HttpResponse};

use crate::client::peer::RpcFailure;
use crate::client::stdio::MAX_MESSAGE;

/// The longest a server may ask to be waited for.
const MAX_RETRY: Duration = Duration::from_secs(60);
/// How long is waited where a server does not say.
const RETRY: Duration = Duration::from_secs(1);
/// No id of an event is longer.
const MAX_ID: usize = 1024;

/// Where a stream is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamPosition {
    /// The id of the last event, if they have ids.
    pub last: Option<String>,
    retry: Option<Duration>,
}

impl StreamPosition {
    /// Returns how long to wait before the stream is asked for again.
    pub fn pause(&self) -> Duration {
        self.retry.unwrap_or(RETRY)
    }
}

/// Reads events until the stream ends or `take` has enough.
pub async fn read(
    response: HttpResponse,
    position: &mut StreamPosition,
    mut take: impl FnMut(&str, &str) -> bool,
) -> Result<(), RpcFailure> {
    let mut body = response.body;
    let (mut buffer, mut event, mut data, mut id) = (Vec::new(), String::new(), String::new(), None);
    while let Some(chunk) = next(&mut body).await? {
        buffer.extend_from_slice(&chunk);
        if buffer.len() + data.len() > MAX_MESSAGE {
            return Err(too_long());
        }
        while let Some(end) = buffer.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = buffer.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\n', '\r']);
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "" if line.is_empty() => {
                    if let Some(id) = id.take() {
                        position.last = Some(id);
                    }
                    let (event, data) = (std::mem::take(&mut event), std::mem::take(&mut data));
                    if !data.is_empty() && !take(&event, &data) {
                        return Ok(());
                    }
                }
                "event" => event = value.to_owned(),
                "data" => {
                    if !data.is_empty() {
                        data.push('\n');
                    }
                    data.push_str(value);
                }
                "id" if value.len() <= MAX_ID && value.bytes().all(|byte| (0x20..0x7f).contains(&byte)) => {
                    id = Some(value.to_owned());
                }
                "retry" => {
                    if let Ok(ms) = value.parse() {
                        position.retry = Some(Duration::from_millis(ms).min(MAX_RETRY));
                    }
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Reads a body whole, within the bound of a message.
pub async fn whole(mut body: ByteStream) -> Result<Vec<u8>, RpcFailure> {
    let mut bytes = Vec::new();
    while let Some(chunk) = next(&mut body).await? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_MESSAGE {
            return Err(too_long());
        }
    }
    Ok(bytes)
}

fn too_long() -> RpcFailure {
    RpcFailure::Closed(format!("it sent a message of more than {} MiB", MAX_MESSAGE >> 20))
}

async fn next(body: &mut ByteStream) -> Result<Option<Bytes>, RpcFailure> {
    match std::future::poll_fn(|cx| body.as_mut().poll_next(cx)).await {
        None => Ok(None),
        Some(Ok(chunk)) => Ok(Some(chunk)),
        Some(Err(error)) => Err(RpcFailure::Closed(format!("its answer broke off: {error}"))),
    }
}
