//! Reads a recording: lines to exchanges. A last line that was cut off is accepted; any other damaged line is an error.

use std::collections::BTreeMap;

use bytes::Bytes;
use zori_core::image::Image;
use zori_core::input::Prompt;
use zori_core::server_recording::ConnectionEvent;
use zori_core::transport::{Method, TransportFailure};

use super::line::{self, In};
use super::{Answer, RecordedExchange, Recording, ServerEvent, Start, VERSION, base64};
use crate::replay::{Chunking, Ending, Exchange};

/// Why a text cannot be read as a recording.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    /// The first line is something else.
    #[error("it does not begin as a recording does")]
    NotOne,
    /// A later format.
    #[error("it has version {0} of the format, and this program reads version {VERSION}")]
    Version(u32),
    /// A line that makes no sense.
    #[error("line {line}: {why}")]
    Line {
        /// Which, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
}

/// What is known of an exchange so far.
struct PartialExchange {
    method: Method,
    url: String,
    body: serde_json::Value,
    head: Option<Head>,
    data: Vec<u8>,
    cuts: Vec<usize>,
    end: Option<(String, String)>,
}

struct Head {
    status: u16,
    url: String,
    headers: Vec<(String, String)>,
}

impl Recording {
    pub fn parse(text: &str) -> Result<Self, RecordingError> {
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let (_, first) = lines.next().ok_or(RecordingError::NotOne)?;
        let start = start(first)?;
        let (mut prompts, mut servers) = (Vec::new(), Vec::new());
        let mut exchanges = BTreeMap::new();
        for (at, line) in lines {
            let wrong = |why: String| RecordingError::Line { line: at + 1, why };
            let last = !text.ends_with('\n') && text.ends_with(line);
            match serde_json::from_str(line) {
                Ok(In::Mcp { server, connection, sent, received, failed, closed }) => {
                    let said = sent.map(ConnectionEvent::Sent).or(received.map(ConnectionEvent::Received));
                    let ended = closed.map(|why| ConnectionEvent::Closed(why.into()));
                    let event = said.or(failed.map(ConnectionEvent::from)).or(ended);
                    servers.extend(event.map(|event| ServerEvent { server, connection, event }));
                }
                Ok(line) => take(line, &mut prompts, &mut exchanges).map_err(wrong)?,
                Err(_) if last => {}
                Err(error) => return Err(wrong(error.to_string())),
            }
        }
        let traffic = exchanges.into_iter().map(|(n, exchange)| exchange.finished(n)).collect();
        Ok(Self { start, prompts, traffic, servers })
    }
}

fn start(line: &str) -> Result<Start, RecordingError> {
    // The version first: what else there is depends on it.
    #[derive(serde::Deserialize)]
    struct Version {
        r#type: String,
        version: u32,
    }
    let found: Version = serde_json::from_str(line).map_err(|_| RecordingError::NotOne)?;
    match found.version {
        _ if found.r#type != "recording" => return Err(RecordingError::NotOne),
        VERSION => {}
        other => return Err(RecordingError::Version(other)),
    }
    let wrong = |why: String| RecordingError::Line { line: 1, why };
    match serde_json::from_str(line).map_err(|error| wrong(error.to_string()))? {
        In::Recording { program, profile, root, provider, base_url, model, settings } => {
            let shape = settings.shape().map_err(wrong)?;
            Ok(Start { program, profile, root, provider, base_url, model, shape })
        }
        _ => Err(RecordingError::NotOne),
    }
}

fn read_image(text: &str) -> Result<Image, String> {
    let bytes = base64::decode(text).ok_or("an image of the prompt is not in base64")?;
    Image::parse(bytes).map_err(|bad| format!("an image of the prompt {bad}"))
}

fn take(
    line: In,
    prompts: &mut Vec<Prompt>,
    exchanges: &mut BTreeMap<u32, PartialExchange>,
) -> Result<(), String> {
    let unasked = |n: u32| format!("there is no request {n} before it");
    match line {
        In::Recording { .. } => return Err("a second beginning".to_owned()),
        In::Prompt { text, images } => {
            let images = images.iter().map(|image| read_image(image)).collect::<Result<_, _>>()?;
            prompts.push(Prompt { text, images, uuid: None, scheduled: None });
        }
        In::Request { n, method, url, body, text } => {
            let method = match method.as_str() {
                "GET" => Method::Get,
                "POST" => Method::Post,
                "PUT" => Method::Put,
                "DELETE" => Method::Delete,
                other => return Err(format!("unknown method `{other}`")),
            };
            let body = text.map_or(body, serde_json::Value::String);
            let exchange = PartialExchange {
                method,
                url,
                body,
                head: None,
                data: Vec::new(),
                cuts: Vec::new(),
                end: None,
            };
            if exchanges.insert(n, exchange).is_some() {
                return Err(format!("a second request {n}"));
            }
        }
        In::Answer { n, status, url, headers } => {
            let exchange = exchanges.get_mut(&n).ok_or_else(|| unasked(n))?;
            exchange.head = Some(Head { status, url, headers: headers.into_iter().collect() });
        }
        In::Data { n, text, base64: coded } => {
            let exchange = exchanges.get_mut(&n).ok_or_else(|| unasked(n))?;
            match (text, coded) {
                (Some(text), _) => exchange.data.extend_from_slice(text.as_bytes()),
                (None, Some(coded)) => {
                    exchange.data.extend(base64::decode(&coded).ok_or("`base64` is none")?);
                }
                (None, None) => return Err("it has neither `text` nor `base64`".to_owned()),
            }
            exchange.cuts.push(exchange.data.len());
        }
        In::End { n, how, message } => {
            exchanges.get_mut(&n).ok_or_else(|| unasked(n))?.end = Some((how, message));
        }
        In::Mcp { .. } | In::Other => {}
    }
    Ok(())
}

impl PartialExchange {
    fn finished(self, n: u32) -> RecordedExchange {
        let ending = match self.end {
            Some((how, _)) if how == line::COMPLETE => Ending::Complete,
            Some((how, _)) if how == line::CANCELLED => ended(format!("the run was cancelled at answer {n}")),
            Some((how, message)) => match line::named_failure(&how, message) {
                Some(failure) => Ending::Failure(failure),
                None => ended(format!("answer {n} ended in a way this version does not know (`{how}`)")),
            },
            None => ended(format!("the file ends in the middle of answer {n}")),
        };
        let answer = match (self.head, ending) {
            (Some(Head { status, url, headers }), ending) => {
                let chunking = Chunking::Recorded(self.cuts.into());
                let body = Bytes::from(self.data);
                Answer::Response(url, Exchange { status, headers, body, chunking, ending })
            }
            (None, Ending::Failure(failure)) => Answer::Nothing(failure),
            (None, Ending::Complete | Ending::Silence) => Answer::Nothing(TransportFailure::Replay(format!(
                "request {n} has no answer in the recording"
            ))),
        };
        RecordedExchange { method: self.method, url: self.url, body: self.body, answer }
    }
}

fn ended(why: String) -> Ending {
    Ending::Failure(TransportFailure::Replay(format!("the recording ends here: {why}")))
}
