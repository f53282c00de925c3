//! The lines of a recording as they stand in the file. What they mean is in `docs/protocols/recording.md`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use zori_core::provider::{Delivery, Effort};
use zori_core::server_recording::{ConnectionEvent, ConnectionFailure};
use zori_core::transport::TransportFailure;

use super::{Shape, Start, VERSION};
use crate::quirks::ToolStyle;

/// A line to be written; fields in the documented order.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Out<'a> {
    Recording {
        version: u32,
        program: &'a str,
        profile: &'a str,
        root: &'a str,
        provider: &'a str,
        base_url: &'a str,
        model: &'a str,
        settings: Settings<'a>,
    },
    Prompt {
        ms: u64,
        text: &'a str,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        images: Vec<String>,
    },
    Request {
        ms: u64,
        n: u32,
        method: &'static str,
        url: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        body: Option<&'a RawValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<&'a str>,
    },
    Answer {
        ms: u64,
        n: u32,
        status: u16,
        url: &'a str,
        headers: BTreeMap<&'a str, String>,
    },
    Data {
        ms: u64,
        n: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        base64: Option<String>,
    },
    End {
        ms: u64,
        n: u32,
        how: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<&'a str>,
    },
    Mcp {
        ms: u64,
        server: &'a str,
        connection: u32,
        #[serde(flatten)]
        event: Happened,
    },
}

impl<'a> Out<'a> {
    /// The first line.
    pub(super) fn start(start: &'a Start) -> Self {
        let Start { program, profile, root, provider, base_url, model, shape } = start;
        Self::Recording {
            version: VERSION,
            program,
            profile,
            root,
            provider,
            base_url,
            model,
            settings: Settings {
                system: shape.system.as_deref().map(Cow::Borrowed),
                max_tokens: shape.max_tokens,
                temperature: shape.temperature,
                thinking: shape.effort.map(|effort| match effort {
                    Effort::Tokens(tokens) => tokens.to_string().into(),
                    level => level.as_str().into(),
                }),
                stream: shape.delivery == Delivery::Streamed,
                tool_calls: shape.tool_style.map(|style| style_name(style).into()),
            },
        }
    }
}

/// A line that was read. Unknown types and fields are skipped.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum In {
    Recording {
        program: String,
        profile: String,
        root: String,
        provider: String,
        base_url: String,
        model: String,
        settings: Settings<'static>,
    },
    Prompt {
        text: String,
        #[serde(default)]
        images: Vec<String>,
    },
    Request {
        n: u32,
        method: String,
        url: String,
        #[serde(default)]
        body: Value,
        text: Option<String>,
    },
    Answer {
        n: u32,
        status: u16,
        url: String,
        headers: BTreeMap<String, String>,
    },
    Data {
        n: u32,
        text: Option<String>,
        base64: Option<String>,
    },
    End {
        n: u32,
        how: String,
        #[serde(default)]
        message: String,
    },
    Mcp {
        server: String,
        connection: u32,
        sent: Option<Value>,
        received: Option<Value>,
        failed: Option<Failed>,
        closed: Option<Why>,
    },
    #[serde(other)]
    Other,
}

/// What happened on a connection to an MCP server.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Happened {
    Sent(Value),
    Received(Value),
    Failed(Failed),
    Closed(Why),
}

/// A request that failed on its way.
#[derive(Serialize, Deserialize)]
pub(super) struct Failed {
    id: u64,
    #[serde(flatten)]
    why: Why,
}

impl From<Failed> for ConnectionEvent {
    fn from(Failed { id, why }: Failed) -> Self {
        Self::Failed(id, why.into())
    }
}

/// Why a request or a connection failed.
#[derive(Serialize, Deserialize)]
pub(super) struct Why {
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<i64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    login: bool,
}

impl From<ConnectionEvent> for Happened {
    fn from(event: ConnectionEvent) -> Self {
        match event {
            ConnectionEvent::Sent(message) => Self::Sent(message),
            ConnectionEvent::Received(message) => Self::Received(message),
            ConnectionEvent::Failed(id, why) => Self::Failed(Failed { id, why: why.into() }),
            ConnectionEvent::Closed(why) => Self::Closed(why.into()),
        }
    }
}

impl From<ConnectionFailure> for Why {
    fn from(failure: ConnectionFailure) -> Self {
        let (message, code, login) = match failure {
            ConnectionFailure::Refused(code, message) => (message, Some(code), false),
            ConnectionFailure::Gone(message) => (message, None, false),
            ConnectionFailure::NeedsLogin(message) => (message, None, true),
        };
        Self { message, code, login }
    }
}

impl From<Why> for ConnectionFailure {
    fn from(why: Why) -> Self {
        match why {
            Why { message, code: Some(code), .. } => Self::Refused(code, message),
            Why { message, login: true, .. } => Self::NeedsLogin(message),
            Why { message, .. } => Self::Gone(message),
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct Settings<'a> {
    system: Option<Cow<'a, str>>,
    max_tokens: Option<u32>,
    temperature: Option<f64>,
    thinking: Option<Cow<'a, str>>,
    stream: bool,
    tool_calls: Option<Cow<'a, str>>,
}

impl Settings<'_> {
    /// Returns what they mean; an error names the value that means nothing.
    pub(super) fn shape(self) -> Result<Shape, String> {
        let unknown = |name: &str, value: &str| format!("`{name}` cannot be `{value}`");
        let effort = |name: &str| {
            let tokens = || name.parse().ok().map(Effort::Tokens);
            Effort::by_name(name).or_else(tokens).ok_or_else(|| unknown("thinking", name))
        };
        let style = |name: &str| match name {
            "native" => Ok(ToolStyle::Native),
            "prose" => Ok(ToolStyle::Prose),
            _ => Err(unknown("tool_calls", name)),
        };
        Ok(Shape {
            system: self.system.map(Cow::into_owned),
            max_tokens: self.max_tokens,
            temperature: self.temperature,
            effort: self.thinking.as_deref().map(effort).transpose()?,
            delivery: if self.stream { Delivery::Streamed } else { Delivery::Whole },
            tool_style: self.tool_calls.as_deref().map(style).transpose()?,
        })
    }
}

fn style_name(style: ToolStyle) -> &'static str {
    match style {
        ToolStyle::Native => "native",
        ToolStyle::Prose => "prose",
    }
}

/// How an answer ended that came to its end.
pub(super) const COMPLETE: &str = "complete";
/// How a cancelled answer ended.
pub(super) const CANCELLED: &str = "cancelled";

/// Returns the name and the words of a failure.
pub(super) fn failure(failure: &TransportFailure) -> (&'static str, &str) {
    match failure {
        TransportFailure::BadUrl(text) => ("bad_url", text),
        TransportFailure::Connect(text) => ("connect", text),
        TransportFailure::Timeout(text) => ("timeout", text),
        TransportFailure::Broken(text) => ("broken", text),
        TransportFailure::Redirect(text) => ("redirect", text),
        TransportFailure::Replay(text) => ("replay", text),
    }
}

/// Returns the failure of that name.
pub(super) fn named_failure(name: &str, text: String) -> Option<TransportFailure> {
    Some(match name {
        "bad_url" => TransportFailure::BadUrl(text),
        "connect" => TransportFailure::Connect(text),
        "timeout" => TransportFailure::Timeout(text),
        "broken" => TransportFailure::Broken(text),
        "redirect" => TransportFailure::Redirect(text),
        "replay" => TransportFailure::Replay(text),
        _ => return None,
    })
}
