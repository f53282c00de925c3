//! Recordings: the traffic of a run as JSON lines, written as it happens and played back without a network.
//!
//! The format is described in `docs/protocols/recording.md`; `line` holds its shapes. [`recorder`] writes,
//! [`secrets`] keeps keys out, [`player`] answers from a recording, [`servers`] does both for MCP servers, `compare` finds where a request differs from
//! the recorded one and `calls` which tool call that is about. Files are opened elsewhere.

mod base64;
mod calls;
mod compare;
mod line;
pub mod player;
mod read;
pub mod recorder;
pub mod secrets;
pub mod servers;
mod spread;

use zori_core::input::Prompt;
use zori_core::provider::{Delivery, Effort};
use zori_core::server_recording::ConnectionEvent;
use zori_core::transport::{Method, TransportFailure};

use crate::quirks::ToolStyle;
use crate::replay::Exchange;

pub use read::RecordingError;

/// The version of the format that is written. It rises only for a change that readers could not ignore.
pub const VERSION: u32 = 1;

/// A recording that was read.
#[derive(Clone, Debug)]
pub struct Recording {
    /// What the run was.
    pub start: Start,
    /// What the user said and showed, in order.
    pub prompts: Vec<Prompt>,
    /// What was asked and answered, in the order of the requests.
    pub traffic: Vec<RecordedExchange>,
    /// What was said with MCP servers, in order.
    pub servers: Vec<ServerEvent>,
}

/// Something that happened on a connection to an MCP server.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerEvent {
    /// The server's name.
    pub server: String,
    /// Which of the connections to it, from 1.
    pub connection: u32,
    /// What happened.
    pub event: ConnectionEvent,
}

/// What a run was, as far as its requests depend on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// Name and version of the program that wrote the recording.
    pub program: String,
    /// The profile it ran as, which decides the tools' names.
    pub profile: String,
    /// The working directory of its tools, which may have another name when it is replayed.
    pub root: String,
    pub provider: String,
    /// Its address, without user and password.
    pub base_url: String,
    /// The model that was chosen.
    pub model: String,
    /// The settings that shape requests.
    pub shape: Shape,
}

/// The settings that shape requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// The system prompt, guidelines included.
    pub system: Option<String>,
    /// Upper bound of a reply.
    pub max_tokens: Option<u32>,
    /// Sent only if set.
    pub temperature: Option<f64>,
    /// How much the model should think.
    pub effort: Option<Effort>,
    /// Streamed or not.
    pub delivery: Delivery,
    /// How tools are offered, if not as the catalogue says.
    pub tool_style: Option<ToolStyle>,
}

/// One request and its answer.
#[derive(Clone, Debug)]
pub struct RecordedExchange {
    pub method: Method,
    /// The URL, without user, password and keys.
    pub url: String,
    /// The body; `null` where there was none.
    pub body: serde_json::Value,
    pub answer: Answer,
}

/// How a request was answered.
#[derive(Clone, Debug)]
pub enum Answer {
    /// An answer, whole or in part; the URL is the one that answered.
    Response(String, Exchange),
    /// None.
    Nothing(TransportFailure),
}
